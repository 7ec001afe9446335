"""A server's list of tools, read one by one, and the differences between two lists.

Unusable tools are reported; the others are kept.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from glyphscope.base.errors import RegistryError
from glyphscope.registry import Tool, make_tool
from glyphscope.tools.mcp.content import OutputSchema

_MAX_PROBLEMS = 5
_MAX_LINES = 20_000
"""The maximum length of two descriptions of a tool for a comparison by line; longer ones are shown in sequence."""


@dataclass(frozen=True, kw_only=True)
class ToolProblem:
    """A problem of one tool. `usable`: it can be called, but its answers are not checked."""

    tool: str
    message: str
    usable: bool = False


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The usable tools, their annotations, and problems; `problem` concerns the list as a whole. `tasks` are the tools
    that can be called only as a task.
    """

    tools: tuple[Tool, ...] = ()
    claims: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, OutputSchema] = field(default_factory=dict)
    tasks: frozenset[str] = frozenset()
    problems: tuple[ToolProblem, ...] = ()
    problem: str = ""


class ListReader:
    """Reads the entries as the pages arrive. `has_tasks`: the server runs calls of tools as tasks."""

    def __init__(self, *, has_tasks: bool = False) -> None:
        self._has_tasks = has_tasks
        self._tasks: set[str] = set()
        self._tools: dict[str, Tool] = {}
        self._claims: dict[str, dict[str, Any]] = {}
        self._outputs: dict[str, OutputSchema] = {}
        self._problems: list[ToolProblem] = []
        self._count = 0

    def take(self, entry: Any) -> None:
        self._count += 1
        if not isinstance(entry, dict):
            self._report(f"tool {self._count}", "Not an object.")
            return
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            self._report(f"tool {self._count}", "It has no name.")
        elif name in self._tools:
            self._report(name, "Another tool before it has this name.")
        else:
            self._take(name, entry)

    def _take(self, name: str, entry: dict[str, Any]) -> None:
        description = entry.get("description") or entry.get("title") or ""
        parameters = entry.get("inputSchema")
        if not isinstance(parameters, dict):
            self._report(name, "Its inputSchema is not a JSON Schema of type object.")
            return
        execution = entry.get("execution")
        as_task = isinstance(execution, dict) and execution.get("taskSupport") == "required"
        if as_task and not self._has_tasks:
            self._report(name, "It can be called only as a task, and the server does not declare those.")
            return
        try:
            made = make_tool(name, description if isinstance(description, str) else "", parameters)
        except RegistryError as error:
            self._report(name, _words(error))
            return
        except RecursionError:
            self._report(name, "Its schema is nested too deep.")
            return
        if isinstance(claims := entry.get("annotations"), dict):
            self._claims[name] = {str(key): value for key, value in claims.items() if value is not None}
            hints = {key: value for key, value in self._claims[name].items() if isinstance(value, bool | str)}
            made = replace(made, annotations=hints)  # those that MCP defines are truth values and texts
        if (output := entry.get("outputSchema")) is not None:
            try:
                self._outputs[name] = OutputSchema(output)
                made = replace(made, output_schema=output if isinstance(output, dict) else None)
            except (ValueError, RecursionError) as error:
                words = f"Answers are not checked against its output schema: {str(error) or 'it is nested too deep.'}"
                self._report(name, words, usable=True)
        self._tools[name] = made
        if as_task:
            self._tasks.add(name)

    def _report(self, tool: str, message: str, *, usable: bool = False) -> None:
        self._problems.append(ToolProblem(tool=tool, message=message, usable=usable))

    def listing(self, problem: str = "") -> Listing:
        return Listing(
            tools=tuple(self._tools.values()), claims=self._claims, outputs=self._outputs,
            tasks=frozenset(self._tasks), problems=tuple(self._problems), problem=problem,
        )  # fmt: skip


def _words(error: RegistryError) -> str:
    lines: Iterable[str] = (f"{p.pointer or '/'}: {p.message}" for p in error.problems[:_MAX_PROBLEMS])
    more = len(error.problems) - _MAX_PROBLEMS
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")


_PARTS = {
    "description": "description", "parameters": "schema", "output_schema": "output schema",
    "annotations": "annotations",
}  # fmt: skip
"""The parts of a tool's description that are compared, in words."""

DescribedTools: TypeAlias = dict[str, dict[str, Any]]
"""The parts of each tool's description, by its name."""


@dataclass(frozen=True, kw_only=True)
class ToolChanges:
    """Names of tools in the order of the lists. `at` is seconds since 1970, `since` the time of the list before, if
    that was of an earlier connection.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    before: DescribedTools = field(default_factory=dict, repr=False)
    after: DescribedTools = field(default_factory=dict, repr=False)
    at: float = 0.0
    since: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def parts(self, tool: str) -> tuple[str, ...]:
        """The changed parts of a tool, such as `schema`."""
        before, after = self.before[tool], self.after[tool]
        return tuple(words for part, words in _PARTS.items() if before.get(part) != after.get(part))

    @property
    def named(self) -> tuple[str, ...]:
        """The changed tools, each with its changed parts."""
        return tuple(f"{tool}: {' and '.join(self.parts(tool))}" for tool in self.changed)

    def difference(self) -> str:
        """The differences as a unified diff of the tools' JSON."""
        parts = []
        for name in (*self.removed, *self.changed, *self.added):
            before, after = (_lines(side.get(name)) for side in (self.before, self.after))
            if len(before) + len(after) > _MAX_LINES:
                parts += [f"- {name}", *(f"-{line}" for line in before), *(f"+{line}" for line in after)]
            else:
                names = (name if before else "", name if after else "")
                parts += difflib.unified_diff(before, after, *names, lineterm="", n=3)
        return "\n".join(parts)


def tool_changes(old: DescribedTools, new: DescribedTools, *, since: float = 0.0) -> ToolChanges:
    """The tools that the second list adds, removes and changes."""
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
        since=since,
    )


def described(tools: Iterable[Tool], claims: Mapping[str, dict[str, Any]] | None = None) -> DescribedTools:
    """The description of each tool, with the annotations that a server declared."""
    found: DescribedTools = {}
    for tool in tools:
        declared = tool.annotations if claims is None else claims.get(tool.name, {})
        found[tool.name] = {
            "description": tool.description,
            "parameters": tool.parameters,
            **({"annotations": dict(declared)} if declared else {}),
            **({"output_schema": tool.output_schema} if tool.output_schema is not None else {}),
        }
    return found


def _lines(document: Any) -> list[str]:
    if document is None:
        return []
    return json.dumps(document, indent=2, ensure_ascii=False, default=str).split("\n")
