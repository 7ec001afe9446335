"""The view of the mask impact (`glyphscope.explain.impact`) and of token boundaries: the list of fields, the
explanation of the selected one, and the places where the text is not in the model's own tokens.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.base.figures import UNKNOWN
from glyphscope.base.pointer import steps_of
from glyphscope.base.shorten import capitalised
from glyphscope.base.tokens import token_text
from glyphscope.explain.impact import (
    AROUND,
    FieldImpact,
    MaskImpact,
    field_name,
    head,
    loss_words,
    masked_words,
    worst_words,
)
from glyphscope.explain.in_prompt import PromptPlace
from glyphscope.explain.retokenization import TokenBoundaries, boundary_diff_words, boundary_words
from glyphscope.registry import ToolRegistry
from glyphscope_gui.shared.card import SectionLabel
from glyphscope_gui.shared.labels import link, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, hbox, turn_if_narrow, vbox
from glyphscope_gui.shared.plain_table import CELL, WholeTable
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.theme.sizes import PAD

FIELD, TAKEN, MASKED = range(3)
_OUTSIDE = tr("(outside fields)")
_USUAL_TOKENS = "word → {"
"""The text for which the tokens' column has room, unless it is hidden."""
_COLUMNS = (
    (tr("field"), tr("A field of the answer; “(outside fields)” is the text around them")),
    (
        tr("masked tokens"),
        tr(
            "Expected number of the field's tokens that the constraint changed, of all of them: the raw probability of "
            "the masked ones, summed over the field"
        ),
    ),
    (
        tr("preferred → sampled"),
        tr(
            "The model's preferred token → the sampled one, at the step where most was masked; empty if "
            "nothing was masked"
        ),
    ),
)


class MaskImpactModel(TableModel[FieldImpact]):
    """The rows of the fields; fields in which nothing was masked are paler."""

    titles = tuple(title for title, _ in _COLUMNS)
    tips = tuple(tip for _, tip in _COLUMNS)
    figures = frozenset({TAKEN})

    def worst(self) -> int | None:
        """The row with the greatest masked mass, preferring fields to the text outside; None if nothing was masked."""
        masked = [index for index, impact in enumerate(self._rows) if impact.worst is not None]
        return max(
            masked, key=lambda index: (bool(self._rows[index].path), self._rows[index].lost), default=None
        )

    def spoken(self, row: FieldImpact, column: int) -> str:
        return f"{self.titles[column]}: {self.words(row, column) or tr('nothing')}"

    def tip(self, row: FieldImpact, column: int) -> str:
        return f"{field_name(row)}: {loss_words(row)}"

    def color(self, row: FieldImpact, column: int) -> str:
        return "text" if row.worst is not None else "text-muted"

    def words(self, row: FieldImpact, column: int) -> str:
        masked = row.worst
        return (
            _OUTSIDE if row.path == AROUND else field_name(row),
            masked_words(row, UNKNOWN),
            "" if masked is None else f"{_token(masked.preferred)} → {_token(masked.sampled)}",
        )[column]


def _token(text: str) -> str:
    return token_text(text.encode("utf-8", "replace")) if text else tr("⟨end⟩")


_MAX_BOUNDARIES = 4
"""Number of places with other token boundaries that are listed; the token table marks all."""


class MaskImpactTable(WholeTable):
    """The names of fields have priority: the tokens get the rest of the width, and are hidden if it is too narrow; the
    words below the table show those of the selected field.
    """

    def __init__(self, model: MaskImpactModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=MASKED, parent=parent)
        named(self, "maskImpactTable", tr("Preferred and sampled tokens, by field"))
        self.setAccessibleDescription(tr("Up and Down select a field; Enter goes to its token."))
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.fit_column(TAKEN, "0.00 of 000")
        model.modelReset.connect(self._fit)

    def _fit(self) -> None:
        needed = self.widest(FIELD) + CELL
        usual = self.fontMetrics().horizontalAdvance(_USUAL_TOKENS) + CELL
        tokens = max(usual, self.title_width(MASKED))
        room = self.viewport().width() - self.columnWidth(TAKEN)
        are_hidden = room < needed + tokens
        self.setColumnHidden(MASKED, are_hidden)
        self.setColumnWidth(FIELD, room if are_hidden else needed)


