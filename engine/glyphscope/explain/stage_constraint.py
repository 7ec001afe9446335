"""The constraint of one stage of a run: the grammar and the validator of its text, as its strategy made them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from glyphscope.events import RunEvent, RunRequest
from glyphscope.grammar.builder.calls import GrammarOptions, build_call_grammar, build_value_grammar
from glyphscope.grammar.builder.uncallable import uncallable, without
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.tree import Grammar, with_suffix
from glyphscope.registry import ToolRegistry
from glyphscope.runs.run_state import StagePlace
from glyphscope.strategies.constraints import answer_grammar, white_space
from glyphscope.strategies.loop.guards import calls_per_turn
from glyphscope.strategies.loop.tool_loop import Plan, plan_options, plan_request, plan_validator
from glyphscope.strategies.routing.route import choice_schema, choice_validator, only
from glyphscope.strategies.turns import answer_validator, turn_form
from glyphscope.strategies.two_stage import AFTER_ARGUMENTS
from glyphscope.validation.split_call import ArgumentsValidator, NameValidator, after_name

_TOKEN = re.compile(r"\s*<[^<>\s]+>\s*")


class AnyValidator(Protocol):
    """A validator of the text of any stage."""

    def feed(self, text: Any, token: int | None = None) -> list[RunEvent]:
        """The verdicts that the next piece of the text decides; it may be bytes, which may end inside a character."""


class StageConstraint(NamedTuple):
    """The functions raise GlyphscopeErrors; None for a stage without a grammar, or whose text nothing validates."""

    grammar: Callable[[], Grammar] | None = None
    validator: Callable[[], AnyValidator] | None = None


def stage_constraint(
    request: RunRequest, registry: ToolRegistry, place: StagePlace, names: Mapping[str, int]
) -> StageConstraint:
    """The constraint of a stage of a run of the request, whose calls `registry` validates.

    `names` are the ids of special tokens by their texts, as far as they are known.
    """
    found = _constraint(request, registry, place, {**ending_tokens(request), **names})
    if request.grammar is not None:  # which describes whole texts, and decides alone
        return StageConstraint(found.grammar and (lambda: load_gbnf(request.grammar or "")))
    return found if request.constraint != "off" else StageConstraint(None, found.validator)


def ending_tokens(request: RunRequest) -> dict[str, int]:
    """The texts that end a turn in the request's form and look like tokens, with ids that no token has.

    They end a generation, so a mask does not write them as text.
    """
    form = turn_form(request)
    return (
        {}
        if form is None
        else {end.strip(): -2 - n for n, end in enumerate(form.ends) if _TOKEN.fullmatch(end)}
    )


def _constraint(
    request: RunRequest, registry: ToolRegistry, place: StagePlace, names: Mapping[str, int]
) -> StageConstraint:
    made = request.notation, request.shape
    match request.strategy, place.kind:
        case "direct", "call" | "repair":
            return StageConstraint(
                lambda: answer_grammar(request, registry, names), lambda: answer_validator(request, registry)
            )
        case "two-stage", "name":
            offered = without(registry, uncallable(registry))
            named = GrammarOptions(part="name", order=request.order)
            return StageConstraint(
                lambda: with_suffix(build_call_grammar(offered, *made, named), after_name(*made)),
                lambda: NameValidator(offered, *made),
            )
        case "two-stage", "arguments" if place.tool:
            options = GrammarOptions(
                part="arguments", tool=place.tool, white_space=white_space(request), order=request.order
            )
            return StageConstraint(
                lambda: with_suffix(build_call_grammar(registry, *made, options), AFTER_ARGUMENTS),
                lambda: ArgumentsValidator(registry, *made, place.tool),
            )
        case "route-execute", "router":
            offered = without(registry, uncallable(registry))
            may_ask = place.asked < request.router.max_questions
            return StageConstraint(
                lambda: build_value_grammar(choice_schema(offered, may_ask=may_ask), "json"),
                lambda: choice_validator(offered, may_ask=may_ask),
            )
        case "route-execute", "executor" if place.tool:
            alone = only(registry, place.tool)
            whole = GrammarOptions(tool=place.tool, free_text=request.free_text, order=request.order)
            return StageConstraint(
                lambda: build_call_grammar(alone, *made, whole), lambda: answer_validator(request, alone)
            )
        case "loop", "turn" | "final":
            return _turn(request, registry, place, names)
    return StageConstraint()


def _turn(
    request: RunRequest, registry: ToolRegistry, place: StagePlace, names: Mapping[str, int]
) -> StageConstraint:
    """A turn of a conversation: a call is required until there was one, if at all."""
    settings, last = request.loop, place.kind == "final"
    if last and settings.fix_empty_final_disable_tools:
        return StageConstraint()
    words = settings.tool_use != "enforced" or place.called
    plan = Plan(registry, calls_per_turn(settings) if registry.allowed else 0, words=words, last=last)
    asked = plan_request(request, plan)

    def grammar() -> Grammar:
        options = plan_options(asked, plan)
        if options is None:
            return answer_grammar(asked, registry, names)
        return build_call_grammar(registry, asked.notation, asked.shape, replace(options, order=asked.order))

    return StageConstraint(
        grammar if asked.constraint != "off" else None, lambda: plan_validator(asked, plan)
    )
