"""Values as models write them: JSON, Python literals, and dictionaries with bare keys and a marker around texts.

One reader accepts all of them, also mixed: `True` and `true`, `'…'` and `"…"`, bare keys. If the text is cut off, it
returns the complete part.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from glyphscope.base.json_values import read_json
from glyphscope.events.encoding import whole_text
from glyphscope.notation.scalars import MAX_NUMBER_LENGTH
from glyphscope.turns.markup import after_space

MAX_DEPTH = 200
"""The maximum nesting of lists and objects; deeper values are rejected."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_KEYS = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*:')
_HEX = re.compile(r"[0-9A-Fa-f]+")
_WORD = re.compile(r"[A-Za-z_][\w.\-]*")
_BARE_KEY = re.compile(r"[^\s:={}\[\],\"'<>]+")
CLOSING = {"[": "]", "(": ")", "{": "}"}
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
WORDS: dict[str, Any] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}
PADDED = re.compile(r"-?0\d[\d.eE+-]*")
"""A number with leading zeros, which neither JSON nor Python allows."""
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": "", "0": "\0", "a": "\a", "v": "\v"}


class NotAValue(Exception):
    """There is no value at `at`."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class CutOff(Exception):
    """The text ends inside a value."""


class Literals:
    """Reads the values of a text. `quote` is a text around strings, in addition to the usual quotation marks."""

    def __init__(self, text: str, quote: str = "") -> None:
        self.text = text
        self.quote = quote if quote not in ("'", '"') else ""
        self.cut = False
        self.repeated = ""  # the first key that is written twice in one object
        self.sets = False
        """Whether a set was read (as a list)."""

    def read(self, at: int) -> tuple[Any, int]:
        """The value at a place, and its end. `cut`: the text ended inside it, and its complete part is returned.

        Raises NotAValue, or CutOff if no part of it is complete.
        """
        self.cut = False
        return self._value(at, 0)

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        at = after_space(self.text, at)
        if at >= len(self.text):
            raise CutOff
        if depth > MAX_DEPTH:
            raise NotAValue(at)
        char = self.text[at]
        if char == "{":
            return self._object(at, depth)
        if char in "[(":
            return self._list(at, depth)
        if self.quote and self.text.startswith(self.quote, at):
            return self._until(at + len(self.quote), self.quote)
        if char in "\"'":
            return self._string(at, char)
        number = _NUMBER.match(self.text, at)
        if number:
            return self._number(number)
        word = _WORD.match(self.text, at)
        if word is None:
            if self.quote and self.quote.startswith(self.text[at:]):
                raise CutOff
            raise NotAValue(at)
        if word.group() in WORDS:
            return WORDS[word.group()], word.end()
        if word.end() == len(self.text):
            raise CutOff
        raise NotAValue(at)

    def _number(self, found: re.Match[str]) -> tuple[Any, int]:
        if found.end() == len(self.text):
            raise CutOff  # it may continue
        after = self.text[found.end()]
        if after.isalnum() or after == "_":
            raise NotAValue(found.start())
        word = found.group()
        if len(word) > MAX_NUMBER_LENGTH:
            raise NotAValue(found.start())
        if set(word) <= set("+-0123456789"):
            return int(word), found.end()
        value = float(word)
        if math.isinf(value):
            raise NotAValue(found.start())
        return value, found.end()

    def _until(self, at: int, closing: str) -> tuple[str, int]:
        end = self.text.find(closing, at)
        if end < 0:
            raise CutOff
        return self.text[at:end], end + len(closing)

    def _string(self, at: int, mark: str) -> tuple[str, int]:
        if self.text.startswith(mark * 3, at):
            return self._until(at + 3, mark * 3)
        plain = _PLAIN[mark]
        out: list[str] = []
        at += 1
        while True:
            found = plain.match(self.text, at)
            assert found is not None
            out.append(found.group())
            at = found.end()
            if at >= len(self.text):
                raise CutOff
            if self.text[at] == mark:
                return whole_text("".join(out)), at + 1
            piece, at = self._escape(at)
            out.append(piece)

    def _escape(self, at: int) -> tuple[str, int]:
        if at + 1 >= len(self.text):
            raise CutOff
        char = self.text[at + 1]
        size = {"u": 4, "x": 2}.get(char, 0)
        if size:
            digits = self.text[at + 2 : at + 2 + size]
            if len(digits) < size:
                raise CutOff
            if not _HEX.fullmatch(digits):
                raise NotAValue(at)
            return chr(int(digits, 16)), at + 2 + size
        return ESCAPES.get(char, char if char in "\"'\\/" else "\\" + char), at + 2

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        closing = CLOSING[self.text[at]]
        out: list[Any] = []
        at = after_space(self.text, at + 1)
        while not self.text.startswith(closing, at):
            try:
                value, at = self._value(at, depth + 1)
            except CutOff:
                self.cut = True
                return out, len(self.text)
            out.append(value)
            if self.cut:
                return out, at
            at = self._comma(at, closing)
        return out, at + 1

    def _comma(self, at: int, closing: str) -> int:
        """The place after a comma, or of the closing bracket."""
        at = after_space(self.text, at)
        if at >= len(self.text):
            return at
        if self.text[at] == ",":
            return after_space(self.text, at + 1)
        if self.text[at] != closing:
            raise NotAValue(at)
        return at

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any] | list[Any], int]:
        out: dict[str, Any] = {}
        start = at
        at = after_space(self.text, at + 1)
        while not self.text.startswith("}", at):
            try:
                key, at = self.key(at)
                at = after_space(self.text, at)
                if at >= len(self.text):
                    raise CutOff
                if not out and self.text[at] in ",}":
                    self.sets = True
                    return self._list(start, depth)
                if self.text[at] not in ":=":
                    raise NotAValue(at)
                value, at = self._value(at + 1, depth + 1)
            except CutOff:
                self.cut = True
                return out, len(self.text)
            self.repeated = self.repeated or (key if key in out else "")
            out[key] = value
            if self.cut:
                return out, at
            at = self._comma(at, "}")
        return out, at + 1

    def key(self, at: int) -> tuple[str, int]:
        """A key in an object, quoted or bare, and its end. Raises NotAValue and CutOff."""
        if at >= len(self.text):
            raise CutOff
        if self.quote and self.text.startswith(self.quote, at):
            return self._until(at + len(self.quote), self.quote)
        if self.text[at] in "\"'":
            return self._string(at, self.text[at])
        found = _BARE_KEY.match(self.text, at)
        if found is None:
            raise NotAValue(at)
        return found.group(), found.end()


def repeated_key(text: str, start: int, end: int) -> str:
    """The first key that is written twice in one object of a JSON value between two places; "" if there is none."""
    keys = _KEYS.findall(text, start, end)
    if len(keys) == len(set(keys)):
        return ""
    found: list[str] = []

    def pairs(members: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in members:
            if key in seen:
                found.append(key)
            seen.add(key)

    json.JSONDecoder(object_pairs_hook=pairs).raw_decode(text, start)
    return found[0] if found else ""


def whole_value(text: str, quote: str = "") -> tuple[bool, Any]:
    """Whether a text is one value in any of the notations, and the value."""
    stripped = text.strip()
    found = read_json(stripped, 0) if stripped else None
    if found is not None and found[1] == len(stripped):
        return True, found[0]
    reader = Literals(stripped + " ", quote)
    try:
        value, end = reader.read(0)
    except (NotAValue, CutOff):
        return False, None
    return not reader.cut and after_space(reader.text, end) == len(reader.text), value
