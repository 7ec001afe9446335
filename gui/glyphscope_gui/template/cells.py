"""A cell with a text of the template in the fixed-pitch font, and quieter words below it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QTextLayout, QTextOption
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from glyphscope_gui.shared.grammar_cells import SIDE, paint_ground
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.fonts import smaller
from glyphscope_gui.theme.sizes import ROW

NOTE_ROLE = Qt.ItemDataRole.UserRole + 3
"""The words below a text."""
MOST_LINES = 8


class FormDelegate(QStyledItemDelegate):
    """Both wrap, over at most a few lines each."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        paint_ground(painter, option)
        layouts = _laid_out(option, index)
        painter.save()
        painter.setClipRect(option.rect)
        y = option.rect.top() + max((option.rect.height() - _height(layouts)) / 2, 2)
        for layout, role in zip(layouts, ("text", "text-muted")):
            painter.setPen(theme().color(role))
            layout.draw(painter, QPointF(option.rect.left() + SIDE, y))
            y += _height([layout])
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(option.rect.width(), round(_height(_laid_out(option, index))) + ROW)


def _laid_out(option: QStyleOptionViewItem, index: Index) -> list[QTextLayout]:
    width = (option.rect.width() if option.rect.width() > 40 else 240) - 2 * SIDE
    text, note = str(index.data() or ""), str(index.data(NOTE_ROLE) or "")
    return [_layout(text, mono_font(-1), width), _layout(note, smaller(option.font), width)]


def _layout(text: str, font: QFont, width: float) -> QTextLayout:
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    y = 0.0
    for _ in range(MOST_LINES if text else 0):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(max(width, 20))
        line.setPosition(QPointF(0, y))
        y += line.height()
    layout.endLayout()
    return layout


def _height(layouts: list[QTextLayout]) -> float:
    return sum(layout.lineAt(line).height() for layout in layouts for line in range(layout.lineCount()))
