"""The MCP servers that execute the calls of samples, each sample apart from the others where a server allows it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

from glyphscope.base.errors import ServerError
from glyphscope.base.shorten import and_more
from glyphscope.evals.matrix.plan import LoadedSuite
from glyphscope.evals.suites.reading import suite_registry
from glyphscope.evals.suites.suite import SCRIPTED
from glyphscope.processes.stopping import check_stopped
from glyphscope.registry import Tool
from glyphscope.tools import CallOptions, Outcome
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.server import START_SECONDS, McpServer

_LOOK = 0.1
"""Seconds between two looks whether the samples were stopped while a server starts."""
_MAX_NAMED = 8


class LentServer:
    """A server for one sample. `called`: a call may have changed its state. Its owner closes it."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.name, self.identity = server.name, server.identity
        self.called = False

    def tools(self) -> tuple[Tool, ...]:
        return self.server.tools()

    def claims(self, tool: str) -> dict[str, Any]:
        return self.server.claims(tool)

    def call(self, tool: str, arguments: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        self.called = True
        return self.server.call(tool, arguments, **options)

    def close(self) -> None:
        """Do nothing: it is used again."""


class ToolServers:
    """The servers of an evaluation, which are started once for each sample that is made at the same time.

    After a sample that called one, that server is started again, unless `keep`: a new process, or a new HTTP session. A
    server over HTTP without sessions cannot be isolated, and is kept. Thread-safe.
    """

    def __init__(
        self, configs: Sequence[ServerConfig], *, keep: bool = False, start_seconds: float = START_SECONDS
    ) -> None:
        """Raises ServerError for a name that samples use otherwise."""
        if any(config.name == SCRIPTED for config in configs):
            raise ServerError(
                "Results of scripts have this source.", where=SCRIPTED, hint="Give the server another name."
            )
        self._configs, self.keep, self._start_seconds = tuple(configs), keep, start_seconds
        self._lock = threading.Lock()
        self._idle: dict[str, list[McpServer]] = {config.name: [] for config in self._configs}
        self._closed = False

    @property
    def identities(self) -> tuple[str, ...]:
        """Their names with their command lines or addresses, as plans and results have them."""
        return tuple(map(planned_server, self._configs))

    @contextmanager
    def lend(self) -> Iterator[dict[str, LentServer]]:
        """The servers for one sample, by name. Raises ServerError, and Stopped in a context of `stopped_by`."""
        taken = [self._taken(config) for config in self._configs]
        lent = {server.name: LentServer(server) for server in taken}
        try:
            for server in taken:
                server.start()
            for server in taken:
                while not server.wait(_LOOK):
                    check_stopped()
                if server.state != "ready":
                    server.open()  # raises the reason
            yield lent
        finally:
            for each in lent.values():
                self._return(each)

    def notes(self, suites: Sequence[LoadedSuite]) -> tuple[str, ...]:
        """The tools of each server and its isolation, for reports. Raises ServerError if one does not start."""
        known = {
            tool.name: tool
            for loaded in suites
            for scenario in (None, *loaded.suite.scenarios)
            for tool in suite_registry(loaded.suite, scenario).tools
        }
        notes, taken = [], set()
        with self.lend() as lent:
            for each in lent.values():
                has = {tool.name: tool for tool in each.tools() if tool.name not in taken}
                found = [name for name in known if name in has]
                taken.update(found)
                about = f"{each.server.about.name} {each.server.about.version}".strip()
                named = f" ({about})" if about else ""
                executes = (
                    f"executes {and_more(found, _MAX_NAMED)}" if found else "executes none of the tools"
                )
                notes.append(f"The MCP server {each.name}{named} {executes}. {self._isolation(each.server)}")
                differing = [
                    name
                    for name in found
                    if (has[name].description, has[name].parameters)
                    != (known[name].description, known[name].parameters)
                ]
                if differing:
                    notes.append(
                        f"The description or schema differs between the suite and the server {each.name}: "
                        f"{and_more(differing, _MAX_NAMED)}. Models get the suite's."
                    )
        return tuple(notes)

    def close(self) -> None:
        """End all servers."""
        with self._lock:
            self._closed = True
            idle = [server for servers in self._idle.values() for server in servers]
            self._idle = {}
        for server in idle:
            server.close()

    def _isolation(self, server: McpServer) -> str:
        if self.keep:
            return "It is shared by samples, which may see what others changed."
        if not server.about.isolated:
            return "It has no sessions, so samples may see what others changed."
        return "It is started again after each sample that calls it."

    def _taken(self, config: ServerConfig) -> McpServer:
        """An idle server that still runs, or a new one."""
        with self._lock:
            idle = self._idle.get(config.name, [])
            while idle:
                if (server := idle.pop()).state == "ready":
                    return server
        return McpServer(config, start_seconds=self._start_seconds)

    def _return(self, lent: LentServer) -> None:
        server = lent.server
        reusable = server.state == "ready" and (self.keep or not lent.called or not server.about.isolated)
        with self._lock:
            if reusable and not self._closed:
                self._idle[server.name].append(server)
                return
        server.close()


def planned_server(config: ServerConfig) -> str:
    """The server as plans and results have it."""
    return f"{config.name}: {config.identity}"


def executors(lent: Mapping[str, LentServer]) -> dict[str, str]:
    """The server that executes each tool, the first that has it."""
    by_tool: dict[str, str] = {}
    for name, server in lent.items():
        for tool in server.tools():
            by_tool.setdefault(tool.name, name)
    return by_tool


def require_servers(planned: Sequence[str], given: ToolServers | None) -> None:
    """Raises ServerError unless the servers are those of the plan."""
    identities = given.identities if given is not None else ()
    if tuple(planned) != identities:
        missing = [each for each in planned if each not in identities] or list(planned)
        raise ServerError(
            "This evaluation executes its calls with MCP servers that are not given.",
            where=", ".join(missing) or ", ".join(identities),
            hint="Give the same servers, with --mcp or on the page MCP. They run on this computer only.",
        )
