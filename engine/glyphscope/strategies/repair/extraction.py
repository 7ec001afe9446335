"""Best-effort extraction from a text that is not a call: the first object in it, and the necessary edits.

This is a named, visible step, not a second parser of calls: its result is validated like any other text. JSON is
extracted from code fences and prose, and the usual errors of models are fixed; GLYPH, in which nearly every character
has a meaning, is only extracted. A valid text is returned unchanged. Takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from glyphscope.errors import NotationError
from glyphscope.events import Change, Notation
from glyphscope.notation.read import parse_value
from glyphscope.strategies.repair.lenient_json import Edit, LenientObject, read_lenient

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
_KEY = r'["{{ ,\n\t]{}"?[ \t]*[=:]'


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
    named = re.compile(_KEY.format(re.escape(key)))
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
