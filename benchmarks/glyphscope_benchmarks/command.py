"""The work of `glyphscope bench`: measure the project's figures, with their targets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

from glyphscope.base.errors import ModelError, StorageError
from glyphscope.cli.inputs import InputError
from glyphscope.cli.load_options import LoadingOption, opened
from glyphscope.cli.output import console, diagnostics, print_json, print_note, print_text
from glyphscope.events import LoadOptions
from glyphscope.models.interface import Model
from glyphscope.models.opening import EMBEDDED
from glyphscope_benchmarks import (
    ablation,
    decoding,
    editor,
    evaluating,
    evidence,
    grammars,
    history,
    installed_baselines,
    large,
    reading,
    reuse,
    start,
    validators,
    window,
)
from glyphscope_benchmarks.baseline_process import started
from glyphscope_benchmarks.figures import Figure, measured_or_missing
from glyphscope_benchmarks.report import Report, footnotes, report, table, this_machine
from glyphscope_benchmarks.timing import FULL, QUICK, Plan

MODEL_ROWS = (*reuse.ROWS, *ablation.ROWS, *evaluating.ROWS, *grammars.ROWS, *decoding.ROWS, *reading.ROWS)


def bench(
    quick: bool, model: str, large_model: str, with_baselines: bool, loading: LoadingOption, as_json: bool
) -> bool:
    """Measure and print everything. Returns whether no target is missed. Options as in `glyphscope.cli.bench`."""
    options = loading.options(model)
    plan = QUICK if quick else FULL
    machine, start = this_machine(), time.perf_counter()
    with ExitStack() as stack:
        opened_model, reason = _open(model, options, stack)
        info = opened_model.info if opened_model else None
        figures: list[Figure] = []
        with diagnostics().status("measuring …") as status:
            for figure in measure(plan, opened_model, reason, large_model, with_baselines):
                figures.append(figure)
                status.update(f"measured: {figure.name}")
    found = report(figures, quick=quick, seconds=time.perf_counter() - start, machine=machine, model=info)
    if not quick:
        _remember(found)
    if as_json:
        print_json(found)
    else:
        out = console()
        out.print(table(found))
        for note in footnotes(found):
            out.print(note)
    return found.met


def compare(as_json: bool) -> None:
    """Print the last full runs on this machine, by commit."""
    path = history.history_file()
    found = history.compare(*history.read(path), path)
    if as_json:
        print_json(found)
    else:
        if found.commits:
            console().print(history.comparison_table(found))
        for note in history.comparison_notes(found):
            print_text(note, "dim")
    for problem in found.problems:
        print_note(problem, "yellow")


def _remember(found: Report) -> None:
    """Add the run to the history. The figures are printed even if that fails."""
    path = history.history_file()
    try:
        history.append(history.entry(found), path)
    except StorageError as error:
        print_note(f"This run is not in the history: {error}", "yellow")


def measure(
    plan: Plan,
    model: Model | None,
    reason: str = "no model",
    large_model: str = "",
    with_baselines: bool = False,
) -> Iterator[Figure]:
    """Every figure, as soon as it is known. Without a model, figures that need one are missing for that reason."""
    yield from validators.figures(plan)
    yield from evidence.figures(plan)
    yield from grammars.keystroke(plan)
    yield from editor.figures(plan)
    if model is None:
        yield from (
            row.missing(reason)
            for row in (*MODEL_ROWS, *(installed_baselines.ROWS if with_baselines else ()))
        )
    else:
        yield from measured_or_missing(reuse.ROWS, lambda: reuse.figures(model, plan))
        yield from measured_or_missing(ablation.ROWS, lambda: ablation.figures(model, plan))
        yield from measured_or_missing(evaluating.ROWS, lambda: evaluating.figures(model, plan))
        yield from measured_or_missing(
            (*grammars.ROWS, *decoding.ROWS, *reading.ROWS), lambda: _beside_baseline(model, plan)
        )
        if with_baselines:
            yield from installed_baselines.figures(model, plan)
    if large_model:
        yield from measured_or_missing(large.ROWS, lambda: large.figures(large_model, plan))
    else:
        yield from (row.missing(large.NO_FILE) for row in large.ROWS)
    yield from measured_or_missing(window.ROWS, lambda: window.figures(plan))
    yield from measured_or_missing(start.ROWS, lambda: start.figures(plan))


def _beside_baseline(model: Model, plan: Plan) -> list[Figure]:
    options = model.info.load or LoadOptions(context=model.info.context)
    with started(model.info.path, options) as baseline:
        return [
            *grammars.figures(baseline, plan),
            *decoding.throughput(model, baseline, plan),
            *decoding.overhead(model, baseline, plan),
            *reading.figures(model, baseline, plan),
        ]


def _open(name: str, options: LoadOptions, stack: ExitStack) -> tuple[Model | None, str]:
    """The model, or the reason why there is none. An unavailable model that was requested by name is an error."""
    try:
        model = stack.enter_context(opened(name, options=options))
    except ModelError as error:
        if name != EMBEDDED:
            raise
        return None, f"no model: {error.message}"
    if model.info.kind != "llama.cpp":
        raise InputError(
            f"The model {name} computes nothing that can be measured.",
            hint="Give a GGUF file, or `embedded`.",
        )
    return model, ""
