"""Atomic writes of files, and migrations of documents of older versions."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any, BinaryIO, TypeAlias, TypeVar

import msgspec

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.base.inputs import refuse_special, storage_error, sync_folder
from glyphscope.base.structs import ready


class ChangedOnDisk(StorageError):
    """The file was changed by another program since it was read; nothing was written."""


def atomic_write(path: Path, data: bytes | str) -> None:
    """Replace a file by one with this content, as `atomic_file` does. Raises StorageError."""
    content = data.encode() if isinstance(data, str) else data
    with atomic_file(path) as file:
        file.write(content)


def own_file(folder: Path, name: str | PurePath, *, in_place: bool = False) -> Path:
    """The path of a file that belongs to a folder, for writing it.

    Raises StorageError if the file, or a folder between, is a symbolic link, or the name leads out of the folder: a
    file elsewhere would be written. Also if the file has other names (hard links) and is written `in_place`, not
    replaced. The folder itself may be a link, as its user chose it.
    """
    path = folder
    parts = PurePath(name).parts
    if not parts or ".." in parts or PurePath(name).is_absolute():
        raise StorageError("This file is not in the folder.", where=f"{folder}: {name}")
    for part in parts:
        path = path / part
        if os.path.islink(path):
            raise StorageError(
                "This is a link: a file in another place would be written.",
                where=str(path),
                hint="Remove the link, or put a copy in its place.",
            )
    with suppress(OSError):
        if in_place and (names := path.stat().st_nlink) > 1 and path.is_file():
            raise StorageError(
                f"This file has {names} names (hard links): a file in another place would be written.",
                where=str(path),
                hint="Put a copy in its place.",
            )
    return path


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A temporary file next to `path`, which is flushed to disk and replaces the old file when the context ends.

    Symbolic links and permissions are preserved. Raises StorageError (a full disk, no permission); the old file is then
    unchanged, and the temporary one is removed, as after any other error. The temporary file of a killed process is
    removed by the next write to the same file.
    """
    target = Path(os.path.realpath(path))
    temporary = ""
    refuse_special(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_orphans(target)
        handle, temporary = tempfile.mkstemp(
            prefix=f"{_prefix(target)}{os.getpid()}-", suffix=".tmp", dir=target.parent
        )
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(handle, target.stat().st_mode & 0o7777 if target.exists() else _new_mode())
            os.fsync(handle)
        os.replace(temporary, target)
        sync_folder(target.parent)
    except BaseException as error:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):
            raise storage_error(error, path, "written") from error
        raise


def replace_folder(path: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Replace a folder by one with these files, given by name; without any there is none afterwards.

    Raises StorageError, also if the folder is a link; the old folder is then unchanged.
    """
    path = own_file(path.parent, path.name)
    new = own_file(path.parent, f"{path.name}.new")
    try:
        shutil.rmtree(new, ignore_errors=True)
        for name, data in files:
            new.mkdir(exist_ok=True)
            (new / name).write_bytes(data)
        if path.is_dir():
            shutil.rmtree(path)
        if new.is_dir():
            new.rename(path)
    except OSError as error:
        raise storage_error(error, path, "written") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def move_aside(path: Path) -> Path | None:
    """Rename a damaged file, which preserves it; its new path, or None if it cannot be renamed."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    try:
        os.replace(path, aside)
    except OSError:
        return None
    return aside


def digest_of(data: bytes) -> str:
    """SHA-256 (hex) of a file's content."""
    return hashlib.sha256(data).hexdigest()


def now() -> str:
    """The current time in UTC, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _prefix(target: Path) -> str:
    """The name of a temporary file up to its process id."""
    return f".{target.name[:100]}."


def _remove_orphans(target: Path) -> None:
    """Remove temporary files of processes that have ended."""
    start = _prefix(target)
    for entry in os.scandir(target.parent):
        if entry.name.startswith(start) and entry.name.endswith(".tmp"):
            pid = entry.name.removeprefix(start).partition("-")[0]
            if pid.isdigit() and not _alive(int(pid)):
                with suppress(OSError):
                    os.unlink(entry.path)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


K = TypeVar("K")
Migrations: TypeAlias = Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]
"""For each version, the function that converts a document of that version to the next one."""


def convert_versioned(
    document: Any,
    kind: type[K],
    versions: tuple[str, int, Migrations],
    where: str,
    *,
    what: str,
    hint: str = "",
) -> K:
    """The document as `kind`. `versions` are as in `migrate`. Raises RecordError, also if `what` is damaged."""
    document = migrate(document, *versions, where)
    try:
        return msgspec.convert(document, ready(kind))
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        raise RecordError(f"{what} is damaged: {error}.", where=where, hint=hint) from None


def migrate(document: Any, key: str, newest: int, steps: Migrations, where: str) -> dict[str, Any]:
    """The document in version `newest`. Raises RecordError if it has no version under `key`, or a newer one."""
    version = document.get(key) if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RecordError(
            f"Not a {key.replace('glyphscope_', 'Glyphscope ')}: no version ({key}) found.",
            where=where,
            hint="Choose a file that Glyphscope saved.",
        )
    if version > newest:
        raise RecordError(
            f"This file is of version {version}; this program reads up to version {newest}.",
            where=where,
            hint="Open it with a newer Glyphscope.",
        )
    migrated: dict[str, Any] = document
    for step in range(version, newest):
        migrated = {**steps[step](migrated), key: step + 1}
    return migrated
