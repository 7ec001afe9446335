"""`glyphscope mcp list`, `import`, `sign-in` and `sign-out`: servers and their tools, and OAuth at an HTTP server."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from glyphscope.base.errors import ServerError
from glyphscope.base.figures import pluralize
from glyphscope.base.visible import visible
from glyphscope.cli.grammar.report import print_contradictions
from glyphscope.cli.grammar.report import report as print_proofs
from glyphscope.cli.inputs import STDIN, InputError, note_unenforced, read_registry
from glyphscope.cli.mcp.outcome import first_line
from glyphscope.cli.mcp.servers import (
    ConfigArgument,
    ServerOption,
    ServerOptions,
    ServerRequest,
    print_failure,
    print_file_problems,
    print_tool_problems,
    started,
    with_roots,
)
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, NotationOption, ShapeOption
from glyphscope.cli.output import console, diagnostics, print_json, print_note, print_text
from glyphscope.cli.sources import change_words, local_time, print_changes
from glyphscope.events import RunRequest
from glyphscope.grammar.builder.contradictions import registry_contradictions
from glyphscope.registry import Tool, ToolRegistry, to_json
from glyphscope.store import atomic_write, places
from glyphscope.store.servers import SeenTools
from glyphscope.tools.mcp import McpServer, ServerConfig
from glyphscope.tools.mcp.config import is_metadata_address
from glyphscope.tools.mcp.listing import ToolChanges, described, tool_changes
from glyphscope.tools.mcp.server import START_SECONDS
from glyphscope.tools.mcp.tokens import forget_sign_in

WordsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="CONFIG.json|COMMAND…",
        help="A file with mcpServers, or a server's command or URL. Put -- before the options of a command.",
    ),
]
SecondsOption = Annotated[float, typer.Option(min=0.1, help="Time limit for starting a server, in seconds.")]


@with_groups(only=("server", "yes", "root"))
def list_servers(
    *,
    words: WordsArgument,
    chosen: ServerOptions,
    seconds: SecondsOption = START_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Start servers, list their tools, and stop them. Exit code 1 if one of them does not start."""
    request = ServerRequest(words, chosen.server)
    request.allow(yes=chosen.yes)
    with started([with_roots(each, chosen.root) for each in request.servers], seconds) as servers:
        if as_json:
            off = [{"name": c.name, "identity": c.identity, "state": "disabled"} for c in request.disabled]
            problems = [problem._asdict() for problem in request.problems]
            print_json({"servers": [*map(_entry, servers), *off], "problems": problems})
        else:
            print_file_problems(request.problems)
            for each in servers:
                _print(each)
            for config in request.disabled:
                print_text(f"– {config.name}: disabled in the file", "dim")
        ready = all(each.state == "ready" for each in servers)
    if not servers and not request.disabled and not request.problems:
        print_note(f"The file names no server: {words[0]}", "yellow")
    if not ready or not (servers or request.disabled):
        raise typer.Exit(1)


def _print(server: McpServer) -> None:
    if server.state != "ready":
        print_failure(server)
        return
    about, tools = server.about, server.tools()
    print_text(f"✓ {server.name}: {server.identity}", "bold")
    named = f"{about.name} {about.version}".strip()
    facts = (named, f"MCP {about.protocol}" if about.protocol else "", pluralize(len(tools), "tool"))
    print_text(f"  {', '.join(filter(None, facts))}")
    table = Table.grid(padding=(0, 2))
    for tool in tools:
        claims = ", ".join(key for key, value in server.claims(tool.name).items() if value is True)
        table.add_row("", visible(tool.name), first_line(tool.description), Text(visible(claims), "dim"))
    if tools:
        console().print(table)
    if server.list_problem:
        print_text(f"  ! {server.list_problem}", "yellow")
    print_tool_problems(server.tool_problems, "  ")
    print_changes(server, "  ")


def _entry(server: McpServer) -> dict[str, Any]:
    about, error = server.about, server.problem
    return {
        "name": server.name,
        "identity": server.identity,
        "state": server.state,
        "about": about if about.protocol else None,
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
        "changes": _changes_json(server.tool_changes),
        "list_problem": server.list_problem,
        "error": None if error is None else {"message": error.message, "hint": error.hint, "log": error.log},
    }


def _changes_json(changes: ToolChanges) -> dict[str, Any]:
    changed = {tool: changes.parts(tool) for tool in changes.changed}
    return {"since": changes.since, "added": changes.added, "removed": changes.removed, "changed": changed}


