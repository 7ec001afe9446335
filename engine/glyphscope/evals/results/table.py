"""The samples of a result as a table of numbers, without their texts: a row of 80 bytes for each.

The table is the index of `samples.jsonl`: a row has the place of the sample's line, so that any sample is read by
itself. All figures are made of it. A large result has it as a file, `samples.index`, of which only the parts that are
used are read into memory; lines that are newer than the file are added to it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from copy import copy
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import (
    TYPE_CHECKING,
    BinaryIO,
    ClassVar,
    Generic,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

import msgspec

from glyphscope.base.errors import StorageError
from glyphscope.base.inputs import refuse_special
from glyphscope.base.structs import ready
from glyphscope.evals.results.figures import MEASURES
from glyphscope.evals.results.sample import Reason, Sample, SampleFailure, has_answer
from glyphscope.events.encoding import encode_json
from glyphscope.store import atomic_file
from glyphscope.store.files import own_file

INDEX = "samples.index"
INDEXED_FROM = 20_000
"""The number of new samples from which on the table is written to a file."""
VERSION = 5
READ_AT_ONCE, MAX_CACHED = 50, 2_000
"""Samples that are read together where they are used one by one, and the most that a list has in memory."""
READ_IN_TURN = 500
"""Samples that are read together where all of a list are read."""
if TYPE_CHECKING:
    import numpy as np

Rows: TypeAlias = "np.ndarray"
"""A part of a table. NumPy is imported where it is used, as listing results does not need it."""
Key = tuple[str, str]
"""Suite and scenario."""
NO_NUMBER = -(2**31)
"""A number that is not known; a measure that is not known is -1."""
_FIELDS = (
    *(("trial", "i8"), ("start", "i8"), ("cell", "i4"), ("length", "i4"), ("failure", "i4")),
    *((name, "u4") for name in ("answer", "calls")),
    *((name, "i4") for name in ("decoded", "prompt_tokens", "bytes", "instructions", "model_turns", "saved")),
    *((name, "f8") for name in ("first_token_ms", "total_ms")),
    *((name, "i1") for name in (*MEASURES, "answered", "aborted", "judged")),
)
"""A row. `start` and `length` are the place of its line in `samples.jsonl`, `cell` and `failure` numbers of
`SampleTable.cells` and `SampleTable.failures`; `answer` and `calls` identify a text and calls."""
_PACKING = struct.Struct(
    "<" + "".join({"i8": "q", "i4": "i", "u4": "I", "f8": "d", "i1": "b"}[kind] for _, kind in _FIELDS)
)
_TAIL = 4096
"""The bytes before the end of the indexed lines by which the file is recognised."""
_MAX_NUMBER = 2**31 - 1


class Cell(msgspec.Struct, frozen=True, array_like=True):
    """A scenario in an arm."""

    arm: str
    suite: str
    scenario: str
    group: str
    level: str
    control: bool

    @property
    def key(self) -> Key:
        return self.suite, self.scenario


class FirstFailure(NamedTuple):
    """The first failure of a sample, without its words."""

    reason: Reason | str = ""
    code: str = ""
    path: str = ""


class SampleLine(msgspec.Struct):
    """The members of a sample's line that the table has. Texts stay as they are in the line."""

    arm: str
    suite: str
    scenario: str
    trial: int
    group: str = ""
    level: str = "simple"
    control: bool = False
    calls: msgspec.Raw = msgspec.Raw(b"[]")
    text: msgspec.Raw = msgspec.Raw(b'""')
    parsed: bool | None = None
    valid: bool = False
    right_tool: bool | None = None
    right_arguments: bool | None = None
    copied_values: int | None = None
    ok: bool = False
    failures: tuple[SampleFailure, ...] = ()
    prompt_tokens: int | None = None
    instructions: int = 0
    model_turns: int = 1
    decoded: int = 0
    bytes: int = 0
    stopped_at: int | None = None
    saved: int | None = None
    first_token_ms: float = 0.0
    total_ms: float = 0.0
    judged: msgspec.Raw = msgspec.Raw(b"[]")

    @property
    def valid_wrong(self) -> bool | None:
        return None if self.right_arguments is None else self.valid and not self.right_arguments

    @property
    def copied(self) -> bool | None:
        return None if self.copied_values is None else self.valid_wrong and self.copied_values > 0


