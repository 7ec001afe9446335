"""A captured exchange as a run: the answer's pieces are the model, and their times are the clock."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from glyphscope.base.errors import ModelError, PromptError
from glyphscope.capture.exchange import Exchange
from glyphscope.capture.requests import CapturedRequest
from glyphscope.events import DEFAULT_CHAT, AnyEvent, ChatOptions, Message, ModelInfo, RunStarted, Spans
from glyphscope.models.interface import (
    Cancelled,
    GenerateRequest,
    Model,
    Output,
    PromptProgress,
    PromptReady,
    RenderedPrompt,
    Vocabulary,
)
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.api_answers import AnswerReader
from glyphscope.models.remote.apis import API_NAMES
from glyphscope.models.remote.dialect import COMPATIBLE
from glyphscope.models.remote.failures import refusal
from glyphscope.models.remote.fields import FORBIDDEN_CALLS, EndpointConstraint, outgoing, readable
from glyphscope.models.remote.model import RemoteModel
from glyphscope.models.remote.response_decoder import ChatStreamDecoder
from glyphscope.models.scripted import TextModel
from glyphscope.runs.strategies import run

_SAMPLING = "Sampling that the request does not state is the server's own."
_COUNTED = (
    "The prompt is written by the template of {name}, whose tokens are counted; the server may use another."
)


_NOT_COUNTED = (
    "The server did not report the prompt that it makes of these messages, so no tokens are counted."
)
_SHOWN = "The tokens are those of the text shown here; the server's template may write it otherwise."


class CapturedModel(TextModel):
    """Implements `Model` with one captured answer. `now` is the time of the piece that was read last, in seconds.

    `like` is a model with the server's chat template and tokenizer, or the server itself, if it reports its prompts: it
    writes and counts the prompt.
    """

    def __init__(self, exchange: Exchange, captured: CapturedRequest, like: Model | None) -> None:
        super().__init__()
        self._exchange, self._like, self.now = exchange, like, 0.0
        self._own = None if isinstance(like, RemoteModel) else like
        self._note = " ".join(filter(None, (captured.note, _SAMPLING)))
        self._address = Address(exchange.asked.to, captured.model)
        self.info = ModelInfo(
            name=captured.model or "unnamed", kind="remote", path=str(self._address), tool_calls="openai",
            server=f"captured, {API_NAMES[exchange.asked.api].title}",
        )  # fmt: skip

    def count_tokens(self, text: str) -> int:
        return super().count_tokens(text) if self._own is None else self._own.count_tokens(text)

    def tokenize(self, text: str, plain: Spans = ()) -> list[int]:
        return super().tokenize(text) if self._own is None else self._own.tokenize(text, plain)

    def vocabulary(self) -> Vocabulary:
        return super().vocabulary() if self._own is None else self._own.vocabulary()

    def render_chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        chat: ChatOptions = DEFAULT_CHAT,
    ) -> RenderedPrompt:
        """The messages in the template of the server or of a model that is like it, otherwise under their roles."""
        made, counted = None, ""
        if self._own is not None:
            with suppress(PromptError):  # a template that takes no tools, or none of these messages
                made = self._own.render_chat(messages, tools, chat)
                counted = _COUNTED.format(name=self._own.info.name)
        elif isinstance(self._like, RemoteModel):
            made = self._like.own_prompt(messages, tools, chat)
            counted = "" if made is not None else _NOT_COUNTED
        if made is not None:
            return replace(made, note=" ".join(filter(None, (self._note, counted, made.note))))
        text, added = readable(outgoing(messages)[0], tools)
        tokens, counted = (0, counted) if self._own is None else (self._own.count_tokens(text), _SHOWN)
        return RenderedPrompt(text, tokens, f"{self._note} {counted}".strip(), added)

    def turn_form(self, chat: ChatOptions = DEFAULT_CHAT) -> None:
        """None: the server sends the parts of the answer."""

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        """The pieces of the answer. Raises ModelError for one that failed or was cut, and what `refusal` makes."""
        exchange, ended = self._exchange, self._exchange.ended
        yield PromptProgress(0, 0, 0.0)
        if exchange.answered is None:
            yield from self._unfinished()
            return
        status, kind = exchange.answered.status, exchange.answered.kind
        if exchange.answered.encoding not in ("", "identity"):
            raise ModelError(
                f"The server compressed its answer ({exchange.answered.encoding}): it was forwarded unread."
            )
        if status >= 400:
            body = b"".join(piece.data for piece in exchange.pieces)
            raise refusal(status, {}, body, self._address, had_key=True).error
        # without a required call, the validator has the words
        forbidden = FORBIDDEN_CALLS if request.tool_choice in ("auto", "none") else EndpointConstraint()
        decoder = ChatStreamDecoder(request, forbidden, COMPATIBLE, self._address)
        reader, begun = AnswerReader(exchange.asked.api, kind, self._address), False
        for piece in exchange.pieces:
            for chunk in reader.feed(piece.data):
                self.now = piece.t
                if chunk.substance and not begun:
                    yield PromptReady(0, 0, piece.t * 1000)
                    begun = True
                yield from decoder.feed(chunk)
        self.now = ended.t
        if ended.cut:
            raise ModelError(
                "The answer was too large to record: it was forwarded whole, and its end is missing here."
            )
        if ended.by not in ("server", "agent") or (ended.by == "agent" and not reader.finish):
            yield from self._unfinished()
            return
        for chunk in reader.end():
            yield from decoder.feed(chunk)
        yield from decoder.end()

    def _unfinished(self) -> Iterator[Output]:
        """The end of an unfinished answer: the user or the agent cancelled it, or the server failed."""
        ended = self._exchange.ended
        self.now = ended.t
        if ended.by in ("agent", "stop"):
            yield Cancelled()
            return
        raise ModelError(
            ended.message or "The capture was killed during this answer.", where=str(self._address),
            hint="See the server's log." if ended.by in ("server", "stall", "broken") else "",
        )  # fmt: skip


def captured_events(
    exchange: Exchange, captured: CapturedRequest, like: Model | None = None
) -> Iterator[AnyEvent]:
    """The run of an exchange, with its times. `like` is as in `CapturedModel`."""
    model = CapturedModel(exchange, captured, like)
    request = replace(captured.request, model=model.info.path)
    for event in run(request, model, clock=lambda: model.now):
        yield replace(event, time=exchange.asked.time) if isinstance(event, RunStarted) else event
