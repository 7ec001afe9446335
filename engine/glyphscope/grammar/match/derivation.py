"""One derivation of an accepted text, as a tree of rules with spans.

The text is read backwards, with the reversed grammar, because then the leftmost part of each rule is decided last: of
several derivations, the one with the longest parts, from the left, can be chosen while reading. The parts of a rule are
a linked list; a chain of rules that end together is one link until the tree is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

from glyphscope.grammar.match.earley import CHARACTERS_BETWEEN_POLLS, Budget, Limits, MatchLimit
from glyphscope.grammar.match.rule_automata import RuleAutomata
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.traversal import bottom_up
from glyphscope.grammar.tree import ByIdentity, Grammar

MAX_RULES = 1_000_000
"""The maximum number of rules in a derivation, including those tried while reading; about half a kilobyte each."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Derivation:
    """A rule that derives the characters from `start` to `end` (exclusive), and the rules inside, from left to right.

    Rules that derive the empty text are omitted.
    """

    rule: str
    start: int
    end: int
    children: tuple[Derivation, ...]


class _Frame:
    """Like `earley.Frame`, with the parts read before each edge. `step` is the rule's end, from the end of the text."""

    __slots__ = ("edges", "last", "order", "rule", "serial", "step", "top")

    def __init__(self, rule: str, order: int, step: int, serial: int) -> None:
        self.rule = rule
        self.order = order
        self.step = step
        self.serial = serial
        self.edges: list[tuple[DfaState, _Frame, _Link]] = []
        self.top: _Frame | None = None  # the outermost rule that is complete with this one, once known
        self.last: _Frame | None = None  # the last rule before that one


class _Completed(NamedTuple):
    """A complete rule, from `frame.step` to `end`, both from the end of the text. `parts` are linked from the left."""

    frame: _Frame
    end: int
    parts: _Link


class _Jump(NamedTuple):
    """The parts of a rule that ends with a chain of rules: from `last`, which is one of the parts, to `inner`."""

    inner: _Completed
    last: _Frame


_Link: TypeAlias = "tuple[_Link, _Completed] | _Jump | None"
_Item: TypeAlias = tuple[DfaState, _Frame]


