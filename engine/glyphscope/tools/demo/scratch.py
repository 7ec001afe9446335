"""A scratch folder: files are read and written only inside it, whatever the path.

A path is first checked by its text, then followed on disk: links that lead out of the folder are rejected, and so is
anything but a regular file (reading a pipe would block forever). Files are written atomically.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
import unicodedata
from pathlib import Path
from typing import Literal

import msgspec

from glyphscope.base.errors import ToolError
from glyphscope.base.shorten import and_more, shorten

MAX_FILE_BYTES = 1_000_000
MAX_TOTAL_BYTES = 20_000_000
MAX_FILES = 500
MAX_PARTS = 8
MAX_PART_BYTES = 200
MAX_PATH = 2000

_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_LISTED = 10


class ScratchFile(msgspec.Struct, frozen=True):
    """A file in the folder: its relative path with forward slashes, and its size in bytes."""

    path: str
    bytes: int


class Scratch:
    """The folder is created when the first file is written; by default, it is a temporary folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        """The folder of the files; None as long as there is none."""
        self._own = folder is None
        self._lock = threading.RLock()

    def files(self) -> tuple[ScratchFile, ...]:
        """The regular files in the folder, ordered by path; at most one more than may be written."""
        found: list[ScratchFile] = []
        with self._lock:
            if self.folder is None:
                return ()
            for place, folders, names in os.walk(self.folder):
                folders.sort()
                for name in sorted(names):
                    full = Path(place, name)
                    try:
                        known = full.lstat()
                    except OSError:  # deleted meanwhile
                        continue
                    if stat.S_ISREG(known.st_mode):
                        found.append(ScratchFile(full.relative_to(self.folder).as_posix(), known.st_size))
                if len(found) > MAX_FILES:
                    break
        return tuple(sorted(found, key=lambda file: file.path))

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises ToolError if it is missing, not a regular file, outside, or too large."""
        with self._lock:
            parts = _parts(path)
            full = self._inside(parts) if self.folder is not None else None
            if full is None or not os.path.lexists(full):
                raise ToolError(f"There is no file {_shown(path)}.", hint=self._listing())
            if full.is_dir():
                raise ToolError(f"{_shown(path)} is a folder.", hint=self._listing())
            return _read(full, path)

    def write(self, path: str, data: bytes, mode: Literal["overwrite", "append"] = "overwrite") -> int:
        """Write or append to a file, creating its folders. Returns its new size. Raises ToolError like `read`."""
        with self._lock:
            parts = _parts(path)
            if not parts:
                raise ToolError("The path names the scratch folder itself.", hint='Name a file: "notes.txt".')
            self._made()
            full = self._inside(parts)
            if full.is_dir():
                raise ToolError(f"{_shown(path)} is a folder.", hint="Choose another name for the file.")
            if mode == "append" and os.path.lexists(full):
                data = _read(full, path) + data
            self._check_room(path, full, len(data))
            try:
                full.parent.mkdir(parents=True, exist_ok=True)
                _replace(full, data)
            except (FileExistsError, NotADirectoryError):
                raise ToolError(
                    f"A part of {_shown(path)} is a file, not a folder.", hint=self._listing()
                ) from None
            except OSError as error:
                raise ToolError(f"{_shown(path)} cannot be written: {error.strerror}.") from error
            return len(data)

    def close(self) -> None:
        """Remove a temporary folder; a given folder is kept."""
        with self._lock:
            if self._own and self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder = None

    def _made(self) -> None:
        try:
            if self.folder is None:
                self.folder = Path(tempfile.mkdtemp(prefix="glyphscope-scratch-"))
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ToolError(f"The scratch folder cannot be made: {error.strerror}.") from error

    def _inside(self, parts: tuple[str, ...]) -> Path:
        """The target of the path, with links followed. Raises ToolError unless it is in the folder."""
        assert self.folder is not None
        try:
            root = self.folder.resolve()
            full = root.joinpath(*parts).resolve()
            loop = os.path.islink(full)  # after Python 3.12, only what follows the link raises
        except (OSError, RuntimeError):
            loop = True
        if loop:
            raise ToolError(f"{_shown('/'.join(parts))} cannot be followed: its links form a loop.")
        if not full.is_relative_to(root):
            raise _outside("/".join(parts))
        return full

    def _check_room(self, path: str, full: Path, size: int) -> None:
        if size > MAX_FILE_BYTES:
            raise ToolError(
                f"{_shown(path)} would have {size:,} bytes; a file holds at most {MAX_FILE_BYTES:,}."
            )
        assert self.folder is not None
        others = [file for file in self.files() if self.folder.resolve() / file.path != full]
        if len(others) >= MAX_FILES:
            raise ToolError(f"The scratch folder is full: it holds {MAX_FILES} files.")
        if sum(file.bytes for file in others) + size > MAX_TOTAL_BYTES:
            raise ToolError(f"The scratch folder is full: it holds {MAX_TOTAL_BYTES:,} bytes.")

    def _listing(self) -> str:
        names = [file.path for file in self.files()]
        if not names:
            return "The scratch folder is empty; write_file puts a file there."
        return f"The scratch folder has {and_more(names, _LISTED)}."


def _parts(path: str) -> tuple[str, ...]:
    """The names in a relative path. Raises ToolError for an invalid path, or one that leads outside."""
    if len(path) > MAX_PATH:
        raise ToolError(f"The path has {len(path):,} characters; at most {MAX_PATH:,} are read.")
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in path):
        raise ToolError("The path has a control character in it.", hint='Write one such as "notes.txt".')
    if not path.strip():
        raise ToolError("The path is empty.", hint='Write one such as "notes.txt".')
    plain = path.replace("\\", "/")
    parts = tuple(part for part in plain.split("/") if part not in ("", "."))
    if plain.startswith(("/", "~")) or ".." in parts or (parts and parts[0].endswith(":")):
        raise _outside(path)
    if len(parts) > MAX_PARTS:
        raise ToolError(f"The path is {len(parts)} levels deep; at most {MAX_PARTS} are allowed.")
    if any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        raise ToolError(f"A name in the path is too long: at most {MAX_PART_BYTES} bytes.")
    return parts


def _outside(path: str) -> ToolError:
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..", "~")]
    name = parts[-1] if parts and len(parts[-1]) < 60 and not parts[-1].endswith(":") else "notes.txt"
    return ToolError(
        f"{_shown(path)} is outside the scratch folder, and only that folder is accessible.",
        hint=f'Write a path inside it: "{name}".',
    )


def _shown(path: str) -> str:
    return f'"{shorten(path, 80)}"'


def _read(full: Path, path: str) -> bytes:
    try:
        number = os.open(full, _READ)
    except OSError as error:
        raise ToolError(f"{_shown(path)} cannot be read: {error.strerror}.") from error
    with os.fdopen(number, "rb") as file:
        known = os.fstat(number)
        if not stat.S_ISREG(known.st_mode):
            raise ToolError(f"{_shown(path)} is not a plain file.")
        if known.st_size > MAX_FILE_BYTES:
            raise ToolError(
                f"{_shown(path)} has {known.st_size:,} bytes; at most {MAX_FILE_BYTES:,} are read."
            )
        return file.read(MAX_FILE_BYTES + 1)[:MAX_FILE_BYTES]


def _replace(full: Path, data: bytes) -> None:
    number, name = tempfile.mkstemp(prefix=".writing-", dir=full.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        os.replace(name, full)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
