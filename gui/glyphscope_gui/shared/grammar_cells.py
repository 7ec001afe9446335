"""Cells of the grammar page's tables: pills, links, and texts that wrap anywhere with one place marked."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from glyphscope_gui.shared.table_model import MARK_ROLE, PILL_ROLE
from glyphscope_gui.shared.verdict import paint_pill, pill_font
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.sizes import ROW

_Index = QModelIndex | QPersistentModelIndex
MOST_LINES = 3
MOST_WORD_LINES = 6
SIDE = 8


class PillDelegate(QStyledItemDelegate):
    """The cell's words as a pill, at its left."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        paint_ground(painter, option)
        pill = index.data(PILL_ROLE)
        if pill is None:
            return
        words, role = pill
        box = QRectF(option.rect).adjusted(SIDE - 2, 1, -2, -1)
        metrics = QFontMetrics(pill_font(option.font))
        shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, max(round(box.width()) - 18, 10))
        painter.save()
        paint_pill(painter, box, shown, role, option.font)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        words = (index.data(PILL_ROLE) or ("", ""))[0]
        metrics = QFontMetrics(pill_font(option.font))
        return QSize(metrics.horizontalAdvance(words) + 18 + 2 * SIDE, metrics.height() + ROW + 3)


class LinkDelegate(QStyledItemDelegate):
    """The cell's words as what can be clicked."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        paint_ground(painter, option)
        painter.save()
        font = QFont(option.font)
        font.setUnderline(bool(option.state & QStyle.StateFlag.State_MouseOver))
        painter.setFont(font)
        painter.setPen(theme().color("accent"))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(option.rect.adjusted(SIDE, 0, -SIDE, 0), flags, _plain(index))
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return wrapped_size(option, _plain(index))


class WordsDelegate(QStyledItemDelegate):
    """Words that wrap; what stands in `backticks` is in the fixed-pitch font."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        paint_ground(painter, option)
        layout = _lay_out_words(index.data() or "", option.font, option.rect.width() - 2 * SIDE)
        painter.save()
        painter.setClipRect(option.rect)
        painter.setPen(index.data(Qt.ItemDataRole.ForegroundRole) or theme().color("text"))
        top = option.rect.top() + max((option.rect.height() - _height(layout)) / 2, 2)
        layout.draw(painter, QPointF(option.rect.left() + SIDE, top))
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        width = option.rect.width() if option.rect.width() > 40 else 240
        layout = _lay_out_words(index.data() or "", option.font, width - 2 * SIDE)
        return QSize(width, round(_height(layout)) + ROW)


class TextDelegate(QStyledItemDelegate):
    """A model's text in the fixed-pitch font, over at most a few lines; MARK_ROLE marks a character."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        paint_ground(painter, option)
        text = index.data() or ""
        color = index.data(Qt.ItemDataRole.ForegroundRole) or theme().color("text")
        layout = _lay_out(text, option.rect.width() - 2 * SIDE, index.data(MARK_ROLE))
        height = _height(layout)
        painter.save()
        painter.setClipRect(option.rect)
        painter.setPen(color)
        top = option.rect.top() + max((option.rect.height() - height) / 2, 2)
        layout.draw(painter, QPointF(option.rect.left() + SIDE, top))
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        width = option.rect.width() if option.rect.width() > 40 else 240
        return QSize(width, round(_height(_lay_out(index.data() or "", width - 2 * SIDE, None))) + ROW)


def _plain(index: _Index) -> str:
    return (index.data() or "").replace("`", "")


def paint_ground(painter: QPainter, option: QStyleOptionViewItem) -> None:
    """The selected row's ground."""
    if option.state & QStyle.StateFlag.State_Selected:
        painter.fillRect(option.rect, theme().color("selection"))


def wrapped_size(option: QStyleOptionViewItem, words: str) -> QSize:
    width = option.rect.width() if option.rect.width() > 40 else 240
    box = QFontMetrics(option.font).boundingRect(
        QRect(0, 0, width - 2 * SIDE, 10_000), Qt.TextFlag.TextWordWrap, words
    )
    return QSize(width, box.height() + ROW)


def _lay_out_words(words: str, font: QFont, width: float) -> QTextLayout:
    pieces = words.split("`")
    ranges, at = [], 0
    for number, piece in enumerate(pieces):
        if number % 2 and number < len(pieces) - 1:
            reach = QTextLayout.FormatRange()
            reach.start, reach.length = at, len(piece.encode("utf-16-le", "surrogatepass")) // 2
            reach.format = QTextCharFormat()
            reach.format.setFontFamilies(mono_font().families())
            ranges.append(reach)
        at += len(piece.encode("utf-16-le", "surrogatepass")) // 2
    layout = QTextLayout("".join(pieces), font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.setFormats(ranges)
    _make_lines(layout, width, MOST_WORD_LINES)
    return layout


def _make_lines(layout: QTextLayout, width: float, most: int) -> None:
    layout.beginLayout()
    y = 0.0
    for _ in range(most):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(max(width, 20))
        line.setPosition(QPointF(0, y))
        y += line.height()
    layout.endLayout()


def _lay_out(text: str, width: float, mark: int | None) -> QTextLayout:
    layout = QTextLayout(text, mono_font(-1))
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    if mark is not None and 0 <= mark < len(text):
        marked = QTextCharFormat()
        marked.setForeground(theme().color("impossible"))
        marked.setBackground(theme().color("impossible-soft"))
        marked.setUnderlineStyle(QTextCharFormat.UnderlineStyle.DotLine)
        marked.setUnderlineColor(theme().color("impossible-line"))
        reach = QTextLayout.FormatRange()
        reach.start = len(text[:mark].encode("utf-16-le", "surrogatepass")) // 2
        reach.length = 2 if text[mark] > "\uffff" else 1
        reach.format = marked
        layout.setFormats([reach])
    _make_lines(layout, width, MOST_LINES)
    return layout


def _height(layout: QTextLayout) -> float:
    return sum(layout.lineAt(number).height() for number in range(layout.lineCount()))