def derive(
    grammar: Grammar,
    text: str,
    *,
    limits: Limits | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Derivation | None:
    """A derivation of the text, always the same one; None if the grammar does not accept it.

    Of several, the one with the longest parts, from the left; of equally long parts, the rule that is first in the
    grammar. Raises GrammarError, MatchLimit, MatchCancelled.
    """
    compiled = _backwards(ByIdentity(grammar))
    if compiled.is_empty:
        return None
    done = _Reader(compiled, len(text), limits or Limits(), cancel).read(text)
    return None if done is None else _tree(done, len(text))


@lru_cache(maxsize=4)
def _backwards(key: ByIdentity[Grammar]) -> RuleAutomata:
    return RuleAutomata(key.value, backwards=True)


class _Reader:
    """Reads a text backwards with Earley's algorithm, as in `earley`; each item has the best parts that lead to it."""

    def __init__(
        self, compiled: RuleAutomata, size: int, limits: Limits, cancel: Callable[[], bool] | None
    ) -> None:
        self.compiled = compiled
        self.budget = Budget(limits, compiled.automaton, 0, size, cancel)
        self.orders = {name: order for order, name in enumerate(compiled.grammar.rules)}
        self.size = size
        self.made = 0  # frames

    def read(self, text: str) -> _Completed | None:
        compiled = self.compiled
        root = compiled.grammar.root
        first = self._begin(root, 0)
        items: dict[_Item, _Link] = {(compiled.start_of(root), first): None}
        for step, char in enumerate(reversed(text)):
            if step % CHARACTERS_BETWEEN_POLLS == 0:
                self.budget.check(len(text) - step)
            if len(items) == 1:
                (((place, frame), link),) = items.items()
                target, calls = compiled.plan(place, char)
                if target is not None and not calls and not place.final:
                    items = {(target, frame): link}
                    continue
            self._close(items, step)
            items = self._after(items, char, step)
            if not items:
                return None
        if not text:
            return _Completed(first, 0, None) if any(place.final for place, _ in items) else None
        return self._close(items, len(text))

    def _begin(self, rule: str, step: int) -> _Frame:
        self.made += 1
        if self.made > MAX_RULES:
            raise MatchLimit(
                f"The derivation has more than {MAX_RULES:,} rules.",
                hint="Derive a shorter text; matching needs no tree.",
            )
        return _Frame(rule, self.orders[rule], step, self.made)

    def _after(self, items: dict[_Item, _Link], char: str, step: int) -> dict[_Item, _Link]:
        """The items after a character."""
        compiled = self.compiled
        following: dict[_Item, _Link] = {}
        predicted: dict[str, _Frame] = {}
        todo = list(items.items())
        for (place, frame), link in todo:  # grows in this loop
            target, calls = compiled.plan(place, char)
            if target is not None and (
                (target, frame) not in following or self._better(link, following[target, frame])
            ):
                following[target, frame] = link
            for rule, after in calls:
                child = predicted.get(rule)
                if child is None:
                    child = predicted[rule] = self._begin(rule, step)
                    todo.append(((compiled.start_of(rule), child), None))
                if child is not frame or after.longest:
                    child.edges.append((after, frame, link))
        self.budget.spend(len(todo), self.size - step)
        return following

    def _close(self, items: dict[_Item, _Link], step: int) -> _Completed | None:
        """Add the items after the rules that are complete here. Returns the root if it is complete.

        Inner rules are first: those that began later and, of those that began together, those called by others.
        """
        whole: _Completed | None = None
        closing: dict[_Frame, _Link] = {}
        closed: set[_Frame] = set()
        heap: list[tuple[int, int, _Frame]] = []

        def close(frame: _Frame, link: _Link) -> None:
            if frame in closed:
                return
            if frame not in closing:
                heappush(heap, (-frame.step, -frame.serial, frame))
                closing[frame] = link
            elif self._better(link, closing[frame]):
                closing[frame] = link

        for (place, frame), link in items.items():
            if place.final and frame.step != step:
                close(frame, link)
        while heap:
            frame = heappop(heap)[2]
            closed.add(frame)
            done = _Completed(frame, step, closing[frame])
            top = _top(frame)
            if top is not frame:
                assert frame.last is not None
                close(top, _Jump(done, frame.last))
                continue
            if not frame.edges:
                whole = done
            self.budget.spend(len(frame.edges), self.size - step)
            for after, parent, link in frame.edges:
                item, longer = (after, parent), (link, done)
                if item not in items or self._better(longer, items[item]):
                    items[item] = longer
                    if after.final and parent.step != step:
                        close(parent, longer)
        return whole

    def _better(self, one: _Link, other: _Link) -> bool:
        """Whether the parts of `one`, from the left, begin earlier, are longer, or belong to earlier rules."""
        while one is not None and other is not None and one is not other:
            mine, end, one = _first(one)
            self.budget.spend(1, self.size - end)
            its, other_end, other = _first(other)
            left, right = (-end, mine.step, mine.order), (-other_end, its.step, its.order)
            if left != right:
                return left < right
        return False


def _top(frame: _Frame) -> _Frame:
    """The outermost rule that is complete when this one is; see `earley`."""
    if frame.top is not None:
        return frame.top
    passed: list[_Frame] = []
    at = frame
    while at.top is None and len(at.edges) == 1 and at.edges[0][0].longest == 0:
        passed.append(at)
        at = at.edges[0][1]
    top, last = (at, passed[-1]) if at.top is None and passed else (at.top or at, at.last)
    for one in passed:
        one.top, one.last = top, last
    return top


def _first(link: tuple[_Link, _Completed] | _Jump) -> tuple[_Frame, int, _Link]:
    """The leftmost part, its end, and the parts after it."""
    if isinstance(link, _Jump):
        return link.last, link.inner.end, link.last.edges[0][2]
    return link[1].frame, link[1].end, link[0]


def _tree(whole: _Completed, size: int) -> Derivation:
    """The tree of a rule's parts, built from the leaves."""

    def make(done: _Completed, children: list[Derivation]) -> Derivation:
        return Derivation(done.frame.rule, size - done.end, size - done.frame.step, tuple(children))

    return bottom_up(whole, _parts, make)


def _parts(done: _Completed) -> list[_Completed]:
    """The rules directly in a rule, from left to right."""
    link = done.parts
    if isinstance(link, _Jump):
        inner = link.inner
        while True:
            _, parent, before = inner.frame.edges[0]
            link = (before, inner)
            if parent is done.frame:
                break
            inner = _Completed(parent, done.end, link)
    parts = []
    while link is not None:
        assert not isinstance(link, _Jump), "only a whole rule is a jump"
        link, part = link
        parts.append(part)
    return parts
