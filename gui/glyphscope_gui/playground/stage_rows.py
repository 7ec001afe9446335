"""A run as rows: its stages in order, and below each its parts and the strategy's events, with their costs.

Each stage resumes reading where it last stopped, and a batch of events updates only the rows that it changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from glyphscope.base.figures import count, duration_ms
from glyphscope.base.shorten import excerpt
from glyphscope.events import AnyEvent, FinalAnswer, LimitReached, RunRequest, RunStarted
from glyphscope.runs import RunState
from glyphscope.runs.endings import answered_without_call
from glyphscope.runs.event_rows import EventRow, Mark, describe
from glyphscope.runs.expected import has_other_call
from glyphscope.runs.stage_words import count_words, mask_words, prompt_tokens, stage_title, stage_words
from glyphscope.runs.state import StageState
from glyphscope_gui.shared.language import tr


class MarkLooks(NamedTuple):
    """The sign, the colour role and the words of a row's state."""

    sign: str
    role: str
    words: str


MARKS: dict[Mark, MarkLooks] = {
    "running": MarkLooks("◌", "open", tr("running")),
    "holds": MarkLooks("✓", "holds", tr("succeeded")),
    "differs": MarkLooks("≠", "differs", tr("not the expected call")),
    "impossible": MarkLooks("✕", "impossible", tr("failed")),
    "waits": MarkLooks("?", "mark", tr("waiting for you")),
    "note": MarkLooks("", "text", ""),
}
"""A sign for each state, as colour alone is not enough."""
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
class RunRow:
    """A row: a stage, a part of its text, or events of the strategy.

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

    @property
    def is_stage(self) -> bool:
        return not self.events


class StageRows:
    """The rows of one stage, beginning with the stage's own."""

    def __init__(self, index: int, request: RunRequest | None) -> None:
        self.place = index
        self._request = request
        self._looped = request is not None and request.strategy == "loop"
        self.rows = [RunRow(index, "")]
        self._seen = self._tokens_seen = 0
        """Numbers of the strategy's events, and of tokens, that were read."""
        self._bytes = self._forced = 0
        self._uncalled = False
        self._open: dict[str, RunRow] = {}
        """The rows of approvals, executions and questions that are not settled, by what they are of."""

    def update(
        self,
        state: RunState,
        stage: StageState,
        now: float,
        *,
        over: bool,
        failed: str = "",
        uncalled: bool = False,
    ) -> int:
        """Read the new events; returns the previous number of rows, any of which may have changed.

        `failed` is why the run failed in this stage, or empty; `uncalled`: it ends in text although a tool could have
        been called.
        """
        self._uncalled = uncalled
        before = len(self.rows)
        notes = stage.outline[self._seen :]
        self._add_all(notes)
        self._seen = len(stage.outline)
        self._fill_stage(state, stage, now, over)
        if failed and stage.finished is None:
            self.rows[0].words, self.rows[0].mark = excerpt(failed), "impossible"
        return before

    # -- the stage itself --------------------------------------------------------------------------------------

    def _fill_stage(self, state: RunState, stage: StageState, now: float, over: bool) -> None:
        row = self.rows[0]
        for token in stage.tokens[self._tokens_seen :]:
            self._bytes += len(token.step.data)
            self._forced += token.step.forced
        self._tokens_seen = len(stage.tokens)
        row.title = stage_title(stage, tr)
        row.words, row.tip = stage_words(stage, over, tr), count_words(stage, self._forced, tr)
        row.mark = self._mark(stage, over)
        if row.mark == "holds" and has_other_call(state, stage):
            row.mark = "differs"
        if stage.kind != "tool":
            self._fill_prompt(row, stage)
            most = self._request.max_tokens if self._request is not None else None
            row.tokens = TimeSpent(stage.counted_tokens, most)
            args = self._request.loop.max_tool_args_bytes if self._request and self._looped else None
            row.bytes = TimeSpent(self._bytes, args if stage.call is not None or not over else None)
        done = stage.finished
        passed = max(now - stage.began - stage.waited, 0.0) * 1000
        ms = done.ms if done is not None and done.ms else passed
        row.ms = TimeSpent(
            ms, self._request.loop.max_seconds * 1000 if self._request and self._looped else None
        )

    def _fill_prompt(self, row: RunRow, stage: StageState) -> None:
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
            row = RunRow(self.place, described.title, words, mark=described.mark, events=(event,))
            self.rows.append(row)
        else:
            self._continue(row, described, event)
        if described.of and described.mark in ("waits", "running"):
            self._open[described.of] = row
        if described.tokens is not None:
            row.tokens = TimeSpent(described.tokens)
        if described.bytes is not None:
            most = self._request.loop.max_tool_output_bytes if self._request and self._looped else None
            row.bytes = TimeSpent(described.bytes, most)
        if described.ms is not None:
            row.ms = TimeSpent(described.ms)

    def _continue(self, row: RunRow, described: EventRow, event: AnyEvent) -> None:
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


