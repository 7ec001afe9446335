"""From what the demo tools do, in the threads of runs, to the views of it on the servers' page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from glyphscope_gui.servers.demo_effects import DemoEffects
from glyphscope_gui.shared.background import Background

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

PLACES = ("outbox", "scratch", "workspace")


class EffectsWiring(QObject):
    """What changes while nobody looks is shown when the page is."""

    def __init__(self, window: MainWindow, effects: DemoEffects, page: str) -> None:
        super().__init__(window)
        self._window = window
        self._effects = effects
        self._page = page
        self._demo = window.parts.servers.demo
        self._background = Background(self)
        window.parts.servers.effectsChanged.connect(self._changed)
        window.pages.shown.connect(self._page_shown)
        effects.fileChosen.connect(self._read)

    def close(self) -> None:
        self._background.close()

    # -- inside ------------------------------------------------------------------------------------------------

    def _page_shown(self, name: str) -> None:
        if name == self._page:
            for place in PLACES:
                self._changed(place)

    def _changed(self, place: str) -> None:
        if self._window.pages.current != self._page:
            return
        if place == "outbox":
            self._effects.show_mails(self._demo.outbox)
        elif place == "workspace":
            self._effects.show_workspace(self._demo.workspace)
        else:
            self._background.start("files", self._look, self._show_files, self._window.tell_error)

    def _look(self) -> tuple[Any, str]:
        scratch = self._demo.scratch
        return scratch.files(), str(scratch.folder or "")

    def _show_files(self, found: tuple[Any, str]) -> None:
        self._effects.show_files(*found)

    def _read(self, path: str) -> None:
        scratch = self._demo.scratch
        self._background.start(
            "file",
            lambda: scratch.read(path).decode("utf-8", "replace"),
            lambda text: self._effects.show_file(path, text),
            lambda error: self._effects.show_file(path, f"({error})"),
        )
