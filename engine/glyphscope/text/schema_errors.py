"""The errors of jsonschema in words, with the values as JSON instead of Python's `None`, `True` and quotes."""

from __future__ import annotations

from typing import Any

from glyphscope.text.shorten import json_excerpt, shorten

_VALUE = 80
"""Characters of a value in words."""


def schema_error_words(error: Any, most: int = 200) -> str:
    """The message of an error of jsonschema, without a full stop and at most `most` characters: `[] is too short`."""
    words = str(error.message)
    if error.validator == "oneOf" and not error.context:
        return f"{json_excerpt(error.instance, _VALUE)} is valid under several of the schemas of oneOf"
    for value in (error.instance, error.validator_value):
        if not isinstance(value, int | float) or isinstance(value, bool):
            words = words.replace(repr(value), json_excerpt(value, _VALUE), 1)
    return shorten(words, most)
