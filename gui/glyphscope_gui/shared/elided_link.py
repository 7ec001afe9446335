"""A link that shortens its words to the room there is."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

AROUND = 10
"""What the button has beside its words."""


class ElidedLink(QPushButton):
    """Its words are `words`; what is shown of them is the button's text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "link")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(40)
        self.words = ""

    def set_words(self, words: str) -> None:
        """All of the words are the button's accessible name."""
        self.words = words
        self.setAccessibleName(words)
        self._fit()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(self.fontMetrics().horizontalAdvance(self.words) + AROUND, hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = max(self.width() - AROUND + 2, 0)
        self.setText(self.fontMetrics().elidedText(self.words, Qt.TextElideMode.ElideRight, room))
