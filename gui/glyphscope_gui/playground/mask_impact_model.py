"""Wanted X, got Y as a table: a row a field, in the order of the text."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.explain.mask_impact import AROUND, FieldImpact
from glyphscope.explain.mask_impact_report import field_name, loss_words, tokens_taken
from glyphscope.text.figures import UNKNOWN
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.shared.token_words import token_text
from glyphscope_gui.theme import theme

FIELD, TAKEN, MASKED = range(3)
_COLUMNS = (
    (tr("field"), tr("A field of the call; “(outside fields)” is the text around them")),
    (
        tr("masked mass"),
        tr(
            "Expected number of tokens of the field that the constraint changed: the raw probability of the masked "
            "tokens, summed over the field"
        ),
    ),
    (
        tr("preferred → sampled"),
        tr(
            "The model's preferred token at the step with the greatest masked mass, and the sampled one; empty if "
            "nothing was masked"
        ),
    ),
)


class MaskImpactModel(TableModel):
    """Rows are Wants. A field in which nothing was masked is paler than one in which grammar and model fight."""

    titles = tuple(title for title, _ in _COLUMNS)
    tips = tuple(tip for _, tip in _COLUMNS)
    figures = frozenset({TAKEN})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[FieldImpact, ...] = ()

    def show(self, rows: tuple[FieldImpact, ...]) -> None:
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def want(self, row: int) -> FieldImpact:
        return self._rows[row]

    def worst(self) -> int | None:
        """The row of the field with the worst fight, or of what is around the fields; None where there is no fight."""
        conflicts = [row for row, want in enumerate(self._rows) if want.worst is not None]
        return max(
            conflicts, key=lambda row: (bool(self._rows[row].path), self._rows[row].lost), default=None
        )

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        want = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(want, index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(index.column())
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color("text" if want.worst is not None else "text-muted")
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(f"{field_name(want)}: {loss_words(want)}")
        if role == Qt.ItemDataRole.AccessibleTextRole:
            words = self._text(want, index.column()) or tr("nothing")
            return f"{self.titles[index.column()]}: {words}"
        return None

    def _text(self, want: FieldImpact, column: int) -> str:
        masked = want.worst
        match column:
            case 0:
                return tr("(outside fields)") if want.path == AROUND else field_name(want)
            case 1:
                return tokens_taken(want.lost) if want.tokens > want.unknown else UNKNOWN
            case _:
                return "" if masked is None else f"{_token(masked.preferred)} → {_token(masked.sampled)}"


def _token(text: str) -> str:
    return token_text(text.encode("utf-8", "replace")) if text else tr("⟨end⟩")
