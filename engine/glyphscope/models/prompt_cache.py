"""The folder of evaluated prompts: its location, size limit and files.

A file has the KV state and the tokens of one prompt (`session.py` writes and reads it in the model's process).
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
"""The ending of a file that is being written; one that remains was left by a killed process."""


class PromptCache(msgspec.Struct, frozen=True):
    """A folder, and the maximum total size of its files in bytes."""

    folder: str
    limit: int


PromptCaches: TypeAlias = Callable[[], PromptCache | None]
"""Returns the cache in use, or None. Called before each generation, in any thread."""


class StoredFile(NamedTuple):
    """`used`: the time of the last write or read, in nanoseconds."""

    path: Path
    size: int
    used: int


def stored_files(folder: Path) -> list[StoredFile]:
    """The files of the cache, including unfinished ones, least recently used first."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith((SUFFIX, UNFINISHED)):
                with suppress(OSError):  # another process removed it
                    status = entry.stat()
                    found.append(StoredFile(Path(entry.path), status.st_size, status.st_mtime_ns))
    return sorted(found, key=lambda file: file.used)


def clear_cache(folder: Path) -> int:
    """Deletes all stored prompts that can be deleted. Returns the number of freed bytes."""
    freed = 0
    for file in stored_files(folder):
        with suppress(OSError):
            file.path.unlink()
            freed += file.size
    return freed
