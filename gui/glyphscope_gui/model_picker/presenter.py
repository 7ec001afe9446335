"""The model picker: the open model, its loading progress, and the sources of further models."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import StorageError
from glyphscope.events import LoadOptions
from glyphscope.models.batch_sizes import BatchFile, BatchTimes
from glyphscope.models.finding import FoundModel, find_models
from glyphscope.models.hub.jobs import DownloadResult
from glyphscope.models.hub.part import Unfinished, find_unfinished
from glyphscope.models.memory import ModelFacts, read_facts
from glyphscope.models.opening import model_name_of
from glyphscope.models.remote import is_address
from glyphscope_gui.context import AppContext
from glyphscope_gui.model_picker.dialog import EndpointDialog, LoadPanel, ModelDialog
from glyphscope_gui.model_picker.downloads import Downloading, DownloadPhase, ModelDownloads
from glyphscope_gui.model_picker.enforcement import EnforcementDialog
from glyphscope_gui.model_picker.picker import ModelPicker
from glyphscope_gui.model_picker.words import progress_words
from glyphscope_gui.runs.run_controller import Phase
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_for_file, open_once
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.run_words import model_name, opened_name


class LoadPresenter(QObject):
    """Shows a model's facts, load options and measured batches in a panel, and stores the options that are chosen.

    `shown`: the facts of a model were read.
    """

    shown = Signal()

    def __init__(self, context: AppContext, panel: LoadPanel) -> None:
        super().__init__(panel)
        self._context, self._panel = context, panel
        self._path = ""
        self._background = Background(self)
        panel.optionsChosen.connect(self._remember)
        panel.measureRequested.connect(self._forget_batches)

    def show_model(self, path: str) -> None:
        """Show the model in that file; "" for none."""
        self._path = path
        if not path:
            self._background.drop("facts")
            self._panel.hide()
            return
        options, folder = (
            self._context.settings.options_of(model_name_of(path)),
            self._context.services.places.batches,
        )

        def read() -> tuple[ModelFacts, LoadOptions, BatchTimes | None]:
            return read_facts(Path(path)), options, BatchFile(folder, Path(path), options).read()

        self._background.start(
            "facts", read, lambda read: self._show(*read), lambda _error: self._panel.hide()
        )

    def _show(self, facts: ModelFacts, options: LoadOptions, times: BatchTimes | None) -> None:
        self._panel.show_model(facts, options)
        self._panel.show_batches(times)
        self.shown.emit()

    def _forget_batches(self) -> None:
        """Delete the measured times of the shown model."""
        try:
            BatchFile(self._context.services.places.batches, Path(self._path), self._panel.options).delete()
        except StorageError as error:
            self._context.show_error(error)
        else:
            self._panel.show_batches(None)

    def _remember(self, options: LoadOptions) -> None:
        """Store the options; an open model is reloaded soon after the last edit."""
        settings = self._context.settings
        settings.replace(settings.value.with_load_options(model_name_of(self._path), options))


class ModelPresenter(QObject):
    """A download continues while its view is closed; the status line then shows its progress."""

    def __init__(self, context: AppContext, picker: ModelPicker) -> None:
        super().__init__(context.window)
        self._context = context
        self._picker = picker
        self._folder = context.services.places.models
        self._background = Background(self)
        self._dialog: ModelDialog | None = None
        self.downloads = ModelDownloads(self._folder, self)
        self.downloads.progressed.connect(self._show_progress)
        self.downloads.downloaded.connect(self._offer)
        self.downloads.failed.connect(self._show_error)
        picker.set_model(context.project.model)
        picker.modelChosen.connect(context.project.choose_model)
        picker.getRequested.connect(self.show)
        picker.fileRequested.connect(self._ask_for_file)
        picker.endpointRequested.connect(self._ask_for_endpoint)
        picker.searchRequested.connect(self._search)
        picker.detailsRequested.connect(context.actions.model_page.trigger)
        show = context.navigator.show
        context.actions.model_page.triggered.connect(lambda _checked=False: show(PageId.TEMPLATE))
        context.project.modelChosen.connect(picker.set_model)
        context.runs.modelStatusChanged.connect(self._show_status)
        context.actions.open_model.triggered.connect(self._ask_for_file)
        context.actions.get_model.triggered.connect(self.show)
        context.actions.unload_model.triggered.connect(context.runs.unload_model)
        context.runs.phaseChanged.connect(self._show_loaded)
        self._show_loaded()

    def show(self) -> ModelDialog:
        """Open the view, or bring it to the front."""
        if self._dialog is not None:
            self._dialog.activateWindow()
            return self._dialog
        dialog = self._dialog = ModelDialog(self.downloads, self._context.window)
        dialog.chosen.connect(self._context.project.choose_model)
        for requested, ask in (
            (dialog.fileRequested, self._ask_for_file),
            (dialog.endpoint_button.clicked, self._ask_for_endpoint),
        ):
            requested.connect(self._close_dialog)
            requested.connect(ask)
        dialog.hub.discardRequested.connect(self._discard)
        loads = LoadPresenter(self._context, dialog.loading)
        dialog.modelSelected.connect(loads.show_model)
        loads.shown.connect(dialog.show_facts)
        dialog.open_line.unloadRequested.connect(self._context.actions.unload_model.trigger)
        dialog.open_line.testRequested.connect(self._test_enforcement)
        self._show_loaded()
        dialog.finished.connect(self._closed)
        dialog.show()  # not modal: the window can be used meanwhile
        self._look()
        return dialog

    @property
    def is_busy(self) -> bool:
        return self.downloads.phase is not DownloadPhase.IDLE

    def _show_status(self, status: ModelStatus) -> None:
        """Show that the model is loaded or unloaded, and its name and quantisation from the file once it is loaded."""
        if status.phase == "opening":
            words = tr("Connecting…") if status.is_endpoint else tr("Loading…")
            self._picker.set_loading(status.progress, words if status.progress is None else "")
        else:
            self._picker.set_loading(None, tr("Unloading…") if status.phase == "unloading" else "")
        self._show_loaded()
        if status.phase == "ready" and status.info is not None:
            name, quantisation = opened_name(status.info)
            self._picker.set_model(status.name, name, status.info.quantisation or quantisation)

    def _show_loaded(self) -> None:
        """Show the state of the model's process, and whether it can be ended now."""
        runs = self._context.runs
        loaded = runs.model.phase == "ready" and not runs.model.is_endpoint
        can_unload = loaded and runs.phase is Phase.IDLE
        self._context.actions.unload_model.setEnabled(can_unload)
        if self._dialog is not None:
            self._dialog.open_line.show_status(runs.model, can_unload=can_unload)

    @property
    def _folders(self) -> tuple[Path, ...]:
        """The user's folders with models, besides the usual places."""
        return self._folder, *(Path(folder) for folder in self._context.settings.value.model_folders)

    def _search(self) -> None:
        """Search for the models of the menu; after an error it has none, but a file can still be chosen."""
        folders, show = self._folders, self._picker.show_found
        self._background.start("search", lambda: find_models(folders), show, lambda _error: show(()))

    def _look(self) -> None:
        """Search for the models of the dialog, and for unfinished downloads."""
        folders, own = self._folders, self._folder
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
        self._dialog = None

    def _ask_for_file(self) -> None:
        project = self._context.project
        ask_for_file(
            self._context.window,
            tr("Open a model"),
            lambda path: project.choose_model(str(path)),
            tr("GGUF models (*.gguf);;All files (*)"),
            start=str(Path(project.model).parent) if project.model.endswith(".gguf") else "",
            name="openModelDialog",
        )

    def _ask_for_endpoint(self) -> None:
        project = self._context.project
        dialog = EndpointDialog(project.model if is_address(project.model) else "", self._context.window)
        dialog.chosen.connect(project.choose_model)
        open_once(dialog)

    def _test_enforcement(self) -> None:
        runs = self._context.runs
        open_once(EnforcementDialog(runs.queries, runs.model.name, self._context.window))

    def _close_dialog(self) -> None:
        if self._dialog is not None:
            self._dialog.accept()

    def _discard(self, part: Unfinished) -> None:
        with suppress(OSError):
            part.path.unlink()
        self._look()

    def _show_progress(self, download: Downloading) -> None:
        if self._dialog is None:
            name = model_name(download.choice.name).name
            self._context.status.set_note(f"{name}: {progress_words(download)}")

    def _offer(self, got: DownloadResult) -> None:
        self._search()
        name = model_name(str(got.path)).name
        if self._dialog is None:
            path = str(got.path)
            self._context.status.set_note("")
            self._context.offer(
                tr("{name} was downloaded.", name=name),
                tr("Use model"),
                lambda: self._context.project.choose_model(path),
            )

    def _show_error(self, error: BaseException) -> None:
        if self._dialog is None:
            self._context.status.set_note("")
            self._context.show_error(error)
