"""The states that the tokens of a vocabulary lead to from a state of the grammar, for all tokens at once.

The characters of all tokens are processed side by side: a state determines which characters lead to the same state, so
each step is a lookup in a table, which is made on first use. In a string, nearly all tokens consist of characters of
one such set; the place that these lead to depends only on the number of characters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import State
from glyphscope.grammar.match.futures import open_moves
from glyphscope.models.decoding.token_texts import Numbers, Spelling

DEAD = 0
"""The number of the place where nothing can be completed."""
DONE = 1
"""The number of the place after an end token."""
OUTSIDE = 2
"""The number for tokens that are not requested."""
MANY = 2000
"""From this number of tokens on, the tokens of one set of characters are handled first."""
MAX_PLACES = 3000
"""Places that are remembered, with their tables."""
MAX_NEW = 400
"""Places explored for one step. Tokens that lead beyond them count as dead ends, which is safe and quick."""


class _Sets(NamedTuple):
    """Sets of characters that lead to the same state. `classes` has the set of each of the vocabulary's code points;
    set 0 leads nowhere. Code points from `bounds[n]` on are in the set `owners[n]`. `examples` has one of each set.
    """

    classes: Numbers
    examples: list[str]
    bounds: list[int]
    owners: list[int]

    def of_all(self, first: int, last: int) -> int:
        """The set of all code points from `first` to `last`; 0 if they are in several, or in one without an example."""
        place = bisect_right(self.bounds, first) - 1
        whole = place >= 0 and (place + 1 == len(self.bounds) or last < self.bounds[place + 1])
        return self.owners[place] if whole else 0


class _Table:
    """The transitions at a place: `targets` are the places that each set of characters leads to."""

    __slots__ = ("classes", "examples", "sets", "targets")

    def __init__(self, sets: _Sets) -> None:
        self.sets = sets
        self.classes, self.examples = sets.classes, sets.examples
        self.targets = np.full(len(sets.examples), -1, dtype=np.int32)
        self.targets[0] = DEAD


class End(NamedTuple):
    """A state, the bytes of an incomplete character after it, and the missing bytes of a character that leads to it."""

    state: State | None
    pending: bytes = b""
    missing: int = 0


class TokenEnds:
    """The places in one grammar that tokens of one vocabulary lead to, by number.

    If all characters that can complete a token's last bytes lead to the same place, the token leads there too, with
    the number of missing bytes.
    """

    def __init__(self, spelling: Spelling) -> None:
        self._spelling = spelling
        self._forget()

    def _forget(self) -> None:
        self.places: list[End] = [End(None)] * 3
        self._numbers: dict[Hashable, int] = {}
        self._tables: dict[int, _Table] = {}
        self._sets: dict[tuple[Ranges, ...], _Sets] = {}
        self._half_places: dict[tuple[int, int], int] = {}
        self._most = MAX_NEW

    def ends(self, state: State, pending: bytes, allowed: NDArray[np.bool_]) -> Numbers:
        """The place that each of the allowed tokens leads to if it is read as text; shape (vocabulary,).

        `pending` are the first bytes of an incomplete character. The numbers are valid until the next call.
        """
        if len(self.places) > MAX_PLACES:
            self._forget()
        self._most = len(self.places) + MAX_NEW
        spelled = self._spelling.spelled
        if pending:
            found = np.where(allowed, np.int32(DEAD), np.int32(OUTSIDE))
            for token in np.flatnonzero(allowed).tolist():
                if token not in self._spelling.special:
                    found[token] = self._after_bytes(state, pending + self._spelling.pieces[token])
            return found
        here = self._number(state, b"")
        left = allowed & spelled.spells
        found = np.where(allowed, np.int32(DEAD), np.int32(OUTSIDE))
        if np.count_nonzero(left) > MANY:
            self._by_number(here, left, found)
        ids = np.flatnonzero(left)
        walked = self._walk(here, ids)
        halves = spelled.half[ids]
        for place in np.flatnonzero((halves >= 0) & (walked != DEAD)).tolist():
            walked[place] = self._after_half(int(walked[place]), int(halves[place]))
        found[ids] = walked
        return found

    def after_special(self, state: State, token: int) -> int:
        """The place after a token that the grammar names."""
        name = self._spelling.pieces[token].decode("utf-8", errors="replace")
        return self._number(state.feed_special(token, name), b"")

    def _after_bytes(self, state: State, data: bytes) -> int:
        try:
            text, half = data.decode(), b""
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                return DEAD
            text, half = data[: error.start].decode(), data[error.start :]
        return self._number(state.feed(text), half)

    def _after_half(self, before: int, half: int) -> int:
        number = self._half_places.get((before, half))
        if number is None:
            pending = self._spelling.spelled.halves[half]
            first, last, missing = codes_of(pending)
            table = self._table(before)
            one = table.sets.of_all(first, last) if self._spelling.has_plain_bytes else 0
            if one:
                target = self._target(before, table, one)
                number = self._number(self.places[target].state, b"", missing)
            else:
                number = self._number(self.places[before].state, pending)
            self._half_places[before, half] = number
        return number

    def _number(self, state: State | None, pending: bytes, missing: int = 0) -> int:
        if state is None or not state.alive:
            return DEAD
        key = (state.items, pending, missing)
        number = self._numbers.get(key)
        if number is None:
            if len(self.places) >= self._most:
                return DEAD
            number = self._numbers[key] = len(self.places)
            self.places.append(End(state, pending, missing))
        return number

    def _by_number(self, here: int, left: NDArray[np.bool_], found: Numbers) -> None:
        """Find the places after tokens whose characters are all in the largest set, and remove these from `left`."""
        table = self._table(here)
        main = int(np.bincount(table.classes, minlength=2)[1:].argmax()) + 1
        among = table.classes == main
        longest = self._spelling.spelled.longest
        chain = [here]
        while len(chain) <= longest:
            following = self._table(chain[-1])
            only = main
            if following.classes is not table.classes:
                sets = following.classes[among]
                only = int(sets[0])
                if not (sets == only).all():
                    break
            target = self._target(chain[-1], following, only)
            chain.append(target)
            if target in (DEAD, chain[-2]):
                chain += [target] * (longest + 1 - len(chain))
        length = self._spelling.spelled.length
        known = self._spelling.within(among) & left
        if len(chain) <= longest:
            known &= length < len(chain)
            chain += [DEAD] * (longest + 1 - len(chain))
        np.copyto(found, np.array(chain, dtype=np.int32)[length], where=known)
        left ^= known

    def _walk(self, here: int, ids: NDArray[np.intp]) -> Numbers:
        spelled = self._spelling.spelled
        start, length = spelled.start[ids], spelled.length[ids]
        at = np.full(ids.size, here, dtype=np.int32)
        going = np.flatnonzero(length > 0)
        depth = 0
        while going.size:
            places = at[going]
            codes = spelled.codes[start[going] + depth]
            following = np.empty_like(places)
            for place in np.flatnonzero(np.bincount(places)).tolist():
                those = places == place
                table = self._table(place)
                sets = table.classes[codes[those]]
                for one in np.flatnonzero(np.bincount(sets, minlength=len(table.examples))).tolist():
                    self._target(place, table, one)
                following[those] = table.targets[sets]
            at[going] = following
            depth += 1
            going = going[(following != DEAD) & (length[going] > depth)]
        return at

    def _target(self, place: int, table: _Table, one: int) -> int:
        target = int(table.targets[one])
        if target < 0:
            state = self.places[place].state
            assert state is not None, "at the dead place nothing leads on"
            target = table.targets[one] = self._number(state.feed(table.examples[one]), b"")
        return int(target)

    def _table(self, place: int) -> _Table:
        table = self._tables.get(place)
        if table is None:
            state = self.places[place].state
            assert state is not None, "at the dead place nothing leads on"
            table = self._tables[place] = self._made(state)
        return table

    def _made(self, state: State) -> _Table:
        moves = tuple(open_moves(state))
        if moves not in self._sets:
            self._sets[moves] = self._sets_of(moves)
        return _Table(self._sets[moves])

    def _sets_of(self, moves: tuple[Ranges, ...]) -> _Sets:
        """The sets of characters that are in the same moves, and so lead to the same state. Set 0 is in no move."""
        edges = sorted(
            edge
            for number, ranges in enumerate(moves)
            for low, high in ranges
            for edge in ((low, number), (high + 1, number))
        )
        points = self._spelling.spelled.points
        classes = np.zeros(points.size, dtype=np.int32)
        examples, bounds, owners = [""], [0], [0]
        sets: dict[frozenset[int], int] = {frozenset(): 0}
        inside: frozenset[int] = frozenset()
        for (code, number), (following, _) in pairwise(edges):
            inside ^= {number}
            if code == following or not inside:
                continue
            low, high = np.searchsorted(points, (code, following)).tolist()
            if low < high:
                if inside not in sets:
                    sets[inside] = len(examples)
                    examples.append(chr(points[low]))
                classes[low:high] = sets[inside]
            bounds += (code, following)
            owners += (sets.get(inside, 0), 0)
        return _Sets(classes, examples, bounds, owners)


def codes_of(pending: bytes) -> tuple[int, int, int]:
    """The first and the last code point whose UTF-8 begins with these bytes, and how many bytes are missing."""
    size = 2 if pending[0] < 0xE0 else 3 if pending[0] < 0xF0 else 4
    code = pending[0] & (0x7F >> size)
    for byte in pending[1:]:
        code = code << 6 | byte & 0x3F
    missing = size - len(pending)
    least = (0x80, 0x800, 0x10000)[size - 2]
    return max(least, code << 6 * missing), min(0x10FFFF, (code + 1 << 6 * missing) - 1), missing
