"""The tree of tools: ticks, arguments below, everything by keyboard."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyleOptionViewItem, QWidget

from glyphscope_gui.shared.cells import NoteDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTree
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.theme import mono_font
from glyphscope_gui.tools.registry_tree_model import Item, RegistryTreeModel

INDENT = 22
"""Pixels by which arguments are indented."""


class _ToolDelegate(NoteDelegate):
    """The chosen row, and the tool of a chosen argument, in bold; the notes in the fixed-pitch font."""

    def note_font(self, font: QFont) -> QFont:
        return mono_font(-1)

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        view = option.widget
        has_current = isinstance(view, QAbstractItemView) and view.currentIndex().parent() == index
        if has_current or option.state & QStyle.StateFlag.State_Selected:
            font = QFont(option.font)
            font.setWeight(QFont.Weight.DemiBold)
            option.font = font
        super().initStyleOption(option, index)


_CHECK = Qt.ItemDataRole.CheckStateRole
_OTHER = {
    Qt.CheckState.Checked: Qt.CheckState.Unchecked,
    Qt.CheckState.Unchecked: Qt.CheckState.Checked,
}
MIN_ROWS, MAX_ROWS = 10, 14
"""The minimum and maximum number of rows for which the tree requests room."""


class ToolTree(PlainTree):
    """`itemSelected` carries the chosen Item, or None.

    A chosen tool shows its arguments; a second click hides them.
    """

    itemSelected = Signal(object)
    removeRequested = Signal()

    def __init__(self, model: RegistryTreeModel, parent: QWidget | None = None) -> None:
        keys = tr(
            "Space allows or forbids a tool. Right and left show and hide its arguments. Delete removes."
        )
        words = tr("Tools and their arguments")
        super().__init__(model, "toolTree", words, parent, description=keys, indent=INDENT)
        self._tools = model
        self._delegate = _ToolDelegate(self)
        self.setItemDelegate(self._delegate)
        self.setRootIsDecorated(False)
        self.setExpandsOnDoubleClick(False)
        self.setMouseTracking(True)
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
        if again and place.x() > self.box(index).right() and event.button() == Qt.MouseButton.LeftButton:
            self.setExpanded(index, not self.isExpanded(index))

    def box(self, index: QModelIndex) -> QRect:
        """The rectangle of a tool's check box."""
        option = QStyleOptionViewItem()
        self.initViewItemOption(option)
        option.rect = self.visualRect(index)
        return self._delegate.box(option, index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() == Qt.Key.Key_Delete:
            self.removeRequested.emit()
        elif event.key() == Qt.Key.Key_Space and (checked := index.data(_CHECK)) is not None:
            # The view would treat a space soon after another key as a search by name.
            self._tools.setData(index, _OTHER[Qt.CheckState(checked)], _CHECK)
        else:
            super().keyPressEvent(event)
