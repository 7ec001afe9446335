"""An answer under a mask, parsed by the same rules: the cost of completing it, and the place after each token."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glyphscope.decoding.sampler import Allowed
from glyphscope.decoding.token_ends import DEAD, DONE, OUTSIDE, End, TokenEnds, codes_of
from glyphscope.decoding.token_texts import Numbers, Spelling
from glyphscope.grammar import chars
from glyphscope.grammar.match.earley import Limits, State
from glyphscope.grammar.match.futures import open_moves
from glyphscope.grammar.match.remaining import MAX_PIECES, UNIT, Remaining
from glyphscope.grammar.match.report import Compiled
from glyphscope.grammar.packed import unpack
from glyphscope.grammar.reach import open_ended
from glyphscope.grammar.shortest import TOO_MUCH
from glyphscope.grammar.tree import Node, TokenMatch, walk

NEVER = 1 << 30
"""The cost in tokens if there is no completion."""
_REASONING = re.compile(r"reasoning(-cut)?(-\d+)*")
"""The rules whose text is reasoning, up to and including the marker that ends it."""
_LIMITS = Limits(items=300_000)  # half a second of an ambiguous grammar


class Ways(NamedTuple):
    """The places that a mask's tokens lead to: `ends` has the place after each token of the vocabulary, `places` are
    the distinct places after allowed tokens."""

    allowed: Allowed
    ends: Numbers
    places: NDArray[np.intp]

    def those(self, good: NDArray[np.bool_]) -> Allowed:
        """The mask of the tokens that lead to the places that are `good` (shape (places,))."""
        by_number = np.zeros(max(OUTSIDE, int(self.places.max(initial=0))) + 1, dtype=np.bool_)
        by_number[self.places] = good
        return by_number[self.ends]


class AnswerReader:
    """Parses the answer so far. Costs are in tokens, `NEVER` if there is no completion.

    If a complete text could be longer, an end token must follow it, which is counted too (`_end`).
    """

    def __init__(self, rules: bytes, spelling: Spelling, counts_reasoning: bool) -> None:
        """Raises GrammarError."""
        grammar = unpack(rules)
        self._spelling = spelling
        self._numbered = any(_names_text_tokens(rule.body, spelling) for rule in grammar.rules.values())
        compiled = Compiled(grammar)
        self._remaining = Remaining(compiled, spelling)
        self._counts_reasoning = counts_reasoning
        self.reasoned = 0
        self.state = compiled.start(_LIMITS)
        self._pending = b""
        self._end = int(bool(spelling.ends) and open_ended(grammar))
        self._ends = TokenEnds(spelling)
        self._places: list[End] = []
        self._costs: dict[int, int] = {}
        self._exits: dict[int, int] = {}
        self._ways: Ways | None = None
        self._of: object = None

    def read(self, tokens: Sequence[int]) -> None:
        """Advance by generated tokens."""
        for token in tokens:
            if self._counts_reasoning:
                self.reasoned += self.exit > 0
            self.state, self._pending = self._after(self.state, self._pending, token)

    def _after(self, state: State, pending: bytes, token: int) -> tuple[State, bytes]:
        piece = self._spelling.pieces[token]
        if token in self._spelling.special:
            return state.feed_special(token, piece.decode("utf-8", errors="replace")), b""
        data = pending + piece
        try:
            text, half = data.decode(), b""
        except UnicodeDecodeError as error:
            text, half = data[: error.start].decode(), data[error.start :]
        if self._numbered and not pending:
            by_itself = state.feed_special(token, text)
            if by_itself.alive:  # as llguidance reads it, whatever it spells
                return by_itself, b""
        return state.feed(text), half

    @property
    def cost(self) -> int:
        """The cost of completing the text."""
        return self._cost(self.state, self._pending)

    @property
    def exit(self) -> int:
        """The cost of leaving the reasoning; 0 outside of it."""
        return _tokens(self._leaving(self.state))

    def _leaving(self, state: State) -> int:
        return self._remaining.leaving(state, _is_reasoning)

    def without_end(self) -> bool:
        """Count no end token from now on; returns whether it was counted before."""
        counted, self._end = self._end, 0
        self._costs = {DEAD: NEVER, DONE: 0}
        return bool(counted)

    def _to_end(self, state: State) -> int:
        return min(TOO_MUCH, self._remaining.of(state) + self._end * UNIT)

    def _cost(self, state: State | None, pending: bytes) -> int:
        return self._rest(state, pending, self._to_end)

    def _rest(self, state: State | None, pending: bytes, cost: Callable[[State], int]) -> int:
        if state is None:
            return NEVER
        if not pending:
            return _tokens(cost(state))
        return min(
            (
                spelled + _tokens(cost(state.feed(char)))
                for char in characters_from(state, pending)
                if (spelled := self._spelled(char.encode()[len(pending) :])) is not None
            ),
            default=NEVER,
        )

    def _spelled(self, data: bytes) -> int | None:
        tokens = self._spelling.tokens(data)
        return None if tokens is None else len(tokens)

    def costs_along(self, tokens: Sequence[int]) -> list[int]:
        """The cost of completing the text after each of the tokens."""
        state, pending, found = self.state, self._pending, []
        for token in tokens:
            state, pending = self._after(state, pending, token)
            found.append(self._cost(state, pending))
        return found

    def ways(self, allowed: Allowed) -> Ways:
        """The places that the mask's tokens lead to."""
        key = (self.state.items, self._pending)
        if self._ways is None or self._of != key or not np.array_equal(self._ways.allowed, allowed):
            ends = self._ends_of(allowed)
            counts = np.bincount(ends, minlength=OUTSIDE + 1)
            counts[OUTSIDE] = 0
            self._ways = Ways(allowed.copy(), ends, np.flatnonzero(counts))
            self._of = key
        return self._ways

    def _ends_of(self, allowed: Allowed) -> Numbers:
        spelling, state = self._spelling, self.state
        found = self._ends.ends(state, self._pending, allowed)
        if self._ends.places is not self._places:
            self._places = self._ends.places
            self._costs, self._exits = {DEAD: NEVER, DONE: 0}, {DEAD: NEVER, DONE: 0}
        if self._pending:
            return found
        for token in np.flatnonzero(spelling.apart & allowed).tolist():
            number = self._ends.after_special(state, token)
            if number == DEAD and token in spelling.ends and state.accepted:
                number = DONE
            found[token] = number if token in spelling.special else max(number, int(found[token]))
        if self._numbered:
            self._by_themselves(found, allowed)
        return found

    def _by_themselves(self, found: Numbers, allowed: Allowed) -> None:
        """Fill in the places after tokens that the grammar names, whatever they spell; negated matches share one."""
        matches = self.state.token_matches()
        named = [match.token for match in matches if isinstance(match.token, int)]
        if any(match.negated for match in matches):
            other = next((token for token in np.flatnonzero(allowed).tolist() if token not in named), None)
            if other is not None:
                found[allowed] = self._ends.after_special(self.state, other)
        for token in named:
            if token < allowed.size and allowed[token]:
                found[token] = self._ends.after_special(self.state, token) or found[token]

    def costs(self, ways: Ways) -> Numbers:
        """The cost of completing the text at each of the places."""
        return self._numbers(ways, self._costs, self._to_end)

    def exits(self, ways: Ways) -> Numbers:
        """The cost of leaving the reasoning at each of the places."""
        return self._numbers(ways, self._exits, self._leaving)

    def _numbers(self, ways: Ways, known: dict[int, int], cost: Callable[[State], int]) -> Numbers:
        places = ways.places.tolist()
        for place in places:
            if place not in known:
                end = self._places[place]
                known[place] = min(NEVER, end.missing + self._rest(end.state, end.pending, cost))
        return np.array([known[place] for place in places], dtype=np.int32)

    def plan(self) -> list[int] | None:
        """The tokens of the shortest text that completes this one; None if there is none."""
        if self.cost >= NEVER:
            return None
        state, data, tokens = self.state, b"", list[int]()
        if self._pending:
            spelled = [
                (left + _tokens(self._remaining.of(state.feed(char))), char)
                for char in characters_from(state, self._pending)
                if (left := self._spelled(char.encode()[len(self._pending) :])) is not None
            ]
            char = min(spelled)[1]
            state, data = state.feed(char), char.encode()[len(self._pending) :]
        for _ in range(MAX_PIECES):
            piece = self._remaining.next_piece(state)
            if piece is not None and piece.token is None:
                state, data = state.feed(piece.text), data + piece.text.encode("utf-8", "surrogatepass")
                continue
            spelt = self._spelling.tokens(data)
            if spelt is None:
                return None
            tokens += spelt
            if piece is None or piece.token is None:
                return tokens + sorted(self._spelling.ends)[: self._end]
            token = self._spelling.matching(piece.token)
            if token is None:
                return None
            tokens.append(token)
            state, _ = self._after(state, b"", token)
            data = b""
        return None


def characters_from(state: State, pending: bytes) -> list[str]:
    """The possible characters that begin with these bytes of UTF-8: the first and the last one of each range."""
    low, high, _ = codes_of(pending)
    found: dict[str, None] = {}
    for ranges in open_moves(state):
        for first, last in chars.intersection(ranges, ((low, high),)):
            found[chr(first)] = found[chr(last)] = None
    return list(found)


def _tokens(cost: int) -> int:
    return NEVER if cost >= TOO_MUCH else min(NEVER, cost // UNIT)


def _is_reasoning(rule: str) -> bool:
    return _REASONING.fullmatch(rule) is not None


def _names_text_tokens(body: Node, spelling: Spelling) -> bool:
    """Whether the rule names tokens that also spell text, or excludes some."""
    return any(
        node.negated or (isinstance(node.token, int) and node.token not in spelling.special)
        for node in walk(body)
        if isinstance(node, TokenMatch)
    )
