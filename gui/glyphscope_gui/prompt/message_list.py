"""A message in the list: its role and tokens, and below them its text on one line."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QListView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from glyphscope_gui.prompt.messages_model import PROBLEM_ROLE, ROLE_ROLE, TOKENS_ROLE, MessagesModel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.theme import theme

_Index = QModelIndex | QPersistentModelIndex
_PAD = 6
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class MessageDelegate(QStyledItemDelegate):
    """Rows of one height, so that a conversation of thousands of messages is shown at once."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, 2 * option.fontMetrics.height() + 2 * _PAD)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        colors, metrics = theme(), QFontMetrics(option.font)
        painter.save()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(option.rect, colors.color("selection"))
        box = option.rect.adjusted(_PAD, _PAD, -_PAD, -_PAD)
        first = QRect(box.topLeft(), QSize(box.width(), metrics.height()))
        second = first.translated(0, metrics.height())
        painter.setFont(option.font)
        painter.setPen(colors.color("text" if selected else "text-muted"))
        painter.drawText(first, _RIGHT, str(index.data(TOKENS_ROLE)))
        if index.data(PROBLEM_ROLE):
            painter.setPen(colors.color("impossible"))
        role = f"! {index.data(ROLE_ROLE)}" if index.data(PROBLEM_ROLE) else str(index.data(ROLE_ROLE))
        painter.drawText(first, _LEFT, role)
        painter.setPen(colors.color("text"))
        words = metrics.elidedText(str(index.data() or "–"), Qt.TextElideMode.ElideRight, second.width())
        painter.drawText(second, _LEFT, words)
        focused = QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_KeyboardFocusChange
        if option.state & focused == focused:
            painter.setPen(colors.color("accent"))
            painter.drawRect(option.rect.adjusted(0, 0, -1, -1))
        painter.restore()


_LEAST_ROWS = 2


class MessageList(QListView):
    """`removeRequested` on Delete."""

    removeRequested = Signal()

    def __init__(self, model: MessagesModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("messageList")
        self.setAccessibleName(tr("Messages of the conversation"))
        self.setAccessibleDescription(tr("Edit the selected message below. Delete removes it."))
        self.setModel(model)
        self.setItemDelegate(MessageDelegate(self))
        self.setUniformItemSizes(True)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        model.modelReset.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Delete):
            event.accept()
            self.removeRequested.emit()
            return
        super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.maximumHeight())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self.model() is not None:
            self._fit()

    def _fit(self) -> None:
        rows = max(1, self.model().rowCount())
        row = self.sizeHintForRow(0) if self.model().rowCount() else 0
        self.setMaximumHeight(max(1, rows * row))
        self.setMinimumHeight(min(rows, _LEAST_ROWS) * row)
