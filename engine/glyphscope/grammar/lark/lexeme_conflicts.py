"""Which lexemes could swallow the beginning of what follows another one: what a lexer that never goes back would lose.

A lexeme does so after another one where a text of that one goes on in it with a character that may follow in the
grammar, or with another of the same first byte: the lexer reads bytes, and `é` is in its way where `ñ` follows. Which
characters these are is looked for in two lexemes at a time, and remembered: the tools of a registry have most of their
lexemes in common, and a grammar that is cut again has most of those it had before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from glyphscope.errors import GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.lark.follow_sets import FollowSets
from glyphscope.grammar.patience import check_time
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import Place
from glyphscope.grammar.regular.strings import string_node
from glyphscope.grammar.tree import Alt, Grammar, Intersect, Literal, Node, Repeat, Seq, Terminal

MAX_STATES = 8_000  # of two lexemes that are read together
MAX_SEARCHED = 40_000  # states in all, for one grammar
MAX_KEPT = 5_000  # lexemes that are remembered

_FEW = 4  # repetitions that are counted at first


class _Common(NamedTuple):
    """The characters with which a text of one lexeme goes on in another, and the states it took to find them."""

    onward: Ranges
    states: int


class _Known(NamedTuple):
    """Where a lexeme starts, and where it does without the upper bounds of its repetitions. None: it is too large.

    `quoted`: each text is a JSON string. None of these begins another one, so they never swallow each other.
    """

    start: Place | None
    loose: Place | None
    first: Ranges
    quoted: bool = False


class LexemeConflicts:
    """What is known of lexemes. `searches` counts the pairs that were read together."""

    def __init__(self) -> None:
        self.searches = 0
        self._begin()

    def _begin(self) -> None:
        self._automaton = Automaton()
        string = string_node("json")
        assert isinstance(string, Terminal)
        self._string = self._automaton.place_of(string.body)
        self._known: dict[Node, _Known] = {}
        self._pairs: dict[tuple[Place, Place], _Common] = {}

    def among(self, grammar: Grammar, lexemes: Iterable[Node]) -> set[Node]:
        """Those of the grammar's lexemes that could swallow. What is too much to search counts as one of them."""
        if len(self._known) > MAX_KEPT:
            self._begin()
        listed = list(lexemes)
        known = [self._of(lexeme) for lexeme in listed]
        follows = FollowSets(
            grammar, {lexeme: facts.first for lexeme, facts in zip(listed, known, strict=True)}
        )
        after = [chars.with_same_first_byte(follows.of(number)) for number in range(len(listed))]
        words = {lexeme.text: number for number, lexeme in enumerate(listed) if isinstance(lexeme, Literal)}
        found = {lexeme for lexeme, facts in zip(listed, known, strict=True) if facts.start is None}
        found |= {listed[number] for number in _longer(words, after)}
        others = [number for number, lexeme in enumerate(listed) if not isinstance(lexeme, Literal)]
        left = MAX_SEARCHED
        for one in others:
            check_time()
            for text, number in words.items():
                swallowed, conflicts = self._with_word(known[one], text, after[one], after[number])
                found |= ({listed[number]} if swallowed else set()) | ({listed[one]} if conflicts else set())
            for other in others:
                if listed[other] not in found and after[one]:
                    goes_on, states = self._continues(known[one], known[other], after[one], left)
                    left -= states
                    if goes_on:
                        found.add(listed[other])
        return found

    def _of(self, lexeme: Node) -> _Known:
        known = self._known.get(lexeme)
        if known is None:
            known = self._known[lexeme] = self._looked_up(lexeme)
        return known

    def _looked_up(self, lexeme: Node) -> _Known:
        if isinstance(lexeme, Literal):
            place = self._automaton.place(())  # literals are read as they are
            return _Known(place, place, ((ord(lexeme.text[0]),) * 2,))
        try:
            start, loose = (self._automaton.place_of(node) for node in (lexeme, _loosened(lexeme)))
            return _Known(start, loose, self._onward(start), self._within(loose, self._string))
        except GrammarError:
            return _Known(None, None, chars.ALL)

    def _within(self, one: Place, other: Place) -> bool:
        """Whether every text of the one is among the other's; False also where that is too much to decide."""
        waiting = [(one, other)]
        seen = set(waiting)
        while waiting:
            left, right = waiting.pop()
            if left.final and not right.final:
                return False
            moves = self._automaton.moves(right)
            onward = chars.union(*(ranges for ranges, _ in moves))
            for ranges, target in self._automaton.moves(left):
                if chars.subtract(ranges, onward):
                    return False
                for more, second in moves:
                    if (target, second) not in seen and chars.intersection(ranges, more):
                        seen.add((target, second))
                        waiting.append((target, second))
            if len(seen) > MAX_STATES:
                return False
        return True

    def _with_word(self, one: _Known, text: str, after: Ranges, after_text: Ranges) -> tuple[bool, bool]:
        """Whether the literal could swallow after the lexeme, and the lexeme after the literal."""
        place, conflicts = one.start, False
        if place is None:
            return False, True
        for at, char in enumerate(text):
            if at and place.final:
                conflicts = conflicts or _has(after, char)
            place = self._automaton.after(place, char)
            if place is None:
                return conflicts, False
        return conflicts, bool(chars.intersection(self._onward(place), after_text))

    def _continues(self, one: _Known, other: _Known, after: Ranges, left: int) -> tuple[bool, int]:
        """Whether the other could swallow after the one, and the states it took to decide that."""
        if one.start is None or other.start is None or one.loose is None or other.loose is None:
            return True, 0
        if (one.quoted and other.quoted) or not chars.intersection(one.first, other.first):
            return False, 0
        states = 0
        for start, second in ((one.loose, other.loose), (one.start, other.start)):
            if states > left:
                return True, states
            common = self._pair(start, second)
            states += common.states
            if not chars.intersection(common.onward, after):
                return False, states
        return True, states

    def _pair(self, one: Place, other: Place) -> _Common:
        known = self._pairs.get((one, other))
        if known is None:
            self.searches += 1
            try:
                known = self._search(one, other)
            except GrammarError:  # more ways at once than an automaton takes
                known = _Common(chars.ALL, MAX_STATES)
            self._pairs[one, other] = known
        return known

    def _search(self, one: Place, other: Place) -> _Common:
        waiting = self._together(one, other)
        seen = set(waiting)
        onward: list[Ranges] = []
        while waiting:
            left, right = waiting.pop()
            if left.final:
                onward.append(self._onward(right))
            for pair in self._together(left, right):
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)
            if len(seen) > MAX_STATES:
                return _Common(chars.ALL, len(seen))
        return _Common(chars.union(*onward), len(seen))

    def _together(self, one: Place, other: Place) -> list[tuple[Place, Place]]:
        if one is other:
            return [(target, target) for _, target in self._automaton.moves(one)]
        moves = self._automaton.moves(other)
        return [
            (target, second)
            for ranges, target in self._automaton.moves(one)
            for more, second in moves
            if chars.intersection(ranges, more)
        ]

    def _onward(self, place: Place) -> Ranges:
        return chars.union(*(ranges for ranges, _ in self._automaton.moves(place)))


def _longer(words: dict[str, int], after: Sequence[Ranges]) -> Iterable[int]:
    """The literals that go on after another one with a character that may follow it."""
    for text, number in words.items():
        for size in range(1, len(text)):
            shorter = words.get(text[:size])
            if shorter is not None and _has(after[shorter], text[size]):
                yield number
                break


def _has(ranges: Ranges, char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in ranges)


def _loosened(node: Node) -> Node:
    """The node without the upper bounds of its long repetitions: a text of 1 to 1000 characters is 1000 states."""
    if isinstance(node, Repeat):
        most = None if node.maximum is None or node.maximum > _FEW else node.maximum
        return Repeat(_loosened(node.body), min(node.minimum, _FEW), most)
    if isinstance(node, Alt):
        return Alt(tuple(_loosened(option) for option in node.options))
    if isinstance(node, Seq | Intersect):
        return type(node)(tuple(_loosened(part) for part in node.parts))
    return node
