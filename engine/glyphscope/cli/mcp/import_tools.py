"""`glyphscope mcp import`: the tools of servers into a registry, and what of their schemas is really enforced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from glyphscope.cli.grammar.report import print_contradictions
from glyphscope.cli.grammar.report import report as print_proofs
from glyphscope.cli.inputs import STDIN, InputError
from glyphscope.cli.mcp.list_tools import SecondsOption, WordsArgument
from glyphscope.cli.mcp.servers import (
    ServerOptions,
    ServerRequest,
    print_failure,
    print_file_problems,
    print_tool_problems,
    started,
)
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, NotationOption, ShapeOption
from glyphscope.cli.output import print_note
from glyphscope.grammar.builder.contradictions import registry_contradictions
from glyphscope.registry import Tool, ToolRegistry, to_json
from glyphscope.sessions import atomic_write
from glyphscope.text.figures import pluralize
from glyphscope.tools.mcp import McpServer
from glyphscope.tools.mcp.server import START_SECONDS


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
    wanted = ServerRequest(words, chosen.server)
    wanted.allow(yes=chosen.yes)
    with started(wanted.servers, seconds) as servers:
        print_file_problems(wanted.problems)
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
    _write(registry, output)
    if report:
        print_proofs(registry, notation, shape, as_json=as_json)
    if failed:
        raise typer.Exit(1)


def _joined(servers: Sequence[McpServer]) -> tuple[Tool, ...]:
    """Every tool of the first server that has it; names are the registry's keys, so a second one is left out."""
    tools: dict[str, Tool] = {}
    owners: dict[str, str] = {}
    for server in servers:
        for tool in server.tools():
            if tool.name in tools:
                words = (
                    f"! {tool.name}: skipped from {server.name}, because {owners[tool.name]} has a tool "
                    "of that name"
                )
                print_note(words, "yellow")
            else:
                tools[tool.name], owners[tool.name] = tool, server.name
    return tuple(tools.values())


def _write(registry: ToolRegistry, output: str | None) -> None:
    if output is None:
        return
    text = to_json(registry)
    if output == STDIN:
        typer.echo(text)
        return
    atomic_write(Path(output), text.rstrip("\n") + "\n")
    print_note(f"{pluralize(len(registry), 'tool')} written to {output}")
