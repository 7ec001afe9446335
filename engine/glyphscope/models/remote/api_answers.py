"""The answers of other interfaces as chunks of a chat completion: OpenAI's Responses, Anthropic's Messages, Ollama's
chat.

An answer that is not streamed is read as the events that its stream would have had.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from glyphscope.base.errors import ModelError
from glyphscope.base.json_values import as_object
from glyphscope.base.shorten import excerpt
from glyphscope.models.interface import Usage
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.answer import DONE, EventReader
from glyphscope.models.remote.apis import RESPONSE_CALLS, ChatApi, full_name
from glyphscope.models.remote.chunks import UNSAID, CallPiece, Chunk, likely_tokens, read_chunk, whole_number
from glyphscope.models.remote.failures import message_of, not_understood

MAX_ANSWER = 32_000_000
"""Bytes of one event, or of an answer that is not streamed: the last event of Responses repeats all tools."""


class AnswerReader:
    """Reads the bytes of one answer: `feed` them as they come, then `end`. Both raise ModelError.

    `finish` is the reason that the server reported for the end of the answer, empty before.
    """

    def __init__(self, api: ChatApi, kind: str, address: Address) -> None:
        """`kind` is the content type of the answer."""
        self._address, self.finish = address, ""
        self._events = EventReader(MAX_ANSWER) if "event-stream" in kind else None
        self._lines = api == "ollama"
        self._rest = bytearray()
        self._read: Callable[[bytes], Iterator[Chunk]] = {
            "chat": self._chat, "responses": ResponsesEvents(address).read, "messages": _Messages(address).read,
            "ollama": _Ollama(address).read,
        }[api]  # fmt: skip

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """The chunks that these bytes complete."""
        if self._events is not None:
            yield from self._chunks(self._events.feed(data))
            return
        self._rest += data
        if len(self._rest) > MAX_ANSWER:
            raise not_understood("The answer is too large to be read.", self._address)
        if self._lines and b"\n" in data:
            *whole, rest = bytes(self._rest).split(b"\n")
            self._rest[:] = rest
            yield from self._chunks(whole)

    def end(self) -> Iterator[Chunk]:
        """The chunks of what is left. Raises ModelError if the answer was cut."""
        try:
            yield from self._chunks([bytes(self._rest)] if self._events is None else self._events.end())
        except ModelError as error:
            if not self.finish and "JSON" in error.message:
                raise self._cut("in the middle of an event") from None
            raise
        if not self.finish:
            raise self._cut("before the answer did, without a reason from the server")

    def _cut(self, where: str) -> ModelError:
        return ModelError(
            f"The stream ended {where}.", where=str(self._address), hint="See the server's log."
        )

    def _chunks(self, events: list[bytes]) -> Iterator[Chunk]:
        for event in events:
            if not event.strip() or event.strip() == DONE:
                continue
            for chunk in self._read(event):
                self.finish = self.finish or chunk.finish
                yield chunk

    def _chat(self, event: bytes) -> Iterator[Chunk]:
        yield read_chunk(event, self._address)


class _Events:
    """The base of readers of one interface's events."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def read(self, event: bytes) -> Iterator[Chunk]:
        try:
            document = json.loads(event)
        except (ValueError, RecursionError):
            raise not_understood("The server sent no JSON.", self._address, event) from None
        if not isinstance(document, dict):
            raise not_understood(
                "The server sent JSON that is not a part of an answer.", self._address, event
            )
        if document.get("error") or document.get("type") == "error":
            raise self._aborted(document)
        yield from self._chunks(document)

    def _aborted(self, document: dict[str, Any]) -> ModelError:
        words = excerpt(message_of(document))
        return ModelError(
            f"The server aborted its answer: {words}", where=str(self._address), hint="See the server's log."
        )

    def _chunks(self, document: dict[str, Any]) -> Iterator[Chunk]:
        raise NotImplementedError


