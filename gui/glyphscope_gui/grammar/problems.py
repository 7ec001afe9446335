"""A grammar's diagnostics as an editor needs them: by line and column, and in Qt's count of characters."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from glyphscope.grammar.gbnf import Diagnostic, Fix

MAX_SHOWN = 1000
"""Diagnostics that are shown; the rest are counted."""


class TextPositions:
    """The places of the characters of a text: lines and columns from 1, and Qt's UTF-16 positions."""

    def __init__(self, text: str) -> None:
        self._lines = [0, *(place + 1 for place, char in enumerate(text) if char == "\n")]
        wide = not text.isascii() and max(text) > "\uffff"
        self._wide = [place for place, char in enumerate(text) if char > "\uffff"] if wide else []

    def line_column(self, place: int) -> tuple[int, int]:
        line = bisect_right(self._lines, place)
        return line, place - self._lines[line - 1] + 1

    def in_qt(self, place: int) -> int:
        return place + bisect_left(self._wide, place)

    def from_qt(self, position: int) -> int:
        """The character at a Qt position."""
        low, high = max(0, position - len(self._wide)), position
        while low < high:
            middle = (low + high) // 2
            if self.in_qt(middle) < position:
                low = middle + 1
            else:
                high = middle
        return low


@dataclass(frozen=True)
class GrammarProblem:
    """A diagnostic; `start` and `end` are Qt positions, `edits` are the fix's replacements, also in Qt positions."""

    severity: str
    code: str
    message: str
    line: int
    column: int
    start: int
    end: int
    fix: str = ""
    edits: tuple[tuple[int, int, str], ...] = ()


def to_problems(text: str, diagnostics: Iterable[Diagnostic]) -> tuple[GrammarProblem, ...]:
    """The first problems, in the text's order."""
    places = TextPositions(text)
    return tuple(_problem(places, found) for found in islice(diagnostics, MAX_SHOWN))


def _problem(places: TextPositions, found: Diagnostic) -> GrammarProblem:
    line, column = places.line_column(found.start)
    fix: Fix | None = found.fix
    edits = () if fix is None else tuple((places.in_qt(a), places.in_qt(b), new) for a, b, new in fix.edits)
    return GrammarProblem(
        found.severity,
        found.code,
        found.message,
        line,
        column,
        places.in_qt(found.start),
        places.in_qt(found.end),
        "" if fix is None else fix.title,
        edits,
    )
