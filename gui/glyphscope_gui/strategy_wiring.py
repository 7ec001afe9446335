"""Between a run of several stages and the parts that show it: which stage is in sight, and what a run asks a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from glyphscope.calling.fold import StageState
from glyphscope_gui.controllers.run_controller import Applied
from glyphscope_gui.controllers.stage_choice import StageChoice
from glyphscope_gui.models.timeline_rows import TimelineRow

if TYPE_CHECKING:
    from glyphscope_gui.main_window import MainWindow


class StrategyWiring(QObject):
    """Made after `Wiring`: what a run tells as a whole reaches the views before what its stages grew by."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._page = window.page
        self.choice = StageChoice(self)
        self._connect_stages()

    # -- stages ------------------------------------------------------------------------------------------------

    def _connect_stages(self) -> None:
        runs, choice, page = self._window.runs, self.choice, self._page
        runs.began.connect(choice.begin)
        runs.applied.connect(choice.apply)
        runs.ended.connect(self._ended)
        for view in (page, self._window.evidence):
            choice.shown.connect(view.show_stage)
            choice.grew.connect(view.grow_stage)
        choice.shown.connect(self._show_pinned)
        page.timeline.rowChosen.connect(self._row_chosen)
        page.timeline.followWanted.connect(self._follow)

    def _row_chosen(self, row: TimelineRow) -> None:
        """While the run goes on, what the user chose stays in sight."""
        self.choice.choose(row.stage, pin=self._window.runs.is_busy)
        self._page.show_row(row)
        self._show_pinned()

    def _follow(self) -> None:
        self.choice.follow()
        self._page.show_stream()
        self._show_pinned()

    def _ended(self, _applied: Applied) -> None:
        self.choice.pinned = False
        self._show_pinned()

    def _show_pinned(self, _stage: StageState | None = None) -> None:
        self._page.timeline.show_pinned(self.choice.pinned)
