"""A text being matched: Earley's algorithm over characters, on automata instead of dotted rules.

An item is a place in a rule's body together with the beginning of that rule (`Begun`), which knows what continues when
the rule is over. A set of items exists only as far as something refers to it, so a long text in a flat grammar needs
the memory of a short one. A chain of rules that all end together is jumped over (Leo 1991), which keeps lists that are
recursive on the right linear. Rules that cannot begin with the coming character are not entered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from glyphscope.errors import GlyphscopeError, GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.rule_automata import RuleAutomata
from glyphscope.grammar.match.words import Expectation, expectations
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import Place
from glyphscope.grammar.tree import Origin, TokenMatch

WORK_PER_CHARACTER = 40
CHARACTERS_BETWEEN_POLLS = 2048
WORK_BETWEEN_POLLS = 10_000
MAX_ACTIVE = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of matching: `items` in all, in addition to 40 for each character.

    An unambiguous grammar needs fewer than 40. A million is some seconds and at most half a gigabyte.
    """

    items: int = 3_000_000


class MatchLimit(GrammarError):
    """A text that the grammar reads in too many ways."""


class MatchCancelled(GlyphscopeError):
    """Matching that was stopped."""


class Budget:
    """Work done for a text of `size` characters, with that of its automata; asks from time to time whether to stop."""

    def __init__(
        self, limits: Limits, automaton: Automaton, spent: int, size: int, cancel: Callable[[], bool] | None
    ) -> None:
        self._limits = limits
        self._automaton = automaton
        self._done = spent - automaton.spent
        self._allowed = limits.items + WORK_PER_CHARACTER * size
        self._cancel = cancel
        self._next = 0

    @property
    def spent(self) -> int:
        """All of it."""
        return self._done + self._automaton.spent

    def spend(self, items: int, position: int) -> None:
        """Adds the work of a step. Raises MatchLimit, MatchCancelled."""
        self._done += items
        if self._done + self._automaton.spent > self._next:
            self.check(position)

    def check(self, position: int) -> None:
        """Asks, whatever was done since the last time."""
        self._next = self.spent + WORK_BETWEEN_POLLS
        if self._cancel is not None and self._cancel():
            raise MatchCancelled("Matching was stopped.")
        if self.spent > self._allowed:
            raise MatchLimit(
                "The grammar reads the text in too many ways: "
                f"more than {self._limits.items:,} steps by character {position}.",
                hint="Make its alternatives begin differently, or match a shorter text.",
            )


class Begun:
    """A rule begun at the character `start`. `edges`: where its callers continue when it is over."""

    __slots__ = ("edges", "rule", "start", "step", "top")

    def __init__(self, rule: str, start: int, step: int) -> None:
        self.rule = rule
        self.start = start
        self.step = step
        self.edges: list[Item] = []
        self.top: Begun | None = None


Item: TypeAlias = tuple[Place, Begun]


class ActiveRule(NamedTuple):
    """A rule that is being read, since the character `start`. `origin`: its place in a tool's schema, if it has one."""

    name: str
    start: int
    origin: Origin | None


class _View(NamedTuple):
    """Everything that can happen next: items with what they lead to, and whether the text may end."""

    items: list[Item]
    accepted: bool


