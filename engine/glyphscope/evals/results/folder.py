"""The folder of a result. A sample is in it once its line is: first its records are written, then the line.

`samples.jsonl` only grows, one line per sample. If the process is killed, the last line may be torn: it is cut off, and
its sample is made again. If a sample was made again, its last line counts. A small result has a file for each record,
written and synced to disk with each sample; a larger one has segments (`segments.py`), synced once a second.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path, PurePosixPath
from tempfile import gettempdir
from typing import NamedTuple, TypeVar

import msgspec

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.base.inputs import named_file, read_file, refuse_special, storage_error
from glyphscope.base.locks import try_lock
from glyphscope.base.structs import ready
from glyphscope.evals.results.manifest import IN_SEGMENTS, VERSION, Manifest
from glyphscope.evals.results.sample import Sample, was_ended
from glyphscope.evals.results.segments import FOLDER, SegmentWriter, read_place
from glyphscope.evals.results.table import (
    INDEX,
    INDEXED_FROM,
    READ_IN_TURN,
    Rows,
    SampleLine,
    Samples,
    SampleTable,
    TableBuilder,
    read_index,
    write_index,
)
from glyphscope.evals.results.tables import SuiteTables
from glyphscope.events import AnyEvent
from glyphscope.events.encoding import encode_json
from glyphscope.store import atomic_write
from glyphscope.store.files import own_file
from glyphscope.store.records import Record, encode_record, parse_record

SAMPLES, MANIFEST, TABLES, SUITES, RUNS = "samples.jsonl", "manifest.json", "tables.json", "suites", "runs"
_KEY = "glyphscope_eval"
PORTION = 64 * 1024
"""Bytes that are decoded at once."""
SYNC_SECONDS = 1.0
"""The time after which new samples in segments are synced to disk."""


_Line = TypeVar("_Line")


class ResultRow(NamedTuple):
    """A result in a list, without reading its samples. `problem` is the reason why it cannot be opened."""

    path: Path
    manifest: Manifest | None
    problem: str = ""


class ResultFolder:
    """One result. Reading needs no lock; only one process at a time may write (`writing`)."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(cls, parent: Path, manifest: Manifest, suites: dict[str, bytes]) -> ResultFolder:
        """A new folder below `parent`, named after the time. Raises StorageError."""
        path = _new_folder(parent)
        for name, data in suites.items():
            atomic_write(own_file(path, f"{SUITES}/{safe_name(name)}.json"), data)
        folder = cls(path, manifest)
        folder.keep(manifest)
        return folder

    @classmethod
    def open(cls, path: Path) -> ResultFolder:
        """The result in a folder. Raises StorageError, and RecordError if it is not a result, or of a newer version."""
        return cls(path, _read_manifest(path))

    def keep(self, manifest: Manifest) -> None:
        """Rewrite the manifest."""
        self.manifest = manifest
        atomic_write(
            own_file(self.path, MANIFEST),
            msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n",
        )

    def keep_tables(self, tables: Sequence[SuiteTables]) -> None:
        """Save the suites' tables with a model's token counts beside those of other models."""
        counted = {table.model for table in tables}
        others = (table for table in self.tables() if table.model not in counted)
        atomic_write(own_file(self.path, TABLES), msgspec.json.encode([*others, *tables]) + b"\n")

    def tables(self) -> list[SuiteTables]:
        """The suites' tables, for each model that was opened; empty if no suite has any."""
        data = _read(self.path / TABLES)
        try:
            return msgspec.json.decode(data, type=ready(list[SuiteTables])) if data else []
        except (ValueError, RecursionError) as error:  # also invalid UTF-8
            raise RecordError(f"The tables are damaged: {error}.", where=str(self.path / TABLES)) from None

    def suite(self, name: str) -> bytes:
        """The saved file of the suite of that name. Raises StorageError."""
        path = named_file(self.path, f"{SUITES}/{safe_name(name)}.json")
        refuse_special(path)
        return read_file(path)

    def samples(self) -> Samples:
        """All samples, in the order of their lines; of one that was made again, the last. A torn last line is left out.

        Raises StorageError, and RecordError with the line (from 1) if another one is damaged.
        """
        return Samples(self.table(), self.samples_at)

    def lines(self, kind: type[_Line]) -> Iterator[_Line]:
        """The samples line by line, with little memory; one that was made again is there twice. Raises as `samples`.

        `kind` is Sample, or a struct with some of its members, which is read faster.
        """
        for _, lines in self._parsed(kind):
            yield from lines

    def _parsed(self, kind: type[_Line], start: int = 0) -> Iterator[tuple[bytes, list[_Line]]]:
        """Whole lines in portions, with their contents, from byte `start` on."""
        decoder = msgspec.json.Decoder(ready(kind))
        for part in self._portions(start):
            try:
                yield part, decoder.decode_lines(part)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                before = sum(data.count(b"\n") for data in self._portions(0, start))
                yield part, list(self._slowly(part, before + 1, decoder))
            start += len(part)

    def _portions(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Whole lines in portions: decoding blocks all other threads, and the window must not freeze."""
        path = self.path / SAMPLES
        refuse_special(path)
        if not path.exists():
            return
        try:
            with open(path, "rb") as file:
                file.seek(start)
                rest = b""
                while data := file.read(PORTION if end is None else min(PORTION, end - file.tell())):
                    whole = data.rfind(b"\n") + 1
                    if whole:
                        yield rest + data[:whole]
                        rest = data[whole:]
                    else:
                        rest += data
        except OSError as error:
            raise storage_error(error, path, "read") from error

    def _slowly(self, data: bytes, first: int, decoder: msgspec.json.Decoder[_Line]) -> Iterator[_Line]:
        """Decode line by line, to find the damaged one; `first` is the number of the first line."""
        for number, line in enumerate(data.split(b"\n"), first):
            if not line.strip():
                continue
            try:
                yield decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise RecordError(
                    f"Line {number} is damaged: {error}.",
                    where=str(self.path / SAMPLES),
                    hint="Take the line out; its sample can be made again with --resume.",
                ) from None

    def table(self, before: SampleTable | None = None) -> SampleTable:
        """The samples as a table of numbers, from which each is read (`samples_at`); made from an earlier table of this
        folder and newer lines, if `before` is given. Raises as `samples`.
        """
        index, lines = self.path / INDEX, self.path / SAMPLES
        before = read_index(index, lines) if before is None else before
        end = 0 if before is None else before.end
        try:
            with closing(TableBuilder(before)) as builder:
                for part, parsed in self._parsed(SampleLine, end):
                    contents = iter(parsed)
                    for text in part.split(b"\n")[:-1]:
                        if text.strip():
                            builder.add(next(contents), end, len(text))
                        end += len(text) + 1
                new = len(builder)
                if before is not None and not new:
                    return before
                table = builder.table(end)
        except OSError as error:
            raise storage_error(error, Path(gettempdir()), "written") from error
        if new >= INDEXED_FROM:
            write_index(index, table, lines)
            table = read_index(index, lines) or table  # of the file, only what is used is in memory
        return table

    def samples_at(self, rows: Rows) -> list[Sample]:
        """The samples of these rows of the table, in their order. Raises StorageError, and RecordError if a line is
        damaged, or the file was changed since the table was made.
        """
        path, decoder = self.path / SAMPLES, msgspec.json.Decoder(ready(Sample))
        if not len(rows):
            return []
        refuse_special(path)
        start = 0
        try:
            with open(path, "rb") as file:
                found = []
                for start, length in rows[["start", "length"]].tolist():
                    file.seek(start)
                    found.append(decoder.decode(file.read(length)))
                return found
        except OSError as error:
            raise storage_error(error, path, "read") from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(
                f"A sample cannot be read: {error}.",
                where=f"{path}, from byte {start:,}",
                hint="If the file was changed meanwhile, open the result again. Otherwise take the line out; its "
                "sample can be made again with --resume.",
            ) from None

    def ended_in_the_middle(self, table: SampleTable) -> int:
        """The number of samples that resuming makes again (`was_ended`). Raises as `samples_at`."""
        import numpy as np

        failed = [number for number, failure in enumerate(table.failures) if failure.reason == "MODEL_FAILED"]
        rows = table.rows[np.isin(table.rows["failure"], failed)] if failed else table.rows[:0]
        parts = (rows[first : first + READ_IN_TURN] for first in range(0, len(rows), READ_IN_TURN))
        return sum(was_ended(sample.failures) for part in parts for sample in self.samples_at(part))

    def record(self, name: str) -> Record:
        """A record, by its name in a sample: of a user's turn in `runs`, or of a judge. Raises StorageError, and
        RecordError if it is damaged, newer, or outside of the folder.
        """
        return parse_record(self.record_bytes(name), str(self.path / name))

    def record_bytes(self, name: str, most: int | None = None) -> bytes:
        """The bytes of a record, by its name in a sample. Raises StorageError, also for more than `most` bytes, and
        RecordError if it is truncated, or outside of the folder.
        """
        if not is_inside(name):
            raise RecordError(
                "A record of this sample is said to be outside of the result's folder.", where=name
            )
        place = read_place(name)
        if place is None:
            return read_file(named_file(self.path, name), most, "a record")
        return place.read(self.path, most)

    def has_record(self, name: str) -> bool:
        """Whether the file with that record exists: a folder may have been copied without records."""
        place = read_place(name)
        try:
            return is_inside(name) and (self.path / (place.file if place else name)).is_file()
        except (OSError, ValueError):  # a name that no file can have
            return False

    @property
    def is_torn(self) -> bool:
        """Whether the last sample is incomplete; False if the file cannot be read."""
        try:
            with open(self.path / SAMPLES, "rb") as file:
                if not file.seek(0, os.SEEK_END):
                    return False
                file.seek(-1, os.SEEK_END)
                return file.read(1) != b"\n"
        except OSError:
            return False

    @property
    def is_being_written(self) -> bool:
        """Whether another process has the right to write now (`writing`)."""
        try:
            with open(self.path / SAMPLES, "rb") as file:
                return not try_lock(file, shared=True)
        except OSError:
            return False

    @contextmanager
    def writing(self) -> Iterator[SampleWriter]:
        """The right to write, for the duration of the context. Raises StorageError if another process has it."""
        path = own_file(self.path, SAMPLES, in_place=True)
        try:
            file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed below, in any case
        except OSError as error:
            raise storage_error(error, path, "written") from error
        with file:
            with suppress(OSError):  # a file system without locks
                if not try_lock(file):
                    raise StorageError(
                        "Another evaluation is writing to this result.",
                        where=str(self.path),
                        hint="Wait for it, or stop it.",
                    )
            _cut_torn_line(path, file)
            in_segments = self.manifest.glyphscope_eval >= IN_SEGMENTS
            writer = SampleWriter(self.path, file, SegmentWriter(self.path) if in_segments else None)
            try:
                yield writer
            finally:
                writer.close()


class SampleWriter:
    """Writes samples into a folder, each with its records. Not thread-safe."""

    def __init__(self, path: Path, file: FileIO, segments: SegmentWriter | None) -> None:
        self._path = path
        self._file = file
        self._segments = segments
        self._end = file.seek(0, os.SEEK_END)
        self._next_sync = 0.0

    def add(self, sample: Sample, runs: Sequence[Sequence[AnyEvent]]) -> Sample:
        """Write a sample; returns it with the names of its records, which are written by then. `runs` are the turns',
        then the judge's. Raises StorageError.
        """
        turns = len(runs) - len(sample.judged)
        names = [run_name(sample, turn) for turn in range(1, turns + 1)]
        names += [run_name(sample, number, "judge") for number in range(1, len(sample.judged) + 1)]
        names = [self._record(name, encode_record(events)) for name, events in zip(names, runs, strict=True)]
        judged = tuple(
            msgspec.structs.replace(each, run=name)
            for each, name in zip(sample.judged, names[turns:], strict=True)
        )
        sample = msgspec.structs.replace(sample, runs=tuple(names[:turns]), judged=judged)
        line = encode_json(sample) + b"\n"
        try:
            view = memoryview(line)
            while view:
                view = view[self._file.write(view) :]
            if self._segments is None or time.monotonic() >= self._next_sync:
                self._sync()
        except OSError as error:
            self._undo()
            raise storage_error(error, self._path / SAMPLES, "written") from error
        self._end += len(line)
        return sample

    def close(self) -> None:
        """Flush everything to disk. Raises StorageError."""
        if self._segments is not None:
            try:
                self._sync()
                self._segments.close()
            except OSError as error:
                raise storage_error(error, self._path / FOLDER, "written") from error

    def _record(self, name: str, record: bytes) -> str:
        """Write a record; returns its name in the sample."""
        if self._segments is None:
            atomic_write(own_file(self._path, name), record)
            return name
        try:
            return str(self._segments.add(record))
        except OSError as error:
            raise storage_error(error, self._path / FOLDER, "written") from error

    def _sync(self) -> None:
        """Flush the samples to disk, after their records. A killed process loses nothing without it; a machine that
        loses its power, the samples since the last time, which are made again.
        """
        if self._segments is not None:
            self._segments.sync()
        os.fsync(self._file.fileno())
        self._next_sync = time.monotonic() + SYNC_SECONDS

    def _undo(self) -> None:
        """Remove a partly written line, if possible; otherwise the next reader takes it for a torn one."""
        with suppress(OSError):
            os.ftruncate(self._file.fileno(), self._end)


def run_name(sample: Sample, number: int = 1, kind: str = "turn") -> str:
    """The record's path in the folder, with forward slashes, in characters that every file system accepts."""
    again = "" if (kind, number) == ("turn", 1) else f".{kind}{number}"
    place = f"{RUNS}/{safe_name(sample.arm)}/{safe_name(sample.suite)}"
    return f"{place}/{safe_name(sample.scenario)}-{sample.trial}{again}.jsonl"


def is_inside(path: str) -> bool:
    """Whether the path of a sample's record stays in the folder."""
    place = PurePosixPath(path)
    return bool(place.parts) and ".." not in place.parts and not place.is_absolute()


def safe_name(name: str) -> str:
    """The name itself if it is a valid file name; otherwise its valid characters and a digest that keeps it unique."""
    safe = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-.")[:80]
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:6]
    return safe if safe == name != "" else f"{safe or 'x'}-{digest}"