@with_groups(only=("server", "yes"))
def changes(
    *,
    words: WordsArgument,
    registry: Annotated[
        Path | None,
        typer.Option(
            metavar="REGISTRY.json",
            help="Compare with the tools of a registry in place of the last connection.",
        ),
    ] = None,
    chosen: ServerOptions,
    seconds: SecondsOption = START_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Show which tools of servers changed under their names since the last connection, and in the ones before it.

    Exit code 1 if a tool was changed or removed, or a server does not start.
    """
    request = ServerRequest(words, chosen.server)
    request.allow(yes=chosen.yes)
    known = described(read_registry(registry).tools) if registry is not None else None
    good, found = True, []
    with started(request.servers, seconds) as servers:
        print_file_problems(request.problems)
        for server in servers:
            if server.state != "ready":
                print_failure(server)
                good = False
                continue
            now = server.tool_changes
            if known is not None:
                now = tool_changes(known, described(server.tools()))
            good = good and not (now.changed or now.removed)
            if as_json:
                found.append({"name": server.name, **_changes_json(now), "difference": now.difference()})
            else:
                _print_history(server, now, from_registry=known is not None)
    if as_json:
        print_json(found)
    if not good or not servers:
        raise typer.Exit(1)


def _print_history(server: McpServer, now: ToolChanges, *, from_registry: bool) -> None:
    lists = () if from_registry else SeenTools(places().tool_lists).lists(server.config)
    for before, after in pairwise(lists[: len(lists) - bool(now)]):
        earlier = change_words(tool_changes(before.tools, after.tools))
        print_text(f"  {server.name}, {local_time(after.at)}: {earlier}", "dim")
    if now:
        print_text(f"! {server.name}: {change_words(now)}", "yellow")
        for line in now.difference().splitlines():
            print_text(visible(line, spaces=True))
    else:
        same = (
            "as in the registry"
            if from_registry
            else f"unchanged since {local_time(lists[-1].at)}"
            if lists
            else "unknown before"
        )
        print_text(f"✓ {server.name}: {pluralize(len(server.tools()), 'tool')}, {same}")


@with_groups(only=("server", "yes"))
def import_tools(
    *,
    words: WordsArgument,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="REGISTRY.json", help="The file to write; - prints it."),
    ] = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report", help="Test each constraint in each engine and print whether it is enforced."
        ),
    ] = False,
    notation: NotationOption = "glyph",
    shape: ShapeOption = "flat",
    chosen: ServerOptions,
    seconds: SecondsOption = START_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Import the tools of servers into a registry. --json prints the report as JSON.

    Exit code 1 if a server does not start; the tools of the others are imported anyway.
    """
    if output is None and not report:
        raise InputError("No output was requested.", hint="Give -o REGISTRY.json, or --report, or both.")
    if output == STDIN and report:
        raise InputError("Only one output can go to standard output.", hint="Give -o a file.")
    request = ServerRequest(words, chosen.server)
    request.allow(yes=chosen.yes)
    with started(request.servers, seconds) as servers:
        print_file_problems(request.problems)
        failed = [each for each in servers if each.state != "ready"]
        for each in failed:
            print_failure(each)
        for each in servers:
            print_tool_problems(each.tool_problems)
            if each.list_problem:
                print_note(f"! {each.name}: {each.list_problem}", "yellow")
        registry = ToolRegistry(_joined(servers))
    if not registry.tools:
        raise InputError("There are no tools to import.", where=" ".join(words))
    print_contradictions(registry_contradictions(registry))
    note_unenforced(RunRequest(prompt="", registry=registry.to_document(), notation=notation, shape=shape))
    _write(registry, output)
    if report:
        print_proofs(registry, notation, shape, as_json=as_json)
    if failed:
        raise typer.Exit(1)


def _joined(servers: Sequence[McpServer]) -> tuple[Tool, ...]:
    """The tools of all servers; of several with the same name, which is the registry's key, only the first."""
    tools: dict[str, tuple[Tool, str]] = {}
    for server in servers:
        for tool in server.tools():
            _, owner = tools.setdefault(tool.name, (tool, server.name))
            if tools[tool.name][0] is not tool:
                words = f"skipped from {server.name}, because {owner} has a tool of that name"
                print_note(f"! {tool.name}: {words}", "yellow")
    return tuple(tool for tool, _ in tools.values())


def _write(registry: ToolRegistry, output: str | None) -> None:
    if output is None:
        return
    text = to_json(registry)
    if output == STDIN:
        typer.echo(text)
        return
    atomic_write(Path(output), text.rstrip("\n") + "\n")
    print_note(f"{pluralize(len(registry), 'tool')} written to {output}")


def sign_in(
    config: ConfigArgument,
    server: ServerOption = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the address, or only print it.")
    ] = True,
) -> None:
    """Sign in at an HTTP server with OAuth, in the browser. The sign-in is kept in the keyring.

    Other commands and the window use it, and renew it. Exit code 1 when the sign-in fails, or cannot be kept.
    """
    address = _address(config, server)
    with started((address,), START_SECONDS, sign_in=_opener(browser)) as (source,):
        if source.state != "ready":
            print_failure(source)
            raise typer.Exit(1)
        unsaved = source.unsaved_sign_in
    if unsaved:
        print_note(f"✗ The sign-in was not saved: {unsaved}", "bold red")
        raise typer.Exit(1)
    print_note(f"✓ {address.name} is ready; the sign-in is stored in the keyring.")


def sign_out(config: ConfigArgument, server: ServerOption = None) -> None:
    """Remove the sign-in of a server from the keyring."""
    address = _address(config, server)
    words = "The sign-in is removed." if forget_sign_in(address.url) else "No sign-in was stored."
    print_note(f"{address.name}: {words}")


def client_metadata(
    address: Annotated[str, typer.Argument(metavar="URL", help="The address where you serve the document.")],
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="The `callbackPort`, for authorization servers that compare it."),
    ] = 0,
) -> None:
    """Print the Client ID Metadata Document to serve at an address, the `clientMetadataUrl` in `oauth`."""
    if not is_metadata_address(address):
        raise InputError(
            "Not an address for the document.", where=address, hint="It begins with https:// and has a path."
        )
    from glyphscope.tools.mcp.oauth import client_document  # loads the MCP SDK

    print_json(client_document(address, port))


def _address(config: str, name: str | None) -> ServerConfig:
    found = [each for each in ServerRequest([config], name).servers if each.url]
    if len(found) != 1:
        hint = "Give its address, or a file and --server NAME."
        raise InputError("This is not one server with an address.", where=config, hint=hint)
    return found[0]


def _opener(opens: bool) -> Callable[[str], None]:
    def open_address(address: str) -> None:
        out = diagnostics()
        print_note("Sign in at this address, in a browser on this machine:")
        out.print(Text(visible(address, spaces=True)), soft_wrap=True)
        if opens and not _open(address):
            hint = "With --no-browser the address is printed, and you open it yourself."
            raise ServerError("No browser was found.", hint=hint)

    return open_address


def _open(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
