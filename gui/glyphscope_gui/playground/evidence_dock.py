"""The playground's right side: the shown branch, a token with its alternatives, the costs of the turn, the size of the
call, charts of the steps and of savings, the mask impact, the influence of the prompt, and confused tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from glyphscope.base.figures import count, duration
from glyphscope.explain.segments import PartCost, PartKind, part_costs
from glyphscope.runs import RunState, StageState
from glyphscope.runs.stage_words import narrowed_words
from glyphscope_gui.playground.branches.bar import BranchBar
from glyphscope_gui.playground.branches.panel import BranchPanel
from glyphscope_gui.playground.evidence_words import SAVED, STYLES, size_words, token_words
from glyphscope_gui.playground.influence import InfluenceView
from glyphscope_gui.playground.mask_impact_view import MaskImpactView
from glyphscope_gui.playground.tool_pairs import ToolPairsView
from glyphscope_gui.runs.alternatives_table import AlternativesModel, AlternativesTable
from glyphscope_gui.runs.run_controller import Saving
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.token_rules import Refusal, TokenRule
from glyphscope_gui.runs.worker.jobs import Measured
from glyphscope_gui.shared.card import CardHeading
from glyphscope_gui.shared.chart_roles import edge_role
from glyphscope_gui.shared.labels import (
    ElidedLabel,
    ElidedLink,
    PlainLabel,
    named,
    push_button,
    show_words,
    words_label,
)
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, Flow, LateWidget, ScrollArea, grid_layout, hbox, vbox
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.theme import FollowsLooks, theme
from glyphscope_gui.theme.sizes import PAD

if TYPE_CHECKING:
    from glyphscope_gui.playground.charts import SavingsChart, SizeChart, StepChart

_MEASURES = (
    ("allowed", tr("Allowed"), tr("Tokens allowed by the constraint at each step, on a logarithmic scale")),
    (
        "feasible",
        tr("Mass"),
        tr("Feasible mass: the share of the raw probability that the allowed tokens have"),
    ),
    ("ms", tr("Time"), tr("Milliseconds per step: mask, sampling and decoding")),
)
_STEPS_HEIGHT = 132
"""Pixels of the step chart's height at the usual font size."""
FEW = 6
"""Number of alternatives that are initially shown; others are seldom probable enough to matter."""
_NO_TOKEN = tr("Select a token in the transcript or the table to see its alternatives.")


def load_charts() -> None:
    """Import the charts, in any thread: their library is the window's slowest to load."""
    import_module("glyphscope_gui.playground.charts")


