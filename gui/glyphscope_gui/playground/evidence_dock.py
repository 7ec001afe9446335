"""The playground's right side: a token with its alternatives, and folded sections with the influence of the prompt, the
costs of the turn, confused tools, the shown branch and the savings of early aborts.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QLabel, QWidget

from glyphscope.base.figures import count, duration
from glyphscope.explain.segments import PartCost, PartKind, part_costs
from glyphscope.runs import RunState, StageState
from glyphscope.runs.stage_words import narrowed_words
from glyphscope_gui.playground.branches.bar import BranchBar
from glyphscope_gui.playground.branches.panel import BranchPanel
from glyphscope_gui.playground.chart_views import SavingsView
from glyphscope_gui.playground.evidence_words import token_words
from glyphscope_gui.playground.influence import InfluenceView
from glyphscope_gui.playground.tool_pairs import ToolPairsView
from glyphscope_gui.runs.alternatives_table import AlternativesModel, AlternativesTable
from glyphscope_gui.runs.run_controller import Saving
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.token_rules import Refusal, TokenRule
from glyphscope_gui.shared import layouts
from glyphscope_gui.shared.card import CardHeading, FoldingSection
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
from glyphscope_gui.theme.sizes import PAD

FEW = 6
"""Number of alternatives that are initially shown; others are seldom probable enough to matter."""
_NO_TOKEN = tr("Select a token in the transcript or the table to see its alternatives.")


class EvidenceDock(layouts.ScrollArea):
    """The alternatives of a token above `sections`, which fold and are made when they are first opened."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._state = RunState()
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
        self.influence_place = layouts.LateWidget(self._make_influence, when_seen=True)
        self.pairs_place = layouts.LateWidget(ToolPairsView, when_seen=True)
        self._turn_place = layouts.LateWidget(self._make_turn, when_seen=True)
        self.savings = SavingsView()
        self._lay_out()

    @property
    def influence(self) -> InfluenceView:
        return self.influence_place.widget

    @property
    def tool_pairs(self) -> ToolPairsView:
        return self.pairs_place.widget

    @property
    def turn(self) -> TurnCosts:
        return self._turn_place.widget

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
            self.sections["influence"].set_hint("")
        has_run = shown.run.started is not None
        if has_run is self.boxes["influence"].isHidden():
            for name in ("influence", "pairs"):
                self.boxes[name].setVisible(has_run)
        if stage is not self._shown[0]:
            self.show_token(stage, None)
            self._costs = None
        parts, end = stage.parted
        costs = (parts if end is not None else parts - 1, stage.finished is not None)
        if costs != self._costs:
            self._costs = costs
            words = turn_words(stage)
            self.boxes["turn"].setVisible(bool(words))
            self.sections["turn"].set_hint(words)
            if self._turn_place.is_made:
                self.turn.show_stage(stage)

    def show_token(self, stage: StageState, index: int | None) -> None:
        """Show the alternatives of one token of the stage, with the reasons why some cannot be in a valid call."""
        if self._shown[1] != index or index is None:
            self.rule_line.show_rule(None)
        self._shown, self._refusal = (stage, index), None
        self.expected_note.hide()
        started = self._state.started
        if index is None or started is None:
            self.alternatives_model.show((), (), -1)
            self.alternatives.hide()
            self.all_button.hide()
            self.alternatives_heading.title.set_title(tr("Alternatives"))
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
        self.alternatives_heading.title.set_title(tr("Alternatives of token {index}", index=index))
        self.alternatives_note.setText(token_words(token, stage, started))

    def show_refusal(self, refusal: Refusal) -> None:
        """Show the grammar's expectation at that token, if it is still the shown one."""
        if refusal.index != self._shown[1]:
            return
        rows = self.alternatives_model.rowCount()
        self.alternatives_model.set_refused(refusal.reasons[:rows], refusal.place)
        show_words(self.expected_note, refusal.place)
        self._refusal = refusal

    def add_saving(self, saving: Saving) -> None:
        """Show the tokens that another early abort saved."""
        self.savings.add(saving)
        saved = tr("{saved:,} of {whole:,}", saved=saving.whole - saving.decoded, whole=saving.whole)
        self.sections["savings"].set_hint(saved)
        self.boxes["savings"].show()

    def _show_bar(self) -> None:
        """Scroll to the actions at the token, once they are laid out."""
        self._column.activate()
        self.ensureWidgetVisible(self.branch_bar, 0, 8)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.influence_place.is_made:
            self.influence.fit_in(self.viewport().height())

    def _show_influence(self) -> None:
        """Scroll to the result, once it is laid out: the prompt and the list of its parts are visible together."""
        self.sections["influence"].set_hint(tr("%n part(s)", "", self.influence.model.rowCount()))
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

    # -- layout ------------------------------------------------------------------------------------------------

    def _make_influence(self) -> InfluenceView:
        view = InfluenceView()
        view.grown.connect(self._show_influence, Qt.ConnectionType.QueuedConnection)
        view.fit_in(self.viewport().height())
        return view

    def _make_turn(self) -> TurnCosts:
        turn = TurnCosts()
        turn.show_stage(self._shown[0])
        return turn

    def _lay_out(self) -> None:
        self._body = body = QWidget(self)
        body.setObjectName("right")
        self.alternatives_heading = CardHeading(tr("Alternatives"), parent=self)
        self.alternatives.hide()
        self.all_button.hide()
        parts = (
            self.alternatives_heading,
            self.rule_line,
            self.expected_note,
            self.alternatives,
            self.all_button,
            self.alternatives_note,
            self.branch_bar,
        )
        self.sections = {
            "influence": FoldingSection(tr("Influence of the prompt"), self.influence_place),
            "turn": FoldingSection(tr("Turn"), self._turn_place),
            "pairs": FoldingSection(tr("Confused tools"), self.pairs_place),
            "branch": FoldingSection(tr("This branch"), self.branch_panel),
            "savings": FoldingSection(tr("Saved by early abort"), self.savings),
        }
        self.sections["branch"].show_open(True)  # the cost of what the user just did
        self.boxes = {name: _box(section) for name, section in self.sections.items()}
        for box in self.boxes.values():
            box.hide()  # until it has content
        self._column = layouts.vbox(
            _box(*parts), *self.boxes.values(), layouts.STRETCH, parent=body, spacing=0
        )
        self.setWidget(body)


