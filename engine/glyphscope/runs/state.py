"""The state of a run, reduced from its events: for every view of a run, live or from a record."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from glyphscope import events
from glyphscope.base.errors import GlyphscopeError, PromptError, RegistryError
from glyphscope.registry import ToolRegistry
from glyphscope.runs.prepared import PreparedRequest, prepare

CONTINUATION = "continuation"
"""The stage that continues an aborted run: its characters and tokens are numbered on from there, not from 0."""

Outcome: TypeAlias = Literal["running", "valid", "invalid", "aborted", "cancelled", "failed"]


@dataclass(slots=True)
class FieldState:
    """A field so far: the characters `start` to `end` (exclusive), and the verdict on them.

    `start` is None if the events begin in the middle of the field. `value` is set when the field is `closed`.
    """

    path: str
    start: int | None
    end: int
    status: events.Status = "open"
    closed: bool = False
    value: Any = None


@dataclass(slots=True)
class Segment:
    """A part of an answer: its characters `start` to `end` (exclusive, None while it is written), without markers."""

    kind: events.SegmentKind
    start: int
    end: int | None = None
    call_index: int = 0


@dataclass(slots=True)
class CallState:
    """One call of a text so far: its fields in the order they were opened, and its violations.

    `part` is its segment in an answer of several parts. `closed`: all of it is written; `ready` is set only if the
    whole answer is valid.
    """

    fields: dict[str, FieldState] = field(default_factory=dict)
    tool: events.ToolKnown | None = None
    violations: list[events.Violation] = field(default_factory=list)
    part: Segment | None = None
    closed: bool = False
    ready: events.CallReady | None = None

    @property
    def status(self) -> events.Status:
        """`holds` once it is complete and valid, `impossible` from its first violation on."""
        if self.violations:
            return "impossible"
        return "holds" if self.closed or self.ready is not None else "open"


class StagePlace(NamedTuple):
    """The facts that decide the constraint of a stage: its kind, and from the stages before it the tool that was named,
    whether a call was executed, how often the router was asked, and what is deferred and loaded of the tools.
    """

    kind: events.StageKind = "call"
    tool: str = ""
    called: bool = False
    asked: int = 0
    deferred: events.ToolsDeferred | None = None
    loaded: tuple[str, ...] = ()
    search: bool = True


NO_STAGE = StagePlace()
"""Before the first stage; also the place of a call of the strategy direct."""


@dataclass(slots=True)
class StageState:
    """One stage after the events so far.

    `forced` counts the tokens that were the only ones allowed; `mask_ms` is the time of the masks of the others.
    `segments` are in order and do not overlap; there are none if the whole text is one call. `written` has the calls in
    the text by index, always including 0: `fields` and `tool` belong to that one, `violations` to all. `calls` are the
    valid ones; `call` is the last of them. `touched` names what changed in the calls, in order: a call's index and the
    path of its field, or None for the call itself; so a view that knows how much of it it has shown finds the rest.
    `outline` has the strategy's events in this stage that do not belong to its text: routing, repairs, approvals,
    results, limits. `waited` is the time in seconds that the stage waited for a
    person, which no time limit counts. `asked` is the time of an unanswered question. `earlier` has what the stages
    before decide.
    """

    name: str = ""
    title: str = ""
    kind: events.StageKind = "call"
    turn: int = 0
    began: float = 0.0
    prompt: events.PromptRendered | None = None
    evaluated: events.PromptEvaluated | None = None
    constraint: events.ConstraintReady | None = None
    tokens: list[events.Token] = field(default_factory=list)
    forced: int = 0
    mask_ms: float = 0.0
    segments: list[Segment] = field(default_factory=list)
    written: dict[int, CallState] = field(default_factory=lambda: {0: CallState()})
    touched: list[tuple[int, str | None]] = field(default_factory=list, repr=False)
    violations: list[events.Violation] = field(default_factory=list)
    aborted: events.Aborted | None = None
    stop_string: events.StopStringFound | None = None
    call: events.CallReady | None = None
    calls: list[events.CallReady] = field(default_factory=list)
    finished: events.StageFinished | None = None
    outline: list[events.AnyEvent] = field(default_factory=list)
    waited: float = 0.0
    asked: float | None = None
    earlier: StagePlace = NO_STAGE
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The stage's generated text."""
        if len(self._pieces) > 1:
            self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def token_count(self) -> int:
        """The number of tokens: that of its end if it has one, as an endpoint's pieces need not be tokens."""
        return (self.finished.tokens if self.finished is not None else 0) or len(self.tokens)

    @property
    def counted_tokens(self) -> int | None:
        """`token_count`; None while an endpoint writes pieces, which need not be tokens."""
        return None if self.finished is None and self._in_pieces else self.token_count

    @property
    def _in_pieces(self) -> bool:
        return any(token.step.piece for token in (*self.tokens[:1], *self.tokens[-1:]))

    @property
    def place(self) -> StagePlace:
        """The facts that decide its constraint."""
        return self.earlier._replace(kind=self.kind)

    @property
    def fields(self) -> dict[str, FieldState]:
        """The fields of the first call, by path."""
        return self.written[0].fields

    @property
    def tool(self) -> events.ToolKnown | None:
        """The tool of the first call."""
        return self.written[0].tool

    @property
    def parted(self) -> tuple[int, int | None]:
        """The number of parts of the text, and the end of the last one: other values whenever a part changed."""
        return len(self.segments), self.segments[-1].end if self.segments else None

    def call_at(self, index: int) -> CallState:
        """The call with that index; an empty one before it begins."""
        call = self.written.get(index)
        if call is None:
            call = self.written[index] = CallState()
        return call

    def touch(self, index: int, path: str | None = None) -> None:
        """Note a change in that call. A value that grows is the same object each time: not one for each token."""
        change = index, path
        last = self.touched[-1:]
        self.touched.append(last[0] if last == [change] else change)

    def tokens_between(self, start: int, end: int | None) -> range:
        """The indices of the tokens that wrote any of these characters; None is the end of the text."""
        first = bisect_right(self.tokens, start, key=lambda token: token.end)
        stop = (
            len(self.tokens) if end is None else bisect_left(self.tokens, end, key=lambda token: token.start)
        )
        return range(first, max(first, stop))


