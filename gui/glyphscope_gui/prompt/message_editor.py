"""The chosen message: its role, its text, the calls of an assistant message, the call of a tool result."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope.errors import PromptError
from glyphscope.events import Message
from glyphscope.prompting.message_list import read_calls, written_calls
from glyphscope_gui.prompt.message_list import ROLE_WORDS
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit
from glyphscope_gui.theme import mono_font

_LINES = 6


class MessageEditor(QWidget):
    """`edited` carries the Message with the user's changes."""

    edited = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._message = Message("user", "")
        self._showing = False
        roles = ((role, words, "") for role, words in ROLE_WORDS.items())
        words = tr("Role of the message")
        self.role_combo = choice_box(self, "messageRole", words, choices=roles, least=8)
        self.id_edit = LineEdit(self, placeholderText=tr("Call ID (next call if empty)"))
        named(self.id_edit, "messageCallId", tr("ID of the call that produced this result"))
        self.remove_button = push_button(
            tr("Delete"), self, name="deleteMessage", tip=tr("Delete this message")
        )
        self.edit = named(GrowingEdit(_LINES, self), "messageEdit")
        self.calls_edit = named(GrowingEdit(_LINES, self), "messageCalls")
        self.calls_edit.setAccessibleName(tr("Tool calls of the message, as JSON"))
        self.calls_edit.setPlaceholderText(tr('Tool calls: [{"name": "…", "arguments": {…}}]'))
        self.calls_edit.setFont(mono_font(-1))
        self.words = words_label(role="problem", parent=self, name="messageProblem")
        self._lay_out()
        self.role_combo.activated.connect(self._role_chosen)
        self.id_edit.textEdited.connect(lambda text: self._notify(tool_call_id=text.strip()))
        self.edit.textChanged.connect(lambda: self._notify(content=self.edit.toPlainText()))
        self.calls_edit.textChanged.connect(self._calls_typed)

    def show_message(self, message: Message, problem: str, *, is_next: bool) -> None:
        """Show a message; `is_next`: it is the user message that is sent next, which keeps its role."""
        before, self._message = self._message, message
        self._showing = True
        self.role_combo.setCurrentIndex(self.role_combo.findData(message.role))
        self.role_combo.setEnabled(not is_next)
        self.remove_button.setVisible(not is_next)
        self.id_edit.setVisible(message.role == "tool")
        if message.tool_call_id != self.id_edit.text().strip():
            self.id_edit.setText(message.tool_call_id)
        self.edit.setAccessibleName(
            tr("Your message") if is_next else tr("Text of the message: {role}", role=message.role)
        )
        self.edit.setPlaceholderText(tr("What should the model do?") if is_next else tr("Text"))
        self.edit.show_text_or_part(message.content)
        self.calls_edit.setVisible(message.role == "assistant")
        if message.tool_calls != before.tool_calls or not self.calls_edit.hasFocus():
            self._show_calls(message)
        self._showing = False
        show_words(self.words, problem)

    def _show_calls(self, message: Message) -> None:
        """Show a message's calls; a text being typed stays unchanged while it means the same calls."""
        try:
            same = read_calls(self.calls_edit.toPlainText()) == message.tool_calls
        except PromptError:
            same = False
        if not same:
            self.calls_edit.show_text_or_part(written_calls(message.tool_calls))

    def _role_chosen(self, place: int) -> None:
        role = self.role_combo.itemData(place)
        if role != self._message.role:
            self._notify(role=role)

    def _calls_typed(self) -> None:
        if self._showing or self.calls_edit.is_part:
            return
        try:
            calls = read_calls(self.calls_edit.toPlainText())
        except PromptError as error:
            show_words(self.words, tr("Not applied: {error}", error=str(error)))
            return
        show_words(self.words, "")
        self._notify(tool_calls=calls)

    def _notify(self, **changes: object) -> None:
        if self._showing:
            return
        message = replace(self._message, **changes)
        if message.role != "assistant":
            message = replace(message, tool_calls=(), reasoning="")
        if message.role != "tool":
            message = replace(message, tool_call_id="", name="")
        if message != self._message:
            self.edited.emit(message)

    def _lay_out(self) -> None:
        line = hbox(self.role_combo, STRETCH, self.remove_button, spacing=8)
        vbox(line, self.id_edit, self.edit, self.calls_edit, self.words, parent=self, spacing=6)
