"""The common part of both readers: positions, leading and trailing text, quoted strings with escapes, depth.

A reader is a generator that waits wherever the text that is there so far ends, so its code has the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import ClassVar, NoReturn

from glyphscope.notation import structure as s
from glyphscope.notation.ahead import Ended, TextAhead
from glyphscope.notation.scalars import MAX_NUMBER_LENGTH
from glyphscope.notation.structure import Structural

SPACE = " \t\r\n"
BLANK = " \t\r"
GAP = " \t\r\n,"
_RUNS = {blanks: re.compile(f"[{blanks}]+") for blanks in (SPACE, BLANK, GAP)}
_HEX = re.compile(r"[0-9a-fA-F]+")


class Reader(TextAhead):
    """Reads a text in pieces of any size.

    With `calls=True`, the document is one call: it must begin with `{` (or GLYPH's head), and text before it is
    reported and skipped. Otherwise it is any single value. `at` is the position of the first character in another text,
    in which a value is read no further than its end. `done`: it is complete. `broken`: the reader rejected the next
    character, with SYNTAX or TOO_DEEP as its last event, and reads no further.
    """

    RUNS: ClassVar[dict[str, re.Pattern[str]]]  # by quotation mark: characters of a string other than escapes
    ESCAPES: ClassVar[dict[str, str]]
    SURROGATES: ClassVar[bool]  # whether \uD83D\uDE00 is one character
    PLAIN: ClassVar[re.Pattern[str]]  # integers and words, with what shows their end ahead
    CLOSING: ClassVar[dict[str, str]] = {"{": "}", "[": "]"}

    def __init__(self, *, calls: bool = True, max_depth: int = 256, at: int | None = None) -> None:
        super().__init__(at or 0)
        self.done = self.broken = False
        self._calls = calls
        self._inside = at is not None and not calls
        self._max_depth = max_depth
        self._out: list[Structural] = []
        self._stack: list[str] = []  # the brackets that are open
        self._after = False  # a value in the bracket is complete, and another one begins not yet
        self._due = False  # another value must follow
        self._in_scalar = False
        self._word = ""  # the unquoted scalar, key or head being read
        self._reading = chain(self._begin(), self._contents(), self._trailing())

    def feed(self, text: str, at: int | None = None) -> list[Structural]:
        """Read on, up to the value's end or the rejected character, which is then at `place`, or all of the text.

        `at` is the text's position, if it is not where the text before it ended.
        """
        self._base = self._base + self._at if at is None else at
        self._text, self._at = text, 0  # all text before was read
        out = self._out = []
        try:
            next(self._reading, None)
        except Ended:
            self._reading = iter(())
        return out

    def finish(self) -> list[Structural]:
        """End the text, and with it a scalar that is the whole document."""
        out = self._out = []
        if self._in_scalar and not self._stack:
            with suppress(Ended):
                self._end_scalar()
                self._end_document()
        return out

    def _emit(self, kind: int, size: int = 1, text: str = "") -> None:
        """An event of the next characters."""
        place = self._base + self._at
        self._out.append((kind, place, place + size, text))

    def _reject(self, why: str, kind: int = s.SYNTAX) -> NoReturn:
        """Reject the next character. Raises Ended."""
        self._in_scalar, self.broken = False, True
        self._emit(kind, 1, why)
        raise Ended

    # the document

    def _begin(self) -> Iterator[None]:
        while not (char := self._ink()):
            yield
        if self._calls:
            yield from self._call_begins(char)
            self._open()
        elif not self._stack:
            yield from self._value(char)

    def _trailing(self) -> Iterator[None]:
        self._end_document()
        while not self._inside:
            if char := self._ink():
                self._emit(s.TRAILING_TEXT, 1, char)
                break
            yield

    def _end_document(self) -> None:
        self.done = True
        if not self._inside:
            self._emit(s.DOCUMENT_END, 0)

    def _call_begins(self, char: str) -> Iterator[None]:
        """Read up to the call's brace."""
        if char != "{":
            yield from self._hunt(char)

    def _value(self, char: str) -> Iterable[None]:
        """Read a value that begins with that character, of an object or array only the bracket."""
        raise NotImplementedError

    def _contents(self) -> Iterator[None]:
        """Read what is in the open bracket, and in the brackets in it, up to its end."""
        raise NotImplementedError

    def _end_scalar(self) -> None:
        """The scalar that was read is complete."""
        raise NotImplementedError

    def _ink(self, blanks: str = SPACE) -> str:
        """The next character other than white space; "" where the text ends."""
        text, at = self._text, self._at
        char = text[at : at + 1]
        if char and char in blanks and (found := _RUNS[blanks].match(text, at)):
            at = self._at = found.end()
            char = text[at : at + 1]
        return char

    def _hunt(self, char: str) -> Iterator[None]:
        """Report text before the call once, and skip to the first brace."""
        self._emit(s.LEADING_TEXT, 1, char)
        while (brace := self._text.find("{", self._at)) < 0:
            self._at = len(self._text)
            yield
        self._at = brace

    def _open(self, bracket: str = "") -> None:
        """Enter the object or array whose bracket is next; `bracket`: as it is remembered, if that is another one."""
        if len(self._stack) >= self._max_depth:
            self._reject(f"nested deeper than {self._max_depth} levels", s.TOO_DEEP)
        bracket = bracket or self._text[self._at]
        self._stack.append(bracket)
        self._emit(s.OBJECT_OPEN if bracket == "{" else s.ARRAY_OPEN)
        self._at += 1
        self._after = self._due = False

    def _close(self, char: str) -> None:
        """Leave the innermost bracket if the next character matches it."""
        opened = self._stack[-1]
        if char != self.CLOSING[opened]:
            self._reject(f"'{char}' does not close the '{opened}' that is open")
        self._stack.pop()
        self._emit(s.OBJECT_CLOSE if opened == "{" else s.ARRAY_CLOSE)
        self._at += 1
        self._after = True

    def _plain_scalar(self) -> bool:
        """Read a scalar inside one piece: the common case, in one step."""
        plain = self.PLAIN.match(self._text, self._at)
        if plain is None or len(plain[0]) > MAX_NUMBER_LENGTH:
            return False
        self._at = plain.end()
        place = self._base + self._at
        self._out.append((s.SCALAR_END, place, place + 1, plain[0]))
        return True

    # quoted strings and keys

    def _string(self, *, key: bool) -> Iterable[None]:
        """Read a string in quotes, which is next."""
        opened, kind, ended = (
            (s.KEY_OPEN, s.KEY_TEXT, s.KEY_END) if key else (s.STRING_OPEN, s.STRING_TEXT, s.STRING_END)
        )
        mark, place = self._text[self._at], self._base + self._at
        self._out.append((opened, place, place + 1, '"'))
        self._at += 1
        run = self.RUNS[mark].match
        while True:
            text, at = self._text, self._at
            if found := run(text, at):
                end = self._at = found.end()
                self._out.append((kind, self._base + at, self._base + end, found[0]))
                at = end
            if at == len(text):
                yield
            elif (char := text[at]) == "\\":
                if decoded := self.ESCAPES.get(text[at + 1 : at + 2]):
                    place = self._base + at
                    self._out += ((s.ESCAPE_OPEN, place, place + 1, ""), (kind, place, place + 2, decoded))
                    self._at = at + 2
                else:
                    yield from self._escape(kind)
            elif char == mark:
                break
            else:
                self._reject(f"a control character (U+{ord(char):04X}) must be written \\u{ord(char):04x}")
        place = self._base + self._at
        self._out.append((ended, place, place + 1, ""))
        self._at += 1

    def _escape(self, kind: int) -> Iterator[None]:
        """Read an escape, whose backslash is next: one of a character by its number, or in two pieces, or unknown."""
        start = self._base + self._at
        self._emit(s.ESCAPE_OPEN)
        self._at += 1
        while not (char := self._text[self._at : self._at + 1]):
            yield
        if char == "u":
            self._at += 1
            decoded = yield from self._character()
        else:
            known = self.ESCAPES.get(char)
            if known is None:
                self._reject(f"\\{char} is not an escape here; a backslash is written \\\\")
            decoded = known
            self._at += 1
        self._out.append((kind, start, self._base + self._at, decoded))

    def _character(self) -> Generator[None, None, str]:
        """Read the digits of a character, of both halves if it has two."""
        digits = yield from self._digits()
        code = int(digits, 16)
        if not 0xD800 <= code <= 0xDFFF:
            return chr(code)
        if not self.SURROGATES or code >= 0xDC00:
            self._at -= 1
            self._reject(f"\\u{digits} is half a character; write the character itself")
        half = f"\\u{code:04x} is half a character; its other half must follow"
        for sign in "\\u":
            if (yield from self.char()) != sign:
                self._reject(half)
            self._at += 1
        low = int((yield from self._digits()), 16)
        if not 0xDC00 <= low <= 0xDFFF:
            self._at -= 1
            self._reject(half)
        return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))

    def _digits(self, count: int = 4) -> Generator[None, None, str]:
        """Read that many hexadecimal digits."""
        digits = ""
        while len(digits) < count:
            yield from self.char()
            found = _HEX.match(self._text, self._at, self._at + count - len(digits))
            if found is None:
                signs = "\\u is followed by four" if count == 4 else "\\x is followed by two"
                self._reject(f"{signs} hexadecimal digits")
            digits += found[0]
            self._at = found.end()
        return digits
