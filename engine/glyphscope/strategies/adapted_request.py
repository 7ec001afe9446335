"""`adapt_request` completes a request for its model before it runs: the native notation by name, the form of turns, and
the endpoint as the engine of a remote model's constraint. `check_native` and `check_tool_choice` reject bad requests.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from glyphscope.errors import GlyphscopeError, GrammarError, PromptError
from glyphscope.events import TOOL_CHOICES, RunRequest, Shape, under_constraint
from glyphscope.models.chat import NO_PLACE, NO_PLACE_HINT, THINKING
from glyphscope.models.interface import Model
from glyphscope.notation.chat_tool_format import ENDPOINTS_OWN, NATIVE, native_format
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.strategies.turns import turn_form
from glyphscope.text.shorten import listed
from glyphscope.turns import TurnForm
from glyphscope.turns.form import ENDPOINT_FORM, state_of

STRATEGIES = ("direct", "two-stage")
"""The strategies that can use a known native notation: their prompts are the request's own."""
TEMPLATE_STRATEGIES = ("direct", "loop")
"""The strategies that generate whole turns, as a template's form requires. Others begin the answer or split it."""
_SHOWN = 20
"""The maximum number of tools that an error names."""


def adapt_request(request: RunRequest, model: Model) -> RunRequest:
    """The request with the form of the model's turns, and with the notation and shape that belong to it.

    Without a form of calls, the native notation is unchanged, and `check_native` rejects it. A request to an endpoint
    gets the endpoint's form, and its constraint is enforced there. Never raises a GlyphscopeError.
    """
    remote = model.info.kind == "remote"
    if remote and request.constraint != "off":
        request = under_constraint(request, "endpoint")
    if not request.native:
        return _with_reasoning(request, model)
    if remote and model.info.tool_calls == ENDPOINTS_OWN:
        request = replace(request, native=ENDPOINTS_OWN, form=_as_data(ENDPOINT_FORM))
    elif request.native in ("auto", "template"):
        request = _with_form(request, model)
    known = native_format(request.native)
    shape: Shape = "name-arguments" if request.native == "template" else request.shape
    return replace(request, notation="json", shape=shape if known is None else known.shape)


def _with_form(request: RunRequest, model: Model) -> RunRequest:
    """With the form of the model's template; with a known format's name if the strategy begins calls itself, or if the
    template writes no calls or describes no tools.
    """
    if request.strategy in TEMPLATE_STRATEGIES:
        if request.form:
            return replace(request, native="template")
        form = _form_of(model)
        if form is not None and _writes_calls(form) and form.describes_tools:
            return replace(request, native="template", form=_as_data(form))
    named = model.info.tool_calls if request.native == "auto" else ""
    return replace(request, native=named) if named in NATIVE else request


def _with_reasoning(request: RunRequest, model: Model) -> RunRequest:
    """With the form of a model that may reason before it calls, so that reasoning is separate and not masked.

    It may not if no rendering shows the markers, or if thinking is off and the prompt does not open it. Only for the
    strategy direct without a custom grammar: other stages have prefixes.
    """
    custom = request.grammar is not None and request.constraint != "off"
    if request.form or request.strategy != "direct" or custom:
        return request
    form = _form_of(model)
    if form is None or form.reasoning is None or form.reasoning.derived == "table":
        return request
    part = form.reasoning.prompt.get(state_of(THINKING[request.thinking]))
    reasons = part == "opens" or (part == "leaves" and request.thinking != "off")
    return replace(request, form=_as_data(replace(form, calls=(), corrections=()))) if reasons else request


def _form_of(model: Model) -> TurnForm | None:
    """The model's form; None also if the request for it fails: the run itself reports the error."""
    try:
        return model.turn_form()
    except GlyphscopeError:
        return None


def _writes_calls(form: TurnForm) -> bool:
    """Whether the form itself has calls, not only calls in other forms that are read leniently."""
    return any(call.strict for call in form.calls)


def _as_data(form: TurnForm) -> dict[str, Any]:
    """The form as plain data, as in a request."""
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(form))
    return data


