"""What a negated class refuses too much where a token ends inside a character.

Of half a character llama.cpp knows the code points that it may become. A negated class then refuses all of them as soon
as one is excluded (llama_grammar_match_partial_char; tried byte by byte: `[^é]` takes no `è`). Classes of what may come
are read as they are meant.
"""

from __future__ import annotations

from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.visible import is_seen

_BLOCKS = ((0x80, 0x7FF, 1 << 6), (0x800, 0xFFFF, 1 << 12), (0x10000, 0x10FFFF, 1 << 18))
"""Characters of two, three and four bytes, and how many begin with the same byte."""

_TRIED = 300  # characters among which a printable one is looked for, as an example


def refused_as_well(excluded: Ranges) -> Ranges:
    """The characters that are not excluded, and begin with the first byte of one that is."""
    reached: list[tuple[int, int]] = []
    for low, high in excluded:
        for first, last, size in _BLOCKS:
            if low <= last and high >= first:
                begin = max(low, first) // size * size
                end = min(high, last) // size * size + size - 1
                reached.append((max(begin, first), min(end, last)))
    return chars.intersection(chars.subtract(chars.union(reached), excluded), chars.ALL)


def example(characters: Ranges) -> str:
    """One of them, with its code point, printable if there is one near the beginning."""
    codes = [code for low, high in characters[:_TRIED] for code in range(low, min(high + 1, low + _TRIED))]
    code = next((code for code in codes[:_TRIED] if is_seen(chr(code))), characters[0][0])
    return f"{chr(code)} (U+{code:04X})" if is_seen(chr(code)) else f"U+{code:04X}"
