"""A pill by itself: a few words in the colours of a role."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope_gui.shared.verdict import paint_pill, pill_font
from glyphscope_gui.theme import theme

_PLAIN = "open"
"""For roles that have no soft ground of their own."""


class Pill(QWidget):
    """As wide as its words; hidden without any."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words, self._role = "", _PLAIN
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def words(self) -> str:
        return self._words

    def set_words(self, words: str, role: str, tip: str = "") -> None:
        self._words, self._role = words, role if f"{role}-soft" in theme().roles else _PLAIN
        self.setToolTip(tip)
        self.setAccessibleName(words)
        self.setAccessibleDescription(tip)
        self.setVisible(bool(words))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(pill_font(self.font()))
        return QSize(metrics.horizontalAdvance(self._words) + 18, metrics.height() + 6)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._words:
            paint_pill(QPainter(self), QRectF(self.rect()), self._words, self._role, self.font())
