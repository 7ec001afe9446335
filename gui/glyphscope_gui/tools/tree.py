"""The tree of tools: ticks, arguments below, everything by keyboard."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QTreeView, QWidget

from glyphscope_gui.shared.language import tr
from glyphscope_gui.tools.delegate import ToolDelegate, tick_target
from glyphscope_gui.tools.registry_tree_model import Item, RegistryTreeModel

MIN_ROWS, MAX_ROWS = 10, 14


class ToolTree(QTreeView):
    """`itemSelected` tells the Item that is chosen, or None.

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
        """As high as its rows within bounds; with more it scrolls."""
        rows, index = 0, self._tools.index(0, 0)
        while index.isValid() and rows < MAX_ROWS:
            rows += 1
            index = self.indexBelow(index)
        return QSize(200, max(rows, MIN_ROWS) * self.sizeHintForRow(0))

    def selected(self) -> Item | None:
        index = self.currentIndex()
        return self._tools.item(index) if index.isValid() else None

    def select(self, item: Item) -> None:
        """Choose a row and show it; nothing happens when there is no such row."""
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
        """Show only the tools whose name or description has all the words."""
        wanted, root = words.casefold().split(), QModelIndex()
        for row in range(self._tools.rowCount()):
            hidden = not self._tools.matches(row, wanted)
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
            # Left to the view, a space soon after another key would be taken as a search by name.
            self._delegate.turn(self._tools, index)
        else:
            super().keyPressEvent(event)
