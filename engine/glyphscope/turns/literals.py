"""The incremental reader of values as models write them: JSON, Python literals, and bare keys.

Python's words are as long as JSON's, and are passed on as JSON's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import ClassVar

from glyphscope.notation import structure as s
from glyphscope.notation.read_json import JsonReader
from glyphscope.notation.scalars import number_prefix, scalar_value, too_large
from glyphscope.notation.structure import Structural
from glyphscope.turns.tools import ArgumentTypes

_SPACE = re.compile(r"\s+")
KEY = re.compile(r"[^\s:={}\[\],\"'<>]+")
_KEYWORD = re.compile(r"[^\s:={}\[\],\"'<>()]+")
_OUTSIDE = ("members", "keywords")
"""The open brackets that are not in the text: of the arguments in a dictionary or in Python."""
_NOT_BARE = frozenset(",{}[]<>\"'\n")
"""Characters that a text without marks does not contain."""
MARKS = "a text between marks was expected"
WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_HIGH = range(0xD800, 0xDC00)
_LOW = range(0xDC00, 0xE000)
_LONE = "\ufffd"
"""The character in place of a lone surrogate."""


class LiteralReader(JsonReader):
    """Reads a value from character `at` on or, with `closer`, an object's members up to that bracket, exclusive.

    `quote` is a text around strings, in addition to quotation marks. `types`: the types of a member by its key; its
    value may then be a text without marks, up to a comma or the closer, which is reported as a DEPARTURE.
    """

    RUNS: ClassVar[dict[str, re.Pattern[str]]] = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
    ESCAPES: ClassVar[dict[str, str]] = {
        **{char: char for char in "\"'\\/"},
        "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": "", "0": "\0", "a": "\a", "v": "\v",
    }  # fmt: skip
    CLOSING: ClassVar[dict[str, str]] = {
        "{": "}", "[": "]", "(": ")", "members": "}", "keywords": ")",
    }  # fmt: skip
    SIGNS: ClassVar[str] = ":="
    WORD: ClassVar[re.Pattern[str]] = re.compile(r"[0-9A-Za-z_.+\-]+")
    PLAIN = re.compile(r"(?!)")  # none: a value's end does not count if more follows

    def __init__(
        self,
        at: int,
        *,
        quote: str = "",
        closer: str = "",
        max_depth: int = 200,
        types: Callable[[str], ArgumentTypes] | None = None,
    ) -> None:
        super().__init__(calls=False, max_depth=max_depth, at=at)
        self._quote = quote if quote not in ("'", '"') else ""
        self._closer = closer
        if closer:
            self._stack = ["keywords" if closer == ")" else "members"]
        self._types = types
        self._key: list[str] = []  # of the member, in pieces
        self._key_from = 0  # where its further pieces are among the events

    def feed(self, text: str, at: int | None = None) -> list[Structural]:
        self._key = [self._own_key]
        self._key_from = 0
        return super().feed(text, at)

    @property
    def may_end(self) -> bool:
        """Whether the value is complete if the text ends here."""
        word = self._in_scalar and not self._stack
        return self.done or (word and scalar_value(self._meant, "json")[0] != 0)

    def _ink(self, blanks: str = "") -> str:
        char = self._text[self._at : self._at + 1]
        if char.isspace() and (found := _SPACE.match(self._text, self._at)):
            self._at = found.end()
            char = self._text[self._at : self._at + 1]
        return char

    def _close(self, char: str) -> None:
        if self._stack[-1] in _OUTSIDE:
            self._emit(s.OBJECT_CLOSE)
            self._stack.pop()
        else:
            super()._close(char)

    def _separate(self, char: str) -> None:
        """Read a comma, which may be the last character of a container's contents."""
        super()._separate(char)
        self._out.pop()
        self._due = False

    def _value(self, char: str) -> Iterable[None]:
        if not self._quote or char != self._quote[0]:
            return super()._value(char)
        self._after = True
        return self._marked(self._quote, key=False)

    def _written_key(self, char: str) -> Iterable[None]:
        self._key, self._key_from = [], len(self._out)
        if self._quote and char == self._quote[0]:
            return self._marked(self._quote, key=True)
        if char in self.RUNS and not self._takes_keyword:
            return self._string(key=True)
        return self._bare_key(_KEYWORD if self._takes_keyword else KEY, char)

    def _bare_key(self, run: re.Pattern[str], char: str) -> Iterator[None]:
        if not run.match(char):
            self._reject(f"the name of an argument must come here, not '{char}'")
        self._emit(s.KEY_OPEN, 0, '"')
        while found := run.match(self._text, self._at):
            self._emit(s.KEY_TEXT, len(found[0]), found[0])
            self._at = found.end()
            yield from self.char()
        self._emit(s.KEY_END)

    @property
    def _takes_keyword(self) -> bool:
        """Whether the key is a keyword of a call in Python."""
        return self._stack[-1] == "keywords"

    @property
    def _own_key(self) -> str:
        """The key of the member that is being read."""
        own = self._out[self._key_from :]
        return "".join([*self._key, *(text for kind, _, _, text in own if kind == s.KEY_TEXT)])

    # strings

    def _escape(self, kind: int) -> Iterator[None]:
        """Read an escape, whose backslash is next, and the one after it if both are one character."""
        self._emit(s.ESCAPE_OPEN)
        first, high = self.place, 0  # high: a surrogate that another one completes
        while True:
            start = self.place
            self._at += 1
            char = yield from self.char()
            size = {"u": 4, "x": 2}.get(char, 0)
            if high and size != 4:
                self._out.append((kind, first, start, _LONE))
                first, high = start, 0
            self._at += 1
            if not size:
                decoded = self.ESCAPES.get(char, "\\" + char)
                break
            code = int((yield from self._digits(size)), 16)
            if high and code in _LOW:
                decoded = chr(0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00))
                break
            if high:
                self._out.append((kind, first, start, _LONE))
                first = start
            decoded, high = (_LONE, code) if code in _HIGH else (_LONE if code in _LOW else chr(code), 0)
            if not high or (yield from self.char()) != "\\":
                break
        if decoded:
            self._out.append((kind, first, self.place, decoded))

    def _marked(self, quote: str, *, key: bool) -> Iterator[None]:
        """Read a string between two of these texts, without escapes."""
        start = self.place
        if (yield from self._marks(quote)) < len(quote):
            self._reject(f"'{quote}' must be written whole")
        self._out.append((s.KEY_OPEN if key else s.STRING_OPEN, start, self.place, '"'))
        while True:
            yield from self.char()
            stop = self._text.find(quote[0], self._at)
            stop = len(self._text) if stop < 0 else stop
            if stop > self._at:
                text = self._text[self._at : stop]
                self._emit(s.KEY_TEXT if key else s.STRING_TEXT, len(text), text)
                self._at = stop
                continue
            start = self.place
            count = yield from self._marks(quote)
            if count == len(quote):
                break
            if key:
                self._out.append((s.KEY_TEXT, start, self.place, quote[:count]))
            else:
                self._out.append((s.PENDING_TEXT, start, self.place + 1, quote[:count]))
        self._out.append((s.KEY_END if key else s.QUOTE_END, start, self.place, "" if key else quote))

    def _marks(self, quote: str) -> Generator[None, None, int]:
        """Read that text as far as it is there. Returns the number of its characters."""
        for count, sign in enumerate(quote):
            if (yield from self.char()) != sign:
                return count
            self._at += 1
        return len(quote)

    # numbers and words

    def _scalar(self, char: str) -> Iterable[None]:
        return self._scalar_or_bare() if self._may_be_bare else super()._scalar(char)

    def _scalar_or_bare(self) -> Iterator[None]:
        """Read a number or word or, from where it is neither, a text without its marks."""
        self._word, self._meant, self._in_scalar = "", "", True
        while True:
            char = yield from self.char()
            found = None if self._own_types.only_string else self.WORD.match(self._text, self._at)
            if found and not self._grow(found[0]):
                continue
            if found or (char not in _NOT_BARE and not (self._word and char.isspace())):
                yield from self._bare(self._word)
            elif self._word:
                self._end_scalar()
            else:
                self._reject(f"a value must begin here, and '{char}' begins none")
            break

    def _in_json(self, word: str) -> str:
        if number_prefix(word) and (self._may_be_bare or not too_large(word)):
            return word
        return next((meant[: len(word)] for written, meant in WORDS.items() if written.startswith(word)), "")

    def _end_scalar(self) -> None:
        word = self._word
        kind, value = scalar_value(self._meant, "json")
        types = self._own_types if self._may_be_bare else None
        if kind and types is not None and types.string and not types.fits(value) and types.fits(word):
            self._in_scalar = False
            self._emit(s.DEPARTURE, 1, MARKS)
            self._emit(s.BARE_END, 1, word)
        else:
            super()._end_scalar()

    @property
    def _may_be_bare(self) -> bool:
        return self._types is not None and len(self._stack) == 1

    @property
    def _own_types(self) -> ArgumentTypes:
        assert self._types is not None
        return self._types(self._own_key)

    def _bare(self, word: str) -> Iterator[None]:
        """Read a text without its marks, which begins here or continues a word that was passed on as a scalar."""
        self._in_scalar = False
        char = yield from self.char()
        if char in _NOT_BARE or (char == ":" and not word):
            self._reject(f"a value must begin here, and '{char}' begins none")
        begun = not word
        start = self.place
        self._emit(s.DEPARTURE, 1, MARKS)
        if begun:
            self._emit(s.STRING_OPEN, 0)
        while char not in (",", self._closer):
            if char in _NOT_BARE:
                self._reject(f"',' or '{self._closer}' must follow a text, not '{char}'")
            word += char
            self._at += 1
            char = yield from self.char()
        word = word.strip()
        if begun:
            self._out.append((s.STRING_TEXT, start, start + len(word), word))
            self._emit(s.STRING_END)
        else:
            self._emit(s.BARE_END, 1, word)
