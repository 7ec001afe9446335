"""The tree of a run's branches below the transcript: their places, replacements and results."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QMenu, QWidget

from glyphscope.runs.branch import Branch
from glyphscope.runs.endings import status_of
from glyphscope.store import Kin
from glyphscope_gui.playground.branches.words import outcome_line, row_words, text_words, tip_words
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, vbox
from glyphscope_gui.shared.plain_table import PlainTree, WholeRows
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TreeModel, TreeRows
from glyphscope_gui.shared.verdict import END_VERDICTS
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import PAD, ROW, letters

RUN, TEXT, OUTCOME = range(3)
MAX_NAME = 120
"""Characters."""


class BranchTreeModel(TreeModel):
    """`renamed` carries a run's id and its new name."""

    renamed = Signal(str, str)
    titles = (tr("branch"), tr("text"), tr("outcome"))
    tips = (
        tr("The token at which the branch begins, and the replacement"),
        tr("The text from that token on; for the original run, its whole text"),
        tr("How the run ended"),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._branches: list[Branch] = []
        """In the order of the tree."""
        self._kin: Mapping[str, Kin] = {}
        self._special: Container[int] = ()
        self._shown = ""

    def show(
        self, roots: Sequence[Branch], kin: Mapping[str, Kin], shown: str, special: Container[int] = ()
    ) -> None:
        """Show these runs; `shown` is the id of the run that the views show."""
        self.beginResetModel()
        self._branches, self._tree = [], TreeRows()
        self._kin, self._shown, self._special = kin, shown, special
        # no recursion: each click may add a level of branches
        waiting = [(branch, 0) for branch in reversed(roots)]
        while waiting:
            branch, above = waiting.pop()
            self._branches.append(branch)
            number = self._tree.add(above)
            waiting += [(child, number) for child in reversed(branch.children)]
        self.endResetModel()

    def run(self, index: Index) -> str:
        return self._branches[index.internalId() - 1].run

    def index_of(self, run: str) -> QModelIndex:
        return self.index_of_row(next((n for n, one in enumerate(self._branches, 1) if one.run == run), 0))

    @property
    def count(self) -> int:
        return len(self._branches)

    @property
    def depth(self) -> int:
        """The number of levels of branches."""
        depths = [0]
        for above in self._tree.above[1:]:  # a parent's row precedes its children's
            depths.append(depths[above] + 1)
        return max(depths)

    # -- methods for Qt ----------------------------------------------------------------------------------------

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == RUN else flags

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        kin, column = self._of(index), index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._words(kin, column)
            case Qt.ItemDataRole.EditRole:
                return kin.row.name
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(tip_words(kin, self._above(kin), self._special))
            case Qt.ItemDataRole.FontRole if column == RUN and kin.started.run == self._shown:
                font = QFont()
                font.setWeight(QFont.Weight.DemiBold)
                return font
            case Qt.ItemDataRole.ForegroundRole if column == OUTCOME:
                return theme().color(status_of(kin.row.outcome))
            case Qt.ItemDataRole.ForegroundRole if column == TEXT:
                return theme().color("text-muted")
            case Qt.ItemDataRole.AccessibleTextRole:
                shown = tr(", shown") if column == RUN and kin.started.run == self._shown else ""
                return f"{self.titles[column]}: {self._words(kin, column)}{shown}"
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or index.column() != RUN:
            return False
        name = " ".join(str(value).split())[:MAX_NAME]
        if name != self._of(index).row.name:
            self.renamed.emit(self.run(index), name)
        return True

    def _of(self, index: Index) -> Kin:
        return self._kin[self.run(index)]

    def _above(self, kin: Kin) -> Any:
        point = kin.started.request.branch_of
        parent = self._kin.get(point.run) if point is not None else None
        return parent.started.request if parent is not None else None

    def _words(self, kin: Kin, column: int) -> str:
        if column == RUN:
            words = row_words(kin, self._above(kin), self._special)
            return f"▸ {words}" if kin.started.run == self._shown else words
        if column == TEXT:
            return text_words(kin)
        return f"{END_VERDICTS[status_of(kin.row.outcome)].sign} {outcome_line(kin)}"


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


_LARGEST_NAME = 0.8
"""The largest share of the width beside the result that the names of branches have."""


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

    def fit_columns(self) -> None:
        """Divide the width again after the rows have changed: the branch gets what it needs, and at least half."""
        width = self.viewport().width()
        narrow = width < NARROW * letters(self)
        self.setColumnHidden(TEXT, narrow)
        outcome = min(self.fontMetrics().averageCharWidth() * 26, round(width * 0.42))
        self.setColumnWidth(OUTCOME, outcome)
        room = width - outcome
        needed = max(self.sizeHintForColumn(RUN), round(room * 0.5))
        self.setColumnWidth(RUN, room if narrow else min(needed, round(room * _LARGEST_NAME)))

    def _fit(self) -> None:
        self.fit_columns()

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


class BranchPanel(QWidget):
    """The branch tree and its navigation. `appeared` carries whether there is a tree: the shown run has branches or is
    one.
    """

    appeared = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        self.model = BranchTreeModel()
        self.tree = BranchTree(self.model)
        self.back_action = _action(tr("&Back to the parent run"), "Alt+Left")
        self.forward_action = _action(tr("&Forward to the branch"), "Alt+Right")
        buttons = (IconButton("back", self.back_action), IconButton("forward", self.forward_action))
        super().__init__(parent)
        named(self, "branches", tr("Branches"))
        self.count = PlainLabel(self, role="hint")
        vbox(
            hbox((self.count, 1), *buttons, margins=(PAD, 2, 4, 0), spacing=4),
            (WholeRows(self.tree), 1),
            parent=self,
            spacing=2,
        )
        self.model.setParent(self)
        for action in (self.back_action, self.forward_action):
            action.setParent(self)

    def show_none(self) -> None:
        """The shown run has no branches and is not one."""
        self.appeared.emit(False)

    def show_tree(self, branches: int) -> None:
        """Update the panel after the model was filled with that many branches and their first runs."""
        self.tree.expandAll()
        self.tree.setIndentation(max(1, min(INDENT, MAX_INDENT // max(self.model.depth, 1))))
        self.tree.fit_columns()
        self.count.setText(tr("1 branch") if branches == 1 else tr("%n branches", "", branches))
        self.appeared.emit(True)


def _action(words: str, keys: str) -> QAction:
    action = QAction(words, iconText=words.replace("&", ""))
    action.setShortcut(keys)
    action.setToolTip(f"{action.iconText()} ({keys})")
    return action