class RunRows:
    """The rows of a run by stage. Rows are only added and changed, until another run is read."""

    def __init__(self) -> None:
        self.stages: list[StageRows] = []
        self._run = RunState()
        self._started: RunStarted | None = None

    def read(self, state: RunState, *, over: bool = False) -> int:
        """Read the new events of the last stage, and the new stages, or all of another run; returns the index of the
        first stage that may have changed. `over`: no row is still in progress.
        """
        if state is not self._run or state.started is not self._started:
            self._run, self._started, self.stages = state, state.started, []
        first = max(len(self.stages) - 1, 0)
        request = state.started.request if state.started is not None else None
        for index in range(first, len(state.stages)):
            last = index + 1 == len(state.stages)
            if index == len(self.stages):
                self.stages.append(StageRows(index, request))
            self.stages[index].update(
                state,
                state.stages[index],
                state.now if last else state.stages[index + 1].began,
                over=over or not last,
                failed=state.failed.message if last and state.failed is not None else "",
                uncalled=last and answered_without_call(state),
            )
        return first

    @property
    def rows(self) -> list[RunRow]:
        return [row for stage in self.stages for row in stage.rows]

    @property
    def limits(self) -> dict[str, LimitReached]:
        """The last event of each limit that was reached, by the name of its setting."""
        return {e.limit: e for row in self.rows for e in row.events if isinstance(e, LimitReached)}


def cost_words(row: RunRow) -> str:
    """The cost of a row in one line: `38 tokens · 271 ms`, `60 bytes · 6 ms`."""
    parts = []
    if row.tokens is not None and row.tokens.used:
        parts.append(tr("%n token(s)", "", round(row.tokens.used)))
    elif row.bytes is not None and row.bytes.used:
        parts.append(tr("%n byte(s)", "", round(row.bytes.used)))
    if row.ms is not None and row.ms.used:
        parts.append(duration_ms(row.ms.used))
    return " · ".join(parts)


def spoken(row: RunRow) -> str:
    """The row for a screen reader."""
    return ", ".join(part for part in (row.title, MARKS[row.mark].words, row.words, cost_words(row)) if part)


def tip(row: RunRow) -> str:
    """All of a row, with the limits of its figures."""
    lines = [" · ".join(part for part in (row.words, row.detail) if part), row.tip]
    for spent, used_of in (
        (row.tokens, tr("Generated tokens: {used} of {most}")),
        (row.bytes, tr("Bytes of the arguments or the result: {used} of {most}")),
    ):
        if spent is not None and spent.used and spent.most:
            lines.append(used_of.format(used=count(round(spent.used)), most=count(round(spent.most))))
    if row.ms is not None and row.ms.used and row.ms.most:
        used, most = duration_ms(row.ms.used), duration_ms(row.ms.most)
        lines.append(tr("Time: {used} of {most}", used=used, most=most))
    return "\n".join(line for line in lines if line)
