"""A list of suites or models to tick, with a note on the right of each line. Files can be dropped on it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from glyphscope_gui.shared.file_drops import TakesFiles
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.table_model import NO_INDEX, Index, ListModel
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.fonts import smaller

NOTE_ROLE = Qt.ItemDataRole.UserRole + 1


class Tickable(NamedTuple):
    """`value` is the chosen value; a row with a `problem` cannot be ticked, and shows it."""

    value: str
    words: str
    note: str = ""
    tip: str = ""
    problem: str = ""


class TicksModel(ListModel[Tickable]):
    """`changed` is emitted when the user ticks or unticks."""

    changed = Signal()
    _rows: list[Tickable]

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows = []
        self._ticked: set[str] = set()

    @property
    def ticked(self) -> tuple[str, ...]:
        """Return the ticked values, in the list's order."""
        return tuple(row.value for row in self._rows if row.value in self._ticked)

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(row.value for row in self._rows)

    def put(self, row: Tickable, *, ticked: bool = False, first: bool = False) -> None:
        """Add a row, or replace the one with the same value."""
        if ticked and not row.problem:
            self._ticked.add(row.value)
        if row.value in self.values:
            place = self.values.index(row.value)
            self._rows[place] = row
            self._changed(place, place + 1)
        else:
            self._insert(0 if first else len(self._rows), [row])

    def take(self, value: str) -> None:
        """Remove a row."""
        if value in self.values:
            place = self.values.index(value)
            self.beginRemoveRows(NO_INDEX, place, place)
            del self._rows[place]
            self._ticked.discard(value)
            self.endRemoveRows()

    def tick(self, values: Iterable[str]) -> None:
        """Tick exactly these values, without a signal."""
        usable = {row.value for row in self._rows if not row.problem}
        self._ticked = set(values) & usable
        self._changed()

    # -- Qt ----------------------------------------------------------------------------------------------------

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled
        usable = not self._rows[index.row()].problem
        return flags | Qt.ItemFlag.ItemIsUserCheckable if usable else flags

    def words(self, row: Tickable, column: int) -> str:
        return row.words

    def spoken(self, row: Tickable, column: int) -> str:
        return ", ".join(part for part in (row.words, row.note, row.problem) if part)

    def tip(self, row: Tickable, column: int) -> str:
        return row.problem or row.tip

    def color(self, row: Tickable, column: int) -> str:
        return "impossible" if row.problem else ""

    def extra(self, row: Tickable, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.CheckStateRole and not row.problem:
            return Qt.CheckState.Checked if row.value in self._ticked else Qt.CheckState.Unchecked
        if role == NOTE_ROLE:
            return tr("cannot be used") if row.problem else row.note
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


BESIDE = 52
"""Pixels of a line besides its words and note."""
MIN_ROWS, MAX_ROWS = 3, 6
"""The least number of visible rows, if there are that many, and the preferred one."""


class _TickDelegate(QStyledItemDelegate):
    """Paints the note in the muted colour; the words are shortened for it."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        metrics = QFontMetrics(option.font)
        note = metrics.horizontalAdvance(_note(option, index))
        room = option.rect.width() - note - BESIDE
        option.text = metrics.elidedText(option.text, Qt.TextElideMode.ElideMiddle, max(room, 40))
        option.state &= ~QStyle.StateFlag.State_HasFocus

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        painter.save()
        painter.setFont(smaller(option.font))
        painter.setPen(theme().color("text-muted"))
        box = option.rect.adjusted(0, 0, -8, 0)
        painter.drawText(
            box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, _note(option, index)
        )
        painter.restore()


def _note(option: QStyleOptionViewItem, index: Index) -> str:
    """The note; only its number if there is no room for it beside the words."""
    note, metrics = str(index.data(NOTE_ROLE) or ""), QFontMetrics(option.font)
    need = metrics.horizontalAdvance(str(index.data() or "")) + metrics.horizontalAdvance(note) + BESIDE
    if need <= option.rect.width():
        return note
    return note.split(" ")[0] if note[:1].isdigit() else ""


class TickList(TakesFiles, PlainList):
    """`dropped` carries the paths of files with one of the `endings`; a `fitted` list is as high as its rows."""

    dropped = Signal(object)
    one_file = False

    def __init__(
        self,
        model: TicksModel,
        name: str,
        words: str,
        endings: tuple[str, ...],
        parent: QWidget | None = None,
        *,
        fitted: bool = False,
    ) -> None:
        description = tr("Space selects or clears a row.")
        super().__init__(model, name, words, parent, description=description, uniformItemSizes=True)
        self.endings = endings
        self.setItemDelegate(_TickDelegate(self))
        self.setAcceptDrops(True)
        policy = QSizePolicy.Policy.Maximum if fitted else QSizePolicy.Policy.Expanding
        self.setSizePolicy(QSizePolicy.Policy.Preferred, policy)
        model.rowsInserted.connect(self.updateGeometry)
        model.rowsRemoved.connect(self.updateGeometry)
        model.modelReset.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        rows = min(max(self.model().rowCount(), 1), MAX_ROWS)
        return QSize(200, rows * max(self.sizeHintForRow(0), self.fontMetrics().height() + 8) + 8)

    def minimumSizeHint(self) -> QSize:
        rows = min(max(self.model().rowCount(), 1), MIN_ROWS)
        return QSize(140, rows * (self.fontMetrics().height() + 8) + 2)

    def files_dropped(self, paths: list[Path]) -> None:
        self.dropped.emit(paths)
