"""The costs of an answer's parts: reasoning, text, calls, and the markers between them; and the tokens at which a
budget narrowed the mask.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from glyphscope.events import Narrowed
from glyphscope.explain.segments import PartCost, PartKind, part_costs
from glyphscope.runs import StageState
from glyphscope.text.figures import count, duration
from glyphscope_gui.shared.labels import PlainLabel, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import grid_layout

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
        note = _narrowed(stage)
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


def _narrowed(stage: StageState) -> str:
    """The first tokens at which a budget narrowed the mask, in sentences."""
    notes = []
    if (token := _first(stage, "reasoning")) is not None:
        notes.append(
            tr("From token {token} on, the mask ends the reasoning: its budget is used up.", token=token)
        )
    if (token := _first(stage, "tokens")) is not None:
        notes.append(
            tr(
                "From token {token} on, the mask makes sure that the answer fits in the remaining tokens.",
                token=token,
            )
        )
    return " ".join(notes)


def _first(stage: StageState, kind: Narrowed) -> int | None:
    """The first token that was narrowed by that budget."""
    return next((token.step.index for token in stage.tokens if token.step.narrowed == kind), None)