class EvidenceDock(ScrollArea):
    """Stacked sections. `tokenChosen` carries the index, in the shown stage, of a token selected in the step chart."""

    tokenChosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._state = RunState()
        self._savings: list[Saving] = []
        self._shown: tuple[StageState, int | None] = (StageState(), None)
        """The shown stage, and the index of the token whose alternatives are shown; None for no token."""
        self._costs: tuple[int, bool] | None = None
        """The number of complete parts of the stage, and whether it has finished, when their costs were shown."""
        self._shows_all = False
        """Whether all alternatives are shown; otherwise the first `FEW`."""
        self._refusal: Refusal | None = None
        self.alternatives_model = AlternativesModel(self)
        self.alternatives = AlternativesTable(self.alternatives_model, self)
        self.alternatives_note = words_label(_NO_TOKEN)
        self.branch_bar = BranchBar(self)
        self.branch_bar.grown.connect(self._show_bar, Qt.ConnectionType.QueuedConnection)
        self.branch_panel = BranchPanel(self)
        self.rule_line = RuleLine(self)
        self.expected_note = words_label("")
        self.expected_note.hide()
        self.all_button = push_button("", self, role="link", clicked=self._show_all)
        self.mask_impact = MaskImpactView(self)
        self.influence = InfluenceView(self)
        self.influence.grown.connect(self._show_influence, Qt.ConnectionType.QueuedConnection)
        self.tool_pairs = ToolPairsView(self)
        self.turn = TurnCosts(self)
        self.size_note = words_label("")
        self.measure = Segmented(_MEASURES, small=True, parent=self)
        self.measure.setAccessibleName(tr("Values of the step chart"))
        self.measure.chosen.connect(lambda measure: self.step_chart.set_measure(measure))  # noqa: PLW0108 - made then
        self._step_place = LateWidget(self._make_step_chart, _STEPS_HEIGHT)
        self._size_place = LateWidget(self._make_size_chart)
        self._savings_place = LateWidget(self._make_savings_chart)
        self._lay_out()

    def minimumSizeHint(self) -> QSize:
        """Wide enough for its content, as it scrolls only vertically."""
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(self._body.minimumSizeHint().width() + bar, 200)

    # -- the run -----------------------------------------------------------------------------------------------

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the stage, or all of another one."""
        stage = shown.stage
        if shown.run is not self._state:
            self._state = shown.run
            self.size_section.hide()
        if stage is not self._shown[0]:
            self.show_token(stage, None)
            self._costs = None
        parts, end = stage.parted
        costs = (parts if end is not None else parts - 1, stage.finished is not None)
        if costs != self._costs:
            self._costs = costs
            self.turn.show_stage(stage)
            self.turn_section.setVisible(self.turn.has_any)
        if stage.tokens or self._step_place.is_made:
            self.step_chart.show_tokens(stage.tokens, over=shown.over)

    def show_token(self, stage: StageState, index: int | None) -> None:
        """Show the alternatives of one token of the stage, with the reasons why some cannot be in a valid call."""
        if self._shown[1] != index or index is None:
            self.rule_line.show_rule(None)
        self._shown, self._refusal = (stage, index), None
        self.expected_note.hide()
        if self._step_place.is_made:
            self.step_chart.select(index)
        started = self._state.started
        if index is None or started is None:
            self.alternatives_model.show((), (), -1)
            self.alternatives.hide()
            self.all_button.hide()
            self.alternatives_heading.set_title(tr("Alternatives"))
            self.alternatives_note.setText(_NO_TOKEN)
            return
        token = stage.tokens[index]
        all_rows = token.step.alternatives
        rows = all_rows if self._shows_all else all_rows[:FEW]
        self.alternatives_model.show_token(stage, token, rows, started.request, self._state.registry)
        if started.request.strategy != "direct":  # whose tokens are explained together with their rules
            self.alternatives_model.explain(stage, index, started.request, self._state.registry)
        self.alternatives.setVisible(bool(rows))
        self.all_button.setVisible(len(all_rows) > FEW)
        self.all_button.setText(
            tr("Show fewer") if self._shows_all else tr("Show all {count}", count=len(all_rows))
        )
        self.alternatives_heading.set_title(tr("Alternatives of token {index}", index=index))
        self.alternatives_note.setText(token_words(token, stage, started))

    def show_refusal(self, refusal: Refusal) -> None:
        """Show the grammar's expectation at that token, if it is still the shown one."""
        if refusal.index != self._shown[1]:
            return
        rows = self.alternatives_model.rowCount()
        self.alternatives_model.set_refused(refusal.reasons[:rows], refusal.place)
        show_words(self.expected_note, refusal.place)
        self._refusal = refusal

    def show_sizes(self, measured: Measured, reasoned: int) -> None:
        """Show the sizes of the run's calls; `reasoned` tokens of reasoning were written with them."""
        self.size_chart.show_sizes(measured.sizes)
        self.size_heading.set_title(
            tr("Size of this call")
            if measured.calls == 1
            else tr("Size of these calls")
            if measured.calls
            else tr("Size of this answer")
        )
        apart = " " + tr("Not counted: %n token(s) of reasoning.", "", reasoned) if reasoned else ""
        self.size_note.setText(size_words(measured.sizes, measured.instructions) + apart)
        self.size_section.show()

    def add_saving(self, saving: Saving) -> None:
        self._savings.append(saving)
        self.savings_chart.show_savings(self._savings)
        self.savings_section.show()

    def _show_bar(self) -> None:
        """Scroll to the actions at the token, once they are laid out."""
        self._column.activate()
        self.ensureWidgetVisible(self.branch_bar, 0, 8)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.influence.fit_in(self.viewport().height())

    def _show_influence(self) -> None:
        """Scroll to the result, once it is laid out: the prompt and the list of its parts are visible together."""
        self._column.activate()
        top = self.influence.mapTo(self._body, self.influence.words.pos()).y()
        self.verticalScrollBar().setValue(top)

    def _show_all(self) -> None:
        """Show all alternatives of the token, or the first few again."""
        self._shows_all = not self._shows_all
        refusal = self._refusal
        self.show_token(*self._shown)
        if refusal is not None:
            self.show_refusal(refusal)

    # -- the charts, made on first use, as their library loads slowly ----------------------------------------------

    @property
    def step_chart(self) -> StepChart:
        return self._step_place.widget

    @property
    def size_chart(self) -> SizeChart:
        return self._size_place.widget

    @property
    def savings_chart(self) -> SavingsChart:
        return self._savings_place.widget

    def make_charts(self) -> None:
        """Make all charts; their places are empty until then."""
        for place in (self._step_place, self._size_place, self._savings_place):
            _ = place.widget

    def _make_step_chart(self) -> StepChart:
        from glyphscope_gui.playground.charts import StepChart

        chart = StepChart(self)
        chart.tokenChosen.connect(self.tokenChosen)
        return chart

    def _make_size_chart(self) -> SizeChart:
        from glyphscope_gui.playground.charts import SizeChart

        return SizeChart(self)

    def _make_savings_chart(self) -> SavingsChart:
        from glyphscope_gui.playground.charts import SavingsChart

        return SavingsChart(self)

    # -- layout ------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self._body = body = QWidget(self)
        body.setObjectName("right")
        self.alternatives_heading = CardHeading(tr("Alternatives"), parent=self)
        self.size_heading = CardHeading(tr("Size of this answer"))
        self.alternatives.hide()
        self.all_button.hide()
        self.branch_heading = CardHeading(tr("This branch"))
        self.branch_section = _section(self.branch_heading, self.branch_panel)
        self.branch_section.hide()
        alternatives = _section(
            self.alternatives_heading,
            self.rule_line,
            self.expected_note,
            self.alternatives,
            self.all_button,
            self.alternatives_note,
            self.branch_bar,
        )
        self.turn_section = _section(CardHeading(tr("Turn")), self.turn)
        self.size_section = _section(
            self.size_heading, _legend(STYLES.values()), self._size_place, self.size_note
        )
        steps = _section(
            CardHeading(tr("Steps"), actions=(self.measure,)),
            self._step_place,
            _legend(
                ((tr("sampled"), "chart-main"), (tr("forced by grammar"), "chart-forced")),
                slim="chart-forced",
            ),
        )
        self.mask_impact_section = _section(CardHeading(tr("Mask impact")), self.mask_impact)
        self.influence_section = _section(CardHeading(tr("Influence of the prompt")), self.influence)
        self.savings_section = _section(
            CardHeading(tr("Saved by early abort")),
            _legend(SAVED),
            self._savings_place,
            words_label(tr("Tokens decoded without and with early abort, measured by continuing each run.")),
        )
        for section in (self.turn_section, self.size_section, self.mask_impact_section, self.savings_section):
            section.hide()  # until it has content
        self._column = vbox(
            self.branch_section,
            alternatives,
            self.turn_section,
            self.size_section,
            steps,
            self.mask_impact_section,
            self.influence_section,
            _section(CardHeading(tr("Confused tools")), self.tool_pairs),
            self.savings_section,
            STRETCH,
            parent=body,
            spacing=0,
        )
        self.setWidget(body)


