"""The influence of the parts of a run's prompt on what was written: a heat map over the prompt, and a list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QProgressBar, QTextEdit, QWidget

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.figures import UNKNOWN, percent
from glyphscope.base.pointer import readable
from glyphscope.base.shorten import excerpt
from glyphscope.explain.ablation.choice import written_choices
from glyphscope.explain.ablation.scoring import AblationProgress, ablate_prompt
from glyphscope.explain.ablation.types import OmissionEffect, PromptAblation, WrittenChoice
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
from glyphscope_gui.prompt.rendered_prompt import RenderedPromptView
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.shared.background import this_task
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.shared.text_edits import marked
from glyphscope_gui.theme import theme

PART, PROBABILITY, CHANGE = range(3)
_KEY_ROLE = Qt.ItemDataRole.UserRole + 1
"""The kind of a choice and its first token."""
_MOST = 200
"""Fields and tokens of an answer that can be chosen."""
_ROWS = 8
"""Rows of the list that stay visible; the prompt has twice as many lines."""
_WIDTH = 30
"""Characters of the longest name of a choice."""
_FULL = 2.0
"""The change of a log-probability that has the full colour."""


class InfluenceModel(TableModel[OmissionEffect]):
    """The parts of the prompt, those with the largest changes first; `ablation` has their scores."""

    titles = (tr("Left out"), tr("Probability"), tr("Change"))
    tips = (
        tr("The part that is left out of the request before its templates are rendered"),
        tr("The probability of what was written without this part"),
        tr("The change of its log-probability, in nats: negative where the part made it more probable"),
    )
    figures = frozenset({PROBABILITY, CHANGE})
    speaks_titles = True

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.ablation: PromptAblation | None = None

    def show_ablation(self, found: PromptAblation | None) -> None:
        """Show the effects of the parts; None for none."""
        self.ablation = found
        effects = () if found is None else found.effects
        self.show_rows(sorted(effects, key=lambda effect: -abs(self._change(effect) or 0.0)))

    def words(self, row: OmissionEffect, column: int) -> str:
        found, change = self.ablation, self._change(row)
        if column == PART or found is None:
            return omission_name(row.omission, tr)
        if row.known is None or change is None:
            return UNKNOWN
        about = "" if row.score is not None else "≈ "
        figure = percent(shown_probability(found, row.known)) if column == PROBABILITY else f"{change:+.2f}"
        return about + figure

    def tip(self, row: OmissionEffect, column: int) -> str:
        return "" if self.ablation is None else effect_words(self.ablation, row, tr)

    def color(self, row: OmissionEffect, column: int) -> str:
        return "text" if self.ablation is not None and is_changed(self.ablation, row) else "text-muted"

    def _change(self, row: OmissionEffect) -> float | None:
        return None if self.ablation is None else self.ablation.change(row)


class HeatView(RenderedPromptView):
    """The prompt, in which each part is coloured by its change: the inner of two nested parts is above the other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._heat: list[tuple[int, int, float]] = []
        super().__init__(parent)
        self.setObjectName("promptInfluence")
        self.setAccessibleName(tr("The prompt, coloured by the influence of its parts"))
        self.setAccessibleDescription(tr("The part at the cursor is selected in the list below."))

    def show_heat(self, found: PromptAblation) -> None:
        """Show the prompt with the changes of its parts."""
        self._heat = []
        self.show_prompt(found.prompt)
        spans = [
            (span, change)
            for effect in found.effects
            if (change := found.change(effect)) is not None and is_changed(found, effect)
            for span in effect.omission.spans
        ]
        for span, change in sorted(spans, key=lambda each: each[0][0] - each[0][1]):
            for start, end in self._places([span]):
                self._heat.append((start, end, change))
        self._mark()

    def _mark(self) -> None:
        super()._mark()
        marks = [self._heat_mark(*each) for each in self._heat]
        if marks:
            self.setExtraSelections([*marks, *self.extraSelections()])

    def _heat_mark(self, start: int, end: int, change: float) -> QTextEdit.ExtraSelection:
        """A part without which what was written is less probable is green, another orange: the more it changes, the
        stronger.
        """
        colors = theme()
        full = colors.color("holds-soft" if change < 0 else "impossible-soft")
        share = min(1.0, abs(change) / _FULL) ** 0.5
        return marked(self.document(), start, end, ground=_between(colors.color("field"), full, share))


def _between(one: QColor, other: QColor, share: float) -> QColor:
    pairs = zip(one.getRgb()[:3], other.getRgb()[:3])  # type: ignore[index]
    return QColor(*(round(a + (b - a) * share) for a, b in pairs))


