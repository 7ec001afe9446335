"""What the delegates of lists share: the ground of a row, and words that are elided at its end."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from glyphscope.visible import visible
from glyphscope_gui.theme import theme

_FOCUS = QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_KeyboardFocusChange


def paint_ground(painter: QPainter, option: QStyleOptionViewItem, ground: QRectF) -> None:
    """Whether the row is selected, below the pointer, or has the keyboard's focus."""
    colors = theme()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    selected = bool(option.state & QStyle.StateFlag.State_Selected)
    if selected or option.state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colors.color("selection" if selected else "hover"))
        painter.drawRoundedRect(ground, 4, 4)
    if option.state & _FOCUS == _FOCUS:
        painter.setPen(QPen(colors.color("accent"), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(ground.adjusted(1, 1, -1, -1), 4, 4)


def paint_words(painter: QPainter, box: QRect, words: str, font: QFont, role: str) -> None:
    """On one line at the left, in the theme's colour of that role."""
    painter.setFont(font)
    painter.setPen(theme().color(role))
    shown = QFontMetrics(font).elidedText(visible(words), Qt.TextElideMode.ElideRight, box.width())
    painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
