"""A partial file of a download, beside its target; locked while it grows."""

from __future__ import annotations

import glob
import hashlib
import io
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from glyphscope.base.errors import ModelError
from glyphscope.base.figures import byte_size
from glyphscope.base.inputs import sync_folder
from glyphscope.base.locks import try_lock
from glyphscope.models.hub.files import HubFile, Phase

Report = Callable[[Phase, int, str], None]
"""Called with the phase, the completed bytes of this file, and the reason for waiting, if any."""
MAGIC = b"GGUF"
_BLOCK = 1 << 20
"""Bytes hashed at a time."""
_NAME = re.compile(r"^\.(?P<file>.+\.gguf)\.(?P<key>[0-9a-f]{1,12})\.part$", re.IGNORECASE)


class Unfinished(NamedTuple):
    """An unfinished download at `path`: `file` is the path in the repository, `bytes` the received size."""

    path: Path
    repo: str
    file: str
    bytes: int


def find_unfinished(folder: Path) -> list[Unfinished]:
    """The unfinished downloads below the folder of models, by name."""
    found = []
    for path in sorted(folder.glob("*/*/**/.*.part")):
        name = _NAME.match(path.name)
        with suppress(OSError):
            if name and path.is_file():
                owner, repo, *folders = path.relative_to(folder).parts[:-1]
                file = "/".join([*folders, name["file"]])
                found.append(Unfinished(path, f"{owner}/{repo}", file, path.stat().st_size))
    return found


def need_room(folder: Path, count: int) -> None:
    """Raises ModelError if there is no room for `count` more bytes; never if the free space is unknown."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    if count > free:
        raise ModelError(
            f"The download needs {byte_size(count)} more on the disk, and {byte_size(free)} are free.",
            where=str(folder),
            hint="Make room, choose a smaller file, or another folder: glyphscope models get --to FOLDER",
        )


class PartialFile(io.FileIO):
    """A file during its download, as `.NAME.KEY.part` beside `target`; the key changes with the Hub's content.

    It is locked, so that two downloads cannot write to the same file. `report` receives the progress.
    """

    def __init__(self, target: Path, file: HubFile, report: Report) -> None:
        """Raises ModelError if another download has the file, and OSError."""
        key = (file.right_hash or f"{file.bytes:x}")[:12]
        self.target, self.file, self.report = target, file, report
        self.path = target.with_name(f".{target.name}.{key}.part")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(self.path, "a+")
        try:
            # another download may have renamed or deleted it before the lock
            is_own = try_lock(self) and os.path.samestat(os.fstat(self.fileno()), self.path.stat())
        except FileNotFoundError:
            is_own = False
        if not is_own:
            self.close()
            raise ModelError(
                "This file is being downloaded already.",
                where=str(self.path),
                hint="Wait for it, or stop it.",
            )

    def __exit__(self, *_: object) -> None:
        if not self.size:
            self.path.unlink(missing_ok=True)
        self.close()

    @property
    def size(self) -> int:
        return os.fstat(self.fileno()).st_size

    def restart(self) -> None:
        """Discard the received data."""
        self.seek(0)
        self.truncate()

    def write(self, data: Any) -> int:
        """Append all of `data`. Raises OSError, and ModelError for data that cannot belong to the file."""
        size, expected = self.size, self.file.bytes
        if expected and size + len(data) > expected:
            self.restart()
            raise ModelError(
                "The server sends more than the file has.", where=self.file.path, hint="Try again."
            )
        if size < len(MAGIC):
            self._check_magic(os.pread(self.fileno(), size, 0) + data[:64])
        view = memoryview(data)
        while view:
            view = view[super().write(view) :]
        self.report("downloading", size + len(data), "")
        return len(data)

    def _check_magic(self, begins: bytes) -> None:
        """Raises ModelError, and discards the data, unless the first bytes are GGUF's."""
        if begins[: len(MAGIC)] == MAGIC[: len(begins)]:
            return
        self.restart()
        if begins.startswith(b"version https://git-lfs"):
            what = "it is only a pointer to one"
        elif begins.lstrip()[:1] == b"<":
            what = "it is a web page; a login may be in between"
        else:
            what = f"it begins with {begins[:8]!r}"
        raise ModelError(
            f"The server does not send a GGUF file: {what}.",
            where=self.file.path,
            hint="The file was discarded.",
        )


def hash_of(path: Path, file: HubFile, report: Report) -> str:
    """The content's hash in hex, of the kind that the Hub reports: SHA-256, or git's SHA-1 of size and content.

    Empty if the Hub reports none. Raises OSError.
    """
    if not file.right_hash:
        return ""
    digest, done = hashlib.sha256(), 0
    if not file.sha256:
        digest = hashlib.sha1(b"blob %d\0" % file.bytes, usedforsecurity=False)
    with path.open("rb", buffering=0) as source:
        while block := source.read(_BLOCK):
            digest.update(block)
            report("checking", done := done + len(block), "")
    return digest.hexdigest()


def give_names(parts: list[PartialFile]) -> None:
    """Rename each part to its target, the first one last, as a split model is found by its first part. Raises OSError.

    Partial files of the same target at other commits are deleted, as no download will resume them.
    """
    for part in reversed(parts):
        os.fsync(part)
        os.replace(part.path, part.target)
        for other in part.target.parent.glob(f".{glob.escape(part.target.name)}.*.part"):
            with suppress(OSError):
                other.unlink()
        sync_folder(part.target.parent)
