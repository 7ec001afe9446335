"""A model, and its runs: their events as they arrive, their results, and their records."""

from __future__ import annotations

import asyncio
import html
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import msgspec

from glyphscope.api.bars import progress_bar
from glyphscope.api.tools import SOURCE, AnswerLike, PythonFunctions, ToolLike, Tools, answer_of
from glyphscope.base.errors import GlyphscopeError, meant
from glyphscope.base.structs import ready
from glyphscope.base.visible import visible
from glyphscope.events import (
    CALL,
    DEFAULT_LOAD,
    AnyEvent,
    ApprovalRule,
    ArgumentOrder,
    CallReady,
    ConstrainFrom,
    ConstraintKind,
    ControlTexts,
    EvidenceKind,
    ExpectedAnswer,
    LoadOptions,
    LoopSettings,
    Message,
    ModelInfo,
    Notation,
    RepairSettings,
    RouterSettings,
    RunRequest,
    Sampling,
    Shape,
    StopOn,
    Strategy,
    Strict,
    Thinking,
    ToolResult,
    Violation,
    default_order,
)
from glyphscope.explain.ablation.choice import written_choice
from glyphscope.explain.ablation.pairs import ToolPair, tool_pairs
from glyphscope.explain.ablation.scoring import ablate_prompt
from glyphscope.explain.ablation.types import OMISSION_KINDS, ChoiceKind, OmissionKind, PromptAblation
from glyphscope.models.interface import Model as OpenModel
from glyphscope.notation.read import parse_value
from glyphscope.runs import CallState, NonInteractive, RunState, StageState, branch_request, reduce_event
from glyphscope.runs.expected import difference_of
from glyphscope.runs.state import Outcome
from glyphscope.runs.strategies import cancellable
from glyphscope.runs.strategies import run as run_request
from glyphscope.store.bundle import read_run as read_file
from glyphscope.store.exports import export
from glyphscope.store.exports.forms import exporter
from glyphscope.store.exports.recorded_run import RecordedRun
from glyphscope.store.files import atomic_write
from glyphscope.store.named_models import open_named
from glyphscope.store.records import encode_record
from glyphscope.store.settings import users_prompt_cache

_HEIGHT = 640
"""Pixels of a run's page in a notebook."""