def _box(*widgets: QWidget) -> QFrame:
    """A section with a line below."""
    box = named(QFrame(), "evidenceSection")
    layouts.vbox(*widgets, parent=box, margins=(PAD, 10), spacing=8)
    return box


class RuleLine(layouts.FollowsSize, QWidget):
    """The grammar rule of a token, hidden if it is unknown, and its constraint, below it in a narrow panel. `chosen`
    carries the rule's name.
    """

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.link = named(ElidedLink(self), "ruleLink")
        self.origin = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        self._line = layouts.hbox(
            (self.link, 0, Qt.AlignmentFlag.AlignLeft), (self.origin, 1), parent=self, spacing=8
        )
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
        self._fit()

    def _fit(self) -> None:
        words = self.origin.fontMetrics().horizontalAdvance(self.origin.text())
        narrow = self.link.isVisibleTo(self) and self.link.sizeHint().width() + 8 + words > self.width()
        direction = QBoxLayout.Direction
        self._line.setDirection(direction.TopToBottom if narrow else direction.LeftToRight)


_KINDS: tuple[tuple[PartKind, str], ...] = (
    ("reasoning", tr("reasoning")),
    ("text", tr("text")),
    ("call", tr("calls")),
    ("marker", tr("markers")),
)
_TITLES = (tr("part"), tr("tokens"), tr("forced"), tr("time"))


def turn_words(stage: StageState) -> str:
    """The tokens of each kind of part in the answer, and whether it was narrowed: `tokens: reasoning 16, calls 38`."""
    costs = part_costs(stage)
    words = [f"{words} {costs[kind].tokens:,}" for kind, words in _KINDS if kind in costs]
    if not words:
        return " ".join(narrowed_words(stage, tr))
    return tr("tokens: {parts}", parts=", ".join(words))


class TurnCosts(QWidget):
    """A line for each kind of part in the answer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = layouts.grid_layout(self, spacing=(12, 4), stretch=0)
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
        show_words(self.note, " ".join(narrowed_words(stage, tr)))
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
