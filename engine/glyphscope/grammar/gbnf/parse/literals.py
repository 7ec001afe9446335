"""The parts of GBNF that match characters: literals, classes, escapes, each with its problems.

`characters` decides how an escape is read; `read_quoted` and `read_class` make the nodes, and report escapes that
llama.cpp does not know, with a fix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Fix, fix, report
from glyphscope.grammar.gbnf.parse.syntax import Class, Quoted

LAST = 0x10FFFF  # code point
IMPOSSIBLE = "\ud800"
"""Represents a code point above the last one in texts, in which neither can occur."""

_PIECE = re.compile(
    r'\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([tnr\\"\[\]-])|\\(.?)|([^\\])', re.DOTALL
)
_REPEATED = re.compile(r"(?:[ \t\r\n]++|#[^\r\n]*+)*+[*+?{]")
_HEX = re.compile(r"[0-9a-fA-F]{0,8}")
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_CONTROLS = {"t": 9, "n": 10, "r": 13}
_CLASSES = {"d": "0-9", "w": "a-zA-Z0-9_", "s": r" \t\r\n"}
"""The meaning of the escapes of regular expressions, as the content of a class."""
_FOREIGN_CONTROLS = {"b": r"\x08", "f": r"\x0C", "v": r"\x0B", "a": r"\x07", "e": r"\x1B", "0": r"\x00"}
"""Escapes of other languages, and their spelling in GBNF."""

_TOGETHER = 50_000
"""The number of ranges that are united at once."""
_CACHED = 10_000  # texts, and classes
_SHORT = 200
"""Longer raw texts are not cached, because they rarely occur again."""


class Character(NamedTuple):
    """One character: its code point, its place in the raw text, and whether llama.cpp knows its spelling."""

    code: int
    start: int
    end: int
    known: bool


class ClassRange(NamedTuple):
    """One item of a class, its place in the raw text, and whether it is written with a `-`."""

    low: int
    high: int
    start: int
    end: int


def characters(raw: str) -> list[Character]:
    """The characters between quotes."""
    read = []
    for match in _PIECE.finditer(raw):
        kind = match.lastindex or 0
        if kind <= 3:
            code = int(match[kind], 16)
        elif kind == 4:
            code = _CONTROLS.get(match[4]) or ord(match[4])
        else:
            code = ord(match[kind] or "\\")
        read.append(Character(code, match.start(), match.end(), kind != 5))
        checkpoint()
    return read


def _text_of(read: list[Character]) -> str:
    """The characters as a text; those that a text cannot contain become `IMPOSSIBLE`."""
    return "".join([chr(c.code) if c.code <= LAST else IMPOSSIBLE for c in read])


def ranges_of(raw: str, read: list[Character]) -> list[ClassRange]:
    """The items between brackets, as llama.cpp reads them.

    A `-` after a character makes a range, unless it is the last character; the next character, even `-`, is its end.
    """
    items, at = [], 0
    while at < len(read):
        checkpoint()
        low = read[at]
        if at + 2 < len(read) and raw[read[at + 1].start : read[at + 1].end] == "-":
            high = read[at + 2]
            items.append(ClassRange(low.code, high.code, low.start, high.end))
            at += 3
        else:
            items.append(ClassRange(low.code, low.code, low.start, low.end))
            at += 1
    return items


def united(ranges: Sequence[tuple[int, int]]) -> Ranges:
    """The characters of a class's ranges, without those that a text cannot contain. There may be millions of ranges."""
    whole: Ranges = ()
    for at in range(0, len(ranges), _TOGETHER):
        part = set(ranges[at : at + _TOGETHER])
        checkpoint(len(part))
        whole = chars.union(whole, ((low, min(high, LAST)) for low, high in part if low <= min(high, LAST)))
    return whole


def _class_replacement(escape: str) -> str | None:
    """The replacement, in brackets, for an escape that GBNF does not have; None if there is none."""
    letter = escape[1:]
    if letter in ("D", "W", "S"):
        return None
    return _CLASSES.get(letter) or _text_replacement(escape)


def _text_replacement(escape: str) -> str:
    """The replacement, in quotes, for an escape of a single character."""
    letter = escape[1:]
    if letter in _FOREIGN_CONTROLS:
        return _FOREIGN_CONTROLS[letter]
    if letter in ("\n", "\r", "") or letter.isalnum():
        return "\\" + escape
    return letter


def _quoted_as_items(raw: str, read: list[Character]) -> str:
    """The text between quotes as GBNF items, with escapes of classes moved out of the quotes: `"a" [0-9]`."""
    pieces: list[str] = []
    text = ""
    for c in read:
        part = raw[c.start : c.end]
        letter = part[1:] if not c.known else ""
        inside = _CLASSES.get(letter.lower())
        if not inside:
            text += part if c.known else _text_replacement(part)
            continue
        if text:
            pieces.append(f'"{text}"')
        pieces.append(f"[^{inside}]" if letter.isupper() else f"[{inside}]")
        text = ""
    if text or not pieces:
        pieces.append(f'"{text}"')
    return " ".join(pieces)


