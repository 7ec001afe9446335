"""Whole values from text: Python values from the readers' events, and the choice of reader by notation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from glyphscope.base.errors import NotationError
from glyphscope.events import Notation
from glyphscope.notation import structure as s
from glyphscope.notation.read_glyph import GlyphReader
from glyphscope.notation.read_json import JsonReader
from glyphscope.notation.reader import Reader
from glyphscope.notation.scalars import scalar_value
from glyphscope.notation.structure import Structural


def make_reader(
    notation: Notation, *, calls: bool = True, max_depth: int = 256, at: int | None = None
) -> Reader:
    """The incremental reader of a notation. See `Reader`."""
    reader = GlyphReader if notation == "glyph" else JsonReader
    return reader(calls=calls, max_depth=max_depth, at=at)


def parse_value(text: str, notation: Notation) -> Any:
    """The value of a whole document. The last of repeated keys wins, as in `json` and glyph-py.

    Raises NotationError with the character in `where`.
    """
    reader = make_reader(notation, calls=False)
    builder = Builder(notation)
    builder.take([*reader.feed(text), *reader.finish()])
    if not reader.done:
        raise NotationError("The text ends before the value does.", where=f"character {len(text)}")
    return builder.root[0]


_BEGINS, _TEXTS = (s.KEY_OPEN, s.STRING_OPEN), (s.KEY_TEXT, s.STRING_TEXT, s.PENDING_TEXT)
_STRING_ENDS, _CLOSES = (s.STRING_END, s.QUOTE_END), (s.OBJECT_CLOSE, s.ARRAY_CLOSE)
_ERRORS = (s.SYNTAX, s.TRAILING_TEXT, s.TOO_DEEP)


class Builder:
    """Builds a value from structural events: the item of `root`, once it has begun, with its complete parts.

    `repeated` is the first key that is written twice in one object, and its position; None if there is none.
    """

    def __init__(self, notation: Notation) -> None:
        self._notation = notation
        self.root: list[Any] = []
        self.repeated: tuple[str, int] | None = None
        self._stack: list[list[Any] | dict[str, Any]] = [self.root]
        self._keys: list[str] = []
        self._pieces: list[str] = []
        self._begun = -1  # where the string or key begins

    def take(self, events: Iterable[Structural]) -> None:
        """Read on. Raises NotationError with the character in `where`."""
        for kind, start, _, text in events:
            if kind in _TEXTS:
                self._pieces.append(text)
            elif kind in _BEGINS:
                self._pieces, self._begun = [], start
            elif kind == s.KEY_END:
                key = "".join(self._pieces)
                if self.repeated is None and key in self._stack[-1]:
                    self.repeated = (key, self._begun)
                self._keys.append(key)
            elif kind in _STRING_ENDS:
                self._put("".join(self._pieces))
            elif kind == s.SCALAR_END:
                self._put(scalar_value(text, self._notation)[1])
            elif kind == s.OBJECT_OPEN:
                self._enter({})
            elif kind == s.ARRAY_OPEN:
                self._enter([])
            elif kind in _CLOSES:
                self._stack.pop()
            elif kind in _ERRORS:
                why = f"'{text}' follows the value" if kind == s.TRAILING_TEXT else text
                raise NotationError(f"{why}.", where=f"character {start}")

    def _enter(self, container: list[Any] | dict[str, Any]) -> None:
        self._put(container)
        self._stack.append(container)

    def _put(self, value: Any) -> None:
        place = self._stack[-1]
        if isinstance(place, list):
            place.append(value)
        else:
            place[self._keys.pop()] = value
