"""The presenters of a run's stages: the choice of the shown one, the run's questions to the user, and explanations: the
mask impact and the token boundaries of a run that has ended, and the grammar rule of each token.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget

from glyphscope.explain.impact import mask_impact
from glyphscope.explain.retokenization import TokenBoundaries
from glyphscope.runs.state import RunState, StageState
from glyphscope_gui.context import AppContext, RulePlace
from glyphscope_gui.playground.evidence_dock import EvidenceDock
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.runs.model_queries import Answered, token_boundaries
from glyphscope_gui.runs.stage_choice import ShownStage, StageChoice
from glyphscope_gui.runs.token_rules import TokenRule
from glyphscope_gui.runs.worker.jobs import Asked, ModelStatus
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.shared.run_words import NO_TOKENS

PAINTED_MS = 50
"""Milliseconds after the end of a run in which it is painted, before its explanations are computed beside that."""


class StagePresenter(QObject):
    """`choice` is the shown stage."""

    def __init__(self, context: AppContext, view: RunPage, evidence: EvidenceDock) -> None:
        super().__init__(view)
        self._context = context
        self._runs = runs = context.runs
        self._view = view
        self.choice = choice = StageChoice(self)
        self.explain = ExplainPresenter(context, view)
        for each in (evidence, view, self.explain, context.rules):
            choice.shown.connect(each.show_stage)
        choice.shown.connect(self._show_pinned)
        view.stream.stageChosen.connect(self._choose)
        view.verdict.follow_link.clicked.connect(self._follow)
        runs.asked.connect(self._asked)
        view.approval.decided.connect(runs.reply)
        view.question.answered.connect(runs.reply)

    def unpin(self, _ended: object = None) -> None:
        """No longer pin the stage that the user chose."""
        self.choice.pinned = False
        self._show_pinned()

    # -- stages ------------------------------------------------------------------------------------------------

    def _choose(self, place: int) -> None:
        """Show a stage; an earlier one stays the shown one during a run."""
        newest = place == len(self._runs.state.stages) - 1
        self.choice.choose(place, pin=self._runs.is_busy and not newest)
        self._show_pinned()

    def _follow(self) -> None:
        self.choice.follow()
        self._show_pinned()

    def _show_pinned(self, _shown: ShownStage | None = None) -> None:
        self._view.verdict.follow_link.setVisible(self.choice.pinned)

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
        self._context.status.set_activity(tr("Waiting for you"), of_run=True)
        if self._context.navigator.current is not PageId.PLAYGROUND:  # never switch pages automatically
            self._context.status.set_note(tr("The run is waiting for you on the playground (Ctrl+1)"))
        if not isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit):
            first.setFocus()  # does not interrupt typing
        QApplication.alert(self._context.window)


class ExplainPresenter(QObject):
    """Shows the mask impact and the token boundaries of the shown stage, once the run has ended."""

    def __init__(self, context: AppContext, view: RunPage) -> None:
        super().__init__(view)
        self._context = context
        self._runs = context.runs
        self._page = view
        self._impact = view.impact
        self._background = Background(self)
        self._asked: Answered | None = None
        """The answer whose boundaries were requested; None once they are shown."""
        self._run = RunState()
        self._stage: StageState | None = None
        """The shown stage, once its run has ended."""
        self._painted = QTimer(self, singleShot=True, interval=PAINTED_MS)
        self._painted.timeout.connect(self._explain)
        self._runs.modelStatusChanged.connect(self._model_changed)
        self._impact.placeChosen.connect(context.panels.reveal_argument)
        self._impact.promptChosen.connect(lambda: context.panels.reveal(PanelId.PROMPT))

    @property
    def is_busy(self) -> bool:
        """Whether a job is running or awaited."""
        return self._painted.isActive() or self._background.is_busy or self._asked is not None

    # -- mask impact -------------------------------------------------------------------------------------------

    def show_stage(self, shown: ShownStage) -> None:
        """Explain the stage if its run has ended; show nothing before that."""
        stage, before = shown.stage if shown.over else None, self._stage
        if stage is before:
            return
        self._run, self._stage, self._asked = shown.run, stage, None
        self._painted.stop()
        self._background.drop("impact")
        if stage is not None and not stage.tokens:
            self._impact.clear(NO_TOKENS)
            return
        self._impact.clear()
        if stage is not None and shown.run.started is not None:
            self._painted.start()

    def _explain(self) -> None:
        run, stage = self._run, self._stage
        assert stage is not None, "another stage stops the timer"
        self._background.start(
            "impact",
            lambda: mask_impact(run, stage, cancel=this_task().stopped.is_set),
            lambda impact: self._impact.show_impact(impact, run.registry),
            self._context.show_error,
        )
        self._ask_boundaries(stage)

    # -- token boundaries --------------------------------------------------------------------------------------

    def _ask_boundaries(self, stage: StageState) -> None:
        started = self._runs.state.started
        assert started is not None, "a stage with tokens has a run"
        prompt = stage.prompt.text if stage.prompt is not None else ""
        self._asked = asked = Answered(started.run, stage.name, prompt, stage.tokens, started.model)
        shown = partial(self._show_boundaries, asked)
        self._runs.queries.ask("boundaries", partial(token_boundaries, answered=asked), shown)

    def _show_boundaries(self, asked: Answered, boundaries: TokenBoundaries) -> None:
        if asked is not self._asked:
            return
        self._asked = None
        self._impact.show_boundaries(boundaries)
        self._page.tokens_model.set_boundaries(boundaries)
        self._page.stream.set_boundaries(boundaries)

    def _model_changed(self, status: ModelStatus) -> None:
        """Ask again: the opened model may be the one that wrote the shown run."""
        stage = self._stage if self._runs.state.started is not None else None
        if status.phase == "ready" and stage is not None and stage.tokens and not self._runs.is_busy:
            self._ask_boundaries(stage)


class RulesPresenter(QObject):
    """Shows the grammar rule that read each token, and why others were masked."""

    def __init__(self, context: AppContext, view: RunPage, evidence: EvidenceDock) -> None:
        super().__init__(view)
        self._context = context
        self._page = view
        self._evidence = evidence
        self._rules = rules = context.rules
        rules.began.connect(view.tokens.show_rules)
        rules.found.connect(self._show_rules)
        rules.refused.connect(evidence.show_refusal)
        view.tokens.ruleChosen.connect(self.show_rule)
        evidence.rule_line.chosen.connect(self.show_rule)

    def show_rule(self, name: str) -> None:
        """Go to a rule on the grammar page."""
        self._context.navigator.show(PageId.GRAMMAR, RulePlace(name, self._rules.grammar))

    def show_token(self, index: int | None) -> None:
        """Show the rule of that token, and request the reasons of its masked alternatives."""
        self._evidence.rule_line.show_rule(None if index is None else self._page.tokens_model.rule(index))
        self._rules.ask(index)

    def _show_rules(self, first: int, rules: list[TokenRule]) -> None:
        self._page.tokens_model.set_rules(first, rules)
        row = self._page.tokens.currentIndex().row()
        if first <= row < first + len(rules):
            self._evidence.rule_line.show_rule(rules[row - first])
