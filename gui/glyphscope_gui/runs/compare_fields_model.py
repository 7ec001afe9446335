"""The fields of all columns in one table: a row for each field, a column for each run, and the result first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.evals.align import TOOL, AlignedField, Alignment, FieldCell, field_words
from glyphscope.text.shorten import capitalised
from glyphscope.visible import visible
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import NO_INDEX, Index, TableModel
from glyphscope_gui.theme import mono_font

MARK, FIELD, FIRST_RUN = 0, 1, 2
STANDING_ROLE = Qt.ItemDataRole.UserRole
"""The role of the mark: `first` in the row with the first difference, else the row's result."""
PARTING_ROLE = Qt.ItemDataRole.UserRole + 1
"""The role of a differing string: the character of the shown text at which it begins to differ; otherwise None."""
MAX_ROWS = 200
"""Number of arguments of a call that are shown; the text below the heading counts all of them."""
MARKS = {"first": tr("≠ first"), "differs": "≠", "same": "=", "open": "…"}
_TIPS = {
    "first": tr("The first field in which the columns differ."),
    "differs": tr("The columns differ in this field."),
    "same": tr("All columns have the same value."),
    "open": tr("Not decided yet: a running column may still write this field."),
}


class CompareFieldsModel(TableModel[AlignedField]):
    """Shows the alignment set by `show`, with the names of its runs as headings."""

    titles = ("", tr("Field"))
    figures = frozenset()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names: tuple[str, ...] = ()
        self._alignment: Alignment | None = None

    def show(self, alignment: Alignment, names: Sequence[str]) -> None:
        if alignment == self._alignment and tuple(names) == self._names:
            return
        self.beginResetModel()
        self._alignment, self._names = alignment, tuple(names)
        self._rows = alignment.rows[:MAX_ROWS]
        self.endResetModel()

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else FIRST_RUN + len(self._names)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if section >= FIRST_RUN and orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                name = self._names[section - FIRST_RUN]
                return capitalised(name)
            return self.alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None
        return super().headerData(section, orientation, role)

    def words(self, row: AlignedField, column: int) -> str:
        if column == MARK:
            return MARKS[self._standing(row)]
        if column == FIELD:
            return visible(field_words(row), spaces=True)
        return self._text(row.cells[column - FIRST_RUN], column - FIRST_RUN)

    def spoken(self, row: AlignedField, column: int) -> str:
        return _TIPS[self._standing(row)] if column == MARK else self.words(row, column)

    def tip(self, row: AlignedField, column: int) -> str:
        return "" if column == FIELD else self.spoken(row, column)

    def color(self, row: AlignedField, column: int) -> str:
        if column < FIRST_RUN:
            return ""
        cell = row.cells[column - FIRST_RUN]
        return "text-faint" if cell is None else "impossible" if cell.status == "impossible" else "text"

    def extra(self, row: AlignedField, column: int, role: int) -> Any:
        if role == STANDING_ROLE:
            return self._standing(row)
        cell = row.cells[column - FIRST_RUN] if column >= FIRST_RUN else None
        if role == Qt.ItemDataRole.FontRole and cell is not None:
            return mono_font(-0.5)
        if role == PARTING_ROLE and row.agreement == "differs" and cell is not None:
            return _parting(row, cell)
        return None

    def _standing(self, row: AlignedField) -> str:
        return "first" if self._alignment is not None and row is self._alignment.first else row.agreement

    def _text(self, cell: FieldCell | None, run: int) -> str:
        alignment = self._alignment
        assert alignment is not None, "a row comes from one"
        if cell is None:
            if not alignment.compared[run]:
                return tr("not compared")
            return tr("not set") if alignment.ended[run] else ""
        if cell.closed:
            return visible(cell.text, spaces=True)
        return visible(cell.text, spaces=True) + ("  ✕" if alignment.ended[run] else " …")


def _parting(row: AlignedField, cell: FieldCell) -> int | None:
    """The character at which a string begins to differ; None for other values, and if an escape before it would move
    it.
    """
    if row.char is None or row.place or not isinstance(cell.value, str) or row.name is TOOL:
        return None
    head = cell.value[: row.char]
    return row.char + 1 if cell.text[1 : row.char + 1] == head == visible(head, spaces=True) else None