class InfluenceView(QWidget):
    """`explainRequested` carries the WrittenChoice to explain."""

    explainRequested = Signal(object)
    stopRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choices = choice_box(
            self, "influenceChoice", tr("Choice to explain"), least=8,
            tip=tr("The tool, a field, a token or the whole answer of the shown run"),
        )  # fmt: skip
        self.explain_button = push_button(
            tr("Explain"), self, name="explainPromptButton",
            tip=tr("Leave out each part of the prompt in turn, and score again what was written"),
        )  # fmt: skip
        self.stop_button = push_button(
            tr("Stop"), self, name="stopExplainingButton", tip=tr("End with the parts that are scored")
        )
        self.bar = named(QProgressBar(self, textVisible=False), "influenceProgress", tr("Tokens evaluated"))
        self.words = words_label(name="influenceWords", selectable=True)
        self.heat = HeatView(self)
        self.model = InfluenceModel(self)
        self.table = PlainTable(self.model, PART, self)
        named(self.table, "influenceTable", tr("Parts of the prompt, by influence"))
        self.table.fit_column(PROBABILITY, "≈ 100.0%")
        self.table.fit_column(CHANGE, "≈ +00.00")
        self.table.fit_rows(least=_ROWS)
        self.heat.setMinimumHeight(_ROWS * 2 * self.heat.fontMetrics().height())
        self.detail = words_label(name="influenceDetail", selectable=True)
        self.cost = words_label(name="influenceCost", selectable=True)
        self._result = (self.heat, self.table, self.detail, self.cost)
        top = hbox((self.choices, 1), self.explain_button, self.stop_button, spacing=8)
        vbox(top, self.bar, self.words, *self._result, parent=self, spacing=8)
        self.explain_button.clicked.connect(lambda: self.explainRequested.emit(self.choices.currentData()))
        self.stop_button.clicked.connect(self.stopRequested)
        self.table.selectionModel().currentRowChanged.connect(lambda now, _before: self._choose(now.row()))
        self.heat.placeChosen.connect(self._choose_place)
        self.show_choices((), tr("Available when a run has finished."))

    def show_choices(self, choices: Sequence[WrittenChoice], words: str) -> None:
        """Offer the choices of another run, without a result; `words` say what can be done."""
        self.choices.clear()
        for place, choice in enumerate(choices):
            self.choices.addItem(name_of(choice), choice)
            self.choices.setItemData(place, f"{choice.kind} {choice.first}", _KEY_ROLE)
        self.choices.setEnabled(bool(choices))
        self.explain_button.setEnabled(bool(choices))
        self.model.show_ablation(None)
        for part in self._result:
            part.hide()
        self.show_progress(None)
        self.say(words)

    def show_token(self, index: int | None) -> None:
        """Offer to explain that token; None for the choice as it is."""
        if index is not None and (place := self.choices.findData(f"token {index}", _KEY_ROLE)) >= 0:
            self.choices.setCurrentIndex(place)

    def say(self, words: str) -> None:
        show_words(self.words, words)

    def show_progress(self, progress: AblationProgress | None) -> None:
        """Show how far the scores are; None while none are computed."""
        self.bar.setVisible(progress is not None)
        self.stop_button.setVisible(progress is not None)
        self.explain_button.setVisible(progress is None)
        if progress is not None:
            self.bar.setRange(0, progress.total)
            self.bar.setValue(progress.done)

    def show_ablation(self, found: PromptAblation) -> None:
        """Show the result."""
        self.say("\n".join(head_words(found, tr)))
        self.heat.show_heat(found)
        self.model.show_ablation(found)
        show_words(self.cost, " ".join(filter(None, (cost_words(found, tr), found.note))))
        self.heat.show()
        self.table.show()
        self.table.setCurrentIndex(self.model.index(0, 0))
        self._choose(0)

    def _choose(self, row: int) -> None:
        effect, found = self.model.row(row), self.model.ablation
        if effect is not None and found is not None:
            self.heat.mark(effect.omission.spans)
            show_words(self.detail, effect_words(found, effect, tr))

    def _choose_place(self, character: int) -> None:
        """Select the smallest part with that character."""
        sizes = {
            index: sum(end - start for start, end in effect.omission.spans)
            for index, effect in enumerate(self.model.rows)
            if any(start <= character < end for start, end in effect.omission.spans)
        }
        if sizes:
            self.table.selectRow(min(sizes, key=sizes.__getitem__))


class InfluencePresenter(QObject):
    """Explains the prompt of the shown run with the open model, between runs; a run ends it, with the parts so far."""

    def __init__(self, context: AppContext, view: InfluenceView) -> None:
        super().__init__(view)
        self._runs, self._view = context.runs, view
        self._run: RunState | None = None
        """The run whose choices are offered."""
        context.runs.shown.connect(self._show_run)
        view.explainRequested.connect(self._explain)
        view.stopRequested.connect(context.runs.queries.stop_scoring)

    def show_token(self, index: int | None) -> None:
        """Offer to explain the selected token."""
        self._view.show_token(index)

    def _show_run(self, shown: ShownRun) -> None:
        if shown.run is self._run or not (shown.over or self._run is not None):
            return
        self._run = shown.run if shown.over else None
        if not shown.over:
            self._view.show_choices((), tr("Available when the run has finished."))
            return
        try:
            choices = written_choices(shown.run, _MOST)
        except GlyphscopeError as error:
            self._view.show_choices((), error.words)
            return
        words = tr("Each tool, description, example, message and sentence of the prompt is left out in turn.")
        self._view.show_choices(choices, words)

    def _explain(self, choice: WrittenChoice) -> None:
        if self._run is None:
            return
        self._view.show_progress(AblationProgress(0, 0))
        work = partial(ablation_of, state=self._run, choice=choice)
        run = self._run
        self._runs.queries.score(work, partial(self._done, run), partial(self._failed, run), self._report)

    def _report(self, reports: list[Any]) -> None:
        if reports:
            self._view.show_progress(reports[-1])

    def _done(self, run: RunState, found: PromptAblation) -> None:
        if run is self._run:
            self._view.show_progress(None)
            self._view.show_ablation(found)

    def _failed(self, run: RunState, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            self._runs.queries.crashed.emit(error)
        if run is self._run:
            self._view.show_progress(None)
            self._view.say(error.words if isinstance(error, GlyphscopeError) else str(error))


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


def ablation_of(model: Model | None, state: RunState, choice: WrittenChoice) -> PromptAblation:
    """Explain the choice with the open model, in its thread. Raises GlyphscopeError."""
    task = this_task()
    if model is None:
        raise ModelError(tr("No model is open."), hint=tr("Open the model of the run."))
    return ablate_prompt(state, model, choice, report=task.report, stopped=task.stopped.is_set)
