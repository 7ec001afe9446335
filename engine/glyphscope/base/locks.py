"""Locks between processes, of open files and folders: each ends when its file is closed, or its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.inputs import storage_error


def try_lock(file: int | IO[Any], *, shared: bool = False) -> bool:
    """Lock an open file; False if another process has locked it, for itself alone if this lock is `shared`.

    Raises OSError for a file system without locks.
    """
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def folder_alone(folder: Path, busy: GlyphscopeError) -> Iterator[None]:
    """Let no other process use `folder`, which is made if needed, in this way. Raises `busy` while one does, and
    StorageError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise storage_error(error, folder, "written") from error
    try:
        with suppress(OSError):  # a file system without locks
            if not try_lock(handle):
                raise busy
        yield
    finally:
        os.close(handle)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock `folder` while a file in it is read and replaced: one process at a time, without a lock file."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # a folder that does not exist yet has nothing to protect
        yield
        return
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
