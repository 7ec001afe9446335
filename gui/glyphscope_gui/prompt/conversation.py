"""The prompt in its usual form: a plain system prompt and the messages of a conversation, each with its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from glyphscope.base.errors import GlyphscopeError, PromptError
from glyphscope.base.shorten import excerpt
from glyphscope.events import Message, PromptRendered
from glyphscope.prompting.costs import message_tokens
from glyphscope.prompting.message_list import (
    parse_messages,
    read_calls,
    result_problem,
    to_json,
    written_calls,
)
from glyphscope.prompting.messages import SYSTEM_PROMPT
from glyphscope_gui.project.prompt_document import PromptDocument, PromptState
from glyphscope_gui.shared.cells import LinesDelegate
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.labels import (
    ElidedLink,
    PlainLabel,
    link,
    named,
    push_button,
    show_words,
    words_label,
)
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.plain_text import copy_text
from glyphscope_gui.shared.table_model import CellLine, ListModel
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit
from glyphscope_gui.theme import mono_font, use_font

MAX_SHOWN = 200
"""Characters of a message in a row."""
ROLE_WORDS = {
    "system": tr("System"),
    "user": tr("User"),
    "assistant": tr("Assistant"),
    "tool": tr("Tool result"),
}


class MessageRow(NamedTuple):
    """`part` is its key in `message_tokens`; `problem` is why it cannot be sent there, empty for a valid one."""

    message: Message
    part: str
    problem: str = ""
    is_next: bool = False

    @property
    def role_words(self) -> str:
        words = ROLE_WORDS.get(self.message.role, self.message.role)
        return tr("{role} (next)", role=words) if self.is_next else words


class MessagesModel(ListModel[MessageRow]):
    """A row's text is its message on one line."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tokens: Mapping[str, int | None] = {}

    def show_messages(self, history: Sequence[Message], user: str) -> None:
        """Show the messages; if their number is unchanged, the rows are kept, so that the chosen one stays chosen. A
        changed message has no tokens until it is counted.
        """
        messages = [*history, Message("user", user)]
        parts = [*(f"message {index + 1}" for index in range(len(history))), "user"]
        rows = [
            MessageRow(message, part, result_problem(messages, index), part == "user")
            for index, (message, part) in enumerate(zip(messages, parts))
        ]
        if len(rows) == len(self._rows):
            changed = {new.part: None for old, new in zip(self._rows, rows) if old.message != new.message}
            self._tokens = {**self._tokens, **changed} if self._tokens else {}
            self._rows = rows
            self._changed()
        else:
            self._tokens = {}
            self.show_rows(rows)

    def show_tokens(self, tokens: Mapping[str, int]) -> None:
        """Show the counts of `message_tokens`; empty if tokens are not counted."""
        self._tokens = tokens
        self._changed()

    def words(self, row: MessageRow, column: int) -> str:
        return line_of(row.message)

    def spoken(self, row: MessageRow, column: int) -> str:
        return f"{row.role_words}: {line_of(row.message)}"

    def tip(self, row: MessageRow, column: int) -> str:
        return row.problem or line_of(row.message)

    def lines(self, row: MessageRow) -> tuple[CellLine, ...]:
        """The role, with the tokens, and the message."""
        tokens = self._tokens.get(row.part, 0) if self._tokens else None  # an empty message is not sent
        counted = "" if tokens is None else tr("%n token(s)", "", tokens)
        role = f"! {row.role_words}" if row.problem else row.role_words
        color = "impossible" if row.problem else "text-muted"
        return CellLine(role, color, counted, small=False), CellLine(self.words(row, 0) or "–", small=False)


def line_of(message: Message) -> str:
    """The message on one line: its text, then the tools that it calls."""
    calls = [tr("calls {name}", name=call.name) for call in message.tool_calls]
    return excerpt(" · ".join(filter(None, (excerpt(message.content, MAX_SHOWN), *calls))), MAX_SHOWN)


