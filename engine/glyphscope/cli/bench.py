"""`glyphscope bench`: the benchmarks of a checkout, which an installed package does not contain."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from glyphscope.base.errors import GlyphscopeError
from glyphscope.cli.load_options import LoadingOption
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, ModelOption
from glyphscope.models.opening import EMBEDDED

FOLDER = Path(__file__).parents[3] / "benchmarks"


@with_groups
def bench(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="One repetition only, for a first impression.")
    ] = False,
    model: ModelOption = EMBEDDED,
    large_model: Annotated[
        str,
        typer.Option(
            "--large",
            metavar="FILE.gguf",
            help="A model with a large vocabulary, to measure its cost; `make bench` creates one.",
        ),
    ] = "",
    baselines: Annotated[
        bool,
        typer.Option(
            "--baselines",
            help="Also measure guidance, Outlines and llama.cpp's servers, each installed once in the cache folder.",
        ),
    ] = False,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Measure nothing: show the last full runs on this machine by commit."),
    ] = False,
    loading: LoadingOption,
    as_json: JsonOption = False,
) -> None:
    """Measure the speed of validator, decoding and window. Exit code 1 when a target is clearly missed.

    Every figure has the minimum, median and maximum of its repeats. A missed target that a repeat meets is undecidable.

    The load options apply to the model and to what it is compared with; the targets are for the defaults.
    """
    if not (FOLDER / "glyphscope_benchmarks").is_dir():
        raise GlyphscopeError(
            "The benchmarks are not part of the installed program.",
            hint="Run `make bench` in a checkout of the source code.",
        )
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    command = import_module("glyphscope_benchmarks.command")
    if compare:
        command.compare(as_json)
    elif not command.bench(quick, model, large_model, baselines, loading, as_json):
        raise typer.Exit(1)
