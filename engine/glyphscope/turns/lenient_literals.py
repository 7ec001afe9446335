"""Values of a whole text, read leniently: literals, and what models write in their place.

Those are sets, triple quotes, other numbers, arguments without a keyword, and texts that contain their own marks. Each
is a departure, with its place. If the text is cut off, its complete part is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, NoReturn

from glyphscope.base.json_values import read_json
from glyphscope.notation import structure as s
from glyphscope.notation.ahead import Ended
from glyphscope.notation.read import Builder
from glyphscope.notation.read_json import JsonReader
from glyphscope.notation.scalars import MAX_NUMBER_LENGTH, scalar_value
from glyphscope.turns.literals import KEY, MARKS, WORDS, LiteralReader
from glyphscope.turns.scan import Departure
from glyphscope.turns.tools import ArgumentTypes

_NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?!\w)")
_WORD = re.compile(r"[A-Za-z_][\w.\-]*")
_PADDED = re.compile(r"-?0\d[\d.eE+-]*")
"""A number with leading zeros, which neither JSON nor Python allows."""
_KEYS = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*:')
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of half a character."""
_KEYWORD = re.compile(r"""[\w.\-]+\s*(?:=(?!=)|\Z)|["'{]?\Z""")
"""A keyword, or the beginning of one at the end of the text."""
_BARE = re.compile(r"[^\s,{}\[\]<>\"':][^,{}\[\]<>\"'\n]*(?=[,}])")
"""A text without marks, up to a comma or the closing bracket."""
_MARKED = {
    mark: re.compile(rf"{mark}((?:.|\n){{0,10000}}?){mark}(?=,\s*[\w.\-]+\s*=|\)\s*(?:[,\]<]|\Z))")
    for mark in "'\""
}
"""A text that contains unescaped quotation marks: up to the first one that a keyword or the call's end follows."""


class NotAValue(Exception):
    """There is no value at `at`; `departures` has what was read before, and why."""

    def __init__(self, at: int, departures: list[Departure]) -> None:
        super().__init__(at)
        self.at, self.departures = at, departures


class CutOff(Exception):
    """The text ends inside a value of which no part is complete."""


class ReadValue(NamedTuple):
    """A value and its end. `cut`: the text ended inside it, and `value` is its complete part.

    `repeated` is the first key that is written twice in one object, the second time at `repeated_at`; None if there is
    none.
    """

    value: Any
    end: int
    cut: bool
    repeated: str | None
    departures: list[Departure]
    repeated_at: int = -1


def read_value(text: str, at: int) -> ReadValue:
    """The value at a place in JSON or, as a departure where that is left, another one. Raises NotAValue and CutOff."""
    found = _read_json(text, at)
    if found is None:
        reader = JsonReader(calls=False, at=at)
        try:
            read = read_literal(text, at)
        except NotAValue as error:
            reader.feed(
                text[at : error.at]
            )  # a text may continue up to the next quotation mark, behind a marker
            raise NotAValue(reader.place if reader.broken else error.at, error.departures) from None
        reader.feed(text[at : read.end])
        left = [Departure(reader.place, "JSON was expected")] if reader.broken else []
        return read._replace(departures=left)
    return _with_repeated(text, at, *found)


def _read_json(text: str, at: int) -> tuple[Any, int] | None:
    """The JSON value at a place, and its end; None if there is none, or one with half a character in a text."""
    found = read_json(text, at)
    if found is not None and _HALF.search(text, at, found[1]):
        reader = JsonReader(calls=False, at=at)
        reader.feed(text[at : found[1]])
        return None if reader.broken else found
    return found


def _with_repeated(text: str, at: int, value: Any, end: int) -> ReadValue:
    """A value in JSON, with the first key that is written twice in one object."""
    keys = _KEYS.findall(text, at, end)
    if len(keys) == len(set(keys)) and not any("\\" in key for key in keys):
        return ReadValue(value, end, False, None, [])
    return _Lenient(text, at, max_depth=end).whole()._replace(value=value)


def read_literal(text: str, at: int = 0) -> ReadValue:
    """The value at a place. Raises NotAValue and CutOff."""
    return _Lenient(text, at).whole()


def read_members(
    text: str,
    at: int,
    closer: str,
    *,
    quote: str = "",
    order: tuple[str, ...] = (),
    types: Callable[[str], ArgumentTypes] | None = None,
) -> ReadValue:
    """The members from a place on, up to their closing bracket, exclusive; see `LiteralReader`. Raises NotAValue.

    Values without a keyword follow `order`.
    """
    return _Lenient(text, at, closer=closer, quote=quote, order=order, types=types).whole()


@lru_cache(maxsize=100)
def _begins_set(quote: str) -> re.Pattern[str]:
    """A brace, and an item without a value or in parentheses."""
    marks = [re.escape(mark) for mark in (quote, '"""', "'''") if mark]
    items = [rf"{mark}.*?{mark}" for mark in marks]
    items += [rf"{mark}(?:[^{mark}\\]|\\.)*{mark}" for mark in "\"'"]
    items.append(KEY.pattern)
    return re.compile(rf"\{{\s*(?:\(|(?>{'|'.join(items)})\s*[,}}])", re.DOTALL)


