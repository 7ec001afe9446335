"""Budgets of tokens under a mask: an answer is complete within its limit, and reasoning ends within its budget.

Beside the mask's parser, a second parser of the same rules (`grammar/match`) starts once the tokens left may be as few
as a completion needs. From then on, the mask admits a token only if a known completion still fits after it. The cost
of a completion is counted in this vocabulary's tokens (`match/remaining.py`), each literal and character separately;
some token always lowers it by one, so once a completion fits, one stays reachable at every step. If none fits, the
whole shortest text is cut into as few tokens as possible, and only these are admitted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glyphscope.base.errors import GrammarError
from glyphscope.events import Narrowed
from glyphscope.grammar import chars
from glyphscope.grammar.match.earley import MatchLimits, State
from glyphscope.grammar.match.futures import open_moves
from glyphscope.grammar.match.remaining import MAX_PIECES, UNIT, Remaining
from glyphscope.grammar.match.report import Compiled
from glyphscope.grammar.packed import unpack
from glyphscope.grammar.reach import open_ended
from glyphscope.grammar.shortest import TOO_MUCH
from glyphscope.grammar.tree import Node, TokenMatch, walk
from glyphscope.models.decoding.rows import Allowed
from glyphscope.models.decoding.token_ends import DEAD, DONE, OUTSIDE, End, TokenEnds, codes_of
from glyphscope.models.decoding.token_texts import Numbers, Spelling

NEVER = 1 << 30
"""The cost in tokens if there is no completion."""
_REASONING = re.compile(r"reasoning(-cut)?(-\d+)*")
"""The rules whose text is reasoning, up to and including the marker that ends it."""
_LIMITS = MatchLimits(items=300_000)  # half a second of an ambiguous grammar


class Ways(NamedTuple):
    """The places that a mask's tokens lead to: `ends` has the place after each token of the vocabulary, `places` are
    the distinct places after allowed tokens."""

    allowed: NDArray[np.bool_]
    ends: Numbers
    places: NDArray[np.intp]

    def those(self, good: NDArray[np.bool_]) -> NDArray[np.bool_]:
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

    def ways(self, allowed: NDArray[np.bool_]) -> Ways:
        """The places that the mask's tokens lead to."""
        key = (self.state.items, self._pending)
        if self._ways is None or self._of != key or not np.array_equal(self._ways.allowed, allowed):
            ends = self._ends_of(allowed)
            counts = np.bincount(ends, minlength=OUTSIDE + 1)
            counts[OUTSIDE] = 0
            self._ways = Ways(allowed.copy(), ends, np.flatnonzero(counts))
            self._of = key
        return self._ways

    def _ends_of(self, allowed: NDArray[np.bool_]) -> Numbers:
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

    def _by_themselves(self, found: Numbers, allowed: NDArray[np.bool_]) -> None:
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


