"""Why each alternative of a recorded token was not possible, in words: for the window, pages and the terminal.

`AlternativeReasons` explains the alternatives of one token, given the grammar's state before it. A reason is the
validator's verdict if no valid call follows, else the grammar's expectation, else the cause outside of both: each
masked alternative has one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import Alternative, RunRequest, Token, TokenStep, Violation
from glyphscope.explain.constraint_attribution import Attributor, is_control_token
from glyphscope.explain.grammar_origins import rule_origin
from glyphscope.grammar import MatchLimit, MatchLimits, State, build_value_grammar, compile_grammar
from glyphscope.grammar.builder.uncallable import uncallable, without
from glyphscope.grammar.gbnf import load_gbnf
from glyphscope.grammar.match.earley import ActiveRule
from glyphscope.grammar.match.words import Continuation
from glyphscope.grammar.tree import Grammar, Origin, with_suffix
from glyphscope.registry import ToolRegistry
from glyphscope.runs.deferral import offered
from glyphscope.runs.state import NO_STAGE, StagePlace, StageState
from glyphscope.runs.strategies.loop.guards import calls_per_turn
from glyphscope.runs.strategies.loop.tool_loop import TurnPlan, plan_expects, plan_request
from glyphscope.runs.strategies.routing.route import allowed_choices, choice_schema, choice_validator, only
from glyphscope.runs.strategies.turns import (
    answer_validator,
    expected_answer,
    expected_calls,
    expected_part,
    turn_form,
)
from glyphscope.runs.strategies.two_stage import AFTER_ARGUMENTS
from glyphscope.turns import TurnOptions
from glyphscope.turns.expected import AnswerValidator, Expected
from glyphscope.turns.parts import after_name

MAX_TOKENS = 5_000
"""Tokens of a stage that are explained by its grammar."""
MAX_VALIDATED = 400
"""Characters before a token up to which validators read its alternatives, each of them the whole text."""
_MAX_NATIVE = 200
"""The same in a model's own notation, whose validator is slower."""
_MAX_TOKEN = 100
"""Characters of the generated text with which an alternative is compared."""
FEW = 4
"""Expectations that are listed for a place."""
CONTROL_TOKEN = "a control token"
SAME_TEXT = "the same text in other tokens"
INSIDE_CHARACTER = "it begins inside a character"
NOT_ALLOWED = "the constraint does not allow it here"
ORDER = "the schema's order of keys is enforced; the order any allows this key here"
_NARROWED = {
    "tokens": "the tokens left would not complete the answer",
    "reasoning": "the reasoning has used its budget, and must end",
}