class _Head(msgspec.Struct):
    """The first line of the file. `lines` bytes of `samples.jsonl` are in it; `tail` is the checksum of the last."""

    glyphscope_index: int
    lines: int
    tail: int
    rows: int
    cells: list[Cell]
    failures: list[tuple[str, str, str]]


class SampleTable:
    """`rows` are sorted by cell, then by trial; of a sample that was made again, the last one is there. The table is of
    the first `end` bytes of `samples.jsonl`.
    """

    BLOCK: ClassVar = 1 << 14
    """The rows that figures are made of at once, and that are in memory while a table is made."""

    def __init__(
        self, rows: Rows, cells: Sequence[Cell], failures: Sequence[FirstFailure], end: int = 0
    ) -> None:
        import numpy as np

        self.rows, self.cells, self.failures, self.end = rows, cells, failures, end
        self._starts = np.searchsorted(rows["cell"], np.arange(len(cells) + 1))

    def __len__(self) -> int:
        return len(self.rows)

    def of_cell(self, number: int) -> Rows:
        """The rows of a cell."""
        return self.rows[self._starts[number] : self._starts[number + 1]]

    def places_of(self, numbers: Iterable[int]) -> np.ndarray:
        """The places of the rows of several cells, four bytes each."""
        import numpy as np

        cells = np.fromiter(numbers, np.int64)
        starts = self._starts[cells]
        n = self._starts[cells + 1] - starts
        ends = n.cumsum()
        before = (starts - ends + n).astype(np.uint32)  # may be negative: sums are modulo 2**32
        places: np.ndarray = np.arange(n.sum(), dtype=np.uint32) + np.repeat(before, n)
        return places

    def of_cells(self, numbers: Iterable[int]) -> Selection:
        """The rows of several cells."""
        return Selection(self.rows, self.places_of(numbers))

    def blocks(self, numbers: Iterable[int]) -> Iterator[Selection]:
        """The rows of several cells in blocks, so that the memory for their columns does not grow with the samples."""
        rows = self.of_cells(numbers)
        for first in range(0, len(rows), SampleTable.BLOCK):
            yield rows.where(slice(first, first + SampleTable.BLOCK))

    @cached_property
    def counts(self) -> np.ndarray:
        """A row for each cell: the sums over its samples, in a column for each name in `COUNTS`."""
        import numpy as np

        counts = np.zeros(len(self.cells), [(name, "i8") for name in COUNTS])
        for first in range(0, len(self), SampleTable.BLOCK):
            block = self.rows[first : first + SampleTable.BLOCK]
            cells = block["cell"].astype(np.int64)
            start, stop = int(cells[0]), int(cells[-1]) + 1
            for name, values in zip(COUNTS, _counted(block), strict=True):
                counts[name][start:stop] += np.bincount(cells - start, values, stop - start).astype(np.int64)
        return counts


COUNTS = (
    "n", "answered", *(f"{measure}{kind}" for measure in MEASURES for kind in ("", " known")), "decoded",
    "instructions", "aborted", "measured", "measured decoded", "measured saved",
)  # fmt: skip
"""Of all samples, their number `n` and that of those `answered`; of these, by measure, the right ones (`ok`) and those
with a value (`ok known`), and tokens; the number of those `aborted`, and of these the ones whose saving was `measured`,
with their tokens.
"""


def _counted(rows: Rows) -> Iterator[np.ndarray]:
    """The values that are summed up, in the order of `COUNTS`."""
    import numpy as np

    answered, aborted = rows["answered"] == 1, rows["aborted"] == 1
    decoded, saved = rows["decoded"], rows["saved"].astype(np.int64)
    yield np.ones(len(rows), bool)
    yield answered
    for measure in MEASURES:
        yield answered & (rows[measure] == 1)
        yield answered & (rows[measure] >= 0)
    yield answered * decoded
    yield answered * rows["instructions"]
    measured = aborted & (saved != NO_NUMBER)
    yield aborted
    yield measured
    yield measured * decoded
    yield measured * saved


