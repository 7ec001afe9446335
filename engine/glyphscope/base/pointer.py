"""JSON Pointers (RFC 6901), which locate every error and every rule."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

Path: TypeAlias = tuple[str | int, ...]

_MAX_DIGITS = 9
"""Digits of an index: longer indexes exceed every list, and Python cannot read numbers of 4,300 digits."""


def step_of(name: str) -> str:
    """A name as one step: `a/b` is `a~1b`."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def to_pointer(path: Iterable[str | int]) -> str:
    """`("a/b", 0)` is `/a~1b/0`; the empty path is the empty pointer, which means the whole document."""
    return "".join([f"/{step_of(str(step))}" for step in path])


def steps_of(pointer: str) -> tuple[str, ...]:
    """`/a~1b/0` is `("a/b", "0")`: numbers remain text. Text before the first slash is ignored."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def readable(pointer: str) -> str:
    """For users: `/args/a~1b` is `args/a/b`."""
    return "/".join(steps_of(pointer))


def to_fragment(path: Path) -> str:
    """The pointer in the form of a `$ref`: `#/$defs/a%20b`."""
    return "#" + quote(to_pointer(path), safe="/~!$&'()*+,;=:@?")


def is_under(place: str, pointer: str) -> bool:
    """Whether `place` is the place of `pointer`, or inside it."""
    return place == pointer or place.startswith(f"{pointer}/")


def key_of(value: Any, step: str) -> str | int | None:
    """The member or index of `value` that the step denotes; None if there is none."""
    if isinstance(value, list):
        is_index = step.isascii() and step.isdigit() and len(step) <= _MAX_DIGITS and int(step) < len(value)
        return int(step) if is_index else None
    return step if isinstance(value, dict) and step in value else None


def value_at(document: Any, path: Path) -> Any:
    """The value at a path that exists in the document."""
    for step in path:
        document = document[step]
    return document


def with_value(document: Any, path: Path, value: Any) -> Any:
    """A copy of the document that differs only in the value at the path, and shares all other parts."""
    holders = []
    for step in path:
        holders.append(document)
        document = document[step]
    for holder, step in zip(reversed(holders), reversed(path), strict=True):
        changed = copy.copy(holder)
        changed[step] = value
        value = changed
    return value


def follow(document: Any, pointer: str) -> tuple[Path, Any] | None:
    """The target of the pointer in `document`: path and value; None if there is none."""
    path: list[str | int] = []
    value = document
    for step in steps_of(pointer):
        key = key_of(value, step)
        if key is None:
            return None
        value = value[key]
        path.append(key)
    return tuple(path), value


def follow_reference(document: Any, reference: str) -> tuple[Path, Any] | None:
    """The target of a `$ref` within the document, such as `#/$defs/a%20b`."""
    return follow(document, unquote(reference))
