"""A tool in one line, as a prompt shows it: arguments, types and constraints, shorter than JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from glyphscope.registry import Tool
from glyphscope.registry.facts import listed, merged, patterns_of
from glyphscope.registry.keywords import CHOICES, CUSTOM, KEYWORDS, LIMITS, Measure

_MAX_DEPTH = 3
"""Levels of nested objects and arrays that are written out; deeper ones are named by their type."""

_MAX_VALUES = 20
_MAX_TEXT = 20_000
"""Characters of a nested object; longer ones are named by their type, as schemas that refer to each other multiply."""

_Known: TypeAlias = dict[tuple[int | str, int], str]
"""The texts of the schemas inside a root, by their identity or reference and depth."""


def signature_pieces(tool: Tool) -> list[tuple[str | None, str]]:
    """Such as `search(query: string, max_results?: integer 1..100)`; `?` marks optional arguments. In pieces: the
    pieces of an argument have its name, the others None.

    A comma belongs to the argument after it, without which it would not be written.
    """
    required = tool.parameters.get("required", ())
    pieces: list[tuple[str | None, str]] = [(None, f"{tool.name}(")]
    for name, text in argument_types(tool).items():
        comma = ", " if len(pieces) > 1 else ""
        pieces.append((name, f"{comma}{_argument(name, text, required)}"))
    return [*pieces, (None, ")")]


def signature(tool: Tool) -> str:
    """All pieces of it."""
    return "".join(text for _, text in signature_pieces(tool))


def argument_types(tool: Tool) -> dict[str, str]:
    """The type of each argument, in the words of the signature."""
    properties = tool.parameters.get("properties", {})
    known: _Known = {}
    return {name: type_text(schema, tool.parameters, 0, known) for name, schema in properties.items()}


def type_text(schema: Any, root: dict[str, Any], depth: int = 0, known: _Known | None = None) -> str:
    """The short form of a type; constraints without a short form are left to validator and grammar."""
    known = {} if known is None else known
    alone = isinstance(schema, dict) and schema.keys() == {"$ref"}
    key = (str(schema["$ref"]) if alone else id(schema), depth)
    if key not in known:
        known[key] = _type_text(schema, root, depth, known)
    return known[key]


def _type_text(schema: Any, root: dict[str, Any], depth: int, known: _Known) -> str:
    if not isinstance(schema, dict):
        return "any"
    schema = merged(root, schema)
    if (found := listed(schema)) is not None:
        shown = [json.dumps(value, ensure_ascii=False) for value in found.values[:_MAX_VALUES]]
        return "|".join(shown if len(found.values) <= _MAX_VALUES else [*shown, "…"])
    for keyword in CHOICES:
        if isinstance(choices := schema.get(keyword), list):
            texts = (
                (type_text(choice, root, depth + 1, known) for choice in choices)
                if depth < _MAX_DEPTH
                else ("any",)
            )
            return "|".join(dict.fromkeys(texts))
    kinds = schema.get("type", "any")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return "|".join(_kind(kind, schema, root, depth, known) for kind in kinds)


def _kind(kind: str, schema: dict[str, Any], root: dict[str, Any], depth: int, known: _Known) -> str:
    if kind in ("integer", "number"):
        text = kind + _range(schema, "value", " ")
        excluded = (one for one in KEYWORDS.values() if one.excluded and one.name in schema)
        text += "".join(f" {'<' if one.side > 0 else '>'} {schema[one.name]}" for one in excluded)
        return f"{text} multiple of {schema['multipleOf']}" if "multipleOf" in schema else text
    if kind == "string":
        text = kind + _range(schema, "length", " of length ")
        if text == "string of length >= 1":
            text = "non-empty string"
        if "format" in schema:
            text += f" ({schema['format']})"
        if isinstance(form := schema.get(CUSTOM), dict) and form.get("type") == "grammar":
            text += f" of the {form['syntax']} grammar {json.dumps(form['definition'], ensure_ascii=False)}"
        return text + "".join(f" matching {pattern}" for _, pattern in patterns_of(schema))
    if kind == "array" and depth < _MAX_DEPTH:
        inner = type_text(schema.get("items", True), root, depth + 1, known)
        of = "" if inner == "any" else f" of {inner}"
        with_items = _range(schema, "items", " with ")
        return f"array{of}{with_items}" + (" items" if with_items else "")
    if kind == "object" and depth < _MAX_DEPTH and schema.get("properties"):
        text = "{" + _arguments(schema, root, depth + 1, known) + "}"
        return text if len(text) <= _MAX_TEXT else kind
    return kind


def _arguments(schema: dict[str, Any], root: dict[str, Any], depth: int, known: _Known) -> str:
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    return ", ".join(
        _argument(name, type_text(item, root, depth, known), required) for name, item in properties.items()
    )


def _argument(name: str, text: str, required: Sequence[str]) -> str:
    return f"{name}{'' if name in required else '?'}: {text}"


def _range(schema: dict[str, Any], measure: Measure, before: str) -> str:
    words = bounds_words(*map(schema.get, LIMITS[measure]))
    return f"{before}{words}" if words else ""


def bounds_words(low: Any, high: Any) -> str:
    """`1..100`, `>= 1` or `<= 100`; empty without bounds, which are None."""
    if low is None:
        return "" if high is None else f"<= {high}"
    return f">= {low}" if high is None else f"{low}..{high}"
