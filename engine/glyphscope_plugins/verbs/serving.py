"""`glyphscope mcp serve-verbs`: the verb tools as an MCP server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glyphscope_plugins.serving import serve_tools

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_READING = _object({"verb": _TEXT, "form": _TEXT, "spanish": _TEXT})
_OUTPUT: dict[str, dict[str, Any]] = {
    "conjugate": {"verb": _TEXT, "tense": _TEXT, "person": _TEXT, "form": _TEXT, "variants": _TEXTS},
    "lookup_irregular_verb": {
        "verb": _TEXT,
        "irregular": {"type": "boolean"},
        "past_simple": _TEXTS,
        "past_participle": _TEXTS,
    },
    "lookup_spanish": {"english_form": _TEXT, "readings": {"type": "array", "items": _READING}},
    "check_subject_verb_agreement": {
        "agrees": {"type": "boolean"},
        "persons": _TEXTS,
        "correct_form": _TEXT,
    },
}


def serve() -> None:
    """Serve the verb tools over MCP, on stdin and stdout, until stdin is closed."""
    from glyphscope_plugins.verbs.tools import VERB_TOOLS, verb_tools

    described = (replace(tool, output_schema=_object(_OUTPUT[tool.name])) for tool in verb_tools())
    serve_tools(
        "glyphscope-verbs",
        "English verbs: conjugate, look up irregular ones and their Spanish, check agreement.",
        [(tool, VERB_TOOLS[tool.name]) for tool in described],
    )
