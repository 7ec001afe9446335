"""Texts from models, suites and files as a page can show them."""

from __future__ import annotations

import re

_MOST_TEXT = 300
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def shown(text: object, most: int = _MOST_TEXT) -> str:
    """A text from elsewhere as it can be shown: cut, and what would be unseen or turn the line round as a sign."""
    whole = str(text)
    cut = whole if len(whole) <= most else f"{whole[:most]}… ({len(whole):,} characters)"
    return _ODD.sub(_sign, cut)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