class Selection:
    """The rows of a table at some places. A column is copied when it is used: all of them would need ten times the
    memory.
    """

    def __init__(self, rows: Rows, places: np.ndarray) -> None:
        self._rows, self.places = rows, places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, column: str) -> np.ndarray:
        found: np.ndarray = self._rows[column][self.places]
        return found

    def where(self, which: np.ndarray | slice) -> Selection:
        """Those of these rows, by a mask, their numbers in the selection, or a part of these."""
        return Selection(self._rows, self.places[which])

    def copied(self) -> Rows:
        """The rows themselves."""
        found: Rows = self._rows[self.places]
        return found


class TableBuilder:
    """Makes a table of lines or samples, one after the other, which are added to those of `table`. Many rows are in a
    temporary file, until it is closed. Methods raise OSError if that cannot be written.
    """

    def __init__(self, table: SampleTable | None = None) -> None:
        self._before = table
        self._cells = {cell: number for number, cell in enumerate(table.cells)} if table else {}
        failures = table.failures if table else (FirstFailure(),)
        self._failures = {failure: number for number, failure in enumerate(failures)}
        self._data = bytearray()
        self._file: BinaryIO | None = None
        self._new = 0

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        """The number of new rows."""
        return self._new

    def add(self, line: SampleLine, start: int, length: int) -> None:
        """Add a line, which is there in `samples.jsonl`."""
        if self._before is not None:
            for place in range(0, len(self._before), SampleTable.BLOCK):
                self._append(self._before.rows[place : place + SampleTable.BLOCK].tobytes())
            self._before = None
        cell = Cell(line.arm, line.suite, line.scenario, line.group, line.level, line.control)
        place = self._cells.setdefault(cell, len(self._cells))
        failure = 0
        if line.failures:
            first = line.failures[0]
            failure = self._failures.setdefault(
                FirstFailure(first.reason, first.code, first.path), len(self._failures)
            )
        row = _PACKING.pack(
            min(max(line.trial, -(2**63)), 2**63 - 1),
            start,
            place,
            length,
            failure,
            zlib.crc32(line.text),
            _calls_digest(line.calls),
            *map(
                _number,
                (
                    line.decoded,
                    line.prompt_tokens or None,
                    line.bytes,
                    line.instructions,
                    line.model_turns,
                    line.saved,
                ),
            ),
            line.first_token_ms,
            line.total_ms,
            *(-1 if (value := getattr(line, measure)) is None else value for measure in MEASURES),
            has_answer(line.failures),
            line.stopped_at is not None,
            bytes(line.judged) != b"[]",
        )
        self._append(row)
        self._new += 1

    def add_sample(self, sample: Sample, start: int = 0) -> None:
        """Add a sample; `start` is a number by which it is found."""
        self.add(msgspec.json.decode(encode_json(sample), type=ready(SampleLine)), start, 0)

    def table(self, end: int = 0) -> SampleTable:
        """The table of the first `end` bytes of the lines, of which some were added; none can be added afterwards."""
        import numpy as np

        cells, failures = list(self._cells), list(self._failures)
        if self._file is None:
            rows = np.concatenate([*_in_order(np.frombuffer(self._data, list(_FIELDS)))])
            return SampleTable(rows, cells, failures, end)
        self._file.write(self._data)
        self._file.flush()
        with TemporaryFile() as ordered:
            for block in _in_order(np.memmap(self._file, list(_FIELDS), "r")):
                ordered.write(block.data)
            ordered.flush()
            return SampleTable(np.memmap(ordered, list(_FIELDS), "r"), cells, failures, end)

    def _append(self, rows: bytes) -> None:
        self._data += rows
        if len(self._data) < SampleTable.BLOCK * _PACKING.size:
            return
        if self._file is None:
            self._file = cast(BinaryIO, TemporaryFile())  # noqa: SIM115 - closed by `close`
        self._file.write(self._data)
        self._data.clear()


def _in_order(rows: Rows) -> Iterator[Rows]:
    """The rows by cell, then by trial, in blocks; of those of the same sample, the last one."""
    import numpy as np

    order = np.lexsort((rows["trial"], rows["cell"])).astype(np.uint32)  # stable: the last line is the last
    for first in range(0, max(1, len(order)), SampleTable.BLOCK):
        block = rows[order[first : first + SampleTable.BLOCK + 1]]  # with the next one
        last = np.ones(len(block), bool)
        last[:-1] = (block["cell"][1:] != block["cell"][:-1]) | (block["trial"][1:] != block["trial"][:-1])
        yield block[: SampleTable.BLOCK][last[: SampleTable.BLOCK]]