def list_results(parent: Path) -> list[ResultRow]:
    """The results below `parent`, newest first; one that cannot be opened is listed with its reason."""
    rows = []
    try:
        found = sorted(filter(_has_manifest, parent.iterdir()), reverse=True)
    except OSError:
        return []
    for path in found:
        try:
            rows.append(ResultRow(path, _read_manifest(path)))
        except (StorageError, RecordError) as error:
            rows.append(ResultRow(path, None, error.message))
    return rows


def _has_manifest(path: Path) -> bool:
    try:
        return (path / MANIFEST).is_file()
    except OSError:  # an inaccessible folder does not hide the others
        return False


def newest_of(parent: Path, digest: str) -> Path | None:
    """The newest result below `parent` that was made from the plan with that digest."""
    for row in list_results(parent):
        if row.manifest is not None and row.manifest.digest == digest:
            return row.path
    return None


def _read(path: Path) -> bytes:
    """A file's content, empty if there is no file. Raises StorageError, also for a pipe, which would block."""
    refuse_special(path)
    return read_file(path) if path.exists() else b""


def _cut_torn_line(path: Path, file: FileIO) -> None:
    """Cut off what follows the last whole line."""
    end = size = path.stat().st_size
    with open(path, "rb") as lines:
        while end:
            start = max(0, end - PORTION)
            lines.seek(start)
            if (found := lines.read(end - start).rfind(b"\n")) >= 0:
                end = start + found + 1
                break
            end = start
    if end < size:
        os.ftruncate(file.fileno(), end)


