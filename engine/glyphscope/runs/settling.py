"""The one place in which a request is accepted or rejected: `settle` completes it for its model and finds all problems.

A settled request is exactly what is run: its shape is one that its tools allow, its native notation is resolved to a
form of turns, and its constraint to the endpoint's for a model of an address. `runs/problems.py` has the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from msgspec.structs import replace as with_fields

from glyphscope.base.errors import GlyphscopeError, RequestError, RequestProblem
from glyphscope.events import DEFAULT_CHAT, ModelInfo, RunRequest, Shape, under_constraint
from glyphscope.models.chat import THINKING
from glyphscope.models.interface import Model
from glyphscope.runs.prepared import PreparedRequest, in_fitting_shape, prepare, request_of
from glyphscope.runs.problems import (
    TEMPLATE_STRATEGIES,
    request_problems,
    tool_calls_of,
    tool_problems,
    writes_calls,
)
from glyphscope.turns import TurnForm
from glyphscope.turns.form import ENDPOINT_FORM, form_data, state_of
from glyphscope.turns.own import ENDPOINTS_OWN, NAMED, named_call


@dataclass(frozen=True)
class Settled:
    """`request` is completed for the model. `problems` are all reasons why it cannot be run; `prepared` is None if its
    registry is one of them.
    """

    request: RunRequest
    prepared: PreparedRequest | None
    problems: tuple[RequestProblem, ...] = ()

    @property
    def accepted(self) -> PreparedRequest:
        """The request to run. Raises the error of its problem, or RequestError with all of them."""
        if len(self.problems) == 1:
            raise self.problems[0].error
        if self.problems or self.prepared is None:
            raise RequestError(self.problems)
        return self.prepared


def settle(request: RunRequest | PreparedRequest, model: Model | None) -> Settled:
    """The request as it will be run with this model, and its problems; with None, those that any model would have.

    Nothing is generated, and no GlyphscopeError is raised: a model whose form cannot be found out has none.
    """
    try:
        prepared = in_fitting_shape(prepare(request))
    except GlyphscopeError as error:
        adapted = _adapted(request_of(request), model)
        wrong = (*request_problems(adapted, _info(model)), RequestProblem("registry", error))
        return Settled(adapted, None, wrong)
    adapted = _adapted(prepared.request, model)
    prepared = replace(prepared, request=adapted)
    return Settled(adapted, prepared, (*request_problems(adapted, _info(model)), *tool_problems(prepared)))


def _info(model: Model | None) -> ModelInfo | None:
    return None if model is None else model.info


def _adapted(request: RunRequest, model: Model | None) -> RunRequest:
    """The request with the form of the model's turns, and with the notation and shape that belong to it.

    A request to an endpoint gets the endpoint's form, and its constraint is enforced there.
    """
    if model is None:
        return request
    remote = model.info.kind == "remote"
    if remote and request.constraint != "off":
        request = under_constraint(request, "endpoint")
    if not request.answer.is_call and request.native:
        request = with_fields(request, native="", notation="json")
    if not request.native:
        return _with_reasoning(request, model)
    if remote and model.info.tool_calls == ENDPOINTS_OWN:
        request = with_fields(request, native=ENDPOINTS_OWN, form=form_data(ENDPOINT_FORM))
    elif request.native in ("auto", "template"):
        request = _with_form(request, model)
    known = named_call(request.native)
    shape: Shape = "name-arguments" if request.native == "template" else request.shape
    return with_fields(request, notation="json", shape=shape if known is None else known.shape)


def _with_form(request: RunRequest, model: Model) -> RunRequest:
    """With the form of the model's template; with a known format's name if the strategy begins calls itself, or if the
    template writes no calls or describes no tools.
    """
    if request.strategy in TEMPLATE_STRATEGIES:
        if request.form:
            return with_fields(request, native="template")
        form = _form_of(model, request)
        if form is not None and writes_calls(form) and form.describes_tools:
            return with_fields(request, native="template", form=form_data(form))
    named = tool_calls_of(request, model.info) if request.native == "auto" else ""
    return with_fields(request, native=named) if named in NAMED else request


def _with_reasoning(request: RunRequest, model: Model) -> RunRequest:
    """With the form of a model that may reason before it calls, so that reasoning is separate and not masked.

    It may not if no rendering shows the markers, or if thinking is off and the prompt does not open it. Only for the
    strategy direct without a custom grammar: other stages have prefixes.
    """
    custom = request.grammar is not None and request.constraint != "off"
    if request.form or request.strategy != "direct" or custom:
        return request
    form = _form_of(model, request)
    if form is None or form.reasoning is None or form.reasoning.derived == "table":
        return request
    part = form.reasoning.prompt.get(state_of(THINKING[request.thinking]))
    reasons = part == "opens" or (part == "leaves" and request.thinking != "off")
    alone = with_fields(form, calls=(), corrections=())
    return with_fields(request, form=form_data(alone)) if reasons else request


def _form_of(model: Model, request: RunRequest) -> TurnForm | None:
    """The model's form under the request's options; None also if that fails: the run itself reports the error."""
    chat = with_fields(request.chat, thinking="auto")  # the form has all of its states
    try:
        return model.turn_form() if chat == DEFAULT_CHAT else model.turn_form(chat)
    except GlyphscopeError:
        return None
