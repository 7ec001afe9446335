"""`glyphscope branch`: repeat a recorded run from one of its tokens on, with that token replaced. `glyphscope explain`:
the probability that a run's constraint masked, the keywords behind it, and branches to try.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import percent
from glyphscope.cli.inputs import InputError
from glyphscope.cli.interaction import TerminalInteraction
from glyphscope.cli.load_options import LoadingOption, StoredPromptsOption, opened
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, model_option
from glyphscope.cli.output import TextTable, console, print_json, print_text, short_pointer
from glyphscope.cli.running import exit_code, show
from glyphscope.cli.signals import closing_when_ended
from glyphscope.cli.streaming import interruptible, recorded
from glyphscope.events import (
    DEFAULT_LOAD,
    AnyEvent,
    ConstraintKind,
    LoadOptions,
    ModelInfo,
    RunRequest,
    RunStarted,
)
from glyphscope.explain.constraint_attribution import Attribution
from glyphscope.explain.impact import (
    FieldImpact,
    MaskImpact,
    field_name,
    head,
    loss_words,
    mask_impact,
    masked_words,
    preferred_words,
    sampled_words,
    worst_words,
)
from glyphscope.explain.relaxing import RelaxationCost, cost_words, relaxation_cost
from glyphscope.explain.retokenization import (
    TokenBoundaries,
    boundaries_of,
    boundary_diff_words,
    boundary_words,
)
from glyphscope.models.interface import Model, same_model
from glyphscope.models.remote import is_address
from glyphscope.registry import ToolRegistry
from glyphscope.runs import RunState, StageState, branch_request, named_alternative, run_state
from glyphscope.runs.strategies import run as run_request
from glyphscope.store import RecordWriter
from glyphscope.store.bundle import read_run
from glyphscope.store.named_models import RECORDED


@with_groups
def branch(
    *,
    file: Annotated[
        Path,
        typer.Argument(metavar="RUN.jsonl", help="A record of `glyphscope run --record`, or of a branch."),
    ],
    at: Annotated[
        int,
        typer.Option(
            "--at",
            metavar="TOKEN",
            help="Index of the first token to replace, from 0; the number of tokens keeps all.",
        ),
    ],
    take: Annotated[
        str | None,
        typer.Option(
            "--take",
            metavar="ID|TEXT",
            help="An alternative of that token, by text or id (#10 is always an id).",
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Replace the token with this text.")
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the token and let the model continue.")
    ] = False,
    constraint: Annotated[
        ConstraintKind | None, typer.Option(help="Replaces the run's constraint; off removes it.")
    ] = None,
    relax: Annotated[
        str | None,
        typer.Option(
            "--relax",
            metavar="TOOL:/POINTER",
            help="Remove this keyword of the tool's parameters from the constraint, as in "
            "search:/properties/max_results/maximum, or this rule of the answer's grammar, as in answer:/RULE; "
            "the cost is printed.",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of tokens that the model adds. Default: the run's."),
    ] = None,
    model: Annotated[str | None, model_option("Default: the run's.")] = None,
    loading: LoadingOption,
    stored: StoredPromptsOption,
    record: Annotated[
        Path | None, typer.Option(metavar="OUT.jsonl", help="Record the branch in this file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Continue a recorded run from any token: take another alternative, type a text, or delete the rest.

    The branch is a separate run with the run's settings, context, KV type, flash attention and batch size. It executes
    no call. Exit codes: see `run`.
    """
    events = read_run(file).events
    request = _request(events, at, take, text, delete, constraint, relax)
    if max_tokens is not None:
        request = msgspec.structs.replace(request, max_tokens=max_tokens)
    started = next(event for event in events if isinstance(event, RunStarted))
    name = model or started.request.model or started.model.path
    if name.startswith(RECORDED):
        raise InputError(
            "A record cannot continue from tokens that it does not have.",
            where=name,
            hint="Name the model that wrote it with --model.",
        )
    options = loading.options(name, options_of(started.model) if model is None else None)
    request = msgspec.structs.replace(request, model=name)
    with ExitStack() as stack:
        stack.enter_context(closing_when_ended())
        writer = stack.enter_context(RecordWriter(record)) if record else None
        source = stack.enter_context(opened(name, options=options, prompts=stored.cache, quiet=as_json))
        interaction = TerminalInteraction({})
        generation = stack.enter_context(closing(run_request(request, source, interaction)))
        generated = stack.enter_context(closing(interruptible(generation, source, interaction)))
        kept: list[AnyEvent] = []
        state = show(_keeping(recorded(generated, writer), kept), as_json=as_json)
    if relax and not as_json and state.failed is None:
        print_cost(relaxation_cost(events, kept))
    raise typer.Exit(exit_code(state))


