"""A model behind an endpoint, as a `Model` with only the facts and figures that the endpoint reports."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import ModelError
from glyphscope.base.json_values import as_object, json_object
from glyphscope.base.shorten import excerpt
from glyphscope.events import DEFAULT_CHAT, ChatOptions, Message, ModelInfo, Spans
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
from glyphscope.models.remote import fields
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.answer import StreamedAnswer
from glyphscope.models.remote.api_answers import ResponsesEvents
from glyphscope.models.remote.apis import API_NAMES
from glyphscope.models.remote.chunks import Chunk, chat_chunks, whole_number
from glyphscope.models.remote.connection import (
    ConnectionInterrupted,
    EndpointConnection,
    HttpExchange,
    HttpReply,
)
from glyphscope.models.remote.dialect import (
    COMPATIBLE,
    LLAMA_SERVER,
    SGLANG,
    VLLM,
    Dialect,
    dialect_named,
    dialect_of,
    vllm_of,
)
from glyphscope.models.remote.failures import not_understood, refusal
from glyphscope.models.remote.keys import key_of
from glyphscope.models.remote.response_decoder import ChatStreamDecoder
from glyphscope.models.remote.responses import over_responses
from glyphscope.models.remote.retry import RequestFailed, Retries, Timeouts
from glyphscope.models.remote.server_prompts import count_tokens, rendered

_PROBES = (
    ("/props", "default_generation_settings", LLAMA_SERVER),
    ("/get_model_info", "model_path", SGLANG),
    ("/version", "version", VLLM),
)
"""Paths outside the API that only one kind of server has, each with a member of its answer."""
_MAX_SERVER = 80
"""Characters of a server's name with its version."""


class FoundEndpoint(NamedTuple):
    """`model` is the name sent in requests."""

    info: ModelInfo
    dialect: Dialect
    model: str
    logprobs: bool


def find(exchange: HttpExchange) -> FoundEndpoint:
    """The facts about the exchange's endpoint. Raises ModelError and RequestFailed."""
    address = exchange.connection.address
    named, figures = address.option("dialect"), address.option("logprobs")
    dialect = dialect_named(named, str(address)) if named else None
    reply = _models(exchange)
    entries = _entries(reply, address)
    entry = _entry(entries, address)
    model = address.model or str(entry["id"])
    host = address.origin.partition("://")[2].rpartition(":")[0]
    dialect = dialect or dialect_of(host, str(entry.get("owned_by") or ""), reply.headers)
    facts: dict[str, Any] = {}
    if dialect is None:
        dialect, facts = _probed(exchange)
    elif host != "api.openai.com":
        path = next((path for path, _, known in _PROBES if known.title == dialect.title), "")
        facts = _facts(exchange, address.root + path) if path else {}
    version = str(facts.get("version") or facts.get("build_info") or "")
    if dialect.name == VLLM.name and not named:
        dialect = vllm_of(version)
    if address.option("api") == "responses":
        dialect = over_responses(dialect)
    logprobs = figures == "yes" or (dialect.figures and figures != "no")
    return FoundEndpoint(
        _info(address.named(model), model, entry, facts, dialect, version), dialect, model, logprobs
    )


def _models(exchange: HttpExchange) -> HttpReply:
    """The list of models. A status of 404 is also an answer, as not every endpoint has a list."""
    connection = exchange.connection
    address = connection.address
    retries = Retries(connection.patience)
    while True:
        try:
            reply = exchange.get(f"{address.base}/models", seconds=connection.patience.connect + 20)
            if reply.status == 200 or (reply.status in (404, 405) and address.model):
                return reply
            had_key = bool(connection.key)
            raise refusal(reply.status, reply.headers, reply.body, address, had_key=had_key)
        except RequestFailed as refused:
            exchange.wait(retries.pause(refused))


def _entries(reply: HttpReply, address: Address) -> list[dict[str, Any]]:
    if reply.status != 200:
        return []
    try:
        document = json.loads(reply.body)
    except (ValueError, RecursionError):
        page = reply.body.lstrip()[:1] == b"<"
        what = (
            "The endpoint sent a web page for its list of models."
            if page
            else "Its list of models is not JSON."
        )
        raise not_understood(what, address, reply.body) from None
    listed = document.get("data", document.get("models")) if isinstance(document, dict) else document
    if not isinstance(listed, list):
        raise not_understood("The endpoint sent no list of models.", address, reply.body)
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("id"), str)]


