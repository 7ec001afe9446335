"""What a model makes of a request before it runs: its own notation by name, and who holds its constraint.

A remote model's constraint is held by its endpoint, whichever kind was asked for; a record says so. Requests that
cannot be met are told here.
"""

from __future__ import annotations

import msgspec

from glyphscope.errors import GlyphscopeError, PromptError
from glyphscope.events import ConstraintKind, RunRequest
from glyphscope.models import Model
from glyphscope.models.chat_tools import NO_PLACE, NO_PLACE_HINT
from glyphscope.notation.native import ENDPOINTS_OWN, NATIVE, native_format

STRATEGIES = ("direct", "two-stage")
"""Those whose prompts are the request's: a model's own template can ask for them."""


def settled(request: RunRequest, model: Model) -> RunRequest:
    """The request with the model's own notation by its name, and with the notation and the shape that come with it.

    A model whose template tells none leaves it open, and `check_native` refuses it. What an endpoint is asked for is
    told in its own form and held by itself.
    """
    remote = model.info.kind == "remote"
    if remote and request.constraint != "off":
        held: ConstraintKind = "endpoint"
        request = msgspec.structs.replace(request, constraint=held)
    if not request.native:
        return request
    form = model.info.tool_calls
    named = (form in NATIVE and request.native == "auto") or (remote and form == ENDPOINTS_OWN)
    native = form if named else request.native
    known = native_format(native)
    shape = request.shape if known is None else known.shape
    return msgspec.structs.replace(request, native=native, notation="json", shape=shape)


def check_native(request: RunRequest, model: Model) -> None:
    """Raises PromptError for a model without a notation of its own, GlyphscopeError for what does not go with one."""
    here = model.info.kind == "llama.cpp"
    if here and request.constraint == "endpoint":
        raise GlyphscopeError(
            "The constraint of an endpoint is for models of an address.",
            hint="Use mask or gbnf with this model.",
        )
    if not request.native:
        return
    if request.native == ENDPOINTS_OWN:
        _check_endpoints_own(request, here=here)
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


def _check_endpoints_own(request: RunRequest, *, here: bool) -> None:
    if here:
        raise PromptError(
            "The notation openai is an endpoint's own, and this model runs here.",
            hint="Use glyph, json or native.",
        )
    if request.strategy != "direct":
        raise GlyphscopeError(
            f"An endpoint tells its own calls whole, and the strategy {request.strategy} asks for them in parts.",
            hint="Use the strategy direct, or the notation json.",
        )
    if request.grammar is not None and request.constraint != "off":
        raise GlyphscopeError(
            "An endpoint's own calls are held by its tools' schemas, and by no grammar of one's own.",
            hint="Leave the grammar out, or use the notation json.",
        )
