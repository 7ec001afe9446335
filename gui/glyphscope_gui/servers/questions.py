"""Requests of servers to the user, one after the other: a form, an address, a model's answer. Only a click answers."""

from __future__ import annotations

import json
import threading
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.visible import visible
from glyphscope.runs.strategies.server_sampling import answer_sampling
from glyphscope.tools.mcp.questions import Answer, Question, SamplingRequest
from glyphscope_gui.calls.arguments import ArgumentProblems
from glyphscope_gui.context import AppContext
from glyphscope_gui.servers.call_form import ServerCallForm
from glyphscope_gui.servers.call_result import shown_text
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import PlainLabel, link, named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.text_edits import GrowingEdit, ReadBox

MAX_FORM = 170
"""Height of a form in pixels before it scrolls."""
MAX_MESSAGE = 2_000
"""Characters of a server's message that are shown."""
BY_HAND = "human"
"""The model's name in an answer that the user wrote."""


class ServerQuestionCard(Card):
    """`answered` carries an Answer; `generateRequested` approves one by the open model, `stopRequested` ends that."""

    answered = Signal(object)
    generateRequested = Signal()
    stopRequested = Signal()

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
        self.form = named(ServerCallForm(body), "", tr("Form from the server"))
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
        self.form.checked.connect(self._show_check)
        self.form.unreadable.connect(self._show_unreadable)
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
            self.heading.title.set_title(f"{title}{more}", upper=title.rfind(visible(question.server)))
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

    def _show_check(self, check: ArgumentProblems) -> None:
        """Show the verdicts on the form as filled in."""
        self.form.setFixedHeight(min(self.form.preferred_height, MAX_FORM))
        begun = not self.form.is_empty
        needed = tr("Required: {arguments}", arguments=", ".join(self.form.needed))
        self.words.setText("" if check.ok else check.whole if begun else needed)
        self.send_button.setEnabled(begun or check.ok)
        self.send_button.setText(tr("Send anyway") if begun and not check.ok else tr("Send"))

    def _show_unreadable(self, words: str) -> None:
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
                self._show_unreadable(str(error))


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


SAMPLING = "sampling"


class QuestionsPresenter(QObject):
    """Shows the oldest open request of all servers."""

    def __init__(self, context: AppContext, card: ServerQuestionCard) -> None:
        super().__init__(card)
        self._context = context
        self._servers = context.services.servers
        self._card = card
        self._cancel = threading.Event()
        self._announced: Question | None = None
        self._servers.asked.connect(self._show)
        card.answered.connect(self._answer)
        card.refuse_all.clicked.connect(self._refuse_all)
        card.generateRequested.connect(self._generate)
        card.stopRequested.connect(self.stop)

    @property
    def open(self) -> list[Question]:
        """Return the pending requests, the oldest of each server first."""
        return [question for source in self._servers.known for question in source.questions]

    def _show(self, _server: str = "") -> None:
        waiting = self.open
        shown = self._card.question
        question = shown if shown is not None and shown in waiting else waiting[0] if waiting else None
        if question is not shown:
            self._cancel.set()  # the request that the model is answering no longer exists
        self._card.show_question(question, len(waiting))
        if question is None or question is self._announced:
            return
        self._announced = question
        if self._context.navigator.current is not PageId.SERVERS:
            self._context.offer(
                tr("The server {server} is waiting for your response.", server=question.server),
                tr("Show the request"),
                lambda: self._context.navigator.show(PageId.SERVERS),
            )

    def _answer(self, answer: Answer) -> None:
        if self._card.question is not None:
            self._card.question.answer(answer)
        self._show()

    def _refuse_all(self) -> None:
        for question in self.open:
            question.answer(Answer(action="decline"))
        self._show()

    def _generate(self) -> None:
        """Let the open model generate the approved answer, which the user reads before it is sent."""
        question = self._card.question
        if question is None or question.sampling is None:
            return
        if self._context.runs.is_busy:  # its tool may have sent the request: waiting would never end
            self._card.show_failure(tr("A run is using the model. Write the response yourself."))
            return
        self._cancel = threading.Event()
        self._context.runs.queries.ask(
            SAMPLING,
            partial(answer_sampling, request=question.sampling, cancel=self._cancel),
            partial(self._generated, question),
            partial(self._failed, question),
        )

    def stop(self) -> None:
        """Stop the generation."""
        self._cancel.set()

    def _generated(self, question: Question, answer: Answer) -> None:
        if self._card.question is question:
            self._card.show_answer(answer)

    def _failed(self, question: Question, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            self._context.show_error(error)
        if self._card.question is question:
            self._card.show_failure(error.words if isinstance(error, GlyphscopeError) else str(error))
