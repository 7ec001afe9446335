"""A request's answer: the form of its turn, the options of its grammar, and its validator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from glyphscope.events import RunEvent, RunRequest, Violation
from glyphscope.models.chat import THINKING
from glyphscope.registry import ToolRegistry
from glyphscope.runs.strategies.decode import Validator
from glyphscope.turns import FormValidator, TurnForm, turn_triggers
from glyphscope.turns.form import read_form, state_of
from glyphscope.turns.reasoned import PlainValidator, ReasonedValidator
from glyphscope.validation.free_text_answer import WordsValidator, validator_of
from glyphscope.validation.turn import TurnValidator


class FullValidator(Validator, Protocol):
    """A validator that keeps its violations, and accepts bytes, which may end inside a character."""

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """The verdicts that the next piece of the text decides."""

    @property
    def violations(self) -> Sequence[Violation]:
        """All violations so far."""


def turn_form(request: RunRequest) -> TurnForm | None:
    """The form of the model's turns, if the request has one. Raises PromptError for an invalid one."""
    return read_form(request.form)


def triggers(request: RunRequest) -> tuple[str, ...]:
    """The texts at which llama.cpp's own sampler begins to enforce the grammar, if it begins at a call's marker."""
    form = native_form(request)
    lazy = request.constraint == "gbnf" and request.constrain_from == "call" and request.grammar is None
    return turn_triggers(form) if lazy and form is not None and request.tool_choice != "none" else ()


def text_only(request: RunRequest) -> bool:
    """Whether the answer can only be text for the user, without a form, so that nothing constrains it."""
    return request.tool_choice == "none" and request.native != "template"


def native_form(request: RunRequest) -> TurnForm | None:
    """The form of the model's template, if it is the form of the request's calls."""
    return turn_form(request) if request.native == "template" else None


def form_validator(form: TurnForm, request: RunRequest, registry: ToolRegistry) -> FormValidator:
    """The validator of a turn in that form, under the request's options."""
    return FormValidator(
        form,
        registry,
        thinking=THINKING[request.thinking],
        choice=request.tool_choice,
        most_calls=request.most_calls,
        free_text=request.free_text or request.constrain_from == "call",
    )


def answer_validator(request: RunRequest, registry: ToolRegistry) -> FullValidator:
    """The validator of a run's answer. Raises NotationError for a tool that the shape cannot write, PromptError."""
    form = turn_form(request)
    if form is not None and request.native == "template":
        return form_validator(form, request, registry)
    validator = _plain_validator(request, registry)
    if form is None or form.reasoning is None:
        return validator
    return ReasonedValidator(validator, form, state_of(THINKING[request.thinking]))


def _plain_validator(request: RunRequest, registry: ToolRegistry) -> PlainValidator:
    if text_only(request):
        return WordsValidator()
    if request.most_calls == 1 and request.tool_choice != "auto":
        return validator_of(request, registry)
    return TurnValidator(
        registry,
        request.notation,
        request.shape,
        words=request.tool_choice == "auto",
        constrained=request.constraint != "off" and request.grammar is None,
        spaced=request.tool_choice == "auto" or not request.free_text,
        most_calls=request.most_calls,
        ends=request.constraint != "off",
    )
