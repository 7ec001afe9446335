"""The expected answer: a form of turns with options, of which its grammar and its validator are made.

This is the only door to both. There are two kinds of validators: those of an answer, which are made here for every
form, and those of a value (`validation`), of which a single call in GLYPH or JSON is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from glyphscope.grammar.tree import Grammar
from glyphscope.registry import ToolRegistry
from glyphscope.turns.form import DEFAULT_OPTIONS, TurnForm, TurnOptions
from glyphscope.turns.own import own_call
from glyphscope.turns.parts import ArgumentsValidator, NameValidator
from glyphscope.turns.read import Turn
from glyphscope.turns.validator import FormValidator
from glyphscope.turns.validator_own import Enforced, OwnValidator, ReasonedValidator
from glyphscope.validation.call import CallValidator, Judge
from glyphscope.validation.streaming_validator import Limits


class AnswerValidator(Judge, Protocol):
    """Judges an answer while it is written: text for the user and calls, or a part of a call; or, likewise, a value."""

    @property
    def complete(self) -> bool:
        """Whether the text may end here."""

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The first call's arguments, once it is complete."""

    @property
    def content(self) -> str:
        """The text for the user."""

    @property
    def reasoning(self) -> str:
        """The reasoning in a model's own form, known at the end."""

    @property
    def turn(self) -> Turn | None:
        """The whole turn in a model's own form, as it is read at the end."""


class Expected(NamedTuple):
    """The expected answer: a form of turns, the options of its grammar, and what constrains the text."""

    form: TurnForm
    options: TurnOptions = DEFAULT_OPTIONS
    enforced: Enforced = "nothing"

    def grammar(self, registry: ToolRegistry, names: Mapping[str, int] | None = None) -> Grammar:
        """Its rules, built from the registry; `names` are the ids of the vocabulary's special tokens by their texts.

        Raises GrammarError.
        """
        from glyphscope.turns.grammar import build_turn_grammar  # which judges of texts do not need

        return build_turn_grammar(self.form, registry, self.options, names)

    def validator(self, registry: ToolRegistry, limits: Limits | None = None) -> AnswerValidator:
        """Its validator. Raises NotationError if the registry has a tool that the shape cannot write."""
        form, options = self.form, self.options
        call = own_call(form)
        if call is None:
            return FormValidator(form, registry, options, limits)
        if call.part == "name":
            return NameValidator(registry, call.notation, call.shape)
        if call.part == "arguments":
            return ArgumentsValidator(registry, call.notation, call.shape, call.fixed_name)
        if form.reasoning is not None:
            return ReasonedValidator(form, registry, options, self.enforced, limits)
        text = form.text_before or form.text_after or options.free_text or options.choice == "none"
        if (
            not text and not call.native and call.part == "call"
        ):  # the answer is the call, without text or markers
            return CallValidator(registry, call.notation, call.shape, limits=limits)
        return OwnValidator(form, registry, options, self.enforced, limits)
