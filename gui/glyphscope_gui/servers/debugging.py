"""Debugging a server besides manual calls: ping, roots, log level, changed tools, and any request."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtWidgets import QComboBox, QFormLayout, QPushButton, QWidget

from glyphscope.base.figures import duration
from glyphscope.tools import Outcome
from glyphscope.tools.mcp.log import HIDDEN, LogEntry, LogLevel
from glyphscope.tools.mcp.server import McpServer
from glyphscope_gui.context import AppContext
from glyphscope_gui.mcp.server_source import ServerSource
from glyphscope_gui.servers.call_result import CallResultView, raw_view
from glyphscope_gui.servers.calls import ToolCalls
from glyphscope_gui.servers.dialogs import RootsDialog
from glyphscope_gui.servers.log import params_of
from glyphscope_gui.servers.page import ServersPage
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import splitter, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.shared.whole_text import WholeText, show_whole

METHODS = (
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
)


class RequestDialog(PlainDialog):
    """Sends requests to a server; it begins with the method and params of a log entry, if one is given."""

    def __init__(
        self, source: ServerSource, parent: QWidget | None = None, entry: LogEntry | None = None
    ) -> None:
        super().__init__("requestDialog", tr("Request to {server}", server=source.name), parent)
        self._source = source
        self.jobs = ToolCalls(self, raw_view)
        self.method_box = named(QComboBox(self, editable=True), "requestMethod")
        self.method_box.setLineEdit(LineEdit())
        self.method_box.addItems(METHODS)
        self.params_edit = named(JsonEditor(self), "requestParams", tr("Params as JSON"), minimumHeight=70)
        self.problem = words_label(role="problem", parent=self)
        self.response = CallResultView(self)
        buttons = self.button_box(Standard.Close)
        self.send_button = push_button(tr("Send"), self, name="sendRequestButton", role="primary")
        self.cancel_button = QPushButton(tr("Cancel request"), self)
        for button in (self.send_button, self.cancel_button):
            buttons.addButton(button, Role.ActionRole)
        form = QFormLayout(horizontalSpacing=14)
        form.addRow(tr("Method"), self.method_box)
        form.addRow(tr("Params"), self.params_edit)
        upper = QWidget(self)
        upper.setLayout(form)
        form.setContentsMargins(0, 0, 0, 4)
        split = splitter(Qt.Orientation.Vertical, (upper, self.response), (0, 2), of_cards=False)
        vbox((split, 1), self.problem, buttons, parent=self, margins=(18, 16, 18, 14), spacing=10)
        self._fill(entry)
        self.send_button.clicked.connect(self.send)
        self.cancel_button.clicked.connect(self.jobs.cancel)
        self.method_box.editTextChanged.connect(self._check)
        self.params_edit.textChanged.connect(self._check)
        self.jobs.began.connect(self._began)
        self.jobs.ended.connect(self._ended)
        self._check()

    def sizeHint(self) -> QSize:
        return QSize(680, 560)

    def send(self) -> None:
        """Send the request, unless one is in progress."""
        params = self._params()
        if params is not None:
            method = self.method_box.currentText().strip()
            self.jobs.call(partial(self._source.server.request, method, params))

    def _fill(self, entry: LogEntry | None) -> None:
        params = params_of(entry) if entry is not None else None
        if entry is not None:
            self.method_box.setEditText(entry.method)
        self.params_edit.show_text(json.dumps(params or {}, indent=2, ensure_ascii=False))

    def _params(self) -> dict[str, Any] | None:
        try:
            params = json.loads(self.params_edit.toPlainText() or "{}")
        except (ValueError, RecursionError):
            return None
        return params if isinstance(params, dict) else None

    def _check(self) -> None:
        words = ""
        if self._params() is None:
            words = tr("Params must be a JSON object.")
        elif HIDDEN in self.params_edit.toPlainText():
            words = tr("The log does not contain secrets: replace {dots} before you send this.", dots=HIDDEN)
        show_words(self.problem, words)
        self._show_state()

    def _show_state(self) -> None:
        ready = bool(self.method_box.currentText().strip()) and self._params() is not None
        self.send_button.setEnabled(ready and not self.jobs.is_busy)
        self.cancel_button.setEnabled(self.jobs.is_busy)

    def _began(self) -> None:
        self.response.show_view(None)
        self._show_state()

    def _ended(self, view: Any) -> None:
        self.response.show_view(view)
        self._show_state()


PING_SECONDS = 10.0


class DebugPresenter(QObject):
    """Acts on the server set by `show`."""

    def __init__(self, context: AppContext, view: ServersPage) -> None:
        super().__init__(view)
        self._context = context
        self._view = view
        self._background = Background(self)
        self._source: ServerSource | None = None
        self._leveled: McpServer | None = None
        """The server that was last sent its log level."""
        view.card.ping_button.clicked.connect(self._ping)
        view.card.request_button.clicked.connect(lambda _checked=False: self.ask_to_send())
        view.card.roots_button.clicked.connect(self._ask_for_roots)
        view.card.instructions_button.clicked.connect(self._show_instructions)
        view.log.resendRequested.connect(self.ask_to_send)
        view.log.levelChosen.connect(self._set_level)
        view.tools.changes_link.clicked.connect(self._show_changes)

    def show(self, source: ServerSource | None) -> None:
        """Show the current state of a server; None for the demo tools."""
        if source is not self._source:
            self._source = source
            self._view.card.show_ping("")
        log, tools = self._view.log, self._view.tools
        tools.show_changes(source.server.tool_changes if source is not None else None)
        if source is None:
            log.show_level("", False)
            return
        server, level = source.server, source.log_level
        log.show_level(level or "", source.is_ready and "logging" in server.about.features)
        if source.is_ready and level and server is not self._leveled:
            self._leveled = server  # a restarted server does not know the level
            if not server.log_level:
                self._set_level(level)

    def ask_to_send(self, entry: LogEntry | None = None) -> None:
        """Open a dialog for any request; it has the method and params of a log entry if one is given."""
        if self._source is not None:
            RequestDialog(self._source, self._context.window, entry).show()

    def _ask_for_roots(self) -> None:
        if (source := self._source) is None:
            return
        dialog = RootsDialog(source.name, source.config.roots, self._context.window)
        dialog.chosen.connect(lambda roots: self._context.services.servers.set_roots(source.name, roots))
        dialog.open()

    def _ping(self) -> None:
        if (source := self._source) is None:
            return

        def ping() -> tuple[Outcome, float]:
            since = time.monotonic()
            outcome = source.server.request("ping", {}, seconds=PING_SECONDS, cancel=this_task().stopped)
            return outcome, time.monotonic() - since

        def show(found: tuple[Outcome, float]) -> None:
            outcome, seconds = found
            if source is self._source:
                words = tr("Ping: {time}", time=duration(seconds)) if outcome.ok else tr("Ping failed")
                self._view.card.show_ping(words, outcome.message)

        self._view.card.show_ping(tr("Ping: …"))
        self._background.start("ping", ping, show)

    def _set_level(self, level: LogLevel) -> None:
        if (source := self._source) is None:
            return

        def done(outcome: Outcome) -> None:
            if not outcome.ok:
                self._view.notice.show_words(
                    tr("The log level was not set: {reason}", reason=outcome.message)
                )
            self.show(self._source)

        self._background.start(
            "level",
            lambda: source.set_log_level(level, seconds=PING_SECONDS, cancel=this_task().stopped),
            done,
        )

    def _show_instructions(self) -> None:
        if (source := self._source) is not None:
            title = tr("Instructions of {server}", server=source.name)
            text = source.server.about.instructions
            show_whole(WholeText(title, text, name="instructions.txt"), self._context.window)

    def _show_changes(self) -> None:
        if (source := self._source) is not None:
            title = tr("Changed tools of {server}", server=source.name)
            text = source.server.tool_changes.difference
            show_whole(WholeText(title, text, name="tools.diff"), self._context.window)
