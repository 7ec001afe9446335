"""The shape of a call that fits the tools of a registry."""

from __future__ import annotations

from glyphscope.base.shorten import listed
from glyphscope.events import Shape
from glyphscope.notation.shapes import shape_keys
from glyphscope.registry import ToolRegistry

_SHOWN = 3  # tools in a message


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
