"""The two-stage strategy: the tool's name under a grammar of names, then its arguments under that tool's own grammar.

Each answer has a prefix, the shape's text before the part, so that prose cannot precede it. The second prompt continues
the first with the name in it: only its new part is evaluated. Each stage's grammar is small and cached separately: the
names' grammar by the names, the arguments' grammar by one tool's schema. It includes the text after the part, as the
part's last token may reach into it (`grammar/tree.py` explains why).

The flat shape has no key for arguments: they are generated as an object under the key `arguments`, and then moved next
to the name.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Literal, cast

import msgspec

from glyphscope.events import AnyEvent, CallReady, PromptRendered, Violation
from glyphscope.grammar.builder.turn import call_opening
from glyphscope.models.interface import GenerateRequest
from glyphscope.notation.chat_tool_format import native_format
from glyphscope.notation.shapes import shape_keys
from glyphscope.prompting.messages import render_messages
from glyphscope.runs.context import Context, Ending
from glyphscope.runs.strategies.constraints import Expected, expected_part
from glyphscope.runs.strategies.decode import Decoding, Generated, ending_of
from glyphscope.runs.strategies.generate import call_task
from glyphscope.runs.strategies.repair import repaired
from glyphscope.runs.strategies.request import generate_request, priced_prompt, with_messages
from glyphscope.validation.call import CallValidator
from glyphscope.validation.split_call import (
    ArgumentsValidator,
    NameValidator,
    after_name,
    before_arguments,
    moved,
    whole_call,
)

NAME: Literal["name"] = "name"
ARGUMENTS: Literal["arguments"] = "arguments"
AFTER_ARGUMENTS = "}"


def two_stage(context: Context) -> Generator[AnyEvent, None, Ending]:
    """Generate a name, then arguments. The call is validated as a whole before it is reported."""
    request = context.request
    named = yield from _name(context)
    if not named.valid or named.tool is None:
        before = call_opening(request.notation, request.shape)
        return (yield from _repaired(context, named, before + named.text, len(before)))
    left = request.max_tokens - named.tokens
    if left < 1:
        return Ending("length", False)
    return (yield from _arguments(context, named.tool, left))


def _name(context: Context) -> Generator[AnyEvent, None, Generated]:
    request, registry = context.request, context.registry
    yield context.emitter.enter(NAME, "Name of the tool", NAME)
    validator = NameValidator(registry, request.notation, request.shape)
    before, after = call_opening(request.notation, request.shape), after_name(request.notation, request.shape)
    generation, prompt = _part(context, before, expected_part(request, NAME), after)
    decoding = Decoding(context, generation, prompt, validator, ends_when_complete=True)
    return (yield from decoding.events())


def _arguments(context: Context, tool: str, left: int) -> Generator[AnyEvent, None, Ending]:
    request, registry = context.request, context.registry
    yield context.emitter.enter(ARGUMENTS, f"Arguments of {tool}", ARGUMENTS)
    validator = ArgumentsValidator(registry, request.notation, request.shape, tool)
    before = before_arguments(request.notation, request.shape, tool)
    generation, prompt = _part(context, before, expected_part(request, ARGUMENTS, tool), AFTER_ARGUMENTS)
    generation = msgspec.structs.replace(generation, max_tokens=left)
    decoding = Decoding(context, generation, prompt, validator)
    generated = yield from decoding.events()
    if generated.valid:
        whole = yield from _validated_call(context, tool, validator.text)
        if isinstance(whole, CallReady):
            return Ending(generated.reason, True, (whole,))
        generated = replace(generated, valid=False, violations=whole)
    text, start = whole_call(request.notation, request.shape, tool, generated.text)
    if shape_keys(request.shape).args_key is not None:
        text = text.removesuffix(AFTER_ARGUMENTS)  # it was not generated
    return (yield from _repaired(context, generated, text, start))


def _part(
    context: Context, before: str, expected: Expected, after: str
) -> tuple[GenerateRequest, PromptRendered]:
    """The request for a part of a call, between the shape's texts before and after it; and its prompt."""
    request, registry = context.request, context.registry
    native = native_format(request.native)
    begun = before if native is None else native.begun + before
    messages = render_messages(request, registry)
    prompt = priced_prompt(messages, context.model, begun, thinking=request.thinking)
    generation = generate_request(request, registry, prompt.text, expected, after=after)
    return with_messages(generation, messages, begun), prompt


def _repaired(
    context: Context, generated: Generated, text: str, start: int
) -> Generator[AnyEvent, None, Ending]:
    """The ending after a failed part. A repair, if the request allows one, generates the whole call at once.

    `text` is the call so far, in which the part begins at character `start`.
    """
    request, registry = context.request, context.registry
    violations = tuple(cast(Violation, moved(violation, start)) for violation in generated.violations)
    whole = replace(generated, text=text, violations=violations)
    task = call_task(request, registry, render_messages(request, registry))
    made = yield from repaired(context, task, whole, extracting=False)
    return (yield from ending_of(made, context.emitter))


def _validated_call(
    context: Context, tool: str, arguments: str
) -> Generator[AnyEvent, None, CallReady | tuple[Violation, ...]]:
    """The call of both stages if it is valid; otherwise its violations, at the characters of the arguments' text."""
    request, registry = context.request, context.registry
    text, start = whole_call(request.notation, request.shape, tool, arguments)
    validator = CallValidator(registry, request.notation, request.shape)
    validator.feed(text)
    validator.finish()
    if validator.valid and validator.arguments is not None:
        call = CallReady(tool=tool, arguments=validator.arguments, text=text, call=context.emitter.call_id())
        yield (call := context.emitter.stamp(call))
        return call
    violations = tuple(cast(Violation, moved(violation, -start)) for violation in validator.violations)
    for violation in violations:
        yield context.emitter.stamp(violation)
    return violations
