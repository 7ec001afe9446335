"""A run as rows: its stages in order, and below each the strategy's events. Built from the RunState; no Qt.

Each stage resumes reading where it last stopped, so an update costs only the new events.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from glyphscope.events import AnyEvent, FinalAnswer, RunRequest, Status
from glyphscope.explain.segments import seconds_of
from glyphscope.runs.event_rows import EventRow, Mark, describe
from glyphscope.runs.run_state import Segment, StageState
from glyphscope.runs.stage_words import (
    count_words,
    mask_words,
    part_title,
    part_words,
    prompt_tokens,
    stage_title,
    stage_words,
)
from glyphscope.text.figures import duration_ms
from glyphscope.text.shorten import excerpt
from glyphscope_gui.shared.language import tr

MAX_ROWS = 400
"""Rows of one stage; a transform that acts a thousand times can be read in the record."""


@dataclass(slots=True)
class Spent:
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
    tokens: Spent | None = None
    bytes: Spent | None = None
    ms: Spent | None = None
    prompt: str = ""
    tip: str = ""
    part: Segment | None = None

    @property
    def is_stage(self) -> bool:
        return not self.events and self.part is None


class StageRows:
    """The rows of one stage, beginning with the stage's own."""

    def __init__(self, place: int, request: RunRequest | None) -> None:
        self.place = place
        self._request = request
        self._looped = request is not None and request.strategy == "loop"
        self.rows = [TimelineRow(place, "")]
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
            row.tokens = Spent(len(stage.tokens), most)
            args = self._request.loop.max_tool_args_bytes if self._request and self._looped else None
            row.bytes = Spent(self._bytes, args if stage.call is not None or not over else None)
        done = stage.finished
        passed = max(now - stage.began - stage.waited, 0.0) * 1000
        ms = done.ms if done is not None and done.ms else passed
        row.ms = Spent(ms, self._request.loop.max_seconds * 1000 if self._request and self._looped else None)

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
        row.tokens = Spent(len(tokens), self._budget(part))
        row.bytes = Spent(sum(len(stage.tokens[place].step.data) for place in tokens))
        row.ms = Spent(seconds_of(stage, tokens) * 1000)
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
        if described is None:
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
            row.tokens = Spent(described.tokens)
        if described.bytes is not None:
            most = self._request.loop.max_tool_output_bytes if self._request and self._looped else None
            row.bytes = Spent(described.bytes, most)
        if described.ms is not None:
            row.ms = Spent(described.ms)

    def _continue(self, row: TimelineRow, described: EventRow, event: AnyEvent) -> None:
        """Put an event into the row of what it continues: an answer with the time that the run waited for it, and of
        several reports of progress only the newest.
        """
        if row.mark == "waits":
            waited = max(event.t - row.events[0].t, 0.0) * 1000
            row.ms, row.detail = Spent(waited), tr("waited {time}", time=duration_ms(waited))
            row.tip = tr("Time spent waiting for you; limits do not include it.")
        row.words = f"{row.words} {described.words}" if described.adds else described.words
        row.mark = described.mark
        row.events = (*(each for each in row.events if type(each) is not type(event)), event)
