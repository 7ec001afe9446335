"""`glyphscope replay`, `bundle` and `export`: a recorded run, shown again or as files for others."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from glyphscope.base.figures import byte_size, pluralize
from glyphscope.cli.inputs import InputError
from glyphscope.cli.options import JsonOption, out_option
from glyphscope.cli.output import print_json, print_line, print_note, print_text
from glyphscope.cli.running import show
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
from glyphscope.models.recorded import RecordedModel
from glyphscope.runs import CONTINUATION
from glyphscope.runs.recorded import RecordedInteraction
from glyphscope.runs.strategies import run
from glyphscope.store import Record, first_difference, strip_words
from glyphscope.store.bundle import MANIFEST, export_file, export_page, read_run, redacted, write_bundle
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.forms import EXPORTS, export_forms, exporter, request_note
from glyphscope.store.files import atomic_write


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


def repeated(events: Iterable[AnyEvent]) -> tuple[list[AnyEvent], list[AnyEvent]]:
    """The events, and those of the recorded tokens with the current validator, both as they can be compared.

    Raises InputError without a start.
    """
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
    again = run(started.request, RecordedModel(events), RecordedInteraction(events))
    return list(_comparable(events)), list(_comparable(again))


def _verify(record: Record, file: Path, as_json: bool) -> int:
    """Compare the events, up to the last one of an incomplete record; reworded messages are not differences."""
    whole = any(isinstance(event, RunFinished | RunFailed) for event in record.events)
    then, now = repeated(record.events)
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


if TYPE_CHECKING:
    FormName = str
else:  # the choices of an option
    FormName = Literal[export_forms()]


def bundle(
    file: Annotated[Path, typer.Argument(metavar="RUN.jsonl", help="A record of `glyphscope run --record`.")],
    out: Annotated[Path, out_option("The bundle to write (.glyphrun).")],
    as_json: JsonOption = False,
) -> None:
    """Pack a recorded run into one file: record, registry, prompt, grammars, schema and tools.

    --json prints its manifest. Missing parts are listed with the reason.
    """
    record = read_run(file)
    warn_if_torn(record, file)
    manifest = write_bundle(out, record.events, str(file))
    if as_json:
        print_json(manifest)
        return
    size = out.stat().st_size
    names = ", ".join(sorted({*manifest.files, MANIFEST}))
    print_text(f"{out}: {byte_size(size)}, {pluralize(manifest.events, 'event')}; {names}")
    for name, reason in manifest.missing.items():
        print_note(f"  without {name}: {reason}")
    for note in manifest.notes:
        print_note(f"  {note}")


def export(
    arguments: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="A bundle (.glyphrun) or a record (.jsonl); for html up to 4, which are shown side by side, for otel "
            "any number.",
        ),
    ],
    to: Annotated[
        FormName | None,
        typer.Option(
            help="The form, which can also be the first argument. html is one page on which a reader goes through the "
            "run in a browser; gbnf is llama.cpp's grammar, lark llguidance's; pytest contains the verdicts as tests, "
            "curl sends the same request to llama-server, chat-request, responses-request and messages-request are the "
            "body that those APIs take, openai-messages is the conversation with the answer; "
            "openai-tool-calls, calls, results (of tools, complete), answer and prompt are parts of it; otel is the "
            "run as OpenTelemetry spans.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, out_option("The file to write.", show_default="standard output")] = None,
    endpoint: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="With otel: send the spans to this receiver of OTLP over HTTP, such as http://127.0.0.1:4318.",
        ),
    ] = "",
    content: Annotated[
        bool,
        typer.Option("--content", help="With otel: include prompts, answers, arguments and results."),
    ] = False,
) -> None:
    """Export a run as a page for a browser, as spans, or print its constraint or request in the format of another
    program.
    """
    if to is None and str(arguments[0]) in export_forms():
        to, arguments = str(arguments[0]), arguments[1:]
    if to is None:
        raise InputError("No form is given.", where="--to", hint="Such as: glyphscope export RUN --to html")
    if not arguments:
        raise InputError("No run is given.", where=to, hint=f"Such as: glyphscope export {to} RUN.jsonl")
    added = None if to in EXPORTS else exporter(to)
    if len(arguments) > 1 and added is None and to != "html":
        raise InputError(
            f"{to} is of one run, and {len(arguments)} are given.",
            where=str(arguments[1]),
            hint="Export each separately, or several together with --to html or --to otel.",
        )
    if (content and added is None) or (endpoint and (added is None or added.send is None)):
        raise InputError(
            "This option is only for OpenTelemetry spans.",
            where="--endpoint" if endpoint else "--content",
            hint=f"Such as: glyphscope export otel {arguments[0]} --endpoint http://127.0.0.1:4318",
        )
    if added is not None:
        made = added.make([_redacted_run(path) for path in arguments], content)
        if added.send is not None and endpoint:
            added.send(made, endpoint)
            print_note(f"{pluralize(len(made), added.noun)} sent to {endpoint}.")
            if out is None:
                return
        text = added.text(made)
    else:
        text = export_page(arguments) if to == "html" else export_file(arguments[0], to)
        if to.endswith("-request") and (left := request_note(to, _redacted_run(arguments[0]))):
            print_note(left)
    if out is not None:
        atomic_write(out, text)
    else:
        print_line(text.removesuffix("\n").encode())


def _redacted_run(path: Path) -> RecordedRun:
    """The run without details of this computer; reports omitted parts of the record on stderr."""
    record = read_run(path)
    warn_if_torn(record, path)
    return RecordedRun(redacted(record.events), str(path))
