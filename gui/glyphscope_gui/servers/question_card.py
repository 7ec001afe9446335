"""A server's request to the user: a form, an address to open, or a model's answer. Only a click answers it."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope.tools.mcp.questions import Answer, Question, SamplingRequest
from glyphscope.visible import visible
from glyphscope_gui.calls.argument_check import ArgumentCheck
from glyphscope_gui.servers.call_form import CallForm
from glyphscope_gui.servers.call_outcome import shown_text
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import PlainLabel, link, named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.text_edits import GrowingEdit, ReadBox

MAX_FORM = 170
"""Height of a form in pixels before it scrolls."""
MAX_MESSAGE = 2_000
"""Characters of a server's message that are shown."""
BY_HAND = "human"
"""The model's name in an answer that the user wrote."""


class QuestionCard(Card):
    """`answered` carries an Answer; `generateRequested` approves an answer by the open model, `stopRequested` ends it;
    `edited`: the arguments of the form may have changed.
    """

    answered = Signal(object)
    generateRequested = Signal()
    stopRequested = Signal()
    edited = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        body = QWidget()
        self.refuse_all = link(tr("Decline all"), tr("Decline this and all other pending requests"))
        super().__init__(tr("Request from a server"), body, actions=(self.refuse_all,), parent=parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.question: Question | None = None
        self._model = BY_HAND
        self._reason = "endTurn"
        self.message = words_label("", selectable=True)
        self.problem = words_label(role="problem")
        self.shown = ReadBox(7, tr("Request"), parent=body)
        self.form = named(CallForm(body), "", tr("Form from the server"))
        self.answer_edit = named(GrowingEdit(5, body), "samplingAnswerEdit", tr("Answer to the server"))
        self.answer_edit.setPlaceholderText(tr("Write the response, or generate it with the open model"))
        self.send_button = push_button(tr("Send"), body, name="sendAnswerButton", role="primary")
        tip = tr("Let the open model write the response; nothing is sent until you press Send")
        self.generate_button = push_button(tr("Generate"), body, name="generateAnswerButton", tip=tip)
        self.decline_button = push_button(tr("Decline"), body, name="declineButton")
        self.cancel_button = link(tr("Dismiss"), tr("Cancel the request: neither accept nor decline"), body)
        self.words = PlainLabel(body, role="hint", wordWrap=True)
        row = hbox(
            self.send_button,
            self.generate_button,
            self.decline_button,
            self.cancel_button,
            (self.words, 1),
            spacing=8,
        )
        vbox(self.message, self.problem, self.shown, self.form, self.answer_edit, row, parent=body, spacing=6)
        self.form.changed.connect(self.edited)
        self.form.messageChanged.connect(self.words.setText)
        self.answer_edit.textChanged.connect(self._written)
        self.send_button.clicked.connect(self._send)
        self.generate_button.clicked.connect(self._generate)
        self.decline_button.clicked.connect(lambda: self.answered.emit(Answer(action="decline")))
        self.cancel_button.clicked.connect(lambda: self.answered.emit(Answer(action="cancel")))
        self._generating = False
        self.show_question(None, 0)

    def show_question(self, question: Question | None, waiting: int) -> None:
        """Show the request to answer; `waiting` counts all pending ones. Typed text stays with its request."""
        self.refuse_all.setVisible(waiting > 1)
        self.setVisible(question is not None)
        if question is not None:
            more = tr(" · %n more pending", "", waiting - 1) if waiting > 1 else ""
            title = tr("Request from {server}", server=visible(question.server))
            self.heading.set_title(f"{title}{more}", upper=title.rfind(visible(question.server)))
        if question is self.question:
            return
        self.question = question
        self._generating = False
        self._model, self._reason = BY_HAND, "endTurn"
        self.words.setText("")
        self.answer_edit.setPlainText("")
        if question is None:
            self.form.show_tool(None)
            return
        kind, usable = question.kind, not question.problem
        show_words(self.message, visible(question.message[:MAX_MESSAGE], lines=True))
        problems = [question.problem, *question.findings]
        self.problem.setText("\n".join(visible(words) for words in problems if words))
        self.problem.setVisible(any(problems))
        self.shown.setVisible(kind != "form")
        self.shown.setPlainText(_request_words(question))
        self.form.setVisible(kind == "form" and usable)
        self.form.show_tool(question.form, _defaults(question))
        self.form.setFixedHeight(min(self.form.preferred_height, MAX_FORM))
        self.answer_edit.setVisible(kind == "sampling")
        self.generate_button.setVisible(kind == "sampling")
        self.cancel_button.setVisible(kind != "sampling")
        self.send_button.setVisible(usable)
        self.send_button.setText(tr("I opened it") if kind == "link" else tr("Send"))
        self.send_button.setEnabled(kind == "link")
        self.decline_button.setText(tr("Reject") if kind == "sampling" else tr("Decline"))
        self._show_generating()
        self.edited.emit()

    def show_check(self, check: ArgumentCheck) -> None:
        """Show the verdicts on the form as filled in."""
        if self.question is None or self.question.kind != "form":
            return
        self.form.show_check(check)
        self.form.setFixedHeight(min(self.form.preferred_height, MAX_FORM))
        begun = not self.form.is_empty
        needed = tr("Required: {arguments}", arguments=", ".join(self.form.needed))
        self.words.setText("" if check.ok else check.whole if begun else needed)
        self.send_button.setEnabled(begun or check.ok)
        self.send_button.setText(tr("Send anyway") if begun and not check.ok else tr("Send"))

    def show_unreadable(self, words: str) -> None:
        self.form.show_unreadable()
        self.words.setText(words)
        self.send_button.setEnabled(False)

    def show_answer(self, answer: Answer) -> None:
        """Show the generated answer, which can be edited before it is sent."""
        self._generating = False
        self.answer_edit.setPlainText(answer.text)
        self._model, self._reason = answer.model, answer.stop_reason
        self.words.setText(tr("Generated by {model}. Read it before you send it.", model=answer.model))
        self._show_generating()

    def show_failure(self, words: str) -> None:
        self._generating = False
        self.words.setText(words)
        self._show_generating()

    def _generate(self) -> None:
        if self._generating:
            self.stopRequested.emit()
            return
        self._generating = True
        self.words.setText(tr("Generating the response…"))
        self._show_generating()
        self.generateRequested.emit()

    def _show_generating(self) -> None:
        self.generate_button.setText(tr("Stop") if self._generating else tr("Generate"))
        self.answer_edit.setReadOnly(self._generating)
        self._written()

    def _written(self) -> None:
        if self.question is not None and self.question.kind == "sampling":
            text = self.answer_edit.toPlainText().strip()
            self.send_button.setEnabled(bool(text) and not self._generating)

    def _send(self) -> None:
        question = self.question
        if question is None:
            return
        if question.kind == "sampling":
            text = self.answer_edit.toPlainText()
            self.answered.emit(
                Answer(action="accept", text=text, model=self._model, stop_reason=self._reason)
            )
        elif question.kind == "link":
            self.answered.emit(Answer(action="accept"))
        else:
            try:
                self.answered.emit(Answer(action="accept", content=self.form.arguments()))
            except ValueError as error:
                self.show_unreadable(str(error))


def _defaults(question: Question) -> dict[str, Any]:
    properties = question.form.parameters.get("properties", {}) if question.form is not None else {}
    return {
        name: schema["default"]
        for name, schema in properties.items()
        if isinstance(schema, dict) and "default" in schema
    }


def _request_words(question: Question) -> str:
    if question.kind == "link":
        return visible(question.url, spaces=True)
    request = question.sampling
    return shown_text(_sampling_words(request)) if request is not None else ""


def _sampling_words(request: SamplingRequest) -> str:
    limits = [tr("at most %n token(s)", "", request.max_tokens)]
    if request.temperature is not None:
        limits.append(tr("temperature {value:g}", value=request.temperature))
    if request.stop:
        limits.append(tr("stop at {texts}", texts=json.dumps(request.stop, ensure_ascii=False)))
    lines = [" · ".join(limits)]
    if request.system:
        lines.append(f"system: {request.system}")
    for message in request.messages:
        for piece in message.content:
            words = piece.text if piece.kind == "text" else f"[{piece.kind}, {piece.mime}]"
            lines.append(f"{message.role}: {words}")
    return "\n".join(lines)
