"""The influence of the parts of a run's prompt on what was written: a heat map over the prompt, and a list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QTextCharFormat
from PySide6.QtWidgets import QCheckBox, QTextEdit, QWidget

from glyphscope.base.errors import GlyphscopeError, ModelError, PromptError
from glyphscope.base.figures import percent
from glyphscope.base.pointer import readable
from glyphscope.base.shorten import excerpt
from glyphscope.explain.ablation.choice import written_choice, written_choices
from glyphscope.explain.ablation.pairs import ToolPair, tool_pairs
from glyphscope.explain.ablation.scoring import AblationProgress, ablate_prompt
from glyphscope.explain.ablation.types import (
    OMISSION_KINDS,
    OmissionEffect,
    OmissionKind,
    PromptAblation,
    WrittenChoice,
)
from glyphscope.explain.ablation.words import (
    cost_words,
    effect_words,
    head_words,
    is_changed,
    omission_name,
    shown_probability,
)
from glyphscope.models.interface import Model
from glyphscope.runs import RunState
from glyphscope_gui.context import AppContext
from glyphscope_gui.playground.tool_pairs import ScoringControls, ToolPairsView
from glyphscope_gui.prompt.rendered_prompt import RenderedPromptView
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.shared.background import this_task
from glyphscope_gui.shared.cells import LinesDelegate
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import Flow, LateWidget, vbox
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.table_model import CellLine, ListModel
from glyphscope_gui.shared.text_edits import marked
from glyphscope_gui.theme import theme

_KEY_ROLE = Qt.ItemDataRole.UserRole + 1
"""The kind of a choice and its first token."""
_MOST = 200
"""Fields and tokens of an answer that can be chosen."""
_WIDTH = 30
"""Characters of the longest name of a choice."""
_FULL = 2.0
"""The change of a log-probability that has the full colour."""
_HEAT, _LIST = 0.36, 0.3
"""The shares of the visible height that the prompt and the list have: both are seen together."""
_LINES, _ROWS = 6, 3
"""The fewest lines of the prompt and rows of the list that are visible."""
KINDS: dict[OmissionKind, str] = {
    "tool": tr("Tools"),
    "description": tr("Descriptions"),
    "example": tr("Examples"),
    "message": tr("Messages"),
    "sentence": tr("Sentences"),
}
BUDGETS = (
    (None, tr("Leave out every part"), tr("However long it takes")),
    (1.5, tr("1.5 times the prompt"), tr("Nearly all parts are only estimated")),
    (3.0, tr("3 times the prompt"), tr("Parts with little influence are only estimated")),
    (10.0, tr("10 times the prompt"), tr("A few parts are only estimated")),
)


class InfluenceModel(ListModel[OmissionEffect]):
    """The parts of the prompt, those with the largest changes first; `ablation` has their scores."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.ablation: PromptAblation | None = None

    def show_ablation(self, found: PromptAblation | None) -> None:
        """Show the effects of the parts; None for none."""
        self.ablation = found
        effects = () if found is None else found.effects
        self.show_rows(sorted(effects, key=lambda effect: -abs(self._change(effect) or 0.0)))

    def words(self, row: OmissionEffect, column: int) -> str:
        return omission_name(row.omission, tr)

    def spoken(self, row: OmissionEffect, column: int) -> str:
        return self.tip(row, column)

    def tip(self, row: OmissionEffect, column: int) -> str:
        return "" if self.ablation is None else effect_words(self.ablation, row, tr)

    def lines(self, row: OmissionEffect) -> tuple[CellLine, ...]:
        """The part; the probability without it, and the change of the log-probability."""
        found, change = self.ablation, self._change(row)
        if found is None or row.known is None or change is None:
            why = row.problem or tr("not computed")
            return CellLine(self.words(row, 0), "text-muted", small=False), CellLine(why, "text-muted")
        about = "" if row.score is not None else "≈ "
        share = about + percent(shown_probability(found, row.known))
        changed = is_changed(found, row)
        role = "text-muted" if not changed else "holds" if change < 0 else "impossible"
        return (
            CellLine(self.words(row, 0), "text" if changed else "text-muted", small=False),
            CellLine(tr("{share} without it", share=share), "text-muted", f"{about}{change:+.2f}", role),
        )

    def _change(self, row: OmissionEffect) -> float | None:
        return None if self.ablation is None else self.ablation.change(row)