_MIN_ROWS = 2


class MessageList(PlainList):
    """`removeRequested` is emitted on Delete."""

    removeRequested = Signal()

    def __init__(self, model: MessagesModel, parent: QWidget | None = None) -> None:
        keys = tr("Edit the selected message below. Delete removes it.")
        words = tr("Messages of the conversation")
        super().__init__(model, "messageList", words, parent, description=keys, uniformItemSizes=True)
        self.setItemDelegate(LinesDelegate(self))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        model.modelReset.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Delete):
            event.accept()
            self.removeRequested.emit()
            return
        super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.maximumHeight())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self.model() is not None:
            self._fit()

    def _fit(self) -> None:
        rows = max(1, self.model().rowCount())
        row = self.sizeHintForRow(0) if self.model().rowCount() else 0
        self.setMaximumHeight(max(1, rows * row))
        self.setMinimumHeight(min(rows, _MIN_ROWS) * row)


_SYSTEM_LINES = 5


class ConversationEditor(QWidget):
    """The system prompt and the messages, edited one at a time."""

    def __init__(self, document: PromptDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._choice = -1
        self._system_prompt = document.state.system_prompt
        self.system_edit = named(GrowingEdit(_SYSTEM_LINES, self), "systemTextEdit", tr("System prompt"))
        self.system_edit.setAccessibleDescription(tr("Plain text, sent before the instructions for calls."))
        self.system_edit.setPlaceholderText(tr("You are a helpful assistant."))
        self.system_tokens = PlainLabel(self, role="muted", objectName="systemTokens")
        self.template_link = named(ElidedLink(self), "templateLink")
        self.model = MessagesModel(self)
        self.list = MessageList(self.model, self)
        self.editor = MessageEditor(self)
        self.words = words_label(role="problem", parent=self, name="conversationProblem", selectable=True)
        tip = tr("Restore the messages that were replaced or deleted")
        self.undo_button = link(tr("Undo"), tip, self, name="undoMessages")
        tip = tr("Add a message before the next one")
        self.add_button = named(IconButton("add", None, self), "addMessage", tr("Add a message"), tip=tip)
        self.more_button = self._make_more()
        self._lay_out()
        self._connect(document)
        self._show_state(document.state)
        self.choose(self.model.rowCount() - 1)

    def choose(self, index: int) -> None:
        """Choose a message, to be edited below the list."""
        self.list.setCurrentIndex(self.model.index(index, 0))

    def show_counted(self, prompt: PromptRendered | None, problem: str = "") -> None:
        """Show the tokens of each message in the next prompt, or why the model's template rejects them."""
        tokens = {} if prompt is None else message_tokens(prompt)
        self.model.show_tokens(tokens)
        of_system = tokens.get(SYSTEM_PROMPT, 0)
        self.system_tokens.setText(tr("%n token(s)", "", of_system) if of_system else "")
        self.show_problem(problem)

    def show_problem(self, words: str) -> None:
        """Show why the messages cannot be sent, in place of a previous problem."""
        show_words(self.words, words)

    def paste(self) -> None:
        """Replace the conversation with the list of messages on the clipboard."""
        try:
            read = parse_messages(QGuiApplication.clipboard().text(), tr("clipboard"))
        except GlyphscopeError as error:
            self.show_problem(str(error))
            return
        self._document.set_conversation(read.history, read.prompt, read.system_prompt)
        self.choose(self.model.rowCount() - 1)

    def copy(self) -> None:
        """Copy the conversation to the clipboard, as OpenAI's list of messages."""
        state = self._document.state
        system = (Message("system", state.system_prompt),) if state.system_prompt.strip() else ()
        copy_text(to_json((*system, *state.history, Message("user", state.user))))

    def clear(self) -> None:
        """Start a new conversation, keeping only the next message."""
        self._document.set_conversation(())
        self.choose(0)

    def _connect(self, document: PromptDocument) -> None:
        self.system_edit.textChanged.connect(self._edit_system_prompt)
        self.list.selectionModel().currentChanged.connect(lambda now, _before: self._chosen(now.row()))
        self.editor.edited.connect(self._edited)
        self.editor.remove_button.clicked.connect(self._remove)
        self.list.removeRequested.connect(self._remove)
        self.add_button.clicked.connect(self._add)
        self.undo_button.clicked.connect(document.undo)
        document.changed.connect(self._show_state)

    def _make_more(self) -> QToolButton:
        menu = QMenu(self)
        for name, words, do in (
            ("pasteMessages", tr("&Paste OpenAI messages"), self.paste),
            ("copyMessages", tr("&Copy as OpenAI messages"), self.copy),
            ("newConversation", tr("&New conversation"), self.clear),
        ):
            action = named(menu.addAction(words), name)
            action.triggered.connect(lambda _checked=False, run=do: run())
        words, tip = tr("More: paste, copy, new conversation"), tr("Paste, copy, new conversation")
        button = named(IconButton("more", None, self), "moreMessages", words, tip=tip)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setMenu(menu)
        return button

    def _show_state(self, state: PromptState) -> None:
        if state.system_prompt != self._system_prompt:
            self._system_prompt = state.system_prompt
            self.system_tokens.setText("")  # until they are counted
        self.system_edit.show_text_or_part(state.system_prompt)
        own = self._document.is_edited
        self.template_link.set_words(
            tr("+ instructions: custom template")
            if own
            else tr("+ instructions for calls: {preset}", preset=state.preset)
            if self._document.context.answer.is_call
            else tr("+ instructions for the answer")
        )
        self.model.show_messages(state.history, state.user)
        rows = self.model.rowCount()
        if self.list.currentIndex().row() < 0:
            self.choose(min(max(self._choice, 0), rows - 1))
        self._show_message(self.list.currentIndex().row())
        self.undo_button.setVisible(self._document.can_undo)

    def _chosen(self, index: int) -> None:
        if index >= 0:
            self._choice = index
            self._show_message(index)

    def _show_message(self, index: int) -> None:
        row = self.model.row(index)
        if row is not None:
            self.editor.show_message(row.message, row.problem, is_next=row.is_next)

    def _edit_system_prompt(self) -> None:
        if not self.system_edit.is_part:
            self._document.set_system_prompt(self.system_edit.toPlainText())

    def _edited(self, message: Message) -> None:
        if self._choice == self.model.rowCount() - 1:
            self._document.set_user(message.content)
        else:
            self._document.set_message(self._choice, message)

    def _add(self) -> None:
        """Add a message before the next one, in the role that is usual there."""
        history = self._document.state.history
        last = history[-1] if history else None
        if last is not None and last.role == "assistant" and last.tool_calls:
            role = "tool"
        else:
            role = "assistant" if last is not None and last.role in ("user", "tool") else "user"
        self._document.set_conversation((*history, Message(role, "")))
        self.choose(len(history))
        self.editor.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _remove(self) -> None:
        history, place = self._document.state.history, self._choice
        if place >= len(history):  # the next message always exists
            return
        self._document.set_conversation((*history[:place], *history[place + 1 :]))

    def _lay_out(self) -> None:
        vbox(
            hbox(PlainLabel(tr("System prompt"), self, role="title"), STRETCH, self.system_tokens, spacing=8),
            self.system_edit,
            self.template_link,
            hbox(
                PlainLabel(tr("Messages"), self, role="title"),
                STRETCH,
                self.undo_button,
                self.add_button,
                self.more_button,
                spacing=8,
            ),
            (self.list, 1),
            self.editor,
            self.words,
            STRETCH,
            parent=self,
            margins=(14, 12),
            spacing=8,
        )
        self.words.hide()


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
        use_font(self.calls_edit, mono_font, -1)
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

    def _role_chosen(self, index: int) -> None:
        role = self.role_combo.itemData(index)
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
