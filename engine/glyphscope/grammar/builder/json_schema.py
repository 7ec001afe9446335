"""The calls of a registry, or a part of them, as one JSON Schema, for engines that support nothing else."""

from __future__ import annotations

import json
from typing import Any

from glyphscope.base.errors import GrammarError
from glyphscope.events import Shape
from glyphscope.grammar.builder.schema import join
from glyphscope.grammar.builder.tools import Part, chosen_tools
from glyphscope.grammar.shapes import fitting_shape
from glyphscope.grammar.traversal import bottom_up
from glyphscope.notation.shapes import call_document, shape_keys
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.registry.making import closed, object_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def call_schema(
    registry: ToolRegistry, shape: Shape, part: Part = "call", tool: str | None = None
) -> dict[str, Any]:
    """`oneOf` the allowed tools' calls, or that tool's, each with its name as a constant; or the schema of a part.

    Raises GrammarError like `chosen_tools`.
    An argument that a tool does not name is rejected unless the tool's schema allows it. A schema cannot describe
    white space and free text.
    """
    tools, shape = chosen_tools(registry, tool, part), fitting_shape(registry, shape)
    if part == "name":
        return {"$schema": DIALECT, "enum": [tool.name for tool in tools]}
    if part == "arguments":
        return {"$schema": DIALECT} | _arguments(tools[0])
    calls = [
        one_call(tool.name, _arguments(tool), shape, f"/oneOf/{place}") for place, tool in enumerate(tools)
    ]
    return {"$schema": DIALECT, "oneOf": calls}


def response_format(schema: dict[str, Any], name: str = "call") -> dict[str, Any]:
    """The `response_format` of Chat Completions."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}


def structural_tag(
    registry: ToolRegistry, shape: Shape, tool: str | None = None, *, free_text: bool = False
) -> dict[str, Any]:
    """The `structural_tag` of vLLM and SGLang: a tag for each tool, with the text of its call around the arguments, and
    the schema of those. With `free_text`, text may surround the calls; otherwise the answer is one call.

    Raises GrammarError like `chosen_tools`, and for a shape without a place for all arguments.
    """
    tools, shape = chosen_tools(registry, tool, "call"), fitting_shape(registry, shape)
    name_key, args_key = shape_keys(shape)
    if args_key is None:
        raise GrammarError(
            "In the shape flat, a call has no place that is its arguments.",
            where="structural-tag",
            hint="Choose the shape tool-args or name-arguments, or --to response-format.",
        )
    trigger = f'{{"{name_key}": "'
    tags = [
        {
            "begin": f'{{"{name_key}": {json.dumps(one.name, ensure_ascii=False)}, "{args_key}": ',
            "content": {"type": "json_schema", "json_schema": _arguments(one)},
            "end": "}",
        }
        for one in tools
    ]
    only = {} if free_text else {"at_least_one": True, "stop_after_first": True}
    return {
        "type": "structural_tag",
        "format": {"type": "triggered_tags", "triggers": [trigger], "tags": tags, **only},
    }


def one_call(tool: str, parameters: dict[str, Any], shape: Shape, pointer: str = "") -> dict[str, Any]:
    """The schema of one tool's calls, to be inserted into another schema at a JSON Pointer."""
    name_key, args_key = shape_keys(shape)
    name = {"const": tool}
    if args_key is not None:
        inner = _moved(parameters, join(pointer, "properties", args_key))
        return object_schema({name_key: name, args_key: inner})
    arguments: dict[str, Any] = _moved(parameters, pointer)
    properties = arguments.get("properties", {})
    call_document(tool, properties, shape)  # raises if an argument has the same key as the name
    required = [name_key, *arguments.get("required", ())]
    return arguments | {"properties": {name_key: name} | properties, "required": required}


def _arguments(tool: Tool) -> dict[str, Any]:
    return {"type": "object"} | closed(tool.parameters)


def _moved(value: Any, pointer: str) -> Any:
    """The schema with its references adapted to its new place, `pointer`."""

    def make(inner: Any, parts: list[Any]) -> Any:
        if isinstance(inner, dict):
            moved = dict(zip(inner, parts, strict=True))
            ref = moved.get("$ref")
            if isinstance(ref, str) and (ref == "#" or ref.startswith("#/")):
                moved["$ref"] = f"#{pointer}{ref[1:]}"
            return moved
        return parts if isinstance(inner, list) else inner

    def inside(inner: Any) -> list[Any]:
        return [*inner.values()] if isinstance(inner, dict) else inner if isinstance(inner, list) else []

    return bottom_up(value, inside, make)
