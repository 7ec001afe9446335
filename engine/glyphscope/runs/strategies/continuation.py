"""The continuation of an aborted run, which measures the cost of not stopping."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

import msgspec

from glyphscope.base.errors import GlyphscopeError, ModelError, PromptError
from glyphscope.events import AnyEvent, PromptEvaluated, PromptPart, PromptRendered, RunRequest, Token
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.prompting.messages import render_messages
from glyphscope.runs.context import Context
from glyphscope.runs.emitter import Clock, Emitter
from glyphscope.runs.endings import failed
from glyphscope.runs.interaction import NonInteractive
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.runs.settling import settle
from glyphscope.runs.state import CONTINUATION, run_state
from glyphscope.runs.strategies.decode import Decoding, ending_of
from glyphscope.runs.strategies.request import generate_request, special_tokens, with_messages
from glyphscope.runs.strategies.running import finished
from glyphscope.runs.strategies.turns import answer_validator


def continue_aborted(
    request: RunRequest | PreparedRequest,
    events: Iterable[AnyEvent],
    model: Model,
    *,
    clock: Clock = time.perf_counter,
) -> Generator[AnyEvent, None, None]:
    """Continue where the aborted run of `request` stopped, with the same constraint, and without further aborts.

    `events` are the aborted run's. The continuation is a separate run, in the stage `CONTINUATION`: it reports only new
    tokens, which continue the numbers of the aborted run's tokens and characters, and its `RunFinished` counts the
    tokens of both. Reducing both streams one after the other gives the whole text.

    A greedy run without a constraint continues its text, which the model still has in its cache. Any other run depends
    on more than the text (the random state of the sampler, the grammar's state), so it is repeated from the beginning
    with its seed, and fails if that does not give the same tokens. Like `run`, never raises a GlyphscopeError.
    """
    settled, emitter = settle(request, model), Emitter(clock)
    adapted = msgspec.structs.replace(settled.request, stop_on="never")
    yield emitter.started(adapted, model.info)
    try:
        if adapted.strategy != "direct":
            raise PromptError(
                f"An aborted run can be continued with the strategy direct only, not with {adapted.strategy}.",
                hint="Run it again without a stop policy.",
            )
        context = Context(replace(settled.accepted, request=adapted), model, emitter, NonInteractive())
        state = run_state(events)
        if state.prompt is None:
            raise PromptError("The aborted run has no prompt to continue from.", hint="Run it again.")
        yield emitter.enter(CONTINUATION, "Continuation", "continuation")
        if depends_on_text_only(adapted):
            decoding = _from_text(context, state.prompt, _whole_characters(state.tokens))
            yield from decoding.events()
        else:
            decoding = _from_start(context, state.prompt)
            yield from _new_events(state.tokens, decoding.events())
        ending = yield from ending_of(decoding.generated, emitter, adapted.answer)
        yield finished(context, ending)
    except GlyphscopeError as error:
        yield emitter.stamp(failed(error))


def depends_on_text_only(request: RunRequest) -> bool:
    """Whether the text alone decides the next token."""
    sampling = request.sampling
    greedy = sampling.takes_best
    return request.constraint == "off" and greedy and not request.stop


def _whole_characters(tokens: list[Token]) -> tuple[Token, ...]:
    """The tokens without an incomplete character at the end, which a prompt cannot contain: it is decoded again."""
    end = len(tokens)
    while end and tokens[end - 1].step.data and not tokens[end - 1].step.text:
        end -= 1
    return tuple(tokens[:end])


def _from_text(context: Context, prompt: PromptRendered, known: tuple[Token, ...]) -> Decoding:
    """A generation from the prompt and the known text, which the validator reads first."""
    request = context.request
    validator = answer_validator(request, context.prepared.enforced)
    for index, token in enumerate(known):
        validator.feed(token.step.text, index)
    written = "".join(token.step.text for token in known)
    text = prompt.text + written
    part = PromptPart("written", len(prompt.text), len(text), len(known))
    tokens = prompt.tokens + len(known)
    parts = (*prompt.parts, part)
    prompt = PromptRendered(text=text, tokens=tokens, cached=0, parts=parts, controls=prompt.controls)
    decoded = sum(token.step.origin == "model" for token in known)
    generation = _generation(context, prompt, written)
    generation = msgspec.structs.replace(generation, max_tokens=request.max_tokens - decoded)
    return Decoding(context, generation, prompt, validator, known=known)


def _from_start(context: Context, prompt: PromptRendered) -> Decoding:
    """The same generation again, with the request's prefix."""
    validator = answer_validator(context.request, context.prepared.enforced)
    generation = _generation(context, prompt)
    generation = msgspec.structs.replace(generation, written=context.request.written)
    return Decoding(context, generation, prompt, validator)


def _generation(context: Context, prompt: PromptRendered, begun: str = "") -> GenerateRequest:
    """The request for the model; `begun` is the beginning of the answer, for an endpoint."""
    request = context.request
    names = special_tokens(request, context.model)
    generation = generate_request(request, context.prepared.enforced, prompt.text, names=names)
    return with_messages(generation, render_messages(request, context.registry), begun, prompt.plain)


def _new_events(known: list[Token], events: Iterator[AnyEvent]) -> Iterator[AnyEvent]:
    """The prompt's events, and all from the first new token on. Raises ModelError if a known token differs."""
    new = False
    for event in events:
        if isinstance(event, Token) and not new:
            step, index = event.step, event.step.index
            new = index >= len(known)
            # also the bytes, as an endpoint may not send ids
            if not new and (step.id, step.data) != (known[index].step.id, known[index].step.data):
                raise ModelError(
                    f"The model did not repeat its answer: token {index} is {step.text!r}, "
                    f"but was {known[index].step.text!r}.",
                    hint="This run cannot be continued. Check whether the model or its context has changed.",
                )
        if new or isinstance(event, PromptRendered | PromptEvaluated):
            yield event
