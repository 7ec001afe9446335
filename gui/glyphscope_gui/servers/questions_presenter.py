"""Requests of servers to the user, one after the other; nothing is answered without a click."""

from __future__ import annotations

import threading
from functools import partial

from PySide6.QtCore import QObject

from glyphscope.errors import GlyphscopeError
from glyphscope.strategies.server_sampling import answer_sampling
from glyphscope.tools.mcp.questions import Answer, Question
from glyphscope_gui.context import AppContext
from glyphscope_gui.servers.question_card import QuestionCard
from glyphscope_gui.servers.tool_calls import ToolCalls
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId

SAMPLING = "sampling"


class QuestionsPresenter(QObject):
    """Shows the oldest open request of all servers."""

    def __init__(self, context: AppContext, card: QuestionCard) -> None:
        super().__init__(card)
        self._context = context
        self._servers = context.services.servers
        self._card = card
        self._cancel = threading.Event()
        self._announced: Question | None = None
        self.jobs = ToolCalls(self)
        self._servers.asked.connect(self._show)
        card.answered.connect(self._answer)
        card.refuse_all.clicked.connect(self._refuse_all)
        card.edited.connect(self._check)
        card.generateRequested.connect(self._generate)
        card.stopRequested.connect(self.stop)
        self.jobs.checked.connect(card.show_check)
        self.jobs.unreadable.connect(card.show_unreadable)
        self.jobs.crashed.connect(context.show_error)

    @property
    def open(self) -> list[Question]:
        """Return the pending requests, the oldest of each server first."""
        sources = [known.source for known in self._servers.known if known.source is not None]
        return [question for source in sources for question in source.questions]

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

    def _check(self) -> None:
        question = self._card.question
        self.jobs.check(question.form if question is not None else None, self._card.form)

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
