"""The presenter of a run's stages: the choice of the shown one, and the run's questions to the user."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget

from glyphscope.runs.run_state import StageState
from glyphscope_gui.context import AppContext
from glyphscope_gui.playground.evidence_dock import EvidenceDock
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.playground.timeline_model import TimelineRow
from glyphscope_gui.runs.stage_choice import StageChoice
from glyphscope_gui.runs.worker.jobs import Asked
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId


class StagePresenter(QObject):
    """`choice` is the shown stage."""

    def __init__(self, context: AppContext, view: RunPage, evidence: EvidenceDock) -> None:
        super().__init__(view)
        self._context = context
        self._runs = runs = context.runs
        self._view = view
        self.choice = choice = StageChoice(self)
        for each in (view, evidence):
            choice.shown.connect(each.show_stage)
            choice.grew.connect(each.grow_stage)
        choice.shown.connect(self._show_pinned)
        view.timeline.rowChosen.connect(self._row_chosen)
        view.timeline.follow_link.clicked.connect(self._follow)
        runs.asked.connect(self._asked)
        view.approval.decided.connect(runs.reply)
        view.question.answered.connect(runs.reply)

    def unpin(self, _ended: object = None) -> None:
        """No longer pin the stage that the user chose."""
        self.choice.pinned = False
        self._show_pinned()

    # -- stages ------------------------------------------------------------------------------------------------

    def _row_chosen(self, row: TimelineRow) -> None:
        """Show a row; during a run, its stage stays visible."""
        self.choice.choose(row.stage, pin=self._runs.is_busy)
        self._view.show_row(row)
        self._show_pinned()

    def _follow(self) -> None:
        self.choice.follow()
        self._view.show_stream()
        self._show_pinned()

    def _show_pinned(self, _stage: StageState | None = None) -> None:
        self._view.timeline.follow_link.setVisible(self.choice.pinned)

    # -- questions of the run ----------------------------------------------------------------------------------

    def _asked(self, asked: Asked | None) -> None:
        view = self._view
        view.approval.dismiss()
        view.question.dismiss()
        if asked is None:
            view.show_asking(False)
            self._context.status.set_note("")
            self._context.status.set_activity("")
            return
        if isinstance(asked.about, str):
            view.question.ask(asked.about)
            first: QWidget = view.question.edit
        else:
            registry = self._runs.state.whole_registry  # calls are executed by the tools' own names
            tool = registry.get(asked.about.tool) if registry is not None else None
            closed = registry is None or registry.unknown_arguments == "refuse"
            view.approval.ask(asked.about, tool, closed=closed)
            first = view.approval
        view.show_asking(True)
        self._context.status.set_activity(tr("Waiting for you"))
        if self._context.navigator.current is not PageId.PLAYGROUND:  # never switch pages automatically
            self._context.status.set_note(tr("The run is waiting for you on the playground (Ctrl+1)"))
        if not isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit):
            first.setFocus()  # does not interrupt typing
        QApplication.alert(self._context.window)