class Reasons(NamedTuple):
    """`place` is the text expected instead of a masked token. `alternatives` has a reason for each of them: the empty
    string if it is the place's reason, None if it is possible, or if that is unknown. A masked one always has a reason.
    """

    place: str
    alternatives: tuple[str | None, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The reason of each alternative; empty for None."""
        return tuple(self.place if each == "" else each or "" for each in self.alternatives)


def run_grammar(request: RunRequest, registry: ToolRegistry) -> Grammar:
    """The grammar that constrained the run. Raises GrammarError and PromptError."""
    if request.grammar is not None:
        return load_gbnf(request.grammar)
    return expected_answer(request).grammar(registry, ending_tokens(request))


class AlternativeReasons:
    """Explains the alternatives in one stage of a run under `registry`. Not thread-safe."""

    def __init__(
        self,
        request: RunRequest,
        registry: ToolRegistry,
        place: StagePlace = NO_STAGE,
        names: Mapping[str, int] | None = None,
    ) -> None:
        """`names` are the ids of special tokens by their texts, as far as they are known."""
        self._request = request
        self._registry = registry
        self._constraint = stage_constraint(request, registry, place, names or {})
        self._most = _MAX_NATIVE if request.native else MAX_VALIDATED
        self._own = request.grammar is not None or request.answer.kind in ("gbnf", "lark")  # which has names
        whole = request.strategy == "direct" and not self._own and request.order != "any"
        self._attributor = Attributor(request, registry) if whole else None

    def start(self) -> State | None:
        """The grammar's state before the stage's text; None if it has no grammar.

        Raises GrammarError and PromptError.
        """
        make = self._constraint.grammar
        return None if make is None else compile_grammar(make()).start(MatchLimits())

    def of(
        self,
        state: State | None,
        before: str,
        alternatives: Sequence[Alternative],
        *,
        step: TokenStep | None = None,
        rest: str = "",
        cancel: Callable[[], bool] | None = None,
    ) -> Reasons:
        """The reasons for the alternatives after the text `before`, at which the grammar has the `state` (None: without
        a grammar, or if the text left it). `rest` was generated in their place, beginning with the token `step`.

        Raises MatchLimit and MatchCancelled.
        """
        alive = state if state is not None and state.alive else None
        masked = any(one.allowed is False for one in alternatives)
        place = self.expected(alive) if alive is not None and masked else ""
        narrowed = _NARROWED.get(step.narrowed, "") if step is not None else ""
        start = rest[:_MAX_TOKEN].encode()
        return Reasons(
            place,
            tuple(self._reason(alive, place, before, one, start, narrowed, cancel) for one in alternatives),
        )

    def verdicts(self, before: str, alternatives: Sequence[Alternative]) -> list[str]:
        """The validator's reasons alone; empty for an alternative after which a valid call can follow."""
        return [self._verdict(before, one) for one in alternatives]

    def _reason(
        self,
        state: State | None,
        place: str,
        before: str,
        one: Alternative,
        rest: bytes,
        narrowed: str,
        cancel: Callable[[], bool] | None,
    ) -> str | None:
        if one.allowed is not False:
            return self._verdict(before, one) or None
        text = one.data.decode(errors="ignore")
        if not one.data or is_control_token(text):
            return CONTROL_TOKEN
        if begins_inside_character(one):
            return INSIDE_CHARACTER
        after = None if state is None else state.feed_token(one.id, text)
        if after is not None and after.alive:  # masked for another reason than its text
            if rest.startswith(one.data):
                return SAME_TEXT
            is_part = text.encode() != one.data  # its last character is not the one that is expected
            words = self.grammar_words(state, after, text) if is_part and state is not None else ""
            return narrowed or words or NOT_ALLOWED
        if verdict := self._verdict(before, one):
            return verdict
        if state is None or after is None:
            return narrowed or NOT_ALLOWED
        if self._attributor is not None:
            with suppress(MatchLimit):
                if self._attributor.unrelated(before, text, cancel=cancel) == "order":
                    return ORDER
        words = self.grammar_words(state, after, text)
        return "" if place and words == place else words or NOT_ALLOWED

    def grammar_words(self, state: State, after: State, text: str) -> str:
        """The grammar's reason against a text that fails in the state `after`; empty if nothing is expected there."""
        good = text if after.failed_at is None else text[: after.failed_at - state.position]
        words = self.expected(after)
        return f"after {json.dumps(good, ensure_ascii=False)}, {words}" if good and words else words

    def _verdict(self, before: str, one: Alternative) -> str:
        """Why no valid call continues with the alternative; empty if one does, or if that is unknown."""
        if self._constraint.validator is None or len(before) > self._most:
            return ""
        try:
            validator = self._constraint.validator()
            if any(isinstance(event, Violation) for event in validator.feed(before)):
                return ""
            violations = [event for event in validator.feed(one.data) if isinstance(event, Violation)]
            if violations and is_control_token(one.data.decode(errors="ignore")):
                ended = self._constraint.validator()
                ended.feed(before)
                ended.finish()
                violations = (
                    [] if ended.valid else violations
                )  # it ends the turn: the text does not contain it
        except GlyphscopeError:
            return ""
        return violations[0].message if violations else ""

    def expected(self, state: State) -> str:
        """`max_results expects 0-9 or "}": maximum 100`."""
        possible = state.expectations(FEW + 1)
        if not possible:
            return ""
        first = possible[0]  # the innermost incomplete rule: a complete one expects nothing
        rule, origin = first.rule, first.origin
        if origin is None and not self._own:
            rule, origin = innermost(state.active_rules())
        words = listed_expectations(possible)
        if origin is None:
            return f"{(self._own and rule) or 'the grammar'} expects {words}"
        place = rule_origin(self._registry, origin)
        constraint = f": {place.constraint}" if place.constraint else ""
        return f"{place.argument or place.tool} expects {words}{constraint}"


def innermost(active: Sequence[ActiveRule]) -> tuple[str, Origin | None]:
    """The innermost rule with a place in a tool's schema, and that place; without any, the innermost rule."""
    found = next((rule for rule in reversed(active) if rule.origin is not None), active[-1])
    return found.name, found.origin


def masked_reasons(request: RunRequest, registry: ToolRegistry, stage: StageState) -> dict[int, Reasons]:
    """The reasons by the index of the token. Tokens without an impossible alternative are left out."""
    explains = AlternativeReasons(request, registry, stage.place, special_names(stage.tokens))
    state: State | None = None
    with suppress(GlyphscopeError):  # the grammar cannot be built
        state = explains.start()
    found: dict[int, Reasons] = {}
    for number, token in enumerate(stage.tokens):
        if number >= MAX_TOKENS:
            state = None
        step = token.step
        if step.alternatives and (token.end or state is not None):
            before, rest = stage.text[: token.start], stage.text[token.start : token.start + _MAX_TOKEN]
            try:
                reasons = explains.of(state, before, step.alternatives, step=step, rest=rest)
            except MatchLimit:
                state = None
                reasons = explains.of(None, before, step.alternatives, step=step)
            if any(reasons.texts):
                found[step.index] = reasons
        if state is not None:
            try:
                state = state_after(state, token)
            except MatchLimit:
                state = None
    return found


def token_reasons(
    request: RunRequest,
    registry: ToolRegistry,
    place: StagePlace,
    tokens: Sequence[Token],
    index: int,
    alternatives: Sequence[Alternative],
) -> Reasons:
    """The reasons for alternatives of one token, the `index`-th of the `tokens` of a stage's text."""
    explains = AlternativeReasons(request, registry, place, special_names(tokens))
    token = tokens[index]
    before = "".join(each.step.text for each in tokens[:index])
    rest = "".join(each.step.text for each in tokens[index : index + _MAX_TOKEN])
    with suppress(GlyphscopeError):
        state = explains.start()
        for each in tokens[:index]:
            state = None if state is None else state_after(state, each)
        return explains.of(state, before, alternatives, step=token.step, rest=rest)
    return explains.of(None, before, alternatives, step=token.step)


def special_names(tokens: Sequence[Token]) -> dict[str, int]:
    """The ids of the control tokens that were generated or are among the alternatives, by their texts."""
    ids = {one.text: one.id for token in tokens for one in token.step.alternatives}
    ids |= {token.step.text: token.step.id for token in tokens}
    return {text: number for text, number in ids.items() if number >= 0 and is_control_token(text)}


def state_after(state: State, token: Token, cancel: Callable[[], bool] | None = None) -> State:
    """The state after a token, read as its characters or, if they do not fit, as a token of the grammar.

    Raises MatchLimit and MatchCancelled.
    """
    spelled = state.feed(token.step.text, cancel=cancel)
    if spelled.alive or not state.alive or not state.token_matches():
        return spelled
    return state.feed_token(token.step.id, token.step.text)


def begins_inside_character(one: Alternative) -> bool:
    """Whether its first byte continues a character of several bytes."""
    return bool(one.data) and 0x80 <= one.data[0] < 0xC0


def listed_expectations(possible: Sequence[Continuation]) -> str:
    """`0-9, "," or "}"`: the first `FEW`."""
    shown = list(dict.fromkeys(one.words for one in possible))
    shown = [*shown[:FEW], "more"] if len(shown) > FEW else shown
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


_TOKEN = re.compile(r"\s*<[^<>\s]+>\s*")


class StageConstraint(NamedTuple):
    """The functions raise GlyphscopeErrors; None for a stage without a grammar, or whose text nothing validates."""

    grammar: Callable[[], Grammar] | None = None
    validator: Callable[[], AnswerValidator] | None = None


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
    match request.strategy, place.kind:
        case "direct", "call" | "repair":
            return _answer(lambda: expected_answer(request), registry, names)
        case "two-stage", "name":
            offered, after = (
                without(registry, uncallable(registry)),
                after_name(request.notation, request.shape),
            )
            return _answer(lambda: expected_part(request, "name"), offered, names, after)
        case "two-stage", "arguments" if place.tool:
            return _answer(
                lambda: expected_part(request, "arguments", place.tool), registry, names, AFTER_ARGUMENTS
            )
        case "route-execute", "router":
            offered = without(registry, uncallable(registry))
            choices = allowed_choices(request.router, place.asked)
            return StageConstraint(
                lambda: build_value_grammar(choice_schema(offered, choices), "json"),
                lambda: choice_validator(offered, choices),
            )
        case "route-execute", "executor" if place.tool:
            alone = only(registry, place.tool)
            whole = expected_calls(request, TurnOptions(tool=place.tool, free_text=request.free_text))
            return StageConstraint(lambda: whole.grammar(alone), lambda: answer_validator(request, alone))
        case "loop", "turn" | "final":
            return _turn(request, registry, place, names)
    return StageConstraint()


def _turn(
    request: RunRequest, registry: ToolRegistry, place: StagePlace, names: Mapping[str, int]
) -> StageConstraint:
    """A turn of a conversation: a call is required until there was one, if at all."""
    settings, last = request.loop, place.kind == "final"
    if place.deferred is not None:
        registry = offered(registry, place.deferred, place.loaded, search=place.search)
    if last and settings.fix_empty_final_disable_tools:
        return StageConstraint()
    words = settings.tool_use != "enforced" or place.called
    plan = TurnPlan(registry, calls_per_turn(settings) if registry.allowed else 0, words=words, last=last)
    asked = plan_request(request, plan)
    found = _answer(lambda: plan_expects(asked, plan), registry, names)
    return found if asked.constraint != "off" else StageConstraint(None, found.validator)


def _answer(
    expected: Callable[[], Expected], registry: ToolRegistry, names: Mapping[str, int], after: str = ""
) -> StageConstraint:
    """The constraint of an expected answer; `after` is the document's text after it."""
    return StageConstraint(
        lambda: with_suffix(expected().grammar(registry, names), after),
        lambda: expected().validator(registry),
    )
