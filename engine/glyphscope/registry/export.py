"""A registry for others: OpenAI's tools array, and the file of our own form."""

from __future__ import annotations

import json
from typing import Any

from glyphscope.registry.document import plain
from glyphscope.registry.tool import ToolRegistry


def to_openai(registry: ToolRegistry) -> list[dict[str, Any]]:
    """The allowed tools as the `tools` of a chat completion request; the schemas are copies."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": plain(tool.parameters)[0],
            },
        }
        for tool in registry.allowed
    ]


def to_json(registry: ToolRegistry) -> str:
    """The registry file: our form, indented, with all tools; `load_registry` reads it back equal."""
    return json.dumps(registry.to_document(), indent=2, ensure_ascii=False) + "\n"
