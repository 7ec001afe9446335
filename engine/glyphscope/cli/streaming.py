"""The events of runs on their way to the terminal: recorded, cancelled by Ctrl-C, and several runs in a row."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import FrameType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from glyphscope.cli.inputs import InputError
from glyphscope.cli.interaction import TerminalInteraction
from glyphscope.cli.output import diagnostics
from glyphscope.errors import StorageError
from glyphscope.events import AnyEvent, RunRequest, RunStarted
from glyphscope.models import Model
from glyphscope.runs import RunState, reduce_event
from glyphscope.sessions import RecordWriter
from glyphscope.strategies import run as run_request

BAD_REQUEST = frozenset(
    {"BAD_REQUEST", "PROMPT_FAILED", "CONTEXT_OVERFLOW", "CONSTRAINT_FAILED", "CONSTRAINT_IGNORED"}
)
"""What fails by what was asked for, not by the model: bad input, exit code 2."""


def recorded(events: Iterable[AnyEvent], writer: RecordWriter | None) -> Iterator[AnyEvent]:
    """The events, written on the way. A disk that fills up on it does not end the run: the writer's end tells it."""
    for event in events:
        if writer is not None:
            try:
                writer.write(event)
            except StorageError:
                if isinstance(event, RunStarted):  # a place where nothing can be written
                    raise
        yield event


def cancellable(
    events: Iterable[AnyEvent], model: Model, interaction: TerminalInteraction
) -> Generator[AnyEvent, None, None]:
    """The first Ctrl-C cancels what goes on, so that the run ends by its own last event; the second interrupts."""
    cancelled = False

    def cancel(number: int, frame: FrameType | None) -> None:
        nonlocal cancelled
        cancelled = True
        signal.signal(signal.SIGINT, before)
        interaction.cancelled.set()
        model.cancel()

    before = signal.signal(signal.SIGINT, cancel)
    try:
        for event in events:
            yield event
            if cancelled:
                model.cancel()  # the first time may have been before there was a generation to cancel
    finally:
        signal.signal(signal.SIGINT, before)


def run_all(
    jobs: Sequence[tuple[str, RunRequest]], model: Model, records: Path | None, *, quiet: bool
) -> list[RunState]:
    """Run the requests in order, fewer of them where somebody interrupted. `records` gets NAME.jsonl of each.

    Raises InputError where a request cannot be run at all, StorageError where nothing can be written.
    """
    if records is not None:
        try:
            records.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Not a folder to write to: {error.strerror}.", where=str(records)) from None
    out = diagnostics()
    bar = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), console=out, transient=True,
        disable=quiet or not out.is_terminal,
    )  # fmt: skip
    states: list[RunState] = []
    with bar:
        task = bar.add_task("running", total=len(jobs))
        for name, request in jobs:
            states.append(_run(request, model, None if records is None else records / f"{name}.jsonl"))
            bar.update(task, advance=1)
            if states[-1].outcome == "cancelled":
                break
    return states


def _run(request: RunRequest, model: Model, path: Path | None) -> RunState:
    state = RunState()
    with ExitStack() as stack:
        writer = stack.enter_context(RecordWriter(path)) if path else None
        interaction = TerminalInteraction({})
        generation = stack.enter_context(closing(run_request(request, model, interaction)))
        told = stack.enter_context(closing(cancellable(generation, model, interaction)))
        for event in recorded(told, writer):
            reduce_event(state, event)
    if state.failed is not None and state.failed.code in BAD_REQUEST:
        raise InputError(state.failed.message, hint=state.failed.hint)
    return state
