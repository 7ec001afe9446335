"""Indented JSON of a value that may have megabytes; no Qt."""

from __future__ import annotations

import json
from typing import Any

_ENCODER = json.JSONEncoder(indent=2, ensure_ascii=False, default=str)


def beginning(value: Any, most: int) -> str:
    """The first characters of its JSON, one more than `most` if there are more: the rest is not written out.

    Raises ValueError and RecursionError.
    """
    if isinstance(value, str):
        return json.dumps(value[: most + 1], ensure_ascii=False)[: most + 1]
    parts, length = [], 0
    for part in _ENCODER.iterencode(value):
        parts.append(part)
        length += len(part)
        if length > most:
            break
    return "".join(parts)[: most + 1]


def whole_json(value: Any) -> str:
    """All of it. Raises ValueError and RecursionError."""
    return _ENCODER.encode(value)
