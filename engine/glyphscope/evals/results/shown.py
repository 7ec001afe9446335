"""Texts from models, suites and files as a page can show them."""

from __future__ import annotations

from glyphscope.text.shorten import shorten
from glyphscope.visible import visible

_MOST_TEXT = 300


def shown(text: object, most: int = _MOST_TEXT) -> str:
    """A text from elsewhere as it can be shown: cut, and what would be unseen or turn the line round as a sign."""
    whole = str(text)
    cut = shorten(whole, most, length=True)
    return visible(cut, lines=True)