class MaskImpactView(FollowsSize, QWidget):
    """The fields, and beside them, where there is room, the explanation of the selected one.

    `tokenChosen` carries a token's index; `placeChosen` a tool, and an argument or None for the tool itself, whose
    description could be changed; `promptChosen` requests the prompt.
    """

    tokenChosen = Signal(int)
    placeChosen = Signal(str, object)
    promptChosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._registry: ToolRegistry | None = None
        self.model = MaskImpactModel(self)
        self.words = words_label(role="muted", name="maskImpactWords", selectable=True)
        self.table = MaskImpactTable(self.model, self)
        self.worst = words_label(role="", name="maskImpactWorst", selectable=True)
        self.detail = words_label(role="muted", name="maskImpactDetail", selectable=True)
        self.place = link("", tr("Show it where you can edit it"), self, name="maskImpactPlace")
        self.boundaries = words_label(role="muted", name="boundaryWords", selectable=True)
        self.boundaries_heading = SectionLabel(tr("Token boundaries"), self)
        self.boundaries_heading.setContentsMargins(0, 8, 0, 0)
        self._parts = (self.worst, self.detail, self.place)
        found = vbox(self.words, self.table, STRETCH, spacing=8)
        one = (self.worst, self.detail, (self.place, 0, Qt.AlignmentFlag.AlignLeft))
        about = vbox(*one, self.boundaries_heading, self.boundaries, STRETCH, spacing=8)
        self._columns = hbox((found, 1), (about, 1), parent=self, margins=(PAD, 8), spacing=PAD)
        self.table.selectionModel().currentRowChanged.connect(lambda now, _before: self._show(now.row()))
        for chosen in (self.table.clicked, self.table.activated):
            chosen.connect(lambda index: self._go(index.row()))
        self.place.clicked.connect(self._go_to_place)
        self.clear()

    def _fit(self) -> None:
        turn_if_narrow(self._columns, self)

    def clear(self, words: str = tr("Available when the run has finished.")) -> None:
        """Show these words in place of an impact."""
        self.model.show_rows(())
        for part in (self.table, *self._parts, self.boundaries_heading, self.boundaries):
            part.hide()
        self.words.setText(words)

    def show_impact(self, impact: MaskImpact, registry: ToolRegistry | None) -> None:
        """Show the impact; `registry` has the tools that constrained the run."""
        self._registry = registry
        self.words.setText(head(impact))
        self.model.show_rows(impact.fields if impact.constrained else ())
        self.table.setVisible(bool(impact.constrained) and bool(impact.fields))
        worst = self.model.worst() if impact.constrained else None
        for part in self._parts:
            part.hide()
        if worst is not None:
            self.table.setCurrentIndex(self.model.index(worst, FIELD))

    def show_boundaries(self, boundaries: TokenBoundaries) -> None:
        """Show where the text is not in the model's own tokens, or why that is unknown."""
        listed = boundaries.differences[:_MAX_BOUNDARIES]
        about = (
            tr("Token {index}: {about}", index=one.first, about=boundary_diff_words(one)) for one in listed
        )
        lines = [boundary_words(boundaries), *about]
        if len(boundaries.differences) > _MAX_BOUNDARIES:
            lines.append(tr("All of them are marked in the token table."))
        self.boundaries.setText("\n".join(lines))
        self.boundaries_heading.show()
        self.boundaries.show()

    def _show(self, row: int) -> None:
        impact = self.model.row(row)
        if impact is None:
            return
        first, *lines = [_sentence(line) for line in worst_words(impact, self._registry)] or [""]
        show_words(self.worst, first)
        show_words(self.detail, "\n".join([*lines, _sentence(loss_words(impact))]))
        words = self._place_words(impact)
        self.place.setText(words)
        self.place.setAccessibleName(words)
        self.place.setVisible(bool(words) and impact.worst is not None)

    def _place_words(self, impact: FieldImpact) -> str:
        place = _first(impact)
        if place is None:
            return ""
        if place.kind == "format":
            return tr("Show the prompt")
        if place.kind == "description":
            return tr("Show the description of {argument}", argument=_argument(place))
        return tr("Show the tool")

    def _go(self, row: int) -> None:
        impact = self.model.row(row)
        if impact is None:
            return
        token = impact.worst.token if impact.worst is not None else impact.most_token
        if token is not None:
            self.tokenChosen.emit(token)

    def _go_to_place(self) -> None:
        impact = self.model.row(self.table.currentIndex().row())
        place = _first(impact) if impact is not None else None
        if place is None:
            return
        steps = steps_of(place.of)
        if not steps:
            self.promptChosen.emit()
        else:
            self.placeChosen.emit(steps[0], _argument(place) if place.kind == "description" else None)


def _sentence(words: str) -> str:
    return f"{capitalised(words)}."


def _argument(place: PromptPlace) -> str:
    """The argument whose description it is: `place.of` is `/TOOL/parameters/properties/ARGUMENT/description`."""
    return steps_of(place.of)[3]


def _first(impact: FieldImpact) -> PromptPlace | None:
    return impact.places[0] if impact.places else None
