"""A text that is read while it is written, by a generator that waits where the text ends.

So the code of a reader has the order of the text. Characters that may belong to a marker stay ahead of the reader,
unread, until that is decided, and are then read from there: no reader is fed a text again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress


class Ended(Exception):
    """The text is read no further."""


class TextAhead:
    """The text that is not yet read. A reader that inherits from it sets `_reading`, which yields to wait for more."""

    _reading: Iterator[None]

    def __init__(self, at: int) -> None:
        """`at` is the position of the first character."""
        self.ended = False  # no more text comes
        self._text, self._at = "", 0  # the text, and the index of the next character
        self._base = at  # the position of the text's first character

    @property
    def place(self) -> int:
        """The position of the next character."""
        return self._base + self._at

    def _more(self, text: str) -> int:
        """Read on with more text. Returns the number of its characters that were read or looked at."""
        ahead = len(self._text) - self._at
        self.add(text)
        with suppress(Ended):
            next(self._reading, None)
        return self._at - ahead

    def add(self, text: str) -> None:
        """More text is there."""
        self._text, self._at, self._base = self.rest + text, 0, self.place

    @property
    def rest(self) -> str:
        """The text that is there, and not yet read."""
        return self._text[self._at :]

    def skip(self, count: int) -> None:
        """Read that many characters."""
        self._at += count

    def take(self, count: int) -> str:
        """Read that many characters, and return them."""
        self._at += count
        return self._text[self._at - count : self._at]

    def cut(self, place: int) -> str:
        """Remove the text from a position ahead on, and return it, to be added again."""
        kept = self._at + max(place - self.place, 0)
        self._text, later = self._text[:kept], self._text[kept:]
        return later

    def put_back(self, text: str) -> None:
        """Read again the text that was read last."""
        self._text, self._at, self._base = text + self.rest, 0, self.place - len(text)

    def char(self, ahead: int = 0) -> Generator[None, None, str]:
        """The next character, or one further ahead, once it is there; it is not yet read. Raises Ended at the end."""
        while self._at + ahead >= len(self._text):
            if self.ended:
                raise Ended
            yield
        return self._text[self._at + ahead]

    def one_of(self, texts: tuple[str, ...]) -> Generator[None, None, str]:
        """The first of these texts that is ahead; "" if none is."""
        begun = ""
        while any(text.startswith(begun) for text in texts):
            begun += yield from self.char(len(begun))
            if begun in texts:
                return begun
        return ""
