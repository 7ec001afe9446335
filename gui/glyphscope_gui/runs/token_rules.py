"""Finds the grammar rule that read each token of a run, and why the grammar rejects a masked token; no Qt.

A token belongs to the innermost rule that read one of its characters; if they belong to several, an argument's rule
takes precedence over the enclosing one, so that `"}` belongs to the value. The rules that were open before the token
give the expectation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from glyphscope.events import Alternative, RunRequest, Token
from glyphscope.explain.constraint_attribution import Attribution, Attributor, Unrelated
from glyphscope.explain.grammar_origins import RuleOrigin, rule_origin
from glyphscope.explain.masked import (
    ORDER,
    AlternativeReasons,
    begins_inside_character,
    innermost,
    run_grammar,
    state_after,
)
from glyphscope.grammar.match.earley import MatchLimit, MatchLimits, State
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.grammar.tree import Origin
from glyphscope.registry import ToolRegistry
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_words import is_masked

MAX_TOKENS = 50_000
"""Tokens of a run that are read; later ones have no rules."""
SECONDS = 6.0
"""Time limit for the reasons of all alternatives of a token, in order of probability; the next request waits for it."""
END = tr("The end of the text: not part of a rule.")
LEFT = tr("From here on, the text does not match the grammar.")
UNRELATED: dict[Unrelated, str] = {
    "order": ORDER,
    "duplicate": tr("the argument is already set, and a key may appear only once"),
}
"""Why an alternative is masked without a constraint of the schema."""
NOT_READ = tr("Only the first 50,000 tokens of a run are analysed.")
_Place: TypeAlias = tuple[str, Origin | None]
"""A rule's name, and its place in a tool's schema."""


@dataclass(frozen=True)
class TokenRule:
    """`rule` is the name on the grammar page, "" if none read the token; `words` describe its origin, or why there is
    no rule. `argument` (or the tool) and `constraint` name the place in the schema, if there is one.
    """

    rule: str = ""
    words: str = ""
    argument: str = ""
    constraint: str = ""


@dataclass(frozen=True)
class Refusal:
    """The grammar's expectation at the token `index` in words (`place`), and for each of its alternatives the grammar's
    reason if it is masked, empty if the grammar accepts its text.

    `reasons` are the reasons to show, as on pages and in the terminal; empty for one that is possible. `constraints`
    are the keywords that blocked them, one for each alternative: None if no single keyword did (the notation's syntax,
    the list of tools, two at once), or if it is not masked.
    """

    index: int
    place: str
    alternatives: tuple[str, ...]
    constraints: tuple[Attribution | None, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class RuleCost:
    """The cost of the masks under a rule: `masks` masks took `ms` milliseconds."""

    rule: str
    masks: int
    ms: float


class RuleReader:
    """Reads the tokens of one run as they arrive. For one thread at a time."""

    def __init__(self, request: RunRequest, registry: ToolRegistry) -> None:
        """Raises GrammarError."""
        self._grammar = run_grammar(request, registry)
        self._attributor = Attributor(request, registry)
        self._explains = AlternativeReasons(request, registry)
        self._registry = registry
        self._root = self._grammar.root if request.grammar is not None else "root"
        self._start = compile_grammar(self._grammar).start(MatchLimits())
        self._state = self._start
        self._count = 0
        self._last: _Place | None = None
        self._origins: dict[Origin, RuleOrigin] = {}
        self._known: dict[_Place, TokenRule] = {}
        self._costs: dict[str, tuple[int, float]] = {}

    def read(self, tokens: Sequence[Token], cancelled: Callable[[], bool]) -> list[TokenRule]:
        """The rules of the next tokens. Raises MatchLimit, MatchCancelled."""
        found = []
        for token in tokens:
            rule = self._read(token, cancelled)
            found.append(rule)
            if rule.rule and token.step.mask_ms:
                masks, ms = self._costs.get(rule.rule, (0, 0.0))
                self._costs[rule.rule] = masks + 1, ms + token.step.mask_ms
        return found

    def costs(self) -> tuple[RuleCost, ...]:
        """The time of the masks under each rule so far, the longest first."""
        rows = (RuleCost(rule, masks, ms) for rule, (masks, ms) in self._costs.items())
        return tuple(sorted(rows, key=lambda cost: -cost.ms))

    def refusals(
        self,
        before: Sequence[Token],
        alternatives: Sequence[Alternative],
        cancelled: Callable[[], bool],
        after: Sequence[Token] = (),
    ) -> Refusal:
        """Why the masked alternatives of the token after `before` are; `after` begins with that token. Raises as `read`
        does.
        """
        state = self._start
        for token in before:
            state = state_after(state, token, cancelled)
        shown = self._explains.of(
            state,
            "".join(token.step.text for token in before),
            alternatives,
            step=after[0].step if after else None,
            rest="".join(token.step.text for token in after),
            cancel=cancelled,
        ).texts
        if not state.alive:
            nothing = ("",) * len(alternatives)
            return Refusal(len(before), "", nothing, (None,) * len(alternatives), shown)
        place = self._explains.expected(state)
        texts = [self._refused(state, one) for one in alternatives]
        masked = any(is_masked(one) for one in alternatives)
        text = "".join(token.step.text for token in before)
        until = time.monotonic() + SECONDS
        why: list[Attribution | None] = []
        for number, one in enumerate(alternatives):
            found = self._reason(text, one, cancelled) if time.monotonic() < until else None
            why.append(found if isinstance(found, Attribution) else None)
            if isinstance(found, str):
                texts[number] = UNRELATED[found]
        return Refusal(len(before), place if masked else "", tuple(texts), tuple(why), shown)

    def _read(self, token: Token, cancelled: Callable[[], bool]) -> TokenRule:
        self._count += 1
        if self._count > MAX_TOKENS:
            return TokenRule(words=NOT_READ)
        text = token.step.text
        if token.step.end and not text:
            return TokenRule(words=END)
        state, best, deepest = self._state, self._last, -1
        for char in text:
            state = state.feed(char, cancel=cancelled)
            if not state.alive:
                break
            rule, origin = _reading(state)
            depth = len(origin.pointer) if origin is not None else -1
            if depth >= deepest:
                best, deepest = (rule, origin), depth
        if not state.alive:
            state = state_after(self._state, token, cancelled)
            best = _reading(state) if state.alive else None
        self._state, self._last = state, best
        return self._token_rule(best) if state.alive else TokenRule(words=LEFT)

    def _token_rule(self, best: _Place | None) -> TokenRule:
        if best is None:
            return TokenRule()
        known = self._known.get(best)
        if known is None:
            rule, origin = best
            name = self._root if rule == self._grammar.root else rule
            if origin is None:
                known = TokenRule(name)
            else:
                place = self._origin(origin)
                known = TokenRule(name, place.words, place.argument or place.tool, place.constraint)
            self._known[best] = known
        return known

    def _origin(self, origin: Origin) -> RuleOrigin:
        if origin not in self._origins:
            self._origins[origin] = rule_origin(self._registry, origin)
        return self._origins[origin]

    def _reason(
        self, before: str, one: Alternative, cancelled: Callable[[], bool]
    ) -> Attribution | Unrelated | None:
        """The constraint that blocks the alternative, or the reason outside the schema."""
        if not is_masked(one) or begins_inside_character(one):
            return None
        text = one.data.decode(errors="ignore")
        try:
            unrelated = self._attributor.unrelated(before, text, cancel=cancelled)
            return unrelated or self._attributor.find(before, text, cancel=cancelled)
        except MatchLimit:  # affects only this alternative
            return None

    def _refused(self, state: State, one: Alternative) -> str:
        if not is_masked(one) or begins_inside_character(one):
            return ""
        text = one.data.decode(errors="ignore")
        after = state.feed_token(one.id, text)
        if after.alive:  # masked for its kind, such as a control token, not for its text
            return ""
        return self._explains.grammar_words(state, after, text)


def _reading(state: State) -> _Place:
    """The rule that read the last character."""
    active = state.active_rules()
    return innermost([rule for rule in active if rule.start < state.position] or active)
