"""The loop that all strategies share: tokens from the model, verdicts on them, and the decision to stop a run."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import (
    CALL,
    Aborted,
    Answer,
    AnyEvent,
    CallReady,
    Code,
    ConstraintKind,
    ConstraintReady,
    FinalAnswer,
    PromptEvaluated,
    PromptRendered,
    RunEvent,
    RunRequest,
    StageFinished,
    StopOn,
    StopStringFound,
    Token,
    TokenStep,
    Violation,
    add_violation,
)
from glyphscope.models.interface import Cancelled, GenerateRequest, PromptProgress, PromptReady, Usage
from glyphscope.runs.context import Context, Ending
from glyphscope.runs.emitter import Emitter
from glyphscope.runs.strategies.stop_strings import StopStrings
from glyphscope.turns import AnswerValidator, TurnTools
from glyphscope.turns.readers import resemblance

NO_ALLOWED_TOOL: frozenset[Code] = frozenset({"UNKNOWN_TOOL", "MISSING_TOOL"})
"""The violations that stop a run under `unknown-tool`: the text names, or can only name, a tool outside the allow list.

After any other violation, even one after which the tool's name cannot be read, such a run continues.
"""


def deciding(events: Iterable[AnyEvent], stop_on: StopOn) -> Violation | None:
    """The first violation among `events` on which the run stops."""
    if stop_on == "never":
        return None
    for event in events:
        if isinstance(event, Violation) and (stop_on == "error" or event.code in NO_ALLOWED_TOOL):
            return event
    return None


def stopping_on(request: RunRequest) -> StopOn:
    """The violations on which a run of the request stops.

    None under a custom grammar, which decides by itself which text can follow: the verdict of the tools on it is
    reported, but the mask has not broken its promise, and the text is still wanted.
    """
    own = request.grammar is not None and request.constraint != "off"
    return "never" if own else request.stop_on


def stops_at_call(constraint: ConstraintKind, stop_on: StopOn) -> bool:
    """Whether a complete call ends the run.

    It does under a constraint, as only the end can follow. It does without one, as further tokens cost time and can
    only make the call invalid, unless `stop_on` is `never`, which shows everything that the model writes.
    """
    return constraint != "off" or stop_on != "never"


def aborted(violation: Violation, tokens_decoded: int) -> Aborted:
    """The abort for that violation; `tokens_decoded` counts all tokens that were decoded until it took effect."""
    return Aborted(
        code=violation.code,
        message=violation.message,
        path=violation.path,
        char=violation.char,
        token=violation.token,
        tokens_decoded=tokens_decoded,
        viable=violation.viable,
    )


Reason: TypeAlias = Literal["complete", "aborted", "cancelled", "length", "end-of-text", "stop-string"]


@dataclass(frozen=True)
class Generated:
    """The result of one generation. `tool` and `arguments` belong to the first complete call, valid or not.

    `tokens` and `forced` are numbers of tokens. `calls` are all calls of a valid answer, without timestamps; `content`
    is its text for the user.
    """

    text: str
    reason: Reason
    valid: bool
    tool: str | None
    arguments: dict[str, Any] | None
    violations: tuple[Violation, ...]
    tokens: int
    forced: int
    calls: tuple[CallReady, ...] = ()
    content: str = ""

    @property
    def ended(self) -> bool:
        """Whether the user stopped the run, so that no repair follows."""
        return self.reason == "cancelled"


def calls_of(validator: AnswerValidator, text: str) -> tuple[CallReady, ...]:
    """The calls of a valid text, without ids and timestamps."""
    return tuple(
        CallReady(
            tool=call.tool, arguments=call.arguments, text=text[call.start : call.end], call_index=index
        )
        for index, call in enumerate(validator.calls)
        if call.tool is not None and call.arguments is not None
    )


def ending_of(
    generated: Generated, emitter: Emitter, answer: Answer = CALL
) -> Generator[AnyEvent, None, Ending]:
    """The events of a valid answer's calls or text, or of an `answer` other than a call; and the ending of a strategy
    that ends with this answer.
    """
    if not generated.valid:
        return Ending(generated.reason, False)
    if not answer.is_call:
        yield emitter.stamp(FinalAnswer(text=generated.content))
        return Ending(generated.reason, True)
    if not generated.calls:
        yield emitter.stamp(FinalAnswer(text=generated.content.strip()))
        return Ending("length" if generated.reason == "length" else "answered", True)
    calls = tuple(
        emitter.stamp(msgspec.structs.replace(call, call=emitter.call_id())) for call in generated.calls
    )
    yield from calls
    return Ending(generated.reason, True, calls)


class Decoding:
    """One validated generation.

    `known` are earlier tokens of the same text, which the validator has read; counts and numbers continue from them.
    `stop_on` is the request's by default. `ends_when_complete`: a complete text always ends the generation, as another
    stage continues it.
    """

    def __init__(
        self,
        context: Context,
        request: GenerateRequest,
        prompt: PromptRendered,
        validator: AnswerValidator,
        *,
        stop_on: StopOn | None = None,
        ends_when_complete: bool = False,
        known: tuple[Token, ...] = (),
    ) -> None:
        self._spent = context.spent
        self._registry = context.registry
        self._tools_note = context.prepared.note
        self._model = context.model
        self._emitter = context.emitter
        self._request = request
        self._prompt: PromptRendered | None = prompt  # until it is reported
        self._prompt_tokens = prompt.tokens
        self._validator = validator
        self._own = request.constraint != "off" and context.request.grammar is not None
        self._stop_on = stopping_on(context.request) if stop_on is None else stop_on
        # an endpoint's own calls are written by Glyphscope: it searches its model's text for stop strings itself
        self._stop = StopStrings(() if request.tools else request.stop)
        self._stops_at_call = ends_when_complete or stops_at_call(request.constraint, self._stop_on)
        self._first = len(known)  # the number of the first token
        self._written = 0  # tokens of the prefix
        self._pieces = [token.step.text for token in known]  # one per token
        self._characters = sum(map(len, self._pieces))
        self._end: int | None = None  # of the text, in characters, if a stop string ended it
        self._forced = sum(token.step.forced for token in known)
        self._violations: list[Violation] = []
        self._reason: Reason | None = None
        self._started = self._emitter.now
        self._cached = 0  # tokens of the prompt
        self._counted: int | None = None  # tokens as an endpoint counts them
        self._prompt_ms = 0.0
        self._first_token_ms: float | None = None

    def events(self) -> Generator[AnyEvent, None, Generated]:
        """Every event of the generation, to the stage's end. Closing the iterator stops the model."""
        ended = False
        with closing(self._model.generate(self._request)) as outputs:
            try:
                for output in outputs:
                    if isinstance(output, tuple):
                        yield from self._batch(output)
                        ended = any(step.end for step in output)
                    elif isinstance(output, Cancelled):
                        self._reason = "cancelled"
                    elif isinstance(output, Usage):
                        self._count_usage(output)
                    else:
                        yield from self._evaluated(output)
                    if self._reason is not None:
                        break
            except GlyphscopeError:
                yield from self._rendered(0)  # a prompt that does not fit is also shown
                raise
        if self._reason is None:
            self._reason = "end-of-text" if ended else "length"
        if self._reason not in ("aborted", "cancelled"):
            for event in (*self._feed(self._stop.rest()), *self._recorded(self._validator.finish())):
                yield self._emitter.stamp(event)
            if self._reason == "length" and self._constraint_ended:
                self._reason = "complete"
        self._spend()
        yield self._finished(self.generated)
        return self.generated

    @property
    def _constraint_ended(self) -> bool:
        """Whether the constraint, not a limit of tokens, ended the text.

        A valid call is complete. About the text of a custom grammar, the verdict of the tools says nothing.
        """
        decoded = self._tokens - self._written
        if self._request.constraint not in ("mask", "gbnf") or decoded >= self._request.max_tokens:
            return False
        context = self._model.info.context
        room = not context or (self._prompt_tokens or 0) + self._tokens < context
        return room if self._own else self._validator.valid

    @property
    def generated(self) -> Generated:
        """The result; available after `events` has ended."""
        assert self._reason is not None, "events() is to be read to its end before"
        valid = self._reason not in ("aborted", "cancelled") and self._validator.valid
        text = "".join(self._pieces)[: self._end]
        return Generated(
            text=text,
            reason=self._reason,
            valid=valid,
            tool=self._validator.tool,
            arguments=self._validator.arguments,
            violations=tuple(self._violations),
            tokens=self._tokens,
            forced=self._forced,
            calls=calls_of(self._validator, text) if valid else (),
            content=self._validator.content,
        )

    @property
    def _tokens(self) -> int:
        """The number of tokens: an endpoint's count if it sends one, as its pieces need not be tokens."""
        return len(self._pieces) if self._counted is None else self._written + self._counted

    def _count_usage(self, usage: Usage) -> None:
        """Prefer an endpoint's counts, if it sends them."""
        self._prompt_tokens = self._prompt_tokens if usage.prompt is None else usage.prompt
        self._cached = self._cached if usage.cached is None else usage.cached
        self._counted = self._counted if usage.tokens is None else usage.tokens

    def _spend(self) -> None:
        spent = self._spent
        spent.tokens += self._tokens
        spent.forced += self._forced
        if spent.prompt_ms is None:
            spent.prompt_ms = self._prompt_ms
        if spent.first_token_ms is None:
            spent.first_token_ms = self._first_token_ms

    def _finished(self, generated: Generated) -> StageFinished:
        return self._emitter.stamp(
            StageFinished(
                reason=generated.reason,
                valid=generated.valid,
                tokens=generated.tokens,
                forced=generated.forced,
                prompt_tokens=self._prompt_tokens,
                cached=self._cached,
                prompt_ms=self._prompt_ms,
                ms=(self._emitter.now - self._started) * 1000,
                note=self._note(generated.text),
            )
        )

    def _note(self, text: str) -> str:
        """The note on an answer with markers of another notation."""
        turn = self._validator.turn
        found = None if turn is None else resemblance(text, turn, TurnTools(self._registry))
        return "" if found is None else found.words

    def _rendered(self, cached: int, note: str = "", restored: int = 0) -> Iterator[PromptRendered]:
        """The prompt, once: the number of cached tokens is known only with the model's first output."""
        if self._prompt is not None:
            cached = self._cached_of_prompt(cached)
            notes = " ".join(each for each in (self._tools_note, self._prompt.note, note) if each)
            yield self._emitter.stamp(
                msgspec.structs.replace(self._prompt, cached=cached, restored=restored, note=notes)
            )
            self._prompt = None

    def _cached_of_prompt(self, cached: int) -> int:
        """The cached tokens without those of the prefix."""
        return min(cached, self._prompt_tokens) if self._request.written else cached

    def _evaluated(self, output: PromptProgress | PromptReady) -> Iterator[AnyEvent]:
        if isinstance(output, PromptProgress):
            yield from self._rendered(output.done, output.note, output.restored)
            yield self._emitter.stamp(PromptEvaluated(done=output.done, total=output.total, ms=output.ms))
        else:
            yield from self._rendered(output.cached)
            self._cached, self._prompt_ms = self._cached or self._cached_of_prompt(output.cached), output.ms
            yield from self._constrained(output)
            yield self._emitter.stamp(PromptEvaluated(done=output.tokens, total=output.tokens, ms=output.ms))

    def _constrained(self, output: PromptReady) -> Iterator[ConstraintReady]:
        """The cost of the constraint, if the model compiled one."""
        if (made := output.constraint) is not None:
            yield self._emitter.stamp(
                ConstraintReady(
                    key=made.key, hit=made.hit, build_ms=self._request.build_ms, compile_ms=made.compile_ms
                )
            )

    def _batch(self, steps: tuple[TokenStep, ...]) -> Iterator[AnyEvent]:
        """The events of tokens that were decoded together.

        After a violation or a stop string, the rest of a batch is shown and counted, as it was decoded; not validated.
        """
        for index, step in enumerate(steps):
            yield self._token(step)
            piece = (step.text, self._first + step.index)
            found = self._feed(self._stop.feed(*piece) if step.origin == "model" else [piece])
            for event in found:
                yield self._emitter.stamp(event)
            if step.origin != "model":
                self._written += 1
                continue  # violations in a prefix do not stop the run: the user wants to see the continuation
            if violation := deciding(found, self._stop_on):
                for late in steps[index + 1 :]:
                    yield self._token(late)
                self._reason = "aborted"
                yield self._emitter.stamp(aborted(violation, self._tokens - self._written))
                return
            if self._stop.found:
                self._end = self._characters - self._stop.behind
                self._reason = "stop-string"
                for late in steps[index + 1 :]:
                    yield self._token(late)
                yield self._emitter.stamp(
                    StopStringFound(text=self._stop.found, char=self._end, token=piece[1])
                )
                return
        if self._stops_at_call and (self._validator.valid if self._own else self._validator.complete):
            self._reason = "complete"

    def _token(self, step: TokenStep) -> Token:
        if self._first_token_ms is None and step.origin == "model":
            self._first_token_ms = self._emitter.now * 1000
        start = self._characters
        self._characters += len(step.text)
        self._forced += step.forced
        self._pieces.append(step.text)
        if self._first:
            step = msgspec.structs.replace(step, index=self._first + step.index)
        return self._emitter.stamp(Token(step=step, start=start, end=self._characters))

    def _feed(self, pieces: Sequence[tuple[str, int]]) -> list[AnyEvent]:
        """The events of the validator for these pieces, each with its token's number."""
        return [
            event for text, token in pieces for event in self._recorded(self._validator.feed(text, token))
        ]

    def _recorded(self, events: list[RunEvent]) -> list[AnyEvent]:
        """The events, with their violations recorded for the result."""
        for event in events:
            if isinstance(event, Violation):
                add_violation(self._violations, event)
        return cast(list[AnyEvent], events)