class State:
    """The state after the text read so far. It is immutable: `feed` returns another one, and this one can be fed again.

    A state is dead when no text can follow that the grammar accepts; its words are those of the last living one.
    """

    __slots__ = ("_before", "_compiled", "_limits", "_seen", "_step", "_work", "items", "position")

    def __init__(
        self, compiled: RuleAutomata, limits: Limits, items: tuple[Item, ...], position: int, step: int, work: int,
        before: State | None = None,
    ) -> None:  # fmt: skip
        self._compiled = compiled
        self._limits = limits
        self._step = step
        self._work = work
        self._before = before
        self._seen: _View | None = None
        self.items = items
        """The items before any rule ends or begins here. States of equal items have the same future."""
        self.position = position
        """Characters read while it was alive."""

    @property
    def alive(self) -> bool:
        """Whether an accepted text begins with what was read."""
        return bool(self.items)

    @property
    def failed_at(self) -> int | None:
        """The index of the character that no accepted text has there; None while alive."""
        return None if self.items else self.position

    @property
    def accepted(self) -> bool:
        """Whether what was read is a text of the grammar."""
        return self._view().accepted

    def feed(self, text: str, *, cancel: Callable[[], bool] | None = None) -> State:
        """The state after the text. Linear in it unless the grammar is ambiguous.

        `cancel` is asked every few milliseconds. Raises MatchLimit, MatchCancelled.
        """
        if not self.items or not text:
            return self
        compiled, items, step, last = self._compiled, self.items, self._step, self
        plan_of = compiled.plan
        size, at = len(text), 0
        budget = Budget(self._limits, compiled.automaton, self._work, self.position + size, cancel)
        while at < size:
            budget.check(self.position + at)
            end = min(size, at - at % CHARACTERS_BETWEEN_POLLS + CHARACTERS_BETWEEN_POLLS)
            while at < end:
                if len(items) == 1:  # inside of a lexeme: no set to make
                    place, begun = items[0]
                    while not place.final:
                        char = text[at]
                        plan = place.known.get(char)
                        if plan is None:
                            plan = plan_of(place, char)
                            budget.spend(0, self.position + at)
                        target, calls = plan
                        if calls or target is None:
                            break
                        place = target
                        at += 1
                        if at == end:
                            break
                    items = ((place, begun),)
                    if at == end:
                        break
                position, now = self.position + at, step + at
                following, done = _over(compiled, items, text[at], position, now)
                budget.spend(done, position)
                if not following:
                    if at:
                        last = State(compiled, self._limits, items, position, now, budget.spent)
                    return State(compiled, self._limits, (), position, now, budget.spent, last)
                items = following
                at += 1
        return State(compiled, self._limits, items, self.position + size, step + size, budget.spent)

    def feed_token(self, token: int, text: str) -> State:
        """The state after a token of a vocabulary: by its characters, or by itself where the grammar asks for it."""
        if not self.items:
            return self
        spelled = self.feed(text)
        items = tuple(dict.fromkeys([*self._by_itself(token, text), *(spelled.items if text else ())]))
        before = None if items else (spelled._before or self)
        where = self.position + len(text) if items else spelled.position
        return State(
            self._compiled, self._limits, items, where, self._step + max(1, len(text)), self._work, before
        )

    def feed_special(self, token: int, name: str) -> State:
        """The state after a token that spells no text: by itself only, where the grammar asks for it."""
        items = tuple(dict.fromkeys(self._by_itself(token, name))) if self.items else ()
        before = None if items else (self._before or self)
        return State(self._compiled, self._limits, items, self.position, self._step + 1, self._work, before)

    def _by_itself(self, token: int, text: str) -> list[Item]:
        return [
            (place, begun)
            for item, begun in self._view().items
            for match, place in self._compiled.tokens(item)
            if (match.token in (token, text) or text == f"<{match.token}>") != match.negated
        ]

    def token_matches(self) -> tuple[TokenMatch, ...]:
        """The tokens of a vocabulary that the grammar asks for by themselves here."""
        steps = self._compiled.automaton.steps
        return tuple(dict.fromkeys(match for place, _ in self.ways for match, _ in steps(place).tokens))

    def next_chars(self) -> Ranges:
        """The characters after which it is still alive: exactly these."""
        steps = self._compiled.automaton.steps
        return chars.union(*(move.ranges for place, _ in self.ways for move in steps(place).moves))

    def expected(self, limit: int = 12) -> tuple[str, ...]:
        """The possible continuations, in words; of a dead state, those of the last living one."""
        return tuple(dict.fromkeys(found.words for found in self.expectations(limit)))

    def expectations(self, limit: int = 12) -> tuple[Expectation, ...]:
        """The possible continuations, each with its rule."""
        state = self._before or self
        if not state.items:
            return ()
        view = state._view()
        origins = self._compiled.grammar.rules
        places = ((place, begun.rule, origins[begun.rule].origin) for place, begun in view.items)
        return expectations(self._compiled.automaton, places, view.accepted, limit)

    def active_rules(self) -> tuple[ActiveRule, ...]:
        """The rules that are being read, outermost first, on one way through the grammar.

        Last comes the rule that read the last character, even if it is over with it (what it could not continue with is
        a reason); where it only waits for another rule, the one that begins here, with this position as its start.
        Of more than 200, the outermost 100 and the innermost 100.
        """
        state = self._before or self
        if not state.items:
            return ()
        automaton = self._compiled.automaton
        items = state._view().items
        informative = (
            item
            for item in items
            if item[0].longest == 0 or (steps := automaton.steps(item[0])).moves or steps.tokens
        )
        _, begun = next(informative, items[0])
        found = []
        while True:
            found.append(ActiveRule(begun.rule, begun.start, self._compiled.grammar.rules[begun.rule].origin))
            if not begun.edges:
                break
            begun = begun.edges[0][1]
        found.reverse()
        return tuple(
            found if len(found) <= MAX_ACTIVE else found[: MAX_ACTIVE // 2] + found[-MAX_ACTIVE // 2 :]
        )

    @property
    def ways(self) -> tuple[Item, ...]:
        """The items, with those of rules that end or begin here."""
        return tuple(self._view().items)

    def _view(self) -> _View:
        view = self._seen
        if view is None:
            view = self._seen = _all_next(self._compiled, self.items, self.position, self._step)
        return view


def state_before(compiled: RuleAutomata, rule: str, limits: Limits | None = None) -> State:
    """The state before a text of that rule, which is read as if it were the root; dead if there is no text of it."""
    items = ((compiled.start_of(rule), Begun(rule, 0, 0)),) if compiled.derives(rule) else ()
    return State(compiled, limits or Limits(), items, 0, 0, 0)


def _over(
    compiled: RuleAutomata, items: tuple[Item, ...], char: str, position: int, step: int
) -> tuple[tuple[Item, ...], int]:
    """The items after a character, and how many were looked at."""
    todo = list(items)
    seen = set(items)
    found: dict[Item, None] = {}
    here: dict[str, Begun] = {}
    over: set[Begun] = set()
    work = 0
    for place, begun in todo:  # it grows meanwhile
        target, calls = place.known.get(char) or compiled.plan(place, char)
        if target is not None:
            found[target, begun] = None
        if place.final and begun.step != step:
            whole = _top(begun)
            if whole not in over:
                over.add(whole)
                work += len(whole.edges)
                for edge in whole.edges:
                    if edge not in seen:
                        seen.add(edge)
                        todo.append(edge)
        for rule, after in calls:
            child = here.get(rule)
            if child is None:
                child = here[rule] = Begun(rule, position, step)
                todo.append((compiled.start_of(rule), child))
            if child is not begun or after.longest:  # a rule that is only itself again says nothing new
                child.edges.append((after, begun))
    return tuple(found), work + len(todo)


def _all_next(compiled: RuleAutomata, items: tuple[Item, ...], position: int, step: int) -> _View:
    """All items before the next character, whatever it is."""
    todo = list(items)
    seen = set(items)
    here: dict[str, Begun] = {}
    over: set[Begun] = set()
    accepted = False
    for place, begun in todo:
        if place.final:
            whole = _top(begun) if begun.step != step else begun
            accepted = accepted or not whole.edges
            if begun.step != step and whole not in over:
                over.add(whole)
                for edge in whole.edges:
                    if edge not in seen:
                        seen.add(edge)
                        todo.append(edge)
        for rule, after in compiled.calls(place):
            child = here.get(rule)
            if child is None:
                child = here[rule] = Begun(rule, position, step)
                todo.append((compiled.start_of(rule), child))
            if child is not begun or after.longest:
                child.edges.append((after, begun))
    return _View(todo, accepted)


def _top(begun: Begun) -> Begun:
    """The outermost of the rules that are over when this one is, as far as each has one caller that ends with it."""
    if begun.top is not None:
        return begun.top
    passed: list[Begun] = []
    at = begun
    while at.top is None and len(at.edges) == 1 and at.edges[0][0].longest == 0:
        passed.append(at)
        at = at.edges[0][1]
    top = at.top or at
    for one in passed:
        one.top = top
    return top