class HeatView(RenderedPromptView):
    """The prompt, in which each part is coloured by its change: the inner of two nested parts is above the other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._heat: list[tuple[int, int, float, bool]] = []
        super().__init__(parent)
        self.setObjectName("promptInfluence")
        self.setAccessibleName(tr("The prompt, coloured by the influence of its parts"))
        self.setAccessibleDescription(tr("The part at the cursor is selected in the list below."))
        self.setCenterOnScroll(True)

    def show_heat(self, found: PromptAblation) -> None:
        """Show the prompt with the changes of its parts."""
        self._heat = []
        self.show_prompt(found.prompt)
        spans = [
            (span, change, effect.score is None)
            for effect in found.effects
            if (change := found.change(effect)) is not None and is_changed(found, effect)
            for span in effect.omission.spans
        ]
        for span, change, estimated in sorted(spans, key=lambda each: each[0][0] - each[0][1]):
            for start, end in self._places([span]):
                self._heat.append((start, end, change, estimated))
        self._mark()

    def _mark(self) -> None:
        super()._mark()
        marks = [self._heat_mark(*each) for each in self._heat]
        if marks:
            self.setExtraSelections([*marks, *self.extraSelections()])

    def _heat_mark(self, start: int, end: int, change: float, estimated: bool) -> QTextEdit.ExtraSelection:
        """A part without which what was written is less probable is green, another orange: the more it changes, the
        stronger. A part that is only estimated has a dashed line instead.
        """
        colors, role = theme(), "holds" if change < 0 else "impossible"
        field = colors.color("field")
        if estimated:
            line = QTextCharFormat.UnderlineStyle.DashUnderline, colors.color(f"{role}-line")
            return marked(self.document(), start, end, ground=field, line=line)
        share = min(1.0, abs(change) / _FULL) ** 0.5
        return marked(
            self.document(), start, end, ground=_between(field, colors.color(f"{role}-soft"), share)
        )


def _between(one: QColor, other: QColor, share: float) -> QColor:
    pairs = zip(one.getRgb()[:3], other.getRgb()[:3])  # type: ignore[index]
    return QColor(*(round(a + (b - a) * share) for a, b in pairs))


class InfluenceView(QWidget):
    """`explainRequested` carries the WrittenChoice to explain. `grown` is emitted when a result is shown."""

    explainRequested = Signal(object)
    grown = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choices = choice_box(
            self, "influenceChoice", tr("Choice to explain"), least=6,
            tip=tr("The tool, a field, a token or the whole answer of the shown run"),
        )  # fmt: skip
        explain = push_button(
            tr("Explain"), self, name="explainPromptButton",
            tip=tr("Leave out each part of the prompt in turn, and score again what was written"),
        )  # fmt: skip
        self.controls = ScoringControls(explain, self.choices, self)
        self.kinds = Flow(self, gap=10)
        self._boxes: dict[OmissionKind, QCheckBox] = {}
        for kind, words in KINDS.items():
            box = named(
                QCheckBox(words, self.kinds), f"influence-{kind}", tr("Leave out: {kind}", kind=words)
            )
            box.setChecked(True)
            box.toggled.connect(self._enable)
            self.kinds.add(box)
            self._boxes[kind] = box
        self.budget = choice_box(
            self, "influenceBudget", tr("Budget"), choices=BUDGETS, least=8,
            tip=tr("The most tokens to evaluate, in lengths of the prompt"),
        )  # fmt: skip
        self.words = words_label(name="influenceWords", selectable=True)
        self.heat = HeatView(self)
        self.model = InfluenceModel(self)
        self.list = PlainList(
            self.model, "influenceList", tr("Parts of the prompt, by influence"), self,
            description=tr("A row marks its part in the prompt above."), uniformItemSizes=True,
        )  # fmt: skip
        self.list.setItemDelegate(LinesDelegate(self.list))
        self.detail = words_label(name="influenceDetail", selectable=True)
        self.cost = words_label(name="influenceCost", selectable=True)
        self._result = (self.heat, self.detail, self.list, self.cost)
        vbox(self.controls, self.kinds, self.budget, self.words, *self._result, parent=self, spacing=8)
        explain.clicked.connect(lambda: self.explainRequested.emit(self.choices.currentData()))
        self.list.selectionModel().currentChanged.connect(lambda now, _before: self._choose(now.row()))
        self.list.clicked.connect(lambda index: self._choose(index.row()))
        self.heat.placeChosen.connect(self._choose_place)
        self.fit_in(0)
        self.show_choices((), tr("Available when a run has finished."))

    @property
    def chosen_kinds(self) -> list[OmissionKind]:
        """The kinds of parts that are left out."""
        return [kind for kind, box in self._boxes.items() if box.isChecked()]

    def fit_in(self, height: int) -> None:
        """Divide so many visible pixels among the prompt and the list."""
        line = self.heat.fontMetrics().height()
        row = 2 * self.list.fontMetrics().height() + 10
        self.heat.setFixedHeight(max(round(height * _HEAT), _LINES * line))
        self.list.setFixedHeight(max(round(height * _LIST), _ROWS * row))

    def show_choices(self, choices: Sequence[WrittenChoice], words: str) -> None:
        """Offer the choices of another run, without a result; `words` say what can be done."""
        self.choices.clear()
        for choice in choices:
            self.add_choice(choice)
        self._enable()
        self.model.show_ablation(None)
        for part in self._result:
            part.hide()
        self.controls.show_progress(None)
        self.say(words)

    def add_choice(self, choice: WrittenChoice) -> int:
        """Offer another choice. Returns its place in the list."""
        self.choices.addItem(name_of(choice), choice)
        place = self.choices.count() - 1
        self.choices.setItemData(place, f"{choice.kind} {choice.first}", _KEY_ROLE)
        return place

    def show_token(self, token: WrittenChoice) -> None:
        """Offer to explain that token."""
        place = self.choices.findData(f"token {token.first}", _KEY_ROLE)
        self.choices.setCurrentIndex(place if place >= 0 else self.add_choice(token))

    def say(self, words: str) -> None:
        show_words(self.words, words)

    def show_ablation(self, found: PromptAblation) -> None:
        """Show the result."""
        self.say("\n".join(head_words(found, tr)))
        self.heat.show_heat(found)
        self.model.show_ablation(found)
        show_words(self.cost, " ".join(filter(None, (cost_words(found, tr), found.note))))
        self.heat.show()
        self.list.setVisible(bool(found.effects))
        self.list.setCurrentIndex(self.model.index(0, 0))
        self._choose(0)
        self.grown.emit()

    def _enable(self, _on: bool = False) -> None:
        any_choice = self.choices.count() > 0
        for part in (self.choices, self.kinds, self.budget):
            part.setEnabled(any_choice)
        self.controls.start_button.setEnabled(any_choice and bool(self.chosen_kinds))

    def _choose(self, row: int) -> None:
        effect, found = self.model.row(row), self.model.ablation
        if effect is not None and found is not None:
            self.heat.mark(effect.omission.spans)
            words = effect_words(found, effect, tr)
            lost = (
                ""
                if effect.omission.spans
                else tr("It is not marked: the chat template writes it in another form.")
            )
            show_words(self.detail, " ".join(filter(None, (words, lost))))

    def _choose_place(self, character: int) -> None:
        """Select the smallest part with that character."""
        sizes = {
            index: sum(end - start for start, end in effect.omission.spans)
            for index, effect in enumerate(self.model.rows)
            if any(start <= character < end for start, end in effect.omission.spans)
        }
        if sizes:
            self.list.setCurrentIndex(self.model.index(min(sizes, key=sizes.__getitem__), 0))


class InfluencePresenter(QObject):
    """Explains the prompt of the shown run with the open model, and compares its tools, between runs; a run ends both,
    with the parts so far. It begins with a view once that is made.
    """

    def __init__(
        self, context: AppContext, view: LateWidget[InfluenceView], pairs: LateWidget[ToolPairsView]
    ) -> None:
        super().__init__(view)
        self._runs, self._places = context.runs, (view, pairs)
        self._view: InfluenceView | None = None
        self._pairs: ToolPairsView | None = None
        self._run: RunState | None = None
        """The run whose choices are offered."""
        self._token: int | None = None
        context.runs.shown.connect(self._show_run)
        view.made.connect(self._begin)
        pairs.made.connect(self._begin_pairs)

    def show_token(self, index: int | None) -> None:
        """Offer to explain the selected token."""
        self._token = index
        if self._view is None or self._run is None or index is None:
            return
        with suppress(PromptError):  # the end token, or one of a later prompt
            self._view.show_token(written_choice(self._run, "token", token=index))

    def _begin(self, view: InfluenceView) -> None:
        self._view = view
        view.explainRequested.connect(self._explain)
        view.controls.stopRequested.connect(self._runs.queries.stop_scoring)
        self._offer(view)
        self.show_token(self._token)

    def _begin_pairs(self, pairs: ToolPairsView) -> None:
        self._pairs = pairs
        pairs.compareRequested.connect(self._compare)
        pairs.controls.stopRequested.connect(self._runs.queries.stop_scoring)
        self._offer(pairs)

    def _show_run(self, shown: ShownRun) -> None:
        if shown.run is self._run or not (shown.over or self._run is not None):
            return
        self._run = shown.run if shown.over else None
        self._token = None
        self._offer(self._view, self._pairs)

    def _offer(self, *views: InfluenceView | ToolPairsView | None) -> None:
        """Show in these views what can be explained of the run."""
        choices: list[WrittenChoice] = []
        words = tr("Available when the run has finished.")
        if self._run is not None and any(view is not None for view in views):
            try:
                choices = written_choices(self._run, _MOST)
                words = tr(
                    "Each part of the prompt is left out in turn, and what was written is scored again."
                )
                if self._run.begun.request.strategy == "loop":
                    words = tr("Of a loop, the first turn and its prompt are explained.") + " " + words
            except GlyphscopeError as error:
                words = error.words
        for view in views:
            if isinstance(view, InfluenceView):
                view.show_choices(choices, words)
            elif view is not None:
                view.offer(any(choice.kind == "tool" for choice in choices))

    def _explain(self, choice: WrittenChoice) -> None:
        view = self._places[0].widget
        kinds, budget = view.chosen_kinds, view.budget.currentData()
        work = partial(ablation_of, choice=choice, kinds=kinds, budget=budget)
        self._score(view, work, view.show_ablation)

    def _compare(self) -> None:
        pairs = self._places[1].widget
        self._score(pairs, pairs_of, pairs.show_end)

    def _score(
        self, view: InfluenceView | ToolPairsView, work: Callable[..., Any], show: Callable[[Any], None]
    ) -> None:
        """Score the shown run for that view; whatever is scored for the other one ends."""
        if (run := self._run) is None:
            return
        for each in (self._view, self._pairs):
            if each is not None:
                each.controls.show_progress(AblationProgress(0, 0) if each is view else None)

        def ended(show: Callable[[Any], None], result: Any) -> None:
            if run is self._run:
                view.controls.show_progress(None)
                show(result)

        def report(reports: list[Any]) -> None:
            for pair in reports:
                if isinstance(pair, ToolPair) and isinstance(view, ToolPairsView):
                    view.add(pair)
            progress = [each for each in reports if isinstance(each, AblationProgress)]
            if progress and run is self._run:
                view.controls.show_progress(progress[-1])

        def failed(error: BaseException) -> None:
            if not isinstance(error, GlyphscopeError):
                self._runs.queries.crashed.emit(error)
            ended(view.say, error.words if isinstance(error, GlyphscopeError) else str(error))

        self._runs.queries.score(partial(work, state=run), partial(ended, show), failed, report)


def name_of(choice: WrittenChoice) -> str:
    """The name of a choice in the list."""
    match choice.kind:
        case "tool":
            return tr("Tool {name}", name=choice.name)
        case "field":
            return tr("Field {name}", name=readable(choice.path))
        case "token":
            return tr("Token {index}: {text}", index=choice.first, text=excerpt(choice.text, _WIDTH))
        case _:
            return tr("Whole answer")


def _opened(model: Model | None) -> Model:
    if model is None:
        raise ModelError(tr("No model is open."), hint=tr("Open the model of the run."))
    return model


def ablation_of(
    model: Model | None,
    state: RunState,
    choice: WrittenChoice,
    kinds: Collection[OmissionKind] = OMISSION_KINDS,
    budget: float | None = None,
) -> PromptAblation:
    """Explain the choice with the open model, in its thread. Raises GlyphscopeError."""
    task = this_task()
    return ablate_prompt(
        state, _opened(model), choice, kinds=kinds, budget=budget, report=task.report,
        stopped=task.stopped.is_set,
    )  # fmt: skip


def pairs_of(model: Model | None, state: RunState) -> int:
    """Compare the called tool with each other one, in the model's thread: each pair is reported. Returns their number.

    Raises GlyphscopeError.
    """
    task = this_task()
    pairs = tool_pairs(state, _opened(model), report=task.report, stopped=task.stopped.is_set)
    count = 0
    for pair in pairs:
        task.report(pair)
        count += 1
    return count
