"""Debugging a server besides manual calls: ping, roots, log level, changed tools, and any request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from glyphscope.text.figures import duration
from glyphscope.tools import Outcome, Progress
from glyphscope.tools.mcp.log import Entry
from glyphscope.tools.mcp.notices import LogLevel
from glyphscope.tools.mcp.server import McpServer
from glyphscope_gui.context import AppContext
from glyphscope_gui.mcp.server_source import ServerSource
from glyphscope_gui.servers.dialogs import RootsDialog
from glyphscope_gui.servers.page import ServersPage
from glyphscope_gui.servers.request_dialog import RequestDialog
from glyphscope_gui.servers.tool_calls import SECONDS, Work
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.whole_text import Whole, show_whole

PING_SECONDS = 10.0


class DebugPresenter(QObject):
    """Acts on the shown server, which `current` names."""

    def __init__(self, context: AppContext, view: ServersPage, current: Callable[[], str]) -> None:
        super().__init__(view)
        self._context = context
        self._servers = context.services.servers
        self._view = view
        self._current = current
        self._background = Background(self)
        self._shown = ""
        self._leveled: McpServer | None = None
        """The server that was last sent its log level."""
        view.card.ping_button.clicked.connect(self._ping)
        view.card.request_button.clicked.connect(lambda _checked=False: self.ask_to_send())
        view.card.roots_button.clicked.connect(self._ask_for_roots)
        view.card.instructions_button.clicked.connect(self._show_instructions)
        view.log.resendRequested.connect(self.ask_to_send)
        view.log.levelChosen.connect(self._set_level)
        view.tools.changes_link.clicked.connect(self._show_changes)

    def show(self) -> None:
        """Show the server's current state."""
        source, server, card, log = self._source, self._server, self._view.card, self._view.log
        if self._current() != self._shown:
            self._shown = self._current()
            card.show_ping("")
        about = server.about if server is not None else None
        ready = source is not None and source.phase == "ready"
        card.show_debugging(
            ready,
            len(source.config.roots) if source is not None else None,
            instructions=about is not None and bool(about.instructions.strip()),
        )
        log.show_level(
            (source.log_level or "") if source is not None else "",
            ready and about is not None and "logging" in about.features,
        )
        self._view.tools.show_changes(server.tool_changes if server is not None else None)
        if ready and source is not None and source.log_level and server is not self._leveled:
            self._leveled = server  # a restarted server does not know the level
            if server is not None and not server.log_level:
                self._set_level(source.log_level)

    def ask_to_send(self, entry: Entry | None = None) -> RequestDialog:
        """Open a dialog for any request; it has the method and params of a log entry if one is given."""
        name = self._current()
        dialog = RequestDialog(
            name, lambda method, params: self._work(name, method, params), self._context.window, entry
        )
        dialog.jobs.crashed.connect(self._context.show_error)
        dialog.show()
        return dialog

    @property
    def _source(self) -> ServerSource | None:
        return self._servers.server_source(self._current())

    @property
    def _server(self) -> McpServer | None:
        """The running server of the shown configuration, or the last one that ran."""
        return self._source.server if self._source is not None else None

    def _work(self, name: str, method: str, params: dict[str, Any]) -> Work | None:
        source = self._servers.server_source(name)
        if source is None:
            return None

        def work(cancel: threading.Event, report: Progress) -> Outcome:
            return source.request(method, params, seconds=SECONDS, cancel=cancel, progress=report)

        return work

    def _ask_for_roots(self) -> None:
        name, source = self._current(), self._source
        if source is None:
            return
        dialog = RootsDialog(name, source.config.roots, self._context.window)
        dialog.chosen.connect(lambda roots: self._servers.set_roots(name, roots))
        dialog.open()

    def _ping(self) -> None:
        name, source = self._current(), self._source
        if source is None:
            return

        def ping() -> tuple[Outcome, float]:
            since = time.monotonic()
            outcome = source.request("ping", {}, seconds=PING_SECONDS, cancel=this_task().stopped)
            return outcome, time.monotonic() - since

        def show(found: tuple[Outcome, float]) -> None:
            outcome, seconds = found
            if name == self._current():
                words = tr("Ping: {time}", time=duration(seconds)) if outcome.ok else tr("Ping failed")
                self._view.card.show_ping(words, outcome.message)

        self._view.card.show_ping(tr("Ping: …"))
        self._background.start("ping", ping, show, self._context.show_error)

    def _set_level(self, level: LogLevel) -> None:
        source = self._source
        if source is None:
            return

        def done(outcome: Outcome) -> None:
            if not outcome.ok:
                self._view.notice.show_words(
                    tr("The log level was not set: {reason}", reason=outcome.message)
                )
            self.show()

        self._background.start(
            "level",
            lambda: source.set_log_level(level, seconds=PING_SECONDS, cancel=this_task().stopped),
            done,
            self._context.show_error,
        )

    def _show_instructions(self) -> None:
        server = self._server
        about = server.about if server is not None else None
        if about is not None:
            title = tr("Instructions of {server}", server=self._current())
            show_whole(Whole(title, about.instructions, name="instructions.txt"), self._context.window)

    def _show_changes(self) -> None:
        server = self._server
        if server is not None and server.tool_changes:
            title = tr("Changed tools of {server}", server=self._current())
            show_whole(Whole(title, server.tool_changes.difference, name="tools.diff"), self._context.window)
