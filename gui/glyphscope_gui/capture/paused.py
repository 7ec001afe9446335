"""A paused request or answer: its text, which can be edited, and the buttons that release it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import byte_size, duration
from glyphscope.capture.breakpoints import Choice, Decision, Paused, check_edit
from glyphscope_gui.shared.background import Background
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
VERDICT_MS = 300
"""Delay of the verdict after an edit."""
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
        self._shown = self._calls = ""
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
        self.verdict = words_label(parent=self, name="pausedVerdict")
        self._background = Background(self)
        self._later = QTimer(self, singleShot=True, interval=VERDICT_MS)
        self._later.timeout.connect(self._judge)
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
        parts = (
            self.heading,
            self.about,
            self.views,
            (self.editor, 1),
            self.verdict,
            self.problem,
            self.left,
            buttons,
        )
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
        """Show the body without edits, and then the calls of an answer, if it has any."""
        paused = self._paused
        if paused is None:
            return
        self._body, self._calls = paused.body, ""
        self.send_button.setEnabled(True)
        self.drop_button.setEnabled(True)
        self.views.hide()
        self.views.set_value(TEXT)
        self._show_text()
        if len(paused.body) <= MAX_SHOWN:
            self._background.start("edit", lambda: paused.calls, self._show_calls)

    def _show_calls(self, calls: str) -> None:
        if calls and not self.back_button.isEnabled():
            self._calls = calls
            self.views.set_value(CALLS)
            self.views.show()
            self._show_text()

    def _show_text(self) -> None:
        paused = self._edited()
        can_edit = len(paused.body) <= MAX_SHOWN and paused.text is not None
        if self.views.value == CALLS:
            self._shown = self._calls
        else:
            self._shown = (
                _laid_out(paused) if can_edit else paused.body[:MAX_SHOWN].decode("utf-8", "replace")
            )
        self.editor.setReadOnly(not can_edit)
        self.editor.show_text(self._shown)
        self._shown = self.editor.toPlainText()  # with Qt's ends of lines
        show_words(self.problem, "" if can_edit else tr("It is not UTF-8, or too long to be edited here."))
        self._show_edited()

    def _edited(self) -> Paused:
        """The paused request or answer with the edits of the hidden view."""
        assert self._paused is not None
        return msgspec.structs.replace(self._paused, body=self._body)

    def _written(self, view: str) -> Callable[[], Paused]:
        """Makes the request or answer with the edits of both views, of which `view` is shown, outside of the window's
        thread, as it parses all pieces of a stream. Raises GlyphscopeError.
        """
        paused, text, shown = self._edited(), self.editor.toPlainText(), self._shown

        def work() -> Paused:
            if text == shown:
                return paused
            body = paused.with_calls(text) if view == CALLS else text.encode()
            check_edit(paused, body)
            return msgspec.structs.replace(paused, body=body)

        return work

    def _change_view(self, view: str) -> None:
        other = TEXT if view == CALLS else CALLS
        written = self._written(other)
        self.views.set_value(other)  # until that is shown

        def work() -> tuple[bytes, str]:
            edited = written()
            if not (calls := edited.calls):
                raise GlyphscopeError(tr("The edited text has no calls."))
            return edited.body, calls

        def done(found: tuple[bytes, str]) -> None:
            self._body, self._calls = found
            self.views.set_value(view)
            self._show_text()

        self._background.start("edit", work, done, self._show_problem)

    def _show_problem(self, error: BaseException) -> None:
        for button in (self.send_button, self.drop_button):
            button.setEnabled(True)
        self._show_edited()
        show_words(self.problem, str(error))

    def _show_edited(self) -> None:
        paused = self._paused
        edited = self.editor.toPlainText() != self._shown or (
            paused is not None and self._body != paused.body
        )
        self.back_button.setEnabled(edited)
        self.send_button.setText(tr("Send edited") if edited else tr("Send"))
        show_words(self.verdict, "")
        if edited:
            self._later.start()

    def _judge(self) -> None:
        """Show whether the calls of an edited answer are valid; nothing while the text is not."""
        paused = self._paused
        if paused is None or paused.side != "answer" or not self.back_button.isEnabled():
            return
        written = self._written(self.views.value)
        self._background.start(
            "verdict", lambda: paused.verdict(written().body), self._show_verdict, lambda _: None
        )

    def _show_verdict(self, wrong: str) -> None:
        if self.back_button.isEnabled():
            show_words(self.verdict, wrong or tr("Each call of the edited answer is valid."))

    def _show_time(self) -> None:
        left = max(0.0, self._until - time.monotonic())
        self.left.setText(tr("The agent waits, and gets an error in {time}.", time=duration(round(left))))

    def _decide(self, choice: Choice) -> None:
        paused = self._paused
        if paused is None:
            return
        for button in (self.send_button, self.drop_button, self.back_button):
            button.setEnabled(False)  # until it is released

        def done(edited: Paused) -> None:
            body = None if edited.body == paused.body else edited.body
            self.decided.emit(Decision(paused.number, paused.side, choice, body))

        if choice == "drop":
            done(paused)
        else:
            self._background.start("send", self._written(self.views.value), done, self._show_problem)


def _laid_out(paused: Paused) -> str:
    """The text, JSON on several lines: only an edited one is sent as it is shown."""
    text = paused.body.decode()
    if "json" in paused.kind and "ndjson" not in paused.kind:
        with suppress(msgspec.DecodeError):
            text = msgspec.json.format(text, indent=2)
    for character in _CHANGED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
