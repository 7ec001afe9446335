"""Between the view of where models come from and the rest of the window; the only one that knows both."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from glyphscope.models import FoundModel, find_models
from glyphscope.models.hub import Unfinished, find_unfinished
from glyphscope.models.hub.download import Got
from glyphscope_gui.model_picker.dialog import ModelDialog
from glyphscope_gui.model_picker.getting import Loaded, ModelGetting, Phase
from glyphscope_gui.model_picker.words import progress_words
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.model_names import model_name

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow


class ModelsWiring(QObject):
    """A download goes on while its view is closed; the status line tells of it then."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._folder = window.parts.places.models
        self._background = Background(self)
        self._dialog: ModelDialog | None = None
        self.getting = ModelGetting(self._folder, self)
        self.getting.progressed.connect(self._tell_progress)
        self.getting.ended.connect(self._tell_got)
        self.getting.failed.connect(self._tell_failed)
        window.picker.own_folder = self._folder
        window.picker.getWanted.connect(self.show)
        window.actions_.get_model.triggered.connect(self.show)
        for action in (window.actions_.run, window.actions_.step):
            action.triggered.connect(self._welcomed)
        self._welcoming = False

    def welcome(self) -> None:
        """At the very first start: explain where models come from, once."""
        settings = self._window.parts.settings
        first = not (settings.value.welcomed or settings.value.model or settings.value.recent_models)
        settings.update(welcomed=True)
        if first:
            self.show()
            self._welcoming = True

    def show(self) -> ModelDialog:
        """Open the view, or bring it to the front."""
        if self._dialog is not None:
            self._dialog.activateWindow()
            return self._dialog
        dialog = self._dialog = ModelDialog(self.getting, self._window)
        dialog.chosen.connect(self._window.wiring.choose_model)
        dialog.fileWanted.connect(self._ask_for_file)
        dialog.endpointWanted.connect(self._ask_for_endpoint)
        dialog.discardWanted.connect(self._discard)
        dialog.finished.connect(self._closed)
        dialog.show()  # not modal: what the window shows can be used meanwhile
        self._look()
        return dialog

    def close(self) -> None:
        """End a download, which is kept as far as it came, and every search."""
        self.getting.close()
        self._background.close()

    @property
    def is_busy(self) -> bool:
        return self.getting.phase is not Phase.IDLE

    # -- inside ------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        own = self._folder
        folders = (own, *(Path(folder) for folder in self._window.parts.settings.value.model_folders))
        self._background.start(
            "look",
            lambda: (find_models(folders), find_unfinished(own)),
            self._found,
            lambda _error: self._found(([], [])),
        )

    def _found(self, found: tuple[list[FoundModel], list[Unfinished]]) -> None:
        if self._dialog is not None:
            self._dialog.show_found(*found)

    def _closed(self) -> None:
        self._dialog, self._welcoming = None, False

    def _welcomed(self) -> None:
        """Who runs something wants to see it: what opened by itself goes, unless something was begun in it."""
        if self._welcoming and not self.is_busy and self.getting.looked_at is None:
            self._close_dialog()

    def _ask_for_file(self) -> None:
        self._close_dialog()
        self._window.picker.ask_for_file()

    def _ask_for_endpoint(self) -> None:
        self._close_dialog()
        self._window.picker.ask_for_endpoint()

    def _close_dialog(self) -> None:
        if self._dialog is not None:
            self._dialog.accept()

    def _discard(self, part: Unfinished) -> None:
        with suppress(OSError):
            part.path.unlink()
        self._look()

    def _tell_progress(self, loaded: Loaded) -> None:
        if self._dialog is None:
            name = model_name(loaded.choice.name).name
            self._window.status.set_note(f"{name}: {progress_words(loaded)}")

    def _tell_got(self, got: Got) -> None:
        self._window.picker.look_again()
        name = model_name(str(got.path)).name
        if self._dialog is None:
            path = str(got.path)
            self._window.status.set_note("")
            self._window.page.notice.tell(
                tr("{name} is here.", name=name),
                tr("Use it"),
                lambda: self._window.wiring.choose_model(path),
            )

    def _tell_failed(self, error: BaseException) -> None:
        if self._dialog is None:
            self._window.status.set_note("")
            self._window.tell_error(error)
