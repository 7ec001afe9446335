"""`glyphscope mcp call`: one call by hand."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.load_options import NOT_GIVEN, Loading, loads_models
from glyphscope.cli.mcp.answering import AskOption, Sampler, SamplerOption, answering
from glyphscope.cli.mcp.outcome import (
    ArgumentsOption,
    OutOption,
    print_outcome,
    print_progress,
    print_violations,
    read_arguments,
)
from glyphscope.cli.mcp.servers import (
    ConfigArgument,
    LogLevelOption,
    RootOption,
    ServerOption,
    YesOption,
    one_server,
)
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import diagnostics
from glyphscope.visible import visible

_NAMED = 40


@loads_models()
def call(
    config: ConfigArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The name of the tool.", show_default=False)],
    arguments: ArgumentsOption = "{}",
    server: ServerOption = None,
    yes: YesOption = False,
    ask: AskOption = False,
    root: RootOption = None,
    log_level: LogLevelOption = None,
    model: SamplerOption = None,
    loading: Loading = NOT_GIVEN,
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
    with one_server(config, server, yes=yes, asks=ask, roots=root, log_level=log_level) as source:
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
        names = ", ".join(each.name for each in source.tools()[:_NAMED])
        diagnostics().print(Text(f"  do: Choose one that it has: {visible(names) or 'there is none'}."))
        raise typer.Exit(2)
    if not outcome.ok:
        raise typer.Exit(1)
