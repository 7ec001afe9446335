"""Positions of a run's characters in a text document, and back.

A document counts UTF-16 units, and very long lines are cut into blocks so that their layout stays cheap: both add
positions between those of the characters. A run's characters are Unicode code points.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

MAX_LINE = 1024
"""Characters in one block; a longer line continues in the next block, without a line end in the text."""


class TextPlaces:
    """Grows with the text, which begins at position `base`; `add` returns the piece to insert, with extra line ends."""

    def __init__(self, base: int = 0) -> None:
        self.base = base
        self.characters = 0
        self._breaks: list[int] = []
        self._wide: list[int] = []
        self._in_line = 0

    def add(self, text: str) -> str:
        """Add a piece of text, and return it with the line ends that cut long lines."""
        out: list[str] = []
        for character in text:
            if character == "\n":
                self._in_line = 0
            elif self._in_line >= MAX_LINE:
                self._breaks.append(self.characters)
                out.append("\n")
                self._in_line = 1
            else:
                self._in_line += 1
            if ord(character) > 0xFFFF:
                self._wide.append(self.characters)
            out.append(character)
            self.characters += 1
        return "".join(out)

    def break_line(self) -> str:
        """Return a line end that is not part of the text."""
        self._breaks.append(self.characters)
        self._in_line = 0
        return "\n"

    def cut(self, character: int) -> int:
        """Remove the characters from that one on, and return the document position at which they began."""
        at = self.base + character + bisect_left(self._breaks, character) + bisect_left(self._wide, character)
        del self._breaks[bisect_left(self._breaks, character) :]
        del self._wide[bisect_left(self._wide, character) :]
        self.characters = character
        return at

    def continue_line(self, characters: int) -> None:
        """Begin in the middle of a line, after that many characters."""
        self._in_line = characters

    def position(self, character: int) -> int:
        """Return the document's position before that character."""
        breaks = bisect_right(self._breaks, character)
        return self.base + character + breaks + bisect_left(self._wide, character)

    def character(self, position: int) -> int:
        """Return the character at or before a position of the document."""
        low, high = 0, self.characters
        while low < high:
            middle = (low + high + 1) // 2
            if self.position(middle) <= position:
                low = middle
            else:
                high = middle - 1
        return low
