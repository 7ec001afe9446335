"""A label of several lines that never has less height than its words need at its width."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget


class WrappedLabel(QLabel):
    """In a splitter Qt asks no label how high it gets when it is made narrower."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWordWrap(True)

    def setText(self, text: str) -> None:
        super().setText(text)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setMinimumHeight(0)  # Qt's answer is never less than the minimum
        self.setMinimumHeight(max(self.heightForWidth(self.width()), 0) if self.text() else 0)
