"""A text read by a form: markers are matched exactly, otherwise loosely, and every departure is noted."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from glyphscope.turns.form import Piece
from glyphscope.turns.markup import after_space, loose


class Departure(NamedTuple):
    """Where and why a text leaves the form; `expected` is the text that should be there, if there is only one."""

    at: int
    why: str
    expected: str = ""


def in_words(text: str) -> str:
    """An expected text in words; without one, the parts around its place follow each other."""
    return repr(text) if text else "no white space"


class MissingPart(Exception):
    """The text does not match the form at `at`."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class BrokenOff(MissingPart):
    """The text ends before a call has a name."""


@lru_cache(maxsize=4096)
def pattern_of(literal: str) -> re.Pattern[str]:
    """The loose pattern of a marker, compiled."""
    return re.compile(loose(literal))


class Scan:
    """The text with its notes. Searches are cached, so that repeated ones do not read the text again."""

    def __init__(self, text: str, ends: tuple[str, ...] = ()) -> None:
        """`ends` are the texts that end a turn."""
        self.text = text
        self.end = len(text)
        self.ends = ends
        self.notes: list[Departure] = []
        self._found: dict[str, tuple[int, int]] = {}
        self._searched: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}

    def note(self, at: int, why: str) -> None:
        self.notes.append(Departure(at, why))

    def expect(self, at: int, text: str) -> None:
        """Note that this text is not there."""
        self.notes.append(Departure(at, f"{in_words(text)} was expected", text))

    def space(self, at: int) -> int:
        """The first place after white space."""
        return after_space(self.text, at)

    def find(self, what: str, at: int) -> int:
        """The next occurrence of a text, -1 if there is none."""
        searched, found = self._found.get(what, (0, -2))
        if found == -2 or searched > at or 0 <= found < at:
            found = self.text.find(what, at)
            self._found[what] = (at, found)
        return found

    def search(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """The next occurrence of a pattern."""
        searched, found = self._searched.get(pattern, (-1, None))
        if searched < 0 or searched > at or (found is not None and found.start() < at):
            found = pattern.search(self.text, at)
            self._searched[pattern] = (at, found)
        return found

    def ended(self, at: int) -> bool:
        """Whether only white space follows."""
        return self.space(at) >= self.end

    def breaks_off(self, literal: str, at: int) -> bool:
        """Whether the text ends inside this marker, or before it."""
        start = self.space(at)
        rest = self.text[start : start + len(literal) + 1]
        core = literal.strip()
        return start >= self.end or (
            len(rest) < len(core) and start + len(rest) >= self.end and core.startswith(rest)
        )

    def match(self, literal: str, at: int, *, raw: bool = False) -> int | None:
        """The end of the marker at a place; None if it is not there. `raw`: a raw text follows it."""
        if self.text.startswith(literal, at):
            return at + len(literal)
        core = literal.strip()
        start = self.space(at)
        if not core:
            self.expect(at, literal)
            return at if raw else start
        found = pattern_of(literal).match(self.text, start)
        if found is None:
            return None
        self.expect(min(at, found.start()), literal)
        if raw or literal == literal.rstrip():
            return found.end()
        return self.space(found.end())

    def piece(self, piece: Piece, at: int) -> int | None:
        """`match` for a piece with several texts: the first exact match, the first loose match, or None."""
        for text in sorted(piece.texts, key=len, reverse=True):
            if text and self.text.startswith(text, at):
                return at + len(text)
        for text in piece.texts:
            end = self.match(text, at) if text.strip() or "" not in piece.also else None
            if end is not None:
                return end
        return at if "" in piece.texts else None
