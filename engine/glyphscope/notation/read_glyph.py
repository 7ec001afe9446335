"""The incremental reader of GLYPH: the part of glyph-py 1.0.1's language that tool calls use.

Structs, sums, references, bytes and tables are omitted, because a call's arguments are JSON values. Unknown escapes
(glyph-py drops the backslash), `\\b` and `\\f` (glyph-py reads the letters), escaped surrogates, and numbers with
leading zeros are rejected, because their value would not be the intended one. Two adjacent values are accepted if the
first ends by itself (a quote, a bracket). One difference: `[x {k=v}]` is a word and a map, as in GLYPH's golden case
010; glyph-py 1.0.1 reads it as a struct. Our writers quote the word, which all readers accept.
"""

from __future__ import annotations

import re
from typing import ClassVar

from glyphscope.notation import structure as s
from glyphscope.notation.reader import SPACE, Reader, after
from glyphscope.notation.scalars import (
    GLYPH_NUMBERISH,
    MAX_NUMBER_LENGTH,
    is_bare_key,
    number_prefix,
    scalar_value,
    words,
)
from glyphscope.notation.structure import Structural

_BLANK = " \t\r"
_GAP = " \t\r\n,"
_IDENT = re.compile(r"[\w\-./@+]+")


def is_head(name: str) -> bool:
    """Whether a call of the tool can begin with its name before the brace."""
    return (name[:1].isalpha() or name[:1] == "_") and _IDENT.fullmatch(name) is not None


_DIGITS = re.compile(r"[0-9]+")
_ENDS_WORD = frozenset(" \t\r\n,}]")
_ENDS_KEY = frozenset(" \t\r=:")


