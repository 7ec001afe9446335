"""The base of tables and lists: rows of a sequence, titled columns, each cell's text, spoken text and look; the base of
trees; and the roles of custom delegates.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)

from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.theme import theme

PILL_ROLE = Qt.ItemDataRole.UserRole + 1
"""(words, theme role) of a pill, or None."""
MARK_ROLE = Qt.ItemDataRole.UserRole + 2
"""The index of the marked character of a text, or None."""
MAX_TITLE = 24
"""Characters of a column's title that are always visible; a longer title, such as a model's name, is its tip too."""


Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()
Row = TypeVar("Row")


class _Titles:
    """The titles of a model's columns, a mixin."""

    titles: Sequence[str]
    tips: Sequence[str] = ()
    """An explanation of each title; empty if the titles need none."""
    figures: frozenset[int] = frozenset()
    """The right-aligned columns."""

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.titles[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            long = self.titles[section] if len(self.titles[section]) > MAX_TITLE else ""
            tip = self.tips[section] if self.tips else ""  # the glossary explains a title that is a term
            return tip or plain_tip(long) or None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(section)
        return None

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if column in self.figures else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter


class TableModel(_Titles, QAbstractTableModel, Generic[Row]):
    """A subclass defines the text of a row's cells with `words`, and overrides the rest where needed."""

    speaks_titles = False
    """Whether a screen reader gets the title of the column before a cell's text."""
    key = ""
    """The attribute that identifies a row after a change of rows, such as `place.key`; "" for the row itself."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[Row] = ()

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    def row(self, place: int) -> Row | None:
        """The row at that place; None if there is none."""
        return self._rows[place] if 0 <= place < len(self._rows) else None

    def key_of(self, row: Row) -> Any:
        return attrgetter(self.key)(row) if self.key else row

    def row_of(self, key: object) -> int:
        """The index of the row with that key; -1 if there is none."""
        return next((place for place, row in enumerate(self._rows) if self.key_of(row) == key), -1)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows; the selection is cleared."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    # -- the cells ---------------------------------------------------------------------------------------------

    def words(self, row: Row, column: int) -> str:
        """Return the cell's text."""
        raise NotImplementedError

    def spoken(self, row: Row, column: int) -> str:
        """Return the cell's text for a screen reader."""
        return self.titled(row, column) if self.speaks_titles else self.words(row, column)

    def tip(self, row: Row, column: int) -> str:
        """Return the cell's tip as plain text, in any number of lines; "" for none."""
        return ""

    def color(self, row: Row, column: int) -> str:
        """Return the theme role of the words; "" for the table's."""
        return ""

    def titled(self, row: Row, column: int) -> str:
        """Return the words after their column's title, for `spoken`."""
        return f"{self.titles[column]}: {self.words(row, column)}"

    def extra(self, row: Row, column: int, role: int) -> Any:
        """Return the cell's data for any other role."""
        return None

    # -- Qt ----------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.titles)

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self.words(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ForegroundRole:
            color = self.color(row, column)
            return theme().color(color) if color else None
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self.tip(row, column)) or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.spoken(row, column)
        return self.extra(row, column, role)

    # -- changes -----------------------------------------------------------------------------------------------

    def _insert(self, at: int, rows: Sequence[Row]) -> None:
        """Insert rows at that place; the selection is kept."""
        if rows:
            assert isinstance(self._rows, list), "a model that grows has a list"
            self.beginInsertRows(NO_INDEX, at, at + len(rows) - 1)
            self._rows[at:at] = rows
            self.endInsertRows()

    def _changed(self, first: int = 0, stop: int | None = None, column: int | None = None) -> None:
        """Announce changes in the rows from `first` up to `stop`, in one column or in all."""
        last = (len(self._rows) if stop is None else stop) - 1
        if last >= first:
            left, right = (0, self.columnCount() - 1) if column is None else (column, column)
            self.dataChanged.emit(self.index(first, left), self.index(last, right))


class FilteredModel(TableModel[Row]):
    """Shows the rows whose words (`searched`) contain the filter."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: Sequence[Row] = ()
        self._filter = ""

    def searched(self, row: Row) -> str:
        raise NotImplementedError

    @property
    def total(self) -> int:
        """The number of all rows, including hidden ones."""
        return len(self._all)

    def fits(self, row: Row) -> bool:
        return self._filter in self.searched(row).lower()

    def set_filter(self, text: str) -> None:
        self._filter = text.strip().lower()
        self._show_all(self._all)

    def _show_all(self, rows: Sequence[Row]) -> None:
        self._all = rows
        self.show_rows([row for row in rows if self.fits(row)])


class ListModel(TableModel[Row]):
    """A list: one column, without a title."""

    titles = ("",)


class TreeRows:
    """The rows of a tree, numbered from 1 in its order; 0 is the root, which no view shows."""

    def __init__(self) -> None:
        self.above = [0]
        """By row number, the parent row."""
        self.below: list[list[int]] = [[]]
        """By row number, the child rows."""
        self.place = [0]
        """By row number, the row's index among its siblings."""

    def add(self, above: int) -> int:
        """Add a last child row to `above`; returns its number."""
        number = len(self.above)
        self.above.append(above)
        self.place.append(len(self.below[above]))
        self.below[above].append(number)
        self.below.append([])
        return number


class TreeModel(_Titles, QAbstractItemModel):
    """The internal id of an index is the number of its row in `_tree`, which is only replaced as a whole."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tree = TreeRows()

    def index_of_row(self, number: int) -> QModelIndex:
        """The first cell of a row; an invalid index for 0."""
        return self.createIndex(self._tree.place[number], 0, number) if number else QModelIndex()

    def index(self, row: int, column: int, parent: Index = NO_INDEX) -> QModelIndex:
        rows = self._tree.below[parent.internalId() if parent.isValid() else 0]
        is_inside = 0 <= row < len(rows) and 0 <= column < len(self.titles)
        return self.createIndex(row, column, rows[row]) if is_inside else QModelIndex()

    def parent(self, index: Index | None = None) -> Any:
        """Qt has two methods of this name: an index's parent, and the object's."""
        if index is None:
            return super().parent()
        return self.index_of_row(self._tree.above[index.internalId()] if index.isValid() else 0)

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        if not parent.isValid():
            return len(self._tree.below[0])
        return 0 if parent.column() else len(self._tree.below[parent.internalId()])

    def columnCount(self, _parent: Index = NO_INDEX) -> int:
        return len(self.titles)
