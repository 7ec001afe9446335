"""The window's MCP servers: a file in the common form, which other programs can also read.

The entries are stored as written: `${NAME}` is not replaced, so no secrets of the environment are saved. The file may
still contain secrets, so only its owner may read it.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import StorageError
from glyphscope.base.inputs import read_file
from glyphscope.base.json_values import json_file
from glyphscope.store.files import atomic_write, move_aside

VERSION = 1
MAX_CONSENTS = 500
_KEY = "glyphscope_servers"


class KnownServers(msgspec.Struct, frozen=True, kw_only=True):
    """`entries` are the servers by name, in their order; `consents` are the digests of those that may be started."""

    entries: dict[str, dict[str, Any]] = {}
    consents: tuple[str, ...] = ()


class LoadedServers(NamedTuple):
    """The servers that were read; `notice` reports unreadable parts, and is empty if there are none."""

    known: KnownServers
    notice: str


def load_servers(path: Path) -> LoadedServers:
    """The servers of the file; empty without a file. A damaged file is renamed. Never raises."""
    try:
        if not path.exists():
            return LoadedServers(KnownServers(), "")
        document = json.loads(read_file(path))
        found = document["mcpServers"]
        entries = {str(name): entry for name, entry in found.items() if isinstance(entry, dict)}
        consents = tuple(digest for digest in document.get("consents", ()) if isinstance(digest, str))
    except (OSError, StorageError) as error:
        return LoadedServers(KnownServers(), f"The servers could not be read: {error}")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        aside = move_aside(path)
        kept = f" It was kept as {aside.name}." if aside else ""
        return LoadedServers(KnownServers(), f"The file of servers was damaged.{kept}")
    return LoadedServers(KnownServers(entries=entries, consents=consents), "")


def save_servers(path: Path, known: KnownServers) -> None:
    """Save the servers. Raises StorageError. Only its owner can read a new file."""
    document = {
        _KEY: VERSION,
        "mcpServers": known.entries,
        "consents": list(known.consents[-MAX_CONSENTS:]),
    }
    if not path.exists():
        with suppress(OSError):  # the write reports problems with the place
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    atomic_write(path, json_file(document))
