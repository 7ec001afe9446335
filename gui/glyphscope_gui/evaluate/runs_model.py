"""The samples behind a cell, a reason or an arm, as a Qt table. However many there are, rows come in portions."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject

from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import REASON_WORDS
from glyphscope.text.shorten import shorten
from glyphscope_gui.evaluate.words import verdict_words, why_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import NO_INDEX, Index, TableModel

SCENARIO, ARM, TRIAL, VERDICT, REASON, TOKENS, TEXT = range(7)
PORTION = 200
LONGEST = 200
"""Characters of a text in a row: what a line on any screen can show."""
TIP = 1200


class EvalRunsModel(TableModel[Sample]):
    """Reads the samples; keeps no copy of what they say. Views ask for the next portion when they need it."""

    titles = (tr("Scenario"), tr("Arm"), tr("Trial"), tr("Verdict"), tr("Reason"), tr("Tokens"), tr("Text"))
    figures = frozenset({TRIAL, TOKENS})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shown = 0
        self._same: frozenset[int] = frozenset()
        self._labels: dict[str, str] = {}

    def show(self, samples: Sequence[Sample], labels: dict[str, str]) -> None:
        self.beginResetModel()
        self._rows, self._labels = samples, labels
        self._shown = min(PORTION, len(samples))
        scenarios = {(sample.suite, sample.scenario) for sample in samples}
        arms = {sample.arm for sample in samples}
        self._same = frozenset(
            column for column, values in ((SCENARIO, scenarios), (ARM, arms)) if len(values) == 1
        )
        self.endResetModel()

    def all_same(self, column: int) -> bool:
        """Whether all runs have the same scenario, or the same arm."""
        return column in self._same

    @property
    def total(self) -> int:
        return len(self._rows)

    def sample(self, row: int) -> Sample:
        return self._rows[row]

    def row_of(self, sample: Sample) -> int:
        """The row of a sample, -1 where it is not among them; so many rows are fetched then."""
        for row, other in enumerate(self._rows):
            if other.id == sample.id:
                while row >= self._shown:
                    self.fetchMore()
                return row
        return -1

    # -- Qt ----------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else self._shown

    def canFetchMore(self, parent: Index = NO_INDEX) -> bool:
        return not parent.isValid() and self._shown < len(self._rows)

    def fetchMore(self, parent: Index = NO_INDEX) -> None:
        more = min(PORTION, len(self._rows) - self._shown)
        if more > 0 and not parent.isValid():
            self.beginInsertRows(NO_INDEX, self._shown, self._shown + more - 1)
            self._shown += more
            self.endInsertRows()

    # -- the cells ---------------------------------------------------------------------------------------------

    def words(self, row: Sample, column: int) -> str:
        return (
            row.scenario,
            self._labels.get(row.arm, row.arm),
            str(row.trial),
            verdict_words(row),
            why_words(row),
            f"{row.decoded:,}",
            " ".join(row.text[:LONGEST].split()),
        )[column]

    def spoken(self, row: Sample, column: int) -> str:
        return self.titled(row, column)

    def tip(self, row: Sample, column: int) -> str:
        if column == TEXT:
            return shorten(row.text, TIP)
        if column == REASON:
            lines = (f"{REASON_WORDS[each.reason]}. {each.detail}".strip()[:TIP] for each in row.failures)
            return "\n".join(lines)
        return ""

    def color(self, row: Sample, column: int) -> str:
        if column == VERDICT:
            return "holds" if row.ok else "impossible" if row.answered else "text-muted"
        return "text" if column in (SCENARIO, TEXT) else "text-muted"
