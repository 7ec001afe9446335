"""`glyphscope mcp request`: any request of the protocol, and its result as the server sends it."""

from __future__ import annotations

from typing import Annotated

import typer

from glyphscope.cli.mcp.answering import AskOption, answering
from glyphscope.cli.mcp.outcome import ArgumentsOption, print_outcome, print_progress, read_arguments
from glyphscope.cli.mcp.servers import (
    ConfigArgument,
    LogLevelOption,
    RootOption,
    ServerOption,
    YesOption,
    one_server,
)
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import print_json


def request(
    config: ConfigArgument,
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD", help="For example ping, tools/list or completion/complete.", show_default=False
        ),
    ],
    arguments: ArgumentsOption = "{}",
    server: ServerOption = None,
    yes: YesOption = False,
    ask: AskOption = False,
    root: RootOption = None,
    log_level: LogLevelOption = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit for the answer, in seconds.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Send one request with --arguments as its params, and print the result as JSON, unchanged.

    Exit code 1 if the server answers with an error, or not in time.
    """
    given = read_arguments(arguments)
    with one_server(config, server, yes=yes, asks=ask, roots=root, log_level=log_level) as source:
        outcome = answering(
            source,
            lambda cancel: source.request(
                method, given, seconds=seconds, cancel=cancel, progress=None if as_json else print_progress
            ),
        )
    if outcome.ok:
        print_json(outcome.structured)
        return
    print_outcome(outcome, as_json=as_json)
    raise typer.Exit(1)
