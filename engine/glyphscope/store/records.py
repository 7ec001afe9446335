"""Run records: JSON Lines with a header and one event per line, written during the run; and the comparison of two event
streams of one run.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.base.inputs import read_file, refuse_special, storage_error
from glyphscope.base.json_values import json_or_text
from glyphscope.events import (
    Aborted,
    AnyEvent,
    ConstraintReady,
    FieldChanged,
    FieldClosed,
    FieldOpened,
    LimitReached,
    PromptEvaluated,
    PromptRendered,
    RepairTried,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    SegmentClosed,
    SegmentKind,
    SegmentOpened,
    StageFinished,
    Token,
    ToolKnown,
    ToolProgressed,
    ToolResult,
    Violation,
    decode_event,
    encode_event,
)
from glyphscope.events.encoding import encode_json
from glyphscope.store.files import Migrations, convert_versioned, digest_of, now, own_file

VERSION = 1
_KEY = "glyphscope_record"
_MIGRATIONS: Migrations = {}


class RecordHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that determine whether a run can be repeated; `registry` is the registry's digest, `sha256` the model's."""

    glyphscope_record: int = VERSION
    time: str = ""
    model: str = ""
    sha256: str = ""
    quantisation: str = ""
    seed: int | None = None
    registry: str = ""
    versions: dict[str, str] = {}


class Record(NamedTuple):
    """A record that was read; `torn` if its last line was cut off and is omitted."""

    header: RecordHeader
    events: tuple[AnyEvent, ...]
    torn: bool


def header_of(event: RunEvent) -> RecordHeader:
    """The header of the record that begins with `event`, the run's RunStarted."""
    if not isinstance(event, RunStarted):
        return RecordHeader(time=now())
    return RecordHeader(
        time=event.time,
        model=event.model.name,
        sha256=event.model.sha256,
        quantisation=event.model.quantisation,
        seed=event.request.sampling.seed,
        registry=digest_of(json.dumps(event.request.registry, ensure_ascii=True).encode()),
        versions=event.versions,
    )


class RecordWriter:
    """Write a record line by line next to `path` (`….part`), and rename it to `path` at the end.

    An older record at `path` is kept until then; the part of a killed process is a record with an incomplete last line.
    Raises StorageError; the events recorded so far stay in the part, which never replaces the older record, and further
    calls of `write` and `close` raise the same error.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.parent / f"{path.name}.part"
        self._file: BinaryIO | None = None
        self._failed: StorageError | None = None

    def write(self, event: RunEvent) -> None:
        if self._failed is not None:
            raise self._failed
        try:
            if self._file is None:
                refuse_special(self.path)
                self.part.parent.mkdir(parents=True, exist_ok=True)
                part = own_file(self.part.parent, self.part.name, in_place=True)
                self._file = open(part, "wb")  # noqa: SIM115 - it stays open for the whole run
                self._file.write(encode_json(header_of(event)) + b"\n")
            self._file.write(encode_event(event) + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._fail(error) from error

    def close(self) -> None:
        """Rename the part to the record's path. Without events, no file is written."""
        file, self._file = self._file, None
        if self._failed is not None:
            raise self._failed
        if file is None:
            return
        try:
            try:
                file.flush()
                os.fsync(file.fileno())
            finally:
                file.close()
            os.replace(self.part, self.path)
        except OSError as error:
            raise self._fail(error) from error

    def _fail(self, error: OSError) -> StorageError:
        file, self._file = self._file, None
        failure = storage_error(error, self.path, "written")
        if file is not None:
            with suppress(OSError):  # its buffer cannot be written, either
                file.close()
            failure = StorageError(
                failure.message,
                where=failure.where,
                hint=f"{failure.hint} What was recorded until then is in {self.part.name}.",
            )
        self._failed = failure
        return failure

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_record(path: Path) -> Record:
    """Read a record. Raises StorageError, or RecordError, with the line (from 1), if it is damaged or newer."""
    return parse_record(read_file(path), str(path))