class ResponsesEvents(_Events):
    """Reads the events of Responses; one instance for each answer."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._streamed: set[int] = set()
        """The items of which a piece has come, so that their end repeats it."""

    def _chunks(self, document: dict[str, Any]) -> Iterator[Chunk]:
        kind = str(document.get("type", ""))
        at = whole_number(document.get("output_index")) or 0
        delta = document.get("delta")
        if document.get("object") == "response":
            for number, item in enumerate(_objects(document.get("output"))):
                yield from self._item(number, item)
            yield from self._ended(document)
        elif kind.endswith(".delta") and isinstance(delta, str):
            self._streamed.add(at)
            if "reasoning" in kind:
                yield Chunk(reasoning=delta)
            elif "text" in kind or "refusal" in kind:
                yield Chunk(text=delta, tokens=likely_tokens(document.get("logprobs")))
            elif "arguments" in kind or "custom_tool_call" in kind:
                yield Chunk(calls=(CallPiece(at, "", delta, custom="custom" in kind),))
        elif kind == "response.output_item.added":
            item = as_object(document.get("item"))
            if item.get("type") in RESPONSE_CALLS:
                yield from self._item(at, item)
        elif kind == "response.output_item.done":
            item = as_object(document.get("item"))
            if at not in self._streamed:
                yield from self._item(at, item)
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            yield from self._ended(as_object(document.get("response")), unsaid="timings" in document)

    def _item(self, number: int, item: dict[str, Any]) -> Iterator[Chunk]:
        kind = str(item.get("type"))
        if kind in RESPONSE_CALLS:
            text = _text(item.get(RESPONSE_CALLS[kind]))
            if text:
                self._streamed.add(number)
            call = CallPiece(number, full_name(item), text, _text(item.get("call_id")), kind[0] == "c")
            yield Chunk(calls=(call,))
        elif kind == "message":
            for part in _objects(item.get("content")):
                yield Chunk(text=_text(part.get("text")) or _text(part.get("refusal")))
        elif kind == "reasoning":
            for part in _objects(item.get("content")) or _objects(item.get("summary")):
                yield Chunk(reasoning=_text(part.get("text")))

    def _ended(self, response: dict[str, Any], *, unsaid: bool = False) -> Iterator[Chunk]:
        """`unsaid`: the server is llama-server, which says `completed` at its token limit too (build 11549)."""
        if response.get("status") == "failed":
            raise self._aborted(response)
        usage = as_object(response.get("usage"))
        cached = as_object(usage.get("input_tokens_details")).get("cached_tokens")
        reason = _text(as_object(response.get("incomplete_details")).get("reason"))
        finish = (
            {"max_output_tokens": "length"}.get(reason, reason) or _text(response.get("status")) or "stop"
        )
        if unsaid and finish == "completed":
            finish = UNSAID
        yield Chunk(
            finish=finish, usage=_usage(usage.get("input_tokens"), cached, usage.get("output_tokens"))
        )


class _Messages(_Events):
    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._prompt: int | None = None
        self._cached: int | None = None
        self._calls: set[int] = set()

    def _chunks(self, document: dict[str, Any]) -> Iterator[Chunk]:
        kind, at = document.get("type"), whole_number(document.get("index")) or 0
        if kind == "message":
            for number, block in enumerate(_objects(document.get("content"))):
                yield from self._block(number, block)
            yield self._counted(document.get("usage"), _text(document.get("stop_reason")))
        elif kind == "message_start":
            yield self._counted(as_object(document.get("message")).get("usage"))
        elif kind == "content_block_start":
            yield from self._block(at, as_object(document.get("content_block")))
        elif kind == "content_block_delta":
            delta = as_object(document.get("delta"))
            pieces = _text(delta.get("partial_json"))
            calls = (CallPiece(at, "", pieces),) if pieces and at in self._calls else ()
            yield Chunk(_text(delta.get("text")), calls=calls, reasoning=_text(delta.get("thinking")))
        elif kind == "message_delta":
            reason = _text(as_object(document.get("delta")).get("stop_reason"))
            yield self._counted(document.get("usage"), reason)

    def _block(self, number: int, block: dict[str, Any]) -> Iterator[Chunk]:
        if block.get("type") == "tool_use":  # others, such as `server_tool_use`, run at the provider
            self._calls.add(number)
            given = block.get("input")
            arguments = json.dumps(given, ensure_ascii=False) if given else ""
            call = CallPiece(number, _text(block.get("name")), arguments, _text(block.get("id")))
            yield Chunk(calls=(call,))
        else:
            yield Chunk(_text(block.get("text")), reasoning=_text(block.get("thinking")))

    def _counted(self, given: Any, finish: str = "") -> Chunk:
        """A chunk with the counts: the cached tokens are not among `input_tokens`."""
        usage = as_object(given)
        counts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        prompt = [count for name in counts if (count := whole_number(usage.get(name))) is not None]
        if prompt:
            self._prompt = sum(prompt)
            self._cached = whole_number(usage.get(counts[1]))
        return Chunk(finish=finish, usage=_usage(self._prompt, self._cached, usage.get("output_tokens")))


class _Ollama(_Events):
    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._calls = 0

    def _chunks(self, document: dict[str, Any]) -> Iterator[Chunk]:
        message, calls = as_object(document.get("message")), []
        for each in _objects(message.get("tool_calls")):  # each of them is whole
            function = as_object(each.get("function"))
            arguments = function.get("arguments")
            text = (
                arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
            )
            calls.append(CallPiece(self._calls, _text(function.get("name")), text))
            self._calls += 1
        finish = (_text(document.get("done_reason")) or "stop") if document.get("done") is True else ""
        usage = (
            _usage(document.get("prompt_eval_count"), None, document.get("eval_count")) if finish else None
        )
        yield Chunk(
            _text(message.get("content")), calls=tuple(calls), finish=finish, usage=usage,
            reasoning=_text(message.get("thinking")),
        )  # fmt: skip


def _usage(prompt: Any, cached: Any, tokens: Any) -> Usage:
    return Usage(whole_number(prompt), whole_number(cached), whole_number(tokens))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