class Run:
    """A run of a model, or a recorded one. Iterate it for its events as they arrive, also with `async for`.

    The properties of its result run it to the end first, and so do `wait` and `await`. They raise GlyphscopeError for
    a run that failed: an invalid answer is a result, not a failure.
    """

    def __init__(self, events: Iterable[AnyEvent], cancel: Callable[[], None] = lambda: None) -> None:
        self._source, self._cancel = iter(events), cancel
        self._events: list[AnyEvent] = []
        self._state = RunState()

    def __iter__(self) -> Iterator[AnyEvent]:
        place = 0
        while place < len(self._events) or self._advance():
            yield self._events[place]
            place += 1

    async def __aiter__(self) -> AsyncIterator[AnyEvent]:
        place = 0
        while place < len(self._events) or await self._advance_async():
            yield self._events[place]
            place += 1

    def __await__(self) -> Generator[Any, None, Run]:
        async def waited() -> Run:
            while await self._advance_async():
                pass
            return self._ended()

        return waited().__await__()

    def wait(self, *, progress: bool | None = None) -> Run:
        """Run to the end. Raises GlyphscopeError for a run that failed.

        `progress` shows a bar on stderr; None shows it in terminals and notebooks, for runs of half a second and more.
        """
        with progress_bar(progress, "tokens") as show:
            while self._advance():
                stage = self._state.present
                evaluated = stage.evaluated
                words = stage.title or stage.name
                if not stage.tokens and evaluated is not None and evaluated.total:
                    words += f": prompt {evaluated.done:,}/{evaluated.total:,}"
                show(sum(len(each.tokens) for each in self._state.stages), None, visible(words))
        return self._ended()

    def _ended(self) -> Run:
        """Itself at its end. Raises GlyphscopeError for a run that failed."""
        while self._advance():
            pass
        if (failed := self._state.failed) is not None:
            raise GlyphscopeError(failed.message, hint=failed.hint)
        return self

    def cancel(self) -> None:
        """End the run, from any thread: its outcome is then `cancelled`."""
        self._cancel()

    # the result

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        """All events."""
        return tuple(self._ended()._events)

    @property
    def state(self) -> RunState:
        """The state after the events so far, without waiting: stages, fields, tokens, prompts, figures."""
        return self._state

    @property
    def outcome(self) -> Outcome:
        """`valid`, `invalid`, `aborted` at a violation, or `cancelled`."""
        return self._ended()._state.outcome

    @property
    def valid(self) -> bool:
        return self.outcome == "valid"

    @property
    def difference(self) -> str:
        """The first difference from the expected answer, in words; empty if there is none, or if none is expected."""
        found = difference_of(self._ended()._state)
        return "" if found is None else found.words

    @property
    def calls(self) -> tuple[CallState, ...]:
        """The calls of the last answer, valid or not, with their fields and violations."""
        stage = self._ended()._last
        return tuple(stage.written.values()) if stage is not None else ()

    @property
    def tool(self) -> str | None:
        """The name of the tool of the last valid call."""
        call = self._call
        return None if call is None else call.tool

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments of the last valid call."""
        call = self._call
        return None if call is None else call.arguments

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The violations of all answers, each with its character and code."""
        return tuple(each for stage in self._ended()._state.stages for each in stage.violations)

    @property
    def text(self) -> str:
        """The last answer as the model wrote it."""
        stage = self._ended()._last
        return stage.text if stage is not None else ""

    @property
    def answer(self) -> Any:
        """The valid answer, if it is not a call: the value of a schema, otherwise its text; None if there is none."""
        state = self._ended()._state
        if state.answer is None or state.started is None:
            return None
        request = state.started.request
        if request.answer.kind != "schema":
            return state.answer.text
        return parse_value(state.answer.text, request.notation)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results of the executed calls."""
        return tuple(event for event in self.events if isinstance(event, ToolResult))

    # its record

    def save(self, path: str | Path) -> None:
        """Write the record (JSON Lines), or the run as a page if the name ends with `.html`. Raises StorageError."""
        path = Path(path)
        page = path.suffix == ".html"
        atomic_write(
            path, self.export("html").encode("utf-8", "replace") if page else encode_record(self.events)
        )

    def export(self, form: str) -> str:
        """The run in another form, as `glyphscope export` writes it. Raises GlyphscopeError."""
        return export(RecordedRun(self.events), form)

    def spans(self, *, content: bool = False) -> list[Any]:
        """The run as OpenTelemetry spans (`ReadableSpan`), for any exporter of its SDK.

        `content` adds prompts, answers, arguments and results. Raises GlyphscopeError if the SDK is not installed.
        """
        return list(exporter("otel").make([RecordedRun(self.events)], content))

    def send_spans(self, endpoint: str, *, content: bool = False) -> None:
        """Send the spans to a receiver of OTLP over HTTP, such as `http://127.0.0.1:4318`.

        Raises GlyphscopeError for one that cannot be reached or does not accept them.
        """
        send = exporter("otel").send
        assert send is not None
        send(self.spans(content=content), endpoint)

    def __repr__(self) -> str:
        return f"<Run {self._state.outcome}: {len(self._events):,} events>"

    def _repr_html_(self) -> str:
        """The page of the run, in which a reader goes through it token by token."""
        page = html.escape(self.export("html"), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="{_HEIGHT}" style="border: 0"></iframe>'

    # inside

    @property
    def _last(self) -> StageState | None:
        return self._state.last_with_text

    @property
    def _call(self) -> CallReady | None:
        state = self._ended()._state
        return next((call for stage in reversed(state.stages) for call in reversed(stage.calls)), None)

    def _advance(self) -> bool:
        """Take the next event; False at the end."""
        event = next(self._source, None)
        if event is None:
            return False
        self._events.append(event)
        reduce_event(self._state, event)
        return True

    async def _advance_async(self) -> bool:
        try:
            return await asyncio.to_thread(self._advance)
        except asyncio.CancelledError:
            self._cancel()
            raise


def read_run(path: str | Path) -> Run:
    """The run in a record or a bundle. Raises RecordError and StorageError."""
    return recorded(read_file(Path(path)).events)


def recorded(events: Iterable[AnyEvent]) -> Run:
    """The run of these events, which has ended."""
    run = Run(events)
    for _ in run:
        pass
    return run


class RunSettings(TypedDict, total=False):
    """The settings of a run that have a default, as `glyphscope.events.RunRequest` describes them. They are listed for
    type checkers; a test compares their names and types.

    `expected` is the right answer, or a text of it in any notation. `notation` can also be `native` (from the model's
    chat template). `answer` is an `Answer`, a JSON Schema, a Pydantic
    model or a `typing.Literal`, if it is not to be a tool call. `order` orders the arguments under a constraint.
    """

    preset: str
    system: str | None
    system_prompt: str
    history: Sequence[Message]
    notation: Notation | Literal["native"]
    shape: Shape
    answer: AnswerLike
    constraint: ConstraintKind
    grammar: str | None
    constrain_from: ConstrainFrom
    reasoning_budget: int | None
    order: ArgumentOrder
    free_text: bool
    thinking: Thinking
    reasoning_effort: str
    template_vars: dict[str, Any]
    chat_template: str
    strict: Strict
    extra_body: dict[str, Any]
    control_texts: ControlTexts
    examples: bool
    tool_choice: str
    most_calls: int | None
    strategy: Strategy
    stop_on: StopOn
    sampling: Sampling
    max_tokens: int
    stop: Sequence[str]
    repeatable: bool
    evidence: EvidenceKind
    alternatives: int
    repair: RepairSettings
    router: RouterSettings
    loop: LoopSettings
    dispatch: bool
    approvals: Sequence[ApprovalRule]
    expected: ExpectedAnswer | str | None


class Model:
    """An open model, for one run at a time. Close it, or use it in a `with` statement."""

    def __init__(self, model: OpenModel) -> None:
        self._model = model

    @property
    def info(self) -> ModelInfo:
        """Its name, file, context and vocabulary, and the options in use."""
        return self._model.info

    def run(
        self, prompt: str, tools: ToolLike | Iterable[ToolLike] = "default", **settings: Unpack[RunSettings]
    ) -> Run:
        """A run with this prompt and these tools. It begins when it is iterated, or its result is read.

        Calls are written in JSON with `name` and `arguments` unless `notation` and `shape` say otherwise. With
        `dispatch`, or with the strategy `loop`, functions are called with their arguments; calls that no function
        executes fail. Raises RegistryError, TypeError for an unknown setting, and GlyphscopeError for an invalid value.
        """
        registered = Tools(tools)
        request = _request(prompt, registered, self._model.info, settings)
        return self._started(request, NonInteractive({SOURCE: PythonFunctions(registered)}))

    def branch(
        self,
        run: Run,
        token: int,
        text: str = "",
        *,
        take: int | None = None,
        relax: tuple[str, str] | None = None,
    ) -> Run:
        """The run again from a token on, with `text`, or the recorded alternative of the id `take`, in its place.

        `relax` is no longer enforced: a tool and the JSON Pointer of a keyword or rule in its schema, or `answer` and
        the pointer of a rule of the answer's grammar. Calls are not executed. Raises GlyphscopeError, with the reason.
        """
        request = branch_request(run.wait().state, token, take=take, text=text, relax=relax)
        return self._started(request, NonInteractive({}))

    def _started(self, request: RunRequest, interaction: NonInteractive) -> Run:
        def cancel() -> None:
            interaction.cancelled.set()
            self._model.cancel()

        events = run_request(request, self._model, interaction)
        return Run(cancellable(events, self._model, interaction), cancel)

    def explain_prompt(
        self,
        run: Run,
        *,
        field: str | None = None,
        token: int | None = None,
        answer: bool = False,
        call: int = 0,
        parts: Collection[OmissionKind] = OMISSION_KINDS,
        budget: float | None = None,
        progress: bool | None = None,
    ) -> PromptAblation:
        """The effect of each part of the prompt of a run by this model, when it is left out, on what was written: the
        value of `field`, the `token` of that index, the whole `answer`, or by default the tool of the `call`.

        `parts` are the kinds of parts, `budget` the most tokens to evaluate, in prompts. Raises GlyphscopeError for a
        model that cannot score a text, one that did not write the run, and a choice that the run does not have.
        """
        kind: ChoiceKind | None = "field" if field is not None else "token" if token is not None else None
        state = run.wait(progress=progress).state
        choice = written_choice(
            state, "answer" if answer else kind, token=token or 0, path=field or "", call=call
        )
        with progress_bar(progress, "tokens") as show:
            return ablate_prompt(
                state,
                self._model,
                choice,
                kinds=parts,
                budget=budget,
                report=lambda now: show(now.done, now.total, "scoring"),
            )

    def tool_pairs(self, run: Run, *, progress: bool | None = None) -> tuple[ToolPair, ...]:
        """The tool that a run by this model called beside each other one that it was offered, two at a time: whether
        the model confuses them for this prompt, and the descriptions and examples that separate them.

        Raises GlyphscopeError as `explain_prompt`, and for a run that was offered one tool.
        """
        state = run.wait(progress=progress).state
        with progress_bar(progress, "tokens") as show:
            return tuple(
                tool_pairs(state, self._model, report=lambda now: show(now.done, now.total, "scoring"))
            )

    def close(self) -> None:
        """End its process. May be called again."""
        self._model.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Model {self.info.name}>"


def open_model(name: str = "embedded", *, options: LoadOptions = DEFAULT_LOAD) -> Model:
    """Open a GGUF file, a downloaded model by its name at the Hub, the `embedded` one, an endpoint
    (`http://host:port/v1#name`), a script (`scripted:TEXT`), or a record (`recorded:RUN.jsonl`).

    Evaluated prompts of a file are stored according to the user's settings. Raises ModelError, and for a record
    StorageError and RecordError.
    """
    return Model(open_named(name, options=options, prompts=users_prompt_cache))


def _request(prompt: str, tools: Tools, info: ModelInfo, settings: RunSettings) -> RunRequest:
    given: dict[str, Any] = {**settings}
    if unknown := given.keys() - RunSettings.__annotations__:
        name = min(unknown)
        raise TypeError(f"A run has no setting {name!r}. {meant(name, RunSettings.__annotations__)}".rstrip())
    notation = given.pop("notation", "json")
    own = tuple(ApprovalRule(tool=name, source=SOURCE, action="allow") for name in tools.functions)
    members = {"shape": "name-arguments", "order": default_order(given.get("constraint", "mask")), **given}
    if "answer" in given:
        members["answer"] = answer_of(given["answer"])
    if isinstance(expected := given.get("expected"), str):
        from glyphscope.evals.suites.expected_text import read_expected  # with the rules of suites

        members["expected"] = read_expected(expected, tools.registry, members.get("answer", CALL))
    members |= {name: tuple(given[name]) for name in ("history", "stop") if name in given}
    members["approvals"] = (*given.get("approvals", ()), *own)
    request = RunRequest(
        prompt=prompt,
        registry=tools.registry.to_document(),
        model=info.path or info.name,
        notation="json" if notation == "native" else notation,
        native="auto" if notation == "native" else "",
        sources=dict.fromkeys(tools.functions, SOURCE),
        **members,
    )
    try:
        return msgspec.convert(msgspec.to_builtins(request), ready(RunRequest))
    except msgspec.ValidationError as error:
        raise GlyphscopeError(f"Invalid setting of a run: {error}.") from None
