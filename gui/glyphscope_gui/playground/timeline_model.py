"""A run as rows, its stages in order and below each the strategy's events, and their Qt table.

Each stage resumes reading where it last stopped, and a batch of events updates only the rows that it changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.base.figures import count, duration_ms
from glyphscope.base.shorten import excerpt
from glyphscope.events import AnyEvent, FinalAnswer, LimitReached, RunRequest, Status
from glyphscope.explain.segments import seconds_of
from glyphscope.runs import RunState
from glyphscope.runs.endings import answered_without_call
from glyphscope.runs.event_rows import EventRow, Mark, describe
from glyphscope.runs.stage_words import (
    count_words,
    mask_words,
    part_title,
    part_words,
    prompt_tokens,
    stage_title,
    stage_words,
)
from glyphscope.runs.state import Segment, StageState
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import TableModel

ROW_ROLE = Qt.ItemDataRole.UserRole
SPENT_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `TimeSpent` of a cell with a figure."""
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


MAX_ROWS = 400
"""Rows of one stage; a transform that acts a thousand times can be read in the record."""


@dataclass(slots=True)
class TimeSpent:
    """A figure and its limit, None if there is no limit or it is unknown."""

    used: float | None = None
    most: float | None = None

    @property
    def share(self) -> float | None:
        """The used share of the budget; 1.0 or more if it is used up."""
        if self.used is None or not self.most:
            return None
        return self.used / self.most


@dataclass(slots=True)
class TimelineRow:
    """A row of the timeline.

    `stage` is the place of its stage in the run. `events` are the events that it shows; the row of a stage itself, or
    of a `part` of its text, has none. `prompt` says how much of the stage's prompt was in the cache, `detail` is a less
    prominent text beside `words`.
    """

    stage: int
    title: str
    words: str = ""
    detail: str = ""
    mark: Mark = "note"
    events: tuple[AnyEvent, ...] = ()
    tokens: TimeSpent | None = None
    bytes: TimeSpent | None = None
    ms: TimeSpent | None = None
    prompt: str = ""
    tip: str = ""
    part: Segment | None = None

    @property
    def is_stage(self) -> bool:
        return not self.events and self.part is None


