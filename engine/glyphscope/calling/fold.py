"""What a run has come to, folded from its events: for everyone who shows a run, live or from a record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from glyphscope.calling.prepared import PreparedRequest, prepare
from glyphscope.errors import RegistryError
from glyphscope.events import (
    Aborted,
    AnyEvent,
    CallReady,
    ConstraintReady,
    FieldChanged,
    FieldClosed,
    FieldOpened,
    FinalAnswer,
    PromptEvaluated,
    PromptRendered,
    RunFailed,
    RunFinished,
    RunStarted,
    StageFinished,
    StageKind,
    StageStarted,
    Status,
    Token,
    ToolKnown,
    Violation,
)
from glyphscope.registry import ToolRegistry

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
class StageState:
    """One stage after the events so far; fields are in the order they were opened.

    `forced` counts the tokens that the constraint left no choice about; `mask_ms` is what the mask took for the others.
    `calls` are all of its text, of which `call` is the last. `outline` is what the strategy told in this stage that is
    no text's: routing, repairs, approvals, results, limits.
    """

    name: str = ""
    title: str = ""
    kind: StageKind = "call"
    turn: int = 0
    began: float = 0.0
    prompt: PromptRendered | None = None
    evaluated: PromptEvaluated | None = None
    constraint: ConstraintReady | None = None
    tokens: list[Token] = field(default_factory=list)
    forced: int = 0
    mask_ms: float = 0.0
    fields: dict[str, FieldState] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    tool: ToolKnown | None = None
    aborted: Aborted | None = None
    call: CallReady | None = None
    calls: list[CallReady] = field(default_factory=list)
    finished: StageFinished | None = None
    outline: list[AnyEvent] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The stage's generated text."""
        if len(self._pieces) > 1:
            self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


@dataclass(slots=True)
class RunState:
    """The run after the events so far. Grown in place by `fold`: nobody else writes to it.

    `stages` are in the order they began. What is asked of the run and is a stage's (`tokens`, `fields`, `text` …) is
    the present stage's. `prepared` is the run's request, for who has it: its registry is then not parsed again.
    """

    prepared: PreparedRequest | None = field(default=None, kw_only=True, compare=False, repr=False)

    started: RunStarted | None = None
    stages: list[StageState] = field(default_factory=lambda: [StageState()])
    call: CallReady | None = None
    answer: FinalAnswer | None = None
    finished: RunFinished | None = None
    failed: RunFailed | None = None
    _invalid: bool = field(default=False, init=False, compare=False, repr=False)

    @property
    def whole_registry(self) -> ToolRegistry | None:
        """The run's tools as its prompt describes them; None before the run has started, and where they are invalid."""
        if self.prepared is None and self.started is not None and not self._invalid:
            try:
                self.prepared = prepare(self.started.request)
            except RegistryError:
                self._invalid = True
        return None if self.prepared is None else self.prepared.registry

    @property
    def registry(self) -> ToolRegistry | None:
        """What constrains and validates the run's calls: its tools without what is relaxed; None as above."""
        if self.whole_registry is None or self.prepared is None:
            return None
        try:
            return self.prepared.enforced
        except RegistryError:
            return None

    @property
    def present(self) -> StageState:
        """The stage that goes on, or the last one. There always is one, if only an empty one."""
        return self.stages[-1]

    @property
    def stage(self) -> str:
        return self.present.name

    @property
    def prompt(self) -> PromptRendered | None:
        return self.present.prompt

    @property
    def evaluated(self) -> PromptEvaluated | None:
        return self.present.evaluated

    @property
    def tokens(self) -> list[Token]:
        return self.present.tokens

    @property
    def fields(self) -> dict[str, FieldState]:
        return self.present.fields

    @property
    def violations(self) -> list[Violation]:
        return self.present.violations

    @property
    def tool(self) -> ToolKnown | None:
        return self.present.tool

    @property
    def aborted(self) -> Aborted | None:
        return self.present.aborted

    @property
    def text(self) -> str:
        return self.present.text

    @property
    def forced(self) -> int:
        return self.present.forced

    @property
    def outcome(self) -> Outcome:
        """How the run ended; `invalid` where it came to its end, and not to what it was to come to."""
        if self.failed is not None:
            return "failed"
        if self.finished is None:
            return "running"
        if self.finished.reason in ("aborted", "cancelled"):
            return "aborted" if self.finished.reason == "aborted" else "cancelled"
        return "valid" if self.finished.valid else "invalid"


def fold(state: RunState, event: AnyEvent) -> RunState:
    """The state after `event`: the same object, grown. Costs the same for the first event and the millionth."""
    stage = state.stages[-1]
    match event:
        case Token():
            stage.tokens.append(event)
            stage._pieces.append(event.step.text)
            stage.forced += event.step.forced
            stage.mask_ms += 0.0 if event.step.forced else event.step.mask_ms
        case FieldChanged(path=path, end=end, status=status):
            known = stage.fields.setdefault(path, FieldState(path, None, end))
            known.end, known.status = end, status
        case FieldOpened(path=path, start=start):
            stage.fields[path] = FieldState(path, start, start)
        case FieldClosed(path=path, start=start, end=end, status=status, value=value):
            stage.fields[path] = FieldState(path, start, end, status, True, value)
        case ToolKnown():
            stage.tool = event
        case Violation():
            stage.violations.append(event)
        case PromptEvaluated():
            stage.evaluated = event
        case StageStarted():
            _begin(state, event)
        case RunStarted() | FinalAnswer() | RunFinished() | RunFailed():
            _fold_run(state, event)
        case _:
            _fold_stage(state, stage, event)
    return state


def _begin(state: RunState, event: StageStarted) -> None:
    """A stage of its own, but for the continuation, which goes on in the stage that was aborted."""
    stage = state.stages[-1]
    if event.stage != CONTINUATION:
        if stage.name or stage.tokens:
            stage = StageState()
            state.stages.append(stage)
        stage.title, stage.kind, stage.turn, stage.began = event.title, event.kind, event.turn, event.t
    stage.name = event.stage


def _fold_run(state: RunState, event: RunStarted | FinalAnswer | RunFinished | RunFailed) -> None:
    match event:
        case RunStarted():
            state.started = event
            if state.prepared is not None:  # as the run settled it
                state.prepared = replace(state.prepared, request=event.request)
            state.stages[-1].aborted = state.finished = state.failed = None
        case FinalAnswer():
            state.answer = event
            state.stages[-1].outline.append(event)
        case RunFinished():
            state.finished = event
        case RunFailed():
            state.failed = event


def _fold_stage(state: RunState, stage: StageState, event: AnyEvent) -> None:
    """The events that come once a stage, and those of its outline."""
    match event:
        case PromptRendered():
            stage.prompt = event
        case ConstraintReady():
            stage.constraint = event
        case Aborted():
            stage.aborted = event
        case CallReady():
            stage.call = state.call = event
            stage.calls.append(event)
        case StageFinished():
            stage.finished = event
        case _:
            stage.outline.append(event)


def fold_events(events: Iterable[AnyEvent], state: RunState | None = None) -> RunState:
    """The state after all of `events`, from the beginning or from `state` on."""
    state = RunState() if state is None else state
    for event in events:
        fold(state, event)
    return state
