"""The fields for the user's answers: to a question that the run waits for, and to the model's answer."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import PlainLabel, link, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.text_edits import LineEdit, SubmitEdit

MAX_LENGTH = 2000
"""Characters of a question that are shown, and of an answer."""


class QuestionCard(Card):
    """Hidden until `ask`. `answered` carries the answer, or None if the user skips the question."""

    answered = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        body = QWidget()
        super().__init__(tr("The model asks"), body, parent=parent)
        self.setProperty("asking", True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.question = PlainLabel(body, wordWrap=True)
        self.question.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.edit = LineEdit(body, placeholderText=tr("Your answer"), maxLength=MAX_LENGTH)
        self.answer_button = push_button(
            tr("Answer"), body, role="primary", tip=tr("Continue the run with your answer (Enter)")
        )
        self.skip_button = push_button(tr("Skip"), body, tip=tr("The run ends without an answer"))
        line = hbox((self.edit, 1), self.skip_button, self.answer_button, spacing=8)
        vbox(self.question, line, parent=body, spacing=8)
        self.edit.textChanged.connect(self._edited)
        self.edit.returnPressed.connect(self._answer)
        self.answer_button.clicked.connect(self._answer)
        self.skip_button.clicked.connect(lambda: self.answered.emit(None))
        self.hide()

    def ask(self, question: str) -> None:
        self.question.setText(question[:MAX_LENGTH])
        self.edit.clear()
        self._edited("")
        self.edit.setAccessibleName(tr("Your answer to: {question}", question=question[:MAX_LENGTH]))
        self.show()

    def dismiss(self) -> None:
        """Hide the question: the run no longer waits for it."""
        self.hide()

    def _edited(self, text: str) -> None:
        self.answer_button.setEnabled(bool(text.strip()))

    def _answer(self) -> None:
        if self.edit.text().strip():
            self.answered.emit(self.edit.text().strip())


_LINES = 3


class ReplyBar(QWidget):
    """Hidden until a run has an answer. `sendRequested` carries the text."""

    sendRequested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.edit = named(SubmitEdit(_LINES, self), "replyEdit", tr("Reply"))
        self.edit.setAccessibleDescription(tr("Your next message. Control and Enter sends it."))
        self.edit.setPlaceholderText(tr("Reply… Ctrl+Enter sends"))
        tip = tr("Run with the messages of this run, its answer and this message (Ctrl+Enter)")
        self.send_button = push_button(tr("Send"), self, name="replySend", tip=tip, clicked=self._send)
        tip = tr(
            "Copy the messages and the answer of this run into the prompt, to edit them or to add a tool result"
        )
        self.edit_button = link(tr("Edit messages"), tip, self, name="replyMessages")
        hbox((self.edit, 1), self.send_button, self.edit_button, parent=self, margins=(8, 4, 8, 6), spacing=8)
        self.edit.textChanged.connect(self._show_whether)
        self.edit.submitted.connect(self._send)
        self._can_send = True
        self._show_whether()
        self.hide()

    def set_can_send(self, can_send: bool) -> None:
        """Set whether a run may start now."""
        self._can_send = can_send
        self._show_whether()

    def _show_whether(self) -> None:
        self.send_button.setEnabled(self._can_send and bool(self.edit.toPlainText().strip()))

    def _send(self) -> None:
        if self.send_button.isEnabled():
            self.sendRequested.emit(self.edit.toPlainText().strip())
