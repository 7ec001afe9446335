"""Sets of characters as sorted, disjoint ranges of code points, without the surrogates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

ALL: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
r"""`\s` of ECMA-262, as `DIGITS` is `\d` and `WORD` is `\w`."""
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """The characters in any of the sets."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(r for ranges in sets for r in ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def complement(ranges: Ranges) -> Ranges:
    """Every other character."""
    return subtract(ALL, ranges)


def subtract(ranges: Ranges, without: Ranges) -> Ranges:
    """The characters of `ranges` that are not in `without`."""
    left: list[tuple[int, int]] = []
    for low, high in ranges:
        for cut_low, cut_high in without:
            if cut_high < low or cut_low > high:
                continue
            if cut_low > low:
                left.append((low, cut_low - 1))
            low = cut_high + 1
            if low > high:
                break
        if low <= high:
            left.append((low, high))
    return tuple(left)


def intersection(a: Ranges, b: Ranges) -> Ranges:
    """The characters in both sets."""
    common: list[tuple[int, int]] = []
    at = other = 0
    while at < len(a) and other < len(b):
        (first, last), (begin, end) = a[at], b[other]
        if last < end:
            at += 1
        else:
            last = end
            other += 1
        low = first if first > begin else begin
        if low <= last:
            common.append((low, last))
    return tuple(common)


def of(text: str) -> Ranges:
    """The characters of a text."""
    return union((ord(c), ord(c)) for c in text)


def contains(ranges: Ranges, char: str) -> bool:
    """Whether the set contains the character."""
    return any(low <= ord(char) <= high for low, high in ranges)


def with_same_first_byte(ranges: Ranges) -> Ranges:
    """The characters that share their first UTF-8 byte with one in the ranges, as a byte-based lexer sees them."""
    return union((_of_first_byte(low)[0], _of_first_byte(high)[1]) for low, high in ranges)


def _of_first_byte(code: int) -> tuple[int, int]:
    for size, least, limit in ((1, 0, 0x80), (0x40, 0x80, 0x800), (0x1000, 0x800, 0x10000)):
        if code < limit:
            return max(code - code % size, least), code - code % size + size - 1
    return max(code - code % 0x40000, 0x10000), min(code - code % 0x40000 + 0x3FFFF, sys.maxunicode)


@lru_cache(maxsize=1)
def not_space() -> Ranges:
    """Everything but Unicode's white space and the byte order mark."""
    return complement(union(_where(str.isspace), ((0xFEFF, 0xFEFF),)))


def _where(holds: Callable[[str], bool]) -> Ranges:
    return union((code, code) for code in range(sys.maxunicode + 1) if holds(chr(code)))
