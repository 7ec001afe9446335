"""The incremental reader of JSON (RFC 8259, no lone surrogates, no NaN, no number too large for a float)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from glyphscope.notation import structure as s
from glyphscope.notation.reader import Reader
from glyphscope.notation.scalars import MAX_NUMBER_LENGTH, number_prefix, scalar_value, words

_WORD = re.compile(r"[0-9A-Za-z.+\-]+")
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?=[,\]} ])")


class JsonReader(Reader):
    """Reads JSON, character by character if necessary. See `Reader` for `calls` and `max_depth`."""

    RUNS: ClassVar[dict[str, re.Pattern[str]]] = {'"': re.compile(r'[^"\\\x00-\x1f]+')}
    ESCAPES: ClassVar[dict[str, str]] = {
        **{char: char for char in '"\\/'},
        "b": "\b",
        "f": "\f",
        "n": "\n",
        "r": "\r",
        "t": "\t",
    }
    SURROGATES = True

    def _value(self, char: str) -> Iterable[None]:
        if char in "{[":
            self._open()
            return ()
        self._first = False
        if char == '"':
            return self._string(key=False)
        plain = _PLAIN_NUMBER.match(self._text, self._at)
        # a whole number inside one piece: the common case, in one step
        if plain and len(plain[0]) <= MAX_NUMBER_LENGTH:
            self._emit(s.SCALAR_TEXT, len(plain[0]), plain[0])
            self._at = plain.end()
            self._emit(s.SCALAR_END, 1, plain[0])
            return ()
        return self._scalar(char)

    def _scalar(self, char: str) -> Iterator[None]:
        self._word, self._in_scalar = "", True
        while found := _WORD.match(self._text, self._at):
            self._grow(found[0])
            while self._at >= len(self._text):
                yield
        if not self._word:
            self._reject(f"a value must begin here, and '{char}' begins none")
        self._end_scalar()

    def _grow(self, more: str) -> None:
        """The scalar continues with these characters."""
        word = self._word
        for count, char in enumerate(more):
            word += char
            why = ""
            if len(word) > MAX_NUMBER_LENGTH:
                why = f"a number longer than {MAX_NUMBER_LENGTH} characters"
            elif not (number_prefix(word) or any(w.startswith(word) for w in words("json"))):
                why = _no_scalar(word)
            if why:
                self._taken(more[:count])
                self._reject(why)
        self._word = word
        self._taken(more)

    def _taken(self, text: str) -> None:
        if text:
            self._emit(s.SCALAR_TEXT, len(text), text)
            self._at += len(text)

    def _end_scalar(self) -> None:
        if scalar_value(self._word, "json")[0] == 0:
            self._reject(f"'{self._word}' is not a whole value")
        self._emit(s.SCALAR_END, 1, self._word)
        self._in_scalar = False

    def _contents(self) -> Iterator[None]:
        while self._stack:
            while not (char := self._ink()):
                yield
            in_object = self._stack[-1] == "{"
            if not self._first:
                if char in "}]":
                    self._close(char)
                    continue
                if char != ",":
                    expected = (
                        "',' or '}' must follow a member" if in_object else "',' or ']' must follow an item"
                    )
                    self._reject(f"{expected}, not '{char}'")
                self._emit(s.SEPARATOR)
                self._at += 1
                while not (char := self._ink()):
                    yield
            elif char == ("}" if in_object else "]"):
                self._close(char)
                continue
            if in_object:
                if char != '"':
                    self._reject(f"a key in double quotes must come here, not '{char}'")
                yield from self._string(key=True)
                while not (char := self._ink()):
                    yield
                if char != ":":
                    self._reject(f"':' must follow a key, not '{char}'")
                self._at += 1
                while not (char := self._ink()):
                    yield
            yield from self._value(char)


def _no_scalar(word: str) -> str:
    if word.lstrip("-")[:1].isdigit():
        return f"'{word}' begins no JSON number"
    return f"'{word}' begins neither a number nor true, false or null"
