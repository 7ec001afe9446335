"""A configured server as a source of tools for runs and for calls by hand: it is there also while no process is.

Without Qt: a run asks from its own thread, a call by hand from another, and the window from its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from glyphscope.registry import Tool
from glyphscope.tools import Outcome, Progress, ToolSource
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.server import McpServer

Phase: TypeAlias = Literal["stopped", "starting", "ready", "failed", "ended", "stopping"]

_LOOK = 0.05
"""Seconds between two looks of a call that waits for its server to get ready."""
_IDLE = ("stopped", "failed", "ended")


class ServerSource:
    """A `ToolSource` over one configuration. Every start is a new McpServer; the last one stays to be looked at.

    `may_run` is the user's word that this configuration may be started; without it nothing of it ever runs.
    `changed` and `logged` are called in the server's threads, with the server's name.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        may_run: bool,
        changed: Callable[[str], None],
        logged: Callable[[str], None],
    ) -> None:
        self.config = config
        self.may_run = may_run
        self._changed = changed
        self._logged = logged
        self._lock = threading.Lock()
        self._server: McpServer | None = None
        self._stopping = False
        self._closed = False

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def identity(self) -> str:
        return self.config.identity

    @property
    def server(self) -> McpServer | None:
        """The present process, or the last one; None before the first start."""
        return self._server

    @property
    def phase(self) -> Phase:
        server = self._server
        if server is None:
            return "stopped"
        if self._stopping and server.state not in _IDLE:
            return "stopping"
        return server.state

    def tools(self) -> tuple[Tool, ...]:
        return self._server.tools() if self._server else ()

    def claims(self, tool: str) -> dict[str, Any]:
        return self._server.claims(tool) if self._server else {}

    def start(self) -> bool:
        """Starts it and returns at once; False where it may not be started. One that runs is left alone."""
        with self._lock:
            if not self.may_run or self._closed or self.config.disabled:
                return False
            running = self._server is not None and self._server.state not in _IDLE
            if running and not self._stopping:  # one that is on its way out is no hindrance
                return True
            server = McpServer(self.config, changed=lambda _server: self._changed(self.name))
            server.log.added = lambda: self._logged(self.name)
            self._server, self._stopping = server, False
            server.start()
        return True

    def stop(self) -> None:
        """Ends the process and waits until it is gone, at most some seconds: not for the window's thread."""
        with self._lock:
            server, self._stopping = self._server, True
        if server is not None:
            self._changed(self.name)
            server.close()
            self._changed(self.name)

    def restart(self) -> None:
        """As `stop`, and then `start`."""
        self.stop()
        self.start()

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        seconds: float,
        cancel: threading.Event,
        progress: Progress | None = None,
    ) -> Outcome:
        """A server that does not run is started first, where it may be."""
        until = time.monotonic() + seconds
        if self.config.disabled:
            return Outcome(fault="protocol", message=f"The server {self.name} is switched off.")
        if not self.start():
            why = "nobody has allowed its command line yet" if not self.may_run else "the window closes"
            return Outcome(fault="protocol", message=f"The server {self.name} is not started: {why}.")
        server = self._server
        assert server is not None
        while not server.wait(_LOOK):
            if cancel.is_set():
                return Outcome(fault="cancelled", message="The call was stopped.")
            if time.monotonic() > until:
                message = f"The server {self.name} did not get ready within {seconds:g} seconds."
                return Outcome(fault="timeout", message=message)
        left = max(until - time.monotonic(), _LOOK)
        return server.call(tool, arguments, seconds=left, cancel=cancel, progress=progress)

    def close(self) -> None:
        """Ends it for good."""
        with self._lock:
            self._closed = True
        self.stop()


class Alias:
    """A tool of a source under the name that the registry has for it, where that is another."""

    def __init__(self, source: ToolSource, tool: str) -> None:
        self._source = source
        self._tool = tool

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def identity(self) -> str:
        return self._source.identity

    def tools(self) -> tuple[Tool, ...]:
        return self._source.tools()

    def claims(self, tool: str) -> dict[str, Any]:
        return self._source.claims(self._tool)

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        seconds: float,
        cancel: threading.Event,
        progress: Progress | None = None,
    ) -> Outcome:
        return self._source.call(self._tool, arguments, seconds=seconds, cancel=cancel, progress=progress)

    def close(self) -> None:
        """The source is not its own."""


class RunSources(Mapping[str, ToolSource]):
    """What a request's `sources` name: a source, or `SOURCE/TOOL` for one tool that the registry calls otherwise."""

    def __init__(self, sources: Mapping[str, ToolSource]) -> None:
        self._sources = dict(sources)

    def __getitem__(self, name: str) -> ToolSource:
        if name in self._sources:
            return self._sources[name]
        source, slash, tool = name.partition("/")
        if not slash:
            raise KeyError(name)
        return Alias(self._sources[source], tool)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def source_words(name: str, server: str, tool: str) -> str:
    """What a request's `sources` says of a tool that the registry calls `name`, and the server `tool`."""
    return server if name == tool else f"{server}/{tool}"
