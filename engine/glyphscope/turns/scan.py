"""A text that is read by a form: markers are matched exactly, else loosely, and every departure is noted."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from glyphscope.turns.form import Piece
from glyphscope.turns.markup import after_space, loose


class Departure(NamedTuple):
    """Where a text leaves the form, and why; `expected` is the text that should be there, where it is one text."""

    at: int
    why: str
    expected: str = ""


class MissingPart(Exception):
    """The text is not what the form has at `at`."""

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
    """The text with its notes. Searches are remembered, so that repeated ones cost no second look at the text."""

    def __init__(self, text: str, ends: tuple[str, ...] = ()) -> None:
        """`ends` are the texts that end a turn."""
        self.text = text
        self.end = len(text)
        self.ends = ends
        self.notes: list[Departure] = []
        self._found: dict[str, tuple[int, int]] = {}

    def note(self, at: int, why: str) -> None:
        self.notes.append(Departure(at, why))

    def expect(self, at: int, text: str) -> None:
        """Note that this text is not there."""
        self.notes.append(Departure(at, f"{text!r} was expected", text))

    def space(self, at: int) -> int:
        """The first place after white space."""
        return after_space(self.text, at)

    def find(self, what: str, at: int) -> int:
        """Where a text is next, -1 for nowhere."""
        searched, found = self._found.get(what, (0, -2))
        if found == -2 or searched > at or 0 <= found < at:
            found = self.text.find(what, at)
            self._found[what] = (at, found)
        return found

    def ended(self, at: int) -> bool:
        """Whether nothing but white space follows."""
        return self.space(at) >= self.end

    def breaks_off(self, literal: str, at: int) -> bool:
        """Whether the text ends in the middle of this marker, or before it."""
        start = self.space(at)
        rest = self.text[start : start + len(literal) + 1]
        core = literal.strip()
        return start >= self.end or (
            len(rest) < len(core) and start + len(rest) >= self.end and core.startswith(rest)
        )

    def match(self, literal: str, at: int, *, raw: bool = False) -> int | None:
        """Where the marker that is written at a place ends, None if it is not. `raw`: a raw text follows it."""
        if self.text.startswith(literal, at):
            return at + len(literal)
        core = literal.strip()
        start = self.space(at)
        if not core:
            if start != at + len(literal):
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
        """The same for a piece with several texts: the first that is there exactly, the first loosely, or none."""
        for text in sorted(piece.texts, key=len, reverse=True):
            if text and self.text.startswith(text, at):
                return at + len(text)
        for text in piece.texts:
            end = self.match(text, at) if text.strip() or "" not in piece.also else None
            if end is not None:
                return end
        return at if "" in piece.texts else None
