"""The servers, one below the other: a sign, a name, and what each is doing."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from glyphscope_gui.servers.list_model import STATE_ROLE, ServersListModel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.row_painting import paint_ground, paint_words
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.fonts import smaller

_Index = QModelIndex | QPersistentModelIndex
SIDE = 12
SIGN = 18


class _ServerDelegate(QStyledItemDelegate):
    """Two lines: the name, and the state in its colour with its sign."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(
            120, QFontMetrics(option.font).height() + QFontMetrics(smaller(option.font)).height() + 18
        )

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        state, colors = index.data(STATE_ROLE), theme()
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        paint_ground(painter, option, QRectF(option.rect).adjusted(2, 1, -2, -1))
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


class ServerList(QListView):
    """`chosen` carries the name of the server that is shown now."""

    chosen = Signal(str)

    def __init__(self, model: ServersListModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._name = ""
        self.setModel(model)
        self.setObjectName("serverList")
        self.setAccessibleName(tr("Servers"))
        self.setItemDelegate(_ServerDelegate(self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self._keep)

    @property
    def current(self) -> str:
        return self._name

    def choose(self, name: str) -> None:
        row = self._model.row_of(name)
        if row >= 0:
            self.setCurrentIndex(self._model.index(row))

    def sizeHint(self) -> QSize:
        return QSize(220, 200)

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        name = self._model.name(current.row()) if current.isValid() else ""
        if name and name != self._name:
            self._name = name
            self.chosen.emit(name)

    def _keep(self) -> None:
        """The same one after the list has changed; where it is gone, the first."""
        wanted = self._name if self._model.row_of(self._name) >= 0 else self._model.name(0)
        self.choose(wanted)
