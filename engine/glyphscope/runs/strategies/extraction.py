"""Best-effort extraction from a text that is not a call: the first object in it, and the necessary edits.

This is a named, visible step, not a second parser of calls: its result is validated like any other text. JSON is
extracted from code fences and prose, and the usual errors of models are fixed; GLYPH, in which nearly every character
has a meaning, is only extracted. A valid text is returned unchanged. Takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from glyphscope.base.errors import NotationError
from glyphscope.events import Change, Notation
from glyphscope.notation.read import parse_value

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


class _Found(NamedTuple):
    """An object in the text, and whether it has the requested key.

    One without the key counts only if it cannot be part of another one, which began but could not be read (`inside`).
    """

    start: int
    end: int
    edits: tuple[Edit, ...]
    named: bool
    inside: bool


def extract(text: str, notation: Notation, key: str = "", *, ended: bool = True) -> Extraction:
    """The first object in the text that has the key, otherwise the first object that is not empty.

    `key`, the key of a call's name, distinguishes the requested object from others. `ended`: the model itself ended
    the text; in one that was cut off, nothing is closed, as more would have followed. Never raises.
    """
    if len(text) > MAX_CHARACTERS or _readable(text, notation):
        return Extraction(text)
    objects = _json_objects(text, key, ended) if notation == "json" else _glyph_objects(text, key, ended)
    first: _Found | None = None
    for found in objects:
        if found.named:
            return _taken(text, found)
        if first is None and not found.inside:
            first = found
    return Extraction(text) if first is None else _taken(text, first)


def _readable(text: str, notation: Notation) -> bool:
    try:
        value = parse_value(text, notation)
    except (NotationError, RecursionError):
        return False
    return notation == "json" or isinstance(value, dict)  # prose may be a word of GLYPH


def _json_objects(text: str, key: str, ended: bool) -> Iterator[_Found]:
    at, failed, broken = text.find("{"), 0, 0
    while at >= 0 and failed < MAX_STARTS:
        read = read_lenient(text, at, close=ended)
        if not read.whole:
            failed += 1
            broken = max(broken, len(text) if read.keys else read.end)
        elif read.keys:
            yield _Found(at, read.end, read.edits, not key or key in read.keys, at < broken)
        at = text.find("{", read.end if read.whole else at + 1)


def _glyph_objects(text: str, key: str, ended: bool) -> Iterator[_Found]:
    named = re.compile(_GLYPH_KEY.format(re.escape(key)))
    at, failed, broken = text.find("{"), 0, 0
    while at >= 0 and failed < MAX_STARTS:
        read = _read_glyph(text, at, ended)
        if not read.whole:
            failed += 1
            broken = max(broken, len(text) if "=" in text[at : read.end] else read.end)
        elif text[at + 1 : read.end - 1].strip():
            has_key = not key or named.search(text, at, read.end) is not None
            head = None if has_key else _HEAD.search(text, max(0, at - MAX_HEAD), at)
            start = head.start() if head else at
            yield _Found(start, read.end, read.edits, has_key or head is not None, at < broken)
        at = text.find("{", read.end if read.whole else at + 1)


def _read_glyph(text: str, start: int, ended: bool) -> LenientObject:
    """The object whose brace is at `start`, by its quotes and brackets."""
    stack: list[str] = []
    last = end = start
    for match in _GLYPH_PIECE.finditer(text, start):
        piece, end = match[0], match.start()
        if piece == _FENCE:
            break
        if piece[0] in "{[":
            stack += _NOT_OPENING.sub("", piece)
        elif piece == '"' or (piece in "}]" and piece != ("}" if stack.pop() == "{" else "]")):
            return LenientObject(False, end)  # an unterminated string, or a bracket that closes nothing
        last = end = match.end()
        if not stack:
            return LenientObject(True, end)
    else:
        end = len(text)
    if not ended or text[last:end].strip() or text[last - 1] in "{[":
        # a word or a number that may continue, or a bracket with nothing in it
        return LenientObject(False, end)
    closing = "".join("}" if opened == "{" else "]" for opened in reversed(stack))
    return LenientObject(True, last, (), (Edit(last, last, closing, f"closed with {closing}"),))


def _taken(text: str, found: _Found) -> Extraction:
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
