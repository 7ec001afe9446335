"""Reads a file or pasted text with servers for a preview, without starting any."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glyphscope.errors import ServerError
from glyphscope.tools.mcp.config import ServerConfig, read_servers, server_entries


@dataclass(frozen=True)
class FoundServer:
    """A valid server: its configuration (`config`), and its original text (`entry`)."""

    name: str
    entry: dict[str, Any]
    config: ServerConfig


@dataclass(frozen=True)
class FoundServers:
    """`problems` has a line for each unusable server; `error` is why there are no servers at all."""

    servers: tuple[FoundServer, ...] = ()
    problems: tuple[str, ...] = ()
    error: str = ""


def find_servers(source: Path | str) -> FoundServers:
    """Return the servers in a text; never raises, for any text."""
    if isinstance(source, str) and not source.strip():
        return FoundServers()
    try:
        read, entries = read_servers(source), server_entries(source)
    except ServerError as error:
        return FoundServers(error=str(error))
    found = [FoundServer(config.name, entries[config.name], config) for config in read.servers]
    return FoundServers(tuple(found), tuple(f"{p.pointer}: {p.message}" for p in read.problems))
