"""JSON Pointers (RFC 6901): how every mistake and every rule is located."""

from __future__ import annotations

from typing import Any, TypeAlias
from urllib.parse import quote, unquote

Path: TypeAlias = tuple[str | int, ...]

_MISSING = object()


def to_pointer(path: Path) -> str:
    """`("a/b", 0)` is `/a~1b/0`; the empty path is the empty pointer, the whole document."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def steps_of(pointer: str) -> tuple[str, ...]:
    """`/a~1b/0` is `("a/b", "0")`: a number stays text. What stands before the first slash is no step."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def to_fragment(path: Path) -> str:
    """The pointer as a `$ref` writes it: `#/$defs/a%20b`."""
    return "#" + quote(to_pointer(path), safe="/~!$&'()*+,;=:@?")


def follow_fragment(document: Any, fragment: str) -> tuple[Path, Any] | None:
    """Where the pointer of a `$ref` (without its `#`) leads to in `document`: path and value, None for nowhere."""
    path: list[str | int] = []
    place = document
    for step in unquote(fragment).split("/")[1:]:
        key: str | int = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, list):
            if not (step.isascii() and step.isdigit()) or int(step) >= len(place):
                return None
            key = int(step)
            place = place[key]
        else:
            place = place.get(key, _MISSING) if isinstance(place, dict) else _MISSING
            if place is _MISSING:
                return None
        path.append(key)
    return tuple(path), place
