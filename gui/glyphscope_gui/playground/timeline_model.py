"""The rows of a run's timeline as a Qt table; a batch of events updates only the rows that it changed."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.events import LimitReached, RunRequest
from glyphscope.runs import RunState
from glyphscope.runs.endings import answered_without_call
from glyphscope.text.figures import count, duration_ms
from glyphscope_gui.playground.timeline_rows import Spent, StageRows, TimelineRow
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import TableModel

ROW_ROLE = Qt.ItemDataRole.UserRole
SPENT_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `Spent` of a cell with a figure."""
COLUMNS = (
    (tr("Stage"), tr("Stages and turns in order, each with its decisions and results")),
    (tr("Result"), tr("The result, or the current state")),
    (tr("Cached"), tr("Prompt tokens from the cache, of all prompt tokens")),
    (tr("Tokens"), tr("Generated tokens; the line is their share of the stage’s limit")),
    (tr("Bytes"), tr("Bytes of the arguments or the result; the line is their share of the limit")),
    (tr("Time"), tr("Duration; the line is its share of the run’s time limit")),
)
STAGE, WORDS, PROMPT, TOKENS, BYTES, TIME = range(6)
_MARKS = {
    "running": tr("running"),
    "holds": tr("succeeded"),
    "impossible": tr("failed"),
    "waits": tr("waiting for you"),
    "note": "",
}


class TimelineModel(TableModel[TimelineRow]):
    """`apply` takes a RunState that has grown. Rows are only added and changed, until `begin`."""

    titles = tuple(title for title, _ in COLUMNS)
    tips = tuple(tip for _, tip in COLUMNS)
    figures = frozenset({PROMPT, TOKENS, BYTES, TIME})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[TimelineRow] = []
        self._stages: list[StageRows] = []
        self._over = False

    def begin(self) -> None:
        self._stages, self._over = [], False
        self.show_rows([])

    def apply(self, state: RunState, now: float) -> None:
        """Read the new events of the last stage, and the new stages; `now` is in seconds since the run started."""
        first = max(len(self._stages) - 1, 0)
        request = state.started.request if state.started is not None else None
        for place in range(first, len(state.stages)):
            ends = state.stages[place + 1].began if place + 1 < len(state.stages) else now
            self._update(place, state, request, ends)

    def finish(self, state: RunState, now: float) -> None:
        """Mark all rows as no longer in progress, as the run has ended."""
        self._over = True
        self.apply(state, now)

    def row_of_stage(self, stage: int) -> int:
        """The row of a stage itself; -1 if there is none."""
        return next((n for n, row in enumerate(self._rows) if row.stage == stage and row.is_stage), -1)

    @property
    def limits(self) -> dict[str, LimitReached]:
        """The last event of each limit that was reached, by the name of its setting."""
        return {e.limit: e for row in self._rows for e in row.events if isinstance(e, LimitReached)}

    # -- the table ---------------------------------------------------------------------------------------------

    def color(self, row: TimelineRow, column: int) -> str:
        return "text" if row.is_stage else "text-muted"

    def spoken(self, row: TimelineRow, column: int) -> str:
        if column == STAGE:
            return ", ".join(part for part in (row.title, _MARKS[row.mark], row.words) if part)
        return f"{COLUMNS[column][0]}: {self.tip(row, column)}"

    def extra(self, row: TimelineRow, column: int, role: int) -> Any:
        if role == ROW_ROLE:
            return row
        return _spent(row, column) if role == SPENT_ROLE else None

    def words(self, row: TimelineRow, column: int) -> str:
        if column == STAGE:
            return row.title
        if column == WORDS:
            return " · ".join(part for part in (row.words, row.detail) if part)
        if column == PROMPT:
            return row.prompt
        spent = _spent(row, column)
        return spent_words(spent.used, column) if spent is not None else ""

    def tip(self, row: TimelineRow, column: int) -> str:
        if column in (STAGE, WORDS):
            return "\n".join(part for part in (row.words, row.tip) if part)
        if column == PROMPT:
            return row.tip
        spent = _spent(row, column)
        if spent is None or spent.used is None:
            return ""
        amount = spent_words(spent.used, column)
        if row.tip and row.events:
            return f"{amount}\n{row.tip}"
        if spent.most:
            amount = tr("{used} of {most}", used=amount, most=spent_words(spent.most, column))
        return tr("{amount} bytes", amount=amount) if column == BYTES else amount

    def _update(self, place: int, state: RunState, request: RunRequest | None, now: float) -> None:
        if place == len(self._stages):
            self._stages.append(StageRows(place, request))
            self._insert(len(self._rows), self._stages[place].rows[:1])
        rows = self._stages[place]
        last = place + 1 == len(state.stages)
        failed = state.failed.message if last and state.failed is not None else ""
        uncalled = last and answered_without_call(state)
        over = self._over or not last
        before = rows.update(state.stages[place], now, over=over, failed=failed, uncalled=uncalled)
        first = sum(len(stage.rows) for stage in self._stages[:place])
        self._changed(first, first + before)
        self._insert(first + before, rows.rows[before:])


def _spent(row: TimelineRow, column: int) -> Spent | None:
    return {TOKENS: row.tokens, BYTES: row.bytes, TIME: row.ms}.get(column)


def spent_words(used: float | None, column: int) -> str:
    """A figure of that column: `1 204`, `840 ms`, `12.4 s`."""
    if used is None:
        return ""
    if column == TIME:
        return duration_ms(used)
    return count(round(used))
