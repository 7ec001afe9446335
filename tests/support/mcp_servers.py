"""Servers for tests: the scripted one with its behaviour, opened and reliably closed again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glyphscope.tools import Outcome
from glyphscope.tools.mcp import McpServer, ServerConfig

SCRIPT = Path(__file__).with_name("scripted_server.py")


def scripted(*behaviour: str, **more: Any) -> ServerConfig:
    return ServerConfig(name="scripted", command=sys.executable, args=(str(SCRIPT), *behaviour), **more)


@contextmanager
def opened(*behaviour: str, seconds: float = 20.0, **more: Any) -> Iterator[McpServer]:
    server = McpServer(scripted(*behaviour, **more), start_seconds=seconds)
    try:
        yield server.open()
    finally:
        server.close()


def call(
    server: McpServer, tool: str, arguments: dict[str, Any] | None = None, seconds: float = 20.0
) -> Outcome:
    return server.call(tool, arguments or {}, seconds=seconds, cancel=threading.Event())
