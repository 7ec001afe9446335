"""What cannot be seen in a text is shown as a sign: whoever allows a call must see what it is."""

from __future__ import annotations

import unicodedata
from collections import Counter

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset(("Cc", "Cf", "Co", "Cn", "Zl", "Zp"))
"""Control, format (those that turn the direction round, or have no width), private, unassigned, and line ends that
are none in an editor."""


def is_hidden(character: str) -> bool:
    return character not in _KEPT and unicodedata.category(character) in _HIDDEN


def visible(text: str) -> str:
    """The text with `⟨U+202E⟩` for each character that would not be seen as itself."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(c):04X}⟩" if is_hidden(c) else c for c in text)


def hidden_words(text: str) -> str:
    """`U+202E, U+200B ×2`: the characters of a text that are not seen; empty where there are none."""
    if text.isascii() and text.isprintable():
        return ""
    found = Counter(c for c in text if is_hidden(c) and c != "\r")
    named = [f"U+{ord(c):04X}" + (f" ×{n}" if n > 1 else "") for c, n in found.most_common(6)]
    return ", ".join(named) + (" …" if len(found) > 6 else "")
