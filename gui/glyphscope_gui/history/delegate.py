"""How a run is drawn in the history: what was asked, how it ended, and the facts in quieter type."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontInfo, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from glyphscope_gui.history.model import ROW_ROLE, facts, outcome_status, outcome_words, when
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.row_painting import paint_ground, paint_words
from glyphscope_gui.shared.verdict import VERDICTS
from glyphscope_gui.theme import theme

_MARGIN = 10


class HistoryDelegate(QStyledItemDelegate):
    """Three lines a run: prompt and time, outcome, facts."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        small = QFontMetrics(_small(option.font))
        return QSize(0, option.fontMetrics.height() + 2 * small.height() + 20)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row = index.data(ROW_ROLE)
        colors = theme()
        painter.save()
        paint_ground(painter, option, QRectF(option.rect).adjusted(0, 1, 0, -1))
        box = option.rect.adjusted(_MARGIN, 8, -_MARGIN, -8)
        small = _small(option.font)
        line = QRect(box.left(), box.top(), box.width(), option.fontMetrics.height())
        time = (tr("Pinned · ") if row.pinned else "") + when(row.time)
        room = QFontMetrics(small).horizontalAdvance(time) + 10
        painter.setFont(small)
        painter.setPen(colors.color("accent" if row.pinned else "text-faint"))
        painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, time)
        paint_words(painter, line.adjusted(0, 0, -room, 0), str(index.data()), option.font, "text")
        status = outcome_status(row.outcome)
        line = QRect(box.left(), line.bottom() + 3, box.width(), QFontMetrics(small).height())
        paint_words(painter, line, f"{VERDICTS[status].sign} {outcome_words(row.outcome)}", small, status)
        line.translate(0, line.height() + 1)
        paint_words(painter, line, facts(row), small, "text-muted")
        painter.restore()


def _small(font: QFont) -> QFont:
    small = QFont(font)
    small.setPixelSize(max(10, round(QFontInfo(font).pixelSize() * 0.88)))
    return small