def _new_folder(parent: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in range(1, 1000):
        path = parent / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if parent.exists() and not parent.is_dir():
                raise StorageError("This place is a file, not a folder.", where=str(parent)) from None
            continue
        except OSError as error:
            raise storage_error(error, path, "made") from error
        return path
    raise StorageError("No name is left for a folder of this second.", where=str(parent))


def _read_manifest(path: Path) -> Manifest:
    file = path / MANIFEST
    try:
        document = json.loads(read_file(file)) if file.is_file() or not path.is_dir() else None
    except OSError as error:
        raise storage_error(error, path, "read") from error
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not isinstance(version := document.get(_KEY), int):
        within = sorted(file.parent.name for file in path.glob(f"*/{MANIFEST}")) if path.is_dir() else []
        hint = (
            f"Choose one of the results in it, such as {path / within[-1]}."
            if within
            else "Choose its folder."
        )
        raise RecordError("Not an evaluation result.", where=str(path), hint=hint)
    if version > VERSION:
        raise RecordError(
            f"This result is of version {version}; this program knows up to {VERSION}.",
            where=str(path),
            hint="Open it with a newer Glyphscope.",
        )
    try:
        return msgspec.convert(document, ready(Manifest))
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        raise RecordError(f"The manifest is damaged: {error}.", where=str(file)) from None
