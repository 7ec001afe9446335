"""An `Interaction` from a record: sources, decisions and answers come from a run's events. Nothing is executed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Any, Unpack

from glyphscope.events import (
    AnyEvent,
    ApprovalGiven,
    ApprovalNeeded,
    LimitReached,
    PromptRendered,
    QuestionAnswered,
    RunFinished,
    RunStarted,
    StageStarted,
    ToolContent,
    ToolResult,
    ToolsDeferred,
    ToolsSearched,
    ToolStarted,
)
from glyphscope.registry import Tool
from glyphscope.runs.interaction import DENIED, Decision
from glyphscope.tools import CallOptions, Outcome, ToolSource
from glyphscope.tools.approval import decide


class RecordedSource:
    """A source that repeats the recorded answers in order."""

    def __init__(
        self,
        interaction: RecordedInteraction,
        name: str,
        identity: str,
        claims: dict[str, dict[str, Any]],
        tools: Iterable[str],
    ) -> None:
        self._interaction = interaction
        self._claims = claims
        self._tools = tuple(map(Tool, tools))
        self.name = name
        self.identity = identity

    def tools(self) -> tuple[Tool, ...]:
        """Those whose calls were allowed or denied, without their schemas: the request has the registry."""
        return self._tools

    def claims(self, tool: str) -> dict[str, Any]:
        return self._claims.get(tool, {})

    def call(self, tool: str, arguments: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        return self._interaction.next_outcome()

    def close(self) -> None:
        """There is nothing to close."""


class RecordedInteraction:
    """The outcomes, answers and approvals recorded in a run's events; missing ones count as denied or unanswered."""

    def __init__(self, events: Iterable[AnyEvent]) -> None:
        events = tuple(events)
        self.cancelled = threading.Event()
        self._given = {event.call: event for event in events if isinstance(event, ApprovalGiven)}
        self._results = {event.call: event for event in events if isinstance(event, ToolResult)}
        self._started = [event.call for event in events if isinstance(event, ToolStarted)]
        self._waiting = deque(self._started)  # executed calls whose outcomes have not been requested yet
        answers = [event.answer for event in events if isinstance(event, QuestionAnswered)]
        beforehand = sum(
            len(event.request.router.answers) for event in events if isinstance(event, RunStarted)
        )
        self._answers = deque(answers[beforehand:])  # the request answers the first ones itself
        self.deferred = next((event for event in events if isinstance(event, ToolsDeferred)), None)
        self._searches = deque(event for event in events if isinstance(event, ToolsSearched))
        self._limit_seconds = _limit_seconds(events)
        self._stopped_after = _stopped_after(events)
        self._sources = self._recorded_sources(events)

    def source(self, name: str) -> ToolSource | None:
        return self._sources.get(name)

    def decide(self, needed: ApprovalNeeded) -> Decision:
        given, result = self._given.get(needed.call), self._results.get(needed.call)
        if result is not None and result.fault == "cancelled" and needed.call not in self._started:
            self.cancelled.set()
        if given is None or given.by == "rule":
            return DENIED
        return Decision(
            action=given.action,
            arguments=given.arguments if given.edited else None,
            scope=given.scope,
            by=given.by,
            reason=given.reason,
        )

    def answer(self, question: str) -> str | None:
        return self._answers.popleft() if self._answers else None

    def elapsed(self, turns: int) -> float:
        """The seconds after this many turns if the time limit was reached there; otherwise 0."""
        return self._limit_seconds.get(turns, 0.0)

    def next_search(self) -> ToolsSearched | None:
        """The next search for deferred tools, which says what was loaded: that depends on the model's tokens."""
        return self._searches.popleft() if self._searches else None

    def next_outcome(self) -> Outcome:
        """The outcome of the next executed call."""
        call = self._waiting.popleft() if self._waiting else ""
        result = self._results.get(call)
        if call == self._stopped_after:
            self.cancelled.set()
        if result is None:
            return Outcome(fault="unknown", message="The record has no outcome.")
        if result.fault == "guard":  # the answer was too large and is not in the record: its size is enough
            return Outcome(content=(ToolContent(kind="resource", size=result.bytes),))
        return Outcome(
            content=result.content,
            structured=result.structured,
            fault=result.fault if result.fault != "denied" else "",
            message=result.message,
            schema_problems=result.schema_problems,
        )

    def _recorded_sources(self, events: tuple[AnyEvent, ...]) -> dict[str, RecordedSource]:
        """The connected sources: the sources of all calls that were allowed or denied."""
        needed = [event for event in events if isinstance(event, ApprovalNeeded)]
        of_calls: list[ToolResult | ToolStarted | ApprovalNeeded] = [*needed]
        of_calls += [result for result in self._results.values() if result.call in self._given]
        of_calls += [event for event in events if isinstance(event, ToolStarted)]
        tools: dict[str, dict[str, None]] = {}
        for event in of_calls:
            tools.setdefault(event.source, {})[event.tool] = None
        return {
            name: RecordedSource(
                self,
                name,
                self._identity(name, events),
                {event.tool: event.claims for event in needed if event.source == name},
                offered,
            )
            for name, offered in tools.items()
        }

    def _identity(self, source: str, events: tuple[AnyEvent, ...]) -> str:
        """The source's identity, from a recorded question; otherwise one under which the rules decide as recorded."""
        asked = [e.identity for e in events if isinstance(e, ApprovalNeeded) and e.source == source]
        rules = [rule for e in events if isinstance(e, RunStarted) for rule in e.request.approvals]
        event_of = {event.call: event for event in events if isinstance(event, ToolStarted | ToolResult)}
        decided = [
            (one.tool, given.action)
            for call, given in self._given.items()
            if given.by == "rule" and (one := event_of.get(call)) and one.source == source
        ]
        for identity in (*asked, *(rule.identity for rule in rules), ""):
            if all(decide(rules, tool, source, identity) == action for tool, action in decided):
                return identity
        return ""


def _limit_seconds(events: tuple[AnyEvent, ...]) -> dict[int, float]:
    """The seconds at which the time limit was reached, by the number of turns until then."""
    turns, seconds = 0, {}
    for event in events:
        if isinstance(event, StageStarted) and event.kind in ("turn", "final"):
            turns += 1
        elif isinstance(event, LimitReached) and event.limit == "max_seconds":
            seconds[turns] = event.used
    return seconds


def _stopped_after(events: tuple[AnyEvent, ...]) -> str:
    """The call after which the run was stopped, before the next prompt; empty for none."""
    stopped = any(isinstance(event, RunFinished) and event.reason == "cancelled" for event in events)
    last = ""
    for event in events:
        if isinstance(event, ToolResult):
            last = event.call
        elif isinstance(event, PromptRendered):
            last = ""
    return last if stopped else ""