def _section(heading: CardHeading, *widgets: QWidget) -> QFrame:
    """A heading and its widgets, with a line below."""
    box = named(QFrame(), "evidenceSection")
    vbox(heading, *widgets, parent=box, margins=(PAD, 12), spacing=8)
    return box


def _legend(entries: Iterable[tuple[str, str]], slim: str = "") -> QWidget:
    """The legend of the chart's bars: texts with their colour roles; the bar of the role `slim` is slim."""
    box = Flow()
    for words, role in entries:
        box.add(_Key(words, role, 4 if role == slim else 9))
    return box


class _Key(FollowsLooks, QWidget):
    """A bar in a role's colour, and its name."""

    def __init__(self, words: str, role: str, width: int) -> None:
        super().__init__()
        self._role = role
        self._width = width
        self._square = PlainLabel()
        label = PlainLabel(words, role="hint")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        hbox(self._square, label, parent=self, spacing=5)
        self._restyle()

    def _restyle(self) -> None:
        self._square.setFixedSize(self._width, 9)
        fill, edge = theme().roles[self._role], theme().roles[edge_role(self._role)]
        self._square.setStyleSheet(f"background: {fill}; border: 1px solid {edge}; border-radius: 2px;")


class RuleLine(QWidget):
    """The grammar rule of a token, hidden if it is unknown. `chosen` carries the rule's name."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.link = named(ElidedLink(self), "ruleLink")
        self.origin = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        hbox(self.link, (self.origin, 1), parent=self, spacing=8)
        self.link.clicked.connect(lambda: self.chosen.emit(self.link.words))
        self.hide()

    def show_rule(self, rule: TokenRule | None) -> None:
        """Show the token's rule, or why it has none; None if it is unknown, or the run has no grammar."""
        self.setVisible(rule is not None)
        if rule is None:
            return
        self.link.setVisible(bool(rule.rule))
        self.link.set_words(rule.rule)
        self.link.setToolTip(
            tr("{rule}\n{origin}\nClick to show it on the Grammar page.", rule=rule.rule, origin=rule.words)
        )
        self.origin.setText((rule.constraint or rule.words) if rule.rule else rule.words)


