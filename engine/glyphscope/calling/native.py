"""A run in the model's own notation: which one that is, and the requests that cannot be met in it."""

from __future__ import annotations

import msgspec

from glyphscope.errors import GlyphscopeError, PromptError
from glyphscope.events import RunRequest
from glyphscope.models import Model
from glyphscope.models.chat_tools import NO_PLACE, NO_PLACE_HINT
from glyphscope.notation.native import NATIVE, native_format

STRATEGIES = ("direct", "two-stage")
"""Those whose prompts are the request's: a model's own template can ask for them."""


def settled(request: RunRequest, model: Model) -> RunRequest:
    """The request with the model's own notation by its name, and with the notation and the shape that come with it.

    A model whose template tells none leaves it open, and `check_native` refuses it.
    """
    if not request.native:
        return request
    form = model.info.tool_calls
    native = form if request.native == "auto" and form in NATIVE else request.native
    known = native_format(native)
    shape = request.shape if known is None else known.shape
    return msgspec.structs.replace(request, native=native, notation="json", shape=shape)


def check_native(request: RunRequest, model: Model) -> None:
    """Raises PromptError for a model without a notation of its own, GlyphscopeError for what does not go with one."""
    if not request.native:
        return
    if request.strategy not in STRATEGIES:
        raise GlyphscopeError(
            f"The model's own notation is not for the strategy {request.strategy}, which has prompts of its own.",
            hint=f"Use {' or '.join(STRATEGIES)}.",
        )
    if native_format(request.native) is not None:
        return
    if not model.info.tool_calls:
        raise PromptError(NO_PLACE, where="chat template", hint=NO_PLACE_HINT)
    raise PromptError(
        "This model's template has a place for tools, and writes its calls in a form that is not known here.",
        where="chat template",
        hint=f"Use the notation glyph or json; the forms known are {', '.join(NATIVE)}.",
    )
