"""`glyphscope mcp call` and `mcp request`: one call, or any request of the protocol, by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from glyphscope.cli.load_options import Loading
from glyphscope.cli.mcp.answering import Sampler, SamplerOption, answering
from glyphscope.cli.mcp.outcome import (
    ArgumentsOption,
    OutOption,
    print_outcome,
    print_progress,
    print_violations,
    read_arguments,
)
from glyphscope.cli.mcp.servers import ConfigArgument, ServerOptions
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import print_json, print_note
from glyphscope.text.shorten import listed
from glyphscope.visible import visible

_NAMED = 40
"""The maximum number of tools that an error names."""


@with_groups
def call(
    *,
    config: ConfigArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The name of the tool.")],
    arguments: ArgumentsOption = "{}",
    chosen: ServerOptions,
    model: SamplerOption = None,
    loading: Loading,
    out: OutOption = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit for the call, in seconds.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Call one tool and print the result. Exit code 1 if the tool or the server returns an error.

    Arguments that violate the tool's schema are reported and sent anyway: the server decides.
    --out saves the content of the result to a file, binary content too.

    With --ask the server can request your input (elicitation) and a model's answer (sampling);
    with --model that model answers after you approve it, and you approve its answer before it is sent.
    """
    if model is None:
        loading.refuse("No model is loaded without --model", "Name the model, or omit the options.")
    sampler = None if model is None else Sampler(model, loading.options(model))
    given = read_arguments(arguments)
    with chosen.opened(config) as source:
        known = next((each for each in source.tools() if each.name == tool), None)
        if known is not None:
            print_violations(known, given)
        outcome = answering(
            source,
            lambda cancel: source.call(
                tool, given, seconds=seconds, cancel=cancel, progress=None if as_json else print_progress
            ),
            sampler,
        )
    print_outcome(outcome, as_json=as_json, out=out)
    if outcome.fault == "unknown":
        names = listed([each.name for each in source.tools()], _NAMED)
        print_note(f"  do: Choose one that it has: {visible(names) or 'there is none'}.")
        raise typer.Exit(2)
    if not outcome.ok:
        raise typer.Exit(1)


@with_groups
def request(
    *,
    config: ConfigArgument,
    method: Annotated[
        str,
        typer.Argument(metavar="METHOD", help="For example ping, tools/list or completion/complete."),
    ],
    arguments: ArgumentsOption = "{}",
    chosen: ServerOptions,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit for the answer, in seconds.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Send one request with --arguments as its params, and print the result as JSON, unchanged.

    Exit code 1 if the server answers with an error, or not in time.
    """
    given = read_arguments(arguments)
    with chosen.opened(config) as source:
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