V = TypeVar("V")


class _OfPresent(Generic[V]):
    """An attribute of a run that belongs to its present stage."""

    def __init__(self, read: Callable[[StageState], V]) -> None:
        self._read = read

    def __get__(self, state: RunState, owner: type[RunState]) -> V:
        return self._read(state.stages[-1])


@dataclass(slots=True)
class RunState:
    """The run after the events so far. Only `reduce_event` changes it, in place.

    `stages` are in the order they began. Properties that belong to a stage (`tokens`, `fields`, `text` …) refer
    to the present stage. `prepared` is the run's request if it is available: its registry is then not parsed again.
    `now` is the time of the newest event, in seconds since the run started.
    """

    prepared: PreparedRequest | None = field(default=None, kw_only=True, compare=False, repr=False)

    started: events.RunStarted | None = None
    stages: list[StageState] = field(default_factory=lambda: [StageState()])
    call: events.CallReady | None = None
    answer: events.FinalAnswer | None = None
    finished: events.RunFinished | None = None
    failed: events.RunFailed | None = None
    now: float = 0.0
    _invalid: bool = field(default=False, init=False, compare=False, repr=False)

    @property
    def asks_for_call(self) -> bool:
        """Whether the run's answer is to be a call, as it is in a run whose request is unknown."""
        return self.started is None or self.started.request.answer.is_call

    @property
    def begun(self) -> events.RunStarted:
        """The run's beginning. Raises PromptError for a record without it."""
        if self.started is None:
            raise PromptError(
                "The record does not contain the beginning of a run.", hint="Give the whole record."
            )
        return self.started

    @property
    def whole_registry(self) -> ToolRegistry | None:
        """The run's tools as its prompt describes them; None before the run has started, or if they are invalid."""
        if self.prepared is None and self.started is not None and not self._invalid:
            try:
                self.prepared = prepare(self.started.request)
            except RegistryError:
                self._invalid = True
        return None if self.prepared is None else self.prepared.registry

    @property
    def registry(self) -> ToolRegistry | None:
        """The registry that constrains and validates the run's calls: without relaxed constraints, and without tools
        that a loop may not use. None as for `whole_registry`.
        """
        if self.whole_registry is None or self.prepared is None:
            return None
        try:
            return self.prepared.enforced
        except GlyphscopeError:
            return None

    @property
    def present(self) -> StageState:
        """The open stage, or the last one. There is always one, which may be empty."""
        return self.stages[-1]

    @property
    def last_with_text(self) -> StageState | None:
        """The last stage in which the model wrote something."""
        return next((stage for stage in reversed(self.stages) if stage.text), None)

    stage = _OfPresent(lambda present: present.name)
    prompt = _OfPresent(lambda present: present.prompt)
    evaluated = _OfPresent(lambda present: present.evaluated)
    tokens = _OfPresent(lambda present: present.tokens)
    fields = _OfPresent(lambda present: present.fields)
    segments = _OfPresent(lambda present: present.segments)
    violations = _OfPresent(lambda present: present.violations)
    tool = _OfPresent(lambda present: present.tool)
    aborted = _OfPresent(lambda present: present.aborted)
    stop_string = _OfPresent(lambda present: present.stop_string)
    text = _OfPresent(lambda present: present.text)
    forced = _OfPresent(lambda present: present.forced)
    call_at = _OfPresent(lambda present: present.call_at)

    @property
    def waited(self) -> float:
        """Seconds in which the run waited for a person."""
        return sum(stage.waited for stage in self.stages)

    @property
    def token_count(self) -> int:
        """The number of tokens of all stages so far: that of the run's end if it has one, as an endpoint's pieces need
        not be tokens.
        """
        if self.finished is not None:
            return self.finished.tokens
        return sum(stage.token_count for stage in self.stages)

    @property
    def counted_tokens(self) -> int | None:
        """`token_count`; None while an endpoint writes pieces, which need not be tokens."""
        known = all(stage.counted_tokens is not None for stage in self.stages)
        return self.token_count if known or self.finished is not None else None

    @property
    def worked_ms(self) -> float | None:
        """Milliseconds from the run's start to its end, without those in which it waited for a person."""
        return None if self.finished is None else max(self.finished.total_ms - self.waited * 1000, 0.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """The note on the last prompt, and those on the answers of all stages."""
        prompts = [stage.prompt.note for stage in self.stages if stage.prompt is not None]
        ends = [stage.finished.note for stage in self.stages if stage.finished is not None]
        return tuple(filter(None, (*prompts[-1:], *ends)))

    @property
    def outcome(self) -> Outcome:
        """The outcome of the run; `invalid` if it finished without the required result."""
        if self.failed is not None:
            return "failed"
        if self.finished is None:
            return "running"
        if self.finished.reason in ("aborted", "cancelled"):
            return "aborted" if self.finished.reason == "aborted" else "cancelled"
        return "valid" if self.finished.valid else "invalid"


def reduce_event(state: RunState, event: events.AnyEvent) -> RunState:
    """The state after `event`: the same object, updated. Takes the same time for the first event and the millionth."""
    stage = state.stages[-1]
    state.now = event.t
    match event:
        case events.Token():
            stage.tokens.append(event)
            stage._pieces.append(event.step.text)
            stage.forced += event.step.forced
            stage.mask_ms += 0.0 if event.step.forced else event.step.mask_ms
        case events.FieldChanged(path=path, end=end, status=status):
            known = stage.call_at(event.call_index).fields.setdefault(path, FieldState(path, None, end))
            known.end, known.status = end, status
            stage.touch(event.call_index, path)
        case events.FieldOpened(path=path, start=start):
            stage.call_at(event.call_index).fields[path] = FieldState(path, start, start)
            stage.touch(event.call_index, path)
        case events.FieldClosed(path=path, start=start, end=end, status=status, value=value):
            field_ = FieldState(path, start, end, status, True, value)
            stage.call_at(event.call_index).fields[path] = field_
            stage.touch(event.call_index, path)
        case events.ToolKnown():
            stage.call_at(event.call_index).tool = event
            stage.touch(event.call_index)
        case events.Violation():
            events.add_violation(stage.violations, event)
            events.add_violation(stage.call_at(event.call_index).violations, event)
            stage.touch(event.call_index, event.path)
            stage.touch(event.call_index)
        case events.SegmentOpened() | events.SegmentClosed():
            part = _reduce_segment(stage.segments, event)
            if part.kind == "call":
                call = stage.call_at(part.call_index)
                call.part, call.closed = part, isinstance(event, events.SegmentClosed)
                stage.touch(part.call_index)
        case events.PromptEvaluated():
            stage.evaluated = event
        case events.StageStarted():
            _begin(state, event)
        case events.RunStarted() | events.FinalAnswer() | events.RunFinished() | events.RunFailed():
            _reduce_run(state, event)
        case _:
            _reduce_stage(state, stage, event)
    return state


def _begin(state: RunState, event: events.StageStarted) -> None:
    """Begin a new stage, except for the continuation, which continues in the aborted stage."""
    stage = state.stages[-1]
    if event.stage != CONTINUATION:
        if stage.name or stage.tokens:
            stage = StageState(earlier=_after(stage))
            state.stages.append(stage)
        stage.title, stage.kind, stage.turn, stage.began = event.title, event.kind, event.turn, event.t
    stage.name = event.stage


def _after(stage: StageState) -> StagePlace:
    """The place of the stage after this one, as far as earlier stages decide it."""
    place = stage.place
    routed = [event.tool for event in stage.outline if isinstance(event, events.Routed)]
    searched = [event for event in stage.outline if isinstance(event, events.ToolsSearched)]
    if stage.kind == "name" and stage.tool is not None:
        place = place._replace(tool=stage.tool.name)
    return place._replace(
        tool=routed[-1] if routed else place.tool,
        called=place.called or stage.kind == "tool",
        asked=place.asked + (stage.kind == "router"),
        loaded=searched[-1].loaded if searched else place.loaded,
        search=not searched[-1].known if searched else place.search or stage.kind in ("turn", "final"),
    )


def _reduce_segment(segments: list[Segment], event: events.SegmentOpened | events.SegmentClosed) -> Segment:
    """The segment that the event opens or closes. An open one ends there; none overlap, even in an edited record."""
    last = segments[-1] if segments else Segment(event.kind, 0, 0)
    if isinstance(event, events.SegmentClosed) and last.end is None:
        last.end = max(event.end, last.start)
        if "call" not in (last.kind, event.kind):
            last.kind = event.kind  # text that turned out to be reasoning
        return last
    start = max(event.start, last.start if last.end is None else last.end)
    last.end = start if last.end is None else last.end
    end = max(event.end, start) if isinstance(event, events.SegmentClosed) else None
    segments.append(Segment(event.kind, start, end, event.call_index))
    return segments[-1]


def _reduce_run(
    state: RunState, event: events.RunStarted | events.FinalAnswer | events.RunFinished | events.RunFailed
) -> None:
    match event:
        case events.RunStarted():
            state.started = event
            if state.prepared is not None:  # as the run settled it
                state.prepared = replace(state.prepared, request=event.request)
            state.stages[-1].aborted = state.finished = state.failed = None
        case events.FinalAnswer():
            state.answer = event
            state.stages[-1].outline.append(event)
        case events.RunFinished():
            state.finished = event
        case events.RunFailed():
            state.failed = event


def _reduce_stage(state: RunState, stage: StageState, event: events.AnyEvent) -> None:
    """Reduce events that occur once per stage, and those of its outline."""
    match event:
        case events.PromptRendered():
            stage.prompt = event
        case events.ConstraintReady():
            stage.constraint = event
        case events.Aborted():
            stage.aborted = event
        case events.StopStringFound():
            stage.stop_string = event
            stage._pieces[:] = [stage.text[: event.char]]
        case events.CallReady():
            stage.call = state.call = event
            stage.calls.append(event)
            stage.call_at(event.call_index).ready = event
            stage.touch(event.call_index)
        case events.StageFinished():
            stage.finished = event
        case events.ApprovalNeeded() | events.QuestionAsked():
            stage.asked = event.t
            stage.outline.append(event)
        case events.ApprovalGiven() | events.QuestionAnswered():
            stage.waited += 0.0 if stage.asked is None else max(event.t - stage.asked, 0.0)
            stage.asked = None
            stage.outline.append(event)
        case events.ToolsDeferred():
            stage.earlier = stage.earlier._replace(deferred=event, loaded=event.loaded)
            stage.outline.append(event)
        case events.ToolResult():
            stage.waited += event.waited_ms / 1000
            stage.outline.append(event)
        case _:
            stage.outline.append(event)


def run_state(events: Iterable[events.AnyEvent], state: RunState | None = None) -> RunState:
    """The state after all of `events`, from the beginning or from `state` on."""
    state = RunState() if state is None else state
    for event in events:
        reduce_event(state, event)
    return state
