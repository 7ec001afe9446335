"""The shortest text that one grammar accepts and the other rejects, or a proof that there is none.

Both grammars are joined, with equivalent rules merged. Then pairs of states are searched from both start rules, in the
order of their shortest completions. Each set of characters that all states treat alike is followed once; pairs with the
same continuations count as one pair, and pairs whose two states have the same continuations are not followed. If the
search ends, the answer is exact. With unbounded nesting it may not end; then the answer is true within the reported
bound.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from typing import NamedTuple

from glyphscope.base.errors import GrammarError
from glyphscope.base.figures import duration
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import MatchCancelled, MatchLimit, State, state_before
from glyphscope.grammar.match.futures import Futures, open_moves
from glyphscope.grammar.match.longest import LEXEME_ENDS, state_kind, with_lexeme_ends
from glyphscope.grammar.match.report import Compiled
from glyphscope.grammar.tree import Grammar, Node, Rule, RuleRef, TokenMatch, alt, refs, replace_refs, walk

_LIKED = "a0A_- .,;:xbz19"
"""The preferred representatives of a set of characters, in this order."""


@dataclass(frozen=True)
class Bound:
    """The bound of the search in each direction: pairs of states, characters of a text, seconds."""

    pairs: int = 60_000
    characters: int = 4_000
    seconds: float = 20.0


DEFAULT_BOUND = Bound()

_MAX_ROUNDS = 300  # of refinement: the longest chain of rules before a difference
_MIN_ROUNDS = 8
_MAX_SHAPES = 200_000  # rules compared in all rounds together, in about two seconds


class Differences(NamedTuple):
    """A text that only the first grammar accepts, and one that only the second accepts; None if none was found.

    `exhausted`: the search was complete, so two Nones prove that both languages are the same. `bound` describes how far
    the search went.
    """

    only_first: str | None
    only_second: str | None
    exhausted: bool
    bound: str

    @property
    def same(self) -> bool:
        """Whether no difference was found within the bound."""
        return self.only_first is None and self.only_second is None


class _Outcome(NamedTuple):
    """The result of one direction: the text if one was found; otherwise how far the search went and why it stopped."""

    text: str | None
    exhausted: bool
    pairs: int
    length: int
    why: str


def shortest_differences(
    first: Grammar,
    second: Grammar,
    *,
    bound: Bound = DEFAULT_BOUND,
    cancelled: Callable[[], bool] = lambda: False,
) -> Differences:
    """The differences of the grammars. Raises GrammarError for an invalid grammar, MatchCancelled.

    Tokens that a grammar names (`<think>`) are not characters: differences that depend only on them are not found.
    """
    kinds = state_kind(first), state_kind(second)
    try:
        joined, roots = _joined(with_lexeme_ends(first), with_lexeme_ends(second))
    except RecursionError:
        raise GrammarError(
            "A rule is nested too deeply to be compared.", hint="Give its inner parts separate names."
        ) from None
    compiled = Compiled(joined)
    starts = [state_before(compiled, root, kind=kind) for root, kind in zip(roots, kinds)]
    one = _Search(starts[0], starts[1], bound, cancelled).run()
    other = _Search(starts[1], starts[0], bound, cancelled).run()
    exhausted = (one.exhausted or one.text is not None) and (other.exhausted or other.text is not None)
    return Differences(one.text, other.text, exhausted, _in_words(one, other, joined))


def _in_words(one: _Outcome, other: _Outcome, joined: Grammar) -> str:
    cut = [outcome for outcome in (one, other) if outcome.text is None and not outcome.exhausted]
    words = "every pair of states was followed"
    if cut:
        pairs, length = max(outcome.pairs for outcome in cut), min(outcome.length for outcome in cut)
        words = (
            f"no difference in texts of up to {length:,} characters ({pairs:,} pairs of states; {cut[0].why})"
        )
    if any(
        isinstance(node, TokenMatch) and node not in LEXEME_ENDS
        for rule in joined.rules.values()
        for node in walk(rule.body)
    ):
        words += "; tokens that are named are not compared"
    return words


class _Search:
    """Searches for a text that `first` accepts and `second` does not."""

    def __init__(self, first: State, second: State, bound: Bound, cancelled: Callable[[], bool]) -> None:
        self._begin = first, second
        self._bound, self._cancelled = bound, cancelled
        self._futures = Futures()

    def run(self) -> _Outcome:
        first, second = self._begin
        if not first.alive:
            return _Outcome(None, True, 0, 0, "")
        serial = count()
        # by the least length of an accepted text; among equals, the longer prefix first, as it is nearer to its end
        waiting = [(self._futures.least(first), 0, next(serial), first, second, "")]
        nearest = {self._pair(first, second): 0}
        until = time.monotonic() + self._bound.seconds
        done = 0
        while waiting:
            length, _, _, first, second, text = heapq.heappop(waiting)
            if len(text) > nearest[self._pair(first, second)]:
                continue  # a shorter text to this pair was found meanwhile
            if first.accepted and not second.accepted:
                return _Outcome(text, False, done, len(text), "")
            if self._cancelled():
                raise MatchCancelled("The comparison was stopped.")
            why = self._cut(done, len(nearest), length, until)
            if why:
                return _Outcome(None, False, done, max(0, min(length - 1, self._bound.characters)), why)
            done += 1
            size = len(text) + 1
            try:
                for char in representatives(open_moves(first), open_moves(second)):
                    after, beside = first.feed(char), second.feed(char)
                    pair = self._pair(after, beside)
                    if after.alive and pair[0] != pair[1] and size < nearest.get(pair, size + 1):
                        nearest[pair] = size
                        least = size + self._futures.least(after)
                        heapq.heappush(waiting, (least, -size, next(serial), after, beside, text + char))
            except MatchLimit as error:
                return _Outcome(None, False, done, max(0, length - 1), error.message)
        return _Outcome(None, True, done, 0, "")

    def _pair(self, first: State, second: State) -> tuple[int, int]:
        return self._futures.key(first), self._futures.key(second)

    def _cut(self, done: int, seen: int, length: int, until: float) -> str:
        bound = self._bound
        if max(done, seen // 3) >= bound.pairs:
            return f"the bound is {bound.pairs:,} pairs"
        if length > bound.characters:
            return f"the bound is {bound.characters:,} characters"
        if time.monotonic() > until:
            return f"the bound is {duration(bound.seconds)}"
        return ""


def representatives(first: list[Ranges], second: list[Ranges]) -> Iterator[str]:
    """One character for each class of characters that are in the same sets, and in at least one of the first ones."""
    edges: dict[int, list[int]] = {}
    ours = set(range(len(first)))
    for index, ranges in enumerate([*first, *second]):
        for low, high in ranges:
            edges.setdefault(low, []).append(index)
            edges.setdefault(high + 1, []).append(index)
    pieces: dict[frozenset[int], list[tuple[int, int]]] = {}
    inside: set[int] = set()
    for low, following in pairwise(sorted(edges)):
        inside ^= set(edges[low])
        if inside & ours:
            pieces.setdefault(frozenset(inside), []).append((low, following - 1))
    for piece in pieces.values():
        yield _one_of(tuple(piece))


def _one_of(ranges: Ranges) -> str:
    for char in _LIKED:
        if chars.contains(ranges, char):
            return char
    for start, end in ((0x21, 0x7E), (0xA1, 0xD7FF)):
        for low, high in ranges:
            if max(low, start) <= min(high, end) and chr(max(low, start)).isprintable():
                return chr(max(low, start))
    return chr(ranges[0][0])


def _joined(first: Grammar, second: Grammar) -> tuple[Grammar, tuple[str, str]]:
    """One grammar with the rules of both, equivalent ones merged, and the start rule of each."""
    bodies: dict[tuple[int, str], Node] = {}
    for side, grammar in enumerate((first, second)):
        for name, rule in grammar.rules.items():
            bodies[side, name] = replace_refs(rule.body, lambda ref, side=side: RuleRef(f"{side}.{ref}"))  # type: ignore[misc]
    named = {f"{side}.{name}": body for (side, name), body in bodies.items()}
    for body in named.values():
        for ref in refs(body):
            if ref not in named:
                raise GrammarError(f"The rule {ref.partition('.')[2]!r} is not defined.", where="grammar")
    group = _grouped(named)
    rules = {
        f"r{number}": Rule(f"r{number}", replace_refs(named[name], lambda ref: RuleRef(f"r{group[ref]}")))
        for name, number in group.items()
    }
    roots = f"r{group[f'0.{first.root}']}", f"r{group[f'1.{second.root}']}"
    # a new root, so that the rules of both grammars are reached
    whole = Rule("call", alt(*(RuleRef(root) for root in roots)))
    return Grammar({**rules, "call": whole}, "call"), roots


def _grouped(named: dict[str, Node]) -> dict[str, int]:
    """The equivalence classes of rules that no number of expansions distinguishes (as in Moore's algorithm)."""
    group = dict.fromkeys(named, 0)
    templates = _templates(named)
    for _ in range(min(_MAX_ROUNDS, max(_MIN_ROUNDS, _MAX_SHAPES // len(named)))):
        refined = _refined(templates, group)
        if len(set(refined.values())) == len(set(group.values())):
            return refined
        group = refined
    return {name: number for number, name in enumerate(named)}  # undecided: no rules are merged


class _Template(NamedTuple):
    """A rule's body with numbers instead of the names in `refs`; rules with equal bodies share it."""

    body: Node
    number: int
    refs: tuple[str, ...]


def _templates(named: dict[str, Node]) -> dict[str, _Template]:
    numbers: dict[Node, int] = {}
    templates = {}
    for name, body in named.items():
        places = {ref: place for place, ref in enumerate(dict.fromkeys(refs(body)))}
        blank = replace_refs(body, lambda ref, places=places: RuleRef(str(places[ref])))  # type: ignore[misc]
        templates[name] = _Template(blank, numbers.setdefault(blank, len(numbers)), tuple(places))
    return templates


def _refined(templates: dict[str, _Template], group: dict[str, int]) -> dict[str, int]:
    shapes: dict[Node, int] = {}
    known: dict[tuple[int, tuple[int, ...]], int] = {}  # the shape of a template with these groups
    numbers: dict[tuple[int, int], int] = {}
    refined = {}
    for name, template in templates.items():
        groups = tuple([group[ref] for ref in template.refs])
        shape = known.get((template.number, groups))
        if shape is None:
            body = replace_refs(template.body, lambda place, groups=groups: RuleRef(str(groups[int(place)])))  # type: ignore[misc]
            shape = known[template.number, groups] = shapes.setdefault(body, len(shapes))
        refined[name] = numbers.setdefault((group[name], shape), len(numbers))
    return refined
