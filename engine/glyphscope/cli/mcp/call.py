"""`glyphscope mcp call`: one call by hand."""

from __future__ import annotations

import json
import threading
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from glyphscope.cli.inputs import STDIN, InputError, read_text
from glyphscope.cli.mcp.servers import ServerOption, Wanted, YesOption, print_failure, started
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.events import ToolContent
from glyphscope.registry import Tool
from glyphscope.registry.pointer import to_pointer
from glyphscope.tools import Outcome
from glyphscope.tools.mcp.server import START_SECONDS
from glyphscope.validation.checker import Checker
from glyphscope.visible import visible

_TOLD = 10
_NAMED = 40


def call(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG.json|COMMAND",
            help="A file with mcpServers, or in one word what starts a server, or its address.",
            show_default=False,
        ),
    ],
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Its name.", show_default=False)],
    arguments: Annotated[
        str,
        typer.Option("--arguments", "-a", metavar="JSON", help="An object; - reads it from standard input."),
    ] = "{}",
    server: ServerOption = None,
    yes: YesOption = False,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long the tool may take.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Call one tool and print what comes back. Exit code 1 when the tool, or the server, says no.

    Arguments that break the tool's schema are told, and sent all the same: what the server makes of them is its word.
    """
    given = _arguments(arguments)
    wanted = Wanted([config], server)
    if not wanted.servers:
        raise InputError("The file has no server that is switched on.", where=config)
    if len(wanted.servers) > 1:
        names = ", ".join(each.name for each in wanted.servers)
        raise InputError("The file has several servers.", where=config, hint=f"Choose one: --server {names}.")
    wanted.allow(yes=yes)
    with started(wanted.servers, START_SECONDS) as (source,):
        if source.state != "ready":
            print_failure(source)
            raise typer.Exit(2)
        known = next((each for each in source.tools() if each.name == tool), None)
        if known is not None:
            _print_broken(known, given)
        outcome = source.call(
            tool,
            given,
            seconds=seconds,
            cancel=threading.Event(),
            progress=None if as_json else _print_progress,
        )
    if as_json:
        print_json({"ok": outcome.ok, **msgspec.to_builtins(outcome)})
    else:
        _print(outcome)
    if outcome.fault == "unknown":
        names = ", ".join(each.name for each in source.tools()[:_NAMED])
        diagnostics().print(Text(f"  do: Choose one that it has: {visible(names) or 'there is none'}."))
        raise typer.Exit(2)
    if not outcome.ok:
        raise typer.Exit(1)


def _arguments(text: str) -> dict[str, Any]:
    where = "standard input" if text == STDIN else "--arguments"
    try:
        value = json.loads(read_text(STDIN) if text == STDIN else text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"This is not JSON: {error}.", where=where) from None
    if not isinstance(value, dict):
        raise InputError("Arguments are one JSON object.", where=where, hint='For example {"city": "Rome"}.')
    return value


def _print_broken(tool: Tool, arguments: dict[str, Any]) -> None:
    for error in Checker(tool.parameters).errors(arguments, _TOLD):
        place = to_pointer(tuple(error.absolute_path)) or "/"
        diagnostics().print(Text(f"! {visible(place)}: {visible(error.message)}", style="yellow"))


def _print_progress(done: float, total: float | None, message: str) -> None:
    of = "" if total is None else f" of {total:g}"
    diagnostics().print(Text(f"… {done:g}{of} {visible(message)}".rstrip(), style="dim"))


def _print(outcome: Outcome) -> None:
    out = console()
    for content in outcome.content:
        out.print(_shown(content), soft_wrap=True)
    if outcome.structured is not None and not outcome.content:
        out.print(Text(json.dumps(outcome.structured, indent=2, ensure_ascii=False)), soft_wrap=True)
    said = diagnostics()
    for problem in outcome.schema_problems:
        said.print(Text(f"! the answer breaks its schema: {visible(problem)}", style="yellow"))
    if not outcome.ok:
        words = (
            "the tool failed" if outcome.fault == "tool" else f"{outcome.fault}: {visible(outcome.message)}"
        )
        said.print(Text(f"✗ {words}", style="bold red"))


def _shown(content: ToolContent) -> Text:
    if content.kind == "text":
        return Text("\n".join(map(visible, content.text.split("\n"))))
    facts = (content.name, content.uri, content.mime, f"{content.size} bytes" if content.size else "")
    head = f"[{content.kind}: {', '.join(visible(fact) for fact in facts if fact)}]"
    lines = [head, *map(visible, content.text.split("\n"))] if content.text else [head]
    return Text("\n".join(lines))