_KINDS: tuple[tuple[PartKind, str], ...] = (
    ("reasoning", tr("reasoning")),
    ("text", tr("text")),
    ("call", tr("calls")),
    ("marker", tr("markers")),
)
_TITLES = (tr("part"), tr("tokens"), tr("forced"), tr("time"))


class TurnCosts(QWidget):
    """A line for each kind of part in the answer; `has_any`: there is something to show."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.has_any = False
        self._grid = grid_layout(self, spacing=(12, 4), stretch=0)
        self._lines: dict[PartKind, list[QLabel]] = {}
        self._titles = [self._label(title, column, "hint") for column, title in enumerate(_TITLES)]
        for column, label in enumerate(self._titles):
            self._grid.addWidget(label, 0, column)
        for row, (kind, words) in enumerate(_KINDS, 1):
            labels = [self._label(words, 0, "muted"), *(self._label("", column) for column in (1, 2, 3))]
            for column, label in enumerate(labels):
                self._grid.addWidget(label, row, column)
            self._lines[kind] = labels
        self.note = words_label("")
        self._grid.addWidget(self.note, len(_KINDS) + 1, 0, 1, len(_TITLES))

    def show_stage(self, stage: StageState) -> None:
        costs = part_costs(stage)
        note = " ".join(narrowed_words(stage, tr))
        show_words(self.note, note)
        self.has_any = bool(costs or note)
        for label in self._titles:
            label.setVisible(bool(costs))
        for kind, words in _KINDS:
            cost = costs.get(kind, PartCost())
            figures = (count(cost.tokens), count(cost.forced), duration(cost.seconds))
            for label, text, title in zip(self._lines[kind], (words, *figures), _TITLES, strict=True):
                label.setText(text)
                label.setAccessibleName(f"{words}, {title}: {text}")
                label.setVisible(bool(cost.tokens))

    def _label(self, words: str, column: int, role: str = "") -> QLabel:
        label = PlainLabel(words, self)
        if role:
            label.setProperty("role", role)
        side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
        label.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        return label
