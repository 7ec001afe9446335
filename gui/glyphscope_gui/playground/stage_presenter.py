"""Between a run of several stages and the parts that show it: which stage is in sight, and what a run asks a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit

from glyphscope.calling.fold import StageState
from glyphscope_gui.grammar.presenter import PLAYGROUND
from glyphscope_gui.playground.timeline_rows import TimelineRow
from glyphscope_gui.runs.run_controller import Applied, Phase
from glyphscope_gui.runs.run_registry import registry_of
from glyphscope_gui.runs.stage_choice import StageChoice
from glyphscope_gui.runs.worker.jobs import Asked
from glyphscope_gui.shared.language import tr

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow


class StrategyWiring(QObject):
    """Made after `Wiring`: what a run tells as a whole reaches the views before what its stages grew by."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._page = window.page
        self.choice = StageChoice(self)
        self._connect_stages()
        self._connect_questions()

    def close(self) -> None:
        self._page.approval.shut_down()

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

    # -- what the run asks -------------------------------------------------------------------------------------

    def _connect_questions(self) -> None:
        runs, page = self._window.runs, self._page
        runs.asked.connect(self._asked)
        page.approval.decided.connect(runs.reply)
        page.question.answered.connect(runs.reply)

    def _asked(self, asked: Asked | None) -> None:
        page = self._page
        page.approval.dismiss()
        page.question.dismiss()
        if asked is None:
            page.show_asking(False)
            self._window.status.set_note("")
            if self._window.runs.phase is Phase.RUNNING:
                self._window.status.set_state("busy", tr("Running"))
            return
        if isinstance(asked.about, str):
            page.question.ask(asked.about)
            first = page.question.edit
        else:
            started = self._window.runs.state.started
            registry = registry_of(started.request) if started is not None else None
            tool = registry.get(asked.about.tool) if registry is not None else None
            closed = registry is None or registry.unknown_arguments == "refuse"
            page.approval.ask(asked.about, tool, closed=closed)
            first = page.approval
        page.show_asking(True)
        self._window.status.set_state("busy", tr("Waits for you"))
        if self._window.pages.current != PLAYGROUND:  # nobody is torn away from what they do
            self._window.status.set_note(tr("The run waits for you on the playground (Ctrl+1)"))
        if not isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit):
            first.setFocus()  # who types goes on typing
        QApplication.alert(self._window)
