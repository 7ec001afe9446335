"""A zip of a few files, written reproducibly and read safely.

A zip may be from anywhere, so its declarations are not trusted: names, sizes and numbers are checked before anything is
unpacked, no file is written under a name from it, and each file must have its declared size.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.base.figures import byte_size
from glyphscope.base.inputs import read_file

MAGIC = b"PK"
MAX_PACKED = 70_000_000
"""The maximum bytes of the zip itself."""
MAX_BYTES = 140_000_000
"""The maximum bytes of all its files, unpacked."""
MAX_FILES = 64

_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest in a zip: the time of packing is not part of its content
_UNIX = 3
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_END = struct.Struct("<4s4H2LH")
_LOCATOR = 20
"""The size of the record before the end record in a zip64, in bytes."""
_MAX_DIRECTORY = MAX_FILES * 1024
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HINT = "Ask for the file again, or pack the run again with: glyphscope bundle."


def pack(files: Mapping[str, bytes], where: str = "") -> bytes:
    """The zip of these files, with identical bytes each time. Raises StorageError for more than `unpack` reads."""
    if sum(map(len, files.values())) > MAX_BYTES or len(files) > MAX_FILES:
        raise StorageError(
            f"This run is too large for a bundle, which has at most {byte_size(MAX_BYTES)}.",
            where=where,
            hint="Share the record itself, or record with less evidence (run --evidence chosen).",
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = _UNIX, 0o644 << 16
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED, 6)
    packed = out.getvalue()
    if len(packed) > MAX_PACKED:
        raise StorageError(
            f"This run is too large for a bundle, which has at most {byte_size(MAX_PACKED)} compressed.",
            where=where,
            hint="Share the record itself.",
        )
    return packed


def read_packed(path: Path) -> bytes:
    """The zip's bytes, not yet checked. Raises RecordError."""
    hint = "Check that it is a .glyphrun file."
    return read_file(path, MAX_PACKED, "a bundle", hint=hint, error=RecordError)


def unpack(data: bytes, where: str = "") -> dict[str, bytes]:
    """The files by name. Raises RecordError for any other content, in bounded time and memory."""
    _check_end(data, where)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_entries(entries, where)
            return {entry.filename: _unpacked(archive, entry) for entry in entries}
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, LookupError, OverflowError,
        OSError,
    ) as error:  # fmt: skip
        raise _damaged(f"{error}", where) from None


def _check_end(data: bytes, where: str) -> None:
    """Check the zip's last bytes, as an unbounded directory would be read before it could be rejected."""
    if not data.startswith(MAGIC):
        raise RecordError("Not a bundle: not a zip file.", where=where, hint="Give a .glyphrun file.")
    end = data[-_END.size :]
    if len(end) < _END.size or not end.startswith(b"PK\5\6") or end[-2:] != b"\0\0":
        raise _damaged("its end is missing, or something follows it", where)
    if data[-_END.size - _LOCATOR :].startswith(b"PK\6\7"):  # it would refer to another directory
        raise _damaged("it is in the zip64 format, for files larger than a bundle's", where)
    _, _, _, _, files, size, _, _ = _END.unpack(end)
    if files > MAX_FILES or size > _MAX_DIRECTORY:
        raise RecordError(f"This zip has more files than a bundle ({MAX_FILES}).", where=where, hint=_HINT)


def _check_entries(entries: Sequence[zipfile.ZipInfo], where: str) -> None:
    if len(entries) > MAX_FILES:
        raise RecordError(f"This zip has more files than a bundle ({MAX_FILES}).", where=where, hint=_HINT)
    names = [entry.orig_filename for entry in entries]
    for entry in entries:
        name = entry.orig_filename
        if not _NAME.fullmatch(name):
            raise RecordError(
                f"Invalid file name in a bundle: {name[:80]!r}.",
                where=where,
                hint="Do not unpack it: its file names may lead out of the folder.",
            )
        if names.count(name) > 1:
            raise _damaged(f"it contains {name} twice", where)
        if entry.flag_bits & 1:
            raise RecordError(
                f"{name} is encrypted, unlike any file of a bundle.",
                where=where,
                hint="Ask for it without a password.",
            )
        if entry.compress_type not in _KINDS:
            raise _damaged(f"{name} has an unsupported compression method", where)
    total = sum(entry.file_size for entry in entries)
    if total > MAX_BYTES:
        raise RecordError(
            f"Unpacked, this is {byte_size(total)}; a bundle has at most {byte_size(MAX_BYTES)}.",
            where=where,
            hint="Do not unpack it: Glyphscope did not create it.",
        )


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as file:
        content = file.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise zipfile.BadZipFile(f"{entry.filename} does not have its declared size")
    return content


def _damaged(what: str, where: str) -> RecordError:
    return RecordError(f"The bundle is damaged: {what[:200].rstrip('.')}.", where=where, hint=_HINT)