class GlyphReader(Reader):
    """Reads GLYPH, character by character if necessary. See `Reader` for `calls` and `max_depth`."""

    RUN = re.compile(r'[^"\\]+')
    ESCAPES: ClassVar[dict[str, str]] = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t"}
    SURROGATES = False

    def __init__(self, *, calls: bool = True, max_depth: int = 256) -> None:
        super().__init__(calls=calls, max_depth=max_depth)
        self._pieces: list[str] = []  # the word's pieces since it is certainly none: words may be long
        self._numberish = False

    # the call and its head

    @after(SPACE)
    def _start(self, text: str, at: int, out: list[Structural]) -> int:
        char = text[at]
        if not self._calls:
            return self._value(text, at, out)
        if char == "{":
            return self._open(text, at, out)
        if char.isalpha() or char == "_":
            self._begin_word("")
            self._state = self._head
            return self._head(text, at, out)
        return self._leading(text, at, out)

    def _head(self, text: str, at: int, out: list[Structural]) -> int:
        match = _IDENT.match(text, at)
        if match:
            self._pieces.append(match[0])
            out.append((s.HEAD_TEXT, self._base + at, self._base + match.end(), match[0]))
            at = match.end()
            if at == len(text):
                return at
        self._word = "".join(self._pieces)
        self._state = self._after_head
        return self._after_head(text, at, out)

    @after(_BLANK)
    def _after_head(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] != "{":
            return self._leading(text, at, out)
        out.append((s.HEAD_END, self._base + at, self._base + at + 1, self._word))
        return self._open(text, at, out)

    # values

    def _value(self, text: str, at: int, out: list[Structural]) -> int:
        char = text[at]
        if char == '"':
            return self._open_string(at, out, key=False)
        if char in "{[":
            return self._open(text, at, out)
        if char == "∅":
            place = self._base + at
            out.append((s.SCALAR_TEXT, place, place + 1, char))
            self._begin_word("")
            self._pieces.append(char)
            self._state = self._scalar
            return at + 1
        if not (char.isalpha() or char in "_-0123456789"):
            return self._reject(text, at, out, f"a value must begin here, and '{char}' begins none")
        self._begin_word(char)
        self._state = self._scalar
        return self._scalar(text, at, out)

    def _scalar(self, text: str, at: int, out: list[Structural]) -> int:
        start = at
        at = self._word_run(text, at)
        if at > start:
            if self._pieces and self._pieces[0][0] == "_" and (at - start > 1 or len(self._pieces) > 1):
                if len(self._pieces) == 1:
                    out.append((s.SCALAR_TEXT, self._base + start, self._base + start + 1, "_"))
                    start += 1
                return self._reject(text, start, out, _UNDERSCORE)
            out.append((s.SCALAR_TEXT, self._base + start, self._base + at, text[start:at]))
            if self._numberish and len(self._word) > MAX_NUMBER_LENGTH:
                return self._reject(text, at - 1, out, f"a number longer than {MAX_NUMBER_LENGTH} characters")
        if at == len(text):
            return at
        if text[at] not in _ENDS_WORD:
            return self._reject(text, at, out, _bad_word(self._whole_word(), text[at]))
        return self._end_scalar(text, at, out)

    def _begin_word(self, first: str) -> None:
        self._word = ""
        self._pieces = []
        self._numberish = first != "" and first in "-0123456789"

    def _word_run(self, text: str, at: int) -> int:
        """Read further characters of the word, like glyph-py's lexer.

        A number is read up to the first character that makes it too long, however the text is divided into pieces.
        """
        while self._numberish and at < len(text):
            room = MAX_NUMBER_LENGTH + 1 - len(self._word)
            if room <= 0:
                return at
            match = _DIGITS.match(text, at, at + room)
            if match:
                self._word += match[0]
                at = match.end()
                continue
            char = text[at]
            if not GLYPH_NUMBERISH.fullmatch(self._word + char):
                if not (char.isalpha() or char == "_"):
                    return at
                self._numberish = False
                self._pieces.append(self._word)
                break
            self._word += char
            at += 1
        if not self._numberish and at < len(text) and self._pieces != ["∅"]:
            match = _IDENT.match(text, at)
            if match:
                self._pieces.append(match[0])
                at = match.end()
        return at

    def _whole_word(self) -> str:
        if not self._numberish:
            self._word = "".join(self._pieces)
        return self._word

    def _end_scalar(self, text: str, at: int, out: list[Structural]) -> int:
        word = self._whole_word()
        if scalar_value(word, "glyph")[0] == 0:
            return self._reject(text, at, out, _no_value(word))
        place = self._base + at
        out.append((s.SCALAR_END, place, place + 1, word))
        self._value_done(place, out)
        return at

    # maps and lists

    @after(_GAP)
    def _first_member(self, text: str, at: int, out: list[Structural]) -> int:
        char = text[at]
        if char in "}]":
            return self._close(text, at, out)
        if char == '"':
            return self._open_string(at, out, key=True, after=self._equals)
        if not (char.isalpha() or char in "_-0123456789"):
            return self._reject(text, at, out, f"a key or '}}' must come here, not '{char}'")
        out.append((s.KEY_OPEN, self._base + at, self._base + at, ""))
        self._begin_word(char)
        self._state = self._bare_key
        return self._bare_key(text, at, out)

    _after_member = _first_member

    def _bare_key(self, text: str, at: int, out: list[Structural]) -> int:
        start = at
        at = self._word_run(text, at)
        if at > start:
            out.append((s.KEY_TEXT, self._base + start, self._base + at, text[start:at]))
            if len(self._word) > MAX_NUMBER_LENGTH and self._numberish:
                return self._reject(text, at - 1, out, "a number is not a key")
        if at == len(text):
            return at
        word = self._whole_word()
        if text[at] not in _ENDS_KEY:
            return self._reject(text, at, out, f"'=' must follow the key '{word}', not '{text[at]}'")
        if not is_bare_key(word):
            return self._reject(
                text, at, out, f"'{word}' is a value in GLYPH; as a key it needs double quotes"
            )
        out.append((s.KEY_END, self._base + at, self._base + at + 1, ""))
        self._state = self._equals
        return at

    @after(_BLANK)
    def _equals(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] not in "=:":
            return self._reject(text, at, out, f"'=' must follow a key, not '{text[at]}'")
        self._state = self._member_value
        return at + 1

    @after(_BLANK)
    def _member_value(self, text: str, at: int, out: list[Structural]) -> int:
        return self._value(text, at, out)

    @after(_GAP)
    def _first_item(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] in "]}":
            return self._close(text, at, out)
        return self._value(text, at, out)

    _after_item = _first_item


_UNDERSCORE = "'_' alone is null; text that begins with '_' needs double quotes"


def _no_value(word: str) -> str:
    if word in ("NaN", "Inf", "-Inf"):
        return f"{word} is not a number that a call can contain"
    if word.lstrip("-")[:1] == "0" and not number_prefix(word):
        return f"'{word}' has a leading zero; quote it if it is text"
    return f"'{word}' is not a whole number; quote it if it is text"


def _bad_word(word: str, char: str) -> str:
    if char in "({" and word not in words("glyph"):
        return f"'{word}{char}' begins a GLYPH struct, which is not an argument value; quote text"
    if char == '"':
        return "a space is missing before the quote"
    return f"'{char}' is not allowed in the bare word '{word}'; put the text in double quotes"
