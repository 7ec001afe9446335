"""A question of the model that the run waits for."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import PlainLabel, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.text_edits import LineEdit

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
