"""The tree of a run's branches above the stream: their places, replacements and results."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QMenu, QWidget

from glyphscope_gui.playground.branches.tree_model import OUTCOME, RUN, TEXT, BranchTreeModel
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.shared.menus import pop_up
from glyphscope_gui.shared.plain_table import PlainTree
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.theme.sizes import ROW, letters

ROWS_SHOWN = 6
"""Number of visible rows before the tree scrolls."""
INDENT = 14
"""Pixels by which a branch is indented below its parent run."""
MAX_INDENT = 120
"""The largest indent of the deepest branch in pixels: if there are many levels, each has less."""
NARROW = 560
"""Pixels of width, at the usual text size, below which the column of results is hidden: the stream and the hint show
them.
"""


class BranchTree(FollowsSize, PlainTree):
    """`runChosen` carries the id of the run that the user wants to see."""

    runChosen = Signal(str)

    def __init__(self, model: BranchTreeModel, parent: QWidget | None = None) -> None:
        keys = tr("Up and Down select a run, Enter shows it, F2 renames it.")
        words = tr("Branches of this run")
        super().__init__(model, "branchTree", words, parent, description=keys, indent=INDENT)
        self._tree = model
        self.setItemsExpandable(False)
        self.setRootIsDecorated(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.header().setSectionResizeMode(self.header().ResizeMode.Interactive)
        self.header().setSectionResizeMode(TEXT, self.header().ResizeMode.Stretch)
        self.clicked.connect(self._choose_run)
        self.customContextMenuRequested.connect(self._show_menu)
        self.actions_ = [
            self._action(tr("&Show"), self.show_current),
            self._action(tr("&Name…"), self.name_current),
        ]

    def choose(self, run: str) -> None:
        """Make a run's row the current one, without `runChosen`."""
        index = self._tree.index_of(run)
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)

    def show_current(self) -> None:
        self._choose_run(self.currentIndex())

    def name_current(self) -> None:
        index = self.currentIndex()
        if index.isValid():
            self.edit(index.siblingAtColumn(RUN))

    def sizeHint(self) -> QSize:
        rows = min(max(self._tree.count, 2), ROWS_SHOWN)
        return QSize(320, rows * self._row_height() + 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 2 * self._row_height() + 4)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and self.state() != QAbstractItemView.State.EditingState:
            self.show_current()
        else:
            super().keyPressEvent(event)

    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        """Draw nothing: the indent alone shows branches, and no row can be collapsed."""

    def _row_height(self) -> int:
        return self.fontMetrics().height() + ROW + 2

    def _fit(self) -> None:
        width = self.viewport().width()
        narrow = width < NARROW * letters(self)
        self.setColumnHidden(TEXT, narrow)
        outcome = min(self.fontMetrics().averageCharWidth() * 26, round(width * 0.42))
        self.setColumnWidth(OUTCOME, outcome)
        self.setColumnWidth(RUN, width - outcome if narrow else round((width - outcome) * 0.5))

    def _choose_run(self, index: QModelIndex) -> None:
        if index.isValid():
            self.runChosen.emit(self._tree.run(index))

    def _action(self, words: str, slot: Callable[[], None]) -> QAction:
        action = QAction(words, self)
        action.triggered.connect(lambda _checked=False: slot())
        return action

    def _show_menu(self, place: QPoint) -> None:
        index = self.indexAt(place)
        if not index.isValid():
            return
        self.setCurrentIndex(index)
        pop_up(QMenu(self), self.viewport().mapToGlobal(place), *self.actions_)


class BranchCard(Card):
    """The branch tree, hidden while the shown run neither has branches nor is one. `appeared`: the card became visible,
    or has more rows.
    """

    appeared = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        self.model = BranchTreeModel()
        self.tree = BranchTree(self.model)
        self.back_action = _action(tr("&Back to the parent run"), "Alt+Left")
        self.forward_action = _action(tr("&Forward to the branch"), "Alt+Right")
        buttons = (IconButton("back", self.back_action), IconButton("forward", self.forward_action))
        super().__init__(tr("Branches"), self.tree, actions=buttons, padded=False, parent=parent)
        self.model.setParent(self)
        for action in (self.back_action, self.forward_action):
            action.setParent(self)
        self._size = QSize()
        self.hide()

    def sizeHint(self) -> QSize:
        """The height of all rows, up to a limit; the inner layout would report the size before the rows were added."""
        return QSize(340, self.heading.sizeHint().height() + self.tree.sizeHint().height() + 14)

    def show_tree(self, branches: int) -> None:
        """Update the card after the model was filled with that many branches and their first runs."""
        self.tree.expandAll()
        self.tree.setIndentation(max(1, min(INDENT, MAX_INDENT // max(self.model.depth, 1))))
        self.heading.hint.setText(tr("1 branch") if branches == 1 else tr("%n branches", "", branches))
        size, self._size = self._size, self.tree.sizeHint()
        grown = self.isHidden() or size != self._size
        self.tree.updateGeometry()
        self.show()
        if grown:
            self.appeared.emit()


def _action(words: str, keys: str) -> QAction:
    action = QAction(words, iconText=words.replace("&", ""))
    action.setShortcut(keys)
    action.setToolTip(f"{action.iconText()} ({keys})")
    return action
