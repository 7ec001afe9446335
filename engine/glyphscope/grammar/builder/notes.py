"""The constraints of a place in a schema, in a few words, for comments beside rules; and what grammars do not write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glyphscope.base.errors import GrammarError
from glyphscope.base.shorten import shorten
from glyphscope.grammar.builder.schema import Schema
from glyphscope.grammar.regular.formats import LATE, UNWRITTEN
from glyphscope.grammar.regular.numbers import MAX_DIGITS, MAX_INTEGER, PRECISION
from glyphscope.grammar.regular.pattern import linear
from glyphscope.grammar.tree import Origin
from glyphscope.registry import ToolRegistry
from glyphscope.registry.facts import patterns_of
from glyphscope.registry.keywords import KEYWORDS, said

_BOUNDS = tuple(name for name, keyword in KEYWORDS.items() if keyword.bounds == "value")
_MAX_LENGTH = 100  # characters


def constraint_notes(registry: ToolRegistry) -> Callable[[Origin], str]:
    """The words for each place of the registry's tools: `minimum 1, maximum 100`; empty without constraints."""
    schemas = {tool.name: Schema(tool.name, tool.parameters) for tool in registry.tools}

    def note(origin: Origin) -> str:
        if origin.tool not in schemas or not origin.pointer:
            return ""
        try:
            place = schemas[origin.tool].at(origin.pointer)
        except GrammarError:
            return ""
        return shorten(" ".join(", ".join(said(place).values()).split()), _MAX_LENGTH)

    return note


def judged_late(schema: Any, keyword: str) -> str:
    """The part of a keyword that the validator judges at the end of a text only, in words; empty if there is none."""
    value = schema.get(keyword) if isinstance(schema, dict) else None
    if keyword == "format":
        return LATE.get(str(value), "")
    patterns = dict(patterns_of(schema)) if isinstance(schema, dict) else {}
    return f"the {keyword}" if keyword in patterns and not linear(patterns[keyword]) else ""


def unwritten(schema: Any, keyword: str) -> str:
    """The values that the keyword allows and no grammar writes, in words; empty if it writes all."""
    value = schema.get(keyword) if isinstance(schema, dict) else None
    if keyword == "format":
        return UNWRITTEN.get(str(value), "")
    if keyword in ("const", "enum"):
        listed = value if isinstance(value, list) and keyword == "enum" else [value]
        numbers = any(isinstance(each, int | float) and not isinstance(each, bool) for each in listed)
        return "other spellings of a listed number, such as 1.0 for 1" if numbers else ""
    types = value if isinstance(value, list) else [value]
    if keyword != "type" or not {"number", "integer"} & set(map(str, types)):
        return ""
    limits = [schema[name] for name in _BOUNDS if name in schema]
    if "number" in types and not limits:
        return (
            f"numbers of more than {MAX_DIGITS} digits before or after the point, or with an exponent over 99"
        )
    if "number" in types:
        return f"some numbers of more than {PRECISION} digits"
    if len(limits) > 1 and all(abs(limit) <= MAX_INTEGER for limit in limits):
        return ""
    return f"integers of more than {MAX_DIGITS} digits"
