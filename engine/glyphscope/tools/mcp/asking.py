"""The connection between the SDK's requests for sampling and elicitation and the users who answer them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mcp.client.session import ClientRequestContext
from mcp_types import (
    INVALID_REQUEST,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    TextContent,
)
from pydantic import BaseModel, ValidationError

from glyphscope.base.figures import byte_size
from glyphscope.tools.mcp.questions import MAX_OPEN, MAX_QUESTION_BYTES, Answer, Question, QuestionKind

USER_REJECTED = -1
"""MCP's error code for a sampling request that the user rejected."""


class Asking:
    """The open requests of one connection. `changed` is called in the loop's thread when their number changes."""

    def __init__(self, server: str, changed: Callable[[], None]) -> None:
        self._server = server
        self._changed = changed
        self._numbers = itertools.count(1)
        self._open: dict[int, Question] = {}

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open requests. May be called from any thread."""
        return tuple(question for question in self._open.copy().values() if question.is_open)

    async def sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        answer = await self._ask("sampling", params)
        if isinstance(answer, ErrorData):
            return answer
        if answer.action != "accept":
            return ErrorData(code=USER_REJECTED, message="The user rejected the request for sampling.")
        return CreateMessageResult(
            role="assistant",
            content=TextContent(type="text", text=answer.text),
            model=answer.model,
            stop_reason=answer.stop_reason,
        )

    async def elicit(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        is_form = isinstance(params, ElicitRequestFormParams)
        answer = await self._ask("form" if is_form else "link", params)
        if isinstance(answer, ErrorData):
            return answer
        given = (answer.content or {}) if is_form and answer.action == "accept" else None
        try:
            return ElicitResult(action=answer.action, content=given)
        except ValidationError:  # a nested value, because the schema violates MCP
            return ErrorData(code=INVALID_REQUEST, message="MCP has no way to send a nested answer.")

    async def _ask(self, kind: QuestionKind, params: BaseModel) -> Answer | ErrorData:
        plain: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        if len(self._open) >= MAX_OPEN:
            return ErrorData(
                code=INVALID_REQUEST, message=f"More than {MAX_OPEN} requests wait for the user."
            )
        if len(params.model_dump_json()) > MAX_QUESTION_BYTES:
            return ErrorData(
                code=INVALID_REQUEST, message=f"The request has more than {byte_size(MAX_QUESTION_BYTES)}."
            )
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()

        def settle(answer: Answer) -> None:
            if not answered.done():
                answered.set_result(answer)

        def deliver(answer: Answer) -> None:
            with suppress(RuntimeError):  # the connection may have just ended
                loop.call_soon_threadsafe(settle, answer)

        number = next(self._numbers)
        question = Question(number=number, server=self._server, kind=kind, params=plain, deliver=deliver)
        self._open[number] = question
        self._changed()
        try:
            return await answered
        finally:  # answered, withdrawn by the server, or the connection has ended
            question.close()
            self._open.pop(number, None)
            self._changed()