def _calls_digest(calls: msgspec.Raw) -> int:
    """The same for calls with the same arguments in another order."""
    raw = bytes(calls)
    return zlib.crc32(raw if raw == b"[]" else msgspec.json.encode(msgspec.json.decode(raw), order="sorted"))


def _number(value: int | None) -> int:
    return NO_NUMBER if value is None else min(max(value, -_MAX_NUMBER), _MAX_NUMBER)


def table_of(samples: Iterable[Sample]) -> SampleTable:
    """The table of samples; `start` is a sample's number among them."""
    with closing(TableBuilder()) as builder:
        for number, sample in enumerate(samples):
            builder.add_sample(sample, number)
        return builder.table()


_Item = TypeVar("_Item")


class ReadList(Sequence[_Item], Generic[_Item]):
    """Items that are read when they are used, some at once: `read` returns those at some of the `places`."""

    def __init__(self, places: np.ndarray, read: Callable[[np.ndarray], Sequence[_Item]]) -> None:
        self.places, self.read = places, read
        self._cached: dict[int, _Item] = {}

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> _Item | Self:
        if isinstance(place, slice):
            part = copy(self)
            part.places, part._cached = self.places[place], {}
            return part
        place = range(len(self))[place]
        if place not in self._cached:
            if len(self._cached) > MAX_CACHED:
                self._cached.clear()
            start = place - place % READ_AT_ONCE
            self._cached.update(enumerate(self.read(self.places[start : start + READ_AT_ONCE]), start))
        return self._cached[place]

    def __iter__(self) -> Iterator[_Item]:
        for start in range(0, len(self), READ_IN_TURN):
            yield from self.read(self.places[start : start + READ_IN_TURN])


class Samples(ReadList[Sample]):
    """Samples in the order of their lines, each read when it is used. `table` has them as numbers, and `at` reads those
    of some of its rows.
    """

    def __init__(self, table: SampleTable, at: Callable[[Rows], list[Sample]]) -> None:
        self.table, self.at = table, at
        self.read = lambda places: at(table.rows[places])
        self._cached = {}

    @cached_property
    def places(self) -> np.ndarray:  # type: ignore[override]  # sorted when it is used: a comparison does not
        order: np.ndarray = self.table.rows["start"].argsort().astype("u4")
        return order

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Samples:
        """Samples that are in memory."""
        known = list(samples)
        return cls(table_of(known), lambda rows: [known[number] for number in rows["start"].tolist()])


def read_index(path: Path, lines: Path) -> SampleTable | None:
    """The table in a file; None if there is no such file, or if it does not belong to these lines."""
    import numpy as np

    try:
        refuse_special(path)
        with open(path, "rb") as file:
            head = msgspec.json.decode(file.readline(), type=ready(_Head))
            start = file.tell()
        with open(lines, "rb") as file:
            file.seek(max(0, head.lines - _TAIL))
            tail = file.read(min(_TAIL, head.lines))
        if (
            head.glyphscope_index != VERSION
            or len(tail) != min(_TAIL, head.lines)
            or zlib.crc32(tail) != head.tail
        ):
            return None
        rows = np.memmap(path, list(_FIELDS), "r", start, head.rows)
        if head.rows and (rows["cell"][-1] >= len(head.cells) or rows["failure"].max() >= len(head.failures)):
            return None
        return SampleTable(rows, head.cells, [FirstFailure(*each) for each in head.failures], head.lines)
    except (StorageError, OSError, ValueError, RecursionError):
        return None  # ValueError: also msgspec's errors, and a file that is too short


def write_index(path: Path, table: SampleTable, lines: Path) -> None:
    """Write the table of these lines to a file. Where that fails, it is made again next time."""
    end, rows = table.end, table.rows
    with suppress(OSError, StorageError):
        with open(lines, "rb") as file:
            file.seek(max(0, end - _TAIL))
            tail = zlib.crc32(file.read(min(_TAIL, end)))
        failures = [(str(each.reason), each.code, each.path) for each in table.failures]
        head = _Head(VERSION, end, tail, len(table), list(table.cells), failures)
        with atomic_file(own_file(path.parent, path.name)) as out:
            out.write(encode_json(head) + b"\n")
            for first in range(0, len(rows), SampleTable.BLOCK):
                out.write(rows[first : first + SampleTable.BLOCK].tobytes())
