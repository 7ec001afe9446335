"""The folder of prompts that were evaluated before: where it is, how large it may be, and what is in it.

A file has the KV state of one prompt and its tokens (`stored_prompts.py` writes and reads it, in the model's process).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

SUFFIX = ".kv"
UNFINISHED = ".kv.tmp"
"""Of a file that is being written; one that stays was left by a process that was killed."""


class PromptCache(msgspec.Struct, frozen=True):
    """A folder, and the most bytes that its files may have together."""

    folder: str
    limit: int


PromptCaches: TypeAlias = Callable[[], PromptCache | None]
"""The cache in use, asked for before each generation; None for none. Called in any thread."""


class StoredFile(NamedTuple):
    """`used`: when it was last written or read, in nanoseconds."""

    path: Path
    size: int
    used: int


def stored_files(folder: Path) -> list[StoredFile]:
    """The files of the cache, unfinished ones included; the one that was not used for longest comes first."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith((SUFFIX, UNFINISHED)):
                with suppress(OSError):  # another process removed it
                    status = entry.stat()
                    found.append(StoredFile(Path(entry.path), status.st_size, status.st_mtime_ns))
    return sorted(found, key=lambda file: file.used)


def clear_cache(folder: Path) -> int:
    """Deletes all stored prompts; the number of bytes. A file that cannot be deleted stays."""
    freed = 0
    for file in stored_files(folder):
        with suppress(OSError):
            file.path.unlink()
            freed += file.size
    return freed
