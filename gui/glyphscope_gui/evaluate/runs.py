"""The runs behind a cell, a reason or an arm: Enter or a double click opens one in the playground, at the place where
it went wrong. Rows are added in portions, as there may be many.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import REASON_WORDS
from glyphscope.text.shorten import shorten
from glyphscope_gui.evaluate.result import Samples
from glyphscope_gui.evaluate.words import WIDEST_ARM, WIDEST_REASON, verdict_words, why_words
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import NO_INDEX, Index, TableModel

SCENARIO, ARM, TRIAL, VERDICT, REASON, TOKENS, TEXT = range(7)
PORTION = 200
"""Number of rows that a view gets at a time."""
MAX_LENGTH = 200
"""Characters of a text in a row: more than any screen shows in a line."""
TIP = 1200
"""The maximum number of characters of a text in a hint."""


class EvalRunsModel(TableModel[Sample]):
    """Reads the samples without copying them. Views request the next portion when they need it."""

    speaks_titles = True
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
        cells = samples.cells if isinstance(samples, Samples) else samples
        scenarios = {(cell.suite, cell.scenario) for cell in cells}
        arms = {cell.arm for cell in cells}
        self._same = frozenset(
            column for column, values in ((SCENARIO, scenarios), (ARM, arms)) if len(values) == 1
        )
        self.endResetModel()

    def all_same(self, column: int) -> bool:
        """Whether all runs have the same scenario, or the same arm."""
        return column in self._same

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
            " ".join(row.text[:MAX_LENGTH].split()),
        )[column]

    def tip(self, row: Sample, column: int) -> str:
        if column == TEXT:
            return shorten(row.text, TIP)
        if column == SCENARIO:
            return row.scenario
        if column == REASON:
            lines = (f"{REASON_WORDS[each.reason]}. {each.detail}".strip()[:TIP] for each in row.failures)
            return "\n".join(lines)
        return ""

    def color(self, row: Sample, column: int) -> str:
        if column == VERDICT:
            return "holds" if row.ok else "impossible" if row.answered else "text-muted"
        return "text" if column in (SCENARIO, TEXT) else "text-muted"


MIN_TEXT = 20
"""Characters of the text that stay visible if others can be hidden or shortened."""
GIVES_WAY = ((), (TOKENS,), (TOKENS, ARM), (TOKENS, ARM, TRIAL))
"""The sets of columns to hide, as the room shrinks."""
SAME = (SCENARIO, ARM)
"""Columns that are hidden if all runs have the same value, which the heading then shows."""


class EvalRuns(PlainTable):
    """`openRequested` carries the Sample whose run is requested."""

    openRequested = Signal(object)

    def __init__(self, model: EvalRunsModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=TEXT, parent=parent)
        self._runs = model
        keys = tr("Enter opens a run in the playground, at the token where it failed.")
        named(self, "evalRuns", tr("Runs"), description=keys)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        for column, widest in (
            (SCENARIO, "missing_workspace_id"), (ARM, WIDEST_ARM), (TRIAL, "10"),
            (VERDICT, tr("– no answer")), (REASON, WIDEST_REASON), (TOKENS, "1,024"),
        ):  # fmt: skip
            self.fit_column(column, widest)
        self.horizontalHeader().setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Stretch)
        self.on_open(lambda index: self.openRequested.emit(model.row(index.row())))
        model.modelReset.connect(self._divide)

    def choose(self, row: int) -> None:
        self.setCurrentIndex(self._runs.index(row, 0))

    def _fit(self) -> None:
        same = {column for column in SAME if self._runs.all_same(column)}
        room = self.viewport().width() - MIN_TEXT * self.fontMetrics().averageCharWidth()
        widths = {column: self.fitted_width(column) for column in range(TEXT)}
        need = sum(width for column, width in widths.items() if column not in same)
        hidden = next(
            (h for h in GIVES_WAY if need - sum(widths[c] for c in h if c not in same) <= room),
            GIVES_WAY[-1],
        )
        for column in range(TEXT):
            self.setColumnHidden(column, column in hidden or column in same)
        over = need - sum(widths[c] for c in hidden if c not in same) - room
        for column in (REASON, SCENARIO):  # the hint on a run has the whole words
            if not self.isColumnHidden(column):
                self.setColumnWidth(column, max(widths[column] - max(over, 0), 1))
                over -= widths[column] - self.columnWidth(column)
