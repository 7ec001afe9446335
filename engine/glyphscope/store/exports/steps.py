"""The steps of a recorded run with their times and messages, for the logs of other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, TypeAlias

from glyphscope import events
from glyphscope.base.errors import RecordError
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import one_line
from glyphscope.prompting.history import HISTORY, MESSAGE
from glyphscope.runs import RunState, answer_messages, reduce_event
from glyphscope.runs.state import StageState
from glyphscope.store.exports.recorded_run import RecordedRun

_FIRST_YEAR, _LAST_YEAR = 2010, 2200
"""The years of runs: other programs count nanoseconds since 1970 in 64 bits."""

_ROLES = {
    "user": "user", "note": "user", "repair": "user",
    "said": "assistant", "attempt": "assistant", "asked": "assistant",
    "result": "tool", HISTORY: HISTORY, events.BEGUN: events.BEGUN, "template": "",
}  # fmt: skip
"""The role of a message by the name of its first part; all other parts belong to system messages."""


@dataclass
class StepGeneration:
    """One prompt and its answer. Times are seconds since the run's start; `first_token` is None without tokens.

    `messages` are the prompt; `begun` is the prefix of the answer that was part of it.
    """

    stage: StageState
    began: float
    ended: float
    messages: tuple[events.Message, ...]
    begun: str = ""
    first_token: float | None = None

    @property
    def reason(self) -> str:
        """How the text ended; empty if the record ends earlier."""
        return self.stage.finished.reason if self.stage.finished is not None else ""

    @property
    def answer(self) -> events.Message:
        """The answer as text and valid calls; a call that is a separate part of the answer is not in the text."""
        stage = self.stage
        calls = tuple(events.ToolCall(call.tool, call.arguments, call.call) for call in stage.calls)
        if not stage.segments:
            return events.Message("assistant", self.begun + stage.text, calls)
        ready = {call.call_index for call in stage.calls}
        texts: dict[bool, list[str]] = {False: [], True: []}
        for part in stage.segments:
            if part.kind != "call" or part.call_index not in ready:
                texts[part.kind == "reasoning"].append(stage.text[part.start : part.end].strip())
        return events.Message("assistant", "\n".join(texts[False]), calls, "\n".join(texts[True]))


@dataclass
class Execution:
    """The execution of a call, or the reason against it. Times as in `StepGeneration`; `waited` are seconds for
    approval.

    `result` is None if the record ends earlier.
    """

    call: str
    tool: str
    source: str
    arguments: dict[str, Any]
    began: float
    ended: float
    result: events.ToolResult | None = None
    waited: float = 0.0

    @property
    def message(self) -> events.Message:
        """The result as sent to the model."""
        sent = "" if self.result is None else self.result.sent or self.result.message
        return events.Message("tool", sent, tool_call_id=self.call, name=self.tool)


Step: TypeAlias = StepGeneration | Execution


@dataclass
class RunSteps:
    """The steps in the order of their beginnings; `ended` is the time of the last event, in seconds."""

    run: RecordedRun
    state: RunState
    began: datetime
    ended: float = 0.0
    steps: list[Step] = field(default_factory=list)

    def time(self, seconds: float) -> datetime:
        """The wall-clock time at that time of the run. Pauses of a stepped run are not included."""
        return self.began + timedelta(seconds=seconds)

    @property
    def generations(self) -> list[StepGeneration]:
        return [step for step in self.steps if isinstance(step, StepGeneration)]

    @property
    def executions(self) -> list[Execution]:
        return [step for step in self.steps if isinstance(step, Execution)]

    @property
    def messages(self) -> tuple[events.Message, ...]:
        """The conversation: the last prompt, its answer, and the results after it."""
        if not self.generations:
            request = self.run.request
            return (*request.history, events.Message("user", request.prompt))
        last = self.generations[-1]
        later = [each.message for each in self.executions if each.ended >= last.ended and each.result]
        return (*last.messages, last.answer, *later)


def run_steps(run: RecordedRun) -> RunSteps:
    """The steps of a run, even if its record ends in the middle. Raises RecordError for an invalid time."""
    found = RunSteps(run, RunState(), _start(run))
    executions: dict[str, Execution] = {}
    made: StepGeneration | None = None
    for event in run.events:
        stage = reduce_event(found.state, event).present
        found.ended = max(found.ended, event.t)
        if isinstance(event, events.PromptRendered) and (made is None or made.stage is not stage):
            messages, begun = _messages(event, found.state, run.request)
            made = StepGeneration(stage, stage.began, event.t, messages, begun)
            found.steps.append(made)
        elif isinstance(
            event, events.ApprovalNeeded | events.ApprovalGiven | events.ToolStarted | events.ToolResult
        ):
            if event.call not in executions:
                executions[event.call] = _execution(event, found.state)
                found.steps.append(executions[event.call])
            _reduce(executions[event.call], event)
        if made is None or made.stage is not stage:
            continue
        if isinstance(event, events.Token) and made.first_token is None:
            made.first_token = event.t
        if isinstance(event, events.StageFinished) or stage.finished is None:
            made.ended = event.t
    return found


def _start(run: RecordedRun) -> datetime:
    started = run.started
    time = wall_clock(started.time)
    if time is None:
        raise RecordError(
            f"The record has no valid time: '{shorten(one_line(started.time), 40)}'.",
            where=run.where,
            hint="It was changed, or not written by Glyphscope.",
        )
    return time - timedelta(seconds=started.t)


def wall_clock(text: str) -> datetime | None:
    """The time of a record or a result, in ISO 8601; None if it is invalid or no clock of a run showed it."""
    try:
        time = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return time if _FIRST_YEAR <= time.year <= _LAST_YEAR else None


def _execution(
    event: events.ApprovalNeeded | events.ApprovalGiven | events.ToolStarted | events.ToolResult,
    state: RunState,
) -> Execution:
    ready = [call for stage in state.stages for call in stage.calls if call.call == event.call]
    call = ready[-1] if ready else events.CallReady(tool=getattr(event, "tool", ""), arguments={}, text="")
    return Execution(event.call, call.tool, "", call.arguments, event.t, event.t)


def _reduce(
    made: Execution,
    event: events.ApprovalNeeded | events.ApprovalGiven | events.ToolStarted | events.ToolResult,
) -> None:
    match event:
        case events.ApprovalGiven():
            made.waited, made.arguments = event.t - made.began, event.arguments
            made.began = event.t
        case events.ToolStarted():
            made.began, made.source, made.arguments = event.t, event.source, event.arguments
        case events.ToolResult():
            made.result, made.source = event, event.source or made.source
    made.ended = event.t


def _messages(
    prompt: events.PromptRendered, state: RunState, request: events.RunRequest
) -> tuple[tuple[events.Message, ...], str]:
    """The messages of a prompt, from its parts, and the begun answer; a prompt without parts is one message."""
    if not prompt.parts:
        return (events.Message("user", prompt.text),), ""
    inside = request.strategy == "loop" and request.native in ("template", "openai")
    messages: list[events.Message] = []
    begun = ""
    notes: list[events.Message] = []
    shown: set[int] = set()
    for role, parts in _groups(prompt.parts):
        text = "".join(prompt.text[part.start : part.end] for part in parts)
        if role == events.BEGUN:
            begun = text
        elif role == HISTORY:
            number = _number(parts[0])
            if number not in shown and 0 < number <= len(request.history):
                shown.add(number)
                messages.append(request.history[number - 1])
        elif inside and role in ("assistant", "tool"):
            continue  # the calls of these turns are text of the template; they are taken from the run
        else:
            (notes if parts[0].name == "note" else messages).append(events.Message(role, text))
    said = answer_messages(state, request) if inside else ()
    return (*messages, *said, *notes), begun


def _groups(parts: tuple[events.PromptPart, ...]) -> Iterator[tuple[str, list[events.PromptPart]]]:
    """The parts of each message with its role. The chat template's text separates messages."""

    def role(part: events.PromptPart) -> str:
        return _ROLES.get(part.name, "system")

    for is_template, group in groupby(parts, lambda part: part.name == "template"):
        if is_template:
            continue
        found = list(group)
        first = role(found[0])
        if first == "system":  # a template may put the system message before the user's text
            for kind, some in groupby(found, role):
                yield kind, list(some)
        elif first == HISTORY:
            for _, some in groupby(found, _number):
                yield HISTORY, list(some)
        else:
            yield first, found


def _number(part: events.PromptPart) -> int:
    """The number, from 1, of the history's message to which the part belongs; 0 if unknown."""
    name = part.of.partition(",")[0].removeprefix(MESSAGE)
    return int(name) if name.isdecimal() else 0
