"""The incremental reader of values as models write them, for the validator: JSON, Python literals, and bare keys.

It accepts the same mixture as `literals.Literals`. Python's words are as long as JSON's, and are passed on as JSON's,
letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import NoReturn

from glyphscope.notation import structure as s
from glyphscope.notation.ahead import Ended, TextAhead
from glyphscope.notation.scalars import MAX_NUMBER_LENGTH, number_prefix, scalar_value
from glyphscope.notation.structure import Structural
from glyphscope.turns.literals import CLOSING, ESCAPES
from glyphscope.turns.tools import ArgumentTypes

_KEY = re.compile(r"[^\s:={}\[\],\"'<>()]+")
_WORD = re.compile(r"[0-9A-Za-z_.+\-]+")
_NOT_BARE = frozenset(",{}[]<>\"'\n")
"""Characters that a text without marks does not contain."""
_MARKS = "a text between marks was expected"
_PLAIN = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
_HEX = re.compile(r"[0-9a-fA-F]+")
_WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_HIGH = range(0xD800, 0xDC00)
_LOW = range(0xDC00, 0xE000)


class LiteralReader(TextAhead):
    """Reads a value from character `at` on or, with `closer`, an object's members up to that bracket, exclusive.

    `done`: the value, or the members, are complete. `broken`: the reader rejected a character, with SYNTAX or TOO_DEEP
    as its last event, and reads no further. `quote` is a text around strings, in addition to quotation marks. `types`:
    the types of a member by its key; its value may then be a text without marks, up to a comma or the closer, which is
    reported as a DEPARTURE.
    """

    def __init__(
        self,
        at: int,
        *,
        quote: str = "",
        closer: str = "",
        max_depth: int = 200,
        types: Callable[[str], ArgumentTypes] | None = None,
    ) -> None:
        super().__init__(at)
        self.done = False
        self.broken = False
        self._quote = quote if quote not in ("'", '"') else ""
        self._closer = closer
        self._max_depth = max_depth
        self._types = types
        self._out: list[Structural] = []
        self._stack: list[str] = [closer] if closer else []  # the closing brackets of the open containers
        self._key: list[str] = []  # of the member, in pieces
        self._word: str | None = None  # the number or word that is being read
        self._translated = ""  # the same in JSON
        self._escape_start = 0
        self._high = 0  # a high surrogate, until its low one
        self._reading = self._read()

    def feed(self, text: str, at: int, out: list[Structural]) -> int:
        """Read from index `at` on, appending events to `out`. Returns the index after the last character read."""
        if self.done or self.broken:
            return at
        self._out = out
        return at + self._more(text[at:])

    def finish(self, out: list[Structural]) -> None:
        """The text ends, which completes a number or a word."""
        self._out = out
        if self._word is not None and not self._stack:
            with suppress(Ended):
                self._end_scalar()
                self.done = True

    @property
    def may_end(self) -> bool:
        """Whether the value is complete if the text ends here."""
        word = self._word is not None and not self._stack
        return self.done or (word and scalar_value(self._translated, "json")[0] != 0)

    def _ink(self) -> Generator[None, None, str]:
        """The next character other than white space."""
        while (char := (yield from self.char())).isspace():
            self._at += 1
        return char

    def _emit(self, kind: int, start: int, end: int, text: str = "") -> None:
        self._out.append((kind, start, end, text))

    def _reject(self, why: str, kind: int = s.SYNTAX) -> NoReturn:
        """Reject the next character. Raises Ended."""
        self._emit(kind, self.place, self.place + 1, why)
        self.broken = True
        raise Ended

    # values

    def _read(self) -> Iterator[None]:
        """Read a value with all that it contains."""
        complete = False  # whether a member or an item was just read
        while True:
            if self._stack:
                char = yield from self._ink()
                if char == self._stack[-1]:
                    self._close()
                    if not self._stack:
                        break
                    complete = True
                    continue
                if complete:
                    if char != ",":
                        self._reject(f"',' or '{self._stack[-1]}' must follow a value, not '{char}'")
                    self._at += 1
                    complete = False
                    continue
                if self._has_members:
                    yield from self._read_key(char)
            complete = yield from self._read_value()
            if not self._stack:
                break
        self.done = True

    @property
    def _has_members(self) -> bool:
        """Whether the innermost container has keys."""
        return self._stack[-1] == "}" or (len(self._stack) == 1 and bool(self._closer))

    def _close(self) -> None:
        place = self.place
        self._emit(s.OBJECT_CLOSE if self._has_members else s.ARRAY_CLOSE, place, place + 1)
        self._stack.pop()
        self._at += 1 if self._stack or not self._closer else 0

    def _read_value(self) -> Generator[None, None, bool]:
        """Read a value; False for a container, of which only the bracket is read."""
        char = yield from self._ink()
        if char in "{[(":
            if len(self._stack) >= self._max_depth:
                self._reject(f"nested deeper than {self._max_depth} levels", s.TOO_DEEP)
            self._emit(s.OBJECT_OPEN if char == "{" else s.ARRAY_OPEN, self.place, self.place + 1)
            self._stack.append(CLOSING[char])
            self._at += 1
            return False
        if self._quote and char == self._quote[0]:
            yield from self._read_marked(in_key=False)
        elif char in "\"'":
            yield from self._read_string(char, in_key=False)
        elif self._may_be_bare and self._own_types.only_string:
            yield from self._read_bare("")
        else:
            yield from self._read_scalar()
        return True

    def _read_key(self, char: str) -> Iterator[None]:
        """Read a key, which begins with that character, and the sign after it."""
        self._key = []
        if self._quote and char == self._quote[0]:
            yield from self._read_marked(in_key=True)
        elif char in "\"'" and (len(self._stack) > 1 or self._closer != ")"):
            yield from self._read_string(char, in_key=True)
        elif not _KEY.match(char):
            self._reject(f"the name of an argument must come here, not '{char}'")
        else:
            self._emit(s.KEY_OPEN, self.place, self.place, '"')
            while found := _KEY.match(self._text, self._at):
                self._take(found, in_key=True)
                yield from self.char()
            self._emit(s.KEY_END, self.place, self.place + 1)
        char = yield from self._ink()
        if char not in ":=":
            self._reject(f"a value must follow the name, not '{char}'")
        self._at += 1

    # strings

    def _take(self, found: re.Match[str], *, in_key: bool) -> None:
        """Read a run of plain characters."""
        self._add(self.place, self._base + found.end(), found[0], in_key=in_key)
        self._at = found.end()

    def _add(self, start: int, end: int, text: str, *, in_key: bool) -> None:
        if in_key:
            self._key.append(text)
        self._emit(s.KEY_TEXT if in_key else s.STRING_TEXT, start, end, text)

    def _read_string(self, mark: str, *, in_key: bool) -> Iterator[None]:
        """Read a string between quotation marks."""
        self._emit(s.KEY_OPEN if in_key else s.STRING_OPEN, self.place, self.place + 1, '"')
        self._at += 1
        while True:
            char = yield from self.char()
            if self._high and char != "\\":
                self._end_lone(self.place, in_key=in_key)
            if found := _PLAIN[mark].match(self._text, self._at):
                self._take(found, in_key=in_key)
                continue
            self._at += 1
            if char == mark:
                break
            if not self._high:
                self._escape_start = self.place - 1
                self._emit(s.ESCAPE_OPEN, self.place - 1, self.place)
            yield from self._read_escape(in_key=in_key)
        self._emit(s.KEY_END if in_key else s.STRING_END, self.place - 1, self.place)

    def _end_lone(self, end: int, *, in_key: bool) -> None:
        """Replace a lone surrogate with U+FFFD."""
        self._high = 0
        self._add(self._escape_start, end, "\ufffd", in_key=in_key)

    def _read_escape(self, *, in_key: bool) -> Iterator[None]:
        """Read the part of an escape after its backslash."""
        char = yield from self.char()
        if self._high and char != "u":
            self._end_lone(self.place - 1, in_key=in_key)
            self._escape_start = self.place - 1
        self._at += 1
        size = {"u": 4, "x": 2}.get(char, 0)
        if not size:
            decoded = ESCAPES.get(char, char if char in "\"'\\/" else "\\" + char)
            if decoded:
                self._add(self._escape_start, self.place, decoded, in_key=in_key)
            return
        digits = ""
        while len(digits) < size:
            yield from self.char()
            found = _HEX.match(self._text, self._at, self._at + size - len(digits))
            if found is None:
                self._reject("hexadecimal digits must follow the backslash and letter")
            digits += found[0]
            self._at = found.end()
        code = int(digits, 16)
        if self._high and code in _LOW:
            code = 0x10000 + ((self._high - 0xD800) << 10) + (code - 0xDC00)
            self._high = 0
        elif code in _HIGH:
            self._high = code
            return
        self._add(self._escape_start, self.place, "\ufffd" if code in _LOW else chr(code), in_key=in_key)

    def _read_marked(self, *, in_key: bool) -> Iterator[None]:
        """Read a string in the form's `quote`, without escapes."""
        start, size = self.place, len(self._quote)
        if (yield from self._read_quote()) < size:
            self._reject(f"'{self._quote}' must be written whole")
        self._emit(s.KEY_OPEN if in_key else s.STRING_OPEN, start, self.place, '"')
        while True:
            yield from self.char()
            stop = self._text.find(self._quote[0], self._at)
            stop = len(self._text) if stop < 0 else stop
            if stop > self._at:
                self._add(self.place, self._base + stop, self._text[self._at : stop], in_key=in_key)
                self._at = stop
                continue
            start = self.place
            count = yield from self._read_quote()
            if count == size:
                break
            if in_key:
                self._add(start, self.place, self._quote[:count], in_key=True)
            else:
                self._emit(s.PENDING_TEXT, start, self.place + 1, self._quote[:count])
        self._emit(s.KEY_END if in_key else s.QUOTE_END, start, self.place, "" if in_key else self._quote)

    def _read_quote(self) -> Generator[None, None, int]:
        """Read the form's `quote` as far as it is there. Returns the number of its characters."""
        for count, sign in enumerate(self._quote):
            if (yield from self.char()) != sign:
                return count
            self._at += 1
        return len(self._quote)

    # numbers and words

    def _read_scalar(self) -> Iterator[None]:
        word = self._word = self._translated = ""
        while True:
            char = yield from self.char()
            grown = word + char
            if not _WORD.match(char):
                if self._may_be_bare and char not in _NOT_BARE and not (word and char.isspace()):
                    yield from self._read_bare(word)
                elif word:
                    self._end_scalar()
                else:
                    self._reject(f"a value must begin here, and '{char}' begins none")
                break
            translated = _translated(grown)
            if translated is None and self._may_be_bare:
                yield from self._read_bare(word)
                break
            if translated is None or len(grown) > MAX_NUMBER_LENGTH:
                self._reject(f"'{grown[:40]}' is not the beginning of a value")
            self._emit(s.SCALAR_TEXT, self.place, self.place + 1, translated[-1])
            word = self._word = grown
            self._translated = translated
            self._at += 1
        self._word = None

    def _end_scalar(self) -> None:
        word, place = self._word or "", self.place
        kind, value = scalar_value(self._translated, "json")
        if kind == 0:
            self._reject(f"'{word}' is not a whole value")
        if self._may_be_bare and not self._own_types.fits(value) and self._own_types.fits(word):
            self._emit(s.DEPARTURE, place, place + 1, _MARKS)
            self._emit(s.BARE_END, place, place + 1, word)
        else:
            self._emit(s.SCALAR_END, place, place + 1, self._translated)

    @property
    def _may_be_bare(self) -> bool:
        return self._types is not None and len(self._stack) == 1

    @property
    def _own_types(self) -> ArgumentTypes:
        assert self._types is not None
        return self._types("".join(self._key))

    def _read_bare(self, word: str) -> Iterator[None]:
        """Read a text without its marks, which begins here or continues a word that was passed on as a scalar."""
        char = yield from self.char()
        if char in _NOT_BARE or (char == ":" and not word):
            self._reject(f"a value must begin here, and '{char}' begins none")
        begun = not word
        start = self.place
        self._emit(s.DEPARTURE, start, start + 1, _MARKS)
        if begun:
            self._emit(s.STRING_OPEN, start, start)
        while char not in (",", self._closer):
            if char in _NOT_BARE:
                self._reject(f"',' or '{self._closer}' must follow a text, not '{char}'")
            word += char
            self._at += 1
            char = yield from self.char()
        word = word.strip()
        if begun:
            self._emit(s.STRING_TEXT, start, start + len(word), word)
            self._emit(s.STRING_END, self.place, self.place + 1)
        else:
            self._emit(s.BARE_END, self.place, self.place + 1, word)


def _translated(word: str) -> str | None:
    """The JSON form of this beginning of a number or word; None if no number or word begins with it."""
    if number_prefix(word):
        return word
    for written, meant in _WORDS.items():
        if written.startswith(word):
            return meant[: len(word)]
    return None
