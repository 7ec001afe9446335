"""What a run has come to, folded from its events: for everyone who shows a run, live or from a record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from glyphscope.events import (
    Aborted,
    AnyEvent,
    CallReady,
    FieldChanged,
    FieldClosed,
    FieldOpened,
    PromptEvaluated,
    PromptRendered,
    RunFailed,
    RunFinished,
    RunStarted,
    StageStarted,
    Status,
    Token,
    ToolKnown,
    Violation,
)

CONTINUATION = "continuation"
"""The stage that goes on where an aborted run stopped: its characters and tokens count on, not from 0."""

Outcome: TypeAlias = Literal["running", "valid", "invalid", "aborted", "cancelled", "failed"]


@dataclass(slots=True)
class FieldState:
    """A field as it stands: the characters `start` to `end` (exclusive), and the verdict on them.

    `start` is None where the events begin in the middle of the field. `value` is meant only once it is `closed`.
    """

    path: str
    start: int | None
    end: int
    status: Status = "open"
    closed: bool = False
    value: Any = None


@dataclass(slots=True)
class RunState:
    """The run after the events so far. Grown in place by `fold`: nobody else writes to it.

    `tokens`, `fields` and `violations` are those of the present stage; fields are in the order they were opened.
    """

    started: RunStarted | None = None
    stage: str = ""
    prompt: PromptRendered | None = None
    evaluated: PromptEvaluated | None = None
    tokens: list[Token] = field(default_factory=list)
    fields: dict[str, FieldState] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    tool: ToolKnown | None = None
    aborted: Aborted | None = None
    call: CallReady | None = None
    finished: RunFinished | None = None
    failed: RunFailed | None = None
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The stage's generated text."""
        if len(self._pieces) > 1:
            self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def forced(self) -> int:
        """The tokens that the constraint left no choice about."""
        return sum(token.step.forced for token in self.tokens)

    @property
    def outcome(self) -> Outcome:
        """How the run ended; `invalid` where it came to its end, and no valid call with it."""
        if self.failed is not None:
            return "failed"
        if self.finished is None:
            return "running"
        if self.finished.reason in ("aborted", "cancelled"):
            return "aborted" if self.finished.reason == "aborted" else "cancelled"
        return "valid" if self.finished.valid else "invalid"


def fold(state: RunState, event: AnyEvent) -> RunState:
    """The state after `event`: the same object, grown. Costs the same for the first event and the millionth."""
    match event:
        case Token():
            state.tokens.append(event)
            state._pieces.append(event.step.text)
        case FieldChanged(path=path, end=end, status=status):
            known = state.fields.setdefault(path, FieldState(path, None, end))
            known.end, known.status = end, status
        case FieldOpened(path=path, start=start):
            state.fields[path] = FieldState(path, start, start)
        case FieldClosed(path=path, start=start, end=end, status=status, value=value):
            state.fields[path] = FieldState(path, start, end, status, True, value)
        case ToolKnown():
            state.tool = event
        case Violation():
            state.violations.append(event)
        case PromptEvaluated():
            state.evaluated = event
        case _:
            _fold_outline(state, event)
    return state


def _fold_outline(state: RunState, event: AnyEvent) -> None:
    """The events that come once a stage or once a run."""
    match event:
        case RunStarted():
            state.started = event
            state.aborted = state.finished = state.failed = None
        case StageStarted(stage=stage):
            state.stage = stage
            if stage != CONTINUATION:
                state.tokens, state._pieces, state.fields, state.violations = [], [], {}, []
                state.tool = None
        case PromptRendered():
            state.prompt = event
        case Aborted():
            state.aborted = event
        case CallReady():
            state.call = event
        case RunFinished():
            state.finished = event
        case RunFailed():
            state.failed = event


def fold_events(events: Iterable[AnyEvent], state: RunState | None = None) -> RunState:
    """The state after all of `events`, from the beginning or from `state` on."""
    state = RunState() if state is None else state
    for event in events:
        fold(state, event)
    return state


def events_to_text(events: Iterable[AnyEvent]) -> str:
    """The text that the tokens of the events spell."""
    return "".join(event.step.text for event in events if isinstance(event, Token))
