"""Wanted X, got Y as a table: a row a field, in the order of the text."""

from __future__ import annotations

from glyphscope.explain.mask_impact import AROUND, FieldImpact
from glyphscope.explain.mask_impact_report import field_name, loss_words, tokens_taken
from glyphscope.text.figures import UNKNOWN
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.shared.token_words import token_text

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


class MaskImpactModel(TableModel[FieldImpact]):
    """Rows are Wants. A field in which nothing was masked is paler than one in which grammar and model fight."""

    titles = tuple(title for title, _ in _COLUMNS)
    tips = tuple(tip for _, tip in _COLUMNS)
    figures = frozenset({TAKEN})

    def show(self, rows: tuple[FieldImpact, ...]) -> None:
        self.show_rows(rows)

    def want(self, row: int) -> FieldImpact:
        return self._rows[row]

    def worst(self) -> int | None:
        """The row of the field with the worst fight, or of what is around the fields; None where there is no fight."""
        conflicts = [row for row, want in enumerate(self._rows) if want.worst is not None]
        return max(
            conflicts, key=lambda row: (bool(self._rows[row].path), self._rows[row].lost), default=None
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
            tr("(outside fields)") if row.path == AROUND else field_name(row),
            tokens_taken(row.lost) if row.tokens > row.unknown else UNKNOWN,
            "" if masked is None else f"{_token(masked.preferred)} → {_token(masked.sampled)}",
        )[column]


def _token(text: str) -> str:
    return token_text(text.encode("utf-8", "replace")) if text else tr("⟨end⟩")
