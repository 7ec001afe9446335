"""Read files from other sources up to a limit, with every failure in words; and sync folders with new files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

from glyphscope.base.errors import GlyphscopeError, StorageError
from glyphscope.base.figures import byte_size
from glyphscope.base.shorten import shorten

Allows: TypeAlias = Callable[[Path, Path], bool]
"""Whether a file in the first folder may name the file of the second path."""
_ALLOWED: ContextVar[tuple[Allows, ...]] = ContextVar("files that other files may name", default=())


def read_file(
    path: Path,
    most: int | None = None,
    what: str = "the file",
    *,
    hint: str = "",
    pipes: bool = False,
    error: type[GlyphscopeError] = StorageError,
) -> bytes:
    """The whole file. Raises `error` if it is missing, not a file, unreadable, or larger than `most` bytes.

    `what` is the expected kind of file, such as `a suite`, and `hint` the advice if it is too large. With `pipes`, a
    named pipe is read to its end.
    """
    try:
        if not pipes:
            refuse_special(path)
        return _read(path, most, what, hint)
    except StorageError as failure:
        if isinstance(failure, error):
            raise
        raise error(failure.message, where=failure.where, hint=failure.hint) from failure


@contextmanager
def files_allowed(allows: Allows) -> Iterator[None]:
    """Within the context, `named_file` asks `allows` about each file outside of its folder, symbolic links followed."""
    token = _ALLOWED.set((*_ALLOWED.get(), allows))
    try:
        yield
    finally:
        _ALLOWED.reset(token)


@contextmanager
def files_below(*folders: Path) -> Iterator[None]:
    """Within the context, `named_file` also finds the files below these folders, which the user has named."""
    with files_allowed(lambda _, path: any(path.is_relative_to(folder.resolve()) for folder in folders)):
        yield


def named_file(folder: Path, name: str) -> Path:
    """The path of a file that another file names, from its folder; it need not exist.

    Raises StorageError for a file outside of the folder, symbolic links followed, that neither `files_allowed` nor
    `files_below` allows: the other file can be a stranger's, and what is made of it, such as a result, contains what
    was read.
    """
    where = str(folder / shorten(name, 200))
    try:
        inside = folder.resolve()
        path = (inside / name).resolve()
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()  # raises for a name that is too long, a cycle of links, and a null byte
        allowed = path.is_relative_to(inside) or any(allows(inside, path) for allows in _ALLOWED.get())
    except (OSError, RuntimeError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error).removeprefix("lstat: ")
        raise StorageError(f"This is not the path of a file: {why}.", where=where) from None
    if not allowed:
        raise StorageError(
            f"The file is outside of the folder {folder}.",
            where=where,
            hint="Copy it into that folder. For a suite, the window asks whether to read it, and the option "
            "--files-below FOLDER allows another folder.",
        )
    return path


def utf8_text(data: bytes, where: str, *, hint: str, error: type[GlyphscopeError] = StorageError) -> str:
    """The text of UTF-8 bytes, without an editor's byte order mark. Raises `error`."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as failure:
        at = failure.start
        raise error(
            f"This is not UTF-8 text: byte 0x{data[at]:02X} at {at:,}.", where=where, hint=hint
        ) from None


def home_path(path: str | Path) -> Path:
    """The path with the home folder in place of `~`; unchanged if there is none, or no such user."""
    return Path(os.path.expanduser(path))


def refuse_special(path: Path) -> None:
    """Raises StorageError for a folder, device or pipe, which a file in its place would destroy.

    Also for a place that cannot be examined: the name is too long, or the folder is not accessible.
    """
    try:
        special = not stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        special = False
    except OSError as error:
        raise storage_error(error, path, "read") from error
    except ValueError as error:
        raise _no_name(error, path) from None
    if special:
        raise _not_a_file(path)


def storage_error(error: OSError, path: Path, doing: str) -> StorageError:
    """A system error as an error for the user; `doing` is "read" or "written"."""
    where = str(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            "The disk is full.",
            where=where,
            hint="Make room and save again; what was saved before is still there.",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(
            f"The file may not be {doing}.",
            where=where,
            hint="Check the permissions, or choose another place.",
        )
    if error.errno == errno.ENOENT:
        return StorageError("There is no such file.", where=where, hint="Check the path.")
    if error.errno == errno.EISDIR:
        return _not_a_file(path)
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        hint = "Choose another place: a part of this path is a file, not a folder."
        return StorageError("There can be no file in this place.", where=where, hint=hint)
    if error.errno == errno.ENAMETOOLONG:
        return StorageError("The file's name is too long.", where=where, hint="Choose a shorter one.")
    hint = "Try again, or choose another place."
    return StorageError(f"The file cannot be {doing}: {error.strerror or error}.", where=where, hint=hint)


def sync_folder(folder: Path) -> None:
    """Write the name of a new file in the folder to disk. Raises OSError if the folder cannot be opened."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # not supported by some network file systems
            os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path, most: int | None, what: str, hint: str) -> bytes:
    try:
        with path.open("rb") as file:
            size, data = os.fstat(file.fileno()).st_size, b""
            if most is None or size <= most:
                data = file.read() if most is None else file.read(most + 1)
    except OSError as error:
        raise storage_error(error, path, "read") from error
    except ValueError as error:
        raise _no_name(error, path) from None
    if most is not None and (large := max(size, len(data))) > most:
        raise StorageError(
            f"The file has {byte_size(large)}; {what} has at most {byte_size(most)}.",
            where=str(path),
            hint=hint,
        )
    return data


def _not_a_file(path: Path) -> StorageError:
    kind = "This is a folder, not a file." if path.is_dir() else "This place is not a file."
    return StorageError(kind, where=str(path), hint="Choose a file.")


def _no_name(error: ValueError, path: Path) -> StorageError:
    """The error for an invalid file name."""
    return StorageError(f"The file cannot be read: {error}.", where=str(path))
