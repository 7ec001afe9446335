"""The two-stage strategy: the tool's name under a grammar of names, then its arguments under that tool's own grammar.

Each answer has a prefix, the shape's text before the part, so that prose cannot precede it. The second prompt continues
the first with the name in it: only its new part is evaluated. Each stage's grammar is small and cached separately: the
names' grammar by the names, the arguments' grammar by one tool's schema. It includes the text after the part, as the
part's last token may reach into it (`grammar/tree.py` explains why).

The flat shape has no key for arguments: they are generated as an object under the key `arguments`, and then moved next
to the name.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Literal

import msgspec

from glyphscope.events import AnyEvent, CallReady, PromptRendered, Violation
from glyphscope.models.interface import GenerateRequest
from glyphscope.notation.shapes import shape_keys
from glyphscope.prompting.messages import render_messages
from glyphscope.runs.context import Context, Ending
from glyphscope.runs.strategies.decode import Decoding, Generated, ending_of
from glyphscope.runs.strategies.generate import call_task
from glyphscope.runs.strategies.repair import repaired
from glyphscope.runs.strategies.request import generate_request, priced_prompt, with_messages
from glyphscope.runs.strategies.turns import expected_part
from glyphscope.turns import Expected
from glyphscope.turns.own import named_call
from glyphscope.turns.own_text import call_opening
from glyphscope.turns.parts import after_name, before_arguments, whole_call
from glyphscope.validation.call import CallValidator

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
    expected = expected_part(request, NAME)
    before, after = call_opening(request.notation, request.shape), after_name(request.notation, request.shape)
    generation, prompt = _part(context, before, expected, after)
    validator = expected.validator(registry)
    decoding = Decoding(context, generation, prompt, validator, ends_when_complete=True)
    return (yield from decoding.events())


def _arguments(context: Context, tool: str, left: int) -> Generator[AnyEvent, None, Ending]:
    request, registry = context.request, context.registry
    yield context.emitter.enter(ARGUMENTS, f"Arguments of {tool}", ARGUMENTS)
    expected = expected_part(request, ARGUMENTS, tool)
    before = before_arguments(request.notation, request.shape, tool)
    generation, prompt = _part(context, before, expected, AFTER_ARGUMENTS)
    generation = msgspec.structs.replace(generation, max_tokens=left)
    decoding = Decoding(context, generation, prompt, expected.validator(registry))
    generated = yield from decoding.events()
    if generated.valid:
        whole = yield from _validated_call(context, tool, generated.calls[0].text)
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
    named = named_call(request.native)
    begun = before if named is None else named.section_open + before
    messages = render_messages(request, registry)
    prompt = priced_prompt(messages, context.model, request, begun)
    generation = generate_request(request, registry, prompt.text, expected, after=after)
    return with_messages(generation, messages, begun, prompt.plain), prompt


def _repaired(
    context: Context, generated: Generated, text: str, start: int
) -> Generator[AnyEvent, None, Ending]:
    """The ending after a failed part. A repair, if the request allows one, generates the whole call at once.

    `text` is the call so far, in which the part begins at character `start`.
    """
    request, registry = context.request, context.registry
    violations = _moved(generated.violations, start)
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
    violations = _moved(validator.violations, -start)
    for violation in violations:
        yield context.emitter.stamp(violation)
    return violations


def _moved(violations: Iterable[Violation], by: int) -> tuple[Violation, ...]:
    """The violations with their characters moved by `by`, to 0 at least."""
    return tuple(
        msgspec.structs.replace(violation, char=max(0, violation.char + by)) for violation in violations
    )
