"""What else could have come in a token's place, and why a masked one could not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.errors import GlyphscopeError
from glyphscope.events import Alternative, RunRequest, Violation
from glyphscope.registry import ToolRegistry
from glyphscope.strategies.turns import answer_validator
from glyphscope.text.figures import UNKNOWN, percent
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.shared.token_words import is_masked, numbered, token_text
from glyphscope_gui.theme import theme

ALTERNATIVE_ROLE, REASON_ROLE, CHOSEN_ROLE, REFUSED_ROLE = (Qt.ItemDataRole.UserRole + n for n in range(4))
COLUMNS = (
    (tr("token"), tr("The token; crossed out if it was masked")),
    ("", tr("Raw probability as a bar")),
    (tr("raw"), tr("The model’s own probability, before mask and sampling parameters")),
    (
        tr("final"),
        tr(
            "The probability of being sampled, or the filter that removed the token; – if it "
            "could not be sampled"
        ),
    ),
)
TEXT, BAR, RAW, FINAL = range(4)
LONGEST_TEXT = 4000
"""A token behind so many characters has its alternatives explained by nobody."""
MOST_READ = 3000
"""Characters that are read for the reasons of one token, as the whole text is read again for each alternative: some
milliseconds of the window's thread. Beyond that none are looked for; the grammar's words come from elsewhere.
"""


def reasons(
    request: RunRequest, registry: ToolRegistry, before: str, alternatives: Sequence[Alternative]
) -> list[str]:
    """For each alternative why no valid call can go on with it; "" where one can, or where the reason is not known."""
    if len(before) * len(alternatives) > MOST_READ:
        return [""] * len(alternatives)
    return [_reason(request, registry, before, alternative) for alternative in alternatives]


def _reason(request: RunRequest, registry: ToolRegistry, before: str, alternative: Alternative) -> str:
    try:
        validator = answer_validator(request, registry)
    except GlyphscopeError:
        return ""
    validator.feed(before)
    if validator.violations:
        return ""
    found = [event for event in validator.feed(alternative.data) if isinstance(event, Violation)]
    return found[0].message if found else ""


class AlternativesModel(TableModel[Alternative]):
    """The alternatives of one token, the likeliest first."""

    titles = tuple(title for title, _ in COLUMNS)
    tips = tuple(tip for _, tip in COLUMNS)
    figures = frozenset({RAW, FINAL})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Alternative, ...] = ()
        self._reasons: list[str] = []
        self._refused: tuple[str, ...] = ()
        self._place = ""
        self._chosen: int | bytes = -1
        self._special: frozenset[int] = frozenset()

    def show(self, rows: Sequence[Alternative], why: Sequence[str], chosen: int | bytes) -> None:
        """`chosen` is the id of the token that came, or its bytes where no id was told."""
        self.beginResetModel()
        self._rows, self._reasons, self._chosen = tuple(rows), list(why), chosen
        self._refused = ()
        self.endResetModel()

    def set_refused(self, words: Sequence[str], place: str) -> None:
        """What the grammar says to each masked one; `place` is what it says of the place, and stands above them all."""
        self._refused, self._place = tuple(words), place
        if self._rows:  # no reset: what the user has chosen stays chosen
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(COLUMNS) - 1))

    def set_special(self, special: frozenset[int]) -> None:
        """The ids of special tokens: they are not the text that they are written with."""
        self._special = special
        if self._rows:
            self.dataChanged.emit(self.index(0, TEXT), self.index(len(self._rows) - 1, TEXT))

    def alternative(self, row: int) -> Alternative:
        return self._rows[row]

    def grammar_words(self, row: int) -> str:
        """What the grammar says to a masked one; "" where it says nothing, or not yet."""
        return self._refused[row] if row < len(self._refused) else ""

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self._rows[index.row()], index.column()
        why = self._reasons[index.row()]
        refused = self.grammar_words(index.row())
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == ALTERNATIVE_ROLE:
            return row
        if role == REASON_ROLE:
            return why
        if role == REFUSED_ROLE:
            return "" if why or refused == self._place else refused  # the hint has them all
        if role == CHOSEN_ROLE:
            return self._chosen in (row.id, row.data)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color("text-faint" if is_masked(row) or row.removed else "text")
        if role == Qt.ItemDataRole.ToolTipRole:
            masked = tr("Masked: the grammar does not allow the token here") if is_masked(row) else ""
            removed = tr("Allowed, and removed by {filter}", filter=row.removed) if row.removed else ""
            token = numbered(row.id)
            if row.id in self._special:
                token = tr("{token} (special)", token=token)
            first = tr("{token}, bytes {bytes}", token=token, bytes=row.data.hex(" ").upper())
            return "\n".join((first, *(words for words in (masked, removed, why, refused) if words)))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            words = self._text(row, column)
            if row.removed and column == TEXT:
                return tr("{token}, removed by {filter}", token=words, filter=row.removed)
            return tr("{token}, masked", token=words) if is_masked(row) else words
        return None

    def _text(self, row: Alternative, column: int) -> str:
        match column:
            case 0:
                words = token_text(row.data, row.text)
                return f"⟨{words}⟩" if row.id in self._special else words
            case 2:
                return percent(row.raw)
            case 3:
                return percent(row.final) if row.allowed and row.final else row.removed or UNKNOWN
            case _:
                return ""