class _Lenient(LiteralReader):
    """Reads a value, or members, of a whole text; a `yield` waits for more text, which never comes."""

    CLOSING: ClassVar[dict[str, str]] = {**LiteralReader.CLOSING, "set": "}"}

    def __init__(self, text: str, at: int, *, order: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(0, **options)
        self._text, self._at = text, at
        self._order = list(order)  # of the members that follow
        self._departures: list[Departure] = []
        self._unwritten = False  # the member has no key
        self._begun = (0, 0)  # the last member's value: where it begins in the text, and among the events

    def whole(self) -> ReadValue:
        builder = Builder("json")
        if self._closer:
            self._emit(s.OBJECT_OPEN, 0)
        with suppress(Ended):
            next(self._reading, None)
        if self.broken:
            raise NotAValue(self.place, self._departures)
        builder.take(self._out)
        if not builder.root:
            raise CutOff
        key, place = None, -1
        if builder.repeated is not None:
            key, place = builder.repeated
            self._departures.append(Departure(place, f"{key!r} is written twice"))
        end = self.place if self.done else len(self._text)
        return ReadValue(builder.root[0], end, not self.done, key, self._departures, place)

    def _depart(self, why: str, expected: str = "") -> None:
        self._departures.append(Departure(self.place, why, expected))

    def _reject(self, why: str, kind: int = s.SYNTAX) -> NoReturn:
        self._depart(why)
        super()._reject(why, kind)

    def _value(self, char: str) -> Iterable[None]:
        if len(self._stack) == 1:
            self._begun = (self._at, len(self._out))
        if char == "{" and _begins_set(self._quote).match(self._text, self._at):
            self._depart("a list was expected")
            self._open("set")
            return ()
        return super()._value(char)

    def _separate(self, char: str) -> None:
        if char == "," or len(self._stack) > 1 or not self._closer:
            super()._separate(char)
            return
        self._depart(f"{self._closer!r} was expected", self._closer)
        start, first = self._begun
        marked = _MARKED.get(self._text[start]) if self._closer == ")" else None
        whole = marked.match(self._text, start) if marked else None
        if whole is None:
            super()._separate(char)
        else:
            del self._out[first:]
            self._take(whole[1], whole.end())

    def _take(self, text: str, end: int) -> None:
        """Read a string up to `end`."""
        place = self.place
        self._out += [(s.STRING_OPEN, place, place, ""), (s.STRING_TEXT, place, end, text)]
        self._at = end
        self._emit(s.STRING_END, 0)

    # keys

    def _written_key(self, char: str) -> Iterable[None]:
        next_key = self._order.pop(0) if len(self._stack) == 1 and self._order else ""
        self._unwritten = bool(next_key) and not _KEYWORD.match(self._text, self._at)
        if self._unwritten:
            self._depart("a keyword was expected")
            self._emit(s.KEY_OPEN, 0)
            self._emit(s.KEY_TEXT, 0, next_key)
            self._emit(s.KEY_END, 0)
            return ()
        if char not in self.RUNS or not self._takes_keyword:
            return super()._written_key(char)
        self._depart("a keyword without marks was expected")
        return self._string(key=True)

    def _sign(self, char: str) -> None:
        if not self._unwritten:
            super()._sign(char)

    # strings, numbers and words

    def _string(self, *, key: bool) -> Iterable[None]:
        marks = self._text[self._at] * 3
        if not self._text.startswith(marks, self._at):
            return super()._string(key=key)
        self._depart("a text between single marks was expected")
        return self._marked(marks, key=key)

    def _marked(self, quote: str, *, key: bool) -> Iterator[None]:
        if not quote.startswith(self._text[self._at : self._at + len(quote)]):
            self._reject(f"'{quote}' must be written whole")
        return super()._marked(quote, key=key)

    def _scalar(self, char: str) -> Iterator[None]:
        text, place = self._text, self._at
        found = _NUMBER.match(text, place) or _WORD.match(text, place)
        word = "" if found is None else found[0]
        if found is not None and found.end() == len(text) and word not in WORDS:
            yield  # it may continue
        meant = _in_json(word)
        bare = _BARE.match(text, place) if self._may_be_bare else None
        if meant and (bare is None or (bare[0].strip() == word and self._fits(meant, word))):
            if meant != word and word not in WORDS:
                usual = "without zeros before it" if _PADDED.fullmatch(word) else "as in JSON"
                self._depart(f"a number {usual} was expected")
            self._at += len(word)
            self._emit(s.SCALAR_END, 1, meant)
        elif bare is not None:
            self._depart(MARKS)
            self._take(bare[0].strip(), bare.end())
        else:
            self._reject(f"a value must begin here, not '{word or char}'")

    def _fits(self, meant: str, word: str) -> bool:
        """Whether a word that may also be a text without marks is another value."""
        types = self._own_types
        value = scalar_value(meant, "json")[1]
        return not types.string or (not types.only_string and (types.fits(value) or not types.fits(word)))


def _in_json(word: str) -> str:
    """A number or word in JSON; "" for anything else."""
    if word in WORDS or scalar_value(word, "json")[0]:
        return WORDS.get(word, word)
    if not _NUMBER.fullmatch(word) or len(word) > MAX_NUMBER_LENGTH:
        return ""
    value = int(word) if set(word) <= set("+-0123456789") else float(word)
    return repr(value) if math.isfinite(value) else ""


def whole_value(text: str) -> ReadValue | None:
    """The value that a text is in any of the notations, without white space around it; None for another text."""
    stripped = text.strip()
    found = _read_json(stripped, 0) if stripped else None
    if found is not None and found[1] == len(stripped):
        return _with_repeated(stripped, 0, *found)
    try:
        read = read_literal(stripped + " ")
    except (NotAValue, CutOff):
        return None
    return None if read.cut or read.end < len(stripped) else read
