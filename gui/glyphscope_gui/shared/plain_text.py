"""Words that others wrote, shown as what they are: nothing in them is laid out, loaded, hidden or turned round."""

from __future__ import annotations

import html
import unicodedata

_UNSEEN = ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")


def shown_exactly(text: str) -> str:
    """The text with everything that is not seen, or that turns what is seen round, as its code: `⟨U+202E⟩`."""
    return "".join(_sign(char) if _is_unseen(char) else char for char in text)


def plain_tip(text: str) -> str:
    """A tip that Qt shows as it is written: by itself it takes what looks like HTML for HTML."""
    if "<" not in text:
        return text
    return f'<p style="white-space: pre-wrap">{html.escape(text)}</p>'


def _is_unseen(char: str) -> bool:
    return (unicodedata.category(char) in _UNSEEN) or (char.isspace() and char != " ")


def _sign(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"
