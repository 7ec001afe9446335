"""What each part of the prompt costs in tokens: a short table of bars."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope.events import PromptPart
from glyphscope_gui.theme import mono_font, theme


class TokenCosts(QWidget):
    """A row for every part: name, bar, tokens. Hidden while nothing is known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[tuple[str, int], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Tokens of each part of the prompt")
        self.hide()

    def show_parts(self, parts: Sequence[PromptPart]) -> None:
        """Parts of one name are added up, in the order in which the names come first."""
        sums: dict[str, int] = {}
        for part in parts:
            sums[part.name] = sums.get(part.name, 0) + part.tokens
        self._parts = tuple(sums.items())
        words = ", ".join(f"{name} {tokens}" for name, tokens in self._parts)
        self.setAccessibleDescription(words)
        self.setVisible(bool(self._parts))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, len(self._parts) * self._row_height())

    def _row_height(self) -> int:
        return self.fontMetrics().height() + 4

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = QPainter(self)
        height = self._row_height()
        most = max((tokens for _, tokens in self._parts), default=0) or 1
        bar_left, bar_right = (
            self.width() * 0.38,
            self.width() - self.fontMetrics().horizontalAdvance("000,000"),
        )
        for row, (name, tokens) in enumerate(self._parts):
            box = QRectF(0, row * height, self.width(), height)
            painter.setFont(self.font())
            painter.setPen(colors.color("text-muted"))
            shown = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, round(bar_left) - 6)
            painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
            width = (bar_right - bar_left) * tokens / most
            painter.fillRect(QRectF(bar_left, box.center().y() - 4, width, 8), colors.color("accent"))
            painter.setFont(mono_font(-1))
            painter.setPen(colors.color("text"))
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{tokens:,}")
