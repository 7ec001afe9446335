"""Failures by reason as a tree: each reason, below it the code and place, and the arms; a click shows the runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.evals.results.sample import Reason, Sample
from glyphscope.evals.results.table import FirstFailure
from glyphscope.evals.results.words import REASON_WORDS
from glyphscope_gui.evaluate.result import EvalResult, Samples
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTree
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TreeModel, TreeRows

REASON, COUNT = range(2)


class _Node(NamedTuple):
    """`samples` are those whose first failure this is. Without a `tip`, it is the first one's detail."""

    words: str
    tip: str
    samples: Samples


class EvalFailuresModel(TreeModel):
    """A sample counts once, under the reason of its first failure."""

    figures = frozenset({COUNT})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._nodes: list[_Node] = []
        """The nodes in the order of the tree."""
        self._show_counts(0, 0)

    def show(self, result: EvalResult, labels: dict[str, str]) -> None:
        """Show the failures of the samples that the result's figures cover."""
        import numpy as np

        by_reason: dict[str, list[tuple[str, Samples]]] = {}
        for first, arm, samples in result.by_failure:
            words = " · ".join(part for part in (_exactly(first), labels.get(arm, arm)) if part)
            by_reason.setdefault(first.reason, []).append((words, samples))
        self.beginResetModel()
        self._show_counts(len(result.counted), sum(len(samples) for *_, samples in result.by_failure))
        self._nodes, self._tree = [], TreeRows()
        for reason, parts in sorted(
            by_reason.items(), key=lambda item: -sum(len(each) for _, each in item[1])
        ):
            parts.sort(key=lambda part: -len(part[1]))
            above = self._tree.add(0)
            everything = Samples(np.concatenate([found.places for _, found in parts]), result)
            self._nodes.append(_Node(REASON_WORDS[cast("Reason", reason)], reason, everything))
            for words, found in parts:
                self._tree.add(above)
                self._nodes.append(_Node(words, "", found))
        self.endResetModel()

    def samples(self, index: Index) -> Sequence[Sample]:
        """The runs behind a row."""
        return self._node(index).samples

    def words(self, index: Index) -> str:
        return self._node(index).words

    # -- Qt ----------------------------------------------------------------------------------------------------

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        node = self._node(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return node.words if index.column() == REASON else f"{len(node.samples):,}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            details = [failure.detail for failure in node.samples[0].failures[:1]]
            return plain_tip(node.tip or "".join(details)[:800]) or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return tr(
                "{reason}: {count:,} of {all:,} samples",
                reason=node.words,
                count=len(node.samples),
                all=self._all,
            )
        return None

    def _show_counts(self, count: int, failed: int) -> None:
        self._all = count
        self.titles = (tr("Reason ({failed:,} of {all:,} failed)", failed=failed, all=count), tr("Samples"))

    def _node(self, index: Index) -> _Node:
        return self._nodes[index.internalId() - 1]


def _exactly(failure: FirstFailure) -> str:
    """The distinction between failures with the same reason: the validator's code, and the argument."""
    return " ".join(part for part in (failure.code, failure.path) if part)


FEW = 3
"""Number of reasons up to which all are initially expanded."""


class EvalFailures(PlainTree):
    """`chosen` carries the words of the row and its samples."""

    chosen = Signal(str, object)

    def __init__(self, model: EvalFailuresModel, parent: QWidget | None = None) -> None:
        keys = tr("Selecting a line shows its runs; Right and Left expand and collapse it.")
        words = tr("Failures by reason")
        super().__init__(model, "evalFailures", words, parent, description=keys, indent=16, stretch=REASON)
        self._failures = model
        self.header().setSectionsMovable(False)
        self._open: set[str] = set()
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._reset)
        self.clicked.connect(self._notify)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if current.isValid() and self.hasFocus():
            self._notify(current)

    def _notify(self, index: Index) -> None:
        above = index.parent()
        words = self._failures.words(index)
        whole = f"{self._failures.words(above)}: {words}" if above.isValid() else words
        self.chosen.emit(whole, self._failures.samples(index))

    def _roots(self) -> list[QModelIndex]:
        return [self._failures.index(row, REASON) for row in range(self._failures.rowCount())]

    def _keep(self) -> None:
        """Remember the expanded reasons, by their words."""
        self._open = {self._failures.words(root) for root in self._roots() if self.isExpanded(root)}

    def _reset(self) -> None:
        """Restore the expanded reasons while a result grows; if there are few, expand all."""
        roots = self._roots()
        for root in roots:
            if len(roots) <= FEW or self._failures.words(root) in self._open:
                self.expand(root)
