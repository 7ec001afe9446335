"""The tree of tools: ticks, arguments below, everything by keyboard."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from glyphscope.visible import visible
from glyphscope_gui.shared.cells import paint_row
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.sizes import scale
from glyphscope_gui.tools.registry_tree_model import DETAIL_ROLE, PROBLEM_ROLE, Item, RegistryTreeModel

TICK = 14
"""Pixels of a tick's box, at the usual text size."""
MARGIN = 8
"""Pixels at both ends of a row."""


class ToolDelegate(QStyledItemDelegate):
    """Draws a row; a click on the tick or the space bar adds the tool to the allow list or removes it."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, round(option.fontMetrics.height() * 1.25) + 7)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        paint_row(painter, option, QRectF(option.rect).adjusted(0, 0.5, 0, -0.5))
        tick = index.data(Qt.ItemDataRole.CheckStateRole)
        if tick is not None:
            self._paint_tick(painter, option.rect, Qt.CheckState(tick) == Qt.CheckState.Checked)
        self._paint_words(painter, option, index, is_tool=tick is not None)
        painter.restore()

    def _paint_tick(self, painter: QPainter, row: QRect, checked: bool) -> None:
        colors = theme()
        place = tick_rect(row)
        painter.save()
        painter.translate(place.topLeft())
        painter.scale(place.width() / TICK, place.height() / TICK)
        box = QRectF(0.5, 0.5, TICK - 1, TICK - 1)
        painter.setPen(QPen(colors.color("accent" if checked else "border-strong"), 1))
        painter.setBrush(colors.color("accent") if checked else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, 3, 3)
        if checked:
            path = QPainterPath()
            path.moveTo(3.7, 7.3)
            path.lineTo(6.1, 9.7)
            path.lineTo(10.3, 4.7)
            pen = QPen(colors.color("on-accent"), 1.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(path)
        painter.restore()

    def _paint_words(
        self, painter: QPainter, option: QStyleOptionViewItem, index: Index, *, is_tool: bool
    ) -> None:
        colors = theme()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        box = option.rect.adjusted(tick_target(option.rect).width() + 2, 0, -MARGIN, 0)
        small = mono_font(-1)
        detail = str(index.data(DETAIL_ROLE) or "")
        wrong = bool(index.data(PROBLEM_ROLE))
        if wrong:
            detail = tr("see Schema")
        metrics = QFontMetrics(small)
        detail = metrics.elidedText(visible(detail), Qt.TextElideMode.ElideRight, box.width() // 2)
        width = metrics.horizontalAdvance(detail)
        painter.setFont(small)
        painter.setPen(colors.color("impossible" if wrong else "text-faint"))
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, detail)

        font = QFont(option.font)
        if selected or _has_current(option, index):
            font.setWeight(QFont.Weight.DemiBold)
        off = is_tool and index.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Unchecked
        painter.setFont(font)
        painter.setPen(colors.color("text-faint" if off else "text" if is_tool or selected else "text-muted"))
        room = box.adjusted(0, 0, -width - 10, 0)
        name = QFontMetrics(font).elidedText(str(index.data()), Qt.TextElideMode.ElideMiddle, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        if index.data(Qt.ItemDataRole.CheckStateRole) is None or not isinstance(event, QMouseEvent):
            return False
        if not tick_target(option.rect).contains(event.position().toPoint()):
            return False
        if event.type() == QEvent.Type.MouseButtonRelease:
            self.turn(model, index)
        return event.type() != QEvent.Type.MouseMove

    def turn(self, model: QAbstractItemModel, index: Index) -> None:
        """Add the tool to the allow list, or remove it."""
        checked = Qt.CheckState(index.data(Qt.ItemDataRole.CheckStateRole)) == Qt.CheckState.Checked
        turned = Qt.CheckState.Unchecked if checked else Qt.CheckState.Checked
        model.setData(index, turned, Qt.ItemDataRole.CheckStateRole)


def _has_current(option: QStyleOptionViewItem, index: Index) -> bool:
    """Whether the row is the tool of the chosen argument."""
    view = option.widget
    return isinstance(view, QAbstractItemView) and view.currentIndex().parent() == index


def tick_rect(row: QRect) -> QRect:
    """The box of the tick in a row."""
    size = round(TICK * scale())
    return QRect(row.left() + MARGIN, row.center().y() - size // 2 + 1, size, size)


def tick_target(row: QRect) -> QRect:
    """The area in which a click changes the tick: the whole column, which is easier to hit than the box."""
    return row.adjusted(0, 0, tick_rect(row).right() + 6 - row.right(), 0)


MIN_ROWS, MAX_ROWS = 10, 14
"""The minimum and maximum number of rows for which the tree requests room."""


class ToolTree(QTreeView):
    """`itemSelected` carries the chosen Item, or None.

    A chosen tool shows its arguments; a second click hides them.
    """

    itemSelected = Signal(object)
    removeRequested = Signal()

    def __init__(self, model: RegistryTreeModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toolTree")
        self.setAccessibleName(tr("Tools and their arguments"))
        self.setAccessibleDescription(
            tr("Space allows or forbids a tool. Right and left show and hide its arguments. Delete removes.")
        )
        self._tools = model
        self._delegate = ToolDelegate(self)
        self.setModel(model)
        self.setItemDelegate(self._delegate)
        self.setHeaderHidden(True)
        self.setIndentation(0)
        self.setRootIsDecorated(False)
        self.setExpandsOnDoubleClick(False)
        self.setUniformRowHeights(True)
        self.setMouseTracking(True)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self.select_first)

    def sizeHint(self) -> QSize:
        """As high as its rows, within bounds; with more rows it scrolls."""
        rows, index = 0, self._tools.index(0, 0)
        while index.isValid() and rows < MAX_ROWS:
            rows += 1
            index = self.indexBelow(index)
        return QSize(200, max(rows, MIN_ROWS) * self.sizeHintForRow(0))

    def selected(self) -> Item | None:
        index = self.currentIndex()
        return self._tools.item(index) if index.isValid() else None

    def select(self, item: Item) -> None:
        """Choose a row and show it; does nothing if there is no such row."""
        index = self._tools.index_of(item)
        if index.isValid():
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            self.scrollTo(index)

    def select_first(self) -> None:
        if self._tools.rowCount():
            self.select(self._tools.item(self._tools.index(0, 0)))
        else:
            self.itemSelected.emit(None)

    def filter(self, words: str) -> None:
        """Show only the tools whose name and description contain all the words."""
        searched, root = words.casefold().split(), QModelIndex()
        for row in range(self._tools.rowCount()):
            hidden = not self._tools.matches(row, searched)
            if hidden != self.isRowHidden(row, root):
                self.setRowHidden(row, root, hidden)

    def _current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid() and not current.parent().isValid():
            self.expand(current)
        self.itemSelected.emit(self.selected())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click on the chosen tool's name hides its arguments, and shows them again."""
        place = event.position().toPoint()
        index = self.indexAt(place)
        again = index.isValid() and index == self.currentIndex() and not index.parent().isValid()
        super().mousePressEvent(event)
        on_name = not tick_target(self.visualRect(index)).contains(place) if index.isValid() else False
        if again and on_name and event.button() == Qt.MouseButton.LeftButton:
            self.setExpanded(index, not self.isExpanded(index))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() == Qt.Key.Key_Delete:
            self.removeRequested.emit()
        elif event.key() == Qt.Key.Key_Space and index.data(Qt.ItemDataRole.CheckStateRole) is not None:
            # The view would treat a space soon after another key as a search by name.
            self._delegate.turn(self._tools, index)
        else:
            super().keyPressEvent(event)
