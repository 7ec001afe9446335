"""Two tabs of a result: failures by reason as a tree, and two arms side by side, with their calls by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from PySide6.QtCore import QModelIndex, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.evals.alignment import Alignment, difference_words, in_quotes
from glyphscope.evals.results.sample import Reason, Sample
from glyphscope.evals.results.table import FirstFailure
from glyphscope.evals.results.words import REASON_WORDS
from glyphscope_gui.evaluate.result import CellSamples, ComparedPair, EvalResult
from glyphscope_gui.evaluate.words import why_words
from glyphscope_gui.runs.compare_fields import CompareFields, CompareFieldsModel
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, splitter, vbox
from glyphscope_gui.shared.plain_table import PlainTable, PlainTree, WholeRows
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TableModel, TreeModel, TreeRows

REASON, COUNT = range(2)


class _Node(NamedTuple):
    """`samples` are those whose first failure this is. Without a `tip`, it is the first one's detail."""

    words: str
    tip: str
    samples: CellSamples


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

        by_reason: dict[str, list[tuple[str, CellSamples]]] = {}
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
            everything = CellSamples(np.concatenate([found.places for _, found in parts]), result)
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


NOTHING = tr("Select a line to compare both calls by field.")
_NAMES = (tr("first"), tr("second"))
"""The names of arms without short names, in sentences."""
SCENARIO, TRIAL, FIRST, SECOND = range(4)
"""The columns of the table."""
MEASURED = 60
"""The rows by which the arms' columns are fitted: each is read from the result."""


class EvalPairsModel(TableModel[ComparedPair]):
    """A row for each pair of samples: the same trial of a scenario in both arms."""

    speaks_titles = True
    titles: Sequence[str] = (tr("Scenario"), tr("Trial"), tr("First"), tr("Second"))
    figures = frozenset({TRIAL})

    def show(self, pairs: Sequence[ComparedPair], first: str, second: str) -> None:
        """`first` and `second` name the arms."""
        self.titles, self.tips = (*self.titles[:FIRST], first, second), ("", "", first, second)
        self.show_rows(pairs)

    def words(self, row: ComparedPair, column: int) -> str:
        return (row.first.scenario, str(row.first.trial), _words(row.first), _words(row.second))[column]

    def tip(self, row: ComparedPair, column: int) -> str:
        if column not in (FIRST, SECOND):
            return ""
        sample = row[column - FIRST]
        return "\n".join(part for part in (why_words(sample), sample.text[:800]) if part)

    def color(self, row: ComparedPair, column: int) -> str:
        if column not in (FIRST, SECOND):
            return ""
        return "holds" if row[column - FIRST].ok else "impossible"


def _words(sample: Sample) -> str:
    """The sample in as few words as possible, as there is little room for two."""
    if sample.ok:
        return tr("✓ correct")
    reason = sample.failures[0].reason if sample.failures else "WRONG"
    return f"✕ {reason.removeprefix('WRONG_').replace('_', ' ').lower()}"


