"""A request's answer: the form of its turn, the options in it, and what constrains it (`Expected`)."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from glyphscope.events import TOOL_CHOICES, RunRequest
from glyphscope.grammar.builder.tools import Part
from glyphscope.grammar.notation_syntax import WhiteSpace
from glyphscope.models.chat import THINKING
from glyphscope.registry import ToolRegistry
from glyphscope.runs.relaxation import enforced_answer
from glyphscope.turns import TurnForm, TurnOptions, turn_triggers
from glyphscope.turns.expected import AnswerValidator, Expected
from glyphscope.turns.form import Choice, read_form
from glyphscope.turns.own import ENDPOINTS_OWN, answer_form, named_call, own_form
from glyphscope.turns.validator_own import Enforced


def turn_form(request: RunRequest) -> TurnForm | None:
    """The form of the model's turns, if the request has one. Raises PromptError for an invalid one."""
    return read_form(request.form)


def triggers(request: RunRequest) -> tuple[str, ...]:
    """The texts at which llama.cpp's own sampler begins to enforce the grammar, if it begins at a call's marker."""
    form = turn_form(request) if request.native == "template" else None
    lazy = request.constraint == "gbnf" and request.constrain_from == "call" and request.grammar is None
    return turn_triggers(form) if lazy and form is not None and request.tool_choice != "none" else ()


def text_only(request: RunRequest) -> bool:
    """Whether the answer can only be text for the user, without a form, so that nothing constrains it."""
    return request.answer.is_call and request.tool_choice == "none" and request.native != "template"


def expected_answer(request: RunRequest) -> Expected:
    """The request's whole answer: calls in its notation, a turn in the model's form, or what its `answer` describes.

    Raises PromptError, for relaxed keywords of a schema RegistryError, and GrammarError for an invalid schema.
    """
    form = turn_form(request)
    if not request.answer.is_call:
        after_text = request.free_text or request.constrain_from == "call"
        options = TurnOptions(
            constrain_from="start" if request.constrain_from == "start" else "reasoning",
            thinking=THINKING[request.thinking], free_text=after_text, order=request.order,
        )  # fmt: skip
        form = answer_form(enforced_answer(request), request.notation, model=form, after_text=after_text)
        return Expected(form, options, _enforced(request))
    named = request.tool_choice not in TOOL_CHOICES
    options = TurnOptions(
        choice="required" if named else cast(Choice, request.tool_choice),
        tool=request.tool_choice if named else None,
        most_calls=request.most_calls,
        constrain_from="reasoning" if form is None else request.constrain_from,
        thinking=THINKING[request.thinking],
        free_text=request.free_text,
        order=request.order,
        lazy=bool(triggers(request)),
    )
    if form is not None and request.native == "template":
        return Expected(form, options, _enforced(request))
    alone = request.most_calls == 1 and request.tool_choice != "auto"
    # text may precede a call that the prompt does not begin; an endpoint's own format may contain both
    known = alone and named_call(request.native) is not None
    text_before = known and (request.constraint == "off" or request.native == ENDPOINTS_OWN)
    form = own_form(
        request.notation, request.shape, white_space=_white_space(request) if alone and form is None else "none",
        native=request.native if alone else "", model=form, text_before=text_before, text_after=not alone,
    )  # fmt: skip
    return Expected(form, options, _enforced(request))


def expected_calls(request: RunRequest, options: TurnOptions) -> Expected:
    """Calls in the request's notation and order, without reasoning, as a strategy with several stages asks for them."""
    form = own_form(request.notation, request.shape, text_after=True)
    return Expected(form, replace(options, order=request.order), _enforced(request))


def expected_part(request: RunRequest, part: Part, tool: str = "") -> Expected:
    """A part of a call in the request's notation, as a value: the tool's name, or the arguments of that tool."""
    white = _white_space(request) if part == "arguments" else "none"
    form = own_form(request.notation, request.shape, part, tool=tool, white_space=white)
    return Expected(form, TurnOptions(order=request.order), _enforced(request))


def answer_validator(request: RunRequest, registry: ToolRegistry) -> AnswerValidator:
    """The validator of a run's answer. Raises NotationError for a tool that the shape cannot write, PromptError."""
    return expected_answer(request).validator(registry)


def _white_space(request: RunRequest) -> WhiteSpace:
    """A model's native calls may have a space after colons and commas, with which it was trained."""
    return "single" if request.native else "none"


def _enforced(request: RunRequest) -> Enforced:
    if request.constraint == "off":
        return "nothing"
    return "grammar" if request.grammar is None else "other"
