"""`glyphscope explain`: the probability that a run's constraint masked, the keywords behind it, and changes to try."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from glyphscope.cli.inputs import InputError
from glyphscope.cli.load_options import opened
from glyphscope.cli.options import JsonOption, model_option
from glyphscope.cli.output import TextTable, console, print_json, print_text, short_pointer
from glyphscope.cli.signals import closing_when_ended
from glyphscope.errors import GlyphscopeError
from glyphscope.events import LoadOptions
from glyphscope.explain.constraint_attribution import Attribution
from glyphscope.explain.impact import (
    FieldImpact,
    MaskImpact,
    field_name,
    head,
    loss_words,
    mask_impact,
    preferred_words,
    sampled_words,
    tokens_taken,
    worst_words,
)
from glyphscope.explain.relaxing import RelaxationCost, cost_words, relaxation_cost
from glyphscope.explain.retokenization import Boundaries, boundaries_of, boundary_diff_words, boundary_words
from glyphscope.models.interface import Model, same_model
from glyphscope.models.remote import is_address
from glyphscope.registry import ToolRegistry
from glyphscope.runs import RunState, StageState, run_state
from glyphscope.sessions.bundle import read_run
from glyphscope.text.figures import percent

_MIN_CONTEXT = 16
"""The context, in tokens, of a model that is opened only to tokenize."""
_PLACES = 12
"""The maximum number of places of other tokens that are listed one by one."""


def explain(
    file: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A record of `glyphscope run --record`, or a .glyphrun bundle."),
    ],
    of: Annotated[
        Path | None,
        typer.Option(
            "--of",
            metavar="RUN",
            help="The run that this one branches from: prints the cost of the relaxation.",
        ),
    ] = None,
    model: Annotated[str | None, model_option("The model of the run. Default: its recorded path.")] = None,
    tokens: Annotated[
        bool,
        typer.Option(
            "--tokens/--no-tokens",
            help="Open the model of the run and compare token boundaries with its usual ones.",
        ),
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Show the mask impact: by field, the probability removed, the keyword that removed it, and possible changes.

    All probabilities are the model's own (raw). Exit code 2 if the record cannot be read.
    """
    events = read_run(file).events
    state = run_state(events)
    if state.started is None:
        raise InputError(
            "The record does not contain the beginning of a run.",
            where=str(file),
            hint="Give the whole record.",
        )
    cost = relaxation_cost(read_run(of).events, events) if of is not None else None
    stages = [stage for stage in state.stages if stage.tokens]
    impacts = [(stage, mask_impact(state, stage)) for stage in stages]
    with ExitStack() as stack:
        stack.enter_context(closing_when_ended())
        writer, why = _writer(stack, state, model, as_json) if tokens else (None, "--no-tokens was given")
        compared = [_boundaries(stage, writer, why) for stage in stages]
    if as_json:
        answer: dict[str, Any] = {
            "run": state.started.run,
            "stages": [_as_json(*each, boundaries) for each, boundaries in zip(impacts, compared)],
        }
        if cost is not None:
            answer["relaxation"] = asdict(cost)
        print_json(answer)
        return
    registry = state.registry
    for (stage, impact), boundaries in zip(impacts, compared):
        if len(stages) > 1:
            print_text(stage.title or stage.name, "bold blue")
        _print(impact, boundaries, registry)
    if not stages:
        print_text("The run has no tokens.")
    if cost is not None:
        print_cost(cost)


def print_cost(cost: RelaxationCost) -> None:
    """Print the cost of a relaxed branch, one sentence per line."""
    for line in cost_words(cost):
        print_text(line)


def _writer(stack: ExitStack, state: RunState, name: str | None, quiet: bool) -> tuple[Model | None, str]:
    """The model that wrote the run, or the reason why it is not available."""
    assert state.started is not None, "it was looked at"
    info = state.started.model
    if info.kind != "llama.cpp":
        return None, f"a {info.kind} model has no tokenizer"
    if name is not None and is_address(name):
        raise InputError(
            "The tokenizer of an endpoint is not available.", where=name, hint="Use the model's file."
        )
    asked = state.started.request.model
    where = info.path if Path(info.path).is_file() or not asked else asked
    try:
        writer = stack.enter_context(
            opened(name or where, options=LoadOptions(context=_MIN_CONTEXT), quiet=quiet)
        )
    except GlyphscopeError as error:
        if name is not None:
            raise
        return None, f"{error.message.rstrip('.')} (name the model with --model)"
    if not same_model(writer.info, info):
        return None, f"{writer.info.name} is not the file that wrote the run"
    return writer, ""


def _boundaries(stage: StageState, writer: Model | None, why: str) -> Boundaries:
    if writer is None:
        return Boundaries(unknown=why)
    prompt = stage.prompt.text if stage.prompt is not None else ""
    return boundaries_of(prompt, [token.step for token in stage.tokens], writer)


def _print(impact: MaskImpact, boundaries: Boundaries, registry: ToolRegistry | None) -> None:
    out = console()
    print_text(head(impact), "bold")
    if impact.constrained:
        out.print(_table(impact))
        for field in impact.conflicts:
            print_text(f"{field_name(field)}: {loss_words(field)}", "bold")
            for line in worst_words(field, registry):
                print_text(f"  {line}")
    print_text(boundary_words(boundaries))
    for one in boundaries.differences[:_PLACES]:
        print_text(f"  token {one.first}: {boundary_diff_words(one)}")
    if len(boundaries.differences) > _PLACES:
        print_text(f"  … and {len(boundaries.differences) - _PLACES} more places")


def _table(impact: MaskImpact) -> TextTable:
    titles = ("field", "masked mass", "most", "preferred", "sampled", "blocked by")
    table = TextTable(*titles, right=("masked mass", "most"))
    for field in impact.fields:
        table.add_row(*_row(field))
    return table


def _row(field: FieldImpact) -> Iterator[str]:
    known = field.tokens > field.unknown
    masked = field.worst
    yield short_pointer(field_name(field))
    yield tokens_taken(field.lost) if known else "unknown"
    yield f"{percent(field.most)} at {field.most_token}" if field.most_token is not None else ""
    yield preferred_words(masked) if masked is not None else ""
    yield sampled_words(masked) if masked is not None else ""
    yield masked.attribution.keyword if masked is not None and masked.attribution is not None else ""


def _as_json(stage: StageState, impact: MaskImpact, boundaries: Boundaries) -> dict[str, Any]:
    return {
        "stage": stage.name,
        "held": impact.constrained,
        "fights": [field.path for field in impact.conflicts],
        "fields": [asdict(field, dict_factory=_keys) for field in impact.fields],
        "tokens": {
            "unknown": boundaries.unknown,
            "canonical": boundaries.canonical,
            "tokens": boundaries.tokens if not boundaries.unknown else None,
            "own": boundaries.own if not boundaries.unknown else None,
            "otherwise": [asdict(one, dict_factory=_keys) for one in boundaries.differences],
        },
    }


_KEYS = {
    "worst": "fight", "masked": "struck", "preferred": "wanted", "preferred_raw": "wanted_raw", "sampled": "got",
    "sampled_raw": "got_raw", "states": "tells", "attribution": "refused",
}  # fmt: skip
"""The keys of the JSON output that differ from the attributes' names."""


def _keys(members: list[tuple[str, Any]]) -> dict[str, Any]:
    return {
        _KEYS.get(name, name): value._asdict() if isinstance(value, Attribution) else value
        for name, value in members
    }
