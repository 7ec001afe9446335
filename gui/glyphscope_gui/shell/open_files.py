"""Opens files of every kind in the right place, and saves and exports runs.

Files from the menu, from drag and drop and from the program's argument take the same path.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QProgressDialog

from glyphscope.events import AnyEvent
from glyphscope.store.bundle import SUFFIX as BUNDLE
from glyphscope_gui.context import AppContext, FilePlace
from glyphscope_gui.history.dock import HistoryDock
from glyphscope_gui.history.export_dialog import ExportDialog
from glyphscope_gui.runs.export_formats import PAGE_SUFFIX, RECORD_SUFFIX, ExportedRun, file_name
from glyphscope_gui.shared.dialogs import ask_for_file, ask_where_to_save
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell.project_dialogs import ProjectDialogs

_OPEN = tr("Runs (*{bundle} *{record});;All files (*)", bundle=BUNDLE, record=RECORD_SUFFIX)
EXPORT_MS = 1000
"""Milliseconds of an export before it is shown."""
_SAVE = (
    tr("Bundle: one file to share (*{bundle})", bundle=BUNDLE),
    tr("Record: the events only (*{record})", record=RECORD_SUFFIX),
)
KINDS = {
    ".glyphscope": "project",
    BUNDLE: "run",
    RECORD_SUFFIX: "run",
    ".gbnf": "grammar",
    ".lark": "grammar",
    ".gguf": "model",
    ".md": "lesson",
    ".jinja": "template",
    ".json": "tools",
}


def kind_of(path: Path) -> str:
    """The kind of a file by its name: project, run, grammar, lesson, template, tools or model; empty for any other."""
    return KINDS.get(path.suffix.lower(), "")


def dropped_file(data: QMimeData) -> Path | None:
    """The one dropped file of a known kind; None for any other, or more than one."""
    urls = data.urls()
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if kind_of(path) else None


class OpenFiles(QObject):
    """Opens files, saves and exports runs. `start` is called at every start of the window."""

    def __init__(
        self,
        context: AppContext,
        history: HistoryDock,
        dialogs: ProjectDialogs,
        start: Callable[[], None],
    ) -> None:
        super().__init__(context.window)
        self._context = context
        self._window = context.window
        self._recorder = context.recorder
        self._runs = context.runs
        self._dialogs = dialogs
        self._start_window = start
        acts = context.actions
        acts.open_record.triggered.connect(self.ask_for_run)
        acts.save_record.triggered.connect(self.save_shown)
        acts.share.triggered.connect(lambda _checked=False: self.export_shown())
        history.saveRequested.connect(self.save_run)
        history.exportRequested.connect(self.export_run)
        history.copyRequested.connect(self.copy_run)
        self._recorder.written.connect(self._announce_file)
        self._recorder.noticed.connect(context.status.show_result)
        self._recorder.exporting.connect(self._show_exporting)
        self._progress: QProgressDialog | None = None
        self._dialog: ExportDialog | None = None
        self._runs.phaseChanged.connect(self._show_phase)
        self._show_phase()

    # -- opening -----------------------------------------------------------------------------------------------

    def open_file(self, path: Path) -> None:
        """Open the file by its kind; a file with an unknown extension is opened as a project."""
        match kind_of(path):
            case "run":
                self.open_run(path)
            case "grammar":
                self._context.navigator.show(PageId.GRAMMAR, FilePlace(path))
            case "lesson":
                self._context.navigator.show(PageId.LESSONS, FilePlace(path))
            case "template":
                self._context.navigator.show(PageId.TEMPLATE, FilePlace(path))
            case "model":
                self._context.project.choose_model(str(path))
            case "tools":
                self._context.navigator.show(PageId.PLAYGROUND)
                self._context.panels.import_tools(path)
            case _:
                self._dialogs.open_path(path)

    def open_first(self, path: Path) -> None:
        """Open the file that the program was started with, then call `start`.

        A run is shown before the model is opened, which occupies the same thread for seconds.
        """
        if kind_of(path) != "run":
            self.open_file(path)
            QTimer.singleShot(0, self._start_window)
            return
        self._runs.ended.connect(self._start)
        self._recorder.failed.connect(self._start)
        self.open_run(path)

    def _start(self, _ended: object = None) -> None:
        self._runs.ended.disconnect(self._start)
        self._recorder.failed.disconnect(self._start)
        self._start_window()

    def open_run(self, path: Path) -> None:
        """Show a recorded run as it ended."""
        self._recorder.read(path, self._show)

    def ask_for_run(self) -> None:
        ask_for_file(self._window, tr("Open a run"), self.open_run, _OPEN, name="openRunDialog")

    def _show(self, events: tuple[AnyEvent, ...]) -> None:
        self._context.navigator.show(PageId.PLAYGROUND)
        self._runs.show_record(events)

    # -- saving ------------------------------------------------------------------------------------------------

    def save_shown(self) -> None:
        self._ask_where(tuple(self._runs.events))

    def save_run(self, run: str) -> None:
        """Save a run of the history."""
        self._recorder.open(run, self._ask_where)

    def _ask_where(self, events: tuple[AnyEvent, ...]) -> None:
        ask_where_to_save(
            self._window,
            tr("Save the run"),
            lambda path: self._recorder.write(path, events),
            ";;".join(_SAVE),
            start=file_name(events),
            suffix=BUNDLE[1:],
            name="saveRunDialog",
        )

    def _announce_file(self, path: str, words: str) -> None:
        is_page = Path(path).suffix == PAGE_SUFFIX
        place = QUrl.fromLocalFile(path if is_page else str(Path(path).parent))
        self._context.offer(
            words, tr("Open the page") if is_page else tr("Open folder"), lambda: _open(place)
        )
        if self._context.navigator.current is not PageId.PLAYGROUND:
            note = tr("{name} was saved; the playground shows its contents", name=Path(path).name)
            self._context.status.show_result(note)

    # -- exports -----------------------------------------------------------------------------------------------

    def export_shown(self, form: str = "html") -> None:
        """Show the shown run in that form, to be saved or copied in this or another one."""
        self._export(tuple(self._runs.events), form)

    def export_run(self, run: str, form: str) -> None:
        """Export a run of the history."""
        self._recorder.open(run, lambda events: self._export(events, form))

    def _export(self, events: tuple[AnyEvent, ...], form: str) -> None:
        self._recorder.export(events, form, lambda exported: self._show_export(events, exported))

    def copy_run(self, run: str, form: str) -> None:
        """Copy a run of the history in that form."""
        self._recorder.open(run, lambda events: self._recorder.copy(events, form))

    def _show_export(self, events: tuple[AnyEvent, ...], exported: ExportedRun) -> None:
        dialog = ExportDialog(exported, self._window)
        self._dialog = dialog
        dialog.finished.connect(self._forget_dialog)
        dialog.formChosen.connect(lambda form: self._recorder.export(events, form, self._show_form))
        dialog.saveRequested.connect(lambda path, text: self._recorder.write_text(Path(path), text))
        dialog.bundleRequested.connect(lambda: self._ask_where(events))
        dialog.open()

    def _show_form(self, exported: ExportedRun) -> None:
        if self._dialog is not None:
            self._dialog.show_exported(exported)

    def _forget_dialog(self, _result: int) -> None:
        self._dialog = None

    def _show_exporting(self, exporting: bool) -> None:
        """Offer to stop an export that takes long, as one does whose template computes without end."""
        if self._progress is not None and not exporting:
            self._progress.blockSignals(True)
            self._progress.hide()
            self._progress.deleteLater()
            self._progress = None
        elif self._progress is None and exporting:
            self._progress = QProgressDialog(tr("Exporting…"), tr("Stop"), 0, 0, self._window)
            named(self._progress, "exportProgress").setWindowModality(Qt.WindowModality.WindowModal)
            self._progress.setMinimumDuration(EXPORT_MS)
            self._progress.canceled.connect(self._recorder.stop)

    def _show_phase(self, _phase: object = None) -> None:
        ready = not self._runs.is_busy and bool(self._runs.events)
        self._context.actions.share.setEnabled(ready)


def _open(place: QUrl) -> None:
    QDesktopServices.openUrl(place)
