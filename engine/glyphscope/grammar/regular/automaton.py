"""Regular bodies as deterministic automata over code points, with each state made when it is first reached.

A state (`DfaState`) is a set of terms: the possible rests of the body. Intersections are products of such automata; a
state of a product is only offered if a text leads from it to acceptance, which is searched once and cached. States
without references are freed, and all caches are dropped from time to time, so a long text in a body with large counts
needs no more memory than a short one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count, pairwise
from operator import attrgetter
from typing import TypeAlias, cast
from weakref import WeakValueDictionary

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular import derivatives
from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.traversal import bottom_up, reachable
from glyphscope.grammar.tree import Node

MAX_REMEMBERED = 60_000
"""The number of terms in the states made before caches are dropped; about a kilobyte each."""
LARGE = 16
"""The number of terms from which on making a state costs more than reading a character."""
MAX_TERMS = 20_000
"""The maximum number of terms of a state."""
MIN_RUN = 3
"""The number of characters from which on it pays to read them as a run."""
MAX_SEARCH = 200_000
"""The maximum number of states searched for a text of an intersection."""


class Automaton:
    """The automaton of a body, with all of its states.

    `call` makes the term for a reference to a rule; without it, a reference is an error. A text of an intersection is
    searched from at most `search` states.
    """

    start: derivatives.DfaState

    def __init__(
        self, call: Callable[[str], derivatives.Term] | None = None, search: int = MAX_SEARCH
    ) -> None:
        self.terms = derivatives.Terms()
        self._call = call
        self._search = search
        self._states: WeakValueDictionary[tuple[derivatives.Term, ...], derivatives.DfaState] = (
            WeakValueDictionary()
        )
        self._products: WeakValueDictionary[int, derivatives.Intersection] = WeakValueDictionary()
        self._serials = count()
        self._made = 0
        self.spent = 0
        """The work for all states made so far, in approximate microseconds."""

    @classmethod
    def of(cls, body: Node, search: int = MAX_SEARCH) -> Automaton:
        """The automaton of a body without references to rules. Raises GrammarError for a body with references."""
        automaton = cls(search=search)
        automaton.start = automaton.state_of(body)
        return automaton

    def moves(self, state: derivatives.DfaState) -> tuple[tuple[Ranges, derivatives.DfaState], ...]:
        """Disjoint sets of characters, each with the state that it leads to; a text can be accepted from every one."""
        moves = state.moves
        if moves is None:
            moves = state.moves = self._partition(self.steps(state).moves)
        return moves

    def states(self, start: derivatives.DfaState | None = None) -> Iterator[derivatives.DfaState]:
        """The first state and all states reachable from it, each made when the iterator reaches it."""
        return reachable([start or self.start], lambda state: [target for _, target in self.moves(state)])

    def after(self, state: derivatives.DfaState, char: str) -> derivatives.DfaState | None:
        """The state that the character leads to; None if there is none."""
        try:
            return state.targets[char]
        except KeyError:
            moves = self.steps(state).moves
            targets = [move.target for move in moves if chars.contains(move.ranges, char)]
            if len(state.targets) >= MAX_TERMS:
                state.targets.clear()
            found = state.targets[char] = self.state(targets) if targets else None
            return found

    def run(
        self, state: derivatives.DfaState, text: str, at: int, end: int
    ) -> tuple[derivatives.DfaState, int]:
        """The state after a run of characters of `text[at:end]` that only count in a bounded repetition, and the index
        after them: the same as by `after`, without the states between, none of which is final.
        """
        (term,) = state.terms if len(state.terms) == 1 else (self.terms.empty,)
        loop, rest = (term.head, term.tail) if isinstance(term, derivatives.Cat) else (term, self.terms.empty)
        if not isinstance(loop, derivatives.LoopTerm) or loop.maximum is None or loop.body.nullable:
            return state, at
        inner, after = self.terms.steps([loop.body]), self.terms.steps([rest])
        if inner.calls or inner.tokens or inner.intersections or after.calls or after.intersections:
            return state, at
        others = [each.ranges for each in inner.moves if each.target is not self.terms.empty]
        others += [each.ranges for each in after.moves]
        whole = [each.ranges for each in inner.moves if each.target is self.terms.empty]
        if not whole:
            return state, at
        found = _run_of(chars.subtract(chars.union(*whole), chars.union(*others))).match(text, at, end)
        length = min(found.end() - at if found else 0, loop.minimum if rest.nullable else loop.maximum)
        if length < MIN_RUN:
            return state, at
        left = self.terms.loop(loop.body, max(0, loop.minimum - length), loop.maximum - length)
        return self.state([self.terms.cat(left, rest)]), at + length

    def steps(self, state: derivatives.DfaState) -> derivatives.TermSteps:
        """All possible steps from the state."""
        steps = state.steps
        if steps is None:
            steps = self.terms.steps(state.terms)
            for both, rest in steps.intersections:
                steps.moves.extend(
                    derivatives.Move(ranges, self.terms.cat(target, rest), None)
                    for ranges, target in self._product(both)
                    if self._is_possible(target)
                )
            state.steps = steps
        return steps

    def state_of(self, body: Node) -> derivatives.DfaState:
        """The state before a text of the body. Raises GrammarError."""
        return self.state([self.term_of(body)])

    def term_of(self, body: Node) -> derivatives.Term:
        """The term of a body. Raises GrammarError."""
        return bottom_up(body, attrgetter("inner"), self._term)

    def _term(self, node: Node, parts: list[derivatives.Term]) -> derivatives.Term:
        """The term of a node, given the terms of its parts."""
        terms = self.terms
        if isinstance(node, tree.Literal):
            return terms.text(node.text)
        if isinstance(node, tree.CharClass):
            ranges = chars.complement(node.ranges) if node.negated else node.ranges
            return terms.chars(chars.intersection(ranges, chars.ALL))
        if isinstance(node, tree.Seq):
            whole = terms.empty
            for part in reversed(parts):
                whole = terms.cat(part, whole)
            return whole
        if isinstance(node, tree.Alt):
            return terms.choice(parts)
        if isinstance(node, tree.Repeat):
            return terms.loop(parts[0], node.minimum, node.maximum)
        if isinstance(node, tree.RuleRef):
            if self._call is None:
                raise GrammarError("A lexeme cannot refer to a rule.", where=node.name)
            return self._call(node.name)
        if isinstance(node, tree.Intersect):
            return terms.never if terms.never in parts else self._intersection(parts)
        if isinstance(node, tree.Except):
            return terms.complement(self.state(parts))
        if isinstance(node, tree.Unordered):
            return self._members(node, parts)
        return terms.token(node) if isinstance(node, tree.TokenMatch) else parts[0]

    def _members(self, node: tree.Unordered, parts: list[derivatives.Term]) -> derivatives.Term:
        *listed, separator = parts
        terms = self.terms
        entries = terms.entries(node, tuple(listed), separator)
        last = len(node.members)
        possible = sum(term is not terms.never for term in listed[:last])
        if entries.dead & node.required or (listed[last] is terms.never and possible < node.low):
            return terms.never
        some = terms.members(entries, due=True)
        if node.leading:
            some = terms.cat(separator, some)
        return terms.choice((terms.empty, some)) if node.may_end(0, 0) else some

    def state(self, terms: Iterable[derivatives.Term]) -> derivatives.DfaState:
        """The state of these terms."""
        key = tuple(merged(self.terms, terms))
        state = self._states.get(key)
        if state is None:
            if len(key) > MAX_TERMS:
                raise GrammarError(
                    f"More than {MAX_TERMS:,} ways through a rule or lexeme are open at once.",
                    hint="Make its repetitions smaller, or its alternatives begin differently.",
                )
            check_time()
            self._made += len(key)
            self.spent += len(key) if len(key) < LARGE else 10 * len(key)
            if self._made > MAX_REMEMBERED:
                self._forget()
            state = self._states[key] = derivatives.DfaState(next(self._serials), key)
        return state

    def _forget(self) -> None:
        self._made = 0
        self.terms.forget()
        for state in list(self._states.values()):
            state.forget()
        for both in list(self._products.values()):
            both.product = None

    def _partition(self, moves: list[derivatives.Move]) -> tuple[tuple[Ranges, derivatives.DfaState], ...]:
        if len(moves) == 1:
            return ((moves[0].ranges, self.state([moves[0].target])),)
        by_state: dict[derivatives.DfaState, list[tuple[int, int]]] = {}
        for indices, ranges in _pieces(tuple(move.ranges for move in moves)):
            state = self.state([moves[index].target for index in indices])
            by_state.setdefault(state, []).extend(ranges)
        return tuple(sorted(((chars.union(r), state) for state, r in by_state.items()), key=lambda m: m[0]))

    def _intersection(self, parts: list[derivatives.Term]) -> derivatives.Term:
        both = self.terms.intersection(self.state([part]) for part in parts)
        return both if self._is_possible(both) else self.terms.never

    def _product(self, both: derivatives.Intersection) -> list[tuple[Ranges, derivatives.Intersection]]:
        """The moves of an intersection, including those that never lead to acceptance."""
        product = both.product
        if product is None and isinstance(both, derivatives.Complement):
            product = both.product = self._complement_moves(both.states[0])
            self._products[both.serial] = both
        if product is None:
            # each state's moves are disjoint: a character with a move of every state is in as many sets
            moves = [move for state in both.states for move in self.moves(state)]
            product = both.product = [
                (ranges, self.terms.intersection([moves[index][1] for index in indices]))
                for indices, ranges in sorted(_pieces(tuple([ranges for ranges, _ in moves])))
                if len(indices) == len(both.states)
            ]
            self._products[both.serial] = both
        return product

    def _complement_moves(self, state: derivatives.DfaState) -> list[tuple[Ranges, derivatives.Intersection]]:
        """The moves of a complement; after a character without a move in the state, any text follows."""
        moves = self.moves(state)
        free = chars.complement(chars.union(*(ranges for ranges, _ in moves)))
        listed = [(ranges, self.terms.complement(target)) for ranges, target in moves]
        return [*listed, *([(free, self.terms.complement(self.state(())))] if free else [])]

    def _is_possible(self, start: derivatives.Intersection) -> bool:
        """Whether the intersection contains any text; the results for the visited states are cached.

        States nearer to acceptance are visited first: a string of 10 to 1,000 characters has a text of 10.
        """
        if start.possible is not None:
            return start.possible
        sources: dict[derivatives.Intersection, list[derivatives.Intersection]] = {start: []}
        waiting, done = [(start.shortest, 0, start)], False
        while waiting and not done:
            check_time()
            _, _, both = heappop(waiting)
            for _, target in self._product(both):
                if target not in sources:
                    if target.possible is None:
                        heappush(waiting, (target.shortest, -len(sources), target))
                    sources[target] = []
                sources[target].append(both)
                done = done or target.possible is True
            if len(sources) > MAX_SEARCH or len(sources) - len(waiting) > self._search:
                raise GrammarError(
                    f"Whether an intersection holds any text is not decided after {self._search:,} states.",
                    hint="Make the bounds of its lengths smaller, or its patterns simpler.",
                )
        for both in reachable([s for s in sources if s.possible], sources.__getitem__):
            both.possible = True
        undecided = set(reachable((both for _, _, both in waiting), sources.__getitem__))
        for both in sources:
            if both.possible is None and both not in undecided:
                both.possible = False
        return bool(start.possible)


@lru_cache(maxsize=512)
def _run_of(ranges: Ranges) -> re.Pattern[str]:
    listed = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
    return re.compile(f"[{listed}]+" if ranges else "(?!)")


@lru_cache(maxsize=512)
def _pieces(listed: tuple[Ranges, ...]) -> tuple[tuple[tuple[int, ...], Ranges], ...]:
    """The characters of these sets by the sets that they are in; the sets of many states are the same."""
    edges = sorted(
        edge
        for index, ranges in enumerate(listed)
        for low, high in ranges
        for edge in ((low, index), (high + 1, index))
    )
    pieces: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    inside: set[int] = set()
    for (code, index), (following, _) in pairwise(edges):
        inside ^= {index}
        if inside and code < following:
            pieces.setdefault(tuple(sorted(inside)), []).append((code, following - 1))
    return tuple((indices, tuple(ranges)) for indices, ranges in pieces.items())


_Shape: TypeAlias = tuple[tuple[object, ...], tuple[tuple[int, int], ...]]


def merged(terms: derivatives.Terms, listed: Iterable[derivatives.Term]) -> list[derivatives.Term]:
    """The same language in fewer terms: terms that differ only in the bounds of their repetitions are merged.

    Without this, `([a-z]{1,3}){0,1000}` would need hundreds of terms for every character.
    """
    distinct = [term for term in dict.fromkeys(listed) if term is not terms.never]
    if len(distinct) < 2:
        return distinct
    groups: dict[tuple[object, ...], dict[tuple[tuple[int, int], ...], derivatives.Term]] = {}
    plain: list[derivatives.Term] = []
    for term in distinct:
        if term.shape is None:
            term.shape = _shape(term)
        skeleton, counts = term.shape
        if counts:
            groups.setdefault(skeleton, {})[counts] = term
        else:
            plain.append(term)
    for skeleton, rows in groups.items():
        joined = _joined_counts(list(rows)) if len(rows) > 1 else rows
        plain += [rows.get(row) or _rebuilt(terms, skeleton, row) for row in joined]
    if terms.empty in plain and any(term.nullable for term in plain if term is not terms.empty):
        plain.remove(terms.empty)
    return sorted(plain, key=lambda term: term.serial)


_SPINE = 6  # compared pieces of a term


def _shape(term: derivatives.Term) -> _Shape:
    """The term without the bounds of its first repetitions, and these bounds."""
    skeleton: list[object] = []
    counts: list[tuple[int, int]] = []
    for _ in range(_SPINE):
        head = term.head if isinstance(term, derivatives.Cat) else term
        if isinstance(head, derivatives.LoopTerm):
            skeleton.append((head.body,))
            counts.append((head.minimum, derivatives.ENDLESS if head.maximum is None else head.maximum))
        else:
            skeleton.append(head)
        if not isinstance(term, derivatives.Cat):
            return tuple(skeleton), tuple(counts)
        term = term.tail
    skeleton.append(term)
    return tuple(skeleton), tuple(counts)


def _rebuilt(
    terms: derivatives.Terms, skeleton: tuple[object, ...], counts: tuple[tuple[int, int], ...]
) -> derivatives.Term:
    whole = terms.empty
    left = list(counts)
    for piece in reversed(skeleton):
        if isinstance(piece, derivatives.Term):
            part = piece
        else:
            low, high = left.pop()
            (body,) = cast(tuple[derivatives.Term], piece)
            part = terms.loop(body, low, None if high == derivatives.ENDLESS else high)
        whole = terms.cat(part, whole)
    return whole


def _joined_counts(rows: list[tuple[tuple[int, int], ...]]) -> list[tuple[tuple[int, int], ...]]:
    """Rows of intervals, merged if they differ in only one interval and touch there; covered rows are dropped."""
    width = len(rows[0])
    before = 0
    while before != len(rows):
        before = len(rows)
        for column in range(width):
            by_others: dict[object, list[tuple[int, int]]] = {}
            for row in rows:
                by_others.setdefault((row[:column], row[column + 1 :]), []).append(row[column])
            rows = []
            for others, intervals in by_others.items():
                start, end = cast(tuple[tuple[tuple[int, int], ...], ...], others)
                rows += [(*start, interval, *end) for interval in chars.union(intervals)]
    if width > 1 and 1 < len(rows) <= 64:
        rows = [row for row in rows if not any(other != row and _covers(other, row) for other in rows)]
    return rows


def _covers(one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> bool:
    return all(a[0] <= b[0] and b[1] <= a[1] for a, b in zip(one, other, strict=True))
