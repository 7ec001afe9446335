"""The list of messages, as high as its rows where there is room."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QListView, QSizePolicy, QWidget

from glyphscope_gui.prompt.message_delegate import MessageDelegate
from glyphscope_gui.prompt.messages_model import MessagesModel
from glyphscope_gui.shared.language import tr

_LEAST_ROWS = 2


class MessageList(QListView):
    """`removeWanted` on Delete."""

    removeWanted = Signal()

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
            self.removeWanted.emit()
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
