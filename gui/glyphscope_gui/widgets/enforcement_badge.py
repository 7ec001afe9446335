"""A small pill beside a constraint: who keeps it."""

from __future__ import annotations

from typing import Literal

from glyphscope_gui.theme import theme
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontInfo, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

Enforcement = Literal["enforced", "checked", "unsupported"]

_WORDS: dict[Enforcement, tuple[str, str, str]] = {
    "enforced": ("enforced", "holds", "The grammar excludes every token that would break this."),
    "checked": (
        "checked after",
        "open",
        "The grammar cannot hold this; the validator decides it as the text grows.",
    ),
    "unsupported": ("not checked", "impossible", "Neither the grammar nor the validator keeps this."),
}


class EnforcementBadge(QWidget):
    """Hidden until it is known who keeps the constraint."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind: Enforcement | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def set_kind(self, kind: Enforcement | None) -> None:
        self._kind = kind
        self.setVisible(kind is not None)
        if kind is not None:
            words, _, explanation = _WORDS[kind]
            self.setToolTip(explanation)
            self.setAccessibleName(f"{words}: {explanation}")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        if self._kind is None:
            return QSize(0, 0)
        metrics = self._metrics()
        return QSize(metrics.horizontalAdvance(_WORDS[self._kind][0]) + 16, metrics.height() + 5)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._kind is None:
            return
        words, role, _ = _WORDS[self._kind]
        colors = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colors.color(f"{role}-soft"))
        box = QRectF(self.rect())
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        painter.setFont(self._font())
        painter.setPen(colors.color(role))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, words)

    def _font(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(
            max(9, round(QFontInfo(font).pixelSize() * 0.8))
        )  # whether it was set in points or pixels
        font.setWeight(QFont.Weight.DemiBold)
        return font

    def _metrics(self) -> QFontMetrics:
        return QFontMetrics(self._font())
