"""The table of fields side by side: the first difference has a background and a sign, and differing text is
underlined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QHeaderView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.base.shorten import capitalised
from glyphscope.base.visible import visible
from glyphscope.evals.alignment import TOOL, AlignedField, Alignment, FieldCell, field_words
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import CELL, PlainTable
from glyphscope_gui.shared.table_model import NO_INDEX, Index, TableModel
from glyphscope_gui.shared.verdict import VERDICTS, paint_line, paint_pill
from glyphscope_gui.theme import mono_font, theme

MARK, FIELD, FIRST_RUN = 0, 1, 2
STANDING_ROLE = Qt.ItemDataRole.UserRole
"""The role of the mark: `first` in the row with the first difference, else the row's result."""
PARTING_ROLE = Qt.ItemDataRole.UserRole + 1
"""The role of a differing string: the character of the shown text at which it begins to differ; otherwise None."""
MAX_ROWS = 200
"""Number of arguments of a call that are shown; the text below the heading counts all of them."""
MARKS = {"first": tr("≠ first"), "differs": "≠", "same": "=", "open": "…"}
_TIPS = {
    "first": tr("The first field in which the columns differ."),
    "differs": tr("The columns differ in this field."),
    "same": tr("All columns have the same value."),
    "open": tr("Not decided yet: a running column may still write this field."),
}


class CompareFieldsModel(TableModel[AlignedField]):
    """Shows the alignment set by `show`, with the names of its runs as headings."""

    titles = ("", tr("Field"))
    figures = frozenset()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names: tuple[str, ...] = ()
        self._alignment: Alignment | None = None

    def show(self, alignment: Alignment, names: Sequence[str]) -> None:
        if alignment == self._alignment and tuple(names) == self._names:
            return
        self.beginResetModel()
        self._alignment, self._names = alignment, tuple(names)
        self._rows = alignment.rows[:MAX_ROWS]
        self.endResetModel()

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else FIRST_RUN + len(self._names)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if section >= FIRST_RUN and orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                name = self._names[section - FIRST_RUN]
                return capitalised(name)
            return self.alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None
        return super().headerData(section, orientation, role)

    def words(self, row: AlignedField, column: int) -> str:
        if column == MARK:
            return MARKS[self._standing(row)]
        if column == FIELD:
            return visible(field_words(row), spaces=True)
        return self._text(row.cells[column - FIRST_RUN], column - FIRST_RUN)

    def spoken(self, row: AlignedField, column: int) -> str:
        return _TIPS[self._standing(row)] if column == MARK else self.words(row, column)

    def tip(self, row: AlignedField, column: int) -> str:
        return "" if column == FIELD else self.spoken(row, column)

    def color(self, row: AlignedField, column: int) -> str:
        if column < FIRST_RUN:
            return ""
        cell = row.cells[column - FIRST_RUN]
        return "text-faint" if cell is None else "impossible" if cell.status == "impossible" else "text"

    def extra(self, row: AlignedField, column: int, role: int) -> Any:
        if role == STANDING_ROLE:
            return self._standing(row)
        cell = row.cells[column - FIRST_RUN] if column >= FIRST_RUN else None
        if role == Qt.ItemDataRole.FontRole and cell is not None:
            return mono_font(-0.5)
        if role == PARTING_ROLE and row.agreement == "differs" and cell is not None:
            return _parting(row, cell)
        return None

    def _standing(self, row: AlignedField) -> str:
        return "first" if self._alignment is not None and row is self._alignment.first else row.agreement

    def _text(self, cell: FieldCell | None, run: int) -> str:
        alignment = self._alignment
        assert alignment is not None, "a row comes from one"
        if cell is None:
            if not alignment.compared[run]:
                return tr("not compared")
            return tr("not set") if alignment.ended[run] else ""
        if cell.closed:
            return visible(cell.text, spaces=True)
        return visible(cell.text, spaces=True) + ("  ✕" if alignment.ended[run] else " …")


def _parting(row: AlignedField, cell: FieldCell) -> int | None:
    """The character at which a string begins to differ; None for other values, and if an escape before it would move
    it.
    """
    if row.char is None or row.place or not isinstance(cell.value, str) or row.name is TOOL:
        return None
    head = cell.value[: row.char]
    return row.char + 1 if cell.text[1 : row.char + 1] == head == visible(head, spaces=True) else None


_ROLES = {"first": "impossible", "differs": "impossible", "same": "holds", "open": "open"}
MIN_SHOWN, MAX_SHOWN = 3, 7
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
        return QSize(400, self.height_of(min(max(self.model().rowCount(), MIN_SHOWN), MAX_SHOWN)) + 4)

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
