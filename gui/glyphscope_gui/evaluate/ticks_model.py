"""A list of things to tick, each with a note: suites, models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractListModel, QObject, Qt, Signal

from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import NO_INDEX, Index
from glyphscope_gui.theme import theme

NOTE_ROLE = Qt.ItemDataRole.UserRole + 1


class Tickable(NamedTuple):
    """`value` is what is chosen; one with a `problem` cannot be ticked, and says why."""

    value: str
    words: str
    note: str = ""
    tip: str = ""
    problem: str = ""


class TicksModel(QAbstractListModel):
    """`changed` when the user ticks or unticks."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Tickable] = []
        self._ticked: set[str] = set()

    @property
    def ticked(self) -> tuple[str, ...]:
        """What is ticked, in the list's order."""
        return tuple(row.value for row in self._rows if row.value in self._ticked)

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(row.value for row in self._rows)

    def show(self, rows: Iterable[Tickable]) -> None:
        """Other rows; ticks stay."""
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def put(self, row: Tickable, *, ticked: bool = False, first: bool = False) -> None:
        """Add a row, or exchange the one of the same value."""
        if ticked and not row.problem:
            self._ticked.add(row.value)
        if row.value in self.values:
            place = self.values.index(row.value)
            self._rows[place] = row
            self.dataChanged.emit(self.index(place), self.index(place))
        else:
            place = 0 if first else len(self._rows)
            self.beginInsertRows(NO_INDEX, place, place)
            self._rows.insert(place, row)
            self.endInsertRows()

    def take(self, value: str) -> None:
        """Take a row out."""
        if value in self.values:
            place = self.values.index(value)
            self.beginRemoveRows(NO_INDEX, place, place)
            del self._rows[place]
            self._ticked.discard(value)
            self.endRemoveRows()

    def tick(self, values: Iterable[str]) -> None:
        """Exactly these, without telling it."""
        usable = {row.value for row in self._rows if not row.problem}
        self._ticked = set(values) & usable
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))

    # -- Qt ----------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled
        usable = not self._rows[index.row()].problem
        return flags | Qt.ItemFlag.ItemIsUserCheckable if usable else flags

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.words
        if role == Qt.ItemDataRole.CheckStateRole and not row.problem:
            return Qt.CheckState.Checked if row.value in self._ticked else Qt.CheckState.Unchecked
        if role == NOTE_ROLE:
            return tr("cannot be used") if row.problem else row.note
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(row.problem or row.tip) or None
        if role == Qt.ItemDataRole.ForegroundRole and row.problem:
            return theme().color("impossible")
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (row.words, row.note, row.problem) if part)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self._rows[index.row()]
        if role != Qt.ItemDataRole.CheckStateRole or row.problem:
            return False
        if Qt.CheckState(value) == Qt.CheckState.Checked:
            self._ticked.add(row.value)
        else:
            self._ticked.discard(row.value)
        self.dataChanged.emit(index, index)
        self.changed.emit()
        return True