def parse_record(data: bytes, where: str = "") -> Record:
    """`read_record` for a record's bytes."""
    lines = data.split(b"\n")
    cut = lines.pop()  # the text after the last line end: empty, or a torn line
    if cut.strip():
        lines.append(cut)
    if not lines:
        raise RecordError("The record is empty.", where=where)
    versions = (_KEY, VERSION, _MIGRATIONS)
    header = convert_versioned(json_or_text(lines[0]), RecordHeader, versions, where, what="Line 1")
    events: list[AnyEvent] = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            events.append(decode_event(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if number == len(lines) and line is cut:
                return Record(header, tuple(events), torn=True)
            raise RecordError(
                f"Line {number} is damaged: {error}.", where=where, hint="The lines before it are whole."
            ) from None
    return Record(header, tuple(events), torn=False)


def encode_record(events: Iterable[AnyEvent]) -> bytes:
    """The whole record of a finished run."""
    lines = list(events)
    head = [encode_json(header_of(lines[0]))] if lines else []
    return b"".join(line + b"\n" for line in (*head, *map(encode_event, lines)))


_VOLATILE: dict[type[AnyEvent], dict[str, Any]] = {
    RunStarted: {"time": ""},
    PromptRendered: {"cached": 0, "restored": 0, "lengths": ()},  # older records have no lengths
    StageFinished: {"cached": 0, "prompt_ms": 0.0, "ms": 0.0},
    ToolResult: {"ms": 0.0, "waited_ms": 0.0},
    RunFinished: {"prompt_ms": 0.0, "first_token_ms": 0.0, "total_ms": 0.0},
}
"""The fields of events that differ from run to run."""
_WORDS: dict[type[AnyEvent], dict[str, Any]] = {
    Violation: {"message": "", "viable": ""},
    FieldChanged: {
        "status": "open"
    },  # which follows from the violations: early records have unknown arguments open
    FieldClosed: {"status": "open"},
    Aborted: {"message": "", "viable": ""},
    RunFailed: {"message": "", "hint": ""},
    RepairTried: {"message": ""},
    LimitReached: {"message": ""},
    StageFinished: {"note": ""},
}
"""The fields that contain the words of a verdict."""


def strip_times(event: AnyEvent) -> AnyEvent | None:
    """The event without the fields that differ from run to run (ids, times, cache hits). None if it has no others."""
    if isinstance(event, PromptEvaluated | ConstraintReady | ToolProgressed):
        return None
    changes = _VOLATILE.get(type(event), {})
    if isinstance(event, Token):
        step = msgspec.structs.replace(event.step, mask_ms=0.0, sample_ms=0.0, decode_ms=0.0)
        changes = {"step": step}
    return msgspec.structs.replace(event, run="", t=0.0, **changes)


def strip_words(event: AnyEvent) -> AnyEvent:
    """The event without the words of its verdict: a later version may word the same code at the same place better."""
    return msgspec.structs.replace(event, **_WORDS.get(type(event), {}))


def first_difference(
    recorded: Iterable[AnyEvent], again: Iterable[AnyEvent], tolerance: float = 0.0, *, whole: bool = True
) -> str:
    """The first difference between two runs, in words; empty if there is none. `tolerance` is absolute, for evidence.

    A partly cached prompt is evaluated in different batches, which changes the last digits of logits: a rerun on a
    model is compared with a tolerance, a replayed record without. If the record is not `whole`, events after its last
    one are not a difference.
    """
    ours = [event for event in map(strip_times, _beginnings_last(recorded, whole=whole)) if event is not None]
    theirs = [event for event in map(strip_times, _beginnings_last(again, whole=whole)) if event is not None]
    kinds = {event.kind for event in ours if isinstance(event, SegmentOpened | SegmentClosed)}
    theirs = list(_with_segments(kinds, theirs))
    for index, (one, other) in enumerate(zip_longest(ours, theirs)):
        if one is None and not whole:
            return ""
        if one is None or other is None:
            longer = "the record has" if other is None else "this time there is"
            return f"Event {index}: {longer} one more, {_name(one or other)}."
        if one != other and (
            place := _unequal(msgspec.to_builtins(one), msgspec.to_builtins(other), tolerance)
        ):
            return f"Event {index} ({_name(one)}): {place}."
    return ""


def _beginnings_last(events: Iterable[AnyEvent], *, whole: bool) -> Iterator[AnyEvent]:
    """The events with each part that begins behind the tokens that follow it, and each allowed tool behind the verdict
    on the text: early records have them before the text that proves a call, and names that no call has. The characters
    of the others are the same.
    """
    waiting: list[AnyEvent] = []
    tools: list[AnyEvent] = []
    for event in events:
        if isinstance(event, ToolKnown):
            tools += [event] if event.allowed else []
            continue
        if isinstance(event, SegmentOpened):
            waiting.append(event)
            continue
        if not isinstance(event, Token):
            yield from waiting
            waiting = []
        if not isinstance(
            event, Token | SegmentClosed | FieldOpened | FieldChanged | FieldClosed | Violation
        ):
            yield from tools
            tools = []
        yield event
    if whole:
        yield from waiting
        yield from tools


def _with_segments(kinds: set[SegmentKind], events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """The events with only these kinds of parts: early records have no parts, or none for a call after reasoning."""
    for event in events:
        if not kinds and bool(getattr(event, "call_index", 0)):
            event = msgspec.structs.replace(event, call_index=0)
        if not isinstance(event, SegmentOpened | SegmentClosed) or event.kind in kinds:
            yield event


def _name(event: AnyEvent | None) -> str:
    return str(event.__struct_config__.tag) if event is not None else "nothing"


def _unequal(one: Any, other: Any, tolerance: float, path: str = "") -> str:
    if isinstance(one, float) and isinstance(other, float | int):
        return (
            "" if math.isclose(one, other, rel_tol=0, abs_tol=tolerance) else f"{path} was {one}, is {other}"
        )
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        parts = ((one[key], other[key], f"{path}/{key}") for key in one)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        parts = ((a, b, f"{path}/{index}") for index, (a, b) in enumerate(zip(one, other)))
    else:
        return "" if one == other else f"{path} was {one!r:.80}, is {other!r:.80}"
    return next((place for a, b, below in parts if (place := _unequal(a, b, tolerance, below))), "")
