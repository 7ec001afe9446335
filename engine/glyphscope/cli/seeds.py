"""`glyphscope run --seeds`: one request with several seeds, as a distribution of its answers."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from glyphscope.cli.inputs import InputError
from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.cli.signals import INTERRUPTED
from glyphscope.cli.streaming import interrupted, run_all
from glyphscope.evals.distribution import (
    Distribution,
    Parting,
    distribution,
    drawn_of,
    option_words,
    parting_words,
)
from glyphscope.evals.matrix.seeds import seed_samples, seeds_of, worth
from glyphscope.evals.results.words import interval_words
from glyphscope.events import RunRequest
from glyphscope.models import Model
from glyphscope.text.figures import percent
from glyphscope.text.shorten import listed, shorten
from glyphscope.visible import visible

_BAR = 20
_LONGEST = 96
_MOST_PARTINGS = 8
_MOST_SEEDS = 12
"""Seeds of a group that are listed."""


def seeds_to_run(text: str, request: RunRequest) -> tuple[int, ...]:
    """The seeds that are worth running. Raises InputError for a request that runs tools, GlyphscopeError else."""
    if request.dispatch or request.strategy == "loop":
        raise InputError(
            "With --seeds every tool would run once for each seed.",
            where="--seeds",
            hint="Omit --dispatch and --strategy loop.",
        )
    return worth(seeds_of(text), request)


def print_distribution(
    request: RunRequest, seeds: tuple[int, ...], model: Model, records: Path | None, *, as_json: bool
) -> int:
    """Run, print, and return the exit code: 0 where every run ended in a valid answer."""
    if request.sampling.temperature <= 0:
        diagnostics().print("At temperature 0 all seeds give the same tokens: one run.")
    samples = seed_samples({"seed": request}, seeds)
    runs = list(run_all(samples, model, records, quiet=as_json))
    result = distribution([drawn_of(planned.seed, state) for planned, state in runs])
    print_json(result) if as_json else _print(result)
    if interrupted([state for _, state in runs], samples):
        return INTERRUPTED
    return 0 if result.n and not result.failed and all(group.ok for group in result.groups) else 1


def _print(result: Distribution) -> None:
    out = console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("runs", "share", "", "answer", "first difference"):
        table.add_column(title, justify="right" if title in ("runs", "share") else "left")
    for group in result.groups:
        parting = None if group.parting is None else result.partings[group.parting]
        mark = "✓" if group.ok else "✗"
        label = visible(group.label)
        bar = "█" * max(round(group.share.share * _BAR), 1)
        table.add_row(
            str(group.share.correct),
            f"{percent(group.share.share, 0)} {interval_words(group.share)}",
            Text(bar),
            Text(f"{mark} {shorten(label, _LONGEST)}"),
            "" if parting is None else f"character {parting.char:,}",
        )
        seeds = listed([*map(str, group.seeds)], _MOST_SEEDS)
        table.add_row("", "", "", Text(f"  seed {seeds}", style="dim"), "")
    out.print(table)
    for parting in result.partings[:_MOST_PARTINGS]:
        out.print(Text(f"At {parting_words(parting)}:"))
        out.print(_options(parting))
    if len(result.partings) > _MOST_PARTINGS:
        out.print(f"{len(result.partings) - _MOST_PARTINGS} further differences: --json lists them.")
    for line in result.words:
        out.print(Text(line))


def _options(parting: Parting) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for title in ("  token", "sampled", "raw", "final"):
        table.add_column(title, justify="left" if title == "  token" else "right")
    for option in parting.options:
        table.add_row(
            Text(f"  {option_words(option)}"),
            f"{option.drawn} of {parting.runs}",
            _share(option.raw),
            _share(option.final),
        )
    return table


def _share(value: float | None) -> str:
    return percent(value)
