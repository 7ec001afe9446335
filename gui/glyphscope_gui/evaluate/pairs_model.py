"""Two arms side by side as a Qt table: the scenarios and trials in which they came to different ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, Qt

from glyphscope.evals.results.sample import Sample
from glyphscope_gui.evaluate.result import EvalResult
from glyphscope_gui.evaluate.words import why_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import TableModel

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


class EvalPairsModel(TableModel[Pair]):
    """A row a pair."""

    titles = (tr("Scenario"), tr("Trial"), tr("First"), tr("Second"))
    figures = frozenset({TRIAL})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._heads = (tr("First"), tr("Second"))

    def show(self, pairs: Sequence[Pair], first: str, second: str) -> None:
        self._heads = (first, second)
        self._replace(pairs)

    def pair(self, row: int) -> Pair:
        return self._rows[row]

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        named = orientation == Qt.Orientation.Horizontal and section in (FIRST, SECOND)
        if named and role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._heads[section - FIRST]
        return super().headerData(section, orientation, role)

    def words(self, row: Pair, column: int) -> str:
        return (row.first.scenario, str(row.first.trial), _words(row.first), _words(row.second))[column]

    def spoken(self, row: Pair, column: int) -> str:
        return f"{self.headerData(column, Qt.Orientation.Horizontal)}: {self.words(row, column)}"

    def tip(self, row: Pair, column: int) -> str:
        if column not in (FIRST, SECOND):
            return ""
        sample = row[column - FIRST]
        return "\n".join(part for part in (why_words(sample), sample.text[:800]) if part)

    def color(self, row: Pair, column: int) -> str:
        if column not in (FIRST, SECOND):
            return ""
        return "holds" if row[column - FIRST].ok else "impossible"


def _words(sample: Sample) -> str:
    """As short as can be: there is little room for two."""
    if sample.ok:
        return tr("✓ correct")
    reason = sample.failures[0].reason if sample.failures else "WRONG"
    return f"✕ {reason.removeprefix('WRONG_').replace('_', ' ').lower()}"
