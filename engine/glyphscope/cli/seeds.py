"""`glyphscope run --seeds`: one request with several seeds, as a distribution of its answers."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from glyphscope.cli.inputs import InputError
from glyphscope.cli.output import TextTable, console, print_json, print_note, print_text
from glyphscope.cli.signals import INTERRUPTED
from glyphscope.cli.streaming import interrupted, run_all
from glyphscope.evals.distribution import (
    Distribution,
    Divergence,
    distribution,
    divergence_words,
    option_words,
    seed_run,
)
from glyphscope.evals.matrix.seeds import distinct_seeds, seed_samples, seeds_of
from glyphscope.evals.results.words import rate_words
from glyphscope.events import RunRequest
from glyphscope.models.interface import Model
from glyphscope.text.figures import percent
from glyphscope.text.shorten import listed, shorten
from glyphscope.visible import visible

_BAR = 20
_MAX_LENGTH = 96
_MAX_DIVERGENCES = 8
_MAX_SEEDS = 12
"""The maximum number of seeds of a group that are listed."""


def seeds_to_run(text: str, request: RunRequest) -> tuple[int, ...]:
    """The seeds that are worth running. Raises InputError for a request that executes tools, and GlyphscopeError."""
    if request.dispatch or request.strategy == "loop":
        raise InputError(
            "With --seeds every tool would run once for each seed.",
            where="--seeds",
            hint="Omit --dispatch and --strategy loop.",
        )
    return distinct_seeds(seeds_of(text), request)


def print_distribution(
    request: RunRequest, seeds: tuple[int, ...], model: Model, records: Path | None, *, as_json: bool
) -> int:
    """Run, print, and return the exit code: 0 if every run ended with a valid answer."""
    if request.sampling.temperature <= 0:
        print_note("At temperature 0 all seeds give the same tokens: one run.")
    samples = seed_samples({"seed": request}, seeds)
    runs = list(run_all(samples, model, records, quiet=as_json))
    result = distribution([seed_run(planned.seed, state) for planned, state in runs])
    print_json(result) if as_json else _print(result)
    if interrupted([state for _, state in runs], samples):
        return INTERRUPTED
    return 0 if result.n and not result.failed and all(group.ok for group in result.groups) else 1


def _print(result: Distribution) -> None:
    table = TextTable("runs", "share", "", "answer", "first difference", right=("runs", "share"))
    for group in result.groups:
        divergence = None if group.divergence is None else result.divergences[group.divergence]
        mark = "✓" if group.ok else "✗"
        label = visible(group.label)
        bar = "█" * max(round(group.share.share * _BAR), 1)
        table.add_row(
            str(group.share.correct),
            rate_words(group.share),
            bar,
            f"{mark} {shorten(label, _MAX_LENGTH)}",
            "" if divergence is None else f"character {divergence.char:,}",
        )
        seeds = listed([*map(str, group.seeds)], _MAX_SEEDS)
        table.add_row("", "", "", Text(f"  seed {seeds}", style="dim"), "")
    console().print(table)
    for divergence in result.divergences[:_MAX_DIVERGENCES]:
        print_text(f"At {divergence_words(divergence)}:")
        console().print(_options(divergence))
    if len(result.divergences) > _MAX_DIVERGENCES:
        print_text(f"{len(result.divergences) - _MAX_DIVERGENCES} further differences: --json lists them.")
    for line in result.words:
        print_text(line)


def _options(divergence: Divergence) -> TextTable:
    numbers = ("sampled", "raw", "final")
    table = TextTable("  token", *numbers, right=numbers, header_style="dim")
    for option in divergence.options:
        sampled = f"{option.sampled} of {divergence.runs}"
        table.add_row(f"  {option_words(option)}", sampled, percent(option.raw), percent(option.final))
    return table
