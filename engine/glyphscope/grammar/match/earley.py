"""Matching of texts: Earley's algorithm over characters, with automata instead of dotted rules.

An item is a place in a rule's body (a state of its automaton) together with that rule's frame, a node of a
graph-structured stack, which knows where the callers continue when the rule is complete. Sets of earlier items are
freed as soon as no frame refers to them, so a long text in a flat grammar needs no more memory than a short one. A
chain of rules that are complete together is one step (`_top`, Leo 1991), which keeps right-recursive lists linear.
Rules that cannot begin with the next character are not predicted.

`State` is the interface. `_scan` reads a character; `_closure_of` finds all continuations without reading one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

from glyphscope.base.errors import GlyphscopeError, GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.rule_automata import RuleAutomata
from glyphscope.grammar.match.words import Continuation, expectations
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.tree import Origin, TokenMatch

WORK_PER_CHARACTER = 40
"""The number of items allowed per character of the text; an unambiguous grammar needs fewer."""
CHARACTERS_BETWEEN_POLLS = 2048
WORK_BETWEEN_POLLS = 10_000
"""`cancel` is polled after this many characters or items, whichever is first: every few milliseconds."""
MAX_ACTIVE = 200
"""The maximum number of rules that `State.active_rules` lists."""


@dataclass(frozen=True, slots=True)
class MatchLimits:
    """The limit of matching: `items` plus `WORK_PER_CHARACTER`. A million takes seconds and at most 0.5 GB."""

    items: int = 3_000_000


class MatchLimit(GrammarError):
    """The grammar has too many ways to read a text."""


class MatchCancelled(GlyphscopeError):
    """Matching was stopped by `cancel`."""


class Budget:
    """Counts the work for a text of `size` characters, including its automata, and polls `cancel` from time to time."""

    def __init__(
        self,
        limits: MatchLimits,
        automaton: Automaton,
        spent: int,
        size: int,
        cancel: Callable[[], bool] | None,
    ) -> None:
        self._limits = limits
        self._automaton = automaton
        self._done = spent - automaton.spent
        self._allowed = limits.items + WORK_PER_CHARACTER * size
        self._cancel = cancel
        self._next = 0

    @property
    def spent(self) -> int:
        """The work so far, in items."""
        return self._done + self._automaton.spent

    def spend(self, items: int, position: int) -> None:
        """Add the work of a step. Raises MatchLimit, MatchCancelled."""
        self._done += items
        if self._done + self._automaton.spent > self._next:
            self.check(position)

    def check(self, position: int) -> None:
        """Check the limit and poll `cancel` now. Raises MatchLimit, MatchCancelled."""
        self._next = self.spent + WORK_BETWEEN_POLLS
        if self._cancel is not None and self._cancel():
            raise MatchCancelled("Matching was stopped.")
        if self.spent > self._allowed:
            raise MatchLimit(
                "The grammar reads the text in too many ways: "
                f"more than {self._limits.items:,} steps by character {position}.",
                hint="Make its alternatives begin differently, or match a shorter text.",
            )


class Frame:
    """A rule entered at the character `start`. `edges`: where its callers continue when it is complete."""

    __slots__ = ("edges", "rule", "start", "step", "top")

    def __init__(self, rule: str, start: int, step: int) -> None:
        self.rule = rule
        self.start = start
        self.step = step  # like `start`, but also counts tokens without characters
        self.edges: list[Item] = []
        self.top: Frame | None = None  # see `_top`; None while unknown


Item: TypeAlias = tuple[DfaState, Frame]


class ActiveRule(NamedTuple):
    """A rule being read, from the character `start` on. `origin`: its place in a tool's schema, if any."""

    name: str
    start: int
    origin: Origin | None


class _Closure(NamedTuple):
    """All continuations: the items, including those they predict and complete, and whether the text may end."""

    items: list[Item]
    accepted: bool


