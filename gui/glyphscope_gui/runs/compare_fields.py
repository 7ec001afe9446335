"""The table of fields side by side: the first difference has a background and a sign, and differing text is
underlined.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QHeaderView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope_gui.runs.compare_fields_model import (
    FIELD,
    FIRST_RUN,
    MARK,
    MARKS,
    PARTING_ROLE,
    STANDING_ROLE,
    CompareFieldsModel,
)
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import CELL, PlainTable
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.shared.verdict import VERDICTS, paint_line, paint_pill
from glyphscope_gui.theme import theme

_ROLES = {"first": "impossible", "differs": "impossible", "same": "holds", "open": "open"}
MIN_ROWS, MAX_ROWS = 3, 7
"""The minimum and maximum height of the table in rows, before it scrolls."""
MIN_WIDTH = 110
"""The minimum width of a run's column in pixels; the table scrolls if not all columns fit."""
MAX_FIELD_WIDTH = 220
BEFORE = 12
"""Characters of a long value that are shown before the first difference."""
_MAX_MEASURED = 40


class FieldsDelegate(QStyledItemDelegate):
    """The mark as a pill; the row of the first difference on its background."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        standing = index.data(STANDING_ROLE)
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, theme().color("selection"))
        elif standing == "first":
            painter.fillRect(option.rect, theme().color("impossible-soft"))
        if index.column() == MARK:
            role = _ROLES[standing]
            paint_pill(
                painter, QRectF(option.rect).adjusted(8, 1, -2, -1), MARKS[standing], role, option.font
            )
        else:
            self._paint_text(painter, option, index, bold=standing == "first" and index.column() == FIELD)
        painter.restore()

    def _paint_text(
        self, painter: QPainter, option: QStyleOptionViewItem, index: Index, *, bold: bool
    ) -> None:
        font = QFont(index.data(Qt.ItemDataRole.FontRole) or option.font)
        font.setBold(bold)
        painter.setFont(font)
        painter.setPen(index.data(Qt.ItemDataRole.ForegroundRole) or theme().color("text"))
        box = option.rect.adjusted(9, 0, -6, 0)
        metrics = painter.fontMetrics()
        words, at = str(index.data() or ""), index.data(PARTING_ROLE)
        if at is not None and metrics.horizontalAdvance(words) > box.width():
            words, at = _around(words, at)
        words = metrics.elidedText(words, Qt.TextElideMode.ElideRight, box.width())
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        if at is not None:
            left = box.left() + metrics.horizontalAdvance(words[:at])
            right = max(box.left() + metrics.horizontalAdvance(words.rstrip('"')), left + 5)
            paint_line(painter, VERDICTS["impossible"], left, right, box.center().y() + metrics.height() / 2)


def _around(words: str, at: int) -> tuple[str, int]:
    """A long value, cut to begin shortly before its first difference, and the difference's place in the result."""
    cut = at - BEFORE
    return ("…" + words[cut:], at - cut + 1) if cut > 1 else (words, at)


class CompareFields(PlainTable):
    def __init__(self, model: CompareFieldsModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=FIELD, parent=parent)
        named(self, "compareFields", tr("Fields of all columns side by side"))
        self.setItemDelegate(FieldsDelegate(self))
        self.fit_rows(9)
        model.modelReset.connect(self._fit)
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(400, self.height_of(min(max(self.model().rowCount(), MIN_ROWS), MAX_ROWS)) + 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.height_of(2))

    def _fit(self) -> None:
        """Fit mark and name to their contents; the runs share the rest equally."""
        head, model = self.horizontalHeader(), self.model()
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setColumnWidth(MARK, self.fontMetrics().horizontalAdvance(MARKS["first"]) + 34)
        widest = max(self.widest(FIELD, _MAX_MEASURED), self.fontMetrics().horizontalAdvance("max_results"))
        self.setColumnWidth(FIELD, min(widest + CELL, MAX_FIELD_WIDTH))
        runs = model.columnCount() - FIRST_RUN
        room = self.viewport().width() - self.columnWidth(MARK) - self.columnWidth(FIELD)
        for run in range(runs):
            share = room // runs + (run < room % runs)
            self.setColumnWidth(FIRST_RUN + run, max(share, MIN_WIDTH))
