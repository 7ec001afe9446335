"""The incremental reader of JSON (RFC 8259, no lone surrogates, no NaN, no number too large for a float)."""

from __future__ import annotations

import re
from typing import ClassVar

from glyphscope.notation import structure as s
from glyphscope.notation.reader import SPACE, Reader, State, after
from glyphscope.notation.scalars import MAX_NUMBER_LENGTH, number_prefix, scalar_value, words
from glyphscope.notation.structure import Structural

_WORD = re.compile(r"[0-9A-Za-z.+\-]+")
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?=[,\]} ])")


class JsonReader(Reader):
    """Reads JSON, character by character if necessary. See `Reader` for `calls` and `max_depth`."""

    RUN = re.compile(r'[^"\\\x00-\x1f]+')
    ESCAPES: ClassVar[dict[str, str]] = {
        **{char: char for char in '"\\/'},
        "b": "\b",
        "f": "\f",
        "n": "\n",
        "r": "\r",
        "t": "\t",
    }
    SURROGATES = True

    @after(SPACE)
    def _start(self, text: str, at: int, out: list[Structural]) -> int:
        if self._calls:
            return self._open(text, at, out) if text[at] == "{" else self._leading(text, at, out)
        return self._value(text, at, out)

    @after(SPACE)
    def _value(self, text: str, at: int, out: list[Structural]) -> int:
        char = text[at]
        if char == '"':
            return self._open_string(at, out, key=False)
        if char in "{[":
            return self._open(text, at, out)
        plain = _PLAIN_NUMBER.match(text, at)
        # a whole number inside one piece: the common case, in one step
        if plain and len(plain[0]) <= MAX_NUMBER_LENGTH:
            start, end = self._base + at, self._base + plain.end()
            out.append((s.SCALAR_TEXT, start, end, plain[0]))
            out.append((s.SCALAR_END, end, end + 1, plain[0]))
            self._value_done(end, out)
            return plain.end()
        self._word = ""
        self._state = self._scalar
        return self._scalar(text, at, out)

    def _scalar(self, text: str, at: int, out: list[Structural]) -> int:
        match = _WORD.match(text, at)
        if match:
            for offset, char in enumerate(match[0]):
                grown = self._word + char
                if len(grown) > MAX_NUMBER_LENGTH:
                    self._flush(at, at + offset, text, out)
                    return self._reject(
                        text, at + offset, out, f"a number longer than {MAX_NUMBER_LENGTH} characters"
                    )
                if not (number_prefix(grown) or any(w.startswith(grown) for w in words("json"))):
                    self._flush(at, at + offset, text, out)
                    return self._reject(text, at + offset, out, _no_scalar(grown))
                self._word = grown
            self._flush(at, match.end(), text, out)
            at = match.end()
            if at == len(text):
                return at
        elif not self._word:
            return self._reject(text, at, out, f"a value must begin here, and '{text[at]}' begins none")
        return self._end_scalar(text, at, out)

    def _flush(self, start: int, end: int, text: str, out: list[Structural]) -> None:
        if end > start:
            out.append((s.SCALAR_TEXT, self._base + start, self._base + end, text[start:end]))

    def _end_scalar(self, text: str, at: int, out: list[Structural]) -> int:
        if scalar_value(self._word, "json")[0] == 0:
            return self._reject(text, at, out, f"'{self._word}' is not a whole value")
        place = self._base + at
        out.append((s.SCALAR_END, place, place + 1, self._word))
        self._value_done(place, out)
        return at

    @after(SPACE)
    def _first_member(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] == "}":
            return self._close(text, at, out)
        return self._key(text, at, out)

    @after(SPACE)
    def _key(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] != '"':
            return self._reject(text, at, out, f"a key in double quotes must come here, not '{text[at]}'")
        return self._open_string(at, out, key=True, after=self._colon)

    @after(SPACE)
    def _colon(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] != ":":
            return self._reject(text, at, out, f"':' must follow a key, not '{text[at]}'")
        self._state = self._value
        return at + 1

    @after(SPACE)
    def _after_member(self, text: str, at: int, out: list[Structural]) -> int:
        return self._separated(text, at, out, self._key, "',' or '}' must follow a member")

    @after(SPACE)
    def _first_item(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] == "]":
            return self._close(text, at, out)
        return self._value(text, at, out)

    @after(SPACE)
    def _after_item(self, text: str, at: int, out: list[Structural]) -> int:
        return self._separated(text, at, out, self._value, "',' or ']' must follow an item")

    def _separated(self, text: str, at: int, out: list[Structural], following: State, expected: str) -> int:
        if text[at] == ",":
            out.append((s.SEPARATOR, self._base + at, self._base + at + 1, ""))
            self._state = following
            return at + 1
        if text[at] in "}]":
            return self._close(text, at, out)
        return self._reject(text, at, out, f"{expected}, not '{text[at]}'")


def _no_scalar(word: str) -> str:
    if word.lstrip("-")[:1].isdigit():
        return f"'{word}' begins no JSON number"
    return f"'{word}' begins neither a number nor true, false or null"