class State:
    """The state after the text read so far. It is immutable: `feed` returns a new state, and this one can be fed again.

    A state is dead if no accepted text begins with the text so far; its expectations are those of the last living one.
    """

    __slots__ = ("_before", "_compiled", "_known_closure", "_limits", "_step", "_work", "items", "position")

    def __init__(
        self, compiled: RuleAutomata, limits: MatchLimits, items: tuple[Item, ...], position: int, step: int, work: int,
        before: State | None = None,
    ) -> None:  # fmt: skip
        self._compiled = compiled
        self._limits = limits
        self._step = step
        self._work = work
        self._before = before
        self._known_closure: _Closure | None = None
        self.items = items
        """The items right after the last character. States with equal items have the same continuations."""
        self.position = position
        """The number of characters read while alive."""

    @property
    def alive(self) -> bool:
        """Whether an accepted text begins with the text so far."""
        return bool(self.items)

    @property
    def failed_at(self) -> int | None:
        """The index of the first character that no accepted text has at that place; None while alive."""
        return None if self.items else self.position

    @property
    def accepted(self) -> bool:
        """Whether the grammar accepts the text so far."""
        return self._closure().accepted

    def feed(self, text: str, *, cancel: Callable[[], bool] | None = None) -> State:
        """The state after the text. Takes linear time unless the grammar is ambiguous.

        `cancel` is called every few milliseconds. Raises MatchLimit, MatchCancelled.
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
                if len(items) == 1:  # as for most characters, inside a lexeme: no set is made
                    place, frame = items[0]
                    while not place.final:
                        char = text[at]
                        plan = place.known.get(char)
                        if plan is None:
                            place, at = compiled.automaton.run(place, text, at, end)
                            if at == end or place.final:
                                break
                            char = text[at]
                            plan = plan_of(place, char)
                            budget.spend(0, self.position + at)
                        target, calls = plan
                        if calls or target is None:
                            break
                        place = target
                        at += 1
                        if at == end:
                            break
                    items = ((place, frame),)
                    if at == end:
                        break
                position, now = self.position + at, step + at
                following, work = _scan(compiled, items, text[at], position, now)
                budget.spend(work, position)
                if not following:
                    if at:
                        last = self._of(items, position, now, budget.spent)
                    return self._of((), position, now, budget.spent, last)
                items = following
                at += 1
        return self._of(items, self.position + size, step + size, budget.spent)

    def feed_token(self, token: int, text: str) -> State:
        """The state after a token of a vocabulary, read as its characters or as a token that the grammar names."""
        if not self.items:
            return self
        spelled = self.feed(text)
        items = tuple(dict.fromkeys([*self._as_token(token, text), *(spelled.items if text else ())]))
        before = None if items else (spelled._before or self)
        where = self.position + len(text) if items else spelled.position
        return self._of(items, where, self._step + max(1, len(text)), self._work, before)

    def feed_special(self, token: int, name: str) -> State:
        """The state after a token without text, which is only possible if the grammar names it."""
        items = tuple(dict.fromkeys(self._as_token(token, name))) if self.items else ()
        before = None if items else (self._before or self)
        return self._of(items, self.position, self._step + 1, self._work, before)

    def _of(
        self, items: tuple[Item, ...], position: int, step: int, work: int, before: State | None = None
    ) -> Self:
        return type(self)(self._compiled, self._limits, items, position, step, work, before)

    def _as_token(self, token: int, text: str) -> list[Item]:
        return [
            (place, frame)
            for item, frame in self._closure().items
            for match, place in self._compiled.tokens(item)
            if (match.token in (token, text) or text == f"<{match.token}>") != match.negated
        ]

    def token_matches(self) -> tuple[TokenMatch, ...]:
        """The vocabulary's tokens that the grammar names here."""
        steps = self._compiled.automaton.steps
        return tuple(dict.fromkeys(match for place, _ in self.ways for match, _ in steps(place).tokens))

    def next_chars(self) -> Ranges:
        """The characters after which the state is still alive."""
        steps = self._compiled.automaton.steps
        return chars.union(*(move.ranges for place, _ in self.ways for move in steps(place).moves))

    def expected(self, limit: int = 12) -> tuple[str, ...]:
        """The possible continuations in words; for a dead state, those of the last living one."""
        return tuple(dict.fromkeys(expectation.words for expectation in self.expectations(limit)))

    def expectations(self, limit: int = 12) -> tuple[Continuation, ...]:
        """The possible continuations, each with its rule."""
        state = self._before or self
        if not state.items:
            return ()
        closure = state._closure()
        origins = self._compiled.grammar.rules
        places = ((place, frame.rule, origins[frame.rule].origin) for place, frame in closure.items)
        return expectations(self._compiled.automaton, places, closure.accepted, limit)

    def active_rules(self) -> tuple[ActiveRule, ...]:
        """The rules being read, outermost first, on one path through the grammar.

        The last one is the rule that read the last character, even if it is complete, because it explains a failing
        continuation; if it only waits for another rule, the rule that begins here. If there are more than `MAX_ACTIVE`,
        the outermost and innermost halves.
        """
        state = self._before or self
        if not state.items:
            return ()
        automaton = self._compiled.automaton
        items = state._closure().items
        informative = (
            item
            for item in items
            if item[0].longest == 0 or (steps := automaton.steps(item[0])).moves or steps.tokens
        )
        _, frame = next(informative, items[0])
        rules = []
        while True:
            rules.append(ActiveRule(frame.rule, frame.start, self._compiled.grammar.rules[frame.rule].origin))
            if not frame.edges:
                break
            frame = frame.edges[0][1]
        rules.reverse()
        return tuple(
            rules if len(rules) <= MAX_ACTIVE else rules[: MAX_ACTIVE // 2] + rules[-MAX_ACTIVE // 2 :]
        )

    @property
    def ways(self) -> tuple[Item, ...]:
        """The items, including those added by rules that end or begin here."""
        return tuple(self._closure().items)

    def _closure(self) -> _Closure:
        closure = self._known_closure
        if closure is None:
            closure = self._known_closure = _closure_of(self._compiled, self.items, self.position, self._step)
        return closure


def state_before(
    compiled: RuleAutomata, rule: str, limits: MatchLimits | None = None, kind: type[State] = State
) -> State:
    """The state before a text of `rule`, read as if it were the root; dead if the rule derives no text."""
    items = ((compiled.start_of(rule), Frame(rule, 0, 0)),) if compiled.derives(rule) else ()
    return kind(compiled, limits or MatchLimits(), items, 0, 0, 0)


def _scan(
    compiled: RuleAutomata, items: tuple[Item, ...], char: str, position: int, step: int
) -> tuple[tuple[Item, ...], int]:
    """The items after a character, and the number of items visited."""
    todo = list(items)
    seen = set(items)
    following: dict[Item, None] = {}
    predicted: dict[str, Frame] = {}
    completed: set[Frame] = set()
    work = 0
    for place, frame in todo:  # grows in this loop
        target, calls = place.known.get(char) or compiled.plan(place, char)
        if target is not None:
            following[target, frame] = None
        if place.final and frame.step != step:
            top = _top(frame)
            if top not in completed:
                completed.add(top)
                work += len(top.edges)
                for edge in top.edges:
                    if edge not in seen:
                        seen.add(edge)
                        todo.append(edge)
        for rule, after in calls:
            child = predicted.get(rule)
            if child is None:
                child = predicted[rule] = Frame(rule, position, step)
                todo.append((compiled.start_of(rule), child))
            if child is not frame or after.longest:  # a rule that only derives itself adds nothing
                child.edges.append((after, frame))
    return tuple(following), work + len(todo)


def _closure_of(compiled: RuleAutomata, items: tuple[Item, ...], position: int, step: int) -> _Closure:
    """All items before the next character, whatever it is. Like `_scan`, but no character selects the rules."""
    todo = list(items)
    seen = set(items)
    predicted: dict[str, Frame] = {}
    completed: set[Frame] = set()
    accepted = False
    for place, frame in todo:
        if place.final:
            top = _top(frame) if frame.step != step else frame
            accepted = accepted or not top.edges
            if frame.step != step and top not in completed:
                completed.add(top)
                for edge in top.edges:
                    if edge not in seen:
                        seen.add(edge)
                        todo.append(edge)
        for rule, after in compiled.calls(place):
            child = predicted.get(rule)
            if child is None:
                child = predicted[rule] = Frame(rule, position, step)
                todo.append((compiled.start_of(rule), child))
            if child is not frame or after.longest:
                child.edges.append((after, frame))
    return _Closure(todo, accepted)


def _top(frame: Frame) -> Frame:
    """The outermost rule that is complete when this one is, as long as each has one caller that ends with it."""
    if frame.top is not None:
        return frame.top
    passed: list[Frame] = []
    at = frame
    while at.top is None and len(at.edges) == 1 and at.edges[0][0].longest == 0:
        passed.append(at)
        at = at.edges[0][1]
    top = at.top or at
    for one in passed:
        one.top = top
    return top
