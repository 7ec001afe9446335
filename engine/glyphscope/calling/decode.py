"""The loop that every strategy shares: tokens from the model, verdicts on them, and when to stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Literal, cast

import msgspec

from glyphscope.calling.emitter import Emitter
from glyphscope.calling.policy import aborted, deciding, stops_at_call
from glyphscope.errors import GlyphscopeError
from glyphscope.events import (
    AnyEvent,
    CallReady,
    PromptEvaluated,
    PromptRendered,
    RunEvent,
    RunFinished,
    StopOn,
    Token,
    TokenStep,
)
from glyphscope.models import Cancelled, GenerateRequest, Model, PromptProgress, PromptReady
from glyphscope.validation import CallValidator

Reason = Literal["complete", "aborted", "cancelled", "length", "end-of-text"]


class Decoding:
    """One generation under a validator's eyes; `known` tokens of the same text, already decoded, come before it.

    The validator has read the known ones. What is counted and numbered here goes on from them.
    """

    def __init__(
        self,
        model: Model,
        request: GenerateRequest,
        prompt: PromptRendered,
        validator: CallValidator,
        emitter: Emitter,
        stop_on: StopOn,
        *,
        known: tuple[Token, ...] = (),
    ) -> None:
        self._model = model
        self._request = request
        self._prompt: PromptRendered | None = prompt
        self._validator = validator
        self._emitter = emitter
        self._stop_on = stop_on
        self._stops_at_call = stops_at_call(request.constraint, stop_on)
        self._first = len(known)
        self._pieces = [token.step.text for token in known]
        self._characters = sum(map(len, self._pieces))
        self._forced = sum(token.step.forced for token in known)
        self._reason: Reason | None = None
        self._prompt_ms = 0.0
        self._first_token_ms = 0.0

    def events(self) -> Iterator[AnyEvent]:
        """Every event of the generation, to the validator's last word. Closing the iterator stops the model."""
        ended = False
        with closing(self._model.generate(self._request)) as outputs:
            try:
                for output in outputs:
                    if isinstance(output, tuple):
                        yield from self._batch(output)
                        ended = any(step.end for step in output)
                    elif isinstance(output, Cancelled):
                        self._reason = "cancelled"
                    else:
                        yield from self._evaluated(output)
                    if self._reason is not None:
                        break
            except GlyphscopeError:
                yield from self._rendered(0)  # a prompt that does not fit is to be seen too
                raise
        if self._reason is None:
            self._reason = "end-of-text" if ended else "length"
        if self._reason not in ("aborted", "cancelled"):
            for event in _judged(self._validator.finish()):
                yield self._emitter.stamp(event)

    def ending(self) -> Iterator[AnyEvent]:
        """The call, if there is a valid one, and the end of the run that this generation was the last of."""
        assert self._reason is not None, "events() is to be read to its end before"
        valid = self._reason not in ("aborted", "cancelled") and self._validator.valid
        if valid:
            tool, arguments = self._validator.tool, self._validator.arguments
            assert tool is not None and arguments is not None, "a valid call has both"
            text = "".join(self._pieces)
            yield self._emitter.stamp(CallReady(tool=tool, arguments=arguments, text=text))
        yield self._emitter.stamp(
            RunFinished(
                reason=self._reason,
                valid=valid,
                tokens=len(self._pieces),
                forced=self._forced,
                prompt_ms=self._prompt_ms,
                first_token_ms=self._first_token_ms,
                total_ms=self._emitter.now * 1000,
            )
        )

    def _rendered(self, cached: int) -> Iterator[PromptRendered]:
        """The prompt, once: only the model can tell how much of it is cached, with the first thing it tells."""
        if self._prompt is not None:
            yield self._emitter.stamp(msgspec.structs.replace(self._prompt, cached=cached))
            self._prompt = None

    def _evaluated(self, output: PromptProgress | PromptReady) -> Iterator[AnyEvent]:
        if isinstance(output, PromptProgress):
            yield from self._rendered(output.done)
            yield self._emitter.stamp(PromptEvaluated(done=output.done, total=output.total, ms=output.ms))
        else:
            yield from self._rendered(output.cached)
            self._prompt_ms = output.ms
            yield self._emitter.stamp(PromptEvaluated(done=output.tokens, total=output.tokens, ms=output.ms))

    def _batch(self, steps: tuple[TokenStep, ...]) -> Iterator[AnyEvent]:
        """The events of tokens that were decoded together.

        A violation in the middle of a batch comes too late for the rest of it: those tokens were decoded, so they are
        shown and counted, but there is nothing left to judge.
        """
        for place, step in enumerate(steps):
            yield self._token(step)
            found = _judged(self._validator.feed(step.text, self._first + step.index))
            for event in found:
                yield self._emitter.stamp(event)
            if violation := deciding(found, self._stop_on):
                for late in steps[place + 1 :]:
                    yield self._token(late)
                self._reason = "aborted"
                yield self._emitter.stamp(aborted(violation, len(self._pieces)))
                return
        if self._stops_at_call and self._validator.complete:
            self._reason = "complete"

    def _token(self, step: TokenStep) -> Token:
        if not self._first_token_ms:
            self._first_token_ms = self._emitter.now * 1000
        start = self._characters
        self._characters += len(step.text)
        self._forced += step.forced
        self._pieces.append(step.text)
        if self._first:
            step = msgspec.structs.replace(step, index=self._first + step.index)
        return self._emitter.stamp(Token(step=step, start=start, end=self._characters))


def _judged(events: list[RunEvent]) -> list[AnyEvent]:
    """The validator's events by the name under which a run tells them."""
    return cast(list[AnyEvent], events)
