"""Best-effort extraction from a text that is not a call: the first object in it, and the necessary edits.

This is a named, visible step, not a second parser of calls: its result is validated like any other text. JSON is
extracted from code fences and prose, and the usual errors of models are fixed; GLYPH, in which nearly every character
has a meaning, is only extracted. A valid text is returned unchanged. Takes linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar, NamedTuple

from glyphscope.base.errors import NotationError
from glyphscope.events import Change, Notation
from glyphscope.notation.ahead import Ended
from glyphscope.notation.read import parse_value
from glyphscope.notation.read_json import JsonReader

MAX_STARTS = 16
"""Braces that are tried: each may require reading the whole text."""
MAX_CHANGES = 50
"""Changes that are reported one by one."""
MAX_HEAD = 200
"""Characters of a tool's name before its brace."""
MAX_CHARACTERS = 400_000
"""A longer text is left unchanged; one of this length may take a second."""

_GLYPH_PIECE = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{\[](?:[^"{}\[\]`]*+[{\[])*+|["}\]]|```', re.DOTALL)
"""A string, opening brackets with the text between them, or another sign."""
_NOT_OPENING = re.compile(r"[^{\[]+")
_FENCE = "```"
_HEAD = re.compile(r"[^\W\d][\w\-./@+]*+\Z")
_GLYPH_KEY = r'["{{ ,\n\t]{}"?[ \t]*[=:]'


class Extraction(NamedTuple):
    """The extracted text, and each change in the text's order; without changes it is the original text."""

    after: str
    changes: tuple[Change, ...] = ()


class Edit(NamedTuple):
    """The characters `start` to `end` (exclusive) of the text become `new`; `what` describes the change in words."""

    start: int
    end: int
    new: str
    what: str


class _Object(NamedTuple):
    """An object, read up to character `end` (exclusive); not `whole` if that one makes it invalid or ambiguous.

    `filled`: it has members. `named`: the requested key is one of them, or a name is before it.
    """

    start: int
    end: int
    whole: bool
    filled: bool
    named: bool = False
    edits: tuple[Edit, ...] = ()


def extract(text: str, notation: Notation, key: str = "", *, ended: bool = True) -> Extraction:
    """The first object in the text that has the key, otherwise the first object that is not empty.

    `key`, the key of a call's name, distinguishes the requested object from others. `ended`: the model itself ended
    the text; in one that was cut off, nothing is closed, as more would have followed. Never raises.
    """
    if len(text) > MAX_CHARACTERS or _readable(text, notation):
        return Extraction(text)
    read = _read_json if notation == "json" else _read_glyph
    first: _Object | None = None
    at, failed = text.find("{"), 0
    broken = 0  # up to here, an object without the key may be part of another one, which cannot be read
    while at >= 0 and failed < MAX_STARTS:
        found = read(text, at, key, ended)
        if not found.whole:
            failed += 1
            broken = max(broken, len(text) if found.filled else found.end)
        elif found.filled and found.named:
            return _taken(text, found)
        elif found.filled and first is None and at >= broken:
            first = found
        at = text.find("{", found.end if found.whole else at + 1)
    return Extraction(text) if first is None else _taken(text, first)


def _readable(text: str, notation: Notation) -> bool:
    try:
        value = parse_value(text, notation)
    except (NotationError, RecursionError):
        return False
    return notation == "json" or isinstance(value, dict)  # prose may be a word of GLYPH


def _read_json(text: str, at: int, key: str, ended: bool) -> _Object:
    """The object whose brace is at that place; if `ended`, brackets that are open at the end are closed."""
    reader = _Edited(text, at)
    whole = reader.whole(close=ended)
    named = not key or key in reader.keys
    return _Object(at, reader.place, whole, bool(reader.keys), named, tuple(sorted(reader.edits)))


