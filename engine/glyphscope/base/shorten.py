"""Texts cut to a length, always with `…` in place of the missing part, or begun with a capital letter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from glyphscope.base.visible import one_line

Keep = Literal["start", "end", "ends"]


def capitalised(text: str) -> str:
    """The text with its first letter in upper case; unlike `str.capitalize`, this leaves the others unchanged."""
    return text[:1].upper() + text[1:]


def shorten(text: str, most: int, *, keep: Keep = "start", length: bool = False) -> str:
    """At most `most` characters of the text, including `…`; a text that fits is unchanged.

    `keep`: its start, its end, or both ends. `length`: append its length, `… (1,234 characters)`, which does not count.
    """
    if len(text) <= most:
        return text
    end = {"start": 0, "end": most - 1, "ends": (most - 1) // 2}[keep]
    cut = f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
    return f"{cut} ({len(text):,} characters)" if length else cut


def excerpt(text: str | bytes, most: int = 300) -> str:
    """The beginning of an untrusted text on one line, with signs for invisible characters; bytes are UTF-8."""
    head = text[: most * 4]
    line = one_line(head if isinstance(head, str) else head.decode("utf-8", "replace"))
    return shorten(f"{line}…" if len(head) < len(text) else line, most)


def listed(items: Sequence[str], most: int) -> str:
    """The first `most` items: `a, b, c, …`."""
    return ", ".join(items[:most]) + (", …" if len(items) > most else "")


def and_more(items: Sequence[str], most: int) -> str:
    """The first `most` items, and the number of the rest: `a, b, c and 12 more`."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def json_excerpt(value: Any, most: int) -> str:
    """The beginning of a value as JSON; values without a JSON type become text."""
    return shorten(json.dumps(value, ensure_ascii=False, default=str), most)


_VALUE = 80
"""Characters of a value in words."""


def schema_error_words(error: Any, most: int = 200) -> str:
    """The message of an error of jsonschema, without a full stop and at most `most` characters: `[] is too short`."""
    words = str(error.message)
    if error.validator is None:  # its schema is false
        return f"{json_excerpt(error.instance, _VALUE)} is not allowed, as no value is"
    if error.validator == "oneOf" and not error.context:
        return f"{json_excerpt(error.instance, _VALUE)} is valid under several of the schemas of oneOf"
    for value in (error.instance, error.validator_value):
        if not isinstance(value, int | float) or isinstance(value, bool):
            words = words.replace(repr(value), json_excerpt(value, _VALUE), 1)
    return shorten(words, most)
