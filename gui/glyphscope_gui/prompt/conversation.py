"""The prompt in its usual form: a plain system prompt and the messages of a conversation, each with its tokens."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from glyphscope.errors import GlyphscopeError
from glyphscope.events import Message, PromptRendered
from glyphscope.prompting.costs import message_tokens
from glyphscope.prompting.message_list import parse_messages, to_json
from glyphscope.prompting.messages import SYSTEM_PROMPT
from glyphscope_gui.project.prompt_document import PromptDocument, PromptState
from glyphscope_gui.prompt.message_editor import MessageEditor
from glyphscope_gui.prompt.message_list import MessageList, MessagesModel
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.labels import ElidedLink, PlainLabel, link, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.plain_text import copy_text
from glyphscope_gui.shared.text_edits import GrowingEdit

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

    def choose(self, place: int) -> None:
        """Choose a message, to be edited below the list."""
        self.list.setCurrentIndex(self.model.index(place, 0))

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
            tr("+ instructions for calls: custom template")
            if own
            else tr("+ instructions for calls: {preset}", preset=state.preset)
        )
        self.model.show_messages(state.history, state.user)
        rows = self.model.rowCount()
        if self.list.currentIndex().row() < 0:
            self.choose(min(max(self._choice, 0), rows - 1))
        self._show_message(self.list.currentIndex().row())
        self.undo_button.setVisible(self._document.can_undo)

    def _chosen(self, place: int) -> None:
        if place >= 0:
            self._choice = place
            self._show_message(place)

    def _show_message(self, place: int) -> None:
        row = self.model.row(place)
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