def _entry(entries: list[dict[str, Any]], address: Address) -> dict[str, Any]:
    """The entry of the requested model. Raises ModelError if there is none to choose."""
    if address.model:
        found = next((each for each in entries if each["id"] == address.model), None)
        # some servers accept any name, and some list fewer models than they have
        return found or (entries[0] | {"meta": None, "max_model_len": None} if entries else {})
    if not entries:
        raise ModelError(
            "The endpoint lists no models.",
            where=str(address),
            hint="Name one behind the address: …/v1#model-name.",
        )
    return entries[0]


def _probed(exchange: HttpExchange) -> tuple[Dialect, dict[str, Any]]:
    for path, member, dialect in _PROBES:
        facts = _facts(exchange, exchange.connection.address.root + path)
        if member in facts:
            return dialect, facts
    return COMPATIBLE, {}


def _facts(exchange: HttpExchange, url: str) -> dict[str, Any]:
    """The facts that a server reports; empty if it reports none."""
    try:
        reply = exchange.get(url, seconds=5.0)
    except RequestFailed:
        return {}
    return json_object(reply.body) if reply.status == 200 else {}


def _info(
    address: Address, model: str, entry: dict[str, Any], facts: dict[str, Any], dialect: Dialect, version: str
) -> ModelInfo:
    meta, settings = as_object(entry.get("meta")), as_object(facts.get("default_generation_settings"))
    words = (dialect.title, version, "by Responses" if dialect.api == "responses" else "")
    name = model.replace("\\", "/").rpartition("/")[2] if model.endswith(".gguf") else model
    return ModelInfo(
        name=name.removesuffix(".gguf"),
        kind="remote",
        path=str(address),
        parameters=_number(meta.get("n_params")),
        vocabulary=_number(meta.get("n_vocab")),
        context=_number(entry.get("max_model_len")) or _number(settings.get("n_ctx")),
        bytes=_number(meta.get("size")),
        tool_calls="openai",
        server=excerpt(" ".join(filter(None, words)), _MAX_SERVER),
        reads_thinking=None if dialect.template_fields else False,
        reads_effort=None if dialect.effort else False,
    )


def _number(value: Any) -> int:
    return whole_number(value) or 0


_FIGURES = {"logprobs", "top_logprobs", "include"}
"""The fields that ask for log-probabilities."""


