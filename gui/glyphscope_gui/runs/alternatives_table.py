"""The alternatives of the chosen token: bars of raw probability, crossed out if the grammar masked it."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from glyphscope.events import Alternative
from glyphscope_gui.runs.alternatives_model import (
    ALTERNATIVE_ROLE,
    BAR,
    CHOSEN_ROLE,
    FINAL,
    RAW,
    REASON_ROLE,
    REFUSED_ROLE,
    TEXT,
    AlternativesModel,
)
from glyphscope_gui.shared.cells import paint_bar, paint_selection, paint_words
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import WholeTable
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.shared.token_words import is_masked
from glyphscope_gui.theme import mono_font, theme, ui_font

_BAR_HEIGHT = 11


class AlternativeDelegate(QStyledItemDelegate):
    """Token, bar and figures on the first line of a row, the reason for the mask on the next ones."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_selection(painter, option)
        line = QRectF(option.rect)
        line.setHeight(_line_height())
        alternative = index.data(ALTERNATIVE_ROLE)
        why = index.data(REASON_ROLE)
        if index.column() == BAR:
            self._paint_bar(painter, line, alternative, bool(why))
        else:
            self._paint_text(painter, line.adjusted(2, 0, -2, 0), index)
        if why:
            self._paint_words(painter, option, line.bottom(), why, "impossible")
        refused = index.data(REFUSED_ROLE)
        if refused:
            below = line.bottom() + (small_height() if why else 0)
            self._paint_words(painter, option, below, refused, "text-muted")
        painter.restore()

    def _paint_bar(self, painter: QPainter, line: QRectF, alternative: Alternative, impossible: bool) -> None:
        box = QRectF(line.left() + 4, line.center().y() - _BAR_HEIGHT / 2, line.width() - 8, _BAR_HEIGHT)
        if is_masked(alternative):
            fill = QBrush(theme().color("text-faint"), Qt.BrushStyle.BDiagPattern)
        else:
            role = "impossible-line" if impossible else "text-faint" if alternative.removed else "accent"
            fill = QBrush(theme().color(role))
        paint_bar(painter, box, alternative.raw, fill)

    def _paint_text(self, painter: QPainter, line: QRectF, index: Index) -> None:
        alternative = index.data(ALTERNATIVE_ROLE)
        role = "text-faint" if is_masked(alternative) or alternative.removed else ""
        if index.column() == TEXT:
            font = mono_font(-0.5)
            font.setBold(bool(index.data(CHOSEN_ROLE)))
            font.setStrikeOut(is_masked(alternative))
            paint_words(painter, line, index.data(), font, role or "text")
        else:
            side = Qt.AlignmentFlag.AlignRight
            paint_words(painter, line, index.data(), mono_font(-1), role or "text-muted", side)

    def _paint_words(
        self, painter: QPainter, option: QStyleOptionViewItem, top: float, why: str, role: str
    ) -> None:
        """Paint a cell's part of a text that spans the whole table, as Qt may repaint any cell alone."""
        table = option.widget
        width = table.viewport().width() if isinstance(table, QAbstractItemView) else option.rect.width()
        font = ui_font(-1.5)
        box = QRectF(2, top, width - 4, QFontMetrics(font).height())
        painter.setClipRect(box & QRectF(option.rect))
        paint_words(painter, box, why, font, role)


def _line_height() -> int:
    return QFontMetrics(mono_font(-0.5)).height() + 7


def small_height() -> int:
    """Height of a line of words below a token."""
    return QFontMetrics(ui_font(-1.5)).height() + 2


class AlternativesTable(WholeTable):
    """`rowChosen` carries the row that became current, `rowTaken` the row of a double click or Enter."""

    rowChosen = Signal(int)
    rowTaken = Signal(int)

    def __init__(self, model: AlternativesModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=BAR, parent=parent)
        named(self, "alternativesTable", tr("Alternatives of the chosen token"))
        self.setItemDelegate(AlternativeDelegate(self))
        self.horizontalHeader().setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Fixed)
        self.fit_again()
        model.modelReset.connect(self._fit_heights)
        model.dataChanged.connect(lambda *_: self._fit_heights())
        self.setAccessibleDescription(
            tr("Up and Down select an alternative; Enter continues the run with it.")
        )
        self.selectionModel().currentRowChanged.connect(self._current_changed)
        self.on_open(lambda index: self.rowTaken.emit(index.row()))
        self.offer_menus()

    def fit_again(self) -> None:
        super().fit_again()
        figures = QFontMetrics(mono_font(-1)).horizontalAdvance("100.0%") + 8
        self.setColumnWidth(TEXT, QFontMetrics(mono_font(-0.5)).horizontalAdvance("·max_results"[:9]) + 8)
        self.setColumnWidth(RAW, figures)
        self.setColumnWidth(FINAL, figures)
        self._fit_heights()

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        if current.isValid():
            self.rowChosen.emit(current.row())

    def _fit_heights(self) -> None:
        line, small = _line_height(), small_height()
        for row in range(self.model().rowCount()):
            index = self.model().index(row, TEXT)
            lines = sum(bool(index.data(role)) for role in (REASON_ROLE, REFUSED_ROLE))
            self.setRowHeight(row, line + small * lines)
        self.updateGeometry()
