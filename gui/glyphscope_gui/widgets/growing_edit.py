"""A plain text edit that is as high as its text, up to a number of lines."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget


class GrowingEdit(QPlainTextEdit):
    """Tab goes to the next field; wraps; between one line and `max_lines` high."""

    def __init__(self, max_lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._max_lines = max_lines
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._wanted_height())

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self._wanted_height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _wanted_height(self) -> int:
        """A plain text document counts its size in lines; the frame and the margins come on top."""
        lines = self.document().documentLayout().documentSize().height()
        lines = min(max(lines, 1), self._max_lines)
        around = self.height() - self.viewport().height() if self.isVisible() else 2 * self.frameWidth()
        return round(lines * self.fontMetrics().lineSpacing() + 2 * self.document().documentMargin()) + around

    def _fit(self) -> None:
        height = self._wanted_height()
        if height != self.height():
            self.setFixedHeight(height)
