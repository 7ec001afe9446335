"""The direct strategy: one prompt, one generation, one call."""

from __future__ import annotations

from collections.abc import Generator

from glyphscope.events import AnyEvent
from glyphscope.prompting import render_messages
from glyphscope.runs.context import Context, Ending
from glyphscope.strategies.decode import ending_of
from glyphscope.strategies.generate import call_task
from glyphscope.strategies.repair.repair import generate_repaired
from glyphscope.strategies.request import special_tokens

STAGE = "call"


def direct(context: Context) -> Generator[AnyEvent, None, Ending]:
    """The prompt as it is, under the grammar of the enforced registry."""
    request = context.request
    yield context.emitter.enter(STAGE, "Call")
    messages = render_messages(request, context.registry)
    names = special_tokens(request, context.model)
    task = call_task(request, context.prepared.enforced, messages, names=names)
    generated = yield from generate_repaired(context, task)
    return (yield from ending_of(generated, context.emitter))
