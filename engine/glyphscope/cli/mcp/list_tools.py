"""`glyphscope mcp list`: servers, whether they start, and their tools."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from glyphscope.cli.mcp.servers import (
    ServerOptions,
    ServerRequest,
    print_failure,
    print_file_problems,
    print_tool_problems,
    started,
    with_roots,
)
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json, print_note, print_text
from glyphscope.text.figures import pluralize
from glyphscope.text.shorten import shorten
from glyphscope.tools.mcp import McpServer, ServerConfig
from glyphscope.tools.mcp.server import START_SECONDS
from glyphscope.visible import visible

WordsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="CONFIG.json|COMMAND…",
        help="A file with mcpServers, or a server's command or URL. Put -- before the options of a command.",
    ),
]
SecondsOption = Annotated[float, typer.Option(min=0.1, help="Time limit for starting a server, in seconds.")]
_SHOWN = 100


@with_groups(only=("server", "yes", "root"))
def list_servers(
    *,
    words: WordsArgument,
    chosen: ServerOptions,
    seconds: SecondsOption = START_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Start servers, list their tools, and stop them. Exit code 1 if one of them does not start."""
    wanted = ServerRequest(words, chosen.server)
    wanted.allow(yes=chosen.yes)
    with started([with_roots(each, chosen.root) for each in wanted.servers], seconds) as servers:
        if as_json:
            off = [_entry_off(config) for config in wanted.disabled]
            print_json(
                {"servers": [*map(_entry, servers), *off], "problems": list(map(_problem, wanted.problems))}
            )
        else:
            print_file_problems(wanted.problems)
            for each in servers:
                _print(each)
            for config in wanted.disabled:
                print_text(f"– {config.name}: disabled in the file", "dim")
        ready = all(each.state == "ready" for each in servers)
    if not servers and not wanted.disabled and not wanted.problems:
        print_note(f"The file names no server: {words[0]}", "yellow")
    if not ready or not (servers or wanted.disabled):
        raise typer.Exit(1)


def _print(server: McpServer) -> None:
    if server.state != "ready":
        print_failure(server)
        return
    out = console()
    about, tools = server.about, server.tools()
    assert about is not None
    print_text(f"✓ {server.name}: {server.identity}", "bold")
    print_text(f"  {about.name} {about.version}, MCP {about.protocol}, {pluralize(len(tools), 'tool')}")
    table = Table.grid(padding=(0, 2))
    for tool in tools:
        first = tool.description.strip().partition("\n")[0]
        words = shorten(first, _SHOWN)
        claims = ", ".join(key for key, value in server.claims(tool.name).items() if value is True)
        table.add_row("", visible(tool.name), visible(words), Text(visible(claims), "dim"))
    if tools:
        out.print(table)
    if server.list_problem:
        print_text(f"  ! {server.list_problem}", "yellow")
    print_tool_problems(server.tool_problems, "  ")


def _entry(server: McpServer) -> dict[str, Any]:
    about, error = server.about, server.problem
    return {
        "name": server.name,
        "identity": server.identity,
        "state": server.state,
        "about": about,
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "claims": server.claims(tool.name),
            }
            for tool in server.tools()
        ],
        "tool_problems": server.tool_problems,
        "list_problem": server.list_problem,
        "error": None if error is None else {"message": error.message, "hint": error.hint, "log": error.log},
    }


def _entry_off(config: ServerConfig) -> dict[str, Any]:
    return {"name": config.name, "identity": config.identity, "state": "disabled"}


def _problem(problem: Any) -> dict[str, str]:
    return {"pointer": problem.pointer, "message": problem.message}
