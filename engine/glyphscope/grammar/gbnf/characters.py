r"""The characters inside quotes and brackets: GBNF's escapes, and the ones it does not know with what they mean.

llama.cpp knows `\xXX \uXXXX \UXXXXXXXX \t \r \n \\ \" \[ \] \-` (the last only since 2026) and refuses a grammar with
any other, `\d` and `\w` of regular expressions first of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.gbnf.stopping import worked

LAST = 0x10FFFF
IMPOSSIBLE = "\ud800"
"""Stands in texts for a code point above the last one: no text has either of them."""

_PIECE = re.compile(
    r'\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([tnr\\"\[\]-])|\\(.?)|([^\\])', re.DOTALL
)
_TOGETHER = 50_000  # ranges
_KNOWN = {"t": 9, "n": 10, "r": 13}
CLASSES = {"d": "0-9", "w": "a-zA-Z0-9_", "s": r" \t\r\n"}
"""What the escapes of regular expressions mean, as the inside of a class."""
_OTHERS = {"b": r"\x08", "f": r"\x0C", "v": r"\x0B", "a": r"\x07", "e": r"\x1B", "0": r"\x00"}


class Character(NamedTuple):
    """One character: its code point, its place in the raw text, and whether llama.cpp knows how it is written."""

    code: int
    start: int
    end: int
    known: bool


class Range(NamedTuple):
    """One item of a class, its place in the raw text, and whether it is written with a `-`."""

    low: int
    high: int
    start: int
    end: int


def characters(raw: str) -> list[Character]:
    """The characters of the inside of quotes."""
    found = []
    for match in _PIECE.finditer(raw):
        kind = match.lastindex or 0
        if kind <= 3:
            code = int(match[kind], 16)
        elif kind == 4:
            code = _KNOWN.get(match[4]) or ord(match[4])
        else:
            code = ord(match[kind] or "\\")
        found.append(Character(code, match.start(), match.end(), kind != 5))
        worked()
    return found


def text_of(found: list[Character]) -> str:
    """Them as a text; what no text has is `IMPOSSIBLE`."""
    return "".join([chr(c.code) if c.code <= LAST else IMPOSSIBLE for c in found])


def ranges_of(raw: str, found: list[Character]) -> list[Range]:
    """The items of the inside of brackets, as llama.cpp reads them.

    A `-` after a character makes a range, unless it is the last one; what follows it is the upper end, a `-` too.
    """
    items, at = [], 0
    while at < len(found):
        worked()
        low = found[at]
        if at + 2 < len(found) and raw[found[at + 1].start : found[at + 1].end] == "-":
            high = found[at + 2]
            items.append(Range(low.code, high.code, low.start, high.end))
            at += 3
        else:
            items.append(Range(low.code, low.code, low.start, low.end))
            at += 1
    return items


def united(ranges: Sequence[tuple[int, int]]) -> Ranges:
    """The characters of a class's ranges, but for what no text has; a part at a time, as there may be millions."""
    whole: Ranges = ()
    for at in range(0, len(ranges), _TOGETHER):
        part = set(ranges[at : at + _TOGETHER])
        worked(len(part))
        whole = chars.union(whole, ((low, min(high, LAST)) for low, high in part if low <= min(high, LAST)))
    return whole


def mend_in_class(escape: str) -> str | None:
    """What to write in brackets for an escape that GBNF does not know; None where it cannot be told."""
    letter = escape[1:]
    if letter in ("D", "W", "S"):
        return None
    return CLASSES.get(letter) or mend_in_text(escape)


def mend_in_text(escape: str) -> str:
    """The same in quotes, for one that means a single character."""
    letter = escape[1:]
    if letter in _OTHERS:
        return _OTHERS[letter]
    if letter in ("\n", "\r", "") or letter.isalnum():
        return "\\" + escape
    return letter


def quoted_as_items(raw: str, found: list[Character]) -> str:
    """The inside of quotes as GBNF items, the escapes that stand for classes outside the quotes: `"a" [0-9]`."""
    pieces: list[str] = []
    text = ""
    for c in found:
        part = raw[c.start : c.end]
        letter = part[1:] if not c.known else ""
        inside = CLASSES.get(letter.lower())
        if not inside:
            text += part if c.known else mend_in_text(part)
            continue
        if text:
            pieces.append(f'"{text}"')
        pieces.append(f"[^{inside}]" if letter.isupper() else f"[{inside}]")
        text = ""
    if text or not pieces:
        pieces.append(f'"{text}"')
    return " ".join(pieces)
