"""The incremental reader of JSON (RFC 8259, no lone surrogates, no NaN, no number too large for a float)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from glyphscope.notation import structure as s
from glyphscope.notation.reader import Reader
from glyphscope.notation.scalars import MAX_NUMBER_LENGTH, number_prefix, scalar_value, too_large, words

WITH_KEYS = frozenset({"{", "members", "keywords"})
"""The open brackets whose contents have keys; two are names, as those of `LiteralReader` are outside of its text."""


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
    PLAIN = re.compile(r"(?:-?(?:0|[1-9][0-9]*)|true|false|null)(?=[,\]} \t\r\n])")

    SIGNS: ClassVar[str] = ":"  # between a key and its value
    WORD: ClassVar[re.Pattern[str]] = re.compile(r"[0-9A-Za-z.+\-]+")  # characters of numbers and words

    def __init__(self, *, calls: bool = True, max_depth: int = 256, at: int | None = None) -> None:
        super().__init__(calls=calls, max_depth=max_depth, at=at)
        self._meant = ""  # the number or word that is being read, as JSON has it

    # containers

    def _contents(self) -> Iterator[None]:
        while self._stack:
            while not (char := self._ink()):
                yield
            opened = self._stack[-1]
            if char == self.CLOSING[opened] and not self._due:
                self._close(char)
            elif self._after:
                self._separate(char)
            else:
                if opened in WITH_KEYS:
                    yield from self._written_key(char)
                    while not (char := self._ink()):
                        yield
                    self._sign(char)
                    while not (char := self._ink()):
                        yield
                yield from self._value(char)

    def _separate(self, char: str) -> None:
        """Read a comma, after which another value must come."""
        if char != ",":
            opened = self._stack[-1]
            if char in "}]" and opened in "{[":
                self._close(char)
            part = "a member" if opened in WITH_KEYS else "an item"
            self._reject(f"',' or '{self.CLOSING[opened]}' must follow {part}, not '{char}'")
        place = self._base + self._at
        self._out.append((s.SEPARATOR, place, place + 1, ""))
        self._at += 1
        self._after, self._due = False, True

    def _written_key(self, char: str) -> Iterable[None]:
        """Read a key, which begins with that character."""
        if char != '"':
            self._reject(f"a key in double quotes must come here, not '{char}'")
        return self._string(key=True)

    def _sign(self, char: str) -> None:
        """Read the sign after a key."""
        if char not in self.SIGNS:
            self._reject(f"'{self.SIGNS[0]}' must follow a key, not '{char}'")
        self._at += 1

    # values

    def _value(self, char: str) -> Iterable[None]:
        if char in self.CLOSING:
            self._open()
            return ()
        self._after, self._due = True, False
        if char in self.RUNS:
            return self._string(key=False)
        return self._scalar(char)

    def _scalar(self, char: str) -> Iterable[None]:
        return () if self._plain_scalar() else self._number_or_word(char)

    def _number_or_word(self, char: str) -> Iterator[None]:
        self._word, self._meant, self._in_scalar = "", "", True
        while found := self.WORD.match(self._text, self._at):
            if why := self._grow(found[0]):
                self._reject(why)
            while self._at >= len(self._text):
                yield
        if not self._word:
            self._reject(f"a value must begin here, and '{char}' begins none")
        self._end_scalar()

    def _grow(self, more: str) -> str:
        """The scalar continues with these characters, up to the one that rules it out, if the reason is not ""."""
        word, meant, why = self._word, self._meant, ""
        for char in more:
            grown = word + char
            in_json = self._in_json(grown)
            if not in_json:
                why = self._no_scalar(grown)
                break
            if len(grown) > MAX_NUMBER_LENGTH:
                why = f"a number longer than {MAX_NUMBER_LENGTH} characters"
                break
            word, meant = grown, in_json
        if taken := len(word) - len(self._word):
            self._emit(s.SCALAR_TEXT, taken, meant[-taken:])
            self._at += taken
            self._word, self._meant = word, meant
        return why

    def _in_json(self, word: str) -> str:
        """The beginning of a number or word, as JSON has it; "" if none begins with it."""
        if number_prefix(word):
            return "" if too_large(word) else word
        return word if any(w.startswith(word) for w in words("json")) else ""

    def _no_scalar(self, word: str) -> str:
        if word.lstrip("-")[:1].isdigit():
            return too_large(word) or f"'{word}' begins no JSON number"
        return f"'{word}' begins neither a number nor true, false or null"

    def _end_scalar(self) -> None:
        if scalar_value(self._meant, "json")[0] == 0:
            self._reject(too_large(self._word) or f"'{self._word}' is not a whole value")
        self._emit(s.SCALAR_END, 1, self._meant)
        self._in_scalar = False
