"""`glyphscope ab`: two prompts on the same seeds, and whether they differ by more than chance."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.conversation import OPENED, opened_request
from glyphscope.cli.inputs import ANSWER_METAVAR, InputError, expecting, read_answer, read_registry, read_text
from glyphscope.cli.load_options import LoadingOption, StoredPromptsOption, opened
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import ExpectOption, JsonOption, RegistryOption, model_option
from glyphscope.cli.output import TextTable, console, print_json, print_note, print_text
from glyphscope.cli.signals import INTERRUPTED, closing_when_ended
from glyphscope.cli.streaming import interrupted, run_all
from glyphscope.evals.ab import AbPair, AbReport, AbResults
from glyphscope.evals.matrix.seeds import RequestPlan, distinct_seeds, seeds_of
from glyphscope.events import ConstraintKind, Notation, RunRequest, Shape
from glyphscope.models.opening import EMBEDDED
from glyphscope.store.project import SUFFIX

TEMPERATURE = 0.7
"""For templates, which have no sampling settings: at 0, all seeds would sample the same tokens."""
_MAX_LENGTH = 72
"""The maximum characters of a call or an error in the table."""


@with_groups
def ab(
    *,
    first: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help=f"A project ({SUFFIX}), a recorded run or the JSON body of a request, with its tools; or a template "
            "for the system prompt.",
        ),
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="The same with the other prompt or tools.")],
    seeds: Annotated[
        str, typer.Option(metavar="LIST", help="The seeds for both: 1-10, or 1,3,7-9.")
    ] = "1-10",
    prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT|-", help="The user's message. Required with templates."),
    ] = None,
    expect: ExpectOption = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar=ANSWER_METAVAR, help="The answer of both. Default: the projects', a call for templates."
        ),
    ] = None,
    model: Annotated[
        str | None,
        model_option("The model of both. Default: the projects'."),
    ] = None,
    registry: RegistryOption = None,
    notation: Annotated[
        Notation | None,
        typer.Option(help="Notation of both. Default: the projects', glyph for templates."),
    ] = None,
    shape: Annotated[
        Shape | None,
        typer.Option(help="Arrangement of name and arguments. Default: the projects', flat for templates."),
    ] = None,
    constraint: Annotated[
        ConstraintKind | None,
        typer.Option(help="The constraint of both. Default: the projects', off for templates."),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(min=0.0, help=f"Of both. Default: the projects', {TEMPERATURE} for templates."),
    ] = None,
    loading: LoadingOption,
    stored: StoredPromptsOption,
    records: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Store each run here, as a-1.jsonl, b-1.jsonl …"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the same request with two prompts or lists of tools, once per seed, and compare the results.

    The runs of A come first, so that they share the prompt cache, which does not affect results. Each share has its
    confidence interval, and a prompt is called better only if the difference is significant.
    """
    base: dict[str, Any] = {"prompt": read_text("-") if prompt == "-" else prompt, "constraint": constraint}
    base["answer"] = None if answer is None else read_answer(answer)
    base |= {"notation": notation, "native": None if notation is None else "", "shape": shape}
    given = {name: value for name, value in base.items() if value is not None}
    requests = [_request(path, given, registry, temperature) for path in (first, second)]
    chosen = {request.model for request in requests if request.model}
    if model is None and len(chosen) > 1:
        raise InputError(
            "The projects name two models, and prompts are compared on one.", hint="Name it with --model."
        )
    name = model or next(iter(chosen), EMBEDDED)
    options = loading.options(name)
    expected = next((request.expected for request in requests if request.expected is not None), None)
    requests = [msgspec.structs.replace(request, model=name, expected=expected) for request in requests]
    requests = [expecting(request, expect) for request in requests]
    numbers = distinct_seeds(seeds_of(seeds), *requests)
    if numbers != seeds_of(seeds):
        print_note("At temperature 0 all seeds give the same tokens: one run per prompt.")
    plan = RequestPlan(dict(zip("ab", requests)), numbers)
    results = AbResults(plan, _names(first, second))
    with ExitStack() as stack:
        stack.enter_context(closing_when_ended())
        source = stack.enter_context(opened(name, options=options, prompts=stored.cache, quiet=as_json))
        runs = stack.enter_context(closing(run_all(plan.samples, source, records, quiet=as_json)))
        for planned, state in runs:
            results.add(planned, state)
    report = results.report()
    print_json(report) if as_json else _print(report)
    if interrupted(results.states.values(), plan.samples):
        raise typer.Exit(INTERRUPTED)


def _request(
    path: Path, given: dict[str, Any], registry: Path | None, temperature: float | None
) -> RunRequest:
    """The request of a file, with the members given on the command line. Raises InputError, RecordError and
    RegistryError.
    """
    if path.suffix in OPENED:
        request = opened_request(path)
        if registry is not None:
            given = {**given, "registry": read_registry(registry).to_document()}
        sampling = request.sampling
    else:
        if "prompt" not in given:
            raise InputError(
                "A template contains no user message.",
                where=str(path),
                hint="Give it with --prompt.",
            )
        tools = read_registry(registry).to_document()
        request = RunRequest(prompt="", registry=tools, system=read_text(str(path)), constraint="off")
        sampling = msgspec.structs.replace(request.sampling, temperature=TEMPERATURE)
    if temperature is not None:
        sampling = msgspec.structs.replace(sampling, temperature=temperature)
    return msgspec.structs.replace(request, sampling=sampling, **given)


def _names(first: Path, second: Path) -> tuple[str, str]:
    """The files' names if they differ, otherwise A and B."""
    return (first.stem, second.stem) if first.stem != second.stem else ("A", "B")


def _print(report: AbReport) -> None:
    table = TextTable("seed", *report.names, right=("seed",))
    for pair in report.pairs:
        table.add_row(str(pair.seed), *(_trial_words(pair, place) for place in (0, 1)))
        if pair.difference:
            table.add_row("", Text(f"  {visible(pair.difference)}", "dim"), "")
    console().print(table)
    differ = ", ".join(report.differ) or "nothing"
    print_text(f"Differences: {differ}.")
    if None not in report.prompt_tokens:
        one, other = (f"{name} {tokens:,}" for name, tokens in zip(report.names, report.prompt_tokens))
        print_text(f"Prompt tokens: {one}, {other}.")
    for line in report.words:
        print_text(line)


def _trial_words(pair: AbPair, place: int) -> str:
    trial = (pair.first, pair.second)[place]
    mark = "·" if trial.ok is None else "✓" if trial.ok else "✗"
    words = visible(trial.call if trial.ok or not trial.why else trial.why)
    return f"{mark} {shorten(words, _MAX_LENGTH)}"
