"""Texts from models, suites and files as a page can show them."""

from __future__ import annotations

from glyphscope.visible import visible

_MOST_TEXT = 300


def shown(text: object, most: int = _MOST_TEXT) -> str:
    """A text from elsewhere as it can be shown: cut, and what would be unseen or turn the line round as a sign."""
    whole = str(text)
    cut = whole if len(whole) <= most else f"{whole[:most]}… ({len(whole):,} characters)"
    return visible(cut, lines=True)
