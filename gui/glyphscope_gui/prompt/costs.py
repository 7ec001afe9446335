"""The cost of each part of the prompt: a tree with a bar behind each count, the most expensive first."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from glyphscope_gui.prompt.costs_model import SHARE_ROLE, Key, PromptCostsModel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTree
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.theme import mono_font, theme

_BAR = 36
_WHOLE_ROW = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows


class _CostDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        width = 0
        if index.column():
            width = option.fontMetrics.horizontalAdvance("00,000") + _BAR + 14
        return QSize(width, round(option.fontMetrics.height() * 1.2) + 5)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if not index.column():
            super().paint(painter, option, index)
            return
        colors = theme()
        painter.save()
        box = QRectF(option.rect)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(box, colors.color("selection"))
        share = float(index.data(SHARE_ROLE) or 0.0)
        if share > 0:
            bar = QRectF(box.left() + 4, box.center().y() - 3, max(1.0, _BAR * share), 6)
            painter.fillRect(
                bar, colors.color("chart-soft" if index.parent().isValid() else "chart-main-soft")
            )
            if index.parent().isValid():
                painter.setPen(QPen(colors.color("border-strong"), 1))
                painter.drawRect(bar)
        painter.setFont(mono_font(-1))
        painter.setPen(colors.color("text"))
        words = box.adjusted(0, 0, -8, 0)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(words, right, str(index.data() or ""))
        painter.restore()


class PromptCosts(PlainTree):
    """`partChosen` and `partHovered` carry the Cost of a row, or None."""

    partChosen = Signal(object)
    partHovered = Signal(object)

    def __init__(self, model: PromptCostsModel, parent: QWidget | None = None) -> None:
        words = tr("Tokens of each part of the prompt")
        super().__init__(model, "promptCosts", words, parent, indent=11, stretch=0)
        self._costs = model
        self._open: set[Key] = set()
        self._last_key: Key | None = None
        self.setItemDelegate(_CostDelegate(self))
        self.setMouseTracking(True)
        self.header().setSectionsClickable(False)
        self.selectionModel().currentChanged.connect(self._current_changed)
        self.entered.connect(lambda index: self.partHovered.emit(model.cost(index)))
        self.expanded.connect(lambda index: self._remember(index, is_open=True))
        self.collapsed.connect(lambda index: self._remember(index, is_open=False))
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._restore)

    def choose(self, index: QModelIndex) -> None:
        """Choose a row, expand its parents and scroll to it."""
        if index.isValid() and index != self.currentIndex().siblingAtColumn(0):
            self.selectionModel().setCurrentIndex(index, _WHOLE_ROW)
            self.scrollTo(index)

    def chosen(self) -> object:
        """The Cost of the chosen row, or None."""
        return self._costs.cost(self.currentIndex())

    def leaveEvent(self, event: object) -> None:
        super().leaveEvent(event)  # type: ignore[arg-type]
        self.partHovered.emit(None)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 4 * self.fontMetrics().height())

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        self.partChosen.emit(self._costs.cost(current))

    def _remember(self, index: QModelIndex, *, is_open: bool) -> None:
        key = self._costs.key(index)
        if key is not None:
            (self._open.add if is_open else self._open.discard)(key)

    def _keep(self) -> None:
        self._last_key = self._costs.key(self.currentIndex()) or self._last_key

    def _restore(self) -> None:
        """Restore the expanded rows and the selected one, if they still exist."""
        for key in list(self._open):
            index = self._costs.index_of(key)
            if index.isValid():
                self.setExpanded(index, True)
        if self._last_key is not None:
            index = self._costs.index_of(self._last_key)
            if index.isValid():
                self.selectionModel().setCurrentIndex(index, _WHOLE_ROW)
