"""What is done about a text that is not what was asked for: taken out of what was written, or asked for again.

Each attempt sees the prompt as it was, the text that failed last, and why; nothing of the attempts before that, and
none of it is seen by any later stage. Nothing is told about a text that is right.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

import msgspec

from glyphscope.calling.context import Context
from glyphscope.calling.decode import Decoding, Generated, Validator
from glyphscope.calling.mending.extract import extract
from glyphscope.calling.request import generate_request, priced_prompt, sent
from glyphscope.events import (
    AnyEvent,
    Extracted,
    LimitReached,
    Notation,
    RepairTried,
    RunRequest,
    Violation,
)
from glyphscope.grammar import GrammarOptions
from glyphscope.models import GenerateRequest
from glyphscope.notation import shape_keys
from glyphscope.prompting import RenderedMessages, render_repair
from glyphscope.registry import ToolRegistry
from glyphscope.validation import CallValidator, validator_of

STAGE = "repair"


@dataclass(frozen=True)
class Asked:
    """What the model was asked for, so that it can be asked again.

    `generation` makes the request for a prompt's text, under the constraint of what is asked for. `key` tells an object
    that is meant from others in a text: that of a call's name. What was taken out of a text is bare: nothing that may
    stand around it is any more, so it has a validator of its own. `certain`: the same prompt gives the same text.
    """

    messages: RenderedMessages
    generation: Callable[[str], GenerateRequest]
    validator: Callable[[], Validator]
    bare_validator: Callable[[], Validator]
    notation: Notation
    key: str
    certain: bool


def asked_for_call(
    request: RunRequest,
    registry: ToolRegistry,
    messages: RenderedMessages,
    options: GrammarOptions | None = None,
) -> Asked:
    """A call of the registry, under the grammar that `options` chooses."""
    return Asked(
        messages=messages,
        generation=lambda prompt: generate_request(request, registry, prompt, options),
        validator=lambda: validator_of(request, registry),
        bare_validator=lambda: CallValidator(registry, request.notation, request.shape),
        notation=request.notation,
        key=shape_keys(request.shape).name_key,
        certain=request.sampling.temperature == 0,
    )


def generate(context: Context, asked: Asked) -> Generator[AnyEvent, None, Generated]:
    """One generation in the present stage, begun with what is written; and what is done where it went wrong."""
    prompt = priced_prompt(asked.messages, context.model)
    generation = sent(asked.generation(prompt.text), asked.messages)
    generation = msgspec.structs.replace(generation, written=context.request.written)
    decoding = Decoding(context, generation, prompt, asked.validator())
    generated = yield from decoding.events()
    return (yield from repaired(context, asked, generated))


def repaired(
    context: Context, asked: Asked, generated: Generated, *, extracting: bool = True
) -> Generator[AnyEvent, None, Generated]:
    """What came of it in the end: `generated` itself, what was taken out of it, or what a later attempt wrote.

    To be read right after the generation, in its stage. Every attempt is a stage of its own. Without `extracting`
    nothing is taken out of what was generated, which is then only the beginning of what is asked for.
    """
    settings = context.request.repair
    current = (yield from _extracted(context, asked, generated)) if extracting else generated
    said: RenderedMessages | None = None
    for attempt in range(1, settings.attempts + 1):
        if current.valid or current.ended or not current.violations:
            break
        fault = current.violations[0]
        error = _in_words(fault)
        messages = render_repair(context.request, asked.messages, asked.notation, current.text, error)
        if messages == said and asked.certain:
            yield _in_vain(context, attempt - 1)
            break
        said = messages
        yield context.emitter.enter(STAGE, f"Repair {attempt} of {settings.attempts}", "repair")
        prompt = priced_prompt(messages, context.model)
        generation = sent(asked.generation(prompt.text), messages)
        decoding = Decoding(context, generation, prompt, asked.validator())
        tried = yield from decoding.events()
        made = yield from _extracted(context, asked, tried)
        if not made.ended:
            yield context.emitter.stamp(
                _told(attempt, settings.attempts, error, fault, current, made, tried.tokens)
            )
        current = made
    return current


def _extracted(context: Context, asked: Asked, generated: Generated) -> Generator[AnyEvent, None, Generated]:
    """The same, with what could be taken out of its text in place of the text."""
    if generated.valid or generated.ended or not context.request.repair.extract:
        return generated
    found = extract(generated.text, asked.notation, asked.key, ended=generated.reason == "end-of-text")
    if not found.changes:
        return generated
    validator = asked.bare_validator()
    events = [*validator.feed(found.after), *validator.finish()]
    yield context.emitter.stamp(
        Extracted(before=generated.text, after=found.after, changes=found.changes, valid=validator.valid)
    )
    return replace(
        generated,
        text=found.after,
        reason="complete" if validator.valid else generated.reason,
        valid=validator.valid,
        tool=validator.tool,
        arguments=validator.arguments,
        violations=tuple(event for event in events if isinstance(event, Violation)),
    )


def _in_words(fault: Violation) -> str:
    """What the model is told: the code, the sentence, the place, and what would have been right."""
    place = f" at {fault.path}" if fault.path else ""
    viable = f" (what fits here: {fault.viable})" if fault.viable else ""
    return f"{fault.code}{place}, character {fault.char}: {fault.message}{viable}"


def _told(
    attempt: int,
    attempts: int,
    message: str,
    fault: Violation,
    before: Generated,
    after: Generated,
    tokens: int,
) -> RepairTried:
    now = after.violations[0] if after.violations else None
    return RepairTried(
        attempt=attempt,
        attempts=attempts,
        code=fault.code,
        message=message,
        before=before.text,
        after=after.text,
        char=fault.char,
        now=None if after.valid or now is None else now.char,
        now_code=None if after.valid or now is None else now.code,
        tokens=tokens,
    )


def _in_vain(context: Context, attempts: int) -> LimitReached:
    return context.emitter.stamp(
        LimitReached(
            limit="attempts",
            allowed=context.request.repair.attempts,
            used=attempts,
            message="the model would be told the same again, and without chance it writes the same again",
        )
    )
