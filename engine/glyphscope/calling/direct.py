"""The direct strategy: one prompt, one generation, one call."""

from __future__ import annotations

from collections.abc import Generator

from glyphscope.calling.context import Context, Ending
from glyphscope.calling.decode import Decoding
from glyphscope.calling.request import generate_request, render_prompt
from glyphscope.events import AnyEvent
from glyphscope.validation import validator_of

STAGE = "call"


def direct(context: Context) -> Generator[AnyEvent, None, Ending]:
    """The prompt as it is, under the whole registry's grammar."""
    request, registry = context.request, context.registry
    yield context.emitter.enter(STAGE, "Call")
    prompt = render_prompt(request, registry, context.model)
    generation = generate_request(request, registry, prompt.text)
    decoding = Decoding(context, generation, prompt, validator_of(request, registry))
    generated = yield from decoding.events()
    yield from decoding.call()
    return Ending(generated.reason, generated.valid)
