"""All the calls of a registry, or a part of them, as one JSON Schema: for engines that take nothing else."""

from __future__ import annotations

from typing import Any

from glyphscope.events import Shape
from glyphscope.grammar.builder.calls import GrammarOptions, chosen_tools
from glyphscope.grammar.builder.schema import join
from glyphscope.notation import call_document, shape_keys
from glyphscope.registry import Tool, ToolRegistry

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def call_schema(registry: ToolRegistry, shape: Shape, options: GrammarOptions) -> dict[str, Any]:
    """`oneOf` the allowed tools' calls, each with its name as a constant. Raises GrammarError as the builder does.

    An argument that a tool does not name is refused, unless the tool's schema says otherwise. White space and free
    text are not a schema's to say.
    """
    tools = chosen_tools(registry, options)
    if options.part == "name":
        return {"$schema": DIALECT, "enum": [tool.name for tool in tools]}
    if options.part == "arguments":
        return {"$schema": DIALECT} | _arguments(tools[0], "")
    calls = [_call(tool, shape, f"/oneOf/{place}") for place, tool in enumerate(tools)]
    return {"$schema": DIALECT, "oneOf": calls}


def _call(tool: Tool, shape: Shape, pointer: str) -> dict[str, Any]:
    name_key, args_key = shape_keys(shape)
    name = {"const": tool.name}
    if args_key is not None:
        arguments = _arguments(tool, join(pointer, "properties", args_key))
        return _object({name_key: name, args_key: arguments}, [name_key, args_key])
    arguments = _arguments(tool, pointer)
    properties = arguments.get("properties", {})
    call_document(tool.name, properties, shape)  # raises where an argument has the key of the name
    required = [name_key, *arguments.get("required", ())]
    return arguments | {"properties": {name_key: name} | properties, "required": required}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _arguments(tool: Tool, pointer: str) -> dict[str, Any]:
    parameters = moved(tool.parameters, pointer)
    assert isinstance(parameters, dict)
    return {"type": "object", "additionalProperties": False} | parameters


def moved(value: Any, pointer: str) -> Any:
    """The schema, at a JSON Pointer of another, with its references leading there. As deep as it is: no recursion."""
    out: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any]] = [(value, out, 0)]
    while waiting:
        inner, holder, key = waiting.pop()
        if isinstance(inner, dict):
            holder[key] = made = dict.fromkeys(inner)
            waiting += [(item, made, name) for name, item in inner.items()]
        elif isinstance(inner, list):
            holder[key] = items = [None] * len(inner)
            waiting += [(item, items, place) for place, item in enumerate(inner)]
        elif key == "$ref" and isinstance(inner, str) and (inner == "#" or inner.startswith("#/")):
            holder[key] = f"#{pointer}{inner[1:]}"
        else:
            holder[key] = inner
    return out[0]
