"""The direct strategy: one prompt, one generation, one call."""

from __future__ import annotations

from collections.abc import Generator

from glyphscope.calling.context import Context, Ending
from glyphscope.calling.decode import call_of
from glyphscope.calling.mending.repair import asked_for_call, generate
from glyphscope.calling.relaxing import held_registry
from glyphscope.events import AnyEvent
from glyphscope.prompting import render_messages

STAGE = "call"


def direct(context: Context) -> Generator[AnyEvent, None, Ending]:
    """The prompt as it is, under the whole registry's grammar, or what is left of it where something is relaxed."""
    request, registry = context.request, context.registry
    yield context.emitter.enter(STAGE, "Call")
    asked = asked_for_call(request, held_registry(request, registry), render_messages(request, registry))
    generated = yield from generate(context, asked)
    yield from call_of(generated, context.emitter)
    return Ending(generated.reason, generated.valid)
