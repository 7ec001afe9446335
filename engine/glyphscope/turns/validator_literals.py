"""The incremental reader of values as models write them, for the validator: JSON, Python literals, and bare keys.

It accepts the same mixture as `literals.Literals`. Python's words are as long as JSON's, and are passed on as JSON's,
letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from glyphscope.notation import structure as s
from glyphscope.notation.reader import State, after
from glyphscope.notation.scalars import MAX_NUMBER_LENGTH, number_prefix, scalar_value
from glyphscope.notation.structure import Structural
from glyphscope.turns.literals import CLOSING, ESCAPES
from glyphscope.turns.tools import ArgumentTypes

_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
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


class LiteralReader:
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
        self.done = False
        self.broken = False
        self._base = at
        self._quote = quote if quote not in ("'", '"') else ""
        self._closer = closer
        self._max_depth = max_depth
        self._stack: list[str] = [closer] if closer else []
        self._state: State = self._next_key if closer else self._value
        self._mark = ""  # the quotation mark of the open string
        self._in_key = False
        self._types = types
        self._key: list[str] = []  # of the member, in pieces
        self._began_bare, self._bare_at = (
            False,
            at,
        )  # a text without marks: from its first character on, and where
        self._word = ""  # of a number or word, as written
        self._translated = ""  # the same in JSON
        self._pending = ""  # the beginning of a `quote`
        self._pending_start = 0
        self._escape_start = 0
        self._digits = ""  # of an escape
        self._digits_left = 0
        self._high = 0  # a high surrogate, until its low one

    def feed(self, text: str, at: int, out: list[Structural]) -> int:
        """Read from index `at` on, appending events to `out`. Returns the index after the last character read."""
        start, size = at, len(text)
        self._base -= start
        while at < size and not (self.done or self.broken):
            at = self._state(text, at, out)
        self._base += at
        return at

    def finish(self, out: list[Structural]) -> None:
        """The text ends, which completes a number or a word."""
        if self._state == self._scalar and not self._stack:
            self._base += self._end_scalar(0, out)

    @property
    def may_end(self) -> bool:
        """Whether the value is complete if the text ends here."""
        word = self._state == self._scalar and not self._stack
        return self.done or (word and scalar_value(self._translated, "json")[0] != 0)

    # values

    @after(_SPACE)
    def _value(self, text: str, at: int, out: list[Structural]) -> int:
        char = text[at]
        if self._quote and char == self._quote[0]:
            self._in_key = False
            return self._open_mark(at)
        if char in "\"'":
            return self._open_string(at, char, out, key=False)
        if char in "{[(":
            return self._open(char, at, out)
        self._word = self._translated = ""
        self._state = self._scalar
        if self._may_be_bare and self._own_types.only_string:
            return self._begin_bare(text, at, out)
        return self._scalar(text, at, out)

    def _open(self, char: str, at: int, out: list[Structural]) -> int:
        place = self._base + at
        if len(self._stack) >= self._max_depth:
            out.append((s.TOO_DEEP, place, place + 1, f"nested deeper than {self._max_depth} levels"))
            self.broken = True
            return at
        self._stack.append(CLOSING[char])
        out.append((s.OBJECT_OPEN if char == "{" else s.ARRAY_OPEN, place, place + 1, ""))
        self._state = self._next_key if char == "{" else self._next_item
        return at + 1

    def _close(self, at: int, out: list[Structural]) -> int:
        place = self._base + at
        out.append((s.OBJECT_CLOSE if self._has_members else s.ARRAY_CLOSE, place, place + 1, ""))
        self._stack.pop()
        if not self._stack and self._closer:
            self.done = True
            return at
        self._value_done()
        return at + 1

    @property
    def _has_members(self) -> bool:
        """Whether the innermost container has keys."""
        return self._stack[-1] == "}" or (len(self._stack) == 1 and bool(self._closer))

    def _value_done(self) -> None:
        if not self._stack:
            self.done = True
        else:
            self._state = self._after_value

    @after(_SPACE)
    def _after_value(self, text: str, at: int, out: list[Structural]) -> int:
        closer = self._stack[-1]
        if text[at] == ",":
            self._state = self._next_key if self._has_members else self._next_item
            return at + 1
        if text[at] == closer:
            return self._close(at, out)
        return self._reject(at, out, f"',' or '{closer}' must follow a value, not '{text[at]}'")

    @after(_SPACE)
    def _next_item(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] == self._stack[-1]:
            return self._close(at, out)
        self._state = self._value
        return at

    def _reject(self, at: int, out: list[Structural], why: str) -> int:
        out.append((s.SYNTAX, self._base + at, self._base + at + 1, why))
        self.broken = True
        return at

    # keys

    @after(_SPACE)
    def _next_key(self, text: str, at: int, out: list[Structural]) -> int:
        char = text[at]
        if char == self._stack[-1]:
            return self._close(at, out)
        if self._quote and char == self._quote[0]:
            self._in_key, self._key = True, []
            return self._open_mark(at)
        if char in "\"'" and (len(self._stack) > 1 or self._closer != ")"):
            return self._open_string(at, char, out, key=True)
        if not _KEY.match(char):
            return self._reject(at, out, f"the name of an argument must come here, not '{char}'")
        self._key = []
        out.append((s.KEY_OPEN, self._base + at, self._base + at, '"'))
        self._state = self._bare_key
        return at

    def _bare_key(self, text: str, at: int, out: list[Structural]) -> int:
        if found := _KEY.match(text, at):
            self._key.append(found[0])
            out.append((s.KEY_TEXT, self._base + at, self._base + found.end(), found[0]))
            return found.end()
        out.append((s.KEY_END, self._base + at, self._base + at + 1, ""))
        self._state = self._link
        return at

    @after(_SPACE)
    def _link(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] not in ":=":
            return self._reject(at, out, f"a value must follow the name, not '{text[at]}'")
        self._state = self._value
        return at + 1

    # strings

    def _open_string(self, at: int, mark: str, out: list[Structural], *, key: bool) -> int:
        out.append((s.KEY_OPEN if key else s.STRING_OPEN, self._base + at, self._base + at + 1, '"'))
        self._mark, self._in_key = mark, key
        self._key = [] if key else self._key
        self._state = self._string
        return at + 1

    def _text(self, start: int, end: int, text: str, out: list[Structural]) -> None:
        if self._in_key:
            self._key.append(text)
        if text:
            out.append((s.KEY_TEXT if self._in_key else s.STRING_TEXT, start, end, text))

    def _string(self, text: str, at: int, out: list[Structural]) -> int:
        if self._high and text[at] != "\\":
            self._lone(at, out)
        if found := _PLAIN[self._mark].match(text, at):
            self._text(self._base + at, self._base + found.end(), found[0], out)
            return found.end()
        place = self._base + at
        if text[at] == "\\":
            if not self._high:
                self._escape_start = place
                out.append((s.ESCAPE_OPEN, place, place + 1, ""))
            self._state = self._escape
            return at + 1
        if self._in_key:
            out.append((s.KEY_END, place, place + 1, ""))
            self._state = self._link
        else:
            out.append((s.STRING_END, place, place + 1, ""))
            self._value_done()
        return at + 1

    def _lone(self, at: int, out: list[Structural]) -> None:
        """Replace a lone surrogate with U+FFFD."""
        self._high = 0
        self._text(self._escape_start, self._base + at, "\ufffd", out)

    def _escape(self, text: str, at: int, out: list[Structural]) -> int:
        char = text[at]
        self._state = self._string
        if self._high and char != "u":
            self._lone(at - 1, out)
            self._escape_start = self._base + at - 1
        if char in "ux":
            self._digits, self._digits_left = "", 4 if char == "u" else 2
            self._state = self._hex
            return at + 1
        decoded = ESCAPES.get(char, char if char in "\"'\\/" else "\\" + char)
        self._text(self._escape_start, self._base + at + 1, decoded, out)
        return at + 1

    def _hex(self, text: str, at: int, out: list[Structural]) -> int:
        found = _HEX.match(text, at, at + self._digits_left)
        if found is None:
            return self._reject(at, out, "hexadecimal digits must follow the backslash and letter")
        self._digits += found[0]
        self._digits_left -= len(found[0])
        if not self._digits_left:
            self._state = self._string
            self._coded(int(self._digits, 16), self._base + found.end(), out)
        return found.end()

    def _coded(self, code: int, end: int, out: list[Structural]) -> None:
        if self._high and code in _LOW:
            pair = 0x10000 + ((self._high - 0xD800) << 10) + (code - 0xDC00)
            self._high = 0
            self._text(self._escape_start, end, chr(pair), out)
        elif code in _HIGH:
            self._high = code
        else:
            self._text(self._escape_start, end, "\ufffd" if code in _LOW else chr(code), out)

    # strings in the form's `quote`, without escapes

    def _open_mark(self, at: int) -> int:
        self._pending, self._pending_start = "", self._base + at
        self._state = self._opening_mark
        return at

    def _opening_mark(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] != self._quote[len(self._pending)]:
            return self._reject(at, out, f"'{self._quote}' must be written whole")
        self._pending += text[at]
        if self._pending == self._quote:
            start, end = self._pending_start, self._base + at + 1
            out.append((s.KEY_OPEN if self._in_key else s.STRING_OPEN, start, end, '"'))
            self._pending = ""
            self._state = self._marked
        return at + 1

    def _marked(self, text: str, at: int, out: list[Structural]) -> int:
        if not self._pending:
            stop = text.find(self._quote[0], at)
            stop = len(text) if stop < 0 else stop
            if stop > at:
                self._text(self._base + at, self._base + stop, text[at:stop], out)
                return stop
            self._pending_start = self._base + at
        if text[at] != self._quote[len(self._pending)]:
            pending, self._pending = self._pending, ""
            if self._in_key:
                self._text(self._pending_start, self._base + at, pending, out)
            else:
                out.append((s.PENDING_TEXT, self._pending_start, self._base + at + 1, pending))
            return at
        self._pending += text[at]
        if self._pending == self._quote:
            self._pending = ""
            self._end_marked(self._base + at + 1, out)
        return at + 1

    def _end_marked(self, end: int, out: list[Structural]) -> None:
        if self._in_key:
            out.append((s.KEY_END, self._pending_start, end, ""))
            self._state = self._link
        else:
            out.append((s.QUOTE_END, self._pending_start, end, self._quote))
            self._value_done()

    # numbers and words

    def _scalar(self, text: str, at: int, out: list[Structural]) -> int:
        found = _WORD.match(text, at)
        if found is None:
            if self._may_be_bare and text[at] not in _NOT_BARE and not (self._word and text[at].isspace()):
                return self._begin_bare(text, at, out)
            if not self._word:
                return self._reject(at, out, f"a value must begin here, and '{text[at]}' begins none")
            return self._end_scalar(at, out)
        for offset, char in enumerate(found[0]):
            grown = self._word + char
            translated = _translated(grown)
            if translated is None and self._may_be_bare:
                return self._begin_bare(text, at + offset, out)
            if translated is None or len(grown) > MAX_NUMBER_LENGTH:
                return self._reject(at + offset, out, f"'{grown[:40]}' is not the beginning of a value")
            place = self._base + at + offset
            out.append((s.SCALAR_TEXT, place, place + 1, translated[-1]))
            self._word, self._translated = grown, translated
        return found.end()

    @property
    def _may_be_bare(self) -> bool:
        return self._types is not None and len(self._stack) == 1

    @property
    def _own_types(self) -> ArgumentTypes:
        assert self._types is not None
        return self._types("".join(self._key))

    def _begin_bare(self, text: str, at: int, out: list[Structural]) -> int:
        """A text without its marks begins or continues."""
        if text[at] in _NOT_BARE or (text[at] == ":" and not self._word):
            return self._reject(at, out, f"a value must begin here, and '{text[at]}' begins none")
        place = self._base + at
        out.append((s.DEPARTURE, place, place + 1, _MARKS))
        if not self._word:
            out.append((s.STRING_OPEN, place, place, ""))
        self._began_bare, self._bare_at = not self._word, place
        self._state = self._bare
        return at

    def _bare(self, text: str, at: int, out: list[Structural]) -> int:
        if text[at] in (",", self._closer):
            place = self._base + at
            word = self._word.strip()
            if self._began_bare:
                out.append((s.STRING_TEXT, self._bare_at, self._bare_at + len(word), word))
                out.append((s.STRING_END, place, place + 1, ""))
            else:
                out.append((s.BARE_END, place, place + 1, word))
            self._value_done()
            return at
        if text[at] in _NOT_BARE:
            return self._reject(at, out, f"',' or '{self._closer}' must follow a text, not '{text[at]}'")
        self._word += text[at]
        return at + 1

    def _end_scalar(self, at: int, out: list[Structural]) -> int:
        if scalar_value(self._translated, "json")[0] == 0:
            return self._reject(at, out, f"'{self._word}' is not a whole value")
        place = self._base + at
        value = scalar_value(self._translated, "json")[1]
        if self._may_be_bare and not self._own_types.fits(value) and self._own_types.fits(self._word):
            out.append((s.DEPARTURE, place, place + 1, _MARKS))
            out.append((s.BARE_END, place, place + 1, self._word))
        else:
            out.append((s.SCALAR_END, place, place + 1, self._translated))
        self._value_done()
        return at


def _translated(word: str) -> str | None:
    """The JSON form of this beginning of a number or word; None if no number or word begins with it."""
    if number_prefix(word):
        return word
    for written, meant in _WORDS.items():
        if written.startswith(word):
            return meant[: len(word)]
    return None
