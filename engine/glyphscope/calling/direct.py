"""The direct strategy: one prompt, one generation, one call."""

from __future__ import annotations

from collections.abc import Generator

from glyphscope.calling.decode import Decoding
from glyphscope.calling.emitter import Emitter
from glyphscope.calling.failures import failed
from glyphscope.calling.request import generate_request, render_prompt
from glyphscope.errors import GlyphscopeError
from glyphscope.events import AnyEvent, RunRequest
from glyphscope.models import Model
from glyphscope.registry import parse_document
from glyphscope.validation import validator_of

STAGE = "call"


def run(request: RunRequest, model: Model) -> Generator[AnyEvent, None, None]:
    """Runs the request: every event from `RunStarted` to `RunFinished` or `RunFailed`.

    Never raises a GlyphscopeError: it is the last event. Closing the iterator stops the model at once, and no token
    is decoded that was not asked for; `model.cancel()`, from any thread, ends the run with the reason `cancelled`.
    """
    emitter = Emitter()
    yield emitter.started(request, model.info)
    try:
        registry = parse_document(request.registry)
        yield emitter.enter(STAGE, "Call")
        prompt = render_prompt(request, registry, model)
        generation = generate_request(request, registry, prompt.text)
        validator = validator_of(request, registry)
        decoding = Decoding(model, generation, prompt, validator, emitter, request.stop_on)
        yield from decoding.events()
        yield from decoding.ending()
    except GlyphscopeError as error:
        yield emitter.stamp(failed(error))
