"""`glyphscope replay`: show a recorded run again, unchanged or with the current validator."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from glyphscope.cli.inputs import InputError
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import print_json, print_note, print_text
from glyphscope.cli.run import show
from glyphscope.events import (
    AnyEvent,
    PromptRendered,
    RunFailed,
    RunFinished,
    RunStarted,
    StageStarted,
    decode_event,
    encode_event,
)
from glyphscope.execution.recorded import RecordedInteraction
from glyphscope.models.recorded import RecordedModel
from glyphscope.runs import CONTINUATION
from glyphscope.sessions import Record, first_difference, strip_words
from glyphscope.sessions.bundle import read_run
from glyphscope.strategies import run
from glyphscope.text.figures import pluralize


def replay(
    file: Annotated[
        Path, typer.Argument(metavar="RUN", help="A record of `glyphscope run --record`, or a bundle of one.")
    ],
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Run the recorded tokens again and compare every event but its time."),
    ] = False,
    speed: Annotated[
        float, typer.Option(min=0.0, help="Speed: 1 is the original, 2 twice as fast, 0 without waiting.")
    ] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Show a recorded run again. With --verify, show the first difference, if any, with exit code 1."""
    record = read_run(file)
    warn_if_torn(record, file)
    if verify:
        raise typer.Exit(_verify(record, file, as_json))
    show(_paced(record.events, speed), as_json=as_json)


def warn_if_torn(record: Record, file: Path) -> None:
    """Report omitted parts of the record on stderr."""
    if record.torn:
        print_note(f"{file}: the last line is incomplete and was skipped.")


def rerun(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    """The events of the recorded tokens with the current validator. Raises InputError without a start."""
    events = list(events)
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    if started is None:
        raise InputError(
            "The record lacks the beginning of a run.",
            hint="Show it without --verify, or give the whole record.",
        )
    if any(isinstance(event, StageStarted) and event.stage == CONTINUATION for event in events):
        raise InputError(
            "A continuation cannot be replayed without the run that it continues.",
            hint="Verify the run itself.",
        )
    return list(run(started.request, RecordedModel(events), RecordedInteraction(events)))


def _verify(record: Record, file: Path, as_json: bool) -> int:
    """Compare the events, up to the last one of an incomplete record; reworded messages are not differences."""
    whole = any(isinstance(event, RunFinished | RunFailed) for event in record.events)
    then, now = list(_comparable(record.events)), list(_comparable(rerun(record.events)))
    reworded = first_difference(then, now, whole=whole)
    difference = reworded and first_difference(map(strip_words, then), map(strip_words, now), whole=whole)
    if difference:
        reworded = ""
    count = len(record.events)
    if as_json:
        found = {"equal": not difference, "events": count, "whole": whole}
        print_json({**found, "difference": difference, "reworded": reworded})
        return 1 if difference else 0
    verdict = f"✗ {difference}" if difference else f"✓ the same {pluralize(count, 'event')}"
    if reworded:
        verdict += f", worded differently by this version: {reworded}"
    if not whole:
        verdict += ", as far as the record goes: it lacks the end of the run"
    print_text(f"{file}: {verdict}")
    return 1 if difference else 0


def _comparable(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """The events as in a record, without facts about its model: kind, load options, versions, costs."""
    for event in events:
        event = decode_event(encode_event(event))
        if isinstance(event, RunStarted):
            model = msgspec.structs.replace(event.model, kind="recorded", load=None)
            event = msgspec.structs.replace(event, model=model, versions={})
        elif isinstance(event, PromptRendered):
            event = msgspec.structs.replace(event, parts=(), lengths=())
        yield event


def _paced(events: Iterable[AnyEvent], speed: float) -> Iterator[AnyEvent]:
    """The events at their original times, divided by `speed`; immediately for 0."""
    start = time.perf_counter()
    for event in events:
        if speed:
            time.sleep(max(0.0, event.t / speed - (time.perf_counter() - start)))
        yield event