def read_quoted(raw: str, start: int, end: int, text: str, problems: list[Diagnostic]) -> Quoted:
    """The node of `raw`, the content of the quotes at `start` of `text`."""
    if "\\" not in raw:
        return Quoted(start, end, raw)
    inside = _cached_text(raw) if len(raw) < _SHORT else _read_text(raw)
    if inside.unknown:
        repair = _as_items(raw, start, end, text) if any(_is_class(raw, c) for c in inside.unknown) else None
        problems += [_unknown_in_text(raw, start + 1, c, repair) for c in inside.unknown]
    return Quoted(start, end, inside.text)


def read_class(raw: str, start: int, end: int, problems: list[Diagnostic]) -> Class:
    """The node of `raw`, the content of the brackets at `start`."""
    inside = _cached_class(raw) if len(raw) < _SHORT else _read_class(raw)
    if inside.unknown:
        problems += [_unknown_in_class(raw, start + 1, c) for c in inside.unknown]
    return Class(start, end, inside.ranges, inside.negated)


class _InsideQuotes(NamedTuple):
    """The text between quotes, and the characters whose escapes llama.cpp does not know."""

    text: str
    unknown: tuple[Character, ...]


class _InsideBrackets(NamedTuple):
    """The items between brackets, and the characters whose escapes llama.cpp does not know."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool
    unknown: tuple[Character, ...]


def _read_text(raw: str) -> _InsideQuotes:
    read = characters(raw)
    return _InsideQuotes(_text_of(read), tuple(c for c in read if not c.known))


def _read_class(raw: str) -> _InsideBrackets:
    negated = raw.startswith("^")
    read = characters(raw)
    ranges: list[tuple[int, int]] = []
    for item in ranges_of(raw, read[negated:]):
        checkpoint()
        ranges.append((item.low, item.high))
    return _InsideBrackets(tuple(ranges), negated, tuple(c for c in read if not c.known))


_cached_text = lru_cache(_CACHED)(_read_text)
_cached_class = lru_cache(_CACHED)(_read_class)


def _is_class(raw: str, c: Character) -> bool:
    return raw[c.start + 1 : c.end].lower() in _CLASSES


def _as_items(raw: str, start: int, end: int, text: str) -> Fix:
    items = _quoted_as_items(raw, characters(raw))
    if " " in items and _REPEATED.match(text, end):
        items = f"({items})"
    return fix("Write it as a class outside of the quotes", (start, end, items))


def _unknown_in_text(raw: str, offset: int, c: Character, repair: Fix | None) -> Diagnostic:
    escape = raw[c.start : c.end]
    start, end = offset + c.start, offset + c.end
    if digits := _HEX_DIGITS.get(escape[1:]):
        return _short_hex(raw, offset, c, digits)
    if _is_class(raw, c):
        inside = _CLASSES[escape[1:].lower()]
        meant = f"[^{inside}]" if escape[1:].isupper() else f"[{inside}]"
        message = f"`{escape}` is an escape of regular expressions, not of GBNF. Write {meant} outside of the quotes."
    else:
        message = f"GBNF has no escape `{escape}`. {_advice(escape)}"
    if repair is None:
        repair = fix(f"Write `{_text_replacement(escape)}`", (start, end, _text_replacement(escape)))
    return report("unknown-escape", message, start, end, repair)


def _unknown_in_class(raw: str, offset: int, c: Character) -> Diagnostic:
    escape = raw[c.start : c.end]
    start, end = offset + c.start, offset + c.end
    if digits := _HEX_DIGITS.get(escape[1:]):
        return _short_hex(raw, offset, c, digits)
    new = _class_replacement(escape)
    if new is None:
        inside = _CLASSES[escape[1:].lower()]
        message = f"GBNF has no escape `{escape}`. The class that it means is [^{inside}]."
        alone = fix(f"Write `^{inside}`", (start, end, f"^{inside}")) if raw == escape else None
        return report("unknown-escape", message, start, end, alone)
    message = f"GBNF has no escape `{escape}`. "
    message += f"Use `{new}`." if _is_class(raw, c) else _advice(escape)
    edits = [(start, end, new)]
    if _is_class(raw, c) and raw[c.end : c.end + 1] == "-" and len(raw) > c.end + 1:
        edits.append((end, end + 1, r"\x2D"))  # it would form a range with the last new character
    return report("unknown-escape", message, start, end, fix(f"Write `{new}`", *edits))


def _short_hex(raw: str, offset: int, c: Character, digits: int) -> Diagnostic:
    r"""`\x4`, `\u12`: too few digits."""
    escape = raw[c.start : c.end]
    given = _HEX.match(raw, c.end, c.end + digits)
    count = len(given[0]) if given else 0
    start, end = offset + c.start, offset + c.end
    message = f"`{escape}` needs exactly {digits} hexadecimal digits, and there "
    message += f"{'is' if count == 1 else 'are'} {count or 'none'}. Fill up with zeros in front."
    if count:
        repair = fix("Fill up with zeros", (end, end, "0" * (digits - count)))
    else:
        repair = fix("Write a backslash", (start, end, "\\" + escape))
    return report("unknown-escape", message, start, end + count, repair)


def _advice(escape: str) -> str:
    """The correction of an escape that GBNF does not know, in a sentence."""
    new = _text_replacement(escape)
    if new == "\\" + escape:
        return (
            "Double the backslash if you mean one; it knows "
            + r"`\n \r \t \\ \" \[ \] \xXX \uXXXX \UXXXXXXXX`."
        )
    return f"Write `{new}`."
