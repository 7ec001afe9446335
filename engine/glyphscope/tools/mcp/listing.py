"""A server's tools as it lists them, one by one: a tool that cannot be used is reported, and the others are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from glyphscope.errors import RegistryError
from glyphscope.registry import Tool, make_tool
from glyphscope.tools.mcp.content import OutputSchema

_MOST_PROBLEMS = 5


@dataclass(frozen=True, kw_only=True)
class ToolProblem:
    """The problem of one tool. `usable`: it can be called, but its answers are not checked."""

    tool: str
    message: str
    usable: bool = False


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The usable tools, their annotations, and problems; `problem` is that of the list as a whole."""

    tools: tuple[Tool, ...] = ()
    claims: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, OutputSchema] = field(default_factory=dict)
    problems: tuple[ToolProblem, ...] = ()
    problem: str = ""


class ListReader:
    """Reads the entries as the pages come."""

    def __init__(self) -> None:
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
        if isinstance(execution, dict) and execution.get("taskSupport") == "required":
            self._report(name, "It can be called only as a task of MCP, and those are not supported.")
            return
        try:
            made = make_tool(name, description if isinstance(description, str) else "", parameters)
        except RegistryError as error:
            self._report(name, _words(error))
            return
        except RecursionError:
            self._report(name, "Its schema is nested too deep.")
            return
        self._tools[name] = made
        if isinstance(claims := entry.get("annotations"), dict):
            self._claims[name] = {str(key): value for key, value in claims.items() if value is not None}
        if (output := entry.get("outputSchema")) is not None:
            try:
                self._outputs[name] = OutputSchema(output)
            except (ValueError, RecursionError) as error:
                words = f"Answers are not checked against its output schema: {str(error) or 'it is nested too deep.'}"
                self._report(name, words, usable=True)

    def _report(self, tool: str, message: str, *, usable: bool = False) -> None:
        self._problems.append(ToolProblem(tool=tool, message=message, usable=usable))

    def listing(self, problem: str = "") -> Listing:
        return Listing(
            tools=tuple(self._tools.values()), claims=self._claims, outputs=self._outputs,
            problems=tuple(self._problems), problem=problem,
        )  # fmt: skip


def _words(error: RegistryError) -> str:
    lines: Iterable[str] = (f"{p.pointer or '/'}: {p.message}" for p in error.problems[:_MOST_PROBLEMS])
    more = len(error.problems) - _MOST_PROBLEMS
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")
