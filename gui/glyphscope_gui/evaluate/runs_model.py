"""The samples behind a cell, a reason or an arm, as a Qt table. However many there are, rows come in portions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import REASON_WORDS
from glyphscope.text.shorten import shorten
from glyphscope_gui.evaluate.words import verdict_words, why_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import NO_INDEX, Index, TableModel
from glyphscope_gui.theme import theme

SCENARIO, ARM, TRIAL, VERDICT, REASON, TOKENS, TEXT = range(7)
PORTION = 200
LONGEST = 200
"""Characters of a text in a row: what a line on any screen can show."""
TIP = 1200


class EvalRunsModel(TableModel):
    """Reads the samples; keeps no copy of what they say. Views ask for the next portion when they need it."""

    titles = (tr("Scenario"), tr("Arm"), tr("Trial"), tr("Verdict"), tr("Reason"), tr("Tokens"), tr("Text"))
    figures = frozenset({TRIAL, TOKENS})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[Sample] = ()
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

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        sample, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(sample, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ForegroundRole:
            if column == VERDICT:
                return theme().color(
                    "holds" if sample.ok else "impossible" if sample.answered else "text-muted"
                )
            return theme().color("text" if column in (SCENARIO, TEXT) else "text-muted")
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(sample, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.titles[column]}: {self._words(sample, column)}"
        return None

    def _words(self, sample: Sample, column: int) -> str:
        match column:
            case 0:
                return sample.scenario
            case 1:
                return self._labels.get(sample.arm, sample.arm)
            case 2:
                return str(sample.trial)
            case 3:
                return verdict_words(sample)
            case 4:
                return why_words(sample)
            case 5:
                return f"{sample.decoded:,}"
            case _:
                return " ".join(sample.text[:LONGEST].split())

    def _tip(self, sample: Sample, column: int) -> str | None:
        if column == TEXT:
            return plain_tip(shorten(sample.text, TIP)) or None
        if column == REASON and sample.failures:
            lines = [f"{REASON_WORDS[each.reason]}. {each.detail}".strip()[:TIP] for each in sample.failures]
            return plain_tip("\n".join(lines))
        return None