def options_of(model: ModelInfo) -> LoadOptions:
    """The run's load options that change its result; its threads and GPU may be those of another machine."""
    usual = LoadOptions(context=max(16, model.context or DEFAULT_LOAD.context))
    if model.load is None:
        return usual
    load = model.load
    return msgspec.structs.replace(
        usual,
        kv_type=load.kv_type,
        flash_attention=load.flash_attention,
        batch=load.batch_size,
        lora=load.lora,
    )


def _request(
    events: tuple[AnyEvent, ...],
    at: int,
    take: str | None,
    text: str | None,
    delete: bool,
    constraint: ConstraintKind | None,
    relax: str | None,
) -> RunRequest:
    """Raises InputError, PromptError and RegistryError."""
    if sum((take is not None, text is not None, delete)) != 1:
        raise InputError(
            "A token is replaced in exactly one way.",
            hint="Give one of --take ID|TEXT, --text TEXT and --delete.",
        )
    if text == "":
        raise InputError("The text is empty.", where="--text", hint="Use --delete to put nothing there.")
    replacement: dict[str, Any] = {"text": text or ""}
    if take is not None:
        taken = named_alternative(events, at, take)
        # an endpoint may not send ids; then only the text of its token can be sent back
        replacement = {"text": taken.text} if taken.id < 0 else {"take": taken.id}
    return branch_request(events, at, **replacement, constraint=constraint, relax=_place(relax))


def _place(relax: str | None) -> tuple[str, str] | None:
    if relax is None:
        return None
    tool, colon, pointer = relax.partition(":/")
    if not (tool and colon):
        raise InputError(
            f"{relax!r} names no constraint.",
            where="--relax",
            hint="Give a tool and a JSON Pointer into its parameters: search:/properties/max_results/maximum, "
            "or a rule of the answer's grammar: answer:/RULE.",
        )
    return tool, f"/{pointer}"


def _keeping(events: Iterator[AnyEvent], kept: list[AnyEvent]) -> Iterator[AnyEvent]:
    for event in events:
        kept.append(event)
        yield event


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


def _boundaries(stage: StageState, writer: Model | None, why: str) -> TokenBoundaries:
    if writer is None:
        return TokenBoundaries(unknown=why)
    prompt = stage.prompt.text if stage.prompt is not None else ""
    return boundaries_of(prompt, [token.step for token in stage.tokens], writer)


def _print(impact: MaskImpact, boundaries: TokenBoundaries, registry: ToolRegistry | None) -> None:
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
    titles = ("field", "masked tokens", "most", "preferred", "sampled", "blocked by")
    table = TextTable(*titles, right=("masked tokens", "most"))
    for field in impact.fields:
        table.add_row(*_row(field))
    return table


def _row(field: FieldImpact) -> Iterator[str]:
    masked = field.worst
    yield short_pointer(field_name(field))
    yield masked_words(field, "unknown")
    yield f"{percent(field.most)} at {field.most_token}" if field.most_token is not None else ""
    yield preferred_words(masked) if masked is not None else ""
    yield sampled_words(masked) if masked is not None else ""
    yield masked.attribution.keyword if masked is not None and masked.attribution is not None else ""


def _as_json(stage: StageState, impact: MaskImpact, boundaries: TokenBoundaries) -> dict[str, Any]:
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
