"""Any request to a server: typed, or sent again from the log, with the raw result."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QComboBox, QFormLayout, QPushButton, QWidget

from glyphscope.tools.mcp.log import HIDDEN, Entry
from glyphscope_gui.servers.call_outcome import raw_view
from glyphscope_gui.servers.call_result import CallResult
from glyphscope_gui.servers.tool_calls import ToolCalls, Work
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import splitter, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.text_edits import LineEdit

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


def is_resendable(entry: Entry | None) -> bool:
    """Whether the entry is a sent request that the log contains in full."""
    return (
        entry is not None
        and entry.direction == "sent"
        and bool(entry.id and entry.method)
        and entry.method not in ("initialize", "server/discover")
        and params_of(entry) is not None
    )


def params_of(entry: Entry) -> dict[str, Any] | None:
    """The params of a request without the transport's; None if the log does not contain all."""
    try:
        params = json.loads(entry.whole or entry.text).get("params") or {}
        return {key: value for key, value in params.items() if key != "_meta"}
    except (ValueError, AttributeError, RecursionError):
        return None


class RequestDialog(PlainDialog):
    """`work` returns the request for a method and its params; None if the server is not ready."""

    def __init__(
        self,
        server: str,
        work: Callable[[str, dict[str, Any]], Work | None],
        parent: QWidget | None = None,
        entry: Entry | None = None,
    ) -> None:
        super().__init__("requestDialog", tr("Request to {server}", server=server), parent)
        self._work = work
        self.jobs = ToolCalls(self, raw_view)
        self.method_box = named(QComboBox(self, editable=True), "requestMethod")
        self.method_box.setLineEdit(LineEdit())
        self.method_box.addItems(METHODS)
        self.params_edit = named(JsonEditor(self), "requestParams", tr("Params as JSON"), minimumHeight=70)
        self.problem = words_label(role="problem", parent=self)
        self.response = CallResult(self)
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
        if params is None or self.jobs.is_busy:
            return
        work = self._work(self.method_box.currentText().strip(), params)
        if work is None:
            self.problem.setText(tr("The server is no longer in the list."))
        else:
            self.jobs.call(work)

    def _fill(self, entry: Entry | None) -> None:
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
