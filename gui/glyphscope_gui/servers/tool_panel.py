"""The panel of a server's selected tool, resource or prompt: manual calls, the enforcement, and the schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QProgressBar, QSplitter, QWidget

from glyphscope.base.figures import duration
from glyphscope.base.visible import escaped, visible
from glyphscope.grammar.generate.example import example_arguments
from glyphscope.registry import Tool
from glyphscope.tools.mcp.server import Updates
from glyphscope_gui.calls.arguments import ArgumentProblems
from glyphscope_gui.calls.call_texts import hint_words
from glyphscope_gui.enforcement.table import EnforcementRow, EnforcementTable
from glyphscope_gui.servers.call_form import ServerCallForm
from glyphscope_gui.servers.call_result import CallResultView, CallView
from glyphscope_gui.servers.lists import ToolRow
from glyphscope_gui.servers.words import updates_words
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import (
    ElidedLabel,
    PlainLabel,
    WrappedLabel,
    link,
    named,
    push_button,
    set_role,
    show_words,
    words_label,
)
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, holder, stack, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.segmented import Segmented

VIEWS = (
    ("call", tr("Call"), tr("Call the tool and see the result")),
    ("checks", tr("Checks"), tr("The constraints of the schema that each engine enforces, by test")),
    ("schema", tr("Schema"), tr("The input schema from the server, normalised to draft 2020-12")),
)
FORM_SHARE, ALONE_SHARE = 0.55, 0.85
"""The largest shares of the height for the arguments: beside a result, and without one."""
MIN_FORM = 64
"""The minimum height of the arguments beside a long result, in pixels."""
MIN_WIDTH = 340
"""Width in pixels below which the buttons of a call do not fit on a line."""
MAX_SCHEMA = 200_000
"""Characters of a schema that are shown."""


class Progressed(NamedTuple):
    """The progress of a call: `total` is None if the tool does not know it, both are None before the first report."""

    done: float | None
    total: float | None
    message: str
    seconds: float


class PanelWords(NamedTuple):
    """The texts and names of a panel, which is for tools, resources or prompts."""

    noun: str
    verb: str
    verb_anyway: str
    """The button's text if the arguments are invalid."""
    tip: str
    choose: str
    """Shown while nothing is selected."""
    button: str
    """The button's object name."""
    has_schema: bool = False
    """Whether the arguments have a schema: the panel then has views of the enforcement and the schema's text."""


TOOL = PanelWords(
    tr("Tool"), tr("Call"), tr("Call anyway"), tr("Send tools/call with these arguments"),
    tr("Select a tool."), "callToolButton", has_schema=True,
)  # fmt: skip
RESOURCE = PanelWords(
    tr("Resource"), tr("Read"), tr("Read anyway"), tr("Send resources/read"),
    tr("Select a resource."), "readResourceButton",
)  # fmt: skip
PROMPT = PanelWords(
    tr("Prompt"), tr("Get"), tr("Get anyway"), tr("Send prompts/get with these arguments"),
    tr("Select a prompt."), "getPromptButton",
)  # fmt: skip


