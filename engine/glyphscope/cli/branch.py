"""`glyphscope branch`: repeat a recorded run from one of its tokens on, with that token replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from glyphscope.cli.explain import print_cost
from glyphscope.cli.inputs import InputError
from glyphscope.cli.interaction import TerminalInteraction
from glyphscope.cli.load_options import Loading, StoredPrompts, opened
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, model_option
from glyphscope.cli.run import exit_code, show
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
from glyphscope.explain.relaxing import relaxation_cost
from glyphscope.runs import branch_request, named_alternative
from glyphscope.sessions import RecordWriter
from glyphscope.sessions.bundle import read_run
from glyphscope.sessions.named_models import RECORDED
from glyphscope.strategies import run as run_request


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
            help="Remove this keyword of the tool's parameters from the constraint, "
            "as in search:/properties/max_results/maximum; the cost is printed.",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of tokens that the model adds. Default: the run's."),
    ] = None,
    model: Annotated[str | None, model_option("Default: the run's.")] = None,
    loading: Loading,
    stored: StoredPrompts,
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
        usual, kv_type=load.kv_type, flash_attention=load.flash_attention, batch=load.batch_size
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
            hint="Give a tool and a JSON Pointer into its parameters: search:/properties/max_results/maximum.",
        )
    return tool, f"/{pointer}"


def _keeping(events: Iterator[AnyEvent], kept: list[AnyEvent]) -> Iterator[AnyEvent]:
    for event in events:
        kept.append(event)
        yield event