def _read_glyph(text: str, at: int, key: str, ended: bool) -> _Object:
    """The same in GLYPH."""
    whole, end, edits = _glyph_end(text, at, ended)
    if not whole:
        return _Object(at, end, whole, "=" in text[at:end])
    named = not key or re.compile(_GLYPH_KEY.format(re.escape(key))).search(text, at, end) is not None
    head = None if named else _HEAD.search(text, max(0, at - MAX_HEAD), at)
    filled = bool(text[at + 1 : end - 1].strip())
    return _Object(head.start() if head else at, end, whole, filled, named or head is not None, edits)


def _glyph_end(text: str, start: int, ended: bool) -> tuple[bool, int, tuple[Edit, ...]]:
    """Whether the object whose brace is at `start` is whole, by its quotes and brackets; its end and edits."""
    stack: list[str] = []
    last = end = start
    for match in _GLYPH_PIECE.finditer(text, start):
        piece, end = match[0], match.start()
        if piece == _FENCE:
            break
        if piece[0] in "{[":
            stack += _NOT_OPENING.sub("", piece)
        elif piece == '"' or (piece in "}]" and piece != ("}" if stack.pop() == "{" else "]")):
            return False, end, ()  # an unterminated string, or a bracket that closes nothing
        last = end = match.end()
        if not stack:
            return True, end, ()
    else:
        end = len(text)
    if not ended or text[last:end].strip() or text[last - 1] in "{[":
        # a word or a number that may continue, or a bracket with nothing in it
        return False, end, ()
    closing = "".join("}" if opened == "{" else "]" for opened in reversed(stack))
    return True, last, (Edit(last, last, closing, f"closed with {closing}"),)


def _taken(text: str, found: _Object) -> Extraction:
    pieces: list[str] = []
    at = found.start
    for edit in found.edits:
        pieces += (text[at : edit.start], edit.new)
        at = edit.end
    pieces.append(text[at : found.end])
    changes = [Change(edit.what, edit.start) for edit in found.edits]
    if before := text[: found.start].strip():
        changes.insert(0, Change(f"{_left_out(before)} before it left out", 0))
    if after := text[found.end :].strip():
        changes.append(Change(f"{_left_out(after)} after it left out", found.end))
    if not changes:
        return Extraction(text)
    if len(changes) > MAX_CHANGES:
        more = len(changes) - MAX_CHANGES
        changes = [*changes[:MAX_CHANGES], Change(f"{more} more changes", changes[MAX_CHANGES].char)]
    return Extraction("".join(pieces), tuple(changes))


def _left_out(text: str) -> str:
    """The text around an object, in words."""
    rest = re.sub(r"```[\w-]*", "", text).strip()
    characters = f"{len(rest):,} characters" if len(rest) > 1 else "a character"
    if _FENCE not in text:
        return characters
    return f"the code fence and {characters}" if rest else "the code fence"


# JSON with errors

MAX_DEPTH = 256
"""The same depth as in the parsers of calls."""

_SPACE = re.compile(r"[ \t\r\n]+")
_COMMENT = re.compile(r"//[^\n]*+|/\*.*?\*/", re.DOTALL)
_KEY = re.compile(r"[A-Za-z_$][\w$-]*+")
_WORD = re.compile(r"[-+.\w$]++")
_NUMBER = re.compile(r"-?\d[\d.eE+-]*+")
_LITERALS = frozenset({"true", "false", "null"})
_PYTHON = {"True": "true", "False": "false", "None": "null"}

# Opening quotes, and the quotes that close each. German „…“ ends with the quote that opens English ones.
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "„": "“”", "‘": "’", "’": "’"}
_STRINGS = {
    quote: re.compile(rf"{quote}((?:[^{ends}\\]++|\\.)*+)[{ends}]", re.DOTALL)
    for quote, ends in _QUOTES.items()
}
_TO_WRITE = re.compile(r"\\.|[\x00-\x1f]", re.DOTALL)
_TO_ESCAPE = re.compile(r'\\.|"', re.DOTALL)


