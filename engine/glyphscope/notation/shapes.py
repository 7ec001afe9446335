"""The shapes of a call: the key of the tool's name, and the place of the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from glyphscope.base.errors import NotationError
from glyphscope.events import Shape


class ShapeKeys(NamedTuple):
    """The keys of a call; `args_key` is None if the arguments are beside the name."""

    name_key: str
    args_key: str | None


_KEYS: dict[Shape, ShapeKeys] = {
    "flat": ShapeKeys("action", None),
    "tool-args": ShapeKeys("tool", "args"),
    "name-arguments": ShapeKeys("name", "arguments"),
    "name-parameters": ShapeKeys("name", "parameters"),
}


def shape_keys(shape: Shape) -> ShapeKeys:
    """The keys of a call in that shape."""
    return _KEYS[shape]


def call_document(tool: str, arguments: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """The call as one document, beginning with the name.

    Raises NotationError if an argument has the key that the flat shape needs for the name.
    """
    name_key, args_key = shape_keys(shape)
    if args_key is not None:
        return {name_key: tool, args_key: dict(arguments)}
    if name_key in arguments:
        raise NotationError(
            f"The argument {name_key!r} has the key under which the flat shape writes the tool's name.",
            where=tool,
            hint="Use the shape tool-args or name-arguments, or rename the argument.",
        )
    return {name_key: tool, **arguments}
