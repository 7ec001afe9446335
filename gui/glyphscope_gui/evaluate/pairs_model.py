"""Two arms side by side as a Qt table: the scenarios and trials in which they came to different ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, Qt

from glyphscope.evals.results.sample import Sample
from glyphscope_gui.evaluate.result import EvalResult
from glyphscope_gui.evaluate.words import why_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.theme import theme

SCENARIO, TRIAL, FIRST, SECOND = range(4)


class Pair(NamedTuple):
    """The same scenario, trial and seed in two arms."""

    first: Sample
    second: Sample

    @property
    def parted(self) -> bool:
        """Whether one of them is right and the other is not."""
        return self.first.ok != self.second.ok


def pairs_that_differ(result: EvalResult, first: str, second: str) -> tuple[list[Pair], int]:
    """Those in which one arm is right and the other wrong, then those of one verdict and other calls or texts; and how
    many pairs there are in all. As in the comparisons, a pair has an answer in both arms and is not of a control.
    """
    counted = [sample for sample in result.counted if sample.answered]
    by_key = {(s.suite, s.scenario, s.trial): s for s in counted if s.arm == first}
    parted, other, count = [], [], 0
    for sample in counted:
        if sample.arm != second:
            continue
        beside = by_key.get((sample.suite, sample.scenario, sample.trial))
        if beside is None:
            continue
        count += 1
        pair = Pair(beside, sample)
        if pair.parted:
            parted.append(pair)
        elif beside.calls != sample.calls or (not beside.ok and why_words(beside) != why_words(sample)):
            other.append(pair)
    return [*parted, *other], count


class EvalPairsModel(TableModel):
    """A row a pair."""

    titles = (tr("Scenario"), tr("Trial"), tr("First"), tr("Second"))
    figures = frozenset({TRIAL})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[Pair] = ()
        self._heads = (tr("First"), tr("Second"))

    def show(self, pairs: Sequence[Pair], first: str, second: str) -> None:
        self.beginResetModel()
        self._rows, self._heads = pairs, (first, second)
        self.endResetModel()

    def pair(self, row: int) -> Pair:
        return self._rows[row]

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        named = orientation == Qt.Orientation.Horizontal and section in (FIRST, SECOND)
        if named and role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._heads[section - FIRST]
        return super().headerData(section, orientation, role)

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        pair, column = self._rows[index.row()], index.column()
        sample = pair.second if column == SECOND else pair.first
        if role == Qt.ItemDataRole.DisplayRole:
            return (
                sample.scenario
                if column == SCENARIO
                else str(sample.trial)
                if column == TRIAL
                else _words(sample)
            )
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ForegroundRole and column in (FIRST, SECOND):
            return theme().color("holds" if sample.ok else "impossible")
        if role == Qt.ItemDataRole.ToolTipRole and column in (FIRST, SECOND):
            return (
                plain_tip("\n".join(part for part in (why_words(sample), sample.text[:800]) if part)) or None
            )
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.headerData(column, Qt.Orientation.Horizontal)}: {self.data(index)}"
        return None


def _words(sample: Sample) -> str:
    """As short as can be: there is little room for two."""
    if sample.ok:
        return tr("✓ correct")
    reason = sample.failures[0].reason if sample.failures else "WRONG"
    return f"✕ {reason.removeprefix('WRONG_').replace('_', ' ').lower()}"
