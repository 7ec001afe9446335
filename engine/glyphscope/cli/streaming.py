"""The events of runs on their way to the terminal: recorded, cancelled by Ctrl-C, and for consecutive runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from glyphscope.base.errors import StorageError
from glyphscope.cli.inputs import InputError
from glyphscope.cli.interaction import TerminalInteraction
from glyphscope.cli.output import diagnostics
from glyphscope.evals.matrix.plan import Planned
from glyphscope.evals.running.local_workers import run_samples
from glyphscope.evals.running.progress import Control
from glyphscope.events import AnyEvent, RunStarted
from glyphscope.models.interface import Model
from glyphscope.runs import RunState, run_state
from glyphscope.runs.strategies import cancellable
from glyphscope.store import RecordWriter, atomic_write
from glyphscope.store.files import own_file
from glyphscope.store.records import encode_record

BAD_REQUEST = frozenset(
    {"BAD_REQUEST", "PROMPT_FAILED", "CONTEXT_OVERFLOW", "CONSTRAINT_FAILED", "CONSTRAINT_IGNORED"}
)
"""Failures caused by the request, not by the model: bad input, exit code 2."""


def recorded(events: Iterable[AnyEvent], writer: RecordWriter | None) -> Iterator[AnyEvent]:
    """Yield the events and write them. A full disk does not end the run: closing the writer reports it."""
    for event in events:
        if writer is not None:
            try:
                writer.write(event)
            except StorageError:
                if isinstance(event, RunStarted):  # the place is not writable
                    raise
        yield event


def interruptible(
    events: Iterable[AnyEvent], model: Model, interaction: TerminalInteraction
) -> Generator[AnyEvent, None, None]:
    """Yield the events; the first Ctrl-C cancels the run, which ends with its last event; the second interrupts."""

    def cancel() -> None:
        interaction.cancelled.set()
        model.cancel()

    with on_first_interrupt(cancel):
        yield from cancellable(events, model, interaction)


def run_all(
    samples: Sequence[Planned], model: Model, records: Path | None, *, quiet: bool
) -> Generator[tuple[Planned, RunState], None, None]:
    """Run the samples in order, and fewer of them if interrupted: the last one is then cancelled. `records` gets
    SCENARIO-SEED.jsonl for each.

    Raises InputError if a request cannot be run at all, StorageError if nothing can be written.
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
    control = Control()
    runs = run_samples(
        samples, model, lambda cancelled: TerminalInteraction({}, cancelled=cancelled), control
    )
    with bar, on_first_interrupt(control.stop), closing(runs):
        task = bar.add_task("running", total=len(samples))
        for made in runs:
            (events,) = made.runs
            if records is not None:
                name = f"{made.planned.scenario.id}-{made.planned.seed}.jsonl"
                atomic_write(own_file(records, name), encode_record(events))
            state = run_state(events)
            if state.failed is not None and state.failed.code in BAD_REQUEST:
                raise InputError(state.failed.message, hint=state.failed.hint)
            yield made.planned, state
            bar.update(task, advance=1)


def interrupted(states: Collection[RunState], samples: Sequence[Planned]) -> bool:
    """Whether `run_all` was interrupted."""
    return len(states) < len(samples) or any(state.outcome == "cancelled" for state in states)


@contextmanager
def on_first_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls `stop`; the second interrupts."""

    def interrupted(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        stop()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
