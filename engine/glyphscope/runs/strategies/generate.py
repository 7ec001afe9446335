"""One generation of a stage: from the task to the model's text."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass

import msgspec

from glyphscope.events import AnyEvent, Notation, PrefixPart, RunRequest
from glyphscope.models.interface import GenerateRequest
from glyphscope.notation.shapes import shape_keys
from glyphscope.prompting.messages import RenderedMessages
from glyphscope.registry import ToolRegistry
from glyphscope.runs.context import Context
from glyphscope.runs.strategies.decode import Decoding, Generated
from glyphscope.runs.strategies.request import generate_request, priced_prompt, with_messages
from glyphscope.runs.strategies.turns import answer_validator
from glyphscope.turns import AnswerValidator, Expected
from glyphscope.validation.call import CallValidator


@dataclass(frozen=True)
class GenerationTask:
    """A task for the model, which a repair can repeat with another prompt.

    `generation` makes the model's request from a prompt's text, under the task's constraint. `bare_validator` validates
    text extracted from an answer, which nothing may surround. `key`, the key of a call's name, identifies the right
    object among several in a text. `deterministic`: the same prompt gives the same text.
    """

    messages: RenderedMessages
    generation: Callable[[str], GenerateRequest]
    validator: Callable[[], AnswerValidator]
    bare_validator: Callable[[], AnswerValidator]
    notation: Notation
    key: str
    deterministic: bool


def call_task(
    request: RunRequest,
    registry: ToolRegistry,
    messages: RenderedMessages,
    expected: Expected | None = None,
    names: Mapping[str, int] | None = None,
) -> GenerationTask:
    """The task of the request's answer, or of what is `expected` instead; `names` as in `generate_request`."""
    return GenerationTask(
        messages=messages,
        generation=lambda prompt: generate_request(request, registry, prompt, expected, names=names),
        validator=lambda: answer_validator(request, registry),
        bare_validator=lambda: (
            CallValidator(registry, request.notation, request.shape)
            if request.answer.is_call
            else answer_validator(request, registry)
        ),
        notation=request.notation,
        key=shape_keys(request.shape).name_key if request.answer.is_call else "",
        deterministic=request.sampling.temperature == 0,
    )


def generate(
    context: Context, task: GenerationTask, written: tuple[PrefixPart, ...] = ()
) -> Generator[AnyEvent, None, Generated]:
    """One generation in the present stage; `written` is the answer's prefix, which is not generated."""
    prompt = priced_prompt(task.messages, context.model, context.request)
    generation = msgspec.structs.replace(
        with_messages(task.generation(prompt.text), task.messages, plain=prompt.plain), written=written
    )
    return (yield from Decoding(context, generation, prompt, task.validator()).events())