class _Edited(JsonReader):
    """Reads an object of a whole text, with the edits that make it JSON; a text that waits for more is at its end."""

    RUNS: ClassVar[dict[str, re.Pattern[str]]] = _STRINGS

    def __init__(self, text: str, start: int) -> None:
        super().__init__(calls=False, max_depth=MAX_DEPTH, at=0)
        self._text, self._at = text, start
        self.keys: list[str] = []
        self.edits: list[Edit] = []
        self._name = ""  # the last key
        self._comma = -1  # the last comma in the innermost bracket
        self._number_end = -1

    def whole(self, *, close: bool) -> bool:
        """Whether the object is read to its end, which with `close` may be the end of the text."""
        with suppress(Ended):
            next(self._reading, None)
        if self.done or self.broken:
            return self.done
        if not self._after or self._at == self._number_end or not close:
            return False  # no value is before the end, or one that may continue
        brackets = "".join(self.CLOSING[opened] for opened in reversed(self._stack))
        self._edit(self._at, brackets, f"closed with {brackets}")
        return True

    def _edit(self, end: int, new: str, what: str) -> None:
        """Replace the characters from the next one to `end`."""
        self.edits.append(Edit(self._at, end, new, what))
        self._at = end

    def _ink(self, blanks: str = "") -> str:
        while True:
            if match := _SPACE.match(self._text, self._at):
                self._at = match.end()
            elif match := _COMMENT.match(self._text, self._at):
                self._edit(match.end(), "", "a comment left out")
            elif self._text.startswith(_FENCE, self._at):
                return ""
            else:
                return self._text[self._at : self._at + 1]

    def _open(self, bracket: str = "") -> None:
        super()._open(bracket)
        self._comma = -1

    def _separate(self, char: str) -> None:
        self._comma = self._at
        super()._separate(char)
        self._due = False

    def _close(self, char: str) -> None:
        if not self._after and self._comma >= 0:
            self.edits.append(Edit(self._comma, self._comma + 1, "", "the comma after the last one left out"))
        super()._close(char)

    def _sign(self, char: str) -> None:
        super()._sign(char)
        if len(self._stack) == 1:
            self.keys.append(self._name)

    def _written_key(self, char: str) -> Iterable[None]:
        if char in self.RUNS:
            return self._string(key=True)
        match = _KEY.match(self._text, self._at)
        if match is None:
            self._reject("a key must come here")
        self._name = match[0]
        self._edit(match.end(), f'"{match[0]}"', f"the key {match[0]} put into quotes")
        return ()

    def _string(self, *, key: bool) -> Iterable[None]:
        """Read a quoted text as it is written."""
        match = self.RUNS[self._text[self._at]].match(self._text, self._at)
        if match is None:
            self._reject("a text must end")
        inside = _TO_WRITE.sub(_written, match[1])
        if match[0][0] != '"':
            quotes = f"{match[0][0]}…{match[0][-1]}"
            self._edit(match.end(), _in_double_quotes(inside), f"{quotes} made double quotes")
        elif inside != match[1]:
            self._edit(
                match.end(), f'"{inside}"', "line breaks and other control characters in a text escaped"
            )
        else:
            self._at = match.end()
        self._name = match[1] if key else self._name
        return ()

    def _scalar(self, char: str) -> Iterable[None]:
        match = _WORD.match(self._text, self._at)
        word = "" if match is None else match[0]
        if word in _PYTHON:
            self._edit(self._at + len(word), _PYTHON[word], f"Python's {word} written {_PYTHON[word]}")
            return ()
        is_number = _NUMBER.fullmatch(word) is not None
        if not is_number and word not in _LITERALS:
            self._reject("a value must begin here")
        self._at += len(word)
        self._number_end = self._at if is_number else -1
        return ()


def _written(match: re.Match[str]) -> str:
    """A control character as JSON writes it; an escape unchanged."""
    return match[0] if match[0][0] == "\\" else json.dumps(match[0])[1:-1]


def _in_double_quotes(inside: str) -> str:
    """The same text in double quotes: double quotes in it are escaped, other quotes are not."""

    def spelt(match: re.Match[str]) -> str:
        found = match[0]
        if found == '"':
            return '\\"'
        return found[1] if found[1] in _QUOTES and found[1] != '"' else found

    return f'"{_TO_ESCAPE.sub(spelt, inside)}"'
