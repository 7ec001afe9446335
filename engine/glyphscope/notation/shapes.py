"""The shapes of a call: the key of the tool's name, and the place of the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from glyphscope.base.errors import NotationError
from glyphscope.base.shorten import listed
from glyphscope.events import Shape
from glyphscope.registry import ToolRegistry

_SHOWN = 3  # tools in a message


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


def fitting_shape(registry: ToolRegistry, shape: Shape) -> Shape:
    """The shape in which the registry's calls are written: tool-args instead of flat if an argument of an allowed tool
    has the key that the flat shape needs for the tool's name.
    """
    keys = shape_keys(shape)
    return "tool-args" if keys.args_key is None and keys.name_key in registry.argument_names else shape


def shape_note(registry: ToolRegistry, shape: Shape) -> str:
    """Why the calls are written in another shape than this one, with the tools that need it; empty if they are not."""
    fitting = fitting_shape(registry, shape)
    if fitting == shape:
        return ""
    key = shape_keys(shape).name_key
    tools = listed([tool.name for tool in registry.allowed if key in tool.argument_names], _SHOWN)
    reason = f"in the shape {shape}, '{key}' is the tool's name, and it is an argument of {tools}"
    return f"Calls have the shape {fitting}: {reason}."


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
