"""An automaton for each rule's body, stepped by characters and by texts of other rules.

An automaton is made when it is first entered, so compiling takes one pass over the grammar. Rules that derive no text
are omitted, so every offered step leads to an accepted text.
"""

from __future__ import annotations

from typing import TypeAlias, cast

from glyphscope.grammar.match.nullability import check_references, nullable_rules, productive_rules
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState, Term
from glyphscope.grammar.tree import Grammar, TokenMatch, walk

Calls: TypeAlias = tuple[tuple[str, DfaState], ...]
Plan: TypeAlias = tuple[DfaState | None, Calls]
"""The steps for a character at a place: the target, and the rules that can begin with it, each with the next place."""

_ALL_CALLS = 0  # keys of DfaState.known other than characters
_TOKENS = 1
MAX_PLANS = 4096
"""The number of characters cached per place."""
_MAX_BEGINNINGS = 500_000
"""The number of cached pairs of a rule and a character."""


class RuleAutomata:
    """The automata of a grammar's rules.

    Raises GrammarError for an undefined rule, or a lexeme that refers to rules or is too large.
    """

    def __init__(self, grammar: Grammar) -> None:
        check_references(grammar)
        self.grammar = grammar
        self.automaton = Automaton(self._call)
        self._nullable = nullable_rules(grammar)
        never = self.automaton.terms.never
        self._productive = productive_rules(grammar, lambda node: self.automaton.term_of(node) is not never)
        self._starts: dict[str, DfaState] = {}
        self._with: dict[TokenMatch, frozenset[str]] = {}
        self._beginnings: dict[tuple[str, str], bool] = {}

    @property
    def is_empty(self) -> bool:
        """Whether the grammar derives no text at all."""
        return not self.derives(self.grammar.root)

    def rules_with(self, match: TokenMatch) -> frozenset[str]:
        """The rules whose bodies name that token."""
        known = self._with.get(match)
        if known is None:
            rules = self.grammar.rules.values()
            known = self._with[match] = frozenset(rule.name for rule in rules if match in walk(rule.body))
        return known

    def derives(self, rule: str) -> bool:
        """Whether the rule derives any text."""
        return rule in self._productive

    def start_of(self, rule: str) -> DfaState:
        """The place before a text of the rule."""
        place = self._starts.get(rule)
        if place is None:
            term = self.automaton.term_of(self.grammar.rules[rule].body)
            place = self._starts[rule] = self.automaton.state([term])
        return place

    def plan(self, place: DfaState, char: str) -> Plan:
        """The steps for the character at the place."""
        known: Plan | None = place.known.get(char)
        if known is None:
            calls = tuple(call for call in self.calls(place) if self.can_begin(call[0], char))
            if len(place.known) > MAX_PLANS:
                place.known.clear()
            known = place.known[char] = (self.automaton.after(place, char), calls)
        return known

    def calls(self, place: DfaState) -> Calls:
        """All rules that can come next, each with the place after its text."""
        known = place.known.get(_ALL_CALLS)
        if known is None:
            after: dict[str, list[Term]] = {}
            for name, rest in self.automaton.steps(place).calls:
                after.setdefault(name, []).append(rest)
            known = tuple((name, self.automaton.state(rests)) for name, rests in after.items())
            place.known[_ALL_CALLS] = known
        return cast(Calls, known)

    def tokens(self, place: DfaState) -> tuple[tuple[TokenMatch, DfaState], ...]:
        """The tokens that can come next, each with the place after it."""
        known = place.known.get(_TOKENS)
        if known is None:
            steps = self.automaton.steps(place).tokens
            known = place.known[_TOKENS] = tuple(
                (match, self.automaton.state([rest])) for match, rest in steps
            )
        return cast(tuple[tuple[TokenMatch, DfaState], ...], known)

    def can_begin(self, rule: str, char: str) -> bool:
        """Whether a text of the rule can begin with the character."""
        known = self._beginnings.get((rule, char))
        if known is not None:
            return known
        if len(self._beginnings) > _MAX_BEGINNINGS:
            self._beginnings.clear()
        sources: dict[str, str | None] = {rule: None}
        waiting = [rule]
        while waiting:
            name = waiting.pop()
            inner = self._beginnings.get((name, char))
            if inner is None:
                place = self.start_of(name)
                inner = self.automaton.after(place, char) is not None
                fresh = [called for called, _ in self.calls(place) if called not in sources]
                sources.update(dict.fromkeys(fresh, name))
                waiting += fresh
            if inner:
                way: str | None = name
                while way is not None:  # otherwise a chain of rules would be searched from each of them
                    self._beginnings[way, char] = True
                    way = sources[way]
                return True
        self._beginnings.update(((name, char), False) for name in sources)
        return False

    def _call(self, name: str) -> Term:
        terms = self.automaton.terms
        return terms.call(name, name in self._nullable) if name in self._productive else terms.never
