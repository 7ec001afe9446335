"""The lexemes with which a lexer that takes the longest match and never goes back would lose texts.

A lexeme is in conflict if it can continue a text of another lexeme, or its own text, with a character that may follow
there in the grammar, or with another character with the same first byte, because the lexer reads bytes.

The characters that continue a text of one lexeme in another are found by reading both automata together (`_search`) and
cached by pair: the tools of a registry have most of their lexemes in common, and so do the rounds of a partition.
Lexemes too large to be read count as being in conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.lark.follow_sets import FollowSets
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.regular.strings import string_node
from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.tree import Except, Grammar, Literal, Node, Repeat, Terminal, with_parts

MAX_STATES = 8_000  # of two lexemes that are read together
MAX_SEARCHED = 40_000  # states in total, for one grammar
MAX_REMEMBERED = 5_000  # lexemes

_FEW = 4  # repetitions that are counted in the first, cheap search


class _TooManyStates(Exception):
    pass


class _Automata(NamedTuple):
    """A lexeme's first state, the same without upper bounds of repetitions (`unbounded`), and its first characters.

    `quoted`: each text is a JSON string. No JSON string is a prefix of another, so they are never in conflict.
    """

    start: DfaState
    unbounded: DfaState
    first: Ranges
    quoted: bool = False


class _Continuation(NamedTuple):
    """The characters that continue a text of one lexeme in another, and the number of states read to find them."""

    characters: Ranges
    states: int


class LexemeConflicts:
    """Finds and caches the conflicts of lexemes. `searches` counts the pairs that were read together."""

    def __init__(self) -> None:
        self.searches = 0
        self._forget()

    def _forget(self) -> None:
        self._automaton = Automaton()
        string = string_node("json")
        assert isinstance(string, Terminal)
        self._string = self._automaton.state_of(string.body)
        self._known: dict[Node, _Automata | None] = {}  # None if too large
        self._pairs: dict[tuple[DfaState, DfaState], _Continuation] = {}

    def among(self, grammar: Grammar, lexemes: Iterable[Node], follow: FollowSets) -> set[Node]:
        """The grammar's lexemes that are in conflict. Raises GrammarError if the time limit is exceeded.

        `follow` has read earlier rounds of the same partition, or nothing.
        """
        if len(self._known) > MAX_REMEMBERED:
            self._forget()
        listed = list(lexemes)  # their indices are their numbers below
        automata = [self._automata_of(lexeme) for lexeme in listed]
        firsts = [chars.ALL if one is None else one.first for one in automata]
        follow.read(grammar, dict(zip(listed, firsts, strict=True)))
        after = [chars.with_same_first_byte(follow.of(lexeme)) for lexeme in listed]
        literals = {
            lexeme.text: number for number, lexeme in enumerate(listed) if isinstance(lexeme, Literal)
        }
        nonliterals = [number for number, lexeme in enumerate(listed) if not isinstance(lexeme, Literal)]
        in_conflict = {number for number, one in enumerate(automata) if one is None}
        in_conflict.update(_continuing_literals(literals, after))
        budget = MAX_SEARCHED
        for number in nonliterals:
            check_time()
            one = automata[number]
            if one is None:
                in_conflict.update(nonliterals if after[number] else ())
                continue
            for text, literal in literals.items():
                literal_continues, continued = self._with_literal(one, text, after[number], after[literal])
                if literal_continues:
                    in_conflict.add(literal)
                if continued:
                    in_conflict.add(number)
            for other in nonliterals:
                second = automata[other]
                if after[number] and other not in in_conflict and second is not None:
                    continues, states = self._continues(one, second, after[number], budget)
                    budget -= states
                    if continues:
                        in_conflict.add(other)
        return {listed[number] for number in in_conflict}

    def _automata_of(self, lexeme: Node) -> _Automata | None:
        if lexeme not in self._known:
            self._known[lexeme] = self._compile(lexeme)
        return self._known[lexeme]

    def _compile(self, lexeme: Node) -> _Automata | None:
        if isinstance(lexeme, Literal):  # read directly, without an automaton
            state = self._automaton.state(())
            return _Automata(state, state, ((ord(lexeme.text[0]),) * 2,))
        try:
            start, unbounded = (self._automaton.state_of(node) for node in (lexeme, _without_bounds(lexeme)))
            return _Automata(start, unbounded, self._next(start), self._is_within(unbounded, self._string))
        except GrammarError:
            return None

    def _with_literal(
        self, one: _Automata, text: str, after: Ranges, after_text: Ranges
    ) -> tuple[bool, bool]:
        """Whether the literal continues a text of the lexeme, and whether the lexeme continues the literal.

        `after` are the characters that may follow the lexeme, `after_text` those that may follow the literal.
        """
        state, continues = one.start, False
        for at, char in enumerate(text):
            continues = continues or (at > 0 and state.final and chars.contains(after, char))
            following = self._automaton.after(state, char)
            if following is None:
                return continues, False
            state = following
        return continues, bool(chars.intersection(self._next(state), after_text))

    def _continues(self, one: _Automata, other: _Automata, after: Ranges, budget: int) -> tuple[bool, int]:
        """Whether `other` continues a text of `one`, and the number of states read to decide that."""
        if (one.quoted and other.quoted) or not chars.intersection(one.first, other.first):
            return False, 0
        states = 0
        # without upper bounds they have fewer states and more texts; without a conflict there, there is none at all
        for start, second in ((one.unbounded, other.unbounded), (one.start, other.start)):
            if states > budget:
                return True, states
            continuation = self._continuation(start, second)
            states += continuation.states
            if not chars.intersection(continuation.characters, after):
                return False, states
        return True, states

    def _continuation(self, one: DfaState, other: DfaState) -> _Continuation:
        known = self._pairs.get((one, other))
        if known is None:
            self.searches += 1
            try:
                known = self._search(one, other)
            except (GrammarError, _TooManyStates):  # automata limit their states and their terms per state
                known = _Continuation(chars.ALL, MAX_STATES)
            self._pairs[one, other] = known
        return known

    def _search(self, one: DfaState, other: DfaState) -> _Continuation:
        characters: list[Ranges] = []
        states = 0
        for left, right in self._pairs_from(self._after_a_character(one, other)):
            states += 1
            if left.final:
                characters.append(self._next(right))
        return _Continuation(chars.union(*characters), states)

    def _pairs_from(self, waiting: list[tuple[DfaState, DfaState]]) -> Iterator[tuple[DfaState, DfaState]]:
        """The pairs of states to which the same texts lead from these. Raises _TooManyStates."""
        seen = set(waiting)
        while waiting:
            left, right = waiting.pop()
            yield left, right
            for pair in self._after_a_character(left, right):
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)
            if len(seen) > MAX_STATES:
                raise _TooManyStates

    def _after_a_character(self, one: DfaState, other: DfaState) -> list[tuple[DfaState, DfaState]]:
        """The pairs of states to which the same character leads."""
        if one is other:
            return [(target, target) for _, target in self._automaton.moves(one)]
        moves = self._automaton.moves(other)
        return [
            (target, second)
            for ranges, target in self._automaton.moves(one)
            for more, second in moves
            if chars.intersection(ranges, more)
        ]

    def _is_within(self, one: DfaState, other: DfaState) -> bool:
        """Whether every text of `one` is a text of `other`; also False if `other` has too many states."""
        try:
            return not any(
                (left.final and not right.final) or chars.subtract(self._next(left), self._next(right))
                for left, right in self._pairs_from([(one, other)])
            )
        except _TooManyStates:
            return False

    def _next(self, state: DfaState) -> Ranges:
        """The characters that may come next."""
        return chars.union(*(ranges for ranges, _ in self._automaton.moves(state)))


def _continuing_literals(literals: dict[str, int], after: Sequence[Ranges]) -> Iterator[int]:
    """The literals that continue another literal with a character that may follow it."""
    for text, number in literals.items():
        beginnings = ((text[:size], text[size]) for size in range(1, len(text)))
        if any(
            start in literals and chars.contains(after[literals[start]], char) for start, char in beginnings
        ):
            yield number


def _without_bounds(node: Node) -> Node:
    """The node without upper bounds of long repetitions: a text of 1 to 1000 characters needs 1000 states."""
    if isinstance(node, Except):
        return node
    unbounded = with_parts(node, map(_without_bounds, node.inner))
    if not isinstance(unbounded, Repeat):
        return unbounded
    most = None if unbounded.maximum is None or unbounded.maximum > _FEW else unbounded.maximum
    return Repeat(unbounded.body, min(unbounded.minimum, _FEW), most)
