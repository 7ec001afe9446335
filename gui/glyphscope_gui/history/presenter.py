"""The history panel: a run that is opened is shown, and a run that is kept comes into the list."""

from __future__ import annotations

from PySide6.QtCore import QObject

from glyphscope_gui.context import AppContext
from glyphscope_gui.history.dock import HistoryDock


class HistoryPresenter(QObject):
    """Connects the dock with the recorder and the runs. Saving and exporting are the window's."""

    def __init__(self, context: AppContext, dock: HistoryDock) -> None:
        super().__init__(context.window)
        self._context = context
        dock.runOpened.connect(self._open)
        dock.notified.connect(context.status.set_note)
        context.recorder.kept.connect(dock.refresh)

    def _open(self, run: str) -> None:
        self._context.recorder.open(run, self._context.runs.show_record)
