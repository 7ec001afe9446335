"""The tools of which no call can be written, because their schemas contradict themselves.

Most schemas are seen to be callable by their keywords (`_surely`), in microseconds; of the others the grammar is built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set
from dataclasses import replace
from typing import Any, NamedTuple

from glyphscope.base.bounded_cache import BoundedCache
from glyphscope.base.shorten import and_more
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.registry.facts import listed, patterns_of
from glyphscope.registry.keywords import ABOUT, LIMITS, SILENT
from glyphscope.registry.pointer import follow_reference

_CACHED = 1000  # schemas
_NAMED = 3  # tools in a note
_MAX_DEPTH = 20
_MAX_RULES = 2_000
"""Rules that are made of a schema: a run makes them before its first prompt, under any constraint."""
_EXACT = 10**15
"""Numbers up to it are written with all of their digits."""


class Uncallable(NamedTuple):
    """A tool, and the place in its parameters (a JSON Pointer) where its schema allows no value, and why."""

    tool: str
    pointer: str
    why: str


def uncallable(registry: ToolRegistry) -> tuple[Uncallable, ...]:
    """The allowed tools of which no call can be written. A schema that is too large to be judged is not among them."""
    return tuple(found for tool in registry.allowed if (found := _reason(tool)) is not None)


def without(registry: ToolRegistry, found: tuple[Uncallable, ...]) -> ToolRegistry:
    """The registry with these tools disabled; itself if there are none."""
    names = {each.tool for each in found}
    tools = tuple(replace(tool, enabled=False) if tool.name in names else tool for tool in registry)
    return replace(registry, tools=tools) if names else registry


def uncallable_note(found: tuple[Uncallable, ...]) -> str:
    """The sentence of a run that leaves these tools out; empty for none."""
    if not found:
        return ""
    tools, them = ("this tool", "it") if len(found) == 1 else ("these tools", "them")
    words = uncallable_words(found)
    return f"No call of {tools} can be written, so the prompt does not offer {them}: {words}."


def uncallable_words(found: tuple[Uncallable, ...]) -> str:
    """The tools with the reasons, as the end of a sentence."""
    named = [f"{tool} (at {pointer or '/'}, {why})" for tool, pointer, why in found]
    return and_more(named, _NAMED)


_REASONS = BoundedCache[str, tuple[str, str] | tuple[()]](_CACHED)


def _reason(tool: Tool) -> Uncallable | None:
    if _surely(tool.parameters, tool.parameters, closed=True):
        return None
    key = json.dumps(tool.parameters)
    reason = _REASONS.get(key)
    if reason is None:
        # the builder is imported only for such a schema
        from glyphscope.grammar.builder.contradictions import why_uncallable

        reason = why_uncallable(tool, _MAX_RULES)
        _REASONS.put(key, reason)
    return Uncallable(tool.name, *reason) if reason else None


_MEMBERS = frozenset({"properties", "required", "additionalProperties"})
_ENDS = {
    "string": LIMITS["length"], "integer": LIMITS["value"], "number": LIMITS["value"], "array": LIMITS["items"],
}  # fmt: skip
"""The keywords of the least and the most that a value of the type may be or have."""
_OF_TEXTS = ABOUT["string"] - {*LIMITS["length"]}
_LISTED: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
_PLAIN = re.compile(
    r"\^?(?:[^\\\[\](){}^$*+?]|\\[dwsDWS./+*?()|^$@-]|\[(?!\^)(?:[^\]\\\[]|\\[dwsDWS./+-])+\]|[*+?]|\((?:\?:)?|\)"
    r"|\{\d+(?:,\d*)?\})*\$?"
)
"""Patterns that match a text and have one meaning in all dialects."""
_WORDS = (
    "a",
    "A",
    "1",
    *["ab", "12", "abc", "a_b", "a-b", "a.b", "/a", "#a1b2c3", "AB", "abcdef", "2026-01-01", "a@b.cc"],
)


def _surely(schema: Any, root: dict[str, Any], *, closed: bool = False, depth: int = 0) -> bool:
    """Whether a value can certainly be written, seen without building rules; False if it is not certain."""
    if schema is True:
        return True
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return False
    given = schema.keys() - SILENT
    if given == {"$ref"}:
        target = follow_reference(root, schema["$ref"])
        return target is not None and _surely(target[1], root, closed=closed, depth=depth + 1)
    for keyword in ("anyOf", "allOf"):
        if given == {keyword}:
            inner = (_surely(each, root, closed=closed, depth=depth + 1) for each in schema[keyword])
            return any(inner) if keyword == "anyOf" or len(schema[keyword]) == 1 else False
    kinds = schema.get("type", "object" if given & _MEMBERS else None)
    if kinds is None:
        return not given or (given == {"enum"} and any(isinstance(one, str) for one in schema["enum"]))
    types = [kinds] if isinstance(kinds, str) else kinds
    return any(_surely_of(kind, given - {"type"}, schema, root, closed, depth) for kind in types)


def _surely_of(
    kind: str, given: Set[str], schema: dict[str, Any], root: dict[str, Any], closed: bool,
    depth: int,
) -> bool:  # fmt: skip
    """The same for a value of one type."""
    if given in ({"enum"}, {"const"}) and (found := listed(schema)) is not None:
        return any(type(one) in _LISTED.get(kind, ()) for one in found.values)
    if kind == "object":
        inner, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        return given <= _MEMBERS and all(
            _surely(inner[name], root, depth=depth + 1) if name in inner else others is True and not closed
            for name in schema.get("required", ())
        )
    if kind not in _ENDS:
        return not given
    if kind == "string" and not given.isdisjoint(_OF_TEXTS):
        return _surely_text(given, schema)
    low, high = (schema.get(keyword) for keyword in _ENDS[kind])
    if kind == "array" and low and not _surely(schema.get("items", True), root, depth=depth + 1):
        return False
    low, high = -_EXACT if low is None else low, _EXACT if high is None else high
    return given <= {*_ENDS[kind], *(("items",) if kind == "array" else ())} and -_EXACT <= low <= high - 1


def _surely_text(given: Set[str], schema: dict[str, Any]) -> bool:
    """The same for a text with a format or a pattern: with both, or with a format and a length, nothing is certain."""
    if "format" in given:
        return given == {"format"}
    patterns = dict(patterns_of(schema))
    pattern = next(iter(patterns.values()), "")
    if len(patterns) != 1 or not given <= {*patterns, *_ENDS["string"]} or not _PLAIN.fullmatch(pattern):
        return False
    least, most = (schema.get(name, end) for name, end in zip(_ENDS["string"], (0, _EXACT), strict=True))
    try:
        found = re.compile(pattern).search
    except re.error:
        return False
    return given == patterns.keys() or any(found(word) for word in _WORDS if least <= len(word) <= most)
