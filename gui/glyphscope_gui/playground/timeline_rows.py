"""A run as rows: its stages in order, and below each the strategy's events. Built from the RunState; no Qt.

Each stage resumes reading where it last stopped, so an update costs only the new events.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from glyphscope.events import (
    AnyEvent,
    ApprovalGiven,
    ApprovalNeeded,
    CandidatesFound,
    Extracted,
    FinalAnswer,
    LimitReached,
    QuestionAnswered,
    QuestionAsked,
    RepairTried,
    Routed,
    RunRequest,
    Status,
    ToolProgressed,
    ToolResult,
    ToolStarted,
    TransformActed,
)
from glyphscope.explain.segments import seconds_of
from glyphscope.runs.run_state import Segment, StageState
from glyphscope.text.figures import duration_ms
from glyphscope.text.shorten import excerpt
from glyphscope_gui.playground.timeline_words import (
    allowed_words,
    answer_words,
    approval_words,
    candidate_words,
    count_words,
    extracted_words,
    limit_words,
    mask_words,
    part_title,
    part_words,
    progress_words,
    prompt_tokens,
    repair_words,
    result_words,
    routed_words,
    stage_title,
    stage_words,
)
from glyphscope_gui.shared.language import tr

Mark: TypeAlias = Literal["running", "holds", "impossible", "waits", "note"]
"""The state of a row: running, successful, failed, waiting for the user, or only a note."""

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
        self._waiting: TimelineRow | None = None
        """The row of a question without an answer."""
        self._uncalled = False
        self._calls: dict[str, TimelineRow] = {}
        """The row of a call's approval by the call's id, and the row of its result by `tool ID`."""

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
        row.title = stage_title(stage)
        row.words, row.tip = stage_words(stage, over), count_words(stage, self._forced)
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
        row.detail = mask_words(stage)

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
                self._parts.append(TimelineRow(self.place, part_title(segment), part=segment))
                self.rows.append(self._parts[-1])
        for row in self._parts[max(known - 1, 0) :]:
            self._fill_part(row, stage)

    def _fill_part(self, row: TimelineRow, stage: StageState) -> None:
        part = row.part
        assert part is not None, "these rows are of parts"
        tokens = stage.tokens_between(part.start, part.end)
        row.title = part_title(part)  # text may turn out to be reasoning
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
        match event:
            case ApprovalNeeded():
                words = tr("{tool}: waiting for approval", tool=event.tool)
                self._calls[event.call] = self._new(tr("Approval"), words, "waits", event)
            case ApprovalGiven():
                self._approved(event)
            case ToolStarted() | ToolProgressed() | ToolResult():
                self._tool(event)
            case QuestionAsked():
                self._waiting = self._new(tr("Question"), f"“{event.question}”", "waits", event)
            case QuestionAnswered():
                self._answered(event)
            case LimitReached():
                self._new(tr("Limit"), limit_words(event), "impossible", event)
            case RepairTried():
                mark: Mark = "holds" if event.now_code is None else "impossible"
                self._new(tr("Difference"), repair_words(event), mark, event)
                self.rows[-1].tokens = Spent(event.tokens)
            case Extracted():
                self._new(
                    tr("Extracted"), extracted_words(event), "holds" if event.valid else "impossible", event
                )
            case CandidatesFound():
                self._new(tr("Names"), candidate_words(event), "note", event)
            case Routed():
                self._new(tr("Routed"), routed_words(event), "note", event)
            case TransformActed():
                self._new(tr("Transform"), f"{event.name}: {event.what}", "note", event)
            case FinalAnswer():
                answered: Mark = "note" if self._uncalled else "holds"
                self._new(tr("Answer"), answer_words(event), answered, event)

    def _new(self, title: str, words: str, mark: Mark, event: AnyEvent) -> TimelineRow:
        self.rows.append(TimelineRow(self.place, title, words, mark=mark, events=(event,)))
        return self.rows[-1]

    def _approved(self, event: ApprovalGiven) -> None:
        mark: Mark = "holds" if event.action == "allow" else "impossible"
        row = self._calls.pop(event.call, None)
        if row is None:
            self._new(tr("Approval"), approval_words(event), mark, event)
        else:
            row.words, row.mark = approval_words(event), mark
            self._answer(row, event)

    def _answer(self, row: TimelineRow, event: ApprovalGiven | QuestionAnswered) -> None:
        """Put the user's answer into the row of the question, with the time that the run waited for it."""
        waited = max(event.t - row.events[0].t, 0.0) * 1000
        row.ms, row.detail = Spent(waited), tr("waited {time}", time=duration_ms(waited))
        row.events, row.tip = (
            (*row.events, event),
            tr("Time spent waiting for you; limits do not include it."),
        )

    def _tool(self, event: ToolStarted | ToolProgressed | ToolResult) -> None:
        key = f"tool {event.call}"
        row = self._calls.get(key)
        if row is None:
            row = self._calls[key] = self._new(tr("Result"), "", "running", event)
            if isinstance(event, ToolStarted):
                row.events, row.words = (event,), allowed_words(event)
        elif isinstance(event, ToolProgressed | ToolResult):  # only the newest progress counts
            row.events = (*(e for e in row.events if not isinstance(e, ToolProgressed)), event)
        else:
            row.events = (*row.events, event)
        if isinstance(event, ToolProgressed):
            row.words = progress_words(event)
        elif isinstance(event, ToolResult):
            row.words, row.mark = result_words(event), "holds" if event.ok else "impossible"
            most = self._request.loop.max_tool_output_bytes if self._request and self._looped else None
            row.bytes, row.ms = Spent(event.bytes, most), Spent(event.ms)

    def _answered(self, event: QuestionAnswered) -> None:
        row = self._waiting or self._new(tr("Question"), "", "waits", event)
        if row.events[-1] is not event:
            self._answer(row, event)
        self._waiting = None
        asked = f"{row.words} " if row.words else ""
        answer = tr("no answer") if event.answer is None else f"“{event.answer}”"
        row.words = f"{asked}→ {answer}"
        row.mark = "impossible" if event.answer is None else "holds"
