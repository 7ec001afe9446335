"""Whole texts read by independent readers: Python's JSON, and glyph-py."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import glyph


class KeyTwice(ValueError):
    pass


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises KeyTwice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise KeyTwice(pairs)
    return found


def plain(value: Any) -> Any:
    """A value of glyph-py as one of Python."""
    kind = value.type.name
    if kind == "LIST":
        return [plain(item) for item in value.as_list()]
    if kind == "MAP":
        return once([(entry.key, plain(entry.value)) for entry in value.as_map()])
    read = {
        "NULL": lambda: None,
        "BOOL": value.as_bool,
        "INT": value.as_int,
        "FLOAT": value.as_float,
        "STR": value.as_str,
    }
    return read[kind]()


READ = {"json": partial(json.loads, object_pairs_hook=once), "glyph": lambda text: plain(glyph.parse(text))}
