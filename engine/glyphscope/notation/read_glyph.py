"""The incremental reader of GLYPH: the part of glyph-py 1.0.1's language that tool calls use.

Structs, sums, references, bytes and tables are omitted, because a call's arguments are JSON values. Unknown escapes
(glyph-py drops the backslash), `\\b` and `\\f` (glyph-py reads the letters), escaped surrogates, and numbers with
leading zeros are rejected, because their value would not be the intended one. Two adjacent values are accepted if the
first ends by itself (a quote, a bracket). One difference: `[x {k=v}]` is a word and a map, as in GLYPH's golden case
010; glyph-py 1.0.1 reads it as a struct. Our writers quote the word, which all readers accept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from glyphscope.notation import structure as s
from glyphscope.notation.reader import BLANK, GAP, Reader
from glyphscope.notation.scalars import (
    GLYPH_NUMBERISH,
    MAX_NUMBER_LENGTH,
    is_key,
    number_prefix,
    scalar_value,
    too_large,
    words,
)

_IDENT = re.compile(r"[\w\-./@+]+")


def is_head(name: str) -> bool:
    """Whether a call of the tool can begin with its name before the brace."""
    return (name[:1].isalpha() or name[:1] == "_") and _IDENT.fullmatch(name) is not None


_DIGITS = re.compile(r"[0-9]+")
_ENDS_WORD = frozenset(" \t\r\n,}]")
_ENDS_KEY = frozenset(" \t\r=:")


class GlyphReader(Reader):
    """Reads GLYPH, character by character if necessary. See `Reader` for `calls` and `max_depth`."""

    RUNS: ClassVar[dict[str, re.Pattern[str]]] = {'"': re.compile(r'[^"\\]+')}
    PLAIN = re.compile(r"(?:-?(?:0|[1-9][0-9]*)|(?!NaN|Inf)[A-Za-z][\w\-./@+]*)(?=[,\]} \t\r\n])")
    ESCAPES: ClassVar[dict[str, str]] = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t"}
    SURROGATES = False

    def __init__(self, *, calls: bool = True, max_depth: int = 256, at: int | None = None) -> None:
        super().__init__(calls=calls, max_depth=max_depth, at=at)
        self._pieces: list[str] = []  # the word's pieces since it is certainly none: words may be long
        self._numberish = False

    def _call_begins(self, char: str) -> Iterator[None]:
        if char.isalpha() or char == "_":
            self._begin_word("")
            while found := _IDENT.match(self._text, self._at):
                self._pieces.append(found[0])
                self._emit(s.HEAD_TEXT, len(found[0]), found[0])
                self._at = found.end()
                yield from self.char()
            while not (char := self._ink(BLANK)):
                yield
            if char == "{":
                self._emit(s.HEAD_END, 1, self._whole_word())
        yield from super()._call_begins(char)

    def _contents(self) -> Iterator[None]:
        while self._stack:
            while (char := self._text[self._at : self._at + 1]) in GAP:
                if not self._ink(GAP):
                    yield
            if char in "}]":
                self._close(char)
                continue
            if self._stack[-1] == "{":
                yield from self._string(key=True) if char == '"' else self._key(char)
                while (char := self._text[self._at : self._at + 1]) in BLANK:
                    if not self._ink(BLANK):
                        yield
                if char not in "=:":
                    self._reject(f"'=' must follow a key, not '{char}'")
                self._at += 1
                while (char := self._text[self._at : self._at + 1]) in BLANK:
                    if not self._ink(BLANK):
                        yield
            yield from self._value(char)

    def _value(self, char: str) -> Iterable[None]:
        if char == '"':
            return self._string(key=False)
        if char in "{[":
            self._open()
            return ()
        return () if self._plain_scalar() else self._scalar(char)

    # unquoted scalars and keys

    def _scalar(self, char: str) -> Iterator[None]:
        if not (char.isalpha() or char in "∅_-0123456789"):
            self._reject(f"a value must begin here, and '{char}' begins none")
        self._begin_word(char)
        self._in_scalar = True
        if char in "∅_":
            self._pieces.append(char)
            self._emit(s.SCALAR_TEXT, 1, char)
            self._at += 1
            if _IDENT.match((yield from self.char())) and char == "_":
                self._reject(_UNDERSCORE)
        else:
            while True:
                self._word_run(s.SCALAR_TEXT, f"a number longer than {MAX_NUMBER_LENGTH} characters")
                if self._at < len(self._text):
                    break
                yield
        if (char := self._text[self._at]) not in _ENDS_WORD:
            self._reject(_bad_word(self._whole_word(), char))
        self._end_scalar()

    def _begin_word(self, first: str) -> None:
        self._word = ""
        self._pieces = []
        self._numberish = first != "" and first in "-0123456789"

    def _word_run(self, kind: int, too_long: str) -> None:
        """Pass on the next characters of the word, like glyph-py's lexer.

        A number is read up to the first character that makes it too long, however the text is divided into pieces.
        """
        text, start = self._text, self._at
        at = self._number_run() if self._numberish else start
        if not self._numberish and (match := _IDENT.match(text, at)):
            self._pieces.append(match[0])
            at = match.end()
        if at > start:
            self._out.append((kind, self._base + start, self._base + at, text[start:at]))
            self._at = at
            if self._numberish and len(self._word) > MAX_NUMBER_LENGTH:
                self._at -= 1
                self._reject(too_long)

    def _number_run(self) -> int:
        """The index at which the word's next characters are no longer a number; the word may continue there as text."""
        text, at = self._text, self._at
        while at < len(text) and (room := MAX_NUMBER_LENGTH + 1 - len(self._word)) > 0:
            match = _DIGITS.match(text, at, at + room)
            if match:
                self._word += match[0]
                at = match.end()
                continue
            char = text[at]
            if not GLYPH_NUMBERISH.fullmatch(self._word + char):
                if char.isalpha() or char == "_":
                    self._numberish = False
                    self._pieces.append(self._word)
                break
            self._word += char
            at += 1
        return at

    def _whole_word(self) -> str:
        if not self._numberish:
            self._word = "".join(self._pieces)
        return self._word

    def _end_scalar(self) -> None:
        word = self._whole_word()
        if scalar_value(word, "glyph")[0] == 0:
            self._reject(_no_value(word))
        self._emit(s.SCALAR_END, 1, word)
        self._in_scalar = False

    def _key(self, char: str) -> Iterator[None]:
        if not (char.isalpha() or char in "_-0123456789"):
            self._reject(f"a key or '}}' must come here, not '{char}'")
        self._emit(s.KEY_OPEN, 0)
        self._begin_word(char)
        while True:
            self._word_run(s.KEY_TEXT, "a number is not a key")
            if self._at < len(self._text):
                break
            yield
        word = self._whole_word()
        if (char := self._text[self._at]) not in _ENDS_KEY:
            self._reject(f"'=' must follow the key '{word}', not '{char}'")
        if not is_key(word):
            self._reject(f"'{word}' is a value in GLYPH; as a key it needs double quotes")
        self._emit(s.KEY_END)


_UNDERSCORE = "'_' alone is null; text that begins with '_' needs double quotes"


def _no_value(word: str) -> str:
    if word in ("NaN", "Inf", "-Inf"):
        return f"{word} is not a number that a call can contain"
    if word.lstrip("-")[:1] == "0" and not number_prefix(word):
        return f"'{word}' has a leading zero; quote it if it is text"
    return too_large(word) or f"'{word}' is not a whole number; quote it if it is text"


def _bad_word(word: str, char: str) -> str:
    if char in "({" and word not in words("glyph"):
        return f"'{word}{char}' begins a GLYPH struct, which is not an argument value; quote text"
    if char == '"':
        return "a space is missing before the quote"
    return f"'{char}' is not allowed in the bare word '{word}'; put the text in double quotes"
