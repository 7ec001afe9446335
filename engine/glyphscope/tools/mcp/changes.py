"""Differences between two lists of tools of one server."""

from __future__ import annotations

import difflib
import json
import time
from dataclasses import dataclass, field
from typing import Any

from glyphscope.registry import Tool
from glyphscope.tools.mcp.listing import Listing

_MOST_LINES = 20_000
"""Of the two descriptions of one tool that are compared line by line; longer ones are shown one after the other."""


@dataclass(frozen=True, kw_only=True)
class ToolChanges:
    """Names of tools in the order of the lists; `changed` also for another annotation. `at` is seconds since 1970."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    before: dict[str, Any] = field(default_factory=dict, repr=False)
    after: dict[str, Any] = field(default_factory=dict, repr=False)
    at: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def difference(self) -> str:
        """The tools that differ, as a unified difference of their JSON."""
        parts = []
        for name in (*self.removed, *self.changed, *self.added):
            before, after = (_lines(side.get(name)) for side in (self.before, self.after))
            if len(before) + len(after) > _MOST_LINES:
                parts += [f"- {name}", *(f"-{line}" for line in before), *(f"+{line}" for line in after)]
            else:
                names = (name if before else "", name if after else "")
                parts += difflib.unified_diff(before, after, *names, lineterm="", n=3)
        return "\n".join(parts)


def tool_changes(before: Listing, after: Listing) -> ToolChanges:
    """The tools that the second list adds, removes and changes."""
    old, new = _described(before), _described(after)
    changed = tuple(name for name in new if name in old and new[name] != old[name])
    added = tuple(name for name in new if name not in old)
    removed = tuple(name for name in old if name not in new)
    return ToolChanges(
        added=added,
        removed=removed,
        changed=changed,
        before={name: old[name] for name in (*removed, *changed)},
        after={name: new[name] for name in (*added, *changed)},
        at=time.time(),
    )


def _described(listing: Listing) -> dict[str, Any]:
    return {tool.name: _document(tool, listing.claims.get(tool.name, {})) for tool in listing.tools}


def _document(tool: Tool, claims: dict[str, Any]) -> dict[str, Any]:
    return {"description": tool.description, "parameters": tool.parameters, "annotations": claims}


def _lines(document: Any) -> list[str]:
    if document is None:
        return []
    return json.dumps(document, indent=2, ensure_ascii=False, default=str).split("\n")
