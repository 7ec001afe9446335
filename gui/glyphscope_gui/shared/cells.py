"""Cells of tables and lists: backgrounds, pills, links, and lines, notes, and wrapped texts with one marked
character.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6 import QtGui
from PySide6.QtCore import QAbstractItemModel, QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from glyphscope.base.visible import visible
from glyphscope_gui.shared.table_model import LINES_ROLE, MARK_ROLE, NOTE_ROLE, PILL_ROLE, CellLine, Index
from glyphscope_gui.shared.verdict import paint_pill, pill_font
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.fonts import smaller
from glyphscope_gui.theme.sizes import ROW

MAX_LINES = 3
"""Lines of a model's text in a cell."""
MAX_WORD_LINES = 6
"""Lines of the program's words in a cell."""
SIDE = 8
"""Pixels between a cell's left or right edge and its words."""
_PILL_SIDES = 18
"""Pixels of a pill beside its words: the round ends and the sign."""
_SIGN = 18
"""Pixels of a sign before the lines of a row."""
PILL = _PILL_SIDES + SIDE + 1
"""Pixels of a cell beside the words of its pill."""
_FOCUS = QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_KeyboardFocusChange


def paint_row(painter: QtGui.QPainter, option: QStyleOptionViewItem, ground: QRectF) -> None:
    """Show whether the row is selected, below the pointer, or has the keyboard focus."""
    colors = theme()
    painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
    selected = bool(option.state & QStyle.StateFlag.State_Selected)
    if selected or option.state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colors.color("selection" if selected else "hover"))
        painter.drawRoundedRect(ground, 4, 4)
    if option.state & _FOCUS == _FOCUS:
        painter.setPen(QtGui.QPen(colors.color("accent"), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(ground.adjusted(1, 1, -1, -1), 4, 4)


def paint_selection(painter: QtGui.QPainter, option: QStyleOptionViewItem) -> None:
    """Paint the background of the selected row, in tables."""
    if option.state & QStyle.StateFlag.State_Selected:
        painter.fillRect(option.rect, theme().color("selection"))


def paint_bar(painter: QtGui.QPainter, box: QRectF, share: float, fill: QtGui.QBrush | QtGui.QColor) -> None:
    """Paint a bar, filled from the left by a share from 0 to 1, of which a trace is always visible."""
    filled = QRectF(box)
    filled.setWidth(max(box.width() * share, 1.5))
    painter.setPen(Qt.PenStyle.NoPen)
    for part, brush in ((box, theme().color("track")), (filled, fill)):
        painter.setBrush(brush)
        painter.drawRoundedRect(part, 2.5, 2.5)


def paint_words(
    painter: QtGui.QPainter,
    box: QRect | QRectF,
    words: str,
    font: QtGui.QFont,
    role: str,
    side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
) -> str:
    """Paint words on one line, elided at its end, in the theme's colour of that role. Return the painted text."""
    painter.setFont(font)
    painter.setPen(theme().color(role))
    room = max(round(box.width()), 0)
    painted = QtGui.QFontMetrics(font).elidedText(visible(words), Qt.TextElideMode.ElideRight, room)
    painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, painted)
    return painted


class PillDelegate(QStyledItemDelegate):
    """Paints a pill on the cell's left: PILL_ROLE has its words and their colour role."""

    def paint(self, painter: QtGui.QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        paint_selection(painter, option)
        pill = index.data(PILL_ROLE)
        if pill is None:
            return
        words, role = pill
        box = QRectF(option.rect).adjusted(SIDE - 2, 1, -2, -1)
        metrics = QtGui.QFontMetrics(pill_font(option.font))
        shown = metrics.elidedText(
            words, Qt.TextElideMode.ElideRight, max(round(box.width()) - _PILL_SIDES, 10)
        )
        painter.save()
        paint_pill(painter, box, shown, role, option.font)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        words = (index.data(PILL_ROLE) or ("", ""))[0]
        metrics = QtGui.QFontMetrics(pill_font(option.font))
        return QSize(metrics.horizontalAdvance(words) + _PILL_SIDES + 2 * SIDE, metrics.height() + ROW + 3)


class NoteDelegate(QStyledItemDelegate):
    """Qt's check box, if the row has one, the row's words, and a note on the right (NOTE_ROLE).

    The words are cut for the note, which is cut first: to its figure if it begins with one.
    """

    _words = _role = ""
    """The painted note of the cell that was prepared last, and its theme role."""

    def note_font(self, font: QtGui.QFont) -> QtGui.QFont:
        return smaller(font)

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        metrics = QtGui.QFontMetrics(option.font)
        words, self._role = index.data(NOTE_ROLE) or ("", "")
        self._words = self._fitted(words, option, metrics.horizontalAdvance(option.text))
        note = QtGui.QFontMetrics(self.note_font(option.font)).horizontalAdvance(self._words)
        room = _part(option, QStyle.SubElement.SE_ItemViewItemText).width() - note - (note and 2 * SIDE)
        option.text = metrics.elidedText(option.text, Qt.TextElideMode.ElideMiddle, max(room, 40))
        option.state &= ~QStyle.StateFlag.State_HasFocus

    def paint(self, painter: QtGui.QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        made = QStyleOptionViewItem(option)
        self.initStyleOption(made, index)
        _style(made).drawControl(QStyle.ControlElement.CE_ItemViewItem, made, painter, made.widget)
        if self._words:
            painter.save()
            box = option.rect.adjusted(0, 0, -SIDE, 0)
            font = self.note_font(option.font)
            paint_words(painter, box, self._words, font, self._role, Qt.AlignmentFlag.AlignRight)
            painter.restore()

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        """A click beside the check box, which is small, is one on it."""
        if isinstance(event, QtGui.QMouseEvent):
            box = self.box(option, index)
            if box.isValid() and event.position().x() < box.right() + SIDE:
                event = QtGui.QMouseEvent(
                    event.type(), QPointF(box.center()), event.globalPosition(), event.button(),
                    event.buttons(), event.modifiers(),
                )  # fmt: skip
        return super().editorEvent(event, model, option, index)

    def box(self, option: QStyleOptionViewItem, index: Index) -> QRect:
        """The rectangle of the check box; an invalid one if the row has none."""
        made = QStyleOptionViewItem(option)
        super().initStyleOption(made, index)
        has_box = made.features & QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator
        return _part(made, QStyle.SubElement.SE_ItemViewItemCheckIndicator) if has_box else QRect()

    def _fitted(self, note: str, option: QStyleOptionViewItem, text: int) -> str:
        """The note, or its figure, as far as there is room beside a text that is so many pixels wide."""
        metrics, width = QtGui.QFontMetrics(self.note_font(option.font)), option.rect.width()
        if note[:1].isdigit() and text + 6 * SIDE + metrics.horizontalAdvance(note) > width:
            return note.split(" ")[0]
        return metrics.elidedText(visible(note), Qt.TextElideMode.ElideRight, width // 2)


def _part(option: QStyleOptionViewItem, part: QStyle.SubElement) -> QRect:
    """The rectangle of a part of an item."""
    return _style(option).subElementRect(part, option, option.widget)


def _style(option: QStyleOptionViewItem) -> QStyle:
    return option.widget.style() if option.widget is not None else QApplication.style()


class LinesDelegate(QStyledItemDelegate):
    """Paints the `CellLine`s of a row (LINES_ROLE), all rows of a list in the same height."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        lines: Sequence[CellLine] = index.data(LINES_ROLE)
        fonts = (smaller(option.font) if line.small else option.font for line in lines)
        return QSize(120, sum(QtGui.QFontMetrics(font).height() + 2 for font in fonts) + 2 * SIDE - 2)

    def paint(self, painter: QtGui.QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        lines: Sequence[CellLine] = index.data(LINES_ROLE)
        painter.save()
        paint_row(painter, option, QRectF(option.rect).adjusted(1, 1, -1, -1))
        box = option.rect.adjusted(SIDE + 2, SIDE, -SIDE - 2, -SIDE)
        if lines[0].sign:
            first = QRect(box.left(), box.top(), _SIGN, QtGui.QFontMetrics(option.font).height())
            paint_words(painter, first, lines[0].sign, option.font, lines[0].sign_role)
            box.setLeft(first.right() + 1)
        for line in lines:
            font = smaller(option.font) if line.small else option.font
            metrics = QtGui.QFontMetrics(font)
            whole = QRect(box.left(), box.top(), box.width(), metrics.height())
            box.setTop(whole.bottom() + 3)
            if line.beside:
                small = smaller(option.font)
                free = whole.width() - metrics.horizontalAdvance(line.words) - SIDE
                most = max(free, round(whole.width() * line.share))
                right = QRect(whole)
                needed = QtGui.QFontMetrics(small).horizontalAdvance(line.beside) + 1
                right.setLeft(whole.right() - min(needed, most))
                paint_words(painter, right, line.beside, small, line.beside_role, Qt.AlignmentFlag.AlignRight)
                whole.setRight(right.left() - SIDE)
            paint_words(painter, whole, line.words, font, line.role)
        painter.restore()


class LinkDelegate(QStyledItemDelegate):
    """Paints the cell's words as a link."""

    def paint(self, painter: QtGui.QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        paint_selection(painter, option)
        painter.save()
        font = QtGui.QFont(option.font)
        font.setUnderline(bool(option.state & QStyle.StateFlag.State_MouseOver))
        painter.setFont(font)
        painter.setPen(theme().color("accent"))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(option.rect.adjusted(SIDE, 0, -SIDE, 0), flags, _plain(index))
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        width = cell_width(option)
        room = QRect(0, 0, width - 2 * SIDE, 10_000)
        box = QtGui.QFontMetrics(option.font).boundingRect(room, Qt.TextFlag.TextWordWrap, _plain(index))
        return QSize(width, box.height() + ROW)


class WordsDelegate(QStyledItemDelegate):
    """Text that wraps; parts in `backticks` are in the fixed-pitch font."""

    def lay_out(self, index: Index, font: QtGui.QFont, width: float) -> QtGui.QTextLayout:
        pieces = (index.data() or "").split("`")
        ranges, at = [], 0
        for number, piece in enumerate(pieces):
            length = len(piece.encode("utf-16-le", "surrogatepass")) // 2
            if number % 2 and number < len(pieces) - 1:
                code = QtGui.QTextCharFormat()
                code.setFontFamilies(mono_font().families())
                ranges.append(_range(at, length, code))
            at += length
        return lay_out_text("".join(pieces), font, ranges, width, MAX_WORD_LINES)

    def paint(self, painter: QtGui.QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        paint_selection(painter, option)
        layout = self.lay_out(index, option.font, option.rect.width() - 2 * SIDE)
        painter.save()
        painter.setClipRect(option.rect)
        painter.setPen(index.data(Qt.ItemDataRole.ForegroundRole) or theme().color("text"))
        top = option.rect.top() + max((option.rect.height() - height_of(layout)) / 2, 2)
        layout.draw(painter, QPointF(option.rect.left() + SIDE, top))
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        width = cell_width(option)
        return QSize(width, round(height_of(self.lay_out(index, option.font, width - 2 * SIDE))) + ROW)


class TextDelegate(WordsDelegate):
    """A model's text in the fixed-pitch font, over at most a few lines.

    MARK_ROLE has the index of the character to mark, if any.
    """

    def lay_out(self, index: Index, font: QtGui.QFont, width: float) -> QtGui.QTextLayout:
        text, mark, ranges = index.data() or "", index.data(MARK_ROLE), []
        if mark is not None and 0 <= mark < len(text):
            marked = QtGui.QTextCharFormat()
            marked.setForeground(theme().color("impossible"))
            marked.setBackground(theme().color("impossible-soft"))
            marked.setUnderlineStyle(QtGui.QTextCharFormat.UnderlineStyle.DotLine)
            marked.setUnderlineColor(theme().color("impossible-line"))
            start = len(text[:mark].encode("utf-16-le", "surrogatepass")) // 2
            ranges.append(_range(start, 2 if text[mark] > "\uffff" else 1, marked))
        return lay_out_text(text, mono_font(-1), ranges, width, MAX_LINES)


def _plain(index: Index) -> str:
    return (index.data() or "").replace("`", "")


def cell_width(option: QStyleOptionViewItem) -> int:
    """The width of the cell, or a usual one before it is laid out."""
    return option.rect.width() if option.rect.width() > 40 else 240


def _range(start: int, length: int, look: QtGui.QTextCharFormat) -> QtGui.QTextLayout.FormatRange:
    reach = QtGui.QTextLayout.FormatRange()
    reach.start, reach.length, reach.format = start, length, look
    return reach


def lay_out_text(
    text: str, font: QtGui.QFont, ranges: list[QtGui.QTextLayout.FormatRange], width: float, most: int
) -> QtGui.QTextLayout:
    """Lay out a text in at most `most` lines, broken anywhere; the last one ends with dots if more follows."""
    layout = _layout(text, font, ranges, width, most)
    whole = text.encode("utf-16-le", "surrogatepass")
    if most and layout.lineCount() == most:
        last = layout.lineAt(most - 1)
        start, end = 2 * last.textStart(), 2 * (last.textStart() + last.textLength())
        if end < len(whole):
            rest = whole[start:].decode("utf-16-le", "surrogatepass").replace("\n", " ")
            rest = QtGui.QFontMetrics(font).elidedText(
                rest[:1000], Qt.TextElideMode.ElideRight, round(max(width, 20))
            )
            text = whole[:start].decode("utf-16-le", "surrogatepass") + rest
            layout = _layout(text, font, ranges, width, most)
    return layout


def _layout(
    text: str, font: QtGui.QFont, ranges: list[QtGui.QTextLayout.FormatRange], width: float, most: int
) -> QtGui.QTextLayout:
    layout = QtGui.QTextLayout(text, font)
    option = QtGui.QTextOption()
    option.setWrapMode(QtGui.QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.setFormats(ranges)
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
    return layout


def height_of(layout: QtGui.QTextLayout) -> float:
    """The height of its lines in pixels."""
    return sum(layout.lineAt(number).height() for number in range(layout.lineCount()))