class RemoteModel:
    """Implements `Model`. One generation at a time, as for any model; several models may share an endpoint.

    It has no vocabulary, and counts tokens only if its server does. `dialect` decides which fields are sent.
    """

    def __init__(self, connection: EndpointConnection, found: FoundEndpoint) -> None:
        self._connection, self._found = connection, found
        self.info: ModelInfo = found.info
        self.dialect: Dialect = found.dialect
        self._logprobs = found.logprobs
        self._alone = OneAtATime()
        self._running: HttpExchange | None = None
        self._rendering: set[HttpExchange] = set()
        self._vocabulary = Vocabulary()

    def count_tokens(self, text: str) -> int:
        """The count by the server's tokenizer. Raises ModelError if the server offers none."""
        exchange = HttpExchange(self._connection)
        try:
            return count_tokens(exchange, self.dialect, text)
        except ConnectionInterrupted:
            raise ModelError("The model was closed meanwhile.", where=self.info.path) from None
        finally:
            exchange.close()

    def tokenize(self, text: str, plain: Spans = ()) -> list[int]:
        raise ModelError("An endpoint does not report a text's tokens.", where=self.info.path)

    def vocabulary(self) -> Vocabulary:
        """Empty: an endpoint does not send it."""
        return self._vocabulary

    def render_chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        chat: ChatOptions = DEFAULT_CHAT,
    ) -> RenderedPrompt:
        """The prompt as the server renders it, if it can; otherwise the sent messages, each under its role."""
        if (prompt := self.own_prompt(messages, tools, chat)) is not None:
            said = (
                prompt.note,
                fields.outgoing(messages)[1],
                fields.chat_note(chat, self.dialect, rendered=True),
                fields.tools_note(tools, self.dialect),
            )
            return msgspec.structs.replace(prompt, note=" ".join(filter(None, said)))
        sent, note = fields.outgoing(messages)
        text, added = fields.readable(sent, fields.sent_tools(tools, self.dialect))
        notes = (note, fields.chat_note(chat, self.dialect), fields.tools_note(tools, self.dialect))
        return RenderedPrompt(text, 0, " ".join(filter(None, notes)), added)

    def own_prompt(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        chat: ChatOptions = DEFAULT_CHAT,
    ) -> RenderedPrompt | None:
        """The prompt as the server renders it, without notes on what is sent; None if it cannot, or rejects the
        messages, as its answer will say.
        """
        exchange = HttpExchange(self._connection)
        self._rendering.add(exchange)
        asked = GenerateRequest(prompt="", messages=tuple(messages), tools=tuple(tools), chat=chat)
        try:
            return rendered(exchange, self.dialect, asked)
        except (ModelError, ConnectionInterrupted):
            return None
        finally:
            self._rendering.discard(exchange)
            exchange.close()

    def turn_form(self, chat: ChatOptions = DEFAULT_CHAT) -> None:
        """None: the endpoint parses the answer with its own template, and sends the parts."""

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        """Sends the request, with retries, and yields each piece as it arrives. Closing it closes the connection.

        Raises GrammarError if the endpoint does not support the constraint or ignores it; PromptError; ModelError.
        """
        with self._alone.exclusive():
            exchange = self._running = HttpExchange(self._connection)
            try:
                yield from self._asked(exchange, request)
            except ConnectionInterrupted:
                yield Cancelled()
            finally:
                self._running = None
                exchange.close()

    def cancel(self) -> None:
        for exchange in (self._running, *tuple(self._rendering)):
            if exchange is not None:
                exchange.cancel()

    def close(self) -> None:
        """Closes the connection; a later call opens it again."""
        self._connection.close()

    def _asked(self, exchange: HttpExchange, request: GenerateRequest) -> Iterator[Output]:
        request = fields.with_written(request, self.dialect)
        constraint = fields.constraint_of(request, self.dialect)
        notes = [constraint.note, fields.unsaid(request, self.dialect), fields.extra_note(request)]
        body = fields.body_of(request, constraint, self.dialect, self._found.model, logprobs=self._logprobs)
        decoder = ChatStreamDecoder(request, constraint, self.dialect, self._connection.address)
        start = time.monotonic()
        yield PromptProgress(0, 0, 0.0, " ".join(note for note in notes if note))
        chunks: Iterator[Chunk] | None = None
        retries, without_figures = Retries(self._connection.patience), False
        while chunks is None:
            try:
                chunks = self._begun(exchange, body)
            except RequestFailed as refused:
                if _FIGURES & body.keys() and (refused.silent or "logprob" in refused.error.message.lower()):
                    # figures are optional: the request is repeated without them, and they stay None
                    body = {name: value for name, value in body.items() if name not in _FIGURES}
                    without_figures = True
                    continue
                refused.error.hint = fields.extra_hint(request, refused.error.message) or refused.error.hint
                exchange.wait(retries.pause(refused))
        self._logprobs = self._logprobs and not without_figures  # not requested again: it answered without
        yield PromptReady(0, 0, (time.monotonic() - start) * 1000)
        if written := decoder.prefix():
            yield written
        for chunk in chunks:
            yield from decoder.feed(chunk)
        yield from decoder.end()

    def _begun(self, exchange: HttpExchange, body: dict[str, Any]) -> Iterator[Chunk]:
        """The answer's chunks, of which the first has arrived. Raises RequestFailed."""
        connection = self._connection
        address, patience = connection.address, connection.patience
        deadline = time.monotonic() + patience.first
        over, path = self.dialect.api == "responses", API_NAMES[self.dialect.api].path
        reply = exchange.open(address.base + path, json.dumps(body).encode(), patience.first)
        if reply.status != 200:
            raise refusal(reply.status, reply.headers, reply.body, address, had_key=bool(connection.key))
        read = ResponsesEvents(address).read if over else partial(chat_chunks, address=address)
        chunks = StreamedAnswer(exchange, reply.headers, deadline, read).chunks()
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
    connection = EndpointConnection(address, key_of(address), patience or Timeouts())
    exchange = HttpExchange(connection)
    cancellable = progress.ended_by(exchange.cancel) if isinstance(progress, Opening) else nullcontext()
    try:
        with cancellable:
            found = find(exchange)
    except BaseException as error:
        connection.close()
        if isinstance(error, ConnectionInterrupted):
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
