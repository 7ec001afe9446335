"""The shapes of a call: the key of the tool's name, and the place of the arguments.

Known by name are the calls of three chat templates, all JSON with a name and arguments between markers:

| form    | written                                                       | by                        |
|---------|---------------------------------------------------------------|---------------------------|
| hermes  | `<tool_call>⏎{"name": …, "arguments": …}⏎</tool_call>`        | Hermes 2/3, Qwen 2.5 and 3 |
| llama   | `{"name": …, "parameters": …}`                                | Llama 3.1, 3.2, 3.3       |
| mistral | `[TOOL_CALLS] [{"name": …, "arguments": …}]`                  | Mistral 7B v0.3, Nemo, Small |

A fourth form does not belong to a template: `openai` is our text for an endpoint's `tool_calls`,
`{"name": …, "arguments": …}`, whatever its model wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from glyphscope.base.errors import NotationError
from glyphscope.events import NativeForm, Shape


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


class NamedCall(NamedTuple):
    """A call in JSON that is known by name: its shape, and the markers around calls."""

    shape: Shape
    opening: str = ""
    closing: str = ""


NAMED_CALLS: dict[NativeForm, NamedCall] = {
    "hermes": NamedCall("name-arguments", "<tool_call>\n", "\n</tool_call>"),
    "llama": NamedCall("name-parameters"),
    "mistral": NamedCall("name-arguments", "[TOOL_CALLS] [", "]"),
    "openai": NamedCall("name-arguments"),
}


class WrittenCall(NamedTuple):
    """A call in a document; `below` is the JSON Pointer of its arguments there."""

    tool: str
    arguments: dict[str, Any]
    below: str


def call_of(document: Any) -> WrittenCall | None:
    """The call in a document: in any shape, as OpenAI's APIs or Anthropic's give it, or as `{"tool", "arguments"}`."""
    if not isinstance(document, dict):
        return None
    if isinstance(function := document.get("function"), dict):
        found = call_of(function)
        return None if found is None else found._replace(below=f"/function{found.below}")
    if isinstance(document.get("arguments"), str):  # OpenAI writes them as JSON in a string
        try:
            document = {**document, "arguments": json.loads(document["arguments"])}
        except (ValueError, RecursionError):
            return None
    own = (("name", "input"),) if document.get("type") == "tool_use" else ()
    for name_key, args_key in (*own, ("tool", "arguments"), *_KEYS.values()):
        name = document.get(name_key)
        beside = {key: value for key, value in document.items() if key != name_key}
        arguments = beside if args_key is None else document.get(args_key)
        if isinstance(name, str) and isinstance(arguments, dict):
            return WrittenCall(name, arguments, "" if args_key is None else f"/{args_key}")
    return None


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
