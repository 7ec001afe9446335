"""A paused request or answer: its text, which can be edited, and the buttons that release it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import byte_size, duration
from glyphscope.capture.breakpoints import Choice, Decision, Paused, check_edit
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import PlainLabel, named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.theme.sizes import letters

MAX_SHOWN = 500_000
"""Bytes of a body that can be edited here: a longer one is shown in part, and sent on or dropped."""
TICK_MS = 1000
_CHANGED = "\u00a0\u2028\u2029"
"""Characters that Qt's edits give back as others: in JSON, their escapes are the same."""
SIZE = QSize(720, 560)
CALLS, TEXT = "calls", "text"
"""The views of an answer."""


class PausedDialog(PlainDialog):
    """Shows paused requests and answers, one after the other. `decided` carries a Decision. Closing releases none."""

    decided = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("pausedDialog", tr("Breakpoint"), parent)
        self._paused: Paused | None = None
        self._until = 0.0
        self._shown = ""
        self._body = b""
        """The body with the edits of the hidden view."""
        self.heading = PlainLabel(self, role="heading", wordWrap=True)
        self.about = words_label(parent=self, name="pausedAbout")
        self.left = words_label(parent=self, name="pausedTime")
        self.views = Segmented(
            (
                (CALLS, tr("Calls"), tr("The name and the arguments of each call")),
                (TEXT, tr("Whole text"), tr("All that the agent gets, as the server sent it")),
            ),
            small=True,
            parent=self,
        )
        self.editor = named(JsonEditor(self), "pausedEditor", tr("Paused text"))
        self.editor.setLineWrapMode(JsonEditor.LineWrapMode.WidgetWidth)  # an event of an answer is one line
        self.problem = words_label(role="problem", parent=self, name="pausedProblem")
        self.send_button = push_button(tr("Send"), self, role="primary", clicked=lambda: self._decide("send"))
        self.drop_button = push_button(
            tr("Drop"), self, tip=tr("The agent gets an error"), clicked=lambda: self._decide("drop")
        )
        self.back_button = push_button(tr("Undo edits"), self, clicked=self._show_whole)
        buttons = self.button_box(
            Standard.NoButton,
            (self.back_button, Role.ResetRole),
            (self.drop_button, Role.DestructiveRole),
            (self.send_button, Role.ActionRole),
        )
        parts = (self.heading, self.about, self.views, (self.editor, 1), self.problem, self.left, buttons)
        vbox(*parts, parent=self, margins=(18, 16, 18, 14), spacing=10)
        self.editor.textChanged.connect(self._show_edited)
        self.views.chosen.connect(self._change_view)
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._show_time)
        self._tick.start()
        self.resize(SIZE * letters(self))

    def show_paused(self, waiting: Sequence[tuple[Paused, float]]) -> None:
        """Show the first of these, each with the time (monotonic) until which it waits; edits of it are kept."""
        if not waiting:
            self.accept()
            return
        paused, self._until = waiting[0]
        more = tr(" · %n more", "", len(waiting) - 1) if len(waiting) > 1 else ""
        what = tr("Request {number}", number=paused.number)
        if paused.side == "answer":
            what = tr("Answer to request {number}", number=paused.number)
        self.heading.setText(f"{what}{more}")
        self.about.setText(
            " · ".join(filter(None, (paused.model, paused.path, byte_size(len(paused.body)), paused.why)))
        )
        if paused != self._paused:
            self._paused = paused
            self._show_whole()
        self._show_time()

    def _show_whole(self) -> None:
        """Show the body without edits: the calls of an answer, or all of it."""
        paused = self._paused
        if paused is None:
            return
        self._body = paused.body
        self.send_button.setEnabled(True)
        self.drop_button.setEnabled(True)
        has_calls = len(self._body) <= MAX_SHOWN and bool(paused.calls)
        self.views.setVisible(has_calls)
        self.views.set_value(CALLS if has_calls else TEXT)
        self._show_text()

    def _show_text(self) -> None:
        paused = self._edited()
        can_edit = paused.text is not None and len(paused.body) <= MAX_SHOWN
        if self.views.value == CALLS:
            self._shown = paused.calls
        else:
            self._shown = (
                _laid_out(paused) if can_edit else paused.body[:MAX_SHOWN].decode("utf-8", "replace")
            )
        self.editor.setReadOnly(not can_edit)
        self.editor.show_text(self._shown)
        self._shown = self.editor.toPlainText()  # with Qt's ends of lines
        words = tr("It is not UTF-8, or too long to be edited here.") if not can_edit else ""
        show_words(self.problem, words)
        self._show_edited()

    def _edited(self) -> Paused:
        """The paused request or answer with the edits of the hidden view."""
        assert self._paused is not None
        return msgspec.structs.replace(self._paused, body=self._body)

    def _written(self, view: str) -> bytes:
        """The body with the edits of both views, of which `view` is shown. Raises GlyphscopeError."""
        paused, text = self._edited(), self.editor.toPlainText()
        if text == self._shown:
            return paused.body
        if view == CALLS:
            return paused.with_calls(text)
        body = text.encode()
        check_edit(paused, body)
        return body

    def _change_view(self, view: str) -> None:
        other = TEXT if view == CALLS else CALLS
        try:
            body = self._written(other)
            if view == CALLS and not msgspec.structs.replace(self._edited(), body=body).calls:
                raise GlyphscopeError(tr("The edited text has no calls."))
        except GlyphscopeError as error:
            self.views.set_value(other)
            show_words(self.problem, str(error))
            return
        self._body = body
        self._show_text()

    def _show_edited(self) -> None:
        paused = self._paused
        edited = self.editor.toPlainText() != self._shown or (
            paused is not None and self._body != paused.body
        )
        self.back_button.setEnabled(edited)
        self.send_button.setText(tr("Send edited") if edited else tr("Send"))

    def _show_time(self) -> None:
        left = max(0.0, self._until - time.monotonic())
        self.left.setText(tr("The agent waits, and gets an error in {time}.", time=duration(round(left))))

    def _decide(self, choice: Choice) -> None:
        paused = self._paused
        if paused is None:
            return
        body = None
        try:
            if choice == "send" and (written := self._written(self.views.value)) != paused.body:
                body = written
        except GlyphscopeError as error:
            show_words(self.problem, str(error))
            return
        for button in (self.send_button, self.drop_button, self.back_button):
            button.setEnabled(False)  # until it is released
        self.decided.emit(Decision(paused.number, paused.side, choice, body))


def _laid_out(paused: Paused) -> str:
    """The text, JSON on several lines: only an edited one is sent as it is shown."""
    text = paused.body.decode()
    if "json" in paused.kind and "ndjson" not in paused.kind:
        with suppress(msgspec.DecodeError):
            text = msgspec.json.format(text, indent=2)
    for character in _CHANGED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
