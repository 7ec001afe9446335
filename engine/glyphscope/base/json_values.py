"""JSON inside other text: the value at a place, and all objects and arrays of a text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

MAX_TRIES = 2_000
"""The maximum number of places at which a value is tried."""
_MAX_WASTED = 10_000_000
"""The maximum characters of invalid values that are read, in less than a second."""
_OPENING = re.compile(r"[{\[]")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _not_json(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_not_json)


class JsonValue(NamedTuple):
    """An object or array: the characters `start` to `end` (exclusive) of the text."""

    start: int
    end: int
    value: Any


def read_json(text: str, at: int = 0) -> tuple[Any, int] | None:
    """The JSON value (RFC 8259) at a place, and its end; None if there is none."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def json_or_text(text: str | bytes) -> Any:
    """The JSON value that a user typed; the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_SURROGATE = re.compile("[\ud800-\udfff]")


def json_file(value: Any) -> str:
    """The content of a JSON file for users: indented, with a line end. `value` may contain msgspec's structs.

    A lone surrogate, which no file can contain, is written as its escape.
    """
    try:  # ten times as fast as Python's encoder, for which the window waits
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    except (ValueError, OverflowError, RecursionError):  # a lone surrogate, an integer of more than 64 bits
        text = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False)
        return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"


def json_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object of an untrusted text; empty if the text is not a JSON object."""
    return as_object(json_or_text(text))


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def json_values(text: str) -> Iterator[JsonValue]:
    """The outermost objects and arrays. If none begins at a brace, the search continues with the next character."""
    at = in_vain = 0
    for _ in range(MAX_TRIES):
        opening = _OPENING.search(text, at)
        if opening is None or in_vain > _MAX_WASTED:
            return
        at = opening.start()
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            in_vain += error.pos - at
            at += 1
        except (ValueError, RecursionError):
            # an integer with too many digits, or too deep nesting: the position of the error is unknown
            in_vain += len(text) - at
            at += 1
        else:
            yield JsonValue(at, end, value)
            at = end