class TokenBudget:
    """One generation's budget, consulted before each choice; `tokens` are the answer's tokens so far.

    `near`: no completion takes more tokens than that, so nothing is checked before; None if unknown. `reasoning` is
    the number of tokens after which reasoning must end. `takes` returns whether the mask could continue with a token.
    Once a grammar turns out to be too ambiguous, there is no budget any longer.
    """

    def __init__(
        self,
        rules: bytes,
        near: int | None,
        spelling: Spelling,
        takes: Callable[[int], bool],
        reasoning: int | None = None,
    ) -> None:
        self._rules = rules
        # plus an end token
        self._near = near + 1 if near is not None and spelling.has_plain_bytes else NEVER
        self._spelling = spelling
        self._takes = takes
        self._most_reasoning = reasoning
        self._soon = NEVER if reasoning is None else reasoning
        self._reader: AnswerReader | None = None
        self._planned: list[int] = []
        self._read = 0
        self._off = False

    def least(self, tokens: Sequence[int], left: int) -> int:
        """The fewest tokens that complete the answer, if they may be more than are `left`; otherwise 0."""
        if left > self._near:
            return 0
        try:
            reader = self._synced(tokens)
            if not reader.state.alive or reader.cost <= left:
                return 0
            planned = reader.plan()
        except GrammarError:
            self._off = True
            return 0
        return 0 if planned is None or len(planned) <= left else len(planned)

    def fitting(self, tokens: Sequence[int], forced: list[int], left: int) -> list[int]:
        """The first of the forced tokens, after which a completion still fits."""
        if self._off or not forced or left - len(forced) > self._near:
            return forced
        try:
            return self._fitting(tokens, forced, left)
        except GrammarError:
            self._off = True
            return forced

    def narrowed(self, tokens: Sequence[int], allowed: Allowed, left: int) -> tuple[Allowed, Narrowed]:
        """The mask reduced to tokens whose completion fits in `left` tokens, and the budget that is the reason."""
        if self._off or (left > self._near and len(tokens) < self._soon):
            return allowed, ""
        try:
            return self._narrowed(tokens, allowed, left)
        except GrammarError:
            self._off = True
            return allowed, ""

    def _fitting(self, tokens: Sequence[int], forced: list[int], left: int) -> list[int]:
        reader = self._synced(tokens)
        if self._tight(reader, left):
            planned = self._plan(reader, left)
            if planned is None:
                return forced
            return [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(forced, planned))]
        costs = reader.costs_along(forced)
        for count in range(len(forced), 0, -1):
            if costs[count - 1] <= left - count:
                return forced[:count]
        return [] if reader.state.alive else forced

    def _narrowed(self, tokens: Sequence[int], mask: Allowed, left: int) -> tuple[Allowed, Narrowed]:
        reader = self._synced(tokens)
        if not reader.state.alive:  # the mask parses the text differently: nothing is known
            self._off = True
            return mask, ""
        tight = self._tight(reader, left)
        ways = reader.ways(mask.bools)
        good = reader.costs(ways) <= left - 1
        kind: Narrowed = "tokens"
        if self._reasoning_is_over(reader, len(tokens)):
            closing = good & (reader.exits(ways) < reader.exit)
            if closing.any() and (closing != good).any():
                good, kind = closing, "reasoning"
        if good.all() and not tight:
            return mask, ""
        planned = self._plan(reader, left) if tight or not good.any() else []
        if planned is None:
            self._off = tight
            return mask, ""
        narrow = ways.those(good)
        if planned and (planned[0] in mask or (not good.any() and self._takes(planned[0]))):
            narrow[planned[0]] = True
        if not narrow.any():
            return mask, ""
        return (Allowed.of(narrow), kind) if (narrow != mask.bools).any() else (mask, "")

    def _tight(self, reader: AnswerReader, left: int) -> bool:
        """Whether no known completion fits; one without an end token is better than none."""
        tight = reader.cost > left
        if tight and self._plan(reader, left) is None and reader.without_end():
            return reader.cost > left
        return tight

    def _plan(self, reader: AnswerReader, left: int) -> list[int] | None:
        """The tokens of the shortest text from here on, if they fit."""
        if not self._planned:
            self._planned = reader.plan() or []
        return self._planned if self._planned and len(self._planned) <= left else None

    def _reasoning_is_over(self, reader: AnswerReader, count: int) -> bool:
        if self._most_reasoning is None:
            return False
        missing = self._most_reasoning - reader.reasoned
        self._soon = count + missing
        return missing <= 0 and reader.exit > 0

    def _synced(self, tokens: Sequence[int]) -> AnswerReader:
        """The reader after the tokens."""
        if self._reader is None:
            self._reader = AnswerReader(self._rules, self._spelling, self._most_reasoning is not None)
        new = list(tokens[self._read :])
        self._read = len(tokens)
        for token in new:
            self._planned = self._planned[1:] if self._planned and token == self._planned[0] else []
        self._reader.read(new)
        return self._reader
