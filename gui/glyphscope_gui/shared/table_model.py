"""The base of tables and lists: rows of a sequence, titled columns, each cell's text, spoken text and look; the base of
trees; and the roles of custom delegates.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.theme import theme

PILL_ROLE = Qt.ItemDataRole.UserRole + 1
"""(words, theme role) of a pill, or None."""
MARK_ROLE = Qt.ItemDataRole.UserRole + 2
"""The index of the marked character of a text, or None."""
NOTE_ROLE = Qt.ItemDataRole.UserRole + 3
"""(words, theme role) of a note on the right of a row, or None."""
LINES_ROLE = Qt.ItemDataRole.UserRole + 4
"""The `CellLine`s of a row."""
MAX_TITLE = 24
"""Characters of a column's title that are always visible; a longer title, such as a model's name, is its tip too."""


Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()
Row = TypeVar("Row")


class CellLine(NamedTuple):
    """A line of a row of a list: words, and others on its right, each with its theme role.

    `share`: without room for both, the words on the right keep this share of the line's width. `sign` is painted before
    a row's first line; all its lines begin beside it.
    """

    words: str
    role: str = "text"
    beside: str = ""
    beside_role: str = "text-muted"
    small: bool = True
    share: float = 1
    sign: str = ""
    sign_role: str = ""


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
    """A subclass defines the text of a row's cells with `words`, and overrides the rest where needed.

    `checksChanged` is emitted when the user checks or clears a box of the column `checks`.
    """

    checksChanged = Signal()
    checks: ClassVar[int] = -1
    """The column with a check box in each row for which `can_check` is true; -1 for none."""

    speaks_titles = False
    """Whether a screen reader gets the title of the column before a cell's text."""
    key = ""
    """The attributes that identify a row after a change of rows, such as `place.key`; "" for the row itself."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[Row] = ()
        self._checked: set[Any] = set()
        """The keys of the checked rows."""

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    def row(self, index: int) -> Row | None:
        """The row at that place; None if there is none."""
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def key_of(self, row: Row) -> Any:
        return attrgetter(*self.key.split())(row) if self.key else row

    def row_of(self, key: object) -> int:
        """The index of the row with that key; -1 if there is none."""
        return next((index for index, row in enumerate(self._rows) if self.key_of(row) == key), -1)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows; the selection is cleared."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def refresh(self, rows: Sequence[Row]) -> None:
        """Show these rows instead; those with the same keys stay, with the selection and the scroll position.

        All are replaced if none stays, or if those that stay have another order.
        """
        old, new = list(map(self.key_of, self._rows)), list(map(self.key_of, rows))
        before, after = dict.fromkeys(old), dict.fromkeys(new)
        stay = [key for key in old if key in after]
        if not stay or stay != [key for key in new if key in before] or len(after) < len(new):
            self.show_rows(list(rows))
            return
        kept = self._rows = list(self._rows)
        for first, stop in reversed(_stretches(old, after)):
            self.beginRemoveRows(NO_INDEX, first, stop - 1)
            del kept[first:stop]
            self.endRemoveRows()
        for first, stop in _stretches(new, before):
            self._insert(first, rows[first:stop])
        kept[:] = rows
        self._changed()

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

    def lines(self, row: Row) -> Sequence[CellLine]:
        """Return the lines of a row, for a list with `LinesDelegate`."""
        return ()

    def can_check(self, row: Row) -> bool:
        """Whether the row has a check box, in a table with `checks`."""
        return True

    def is_checked(self, row: Row) -> bool:
        return self.key_of(row) in self._checked

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
        if role == LINES_ROLE:
            return self.lines(row)
        if role == Qt.ItemDataRole.CheckStateRole and column == self.checks:
            if not self.can_check(row):
                return None
            return Qt.CheckState.Checked if self.is_checked(row) else Qt.CheckState.Unchecked
        return self.extra(row, column, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        has_box = (
            index.isValid() and index.column() == self.checks and self.can_check(self._rows[index.row()])
        )
        return flags | Qt.ItemFlag.ItemIsUserCheckable if has_box else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or not self.flags(index) & Qt.ItemFlag.ItemIsUserCheckable:
            return False
        change = self._checked.add if Qt.CheckState(value) == Qt.CheckState.Checked else self._checked.discard
        change(self.key_of(self._rows[index.row()]))
        self.dataChanged.emit(index, index)
        self.checksChanged.emit()
        return True

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


def _stretches(keys: Sequence[Any], known: Container[Any]) -> list[tuple[int, int]]:
    """The stretches of keys that are not known: the index of the first, and the one after the last."""
    groups = groupby(range(len(keys)), lambda index: keys[index] in known)
    places = [[*indices] for is_known, indices in groups if not is_known]
    return [(indices[0], indices[-1] + 1) for indices in places]


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