class _PairsTable(PlainTable):
    def __init__(self, pairs: EvalPairsModel, parent: QWidget) -> None:
        super().__init__(pairs, stretch=SCENARIO, parent=parent)
        self.fit_column(TRIAL, "10")
        self.give_way(TRIAL)
        self.horizontalHeader().setResizeContentsPrecision(MEASURED)

    def fit_arms(self) -> None:
        """Make the arms' columns as wide as they need, in at most four fifths of the room."""
        room = self.viewport().width() - self.columnWidth(TRIAL)
        room = min(room * 4 // 5, room - self.least_width(SCENARIO))
        head, arms = self.horizontalHeader(), (FIRST, SECOND)
        needs = [max(self.sizeHintForColumn(column), head.sectionSizeHint(column)) for column in arms]
        most = room if sum(needs) <= room else room // 2
        for column, needed in zip(arms, needs, strict=True):
            self.setColumnWidth(column, max(min(needed, most), 84))

    def _fit(self) -> None:
        self.fit_arms()


class EvalPair(FollowsSize, QWidget):
    """`armsChosen` carries two ids when the user picks them, `pairChosen` a ComparedPair, `openRequested` a Sample of
    one.
    """

    armsChosen = Signal(str, str)
    pairChosen = Signal(object)
    openRequested = Signal(object)

    def __init__(
        self, pairs: EvalPairsModel, fields: CompareFieldsModel, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        named(self, "evalCompare", tr("Two configurations side by side"))
        self._pairs, self._fields = pairs, fields
        self._names = _NAMES
        self._was_split = False
        """Whether table and fields were given equal heights, which happens once; afterwards the user decides."""
        self.first = choice_box(self, "evalFirstArm", tr("First configuration"), least=20)
        self.second = choice_box(self, "evalSecondArm", tr("Second configuration"), least=20)
        for box in (self.first, self.second):
            box.activated.connect(self._arms_changed)
        self.counted = PlainLabel(self, role="muted", wordWrap=True)
        self.table = named(
            _PairsTable(pairs, self), "evalPairs", tr("Differences between the two configurations")
        )
        self.table.selectionModel().currentRowChanged.connect(self._row_changed)
        self.table.doubleClicked.connect(self._double_clicked)
        self.words = PlainLabel(NOTHING, self, role="muted", wordWrap=True)
        self.aligned = named(CompareFields(fields, self), "evalAligned", tr("Both calls by field"))
        self._lay_out()

    def show_arms(self, arms: Sequence[str], labels: dict[str, str]) -> None:
        """Set the arms to choose from; the chosen ones stay if they exist, otherwise the first two are chosen."""
        picked = self.arms
        are_there = all(arm in arms for arm in picked)
        for index, box in enumerate((self.first, self.second)):
            with QSignalBlocker(box):
                box.clear()
                for arm in arms:
                    box.addItem(labels.get(arm, arm), arm)
                box.setCurrentIndex(box.findData(picked[index]) if are_there else min(index, len(arms) - 1))

    def choose_arms(self, first: str, second: str) -> None:
        """Choose two arms, with `armsChosen`."""
        for box, arm in ((self.first, first), (self.second, second)):
            box.setCurrentIndex(box.findData(arm))
        self._arms_changed()

    @property
    def arms(self) -> tuple[str, str]:
        return str(self.first.currentData() or ""), str(self.second.currentData() or "")

    def show_counted(self, words: str, names: tuple[str, str] = _NAMES) -> None:
        """Show the number of pairs, after the table was filled. `names` are short names of the arms."""
        self.counted.setText(words)
        self._names = names
        self._say(NOTHING if self._pairs.rowCount() else "")
        self.aligned.hide()
        self.table.fit_arms()

    def show_alignment(self, alignment: Alignment) -> None:
        self._fields.show(alignment, self._names)
        self._say(difference_words(alignment, in_quotes(self._names)))
        self.aligned.show()
        if not self._was_split:
            self._was_split = True
            half = self._splitter.height() // 2
            self._splitter.setSizes([half, half])
        row = next((n for n, row in enumerate(alignment.rows) if row is alignment.first), -1)
        if 0 <= row < self._fields.rowCount():
            self.aligned.scrollTo(self._fields.index(row, 0))

    def show_words(self, words: str) -> None:
        """Show words in place of an alignment."""
        self._say(words)
        self.aligned.hide()

    def _say(self, words: str) -> None:
        self.words.setText(words)
        self._fit()

    def _fit(self) -> None:
        """Keep all lines of the words: a splitter does not ask for the height of a width."""
        self.words.setMinimumHeight(0)  # which would be the least height for any width
        self.words.setMinimumHeight(self.words.heightForWidth(self.width()))

    def _arms_changed(self) -> None:
        first, second = self.arms
        if first and second:
            self.armsChosen.emit(first, second)

    def _row_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        if current.isValid():
            self.pairChosen.emit(self._pairs.row(current.row()))

    def _double_clicked(self, index: QModelIndex) -> None:
        pair = self._pairs.rows[index.row()]
        self.openRequested.emit(pair.second if index.column() == SECOND else pair.first)

    def _lay_out(self) -> None:
        against = PlainLabel(tr("vs."), self, role="muted")
        second = hbox(against, (self.second, 1), spacing=8)
        arms = vbox(self.first, second, margins=(9, 10, 9, 0), spacing=6)
        below = QWidget(self)
        self.words.setContentsMargins(9, 0, 9, 0)
        column = vbox(self.words, (self.aligned, 1), parent=below, margins=(0, 6, 0, 0), spacing=6)
        column.addStretch(0)
        self._splitter = splitter(
            Qt.Orientation.Vertical, (WholeRows(self.table), below), (3, 2), of_cards=False
        )
        self.counted.setContentsMargins(9, 0, 9, 0)
        vbox(arms, self.counted, (self._splitter, 1), parent=self, spacing=6)
