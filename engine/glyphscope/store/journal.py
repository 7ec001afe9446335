"""Unsaved edits, written while the user works and offered again after a crash.

Each process has one file, and a lock file that it locks while it runs: a journal with a free lock belongs to a process
that has ended.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from glyphscope.base.errors import GlyphscopeError, StorageError
from glyphscope.base.inputs import read_file, storage_error
from glyphscope.base.json_values import json_or_text
from glyphscope.base.locks import try_lock
from glyphscope.store.files import atomic_write, convert_versioned, digest_of, move_aside, now
from glyphscope.store.project import Project

VERSION = 1
_KEY = "glyphscope_journal"


class Unsaved(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a journal: the edits, the project's file (empty if it is new) and its digest when opened."""

    project: Project
    path: str = ""
    digest: str = ""
    time: str = ""

    @property
    def changed_since(self) -> bool:
        """Whether the project's file has changed since, so that restoring the edits would overwrite the changes."""
        if not self.path or not self.digest:
            return False
        try:
            return digest_of(read_file(Path(self.path))) != self.digest
        except StorageError:
            return True


class Leftover(NamedTuple):
    """The journal of a process that has ended with unsaved edits."""

    file: Path
    unsaved: Unsaved


class Journal:
    """This process's journal in `folder`. Nothing is on disk before the first `write`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._lock: int | None = None

    @property
    def file(self) -> Path:
        return self._folder / f"{self._name}.json"

    def write(self, project: Project, path: Path | None = None, digest: str = "") -> None:
        """Write the current edits. Raises StorageError; previously written edits are preserved."""
        self._acquire_lock()
        unsaved = Unsaved(project=project, path=str(path or ""), digest=digest, time=now())
        document = {_KEY: VERSION, **msgspec.to_builtins(unsaved)}
        atomic_write(self.file, json.dumps(document, ensure_ascii=False))

    def clear(self) -> None:
        """Remove the journal, when everything is saved or the window closes."""
        _remove(self.file)
        lock, self._lock = self._lock, None
        if lock is not None:
            _remove(self.file.with_suffix(".lock"))
            os.close(lock)

    def release(self) -> None:
        """Release the lock when the process ends with unsaved edits, which are offered at the next start."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def leftovers(self) -> list[Leftover]:
        """The journals of ended processes, newest first. Damaged ones are renamed; never raises."""
        found = []
        with suppress(OSError):
            for file in self._folder.glob("*.json"):
                if file != self.file and not _is_locked(file.with_suffix(".lock")):
                    try:
                        found.append(Leftover(file, _read(file)))
                    except GlyphscopeError:
                        move_aside(file)
        return sorted(found, key=lambda leftover: leftover.unsaved.time, reverse=True)

    def discard(self, leftover: Leftover) -> None:
        """Remove a leftover whose edits the user restored or discarded."""
        _remove(leftover.file)
        _remove(leftover.file.with_suffix(".lock"))

    def _acquire_lock(self) -> None:
        if self._lock is not None:
            return
        place = self.file.with_suffix(".lock")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try_lock(self._lock)  # no other process knows its name
        except OSError as error:
            raise storage_error(error, place, "written") from error


def _read(file: Path) -> Unsaved:
    document = json_or_text(read_file(file))
    return convert_versioned(document, Unsaved, (_KEY, VERSION, {}), str(file), what="This journal")


def _is_locked(lock: Path) -> bool:
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(handle)
    except OSError:
        return True
    finally:
        os.close(handle)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()
