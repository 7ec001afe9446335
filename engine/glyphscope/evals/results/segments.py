"""Records of samples in compressed segments: a million records need no million files.

A segment is a file to which records are only appended, each as a gzip member: any of them is read by its place alone,
and `zcat` reads them all. A sample has the places of its records (`Sample.runs`), so the samples are the index. The end
of a segment whose process was killed belongs to no sample, and the next process begins another segment.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from glyphscope.base.errors import RecordError
from glyphscope.base.figures import byte_size
from glyphscope.base.inputs import named_file, refuse_special, storage_error, sync_folder
from glyphscope.store.files import own_file

FOLDER, SEGMENT_BYTES = "records", 256_000_000
"""The segments' folder in the result, and the size from which on another one is begun."""
MAX_BYTES = 1 << 30
"""The longest record that is unpacked."""
_LEVEL = 3
"""Of gzip: higher levels take twice the time for a few percent."""
_PLACE = re.compile(rf"({FOLDER}/\d{{5,9}}\.jsonl\.gz)#(\d{{1,15}})\+(\d{{1,10}})", re.ASCII)


class SamplePlace(NamedTuple):
    """The place of a record: `length` compressed bytes from `start` on, of a file with a path in the result's folder.

    As text, in a sample: `records/00001.jsonl.gz#START+LENGTH`.
    """

    file: str
    start: int
    length: int

    def __str__(self) -> str:
        return f"{self.file}#{self.start}+{self.length}"

    def read(self, folder: Path, most: int | None = None) -> bytes:
        """The record. Raises StorageError, and RecordError if it is truncated, damaged, or longer than `most` bytes."""
        path, where = named_file(folder, self.file), f"{folder / self.file}, from byte {self.start:,}"
        refuse_special(path)
        try:
            with open(path, "rb") as file:
                file.seek(self.start)
                data = file.read(self.length)
        except OSError as error:
            raise storage_error(error, path, "read") from error
        if len(data) < self.length:
            raise RecordError("The record is truncated.", where=where, hint=_HINT)
        unpacking = zlib.decompressobj(wbits=31)  # a gzip header and its checksum
        try:
            record = unpacking.decompress(data, most or MAX_BYTES)
        except zlib.error as error:
            raise RecordError(f"The record is damaged: {error}.", where=where, hint=_HINT) from None
        if unpacking.unconsumed_tail:
            most_words = byte_size(most or MAX_BYTES)
            raise RecordError(f"The record is longer than {most_words}.", where=where, hint=_HINT)
        if not unpacking.eof or unpacking.unused_data:
            raise RecordError("The record is damaged: it does not end there.", where=where, hint=_HINT)
        return record


_HINT = "Copy the segment again from where it came from. The sample and its figures are not affected."


def read_place(text: str) -> SamplePlace | None:
    """The place in a segment; None if the text is something else, such as the path of a record in a separate file."""
    found = _PLACE.fullmatch(text)
    return None if found is None else SamplePlace(found[1], int(found[2]), int(found[3]))


class SegmentWriter:
    """Appends records to the newest segment of a result's folder. Not thread-safe.

    All methods raise OSError, and `add` StorageError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._file: int | None = None
        self._end = 0

    def add(self, record: bytes) -> SamplePlace:
        """Append a record; if that fails, the segment is as before."""
        data = gzip.compress(record, _LEVEL, mtime=0)
        if self._file is None or self._end >= SEGMENT_BYTES:
            self._begin()
        assert self._file is not None
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            with suppress(OSError):  # what remains belongs to no sample
                os.ftruncate(self._file, self._end)
            raise
        place = SamplePlace(self._name, self._end, len(data))
        self._end += len(data)
        return place

    def sync(self) -> None:
        """Flush the records to disk."""
        if self._file is not None:
            os.fsync(self._file)

    def close(self) -> None:
        """Close the segment; a next record begins another one."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def _begin(self) -> None:
        self.sync()
        self.close()
        place = own_file(self._folder, FOLDER)
        place.mkdir(exist_ok=True)
        newest = max(
            (int(path.name[:-9]) for path in place.glob("*.jsonl.gz") if path.name[:-9].isdigit()), default=0
        )
        self._name, self._end = f"{FOLDER}/{newest + 1:05}.jsonl.gz", 0
        self._file = os.open(
            self._folder / self._name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666
        )
        sync_folder(place)
