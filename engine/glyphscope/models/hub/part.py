"""The beginning of a file, beside the place that it will have: gone on from, after it was hashed again."""

from __future__ import annotations

import errno
import fcntl
import glob
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from glyphscope.errors import ModelError, StorageError
from glyphscope.models.hub.files import HubFile
from glyphscope.text.figures import byte_size

BLOCK = 1 << 20
"""Bytes that are hashed at a time."""
_NAME = re.compile(r"^\.(?P<file>.+\.gguf)\.(?P<key>[0-9a-f]{1,12})\.part$", re.IGNORECASE)


class Unfinished(NamedTuple):
    """A download that was not finished: `file` is the path in the repository, `bytes` what is there."""

    path: Path
    repo: str
    file: str
    bytes: int


def find_unfinished(folder: Path) -> list[Unfinished]:
    """Those below the folder of models, in the order of their names."""
    found = []
    for path in sorted(folder.glob("*/*/**/.*.part")):
        name = _NAME.match(path.name)
        with suppress(OSError):
            if name and path.is_file():
                owner, repo, *folders = path.relative_to(folder).parts[:-1]
                file = "/".join([*folders, name["file"]])
                found.append(Unfinished(path, f"{owner}/{repo}", file, path.stat().st_size))
    return found


def room(folder: Path) -> int | None:
    """Bytes that are free where the folder is or will be; None where the system does not tell."""
    for place in (folder, *folder.parents):
        with suppress(OSError):
            return shutil.disk_usage(place).free
    return None


def need_room(folder: Path, count: int) -> None:
    """Raises ModelError where so many bytes more have no room."""
    free = room(folder)
    if free is not None and count > free:
        raise ModelError(
            f"The download needs {byte_size(count)} more on the disk, and {byte_size(free)} are free.",
            where=str(folder),
            hint="Make room, choose a smaller file, or another folder: glyphscope models get --to FOLDER",
        )


class PartialFile:
    """The file while it is loaded, open and locked: two downloads of it at a time would write into each other."""

    def __init__(self, target: Path, file: HubFile) -> None:
        key = (file.sha256 or file.blob or f"{file.bytes:x}")[:12]
        self.target, self.file = target, file
        self.path = target.with_name(f".{target.name}.{key}.part")
        self.size = 0
        self._handle = -1
        self._hash = new_hash(self.file)

    def __enter__(self) -> PartialFile:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self._is_in_place():  # another download was just done with it
                raise BlockingIOError
        except BlockingIOError:
            self._close()
            raise ModelError(
                "This file is being downloaded already.",
                where=str(self.path),
                hint="Wait for it, or stop it.",
            ) from None
        except OSError as error:
            self._close()
            raise _written_not(error, self.path) from error
        return self

    def __exit__(self, *_: object) -> None:
        empty = self._handle >= 0 and self.size == 0 and os.fstat(self._handle).st_size == 0
        if empty:
            with suppress(OSError):
                self.path.unlink()
        self._close()

    @property
    def there(self) -> int:
        """Bytes of it on the disk."""
        return os.fstat(self._handle).st_size

    def read_again(self) -> Iterator[int]:
        """Hashes what is there, a block at a time, and yields how much of it is done; then `write` goes on."""
        self.size, self._hash = 0, new_hash(self.file)
        if self.file.bytes and self.there > self.file.bytes:
            self.restart()
        while block := os.pread(self._handle, BLOCK, self.size):
            self._hash.update(block)
            self.size += len(block)
            yield self.size

    def restart(self) -> None:
        """Nothing of it counts any more."""
        os.ftruncate(self._handle, 0)
        self.size, self._hash = 0, new_hash(self.file)

    def write(self, data: bytes) -> None:
        """Raises StorageError; what was written before stays."""
        at = 0
        try:
            while at < len(data):
                at += os.pwrite(self._handle, data[at:] if at else data, self.size + at)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._handle, self.size)
            raise _written_not(error, self.path) from error
        self._hash.update(data)
        self.size += len(data)

    def beginning(self, count: int) -> bytes:
        return os.pread(self._handle, count, 0)

    def is_right(self) -> bool | None:
        """Whether its hash is the one that the Hub tells; None where it tells none."""
        wanted = self.file.sha256 or self.file.blob
        return self._hash.hexdigest() == wanted.lower() if wanted else None

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()

    def settle(self) -> None:
        """Brings it to the disk."""
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise _written_not(error, self.path) from error

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._handle), self.path.stat())
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)  # and with it the lock
            self._handle = -1


def new_hash(file: HubFile) -> hashlib._Hash:
    """For the hash that the Hub tells: SHA-256, or git's SHA-1 of the content behind its size."""
    if file.sha256 or not file.blob:
        return hashlib.sha256()
    return hashlib.sha1(b"blob %d\0" % file.bytes, usedforsecurity=False)


def read_into(digest: hashlib._Hash, path: Path) -> Iterator[int]:
    """Hashes a file, a block at a time, and yields how much of it is done. Raises StorageError."""
    done = 0
    try:
        with path.open("rb") as source:
            while block := source.read(BLOCK):
                digest.update(block)
                done += len(block)
                yield done
    except OSError as error:
        raise StorageError(
            f"The file cannot be read: {error.strerror or error}.",
            where=str(path),
            hint="Check its permissions.",
        ) from error


def give_names(parts: list[PartialFile]) -> None:
    """Puts each in its place, the first one last: by it a split model is found. Raises StorageError.

    Beginnings of the same file as it was at other commits go: nothing will ever go on from them.
    """
    for part in reversed(parts):
        try:
            os.replace(part.path, part.target)
            for other in part.target.parent.glob(f".{glob.escape(part.target.name)}.*.part"):
                with suppress(OSError):
                    other.unlink()
            folder = os.open(part.target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise _written_not(error, part.target) from error


def _written_not(error: OSError, path: Path) -> StorageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            "The disk is full.",
            where=str(path),
            hint="Free some space and start the download again: it resumes.",
        )
    return StorageError(
        f"The file cannot be written: {error.strerror or error}.",
        where=str(path),
        hint="Check the permissions, or choose another folder: glyphscope models get --to FOLDER",
    )
