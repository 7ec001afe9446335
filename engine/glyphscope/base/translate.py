"""Texts for people in their language: their English form, and the type of a function that translates them.

The window passes its own `tr` (`glyphscope_gui.shared.language`); terminals, pages and files use `english`. A function
that takes one calls it `tr`, with literal texts, so that Qt's tools find them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Protocol

from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible

MAX_PART = 20_000
"""Characters of a part of a text."""


class Translate(Protocol):
    """`tr("{count} of {whole}", count=3, whole=4)`; `comment` helps translators, `n` selects the plural form."""

    def __call__(self, text: str, comment: str = "", n: int = -1, /, **parts: object) -> str: ...


def english(text: str, comment: str = "", n: int = -1, /, **parts: object) -> str:
    """The text with its parts; with `n`, `%n` is the number and the `(s)` of a plural is written or left out."""
    return filled(english_form(text, n), n, parts)


def english_form(text: str, n: int) -> str:
    """The English singular or plural of a text; the text itself with a negative `n`."""
    return text if n < 0 else text.replace("(s)", "" if n == 1 else "s")


def filled(text: str, n: int, parts: Mapping[str, object]) -> str:
    """The text with its number and its parts, of which invisible characters are replaced by visible symbols.

    Raises LookupError, ValueError, AttributeError or TypeError if the parts do not fit the text.
    """
    if n >= 0:
        text = text.replace("%n", f"{n:,}")
    return text.format_map({name: _seen(part) for name, part in parts.items()}) if parts else text


def _seen(part: object) -> object:
    """Return a part as shown, without hidden characters, and without an end that has no room anywhere."""
    if not isinstance(part, str | PurePath | Exception):
        return part
    return visible(shorten(str(part), MAX_PART), lines=True)
