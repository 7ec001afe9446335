"""The common part of both readers: positions, leading and trailing text, quoted strings with escapes, depth."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ClassVar, TypeAlias, TypeVar, cast

from glyphscope.notation import structure as s
from glyphscope.notation.structure import Structural

SPACE = " \t\r\n"
_HEX = re.compile(r"[0-9a-fA-F]+")

State: TypeAlias = Callable[[str, int, list[Structural]], int]
_Method = TypeVar("_Method", bound=Callable[..., int])


def after(blanks: str) -> Callable[[_Method], _Method]:
    """A decorator that makes a state skip white space first; the state is called at the next other character."""

    match_blanks = re.compile(f"[{re.escape(blanks)}]+").match

    def skipping(state: _Method) -> _Method:
        @wraps(state)
        def skip(self: Reader, text: str, at: int, out: list[Structural]) -> int:
            if text[at] in blanks and (found := match_blanks(text, at)):
                at = found.end()
                if at == len(text):
                    return at
            return state(self, text, at, out)

        return cast(_Method, skip)

    return skipping


class Reader:
    """A state machine: each state is a method that reads some of the text and returns where it stopped.

    With `calls=True`, the document is one call: it must begin with `{` (or GLYPH's head), and text before it is
    reported and skipped. Otherwise it is any single value.
    """

    RUN: ClassVar[re.Pattern[str]]  # characters of a quoted string other than escapes
    ESCAPES: ClassVar[dict[str, str]]
    SURROGATES: ClassVar[bool]  # whether \uD83D\uDE00 is one character

    def __init__(self, *, calls: bool = True, max_depth: int = 256) -> None:
        self._calls = calls
        self._max_depth = max_depth
        self._base = 0
        self._stack: list[str] = []
        self._state: State = self._start
        self._after_string: State = self._start
        self._in_key = False
        self._escape = ""
        self._escape_start = 0
        self._high = ""  # a high surrogate, waiting for the low one
        self._hunting = False
        self._word = ""  # the unquoted scalar, key or head being read

    @property
    def position(self) -> int:
        return self._base

    def feed(self, text: str) -> list[Structural]:
        out: list[Structural] = []
        at, size = 0, len(text)
        while at < size:
            at = self._state(text, at, out)
        self._base += size
        return out

    def finish(self) -> list[Structural]:
        """End the text, and with it a scalar that is the whole document."""
        out: list[Structural] = []
        if self._state == self._scalar and not self._stack:
            self._end_scalar("", 0, out)
        return out

    def _state_of_notation(self, text: str, at: int, out: list[Structural]) -> int:
        """The states specific to the notation."""
        raise NotImplementedError

    _start = _scalar = _end_scalar = _state_of_notation
    _first_member = _after_member = _first_item = _after_item = _state_of_notation

    # the document's frame

    def _leading(self, text: str, at: int, out: list[Structural]) -> int:
        """Report text before the call once, and skip to the first brace."""
        if not self._hunting:
            self._hunting = True
            out.append((s.LEADING_TEXT, self._base + at, self._base + at + 1, text[at]))
        self._state = self._hunt
        return self._hunt(text, at, out)

    def _hunt(self, text: str, at: int, out: list[Structural]) -> int:
        brace = text.find("{", at)
        if brace < 0:
            return len(text)
        return self._open(text, brace, out)

    def _open(self, text: str, at: int, out: list[Structural]) -> int:
        """Enter the object or array whose bracket is at `at`."""
        bracket = text[at]
        place = self._base + at
        if len(self._stack) >= self._max_depth:
            out.append((s.TOO_DEEP, place, place + 1, f"nested deeper than {self._max_depth} levels"))
            self._state = self._dead
            return len(text)
        self._stack.append(bracket)
        if bracket == "{":
            out.append((s.OBJECT_OPEN, place, place + 1, ""))
            self._state = self._first_member
        else:
            out.append((s.ARRAY_OPEN, place, place + 1, ""))
            self._state = self._first_item
        return at + 1

    def _close(self, text: str, at: int, out: list[Structural]) -> int:
        """Leave the innermost bracket if the one at `at` matches it."""
        place = self._base + at
        opened = self._stack.pop()
        if text[at] != ("}" if opened == "{" else "]"):
            self._stack.append(opened)
            return self._reject(text, at, out, f"'{text[at]}' does not close the '{opened}' that is open")
        out.append((s.OBJECT_CLOSE if opened == "{" else s.ARRAY_CLOSE, place, place + 1, ""))
        self._value_done(place + 1, out)
        return at + 1

    def _value_done(self, end: int, out: list[Structural]) -> None:
        if not self._stack:
            out.append((s.DOCUMENT_END, end, end, ""))
            self._state = self._trailing
        elif self._stack[-1] == "{":
            self._state = self._after_member
        else:
            self._state = self._after_item

    @after(SPACE)
    def _trailing(self, text: str, at: int, out: list[Structural]) -> int:
        out.append((s.TRAILING_TEXT, self._base + at, self._base + at + 1, text[at]))
        self._state = self._dead
        return len(text)

    def _dead(self, text: str, at: int, out: list[Structural]) -> int:
        return len(text)

    def _reject(self, text: str, at: int, out: list[Structural], why: str) -> int:
        out.append((s.SYNTAX, self._base + at, self._base + at + 1, why))
        self._state = self._dead
        return len(text)

    # quoted strings and keys

    def _open_string(self, at: int, out: list[Structural], *, key: bool, after: State | None = None) -> int:
        place = self._base + at
        out.append((s.KEY_OPEN if key else s.STRING_OPEN, place, place + 1, '"'))
        self._in_key = key
        if after is not None:
            self._after_string = after
        self._state = self._string
        return at + 1

    def _string(self, text: str, at: int, out: list[Structural]) -> int:
        match = self.RUN.match(text, at)
        if match:
            end = match.end()
            if self._high:
                return self._half_pair(text, at, out)
            out.append(
                (s.KEY_TEXT if self._in_key else s.STRING_TEXT, self._base + at, self._base + end, match[0])
            )
            if end == len(text):
                return end
            at = end
        char = text[at]
        place = self._base + at
        if char == "\\":
            if not self._high:
                out.append((s.ESCAPE_OPEN, place, place + 1, ""))
                self._escape_start = place
            self._state = self._after_backslash
            return at + 1
        if self._high:
            return self._half_pair(text, at, out)
        if char != '"':
            return self._reject(
                text, at, out, f"a control character (U+{ord(char):04X}) must be written \\u{ord(char):04x}"
            )
        if self._in_key:
            out.append((s.KEY_END, place, place + 1, ""))
            self._state = self._after_string
        else:
            out.append((s.STRING_END, place, place + 1, ""))
            self._value_done(place + 1, out)
        return at + 1

    def _half_pair(self, text: str, at: int, out: list[Structural]) -> int:
        return self._reject(
            text, at, out, f"\\u{ord(self._high):04x} is half a character; its other half must follow"
        )

    def _after_backslash(self, text: str, at: int, out: list[Structural]) -> int:
        char = text[at]
        if char == "u":
            self._escape = ""
            self._state = self._hex
            return at + 1
        if self._high:
            return self._half_pair(text, at, out)
        decoded = self.ESCAPES.get(char)
        if decoded is None:
            return self._reject(text, at, out, f"\\{char} is not an escape here; a backslash is written \\\\")
        self._escaped(self._base + at + 1, decoded, out)
        return at + 1

    def _hex(self, text: str, at: int, out: list[Structural]) -> int:
        match = _HEX.match(text, at, at + 4 - len(self._escape))
        if match is None:
            return self._reject(text, at, out, "\\u is followed by four hexadecimal digits")
        self._escape += match[0]
        if len(self._escape) < 4:
            return match.end()
        code = int(self._escape, 16)
        place = match.end() - 1
        if self._high:
            if not 0xDC00 <= code <= 0xDFFF:
                return self._half_pair(text, place, out)
            pair = 0x10000 + ((ord(self._high) - 0xD800) << 10) + (code - 0xDC00)
            self._high = ""
            self._escaped(self._base + match.end(), chr(pair), out)
        elif 0xD800 <= code <= 0xDFFF:
            if not self.SURROGATES or code >= 0xDC00:
                return self._reject(
                    text, place, out, f"\\u{self._escape} is half a character; write the character itself"
                )
            self._high = chr(code)
            self._state = self._string
        else:
            self._escaped(self._base + match.end(), chr(code), out)
        return match.end()

    def _escaped(self, end: int, decoded: str, out: list[Structural]) -> None:
        out.append((s.KEY_TEXT if self._in_key else s.STRING_TEXT, self._escape_start, end, decoded))
        self._state = self._string
