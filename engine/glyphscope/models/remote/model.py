"""A model behind an endpoint, as a `Model` with only the facts and figures that the endpoint reports."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from glyphscope.errors import ModelError
from glyphscope.events import Message, ModelInfo, Thinking
from glyphscope.models.interface import (
    Cancelled,
    GenerateRequest,
    OneAtATime,
    Opening,
    Output,
    PromptProgress,
    PromptReady,
    RenderedPrompt,
    Vocabulary,
)
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.answer import StreamedAnswer
from glyphscope.models.remote.chunks import Chunk
from glyphscope.models.remote.connection import Connection, Exchange, Interrupted
from glyphscope.models.remote.dialect import Dialect
from glyphscope.models.remote.failures import refusal
from glyphscope.models.remote.fields import (
    body_of,
    constraint_of,
    outgoing,
    readable,
    thinking_note,
    unsaid,
    with_written,
)
from glyphscope.models.remote.finding import Found, count_tokens, find
from glyphscope.models.remote.keys import key_of
from glyphscope.models.remote.response_decoder import ChatStreamDecoder
from glyphscope.models.remote.retry import RequestFailed, Retries, Timeouts

CHAT = "/chat/completions"


class RemoteModel:
    """Implements `Model`. One generation at a time, as for any model; several models may share an endpoint.

    It has no vocabulary, and counts tokens only if its server does. `dialect` decides which fields are sent.
    """

    def __init__(self, connection: Connection, found: Found) -> None:
        self._connection, self._found = connection, found
        self.info: ModelInfo = found.info
        self.dialect: Dialect = found.dialect
        self._logprobs = found.logprobs
        self._alone = OneAtATime()
        self._running: Exchange | None = None
        self._vocabulary = Vocabulary()

    def count_tokens(self, text: str) -> int:
        """The count by the server's tokenizer. Raises ModelError if the server offers none."""
        exchange = Exchange(self._connection)
        try:
            return count_tokens(exchange, self.dialect, text)
        except Interrupted:
            raise ModelError("The model was closed meanwhile.", where=self.info.path) from None
        finally:
            exchange.close()

    def tokenize(self, text: str) -> list[int]:
        raise ModelError("An endpoint does not report a text's tokens.", where=self.info.path)

    def vocabulary(self) -> Vocabulary:
        """Empty: an endpoint does not send it."""
        return self._vocabulary

    def render_chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        thinking: Thinking = "auto",
    ) -> RenderedPrompt:
        """The sent messages, each under its role: the endpoint applies its own template."""
        sent, note = outgoing(messages)
        text, added = readable(sent, tools)
        note = f"{note} {thinking_note(thinking, self.dialect)}".strip()
        return RenderedPrompt(text, 0, note, added)

    def turn_form(self) -> None:
        """None: the endpoint parses the answer with its own template, and sends the parts."""

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        """Sends the request, with retries, and yields each piece as it arrives. Closing it closes the connection.

        Raises GrammarError if the endpoint does not support the constraint or ignores it; PromptError; ModelError.
        """
        with self._alone.exclusive():
            exchange = self._running = Exchange(self._connection)
            try:
                yield from self._asked(exchange, request)
            except Interrupted:
                yield Cancelled()
            finally:
                self._running = None
                exchange.close()

    def cancel(self) -> None:
        running = self._running
        if running is not None:
            running.cancel()

    def close(self) -> None:
        """Closes the connection; a later call opens it again."""
        self._connection.close()

    def _asked(self, exchange: Exchange, request: GenerateRequest) -> Iterator[Output]:
        request = with_written(request, self.dialect)
        constraint = constraint_of(request, self.dialect)
        notes = [constraint.note, unsaid(request, self.dialect)]
        body = body_of(request, constraint, self.dialect, self._found.model, logprobs=self._logprobs)
        decoder = ChatStreamDecoder(request, constraint, self.dialect, self._connection.address)
        start = time.monotonic()
        yield PromptProgress(0, 0, 0.0, " ".join(note for note in notes if note))
        chunks: Iterator[Chunk] | None = None
        retries, without_figures = Retries(self._connection.patience), False
        while chunks is None:
            try:
                chunks = self._begun(exchange, body)
            except RequestFailed as refused:
                if "logprobs" in body and (refused.silent or "logprob" in refused.error.message.lower()):
                    # figures are optional: the request is repeated without them, and they stay None
                    body = {name: value for name, value in body.items() if "logprobs" not in name}
                    without_figures = True
                    continue
                exchange.wait(retries.pause(refused))
        self._logprobs = self._logprobs and not without_figures  # not requested again: it answered without
        yield PromptReady(0, 0, (time.monotonic() - start) * 1000)
        if written := decoder.prefix():
            yield written
        for chunk in chunks:
            yield from decoder.feed(chunk)
        yield from decoder.end()

    def _begun(self, exchange: Exchange, body: dict[str, Any]) -> Iterator[Chunk]:
        """The answer's chunks, of which the first has arrived. Raises RequestFailed."""
        connection = self._connection
        address, patience = connection.address, connection.patience
        deadline = time.monotonic() + patience.first
        reply = exchange.open(address.base + CHAT, json.dumps(body).encode(), patience.first)
        if reply.status != 200:
            raise refusal(reply.status, reply.headers, reply.body, address, had_key=bool(connection.key))
        chunks = StreamedAnswer(exchange, reply.headers, deadline).chunks()
        usage = None
        for chunk in chunks:
            usage = chunk.usage or usage
            if chunk.substance:
                return _joined(chunk._replace(usage=usage), chunks)
        return chunks


def open_remote(
    address: Address, *, progress: Callable[[float], None] | None = None, patience: Timeouts | None = None
) -> RemoteModel:
    """Requests the endpoint's models and the facts about its server. Raises ModelError.

    An `Opening` as `progress` can end it.
    """
    connection = Connection(address, key_of(address), patience or Timeouts())
    exchange = Exchange(connection)
    cancellable = progress.ended_by(exchange.cancel) if isinstance(progress, Opening) else nullcontext()
    try:
        with cancellable:
            found = find(exchange)
    except BaseException as error:
        connection.close()
        if isinstance(error, Interrupted):
            raise ModelError(
                "Connecting to the endpoint was stopped.",
                where=str(address),
                hint="The next run connects again.",
            ) from None
        if isinstance(error, RequestFailed):
            raise error.error from None
        raise
    exchange.close()
    connection.address = address.named(found.model)
    if progress is not None:
        progress(1.0)
    return RemoteModel(connection, found)


def _joined(first: Chunk, rest: Iterator[Chunk]) -> Iterator[Chunk]:
    yield first
    try:
        yield from rest
    except RequestFailed as refused:  # not retried after the first piece, or its text would appear twice
        raise refused.error from None
