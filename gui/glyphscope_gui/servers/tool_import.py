"""Imports a server's tools into the project's registry: their names, and the sources that call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.mcp.server_source import source_key
from glyphscope_gui.mcp.servers import DEMO
from glyphscope_gui.project.argument_schema import free_name
from glyphscope_gui.shared.language import tr


@dataclass(frozen=True)
class Import:
    """The tools as in the registry after the import, and the request's `sources` with them."""

    tools: tuple[Tool, ...]
    sources: dict[str, str]


def imported_name(tool: str, server: str, registry: ToolRegistry, sources: Mapping[str, str]) -> str:
    """Return the name of the server's tool in the registry; "" if it is not imported."""
    if registry.get(tool) is not None and sources.get(tool, DEMO) == server:
        return tool
    alias = f"{server}/{tool}"
    return next((name for name, source in sources.items() if source == alias and registry.get(name)), "")


def clashes(
    tools: Iterable[Tool], server: str, registry: ToolRegistry, sources: Mapping[str, str]
) -> list[str]:
    """The names that other tools have in the registry."""
    return [
        tool.name
        for tool in tools
        if registry.get(tool.name) is not None and not imported_name(tool.name, server, registry, sources)
    ]


def plan_import(
    tools: Iterable[Tool], server: str, registry: ToolRegistry, sources: Mapping[str, str], *, rename: bool
) -> Import:
    """Plan an import: known tools are updated; a tool whose name is taken is renamed or replaces the other."""
    taken = {tool.name for tool in registry}
    found: list[Tool] = []
    after = dict(sources)
    for tool in tools:
        name = imported_name(tool.name, server, registry, sources)
        if not name:
            name = free_name(tool.name, taken) if rename else tool.name
        taken.add(name)
        before = registry.get(name)
        found.append(replace(tool, name=name, enabled=before.enabled if before is not None else True))
        key = source_key(name, server, tool.name)
        if key == DEMO:
            after.pop(name, None)
        else:
            after[name] = key
    return Import(tuple(found), after)


def registry_words(tool: Tool, server: str, registry: ToolRegistry, sources: Mapping[str, str]) -> str:
    """Whether the registry contains the tool, in a word or two."""
    name = imported_name(tool.name, server, registry, sources)
    if not name:
        return tr("name in use") if registry.get(tool.name) is not None else ""
    mine = registry.get(name)
    if mine is None:
        return ""
    changed = mine.parameters != tool.parameters or mine.description != tool.description
    if name == tool.name:
        return tr("imported, changed") if changed else tr("imported")
    return tr("as {name}, changed", name=name) if changed else tr("as {name}", name=name)
