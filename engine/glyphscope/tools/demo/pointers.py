"""JSON Pointers (RFC 6901) as written by a model, with an explanation for every wrong step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from glyphscope.errors import ToolError
from glyphscope.registry.pointer import steps_of as pointer_steps
from glyphscope.registry.pointer import to_pointer
from glyphscope.text.shorten import and_more, capitalised, shorten

MAX_STEPS = 32
_SHOWN = 12


def steps_of(pointer: str) -> tuple[str, ...]:
    """`/a~1b/0` is `("a/b", "0")`; the empty pointer is the whole document. Raises ToolError for an invalid pointer."""
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        better = "/" + re.sub(
            r"^\$?\.?|\.(?=\w)", lambda m: "/" if m[0] == "." and m.start() else "", pointer
        )
        raise ToolError(
            f'"{shorten(pointer, 80)}" is not a path: a path begins with "/".',
            hint=f'Write "{shorten(better, 80)}".',
        )
    if re.search("~(?![01])", pointer):
        raise ToolError(
            f'The path "{shorten(pointer, 80)}" has a ~ without 0 or 1 after it.',
            hint="Write ~0 for ~ and ~1 for /.",
        )
    steps = pointer_steps(pointer)
    if len(steps) > MAX_STEPS:
        raise ToolError(f"The path has {len(steps)} steps; at most {MAX_STEPS} are followed.")
    return steps


def follow(document: Any, steps: Sequence[str]) -> Any:
    """The value at the end of the steps. Raises ToolError with the existing alternatives."""
    value = document
    for number, step in enumerate(steps):
        value = child(value, step, steps[:number])
    return value


def child(value: Any, step: str, before: Sequence[str]) -> Any:
    """The value one step below `value`, which is at `before`."""
    if isinstance(value, dict):
        if step not in value:
            raise ToolError(
                f"There is no {written((*before, step))}.",
                hint=f"{capitalised(written(before))} has {_keys(value)}.",
            )
        return value[step]
    if isinstance(value, list):
        return value[index(value, step, before)]
    raise ToolError(
        f"{written(before)} is {kind(value)}: nothing is below it, so there is no {written((*before, step))}."
    )


def index(value: list[Any], step: str, before: Sequence[str]) -> int:
    """The index of an existing item of a list. Raises ToolError."""
    if not re.fullmatch("0|[1-9][0-9]{0,8}", step):
        raise ToolError(
            f'{written(before)} is a list: "{shorten(step, 80)}" is not a place in it.',
            hint="Places are counted 0, 1, 2 …",
        )
    if int(step) >= len(value):
        there = f"its places are 0 to {len(value) - 1}" if value else "it is empty"
        raise ToolError(f"There is no {written((*before, step))}: {there}.")
    return int(step)


def written(steps: Sequence[str]) -> str:
    """The pointer for a message; the whole document is given in words."""
    text = to_pointer(steps)
    return shorten(text, 80) if text else "the workspace"


def kind(value: Any) -> str:
    """The type of a JSON value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")


def _keys(value: dict[str, Any]) -> str:
    return and_more([shorten(key, 80) for key in value], _SHOWN) or "nothing in it"
