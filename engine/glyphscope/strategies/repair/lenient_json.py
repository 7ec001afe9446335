"""Reads one JSON object with the errors that models usually make, and returns the edits that fix them.

The content of a string is never changed, only its quotes. Ambiguous text is not read at all: an unterminated string, a
bare word as a value, a number or a comma at the very end of a text.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

MAX_DEPTH = 256
"""The same depth as in the parsers of calls."""

_SPACE = re.compile(r"[ \t\r\n]+")
_COMMENT = re.compile(r"//[^\n]*+|/\*.*?\*/", re.DOTALL)
_KEY = re.compile(r"[A-Za-z_$][\w$-]*+")
_WORD = re.compile(r"[-+.\w$]++")
_NUMBER = re.compile(r"-?\d[\d.eE+-]*+")
_LITERALS = frozenset({"true", "false", "null"})
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_FENCE = "```"

# Opening quotes, and the quotes that close each. German „…“ ends with the quote that opens English ones.
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "„": "“”", "‘": "’", "’": "’"}
_STRINGS = {
    quote: re.compile(rf"{quote}((?:[^{ends}\\]++|\\.)*+)[{ends}]", re.DOTALL)
    for quote, ends in _QUOTES.items()
}
_TO_ESCAPE = re.compile(r'\\.|"', re.DOTALL)

_State: TypeAlias = Literal["first", "next", "after"]
"""Just inside a bracket; after a comma; after a value."""


class Edit(NamedTuple):
    """The characters `start` to `end` (exclusive) of the text become `new`; `what` describes the change in words."""

    start: int
    end: int
    new: str
    what: str


class LenientObject(NamedTuple):
    """The object read to character `end` (exclusive), with its own keys, and the edits in the text's order.

    Not `whole`: the character at `end` makes it invalid or ambiguous.
    """

    whole: bool
    end: int
    keys: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()


def read_lenient(text: str, start: int, *, close: bool) -> LenientObject:
    """The object whose brace is at `start`.

    `close`: brackets that are open at the end of the text, or of its code fence, are closed, if the value before the
    end is complete.
    """
    reader = _Reader(text, start, close)
    whole = reader.read()
    return LenientObject(whole, reader.at, tuple(reader.keys), tuple(sorted(reader.edits)))


class _Reader:
    """One pass from the brace on; each method returns whether the element that it reads was there."""

    def __init__(self, text: str, start: int, close: bool) -> None:
        self.at = start
        self.keys: list[str] = []
        self.edits: list[Edit] = []
        self._text = text
        self._close = close
        self._stack: list[str] = []
        self._state: _State = "first"
        self._comma = -1
        self._after_number = False

    def read(self) -> bool:
        """Whether the object was read to its end."""
        self._enter()
        while self._stack:
            ended = self._blank() or not self._after_number
            if self._over():
                return ended and self._closed_at_end()
            self._after_number = False
            char = self._text[self.at]
            if char in "}]":
                readable = self._leave(char)
            elif self._state == "after":
                readable = self._separated(char)
            else:
                readable = (self._stack[-1] == "[" or self._member_name()) and self._value()
            if not readable:
                return False
        return True

    def _enter(self) -> None:
        self._stack.append(self._text[self.at])
        self._state = "first"
        self.at += 1

    def _leave(self, char: str) -> bool:
        if char != ("}" if self._stack.pop() == "{" else "]"):
            return False
        if self._state == "next":
            self._edit(self._comma, self._comma + 1, "", "the comma after the last one left out")
        self._state = "after"
        self.at += 1
        return True

    def _separated(self, char: str) -> bool:
        self._comma, self._state = self.at, "next"
        self.at += 1
        return char == ","

    def _over(self) -> bool:
        """Whether this is the end of the text, or of the code fence."""
        return self.at >= len(self._text) or self._text.startswith(_FENCE, self.at)

    def _closed_at_end(self) -> bool:
        if not self._close or self._state != "after":
            return False
        brackets = "".join("}" if opened == "{" else "]" for opened in reversed(self._stack))
        self._edit(self.at, self.at, brackets, f"closed with {brackets}")
        return True

    def _blank(self) -> bool:
        """Skip white space and comments; returns whether there were any."""
        start = self.at
        while True:
            if match := _SPACE.match(self._text, self.at):
                self.at = match.end()
            elif match := _COMMENT.match(self._text, self.at):
                self._edit(self.at, match.end(), "", "a comment left out")
                self.at = match.end()
            else:
                return self.at > start

    def _member_name(self) -> bool:
        key = self._string()
        if key is None:
            match = _KEY.match(self._text, self.at)
            if match is None:
                return False
            key = match[0]
            self._edit(self.at, match.end(), f'"{key}"', f"the key {key} put into quotes")
            self.at = match.end()
        self._blank()
        if self._over() or self._text[self.at] != ":":
            return False
        if len(self._stack) == 1:
            self.keys.append(key)
        self.at += 1
        self._blank()
        return not self._over()

    def _value(self) -> bool:
        """Read a whole scalar, or the opening bracket of an object or a list, whose content is read next."""
        if self._text[self.at] in "{[":
            self._enter()
            return len(self._stack) <= MAX_DEPTH
        self._state = "after"
        if self._string() is not None:
            return True
        match = _WORD.match(self._text, self.at)
        if match is None:
            return False
        word = match[0]
        if word in _PYTHON:
            self._edit(self.at, match.end(), _PYTHON[word], f"Python's {word} written {_PYTHON[word]}")
        self._after_number = bool(_NUMBER.fullmatch(word))
        self.at = match.end()
        return self._after_number or word in _LITERALS or word in _PYTHON

    def _string(self) -> str | None:
        """The content of a quoted text as it is written; None if none begins here, or if it does not end."""
        start = self.at
        quote = self._text[start]
        match = _STRINGS[quote].match(self._text, start) if quote in _STRINGS else None
        if match is None:
            return None
        self.at = match.end()
        if quote != '"':
            self._edit(
                start,
                self.at,
                _in_double_quotes(match[1]),
                f"{match[0][0]}…{match[0][-1]} made double quotes",
            )
        return match[1]

    def _edit(self, start: int, end: int, new: str, what: str) -> None:
        self.edits.append(Edit(start, end, new, what))


def _in_double_quotes(inside: str) -> str:
    """The same text in double quotes: double quotes in it are escaped, other quotes are not."""

    def spelt(match: re.Match[str]) -> str:
        found = match[0]
        if found == '"':
            return '\\"'
        return found[1] if found[1] in _QUOTES and found[1] != '"' else found

    return f'"{_TO_ESCAPE.sub(spelt, inside)}"'
