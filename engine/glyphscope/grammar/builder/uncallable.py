"""The tools of which no call can be written, because their schemas contradict themselves.

Most schemas are seen to be callable by their keywords (`_surely`), in microseconds; of the others the grammar is built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

from glyphscope.base.bounded_cache import BoundedCache
from glyphscope.base.shorten import and_more
from glyphscope.registry import Tool, ToolRegistry, facts
from glyphscope.registry.keywords import KEYWORDS, LIMITS, OTHERS, PATTERNS, SILENT

_CACHED = 1000  # schemas
_NAMED = 3  # tools in a note
_MAX_DEPTH = 10
_MAX_RULES = 2_000
"""Rules that are made of a schema: a run makes them before its first prompt, under any constraint."""
_EXACT = 10**15
"""Numbers up to it are written with all of their digits."""
_LONG = 10**6
"""Characters and items that a grammar counts."""


class Uncallable(NamedTuple):
    """A tool, and the place in its parameters (a JSON Pointer) where its schema allows no value, and why."""

    tool: str
    pointer: str
    why: str


@lru_cache(maxsize=16)
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
    if _surely(tool.parameters, [facts.Whole(tool.parameters)], closed=True):
        return None
    key = json.dumps(tool.parameters)
    reason = _REASONS.get(key)
    if reason is None:
        # the builder is imported only for such a schema
        from glyphscope.grammar.builder.contradictions import why_uncallable

        reason = why_uncallable(tool, _MAX_RULES)
        _REASONS.put(key, reason)
    return Uncallable(tool.name, *reason) if reason else None


_FOLLOWED = SILENT | {"$ref", "allOf"}
_MEMBERS = frozenset({"properties", "required"}).union(
    name for name in OTHERS["object"] if not KEYWORDS[name].late
)
_LENGTH, _RANGE, _ITEMS = (
    frozenset(keywords) for keywords in (LIMITS["length"], LIMITS["value"], {"items", *LIMITS["items"]})
)
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


def _surely(
    root: dict[str, Any], given: Sequence[facts.Whole], *, closed: bool = False, depth: int = 0
) -> bool:
    """Whether a value of these schemas together can certainly be written, seen without building rules."""
    if depth > _MAX_DEPTH:
        return False
    if len(given) == 1 and isinstance(only := given[0].schema, dict) and only.keys() - SILENT == {"type"}:
        return True  # the usual schema of an argument
    parts = [at for at in facts.applied(root, *given) if at.schema is not True]
    if not all(isinstance(at.schema, dict) for at in parts):
        return False
    keywords = set[str]().union(*(at.schema for at in parts)) - _FOLLOWED
    surely = partial(_surely, root, depth=depth + 1)
    if keywords == {"anyOf"}:
        choices = [at for at in parts if "anyOf" in at.schema]
        branches = [
            inner for at in choices for steps, inner in facts.in_place(root, at) if steps[0] == "anyOf"
        ]
        return len(choices) == 1 and any(surely([branch], closed=closed) for branch in branches)
    kinds = facts.written_types(parts)
    return any(_surely_of(kind, keywords - {"type"}, parts, surely, closed) for kind in kinds)


def _surely_of(
    kind: str, keywords: Set[str], parts: Sequence[facts.Placed], surely: Callable[..., bool], closed: bool
) -> bool:
    """The same for a value of one type, for schemas with these keywords."""
    if keywords in ({"enum"}, {"const"}):
        lists = [found.values for at in parts if (found := facts.listed(at.schema)) is not None]
        return len(lists) == 1 and any(type(one) in _LISTED.get(kind, ()) for one in lists[0])
    if kind == "object":
        required = {name for at in parts for name in at.schema.get("required", ())}
        members = [[inner for at in parts for inner in facts.of_member(at, name)] for name in required]
        return keywords <= _MEMBERS and all(surely(inner) if inner else not closed for inner in members)
    if kind == "array":
        least, most, *_ = facts.count_of(parts, "items")
        items = [inner for at in parts for inner in facts.of_item(at, 0)]
        fits = most is None or least <= most
        return keywords <= _ITEMS and fits and (not least or (least <= _LONG and surely(items)))
    if kind in ("integer", "number"):
        span = facts.range_of(parts)
        low, high = (-_EXACT if span.low is None else span.low), (_EXACT if span.high is None else span.high)
        return keywords <= _RANGE and -_EXACT <= low <= high - 1
    if kind == "string" and keywords:
        return _surely_text(keywords, parts)
    return not keywords


def _surely_text(keywords: Set[str], parts: Sequence[facts.Placed]) -> bool:
    """The same for a text: with a format and anything else, or with two patterns, nothing is certain."""
    if keywords == {"format"}:
        return len(parts) == 1
    least, most, *_ = facts.count_of(parts, "length")
    patterns = [pattern for at in parts for _, pattern in facts.patterns_of(at.schema)]
    if not patterns:
        return keywords <= _LENGTH and least <= _LONG and (most is None or least <= most)
    if len(patterns) > 1 or not keywords <= {*PATTERNS, *_LENGTH} or not _PLAIN.fullmatch(patterns[0]):
        return False
    try:
        found = re.compile(patterns[0]).search
    except re.error:
        return False
    return keywords.isdisjoint(_LENGTH) or any(
        least <= len(word) and (most is None or len(word) <= most) and found(word) for word in _WORDS
    )