class StageRows:
    """The rows of one stage, beginning with the stage's own."""

    def __init__(self, index: int, request: RunRequest | None) -> None:
        self.place = index
        self._request = request
        self._looped = request is not None and request.strategy == "loop"
        self.rows = [TimelineRow(index, "")]
        self._seen = self._tokens_seen = 0
        """Numbers of the strategy's events, and of tokens, that were read."""
        self._bytes = self._forced = 0
        self._parts: list[TimelineRow] = []
        """The rows of the parts of the stage's text."""
        self._uncalled = False
        self._open: dict[str, TimelineRow] = {}
        """The rows of approvals, executions and questions that are not settled, by what they are of."""

    def update(
        self, stage: StageState, now: float, *, over: bool, failed: str = "", uncalled: bool = False
    ) -> int:
        """Read the new events; returns the previous number of rows, any of which may have changed.

        `failed` is why the run failed in this stage, or empty; `uncalled`: it ends in text although a tool could have
        been called.
        """
        self._uncalled = uncalled
        before = len(self.rows)
        first = stage.tokens[0].t if stage.tokens else math.inf
        notes = stage.outline[self._seen :]
        self._add_all(event for event in notes if event.t <= first)
        self._read_parts(stage)
        self._add_all(event for event in notes if event.t > first)
        self._seen = len(stage.outline)
        self._fill_stage(stage, now, over)
        if failed and stage.finished is None:
            self.rows[0].words, self.rows[0].mark = excerpt(failed), "impossible"
        return before

    # -- the stage itself --------------------------------------------------------------------------------------

    def _fill_stage(self, stage: StageState, now: float, over: bool) -> None:
        row = self.rows[0]
        for token in stage.tokens[self._tokens_seen :]:
            self._bytes += len(token.step.data)
            self._forced += token.step.forced
        self._tokens_seen = len(stage.tokens)
        row.title = stage_title(stage, tr)
        row.words, row.tip = stage_words(stage, over, tr), count_words(stage, self._forced, tr)
        row.mark = self._mark(stage, over)
        if stage.kind != "tool":
            self._fill_prompt(row, stage)
            most = self._request.max_tokens if self._request is not None else None
            row.tokens = TimeSpent(len(stage.tokens), most)
            args = self._request.loop.max_tool_args_bytes if self._request and self._looped else None
            row.bytes = TimeSpent(self._bytes, args if stage.call is not None or not over else None)
        done = stage.finished
        passed = max(now - stage.began - stage.waited, 0.0) * 1000
        ms = done.ms if done is not None and done.ms else passed
        row.ms = TimeSpent(
            ms, self._request.loop.max_seconds * 1000 if self._request and self._looped else None
        )

    def _fill_prompt(self, row: TimelineRow, stage: StageState) -> None:
        total, cached = prompt_tokens(stage)
        row.prompt = tr("{cached:,} of {total:,}", cached=cached, total=total) if total else ""
        row.detail = mask_words(stage, tr)

    def _mark(self, stage: StageState, over: bool) -> Mark:
        waiting = any(row.mark == "waits" for row in self.rows[1:])
        if waiting and not over:
            return "waits"
        if stage.finished is not None and stage.finished.reason == "cancelled":
            return "note"
        if stage.finished is not None:
            good: Mark = "note" if self._uncalled else "holds"
            return good if stage.finished.valid or stage.call is not None else "impossible"
        if stage.aborted is not None:
            return "impossible"
        if over:
            return "holds" if stage.call is not None else "note"
        return "running"

    def _read_parts(self, stage: StageState) -> None:
        """Make or update a row for each part of the text; the last parts may have grown."""
        known = len(self._parts)
        for segment in stage.segments[known:]:
            if len(self.rows) < MAX_ROWS:
                self._parts.append(TimelineRow(self.place, part_title(segment, tr), part=segment))
                self.rows.append(self._parts[-1])
        for row in self._parts[max(known - 1, 0) :]:
            self._fill_part(row, stage)

    def _fill_part(self, row: TimelineRow, stage: StageState) -> None:
        part = row.part
        assert part is not None, "these rows are of parts"
        tokens = stage.tokens_between(part.start, part.end)
        row.title = part_title(part, tr)  # text may turn out to be reasoning
        row.words = part_words(stage, part)
        row.tokens = TimeSpent(len(tokens), self._budget(part))
        row.bytes = TimeSpent(sum(len(stage.tokens[place].step.data) for place in tokens))
        row.ms = TimeSpent(seconds_of(stage, tokens) * 1000)
        if part.kind == "call":
            marks: dict[Status, Mark] = {"holds": "holds", "impossible": "impossible", "open": "running"}
            row.mark = marks[stage.call_at(part.call_index).status]
        else:
            row.mark = "note" if part.end is not None or stage.finished is not None else "running"

    def _budget(self, part: Segment) -> int | None:
        if part.kind != "reasoning" or self._request is None:
            return None
        return self._request.reasoning_budget

    # -- events of the strategy --------------------------------------------------------------------------------

    def _add_all(self, events: Iterable[AnyEvent]) -> None:
        for event in events:
            if len(self.rows) < MAX_ROWS:
                self._add(event)

    def _add(self, event: AnyEvent) -> None:
        described = describe(event, tr)
        whole = (
            isinstance(event, FinalAnswer) and self._request is not None and not self._request.answer.is_call
        )
        if described is None or whole:  # which is the row of the stage itself
            return
        row = self._open.pop(described.of, None)
        if row is None:
            words = described.words
            row = TimelineRow(self.place, described.title, words, mark=described.mark, events=(event,))
            self.rows.append(row)
        else:
            self._continue(row, described, event)
        if described.of and described.mark in ("waits", "running"):
            self._open[described.of] = row
        if self._uncalled and isinstance(event, FinalAnswer):
            row.mark = "note"
        if described.tokens is not None:
            row.tokens = TimeSpent(described.tokens)
        if described.bytes is not None:
            most = self._request.loop.max_tool_output_bytes if self._request and self._looped else None
            row.bytes = TimeSpent(described.bytes, most)
        if described.ms is not None:
            row.ms = TimeSpent(described.ms)

    def _continue(self, row: TimelineRow, described: EventRow, event: AnyEvent) -> None:
        """Put an event into the row of what it continues: an answer with the time that the run waited for it, and of
        several reports of progress only the newest.
        """
        if row.mark == "waits":
            waited = max(event.t - row.events[0].t, 0.0) * 1000
            row.ms, row.detail = TimeSpent(waited), tr("waited {time}", time=duration_ms(waited))
            row.tip = tr("Time spent waiting for you; limits do not include it.")
        row.words = f"{row.words} {described.words}" if described.adds else described.words
        row.mark = described.mark
        row.events = (*(each for each in row.events if type(each) is not type(event)), event)


class TimelineModel(TableModel[TimelineRow]):
    """Rows are only added and changed, until another run is shown."""

    titles = tuple(title for title, _ in COLUMNS)
    tips = tuple(tip for _, tip in COLUMNS)
    figures = frozenset({PROMPT, TOKENS, BYTES, TIME})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[TimelineRow] = []
        self._stages: list[StageRows] = []
        self._run = RunState()
        self._over = False

    def show_run(self, state: RunState, *, over: bool = False) -> None:
        """Read the new events of the last stage, and the new stages, or all of another run; `over`: no row is still in
        progress.
        """
        if state is not self._run:
            self._run, self._stages = state, []
            self.show_rows([])
        self._over = over
        first = max(len(self._stages) - 1, 0)
        request = state.started.request if state.started is not None else None
        for index in range(first, len(state.stages)):
            ends = state.stages[index + 1].began if index + 1 < len(state.stages) else state.now
            self._update(index, state, request, ends)

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

    def _update(self, index: int, state: RunState, request: RunRequest | None, now: float) -> None:
        if index == len(self._stages):
            self._stages.append(StageRows(index, request))
            self._insert(len(self._rows), self._stages[index].rows[:1])
        rows = self._stages[index]
        last = index + 1 == len(state.stages)
        failed = state.failed.message if last and state.failed is not None else ""
        uncalled = last and answered_without_call(state)
        over = self._over or not last
        before = rows.update(state.stages[index], now, over=over, failed=failed, uncalled=uncalled)
        first = sum(len(stage.rows) for stage in self._stages[:index])
        self._changed(first, first + before)
        self._insert(first + before, rows.rows[before:])


def _spent(row: TimelineRow, column: int) -> TimeSpent | None:
    return {TOKENS: row.tokens, BYTES: row.bytes, TIME: row.ms}.get(column)


def spent_words(used: float | None, column: int) -> str:
    """A figure of that column: `1 204`, `840 ms`, `12.4 s`."""
    if used is None:
        return ""
    if column == TIME:
        return duration_ms(used)
    return count(round(used))