def check_native(request: RunRequest, model: Model) -> None:
    """Raises PromptError for a model without a native notation, and for an invalid form; GlyphscopeError for options
    that cannot be combined with one.
    """
    local = model.info.kind == "llama.cpp"
    if local and request.constraint == "endpoint":
        raise GlyphscopeError(
            "The constraint of an endpoint is for models of an address.",
            hint="Use mask or gbnf with this model.",
        )
    form = turn_form(request)
    if not request.native:
        return
    if request.native == ENDPOINTS_OWN:
        _check_endpoints_own(request, local=local)
    if request.native == "template" and form is not None:
        _check_template(request, form)
        return
    known = native_format(request.native) is not None
    if request.strategy not in (STRATEGIES if known else (*STRATEGIES, *TEMPLATE_STRATEGIES)):
        raise GlyphscopeError(
            f"The native notation cannot be used with the strategy {request.strategy}, which has its own prompts.",
            hint=f"Use {' or '.join(STRATEGIES)}.",
        )
    if known:
        return
    if request.native == "template" and model.info.kind == "recorded":
        raise PromptError(
            "The request needs the form of its model's template, which the record does not contain.",
            where="form",
            hint="Run it with the model itself, so that its form can be derived.",
        )
    if model.info.tool_calls and request.strategy not in TEMPLATE_STRATEGIES:
        raise _in_parts(request)
    if not model.info.tool_calls:
        raise PromptError(NO_PLACE, where="chat template", hint=NO_PLACE_HINT)
    raise PromptError(
        "This model's template has a place for tools, and no form of calls can be derived from it.",
        where="chat template",
        hint="Use the notation glyph or json; glyphscope models inspect shows what the template writes.",
    )


def check_tool_choice(prepared: PreparedRequest) -> None:
    """Raises PromptError for a choice that is neither one of TOOL_CHOICES nor an allowed tool, and GrammarError if a
    call is required and none can be written.
    """
    request, found = prepared.request, prepared.uncallable
    needed = request.tool_choice not in ("auto", "none") and (
        request.strategy != "loop" or request.loop.tool_use == "enforced"
    )
    chosen = [each for each in found if each.tool == request.tool_choice]
    if chosen or (needed and found and not prepared.described.allowed):
        tool, pointer, why = (chosen or found)[0]
        raise GrammarError(
            f"No call of this tool can be written: {why}.",
            where=f"{tool}: {pointer or 'parameters'}",
            hint="Correct the schema, or take the tool off the allow list.",
        )
    allowed = [tool.name for tool in prepared.registry.allowed]
    if request.tool_choice in TOOL_CHOICES or request.tool_choice in allowed:
        return
    shown = listed(allowed, _SHOWN)
    raise PromptError(
        f"The tool that is to be called, {request.tool_choice!r}, is not one of the registry's.",
        where="tool_choice",
        hint=f"Use {', '.join(TOOL_CHOICES)}" + (f", or one of: {shown}." if allowed else "."),
    )


def _check_template(request: RunRequest, form: TurnForm) -> None:
    if request.strategy not in TEMPLATE_STRATEGIES:
        raise _in_parts(request)
    if not _writes_calls(form) and request.tool_choice != "none":
        raise PromptError(
            "The request's form of turns has no notation for calls.",
            where="form",
            hint="Use the notation glyph or json, or add the calls to the form.",
        )


def _in_parts(request: RunRequest) -> GlyphscopeError:
    return GlyphscopeError(
        f"The strategy {request.strategy} takes calls in parts, and the form of a template has whole turns.",
        hint=f"Use the strategy {' or '.join(TEMPLATE_STRATEGIES)}, or the notation json.",
    )


def _check_endpoints_own(request: RunRequest, *, local: bool) -> None:
    if local:
        raise PromptError(
            "The notation openai is for endpoints, but this model is local.",
            hint="Use glyph, json or native.",
        )
    if request.strategy != "direct":
        raise GlyphscopeError(
            f"An endpoint returns its own calls as a whole, but the strategy {request.strategy} needs them in parts.",
            hint="Use the strategy direct, or the notation json.",
        )
    if request.grammar is not None and request.constraint != "off":
        raise GlyphscopeError(
            "An endpoint's own calls are constrained by the tools' schemas; a custom grammar cannot be used.",
            hint="Leave the grammar out, or use the notation json.",
        )
