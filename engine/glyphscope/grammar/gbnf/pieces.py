"""Quoted texts and classes: what they hold, and the mistakes inside them.

A grammar writes the same few again and again (`[0-9]`, `"\\""`), so each raw text is read once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from glyphscope.grammar.gbnf import codes
from glyphscope.grammar.gbnf.characters import (
    CLASSES,
    Character,
    characters,
    mend_in_class,
    mend_in_text,
    quoted_as_items,
    ranges_of,
    text_of,
)
from glyphscope.grammar.gbnf.codes import report
from glyphscope.grammar.gbnf.diagnostic import Diagnostic, Fix, fix
from glyphscope.grammar.gbnf.stopping import worked
from glyphscope.grammar.gbnf.syntax import Class, Quoted

_REPEATED = re.compile(r"(?:[ \t\r\n]++|#[^\r\n]*+)*+[*+?{]")
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEX = re.compile(r"[0-9a-fA-F]{0,8}")
_CACHED = 10_000
_SHORT = 200
"""Longer raw texts are not remembered: they hardly come again."""


def read_quoted(raw: str, start: int, end: int, text: str, mistakes: list[Diagnostic]) -> Quoted:
    """The node of `raw`, the inside of the quotes at `start` of `text`."""
    if "\\" not in raw:
        return Quoted(start, end, raw)
    content, unknown = _quoted(raw) if len(raw) < _SHORT else _read_text(raw)
    if unknown:
        mend = _as_items(raw, start, end, text) if any(_is_class(raw, c) for c in unknown) else None
        mistakes += [_unknown_in_text(raw, start + 1, c, mend) for c in unknown]
    return Quoted(start, end, content)


def read_class(raw: str, start: int, end: int, mistakes: list[Diagnostic]) -> Class:
    """The node of `raw`, the inside of the brackets at `start`."""
    ranges, negated, unknown = _class(raw) if len(raw) < _SHORT else _read_ranges(raw)
    if unknown:
        mistakes += [_unknown_in_class(raw, start + 1, c) for c in unknown]
    return Class(start, end, ranges, negated)


def _read_text(raw: str) -> tuple[str, tuple[Character, ...]]:
    found = characters(raw)
    return text_of(found), tuple(c for c in found if not c.known)


def _read_ranges(raw: str) -> tuple[tuple[tuple[int, int], ...], bool, tuple[Character, ...]]:
    negated = raw.startswith("^")
    found = characters(raw)
    ranges: list[tuple[int, int]] = []
    for item in ranges_of(raw, found[negated:]):
        worked()
        ranges.append((item.low, item.high))
    return tuple(ranges), negated, tuple(c for c in found if not c.known)


_quoted = lru_cache(_CACHED)(_read_text)
_class = lru_cache(_CACHED)(_read_ranges)


def _is_class(raw: str, c: Character) -> bool:
    return raw[c.start + 1 : c.end].lower() in CLASSES


def _as_items(raw: str, start: int, end: int, text: str) -> Fix:
    items = quoted_as_items(raw, characters(raw))
    if " " in items and _REPEATED.match(text, end):
        items = f"({items})"
    return fix("Write it as a class outside of the quotes", (start, end, items))


def _unknown_in_text(raw: str, offset: int, c: Character, mend: Fix | None) -> Diagnostic:
    escape = raw[c.start : c.end]
    start, end = offset + c.start, offset + c.end
    if digits := _HEX_DIGITS.get(escape[1:]):
        return _short_hex(raw, offset, c, digits)
    if _is_class(raw, c):
        inside = CLASSES[escape[1:].lower()]
        meant = f"[^{inside}]" if escape[1:].isupper() else f"[{inside}]"
        message = f"`{escape}` is of regular expressions: GBNF does not know it. Write {meant} outside of the quotes."
    else:
        message = f"GBNF does not know the escape `{escape}`. {_known(escape)}"
    if mend is None:
        mend = fix(f"Write `{mend_in_text(escape)}`", (start, end, mend_in_text(escape)))
    return report(codes.UNKNOWN_ESCAPE, message, start, end, mend)


def _unknown_in_class(raw: str, offset: int, c: Character) -> Diagnostic:
    escape = raw[c.start : c.end]
    start, end = offset + c.start, offset + c.end
    if digits := _HEX_DIGITS.get(escape[1:]):
        return _short_hex(raw, offset, c, digits)
    new = mend_in_class(escape)
    if new is None:
        inside = CLASSES[escape[1:].lower()]
        message = f"GBNF does not know the escape `{escape}`. The class that it means is [^{inside}]."
        alone = fix(f"Write `^{inside}`", (start, end, f"^{inside}")) if raw == escape else None
        return report(codes.UNKNOWN_ESCAPE, message, start, end, alone)
    message = f"GBNF does not know the escape `{escape}`. "
    message += f"Write what it means: `{new}`." if _is_class(raw, c) else _known(escape)
    edits = [(start, end, new)]
    if _is_class(raw, c) and raw[c.end : c.end + 1] == "-" and len(raw) > c.end + 1:
        edits.append((end, end + 1, r"\x2D"))  # it would make a range with the last character of the new text
    return report(codes.UNKNOWN_ESCAPE, message, start, end, fix(f"Write `{new}`", *edits))


def _short_hex(raw: str, offset: int, c: Character, digits: int) -> Diagnostic:
    r"""`\x4`, `\u12`: too few digits."""
    escape = raw[c.start : c.end]
    given = _HEX.match(raw, c.end, c.end + digits)
    count = len(given[0]) if given else 0
    start, end = offset + c.start, offset + c.end
    message = f"`{escape}` wants exactly {digits} hexadecimal digits, and there "
    message += f"{'is' if count == 1 else 'are'} {count or 'none'}. Fill up with zeros in front."
    if count:
        mend = fix("Fill up with zeros", (end, end, "0" * (digits - count)))
    else:
        mend = fix("Write a backslash", (start, end, "\\" + escape))
    return report(codes.UNKNOWN_ESCAPE, message, start, end + count, mend)


def _known(escape: str) -> str:
    new = mend_in_text(escape)
    if new == "\\" + escape:
        return (
            "Double the backslash if you mean one; it knows "
            + r"`\n \r \t \\ \" \[ \] \xXX \uXXXX \UXXXXXXXX`."
        )
    return f"Write `{new}`."
