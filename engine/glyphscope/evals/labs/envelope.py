"""The schema of a tool call's envelope: one layer above each tool's own schema.

It says what a parsed call must be; no mask is made of it. While a call is decoded its two stages replace the `oneOf`:
the name is chosen under a grammar of names, which then decides whose schema the arguments are held to. A `oneOf` in one
mask is the strategy direct.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_tool_call_schema(tool_schemas: Mapping[str, Any]) -> dict[str, Any]:
    """`{"name": …, "arguments": …}` of exactly one of the tools, by name and `parameters`.

    A tool's schema keeps its references: it has an `$id` of its own, from which `#/…` is read. An argument that the
    tool does not name is left to its schema.
    """
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": {"name": {"enum": list(tool_schemas)}, "arguments": {"type": "object"}},
        "required": ["name", "arguments"],
        "additionalProperties": False,
        "oneOf": [
            {
                "properties": {
                    "name": {"const": name},
                    "arguments": {**schema, "$id": f"urn:tool:{quote(name, safe='')}"},
                }
            }
            for name, schema in tool_schemas.items()
        ],
    }
