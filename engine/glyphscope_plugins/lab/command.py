"""`glyphscope lab …`: experiments with many prompts."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.load_options import LoadingOption, StoredPromptsOption, opened
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, ModelOption
from glyphscope.cli.output import diagnostics, print_json, print_text
from glyphscope.events import Sampling
from glyphscope.models.opening import EMBEDDED
from glyphscope.processes import own_command
from glyphscope.tools.mcp import McpServer, command_server
from glyphscope_plugins.lab.mask_driven import (
    RESULTS,
    SUITE,
    TIMINGS,
    Entry,
    MaskDrivenLab,
    check_folder,
    gold_model,
    results_of,
    write_lab,
)

_DEFAULT = Sampling()
TEMPERATURE = 0.7
SERVER = "verbs"


@with_groups
def mask_driven(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the four files.")],
    model: ModelOption = EMBEDDED,
    seed: Annotated[int, typer.Option(help="Seed for every prompt.")] = _DEFAULT.seed,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the most likely token.")] = TEMPERATURE,
    runs: Annotated[
        int,
        typer.Option(
            min=1, max=20, help="Number of runs of all prompts; from the second on, masks are cached."
        ),
    ] = 2,
    suite: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE", help="The prompts: a suite in which each expects one call of a verb tool."
        ),
    ] = SUITE,
    stub: Annotated[
        bool, typer.Option("--stub", help="Without a model: each prompt is answered with the expected call.")
    ] = False,
    loading: LoadingOption,
    stored: StoredPromptsOption,
    as_json: JsonOption = False,
) -> None:
    """Prompts for the four verb tools: a masked name, masked arguments, parsed, and called over MCP.

    Writes transcript.json, results.json, timings.json and manifest.json. Exit code 1 where a call did not parse.
    """
    check_folder(out)
    options = loading.options(model)
    gold = gold_model(suite) if stub else None
    words = own_command("mcp", "serve-verbs")
    with ExitStack() as stack:
        server = McpServer(command_server(words, SERVER))
        stack.callback(server.close)
        server.open()
        source = gold or stack.enter_context(
            opened(model, options=options, prompts=stored.cache, quiet=as_json)
        )
        lab = MaskDrivenLab(source, server, Sampling(temperature=temperature, seed=seed), runs, suite)
        prompts = len(lab.samples) // runs
        entries: list[Entry] = []
        for entry in stack.enter_context(closing(lab.entries())):
            entries.append(entry)
            _report(entry, len(entries), prompts, runs)
        done = [entries[at : at + prompts] for at in range(0, len(entries), prompts)]
        files = write_lab(out, lab, done, source.info, server=shlex.join(words), command=_command())
    summary = _summary(done[0])
    if as_json:
        print_json({"files": [str(path) for path in files], **summary})
    else:
        _show(summary, out)
    raise typer.Exit(1 if summary["parse_failures"] else 0)


def _command() -> str:
    return shlex.join(["glyphscope", *sys.argv[1:]])


def _report(entry: Entry, done: int, of: int, runs: int) -> None:
    mark = "✗" if entry.parse_error or entry.dispatch_error else "✓"
    run, number = (done - 1) // of + 1, (done - 1) % of + 1
    line = Text(f"{mark} run {run} of {runs}, prompt {number} of {of}: {entry.model_output_str}")
    if entry.parse_error or entry.dispatch_error:
        line.append(f"  {entry.parse_error or entry.dispatch_error}", style="bold red")
    diagnostics().print(line)


def _summary(entries: Sequence[Entry]) -> dict[str, int]:
    results = results_of(entries)
    counts = ("total_prompts", "parse_failures", "dispatch_failures", "tool_errors")
    return {**{name: results[name] for name in counts}, "right_tool": results["tool_choice"]["correct"]}


def _show(summary: dict[str, int], out: Path) -> None:
    n = summary["total_prompts"]
    print_text(
        f"{n} prompts: {summary['parse_failures']} parse failures, "
        f"{summary['dispatch_failures']} dispatch failures, {summary['tool_errors']} tool "
        f"errors; the correct tool {summary['right_tool']} of {n} times."
    )
    print_text(f"Details: {out / RESULTS} and {out / TIMINGS}.")


app = typer.Typer(help="Experiments with many prompts, and files with their results.")

app.command("mask-driven")(mask_driven)
