"""Lines and columns as in editors: from 1, columns in code points."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

_LINE_END = re.compile(r"\r\n|\n|\r")


class Lines:
    """The lines of a text. A line ends with `\\n`, `\\r\\n` or `\\r`, as in llama.cpp."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of a code point, from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> dict[str, int]:
        """The lines and columns of a span, from 1, in code points; the end is exclusive."""
        (line, column), (end_line, end_column) = self.place(start), self.place(end)
        return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}

    def start(self, number: int) -> int:
        """The first code point of a line, from 1; after the last line, the end of the text."""
        return self._starts[number - 1] if number <= len(self._starts) else len(self._text)

    def line(self, number: int) -> str:
        """The text of a line, from 1, without its end; empty after the last one."""
        return self._text[self.start(number) : self.start(number + 1)].rstrip("\r\n")


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The line and column of one code point, from 1; for many code points, keep a `Lines`."""
    return Lines(text[: offset + 1]).place(offset)


def common_length(one: Sequence[object], other: Sequence[object]) -> int:
    """The length of the common prefix, in characters or items."""
    return next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def begun_length(text: str, marker: str) -> int:
    """The number of the text's last characters with which the marker begins, so that later text may complete it."""
    longest = min(len(marker) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if text.endswith(marker[:size])), 0)
