"""The direct strategy: one prompt, one generation, one call."""

from __future__ import annotations

from collections.abc import Generator

from glyphscope.calling.context import Context, Ending
from glyphscope.calling.decode import ending_of
from glyphscope.calling.generate import call_task
from glyphscope.calling.mending.repair import generate_repaired
from glyphscope.calling.request import special_tokens
from glyphscope.events import AnyEvent
from glyphscope.prompting import render_messages

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