class ToolPanel(FollowsSize, Card):
    """Shows one tool. `callRequested` carries the arguments, a dict."""

    callRequested = Signal(object)

    def __init__(self, words: PanelWords = TOOL, parent: QWidget | None = None) -> None:
        self._panel_words = words
        self.views = named(Segmented(VIEWS, small=True), "", tr("Call, checks or schema"))
        body = QWidget()
        super().__init__(words.noun, body, actions=(self.views,), parent=parent)
        self.views.setVisible(words.has_schema)
        self.tool: Tool | None = None
        self._busy = False  # a call is running
        self._server_ready = False
        self._fitted_height = 0  # the form's preferred height when its size was last set
        self.about = PlainLabel(body, wordWrap=True)
        self.annotations = ElidedLabel(body, Qt.TextElideMode.ElideRight, role="hint")
        self.problem = words_label(role="problem", parent=body)
        self.form = ServerCallForm(body, suggests=not words.has_schema)
        self.result = CallResultView(body)
        self.checks = named(EnforcementTable(body), "serverEnforcementTable")
        self.no_checks = PlainLabel(body, role="muted", alignment=Qt.AlignmentFlag.AlignCenter)
        self.schema = named(JsonEditor(body), "serverToolSchema", tr("Schema of the tool"), readOnly=True)
        self._make_buttons(body)
        self._lay_out(body)
        self.views.chosen.connect(self.show_view)
        self.form.changed.connect(self.show_state)
        self.form.checked.connect(self._show_check)
        self.form.unreadable.connect(self._show_unreadable)
        self.form.messageChanged.connect(self._show_words)
        self.show_row(None)

    def show_row(
        self, row: ToolRow | None, arguments: dict[str, Any] | None = None, *, again: bool = True
    ) -> bool:
        """Show a tool, and previously typed arguments.

        Returns False if nothing changes: without `again`, for a tool that is already shown with the same schema.
        """
        tool = row.tool if row else None
        if not again and row is not None and tool is not None and self.tool == tool:
            return False
        self.tool = tool
        self._stack.setVisible(tool is not None)
        name = visible(row.name[:60], spaces=True) if row else ""
        title = f"{self._panel_words.noun} {name}" if row else self._panel_words.noun
        self.heading.title.set_title(title, upper=title.rfind(name))
        show_words(self.about, tool.description[:600] if tool else "" if row else self._panel_words.choose)
        words = hint_words(row.claims) if row else ""
        show_words(
            self.annotations, tr("Annotations (not verified): {claims}", claims=words) if words else ""
        )
        show_words(self.problem, row.problem if row else "")
        self.form.show_tool(tool, arguments)
        self.result.show_view(None)
        text = escaped(json.dumps(tool.parameters, indent=2, ensure_ascii=False)) if tool else ""
        self.schema.show_text(text[:MAX_SCHEMA])
        self.show_enforcement(None)
        self._show_json_button()
        self._show_words("")
        self._fit()
        return True

    def show_enforcement(self, rows: Sequence[EnforcementRow] | None) -> None:
        """Show the enforcement of each constraint; None while it is being computed."""
        self.checks.show_rows(rows or ())
        self.checks.setVisible(bool(rows))
        self.no_checks.setVisible(not rows)
        self.no_checks.setText(
            tr("Testing…") if rows is None and self.tool else tr("The schema has no constraints.")
        )

    def show_view(self, name: str) -> None:
        self.views.set_value(name)
        self._stack.setCurrentIndex(self.views.place(name))

    def set_ready(self, ready: bool) -> None:
        """Set whether the server can be called now."""
        self._server_ready = ready
        self.show_state()

    def show_progress(self, progressed: Progressed, other: str = "") -> None:
        """Show the progress of the call; `other` names its tool if another one is shown."""
        known = progressed.done is not None and bool(progressed.total)
        self.bar.setRange(0, 1000 if known else 0)
        if progressed.done is not None and progressed.total:
            self.bar.setValue(round(1000 * min(max(progressed.done / progressed.total, 0), 1)))
        parts = [tr("calling {tool}", tool=other[:60]) if other else "", progressed.message[:200]]
        if progressed.done is not None and progressed.total:
            parts.append(tr("{done:g} of {total:g}", done=progressed.done, total=progressed.total))
        elif progressed.done is not None:
            parts.append(f"{progressed.done:g}")
        parts.append(duration(progressed.seconds) if progressed.seconds >= 1 else "")
        self.progress.setText(" · ".join(part for part in parts if part) or tr("Waiting for the answer…"))

    def begin(self) -> None:
        self._busy = True
        self.result.show_view(None)
        self.show_state()

    def end(self, view: CallView | None) -> None:
        """End the call; `view` is the latest result of the shown tool, if it has one."""
        self._busy = False
        self.result.show_view(view)
        self.show_state()
        self._fit()

    def show_state(self) -> None:
        """Show the possible actions: call the tool or cancel the call, and edit its arguments."""
        can = self.tool is not None
        self.call_button.setEnabled(can and self._server_ready)
        buttons = (self.call_button, self.cancel_button)
        shown, hidden = reversed(buttons) if self._busy else buttons
        shown.show()
        if hidden.hasFocus():
            shown.setFocus(Qt.FocusReason.OtherFocusReason)
        hidden.hide()
        self.bar.setVisible(self._busy)
        self.progress.setVisible(self._busy)
        self.words.setVisible(not self._busy)
        has_arguments = self.tool is not None and bool(self.tool.parameters["properties"])
        for button in (self.example_button, self.json_button):
            button.setVisible(self._panel_words.has_schema or has_arguments)
            button.setEnabled(can and not self._busy)

    def show_subscription(self, updates: Updates | None, *, can: bool) -> None:
        """Show the updates of the shown resource, None if not subscribed; `can`: the server has subscriptions."""
        self.subscribe_box.setVisible(can)
        self.subscribe_box.setChecked(updates is not None)
        self.updates.setVisible(can)
        self.updates.setText(updates_words(updates))

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(MIN_WIDTH, 0))

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the parts after this event, as previously hidden ones have no size yet."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._fit)

    def _show_check(self, check: ArgumentProblems) -> None:
        """Show the violations that no field shows beside the button."""
        self._refit()
        if self.form.is_empty and not check.ok:
            needed = ", ".join(self.form.needed)
            self._show_words(
                tr("Required: {arguments}", arguments=needed) if needed else check.whole, calm=True
            )
        else:
            words = [check.whole, *(check.by_name.values() if self.form.is_json else ())]
            problems = " ".join(one if one.endswith(".") else f"{one}." for one in words if one)
            warning = tr("{problems} The server may reject the call.", problems=problems).strip()
            self._show_words(problems if check.ok else warning)
        fits = check.ok or self.form.is_empty
        self.call_button.setText(self._panel_words.verb if fits else self._panel_words.verb_anyway)

    def _show_unreadable(self, words: str) -> None:
        """Show why the arguments cannot be parsed; they cannot be sent."""
        self._refit()
        self._show_words(words)
        self.call_button.setEnabled(False)

    def _make_buttons(self, body: QWidget) -> None:
        words = self._panel_words
        self.call_button = push_button(
            words.verb, body, name=words.button, role="primary", tip=plain_tip(words.tip), clicked=self._call
        )
        self.cancel_button = push_button(
            tr("Cancel"), body, name="cancelCallButton", tip=tr("Cancel the request and notify the server")
        )
        self.example_button = link(tr("Example"), tr("Fill in arguments that satisfy the schema"), body)
        self.json_button = link(tr("Edit as JSON"), "", body, clicked=self._toggle)
        self.words = WrappedLabel(body)
        self.words.setProperty("role", "problem")
        self.bar = named(QProgressBar(body, textVisible=False), "", tr("Progress of the call"))
        self.progress = ElidedLabel(body, Qt.TextElideMode.ElideRight, role="hint")
        self.subscribe_box = named(QCheckBox(tr("Subscribe"), body), "subscribeBox")
        self.subscribe_box.setToolTip(
            tr("Let the server report updates, and read the resource again after each")
        )
        self.updates = ElidedLabel(body, Qt.TextElideMode.ElideRight, role="hint")
        self.show_subscription(None, can=False)
        self.example_button.clicked.connect(self._fill_in)

    def _lay_out(self, body: QWidget) -> None:
        row = hbox(
            self.call_button,
            self.cancel_button,
            (self.words, 1),
            (self.progress, 1),
            self.example_button,
            self.json_button,
            spacing=8,
        )
        subscription = hbox(self.subscribe_box, (self.updates, 1), spacing=8)
        lower = holder(
            vbox(row, subscription, self.bar, (self.result, 1), margins=(0, 6, 0, 0), spacing=6), body
        )
        self._split = QSplitter(Qt.Orientation.Vertical, body, childrenCollapsible=False)
        self._split.setObjectName("centreSplitter")
        self._split.addWidget(self.form)
        self._split.addWidget(lower)
        self._split.setStretchFactor(1, 1)
        checks = holder(vbox((self.checks, 1), (self.no_checks, 1)), body)
        self._stack = stack(self._split, checks, self.schema)
        kept = self._stack.sizePolicy()
        kept.setRetainSizeWhenHidden(True)
        self._stack.setSizePolicy(kept)
        vbox(self.about, self.annotations, self.problem, (self._stack, 1), parent=body, spacing=6)

    def _fit(self) -> None:
        height, preferred = self._split.height(), self.form.preferred_height
        share = FORM_SHARE if self.result.view is not None else ALONE_SHARE
        upper = min(preferred, round(height * share))
        self._fitted_height = preferred
        self.form.setMinimumHeight(min(preferred, MIN_FORM))
        self._split.setSizes([upper, max(height - upper, 1)])

    def _refit(self) -> None:
        """Fit the form if its preferred height has changed, such as by a message; otherwise keep the user's sizes."""
        if self.form.preferred_height != self._fitted_height:
            self._fit()

    def _show_json_button(self) -> None:
        json_now = self.form.is_json
        self.json_button.setText(tr("Edit as form") if json_now else tr("Edit as JSON"))
        tip = tr("A field for each argument") if json_now else tr("The arguments as one JSON object")
        self.json_button.setToolTip(tip)

    def _toggle(self) -> None:
        if self.form.set_json(not self.form.is_json):
            self._show_json_button()
            self._fit()

    def _fill_in(self) -> None:
        if self.tool is None:
            return
        found = example_arguments(self.tool.parameters)
        if found is None:
            self._show_words(tr("No example was found."))
            return
        as_json = self.form.is_json
        self.form.show_tool(self.tool, found)
        if as_json:
            self.form.set_json(True)
        self._show_json_button()
        self._fit()

    def _call(self) -> None:
        try:
            self.callRequested.emit(self.form.arguments())
        except ValueError as error:
            self._show_words(str(error))

    def _show_words(self, words: str, calm: bool = False) -> None:
        set_role(self.words, "hint" if calm else "problem")
        self.words.setText(words[:400])
