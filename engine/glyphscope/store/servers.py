"""The window's MCP servers: a file in the common form, which other programs can also read.

The entries are stored as written: `${NAME}` is not replaced, so no secrets of the environment are saved. The file may
still contain secrets, so only its owner may read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import StorageError
from glyphscope.base.inputs import read_file
from glyphscope.base.json_values import json_file
from glyphscope.base.structs import ready
from glyphscope.store.files import atomic_write, move_aside
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.listing import DescribedTools, ToolChanges, tool_changes

VERSION = 1
MAX_CONSENTS = 500
MAX_LISTS = 20
"""Lists of tools that are kept of a server."""
_KEY = "glyphscope_servers"


class KnownServers(msgspec.Struct, frozen=True, kw_only=True):
    """`entries` are the servers by name, in their order; `consents` are the digests of those that may be started."""

    entries: dict[str, dict[str, Any]] = {}
    consents: tuple[str, ...] = ()


class LoadedServers(NamedTuple):
    """The servers that were read; `notice` reports unreadable parts, and is empty if there are none."""

    known: KnownServers
    notice: str


class SeenList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of tools, and when a server first had it after another one (Unix seconds)."""

    at: float
    tools: DescribedTools


class SeenTools:
    """The different lists of tools that each server had, the last ones: in a file for each server, which only its owner
    can read, named by a digest of the server's name and identity. Thread-safe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def __call__(self, config: ServerConfig, tools: DescribedTools) -> ToolChanges:
        """Add a list, and return the changes since the one before; none if there was none. Never raises."""
        with self._lock:
            seen = self.lists(config)
            changes = tool_changes(seen[-1].tools, tools, since=seen[-1].at) if seen else ToolChanges()
            if changes or not seen:
                lists = (*seen[1 - MAX_LISTS :], SeenList(at=time.time(), tools=tools))
                with suppress(StorageError):  # then the next connection is compared with an older list
                    _write_private(self._file(config), msgspec.json.encode(lists))
        return changes

    def lists(self, config: ServerConfig) -> tuple[SeenList, ...]:
        """The lists in order of time; empty for an unknown server, and for a file that cannot be read."""
        try:
            return msgspec.json.decode(read_file(self._file(config)), type=ready(tuple[SeenList, ...]))
        except (StorageError, msgspec.MsgspecError, RecursionError):
            return ()

    def _file(self, config: ServerConfig) -> Path:
        key = hashlib.sha256(f"{config.name}\0{config.identity}".encode(errors="surrogatepass"))
        return self._folder / f"{key.hexdigest()[:32]}.json"


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
    _write_private(path, json_file(document))


def _write_private(path: Path, data: str | bytes) -> None:
    """Write a file. Raises StorageError. Only its owner can read a new one."""
    if not path.exists():
        with suppress(OSError):  # the write reports problems with the place
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    atomic_write(path, data)
