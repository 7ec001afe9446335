"""Places of a text for an editor: lines and columns from 0, columns in the units on which both sides agreed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from glyphscope.base.lines import Lines
from glyphscope.grammar.gbnf.diagnostics import Edit


class Places:
    """The places of one text. pygls's own end a line at every separator that Python knows, and the protocol only at
    `\\n`, `\\r\\n` and `\\r`, as `Lines` does.
    """

    def __init__(self, text: str, encoding: str) -> None:
        """`encoding`: utf-8, utf-16 or utf-32."""
        self.text = text
        self.lines = Lines(text)
        self._encoding = encoding
        self._even = text.isascii() or encoding == "utf-32"

    def position(self, offset: int) -> types.Position:
        """The position of a code point."""
        return self._at(*self.lines.place(offset))

    def span(self, start: int, end: int) -> types.Range:
        """The range of a span of code points."""
        return types.Range(self.position(start), self.position(end))

    def of(self, problem: Mapping[str, Any]) -> types.Range:
        """The range of a problem or an edit, as `Lines.span` gives it."""
        start = self._at(problem["line"], problem["column"])
        return types.Range(start, self._at(problem["end_line"], problem["end_column"]))

    def edit(self, edit: Edit) -> types.TextEdit:
        """An edit for the editor."""
        return types.TextEdit(self.span(edit[0], edit[1]), edit[2])

    def offset(self, position: types.Position) -> int:
        """The code point at a position; after the end of a line, its end."""
        number = position.line + 1
        line, left = self.lines.line(number), position.character
        if self._even:
            return self.lines.start(number) + min(left, len(line))
        column = 0
        while column < len(line) and left >= (units := self._units(line[column])):
            left -= units
            column += 1
        return self.lines.start(number) + column

    def before(self, position: types.Position) -> str:
        """The text of the line up to a position."""
        return self.text[self.lines.start(position.line + 1) : self.offset(position)]

    def width(self, text: str) -> int:
        """The columns of a part of a line."""
        return len(text) if self._even else sum(map(self._units, text))

    def _at(self, line: int, column: int) -> types.Position:
        text = "" if self._even else self.lines.line(line)[: column - 1]
        return types.Position(line - 1, column - 1 if self._even else self.width(text))

    def _units(self, char: str) -> int:
        if self._encoding == "utf-8":
            return len(char.encode("utf-8", "surrogatepass"))
        return 1 + (char > "\uffff" and self._encoding == "utf-16")
