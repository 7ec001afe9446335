"""The tree of a run's branches for Qt: a row for each run, named by the user or after its replacement."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QFont

from glyphscope.runs.branch import Branch
from glyphscope.runs.endings import status_of
from glyphscope.sessions import Kin
from glyphscope_gui.playground.branches.words import outcome_line, row_words, text_words, tip_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TreeModel, TreeRows
from glyphscope_gui.theme import theme

RUN, TEXT, OUTCOME = range(3)
MAX_NAME = 120
"""Characters."""
SIGNS = {"holds": "✓", "open": "◌", "impossible": "✕"}
"""The signs of verdicts: colour alone does not distinguish outcomes."""


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
                return theme().color(_status(kin))
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
        return f"{SIGNS[_status(kin)]} {outcome_line(kin)}"


def _status(kin: Kin) -> str:
    return status_of(kin.row.outcome)
