"""Characters in words, for diagrams and for what may come next."""

from __future__ import annotations

from glyphscope.grammar.chars import ALL, Ranges, subtract
from glyphscope.visible import character_words, visible
from glyphscope_gui.shared.language import tr

_NAMES = {
    0x00: "NUL",
    0x09: tr("tab", "a character"),
    0x0A: tr("line feed"),
    0x0D: tr("carriage return", "a character"),
    0x20: tr("space", "a character"),
    0x22: '"',
    0x7F: "DEL",
    0xA0: tr("no-break space"),
    0xFEFF: "BOM",
}
_LAST = 0x10FFFF
_CONTROLS = (0x00, 0x1F)
_ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", " ": "·"})
MOST_RANGES = 8


def char_words(code: int) -> str:
    """One character as it can be read: itself, its name, or its number."""
    if code in _NAMES:
        return _NAMES[code]
    return character_words(chr(code))


def class_words(ranges: Ranges, negated: bool = False, most: int = MOST_RANGES) -> str:
    """A set of characters the shorter way: `0–9  a–f`, `any but "  \\  controls`, `any character`."""
    chosen = subtract(ALL, ranges) if negated else ranges
    others = subtract(ALL, chosen)
    if not chosen:
        return tr("no character")
    if not others:
        return tr("any character")
    if len(others) < len(chosen) or chosen[-1][1] >= _LAST:
        return tr("any except {characters}", characters=_list(others, most))
    return _list(chosen, most)


def text_words(text: str) -> str:
    """A text with what cannot be seen made visible: spaces as dots, controls as escapes."""
    return visible(text.translate(_ESCAPES), spaces=True)


def _list(ranges: Ranges, most: int) -> str:
    words = [_range(low, high) for low, high in ranges[:most]]
    if len(ranges) > most:
        words.append(tr("and %n more", "", len(ranges) - most))
    return "  ".join(words)


def _range(low: int, high: int) -> str:
    if low == high:
        return char_words(low)
    if (low, high) == _CONTROLS:
        return tr("controls", "characters")
    if high >= _LAST:
        return tr("{character} and following", character=char_words(low))
    if high == low + 1:
        return f"{char_words(low)}  {char_words(high)}"
    return f"{char_words(low)}–{char_words(high)}"
