"""The origin of a rule, in words: `search · max_results · minimum 1, maximum 100`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from glyphscope.base.pointer import follow, steps_of
from glyphscope.grammar.tree import Origin
from glyphscope.registry import ToolRegistry
from glyphscope.registry.keywords import CUSTOM, said


class RuleOrigin(NamedTuple):
    """`argument` is None for a rule of the tool as a whole; `words` are the full text."""

    tool: str
    argument: str | None
    constraint: str
    words: str


def rule_origin(registry: ToolRegistry, origin: Origin) -> RuleOrigin:
    """A rule's origin in words; without constraints for a tool that is no longer in the registry."""
    parts = steps_of(origin.pointer)
    argument = parts[1] if len(parts) > 1 and parts[0] == "properties" else None
    inner = [part for part in parts[2:] if part not in ("properties",)]
    tool = registry.get(origin.tool)
    found = follow(tool.parameters, origin.pointer) if tool else None
    constraint = constraint_words(found[1]) if found and argument is not None else ""
    if CUSTOM in parts[:-1]:
        constraint, inner = f"rule {parts[-1]}", inner[:-2]
    names = [origin.tool, *([argument] if argument is not None else []), *inner]
    return RuleOrigin(
        origin.tool, argument, constraint, " · ".join([*names, *([constraint] if constraint else [])])
    )


def constraint_words(schema: Any) -> str:
    """The constraints of one place of a schema: `minimum 1, maximum 100`; its type, if there are none."""
    words = said(schema)
    words.pop("type", None)
    kind = schema.get("type") if isinstance(schema, dict) else ""
    return ", ".join(words.values()) or (kind if isinstance(kind, str) else "")


def rules_by_argument(origins: Mapping[str, Origin]) -> dict[tuple[str, str | None], str]:
    """The first rule of each argument, and of each tool (with None)."""
    found: dict[tuple[str, str | None], str] = {}
    best: dict[tuple[str, str | None], int] = {}
    for rule, origin in origins.items():
        parts = steps_of(origin.pointer)
        argument = parts[1] if len(parts) > 1 and parts[0] == "properties" else None
        key = (origin.tool, argument)
        if key not in found or len(parts) < best[key]:
            found[key], best[key] = rule, len(parts)
    return found
