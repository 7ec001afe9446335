"""The servers that the user has configured: their list, their states, and the sources of tools for runs.

Servers report changes from other threads, at any frequency. A report only sets a mark, and the marks are handled a few
times a second. Nothing in the window's thread waits for a server.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer, Signal

from glyphscope.base.errors import ServerError, StorageError
from glyphscope.store import KnownServers, load_servers, save_servers
from glyphscope.tools import ToolSource
from glyphscope.tools.approval import needs_consent
from glyphscope.tools.demo import DemoTools
from glyphscope.tools.mcp.config import ServerConfig, read_servers
from glyphscope.tools.mcp.server import Seen
from glyphscope_gui.mcp.server_source import IDLE, RunSources, ServerSource
from glyphscope_gui.project.argument_schema import free_name
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr

DEMO = "demo"
"""The bundled source; no server may have its name."""
REPORT_MS = 80
"""Interval at which marks are handled."""
SAVE_DELAY_MS = 400
"""Delay after the last change before the configuration is written."""


class ServersController(QObject):
    """`listChanged`: another list of servers. `stateChanged` (phase, tools or settings) and `logGrew` carry the name
    of the server, `asked` that of one with another set of open requests, `effectsChanged` a place of the demo tools,
    `signInRequested` a server and the address at which the user signs in, `failed` an error, mostly a StorageError.
    """

    listChanged = Signal()
    stateChanged = Signal(str)
    logGrew = Signal(str)
    asked = Signal(str)
    signInRequested = Signal(str, str)
    effectsChanged = Signal(str)
    failed = Signal(object)
    _marked = Signal()

    def __init__(
        self, path: Path, demo: DemoTools, parent: QObject | None = None, *, seen: Seen | None = None
    ) -> None:
        super().__init__(parent)
        self._path, self._seen = path, seen
        self.demo = demo
        demo.changed = lambda place: self._mark("effect", place)
        stored, self.notice = load_servers(path)
        self._consents = list(stored.consents)
        self._known = {name: self._made(name, entry) for name, entry in stored.entries.items()}
        self._background = Background(self)
        self._lock = threading.Lock()
        self._marks: set[tuple[str, str]] = set()
        """Changes to report: the kind (effect, question, state, log), and the place or server."""
        self._closed = False
        self._later = QTimer(self, singleShot=True, interval=REPORT_MS)
        self._later.timeout.connect(self._report)
        self._marked.connect(self._wake, Qt.ConnectionType.QueuedConnection)
        self._save_later = QTimer(self, singleShot=True, interval=SAVE_DELAY_MS)
        self._save_later.timeout.connect(self._save)
        self._sources = RunSources({})
        self._gather()

    # -- reading -----------------------------------------------------------------------------------------------

    @property
    def known(self) -> tuple[ServerSource, ...]:
        return tuple(self._known.values())

    @property
    def allowed(self) -> tuple[ServerConfig, ...]:
        """The servers that can be used and that the user has allowed to start."""
        return tuple(each.config for each in self.known if each.may_run and each.enabled and not each.problem)

    def get(self, name: str) -> ServerSource | None:
        """The source of a server; None for the demo tools."""
        return self._known.get(name)

    def source(self, name: str) -> ToolSource | None:
        """The source of that name: a server that can be used, or the demo tools."""
        return self._sources.get(name)

    def sources(self) -> RunSources:
        """The present sources for a run. Any thread."""
        return self._sources

    # -- the list ----------------------------------------------------------------------------------------------

    def add(self, name: str, entry: dict[str, Any], *, allowed: bool) -> str:
        """Add a server by its entry of a configuration; a name that is taken gets a number. Returns the name.

        `allowed`: the user has seen its command line and consents to starting it.
        """
        name = free_name(name, {*self._known, DEMO})
        self._put(name, entry, allowed=allowed)
        return name

    def replace(self, name: str, entry: dict[str, Any], *, allowed: bool) -> None:
        """Configure another server under a known name; the old server is ended."""
        self._end(name)
        self._put(name, entry, allowed=allowed)

    def edit(self, name: str, new: str, entry: dict[str, Any], *, allowed: bool) -> None:
        """Configure a server otherwise, perhaps under a free name, at its place in the list.

        It is ended; if it was running, it starts again, or waits for the user's consent.
        """
        was_running = self._known[name].phase not in IDLE
        self._end(name)
        self._known = {
            new if known == name else known: self._made(new, entry) if known == name else source
            for known, source in self._known.items()
        }
        if allowed:
            self.allow(new)
        self._changed()
        if was_running:
            self.start(new)

    def remove(self, name: str) -> None:
        self._end(name)
        self._known.pop(name, None)
        self._changed()

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Enable or disable a server; a disabled one is ended, and runs do not start it."""
        source = self._known[name]
        if source.enabled == enabled:
            return
        source.config = msgspec.structs.replace(source.config, disabled=not enabled)
        self._set_entry(name, "disabled", not enabled, instead_of=("disabled", "enabled"))
        if not enabled:
            self._in_background(name, source.stop)

    def set_roots(self, name: str, roots: tuple[str, ...]) -> None:
        """Set the folders that a server gets when it lists its roots; a running server is notified."""
        source = self._known[name]
        if source.config.roots != roots:
            source.set_roots(roots)
            self._set_entry(name, "roots", list(roots), instead_of=("roots",))

    def allow(self, name: str) -> None:
        """Record the user's consent to the command line, which lasts until the configuration changes."""
        source = self._known[name]
        if source.problem:
            return
        source.may_run = True
        digest = source.config.digest
        if digest not in self._consents:
            self._consents.append(digest)
        self._save_later.start()
        self.stateChanged.emit(name)

    # -- processes ---------------------------------------------------------------------------------------------

    def start(self, name: str) -> None:
        if self._known[name].start():
            self.stateChanged.emit(name)

    def sign_in(self, name: str) -> None:
        """Start a server, and let the user sign in: `signInRequested` carries the address."""
        if self._known[name].start(sign_in=lambda address: self.signInRequested.emit(name, address)):
            self.stateChanged.emit(name)

    def stop(self, name: str) -> None:
        self._in_background(name, self._known[name].stop)

    def restart(self, name: str) -> None:
        self._in_background(name, self._known[name].restart)

    def close(self) -> None:
        """End all servers at once, wait for their exit, and save pending changes."""
        if self._closed:
            return
        self._closed = True
        self.demo.changed = None
        if self._save_later.isActive():
            self._save()
        self._later.stop()
        for source in self._known.values():
            self._background.start(f"end {id(source)}", source.close, lambda _: None)
        self._background.close()
        self.demo.close()

    def _put(self, name: str, entry: dict[str, Any], *, allowed: bool) -> None:
        self._known[name] = self._made(name, entry)
        if allowed:
            self.allow(name)
        self._changed()

    def _made(self, name: str, entry: dict[str, Any]) -> ServerSource:
        try:
            config, problem = server_config(name, entry), ""
        except ServerError as error:
            config, problem = ServerConfig(name=name), error.message
        return ServerSource(
            config,
            entry,
            problem=problem,
            may_run=not problem and not needs_consent(config, self._consents),
            changed=lambda server: self._mark("state", server),
            logged=lambda server: self._mark("log", server),
            asked=lambda server: self._mark("question", server),
            seen=self._seen,
        )

    def _end(self, name: str) -> None:
        if source := self.get(name):
            self._background.start(f"end {id(source)}", source.close, lambda _: None, self.failed.emit)

    def _in_background(self, name: str, do: Callable[[], None]) -> None:
        self._background.start(f"move {name}", do, lambda _: None, self.failed.emit)
        self.stateChanged.emit(name)

    def _set_entry(self, name: str, key: str, value: object, *, instead_of: tuple[str, ...]) -> None:
        """Write the setting into the entry, or omit it if the value is the default."""
        source = self._known[name]
        source.entry = {key: value for key, value in source.entry.items() if key not in instead_of}
        if value:
            source.entry[key] = value
        self._save_later.start()
        self.stateChanged.emit(name)

    def _changed(self) -> None:
        self._gather()
        self._save_later.start()
        self.listChanged.emit()

    def _gather(self) -> None:
        found: dict[str, ToolSource] = {DEMO: self.demo}
        found |= {name: source for name, source in self._known.items() if not source.problem}
        self._sources = RunSources(found)

    def _mark(self, kind: str, name: str) -> None:
        """Mark a change, from any thread."""
        with self._lock:
            wake = not self._marks
            self._marks.add((kind, name))
        if wake and not self._closed:
            self._marked.emit()

    def _wake(self) -> None:
        if not self._later.isActive() and not self._closed:
            self._later.start()

    def _report(self) -> None:
        with self._lock:
            marks, self._marks = self._marks, set()
        for kind, name in sorted(marks):
            if kind == "effect":
                self.effectsChanged.emit(name)
            elif kind == "question":
                self.asked.emit(name)
            elif name in self._known:
                (self.stateChanged if kind == "state" else self.logGrew).emit(name)

    def _save(self) -> None:
        self._save_later.stop()
        entries = {name: source.entry for name, source in self._known.items()}
        try:
            save_servers(self._path, KnownServers(entries=entries, consents=tuple(self._consents)))
        except StorageError as error:
            self.failed.emit(error)


def server_config(name: str, entry: dict[str, Any]) -> ServerConfig:
    """Read an entry. Raises ServerError with all its errors."""
    found = read_servers(json.dumps({"mcpServers": {name: entry}}))
    if found.problems or not found.servers:
        lines = [f"{p.pointer.removeprefix('/mcpServers')}: {p.message}" for p in found.problems]
        raise ServerError("\n".join(lines) or tr("The file is empty."))
    return found.servers[0]
