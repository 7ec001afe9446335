"""The servers, with the demo tools first: a sign, a name, and the state of each."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QModelIndex, QObject, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from glyphscope.visible import visible
from glyphscope_gui.mcp.servers import DEMO, ServersController
from glyphscope_gui.servers.words import StateWords, state_words
from glyphscope_gui.shared.cells import paint_row, paint_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.table_model import Index, ListModel
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.fonts import smaller

STATE_ROLE = Qt.ItemDataRole.UserRole
DEMO_TITLE = tr("Demo tools")


class ServersListModel(ListModel[str]):
    """A row for each server, by its name."""

    def __init__(self, servers: ServersController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._servers = servers
        self._reset()
        servers.listChanged.connect(self._reset)
        servers.stateChanged.connect(self._state_changed)

    def words(self, row: str, column: int) -> str:
        return DEMO_TITLE if row == DEMO else row

    def spoken(self, row: str, column: int) -> str:
        return f"{self.words(row, column)}: {self._state(row).words}"

    def tip(self, row: str, column: int) -> str:
        known = self._servers.get(row)
        if known is None:
            return tr("The tools bundled with Glyphscope. They have no effect outside this computer.")
        return visible(known.source.config.identity, spaces=True) if known.source else known.problem

    def extra(self, row: str, column: int, role: int) -> Any:
        return self._state(row) if role == STATE_ROLE else None

    def _state(self, name: str) -> StateWords:
        known = self._servers.get(name)
        if known is None:
            return StateWords(tr("built in · %n tool(s)", "", len(self._servers.demo.tools())), "holds", "●")
        return state_words(known)

    def _reset(self) -> None:
        self.show_rows([DEMO, *(known.name for known in self._servers.known)])

    def _state_changed(self, name: str) -> None:
        if (row := self.row_of(name)) >= 0:
            self._changed(row, row + 1)


SIDE = 12
SIGN = 18


class _ServerDelegate(QStyledItemDelegate):
    """Two lines: the name, and the state in its colour with its sign."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(
            120, QFontMetrics(option.font).height() + QFontMetrics(smaller(option.font)).height() + 18
        )

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        state, colors = index.data(STATE_ROLE), theme()
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        paint_row(painter, option, QRectF(option.rect).adjusted(2, 1, -2, -1))
        name, small = QFont(option.font), smaller(option.font)
        name.setWeight(QFont.Weight.DemiBold if chosen else QFont.Weight.Medium)
        upper, lower = QFontMetrics(name).height(), QFontMetrics(small).height()
        top = option.rect.top() + (option.rect.height() - upper - lower - 2) // 2
        left, width = option.rect.left() + SIDE, option.rect.width() - 2 * SIDE
        painter.setPen(colors.color(state.role))
        painter.setFont(option.font)
        sign = max(SIGN, upper)
        painter.drawText(QRect(left, top, sign, upper), Qt.AlignmentFlag.AlignVCenter, state.sign)
        place = QRect(left + sign, top, width - sign, upper)
        paint_words(painter, place, index.data() or "", name, "text")
        place = QRect(left + sign, top + upper + 2, width - sign, lower)
        paint_words(painter, place, state.words, small, state.role if state.role != "holds" else "text-muted")
        painter.restore()


class ServerList(PlainList):
    """`chosen` carries the name of the shown server."""

    chosen = Signal(str)

    def __init__(self, model: ServersListModel, parent: QWidget | None = None) -> None:
        super().__init__(model, "serverList", tr("Servers"), parent, uniformItemSizes=True)
        self._model = model
        self.current = ""
        self.setItemDelegate(_ServerDelegate(self))
        self.setMouseTracking(True)
        self.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self._keep)

    def choose(self, name: str) -> None:
        self.setCurrentIndex(self._model.index(self._model.row_of(name), 0))

    def sizeHint(self) -> QSize:
        return QSize(220, 200)

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        name = self._model.row(current.row())
        if name is not None and name != self.current:
            self.current = name
            self.chosen.emit(name)

    def _keep(self) -> None:
        """Select the same server after the list has changed, or the first if it was removed."""
        self.choose(self.current if self._model.row_of(self.current) >= 0 else DEMO)
