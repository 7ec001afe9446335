"""The texts of a vocabulary's tokens for token budgets: the costs of texts, and all tokens as arrays.

A token with a text is valid UTF-8, but may end within a character. A token that begins within a character, or a special
one, has no text: these are few, and are tested one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.reach import PLAIN_BYTES
from glyphscope.grammar.tree import TokenMatch

Numbers = NDArray[np.int32]

_PRETTY = "a0 "
"""The characters of a shortest text if any character would do."""
_CACHED = 32
"""The maximum number of sets of characters for which the tokens without other characters are cached."""


class Spelled(NamedTuple):
    """All tokens of a vocabulary, by their ids.

    `points` are the code points that occur, ascending; `codes` are the characters of all tokens as indices into it:
    token t has `length[t]` of them from `start[t]` on, at most `longest`. `half[t]` is the index into `halves` of the
    bytes of an incomplete character at its end, or -1. `spells[t]`: whether it is text.
    """

    points: Numbers
    codes: Numbers
    start: Numbers
    length: Numbers
    half: Numbers
    halves: tuple[bytes, ...]
    spells: NDArray[np.bool_]
    longest: int


class Spelling:
    """One vocabulary: `pieces` are the bytes of each token; no text matches the `special` ones; `ends` end a text."""

    token = 1

    def __init__(
        self, pieces: Sequence[bytes], special: Iterable[int] = (), ends: Iterable[int] = ()
    ) -> None:
        self.pieces = pieces
        self.special = frozenset(special)
        self.ends = frozenset(ends)
        self._texts: dict[str, list[int | None]] = {}
        self._chars: dict[str, int | None] = {}
        self._within: dict[bytes, NDArray[np.bool_]] = {}

    @cached_property
    def has_plain_bytes(self) -> bool:
        """Whether every text, except for odd characters, can be spelled with at most one token per byte."""
        single = {
            piece[0]
            for token, piece in enumerate(self.pieces)
            if len(piece) == 1 and token not in self.special
        }
        return single >= PLAIN_BYTES

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Shape (vocabulary,): the special tokens and those that end a text."""
        found = np.zeros(len(self.pieces), dtype=np.bool_)
        found[[*self.special, *self.ends]] = True
        return found

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        ids = {piece: token for token, piece in enumerate(self.pieces)}
        for token in self.special:
            if ids.get(self.pieces[token]) == token:
                del ids[self.pieces[token]]
        ids.pop(b"", None)
        return ids

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._ids), default=0)

    def tokens(self, data: bytes) -> list[int] | None:
        """The fewest tokens that spell the bytes; None if none do."""
        ids, longest = self._ids, self._longest
        best: list[tuple[int, int] | None] = [
            (0, -1)
        ]  # (number of tokens, last token) for each number of bytes
        for end in range(1, len(data) + 1):
            found: tuple[int, int] | None = None
            for start in range(max(0, end - longest), end):
                before = best[start]
                if before is not None and (found is None or before[0] + 1 < found[0]):
                    token = ids.get(data[start:end])
                    if token is not None:
                        found = before[0] + 1, token
            best.append(found)
        spelled: list[int] = []
        at = len(data)
        while at:
            step = best[at]
            if step is None:
                return None
            spelled.append(step[1])
            at -= len(self.pieces[step[1]])
        return spelled[::-1]

    def matching(self, match: TokenMatch) -> int | None:
        """A token that matches a grammar's token match; None if the vocabulary has none."""
        if match.negated:
            return next((token for token in self._ids.values() if token != match.token), None)
        if isinstance(match.token, int):
            return match.token if match.token < len(self.pieces) else None
        names = {match.token.encode(), f"<{match.token}>".encode()}
        return next((token for token in self.special if self.pieces[token] in names), None)

    def text(self, text: str) -> int | None:
        """A literal's price in tokens that end between its characters or spell one character in parts."""
        return self.suffixes(text)[0]

    def suffixes(self, text: str) -> Sequence[int | None]:
        """The prices of the rest of the literal from each character on."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = self._priced(text)
        return known

    def _priced(self, text: str) -> list[int | None]:
        data = text.encode("utf-8", "surrogatepass")
        places = [0]
        for char in text:
            places.append(places[-1] + len(char.encode("utf-8", "surrogatepass")))
        prices: list[int | None] = [0]
        for at in range(len(text) - 1, -1, -1):
            options: list[int] = []
            price, after = self.char(text[at]), prices[len(text) - at - 1]
            if price is not None and after is not None:
                options.append(price + after)
            for end in range(at + 2, len(text) + 1):
                if places[end] - places[at] > self._longest:
                    break
                after = prices[len(text) - end]
                if after is not None and data[places[at] : places[end]] in self._ids:
                    options.append(1 + after)
            prices.append(min(options, default=None))
        return prices[::-1]

    def char(self, char: str) -> int | None:
        """The price of one character."""
        if char not in self._chars:
            spelled = self.tokens(char.encode("utf-8", "surrogatepass"))
            self._chars[char] = None if spelled is None else len(spelled)
        return self._chars[char]

    def one_of(self, ranges: Ranges) -> int | None:
        """The price of `cheapest`."""
        return self.char(self.cheapest(ranges)) if ranges else None

    def cheapest(self, ranges: Ranges) -> str:
        """A character in the ranges that is one token, or otherwise takes few."""
        pretty = [char for char in _PRETTY if chars.contains(ranges, char)]
        for char in pretty:
            if self.char(char) == 1:
                return char
        whole = self._whole_characters
        for low, high in ranges:
            place = bisect_left(whole, low)
            if place < len(whole) and whole[place] <= high:
                return chr(whole[place])
        ends = [chr(code) for pair in ranges for code in pair]
        return min(ends, key=lambda char: (self.char(char) is None, self.char(char) or 0))

    @cached_property
    def _whole_characters(self) -> list[int]:
        """The code points of characters that are one token."""
        found = set()
        for piece in self._ids:
            if len(piece) <= 4:
                try:
                    text = piece.decode()
                except UnicodeDecodeError:
                    continue
                if len(text) == 1:
                    found.add(ord(text))
        return sorted(found)

    @cached_property
    def spelled(self) -> Spelled:
        """All tokens as arrays; 0.2 s for 262,144 of them."""
        count = len(self.pieces)
        texts: list[str] = []
        halves: dict[bytes, int] = {}
        half = np.full(count, -1, dtype=np.int32)
        spells = np.ones(count, dtype=np.bool_)
        for token, piece in enumerate(self.pieces):
            try:
                text = piece.decode()
            except UnicodeDecodeError as error:
                text = piece[: error.start].decode()
                if error.reason == "unexpected end of data":
                    half[token] = halves.setdefault(piece[error.start :], len(halves))
                else:
                    spells[token] = False
            spells[token] &= bool(piece)
            texts.append(text)
        spells[list(self.special)] = False
        length = np.fromiter(map(len, texts), dtype=np.int32, count=count)
        start = np.zeros(count, dtype=np.int32)
        np.cumsum(length[:-1], out=start[1:])
        characters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.int32)
        places = np.zeros(int(characters.max(initial=0)) + 1, dtype=np.int32)
        places[characters] = 1
        points = np.flatnonzero(places).astype(np.int32)
        places[points] = np.arange(points.size, dtype=np.int32)
        return Spelled(
            points, places[characters], start, length, half, tuple(halves), spells, int(length.max(initial=0))
        )

    def within(self, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Shape (vocabulary,): the tokens that spell only whole characters, all of them `among` (shape (points,))."""
        key = np.packbits(among).tobytes()
        known = self._within.get(key)
        if known is None:
            spelled = self.spelled
            others = np.zeros(spelled.codes.size + 1, dtype=np.int32)
            np.cumsum(~among[spelled.codes], out=others[1:])
            inside = others[spelled.start + spelled.length] == others[spelled.start]
            known = inside & spelled.spells & (spelled.half < 0)
            if len(self._within) >= _CACHED:
                del self._within[next(iter(self._within))]
            self._within[key] = known
        return known
