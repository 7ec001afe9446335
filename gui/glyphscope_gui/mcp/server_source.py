"""A configured server as a source of tools for runs and manual calls, even while it has no process.

Thread-safe, and without Qt: a run, a manual call and the window each use it from a different thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, Unpack

import msgspec

from glyphscope.base.figures import duration
from glyphscope.registry import Tool
from glyphscope.tools import CallOptions, Outcome, ToolSource
from glyphscope.tools.approval import needs_consent
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.log import LogLevel
from glyphscope.tools.mcp.questions import Question
from glyphscope.tools.mcp.server import McpServer, Seen

Phase: TypeAlias = Literal["stopped", "starting", "ready", "failed", "ended", "stopping"]
"""Phases of a server: `failed` before it was ready, or `ended` by itself afterwards."""


_LOOK = 0.05
"""Interval in seconds at which a call checks its starting server."""
IDLE = ("stopped", "failed", "ended")
"""The phases without a process."""


class ServerSource:
    """A `ToolSource` over one configuration. Each start makes a new McpServer; the last one is kept, with its log.

    `entry` is the configuration as written; `problem` says why it cannot be used, and is empty if it can. `may_run` is
    the user's consent to it; without it no process is started. `changed`, `logged` and `asked` are called in the
    server's threads, with the server's name. Without `asked`, requests to the user are not offered to the server.
    """

    def __init__(
        self,
        config: ServerConfig,
        entry: dict[str, Any] | None = None,
        *,
        problem: str = "",
        may_run: bool,
        changed: Callable[[str], None],
        logged: Callable[[str], None],
        asked: Callable[[str], None] | None = None,
        seen: Seen | None = None,
    ) -> None:
        self.config = config
        self.entry = entry or {}
        self.problem = problem
        self.may_run = may_run
        self._changed = changed
        self._logged = logged
        self._asked, self._seen = asked, seen
        self._lock = threading.Lock()
        self.server = McpServer(config)
        """The running server or the last one; before the first start, one that is not started."""
        self._stopping = False
        self._closed = False
        self.log_level: LogLevel | None = None
        """The level that the user chose; a restarted server also gets it."""

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def identity(self) -> str:
        return self.config.identity

    @property
    def phase(self) -> Phase:
        state = self.server.state
        return "stopping" if self._stopping and state not in IDLE else state

    @property
    def is_ready(self) -> bool:
        """Whether it can be called without starting it."""
        return self.phase == "ready"

    @property
    def enabled(self) -> bool:
        return not self.config.disabled

    @property
    def needs_consent(self) -> bool:
        """Whether the user must allow its command before it may be started."""
        return not self.may_run and not self.problem and needs_consent(self.config)

    def tools(self) -> tuple[Tool, ...]:
        return self.server.tools()

    def claims(self, tool: str) -> dict[str, Any]:
        return self.server.claims(tool)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The requests that wait for the user."""
        return self.server.questions

    def start(self, sign_in: Callable[[str], None] | None = None) -> bool:
        """Start the server, unless it is running, and return at once; False if it may not be started.

        `sign_in` is called in the server's thread with the address at which the user signs in.
        """
        with self._lock:
            if not self.may_run or self._closed or self.config.disabled:
                return False
            running = self.server.state not in IDLE
            if running and not self._stopping:  # a stopping server is replaced by a new one
                return True
            server = McpServer(
                self.config,
                changed=lambda _server: self._changed(self.name),
                asked=self._notify_asked if self._asked is not None else None,
                sign_in=sign_in,
                seen=self._seen,
            )
            server.log.added = lambda: self._logged(self.name)
            self.server, self._stopping = server, False
            server.start()
        return True

    def stop(self) -> None:
        """End the process and wait some seconds for its exit; not for the window's thread."""
        with self._lock:
            server, self._stopping = self.server, True
        self._changed(self.name)
        server.close()
        self._changed(self.name)

    def restart(self) -> None:
        """`stop`, then `start`."""
        self.stop()
        self.start()

    def call(self, tool: str, arguments: dict[str, Any], **limits: Unpack[CallOptions]) -> Outcome:
        """Call a tool; a server that is not running is started first, if allowed."""
        found = self._started(limits)
        return found if isinstance(found, Outcome) else found.call(tool, arguments, **limits)

    def fetch(self, method: str, params: dict[str, Any], **limits: Unpack[CallOptions]) -> Outcome:
        """Read a resource or get a prompt, as `McpServer.fetch`; the server is started first, if allowed."""
        found = self._started(limits)
        return found if isinstance(found, Outcome) else found.fetch(method, params, **limits)

    def set_roots(self, roots: tuple[str, ...]) -> None:
        """Set the roots, also for a running server."""
        self.config = msgspec.structs.replace(self.config, roots=roots)
        self.server.set_roots(roots)

    def set_log_level(self, level: LogLevel, **limits: Unpack[CallOptions]) -> Outcome:
        """Request log messages of that level and more severe ones from the running server."""
        found = self.server.set_log_level(level, **limits)
        if found.ok:
            self.log_level = level
        return found

    def close(self) -> None:
        """End the server permanently: it cannot be started again."""
        with self._lock:
            self._closed = True
        self.stop()

    def _notify_asked(self, _server: McpServer) -> None:
        if self._asked is not None:
            self._asked(self.name)

    def _refused(self, why: str) -> Outcome:
        return Outcome(fault="protocol", message=f"The server {self.name} {why}.")

    def _started(self, limits: CallOptions) -> McpServer | Outcome:
        """The server once it is ready or has failed, or why there is none. Sets the remaining seconds in the limits."""
        seconds = limits["seconds"]
        until = time.monotonic() + seconds
        if self.config.disabled:
            return self._refused("is disabled")
        if not self.start():
            why = "its command line is not allowed yet" if not self.may_run else "the window is closing"
            return self._refused(f"is not started: {why}")
        server = self.server
        while not server.wait(_LOOK):
            if limits["cancel"].is_set():
                return Outcome(fault="cancelled", message="The call was stopped.")
            if time.monotonic() > until:
                message = f"The server {self.name} was not ready within {duration(seconds)}."
                return Outcome(fault="timeout", message=message)
        limits["seconds"] = max(until - time.monotonic(), _LOOK)
        return server


class Alias:
    """A tool of a source that has another name in the registry."""

    def __init__(self, source: ToolSource, tool: str) -> None:
        self._source = source
        self._tool = tool

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def identity(self) -> str:
        return self._source.identity

    @property
    def questions(self) -> tuple[object, ...]:
        """The requests of the source that wait for the user."""
        return tuple(getattr(self._source, "questions", ()))

    def tools(self) -> tuple[Tool, ...]:
        return self._source.tools()

    def claims(self, tool: str) -> dict[str, Any]:
        return self._source.claims(self._tool)

    def call(self, tool: str, arguments: dict[str, Any], **limits: Unpack[CallOptions]) -> Outcome:
        return self._source.call(self._tool, arguments, **limits)

    def close(self) -> None:
        """Do nothing, as another object owns the source."""


class RunSources(Mapping[str, ToolSource]):
    """Sources by the keys of a request: `SOURCE`, or `SOURCE/TOOL` for a tool with another name there."""

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


def source_key(name: str, server: str, tool: str) -> str:
    """The key in `RunSources` of the server's `tool`, which the registry calls `name`."""
    return server if name == tool else f"{server}/{tool}"
