"""The sources of tools of a run: the demo tools, and the MCP servers of the given files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import typer
from rich.prompt import Confirm

from glyphscope.base.shorten import and_more
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import InputError
from glyphscope.cli.output import diagnostics, print_note
from glyphscope.registry import ToolRegistry
from glyphscope.store import places
from glyphscope.store.servers import SeenTools
from glyphscope.tools import ToolSource
from glyphscope.tools.approval import needs_consent
from glyphscope.tools.demo import DemoTools
from glyphscope.tools.mcp.config import ServerConfig, read_servers
from glyphscope.tools.mcp.listing import ToolChanges
from glyphscope.tools.mcp.server import McpServer

DEMO = "demo"
_MAX_NAMED = 8


@dataclass(frozen=True)
class Sources:
    """`registry` has the tools that may be called; `by_tool` names the source in `sources` that executes each."""

    registry: ToolRegistry
    sources: dict[str, ToolSource]
    by_tool: dict[str, str]

    def close(self) -> None:
        for source in self.sources.values():
            source.close()


def open_sources(files: Sequence[Path], registry: ToolRegistry, *, own: bool, yes: bool) -> Sources:
    """The demo tools, and every enabled server of the files, started after consent.

    If the registry is the user's `own`, only its tools may be called, and a server executes those that it has;
    otherwise, the servers' tools are the registry. Raises ServerError and InputError, with all servers stopped.
    """
    servers = allowed_servers(files, yes=yes)
    sources: dict[str, ToolSource] = {DEMO: DemoTools(scratch=places().scratch)}
    opened = Sources(registry, sources, {})
    try:
        for config in servers:
            started = McpServer(config, seen=SeenTools(places().tool_lists))
            sources[config.name] = started  # before it starts, so that Ctrl-C meanwhile also closes it
            started.open()
            print_changes(started)
    except BaseException:
        opened.close()
        raise
    return _joined(opened, own=own)


def allowed_servers(files: Sequence[Path], *, yes: bool) -> list[ServerConfig]:
    """The enabled servers of the files, after consent. Raises ServerError and InputError."""
    servers = [server for file in files for server in _configured(file)]
    names = Counter(server.name for server in servers)
    if clash := next((name for name, times in names.items() if times > 1), ""):
        raise InputError(f"Two servers have the name {clash}.", where="--mcp", hint="Give one another name.")
    for server in servers:
        consent(server, yes)
    return servers


def _configured(file: Path) -> Iterable[ServerConfig]:
    read = read_servers(file)
    for problem in read.problems:
        print_note(f"{file}: {problem.pointer}: {problem.message}", "yellow")
    return [server for server in read.servers if not server.disabled and server.name != DEMO]


def _joined(opened: Sources, *, own: bool) -> Sources:
    """Every tool with the first server that has it."""
    by_tool: dict[str, str] = {}
    tools = {tool.name: tool for tool in opened.registry.tools} if own or len(opened.sources) == 1 else {}
    for name, source in opened.sources.items():
        if name == DEMO:
            continue
        for tool in source.tools():
            if not own:
                tools.setdefault(tool.name, tool)
            if tool.name in tools:
                by_tool.setdefault(tool.name, name)
    return Sources(replace(opened.registry, tools=tuple(tools.values())), opened.sources, by_tool)


def print_changes(server: McpServer, indent: str = "") -> None:
    """Say on stderr which tools differ from those of the last connection."""
    if changes := server.tool_changes:
        print_note(f"{indent}! {server.name}: {change_words(changes)}", "yellow")


def change_words(changes: ToolChanges) -> str:
    """`since 2026-11-20 10:00: changed echo: schema; added new`."""
    named = {"changed": changes.named, "added": changes.added, "removed": changes.removed}
    words = "; ".join(
        f"{kind} {visible(and_more(list(tools), _MAX_NAMED))}" for kind, tools in named.items() if tools
    )
    return f"since {local_time(changes.since)}: {words}" if changes.since else words


def local_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def consent(server: ServerConfig, yes: bool) -> None:
    """Show the command line before it runs. Raises InputError without consent."""
    if yes or not needs_consent(server):
        return
    print_note(f"{server.name} would start: {server.identity}", "bold yellow")
    if server.cwd:
        print_note(f"  in {server.cwd}")
    if server.env:
        print_note(f"  with the variables {visible(', '.join(server.env))}")
    confirm("Start it?", where=server.name, hint="Read the command line, then allow it with --yes.")


def confirm(question: str, *, where: str, hint: str) -> None:
    """Ask the user; a no ends the command. Raises InputError without a terminal."""
    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise InputError("Permission cannot be asked for: there is no terminal.", where=where, hint=hint)
    if not Confirm.ask(question, console=diagnostics(), default=False):
        raise typer.Exit(1)
