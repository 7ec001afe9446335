"""A streamed answer: whole events in bounded time, and an end only if the endpoint reports a reason for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from glyphscope.base.errors import ModelError
from glyphscope.base.figures import byte_size, duration, pluralize
from glyphscope.models.remote.chunks import Chunk
from glyphscope.models.remote.connection import MAX_BODY, HttpExchange
from glyphscope.models.remote.failures import not_understood
from glyphscope.models.remote.retry import RequestFailed

MAX_EVENT = 4_000_000
"""Bytes of one event. A chunk of a chat completion has a few hundred; with alternatives, a few thousand. The last event
of Responses repeats the answer and all tools.
"""


class EventReader:
    """Returns the data of each whole event; comments and other fields are ignored.

    An event with the id and the data of the previous one was sent twice and counts once.
    """

    def __init__(self, most: int = MAX_EVENT) -> None:
        """`most` bytes may come without the end of an event."""
        self._most = most
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._id = b""
        self._last: tuple[bytes, bytes] | None = None
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that these bytes complete. Raises ModelError for a longer event."""
        if not chunk:
            return []
        second_half = self._after_cr and chunk.startswith(b"\n")  # of a line ending that was cut in two
        self._after_cr = chunk.endswith(b"\r")
        chunk = chunk[1:] if second_half else chunk
        *whole, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events: list[bytes] = []
        for line in whole:
            self._add(line)
            done = bytes(self._line)
            self._line.clear()
            if event := self._read(done):
                events.append(event)
        self._add(rest)
        return events

    def end(self) -> list[bytes]:
        """The last event, if no blank line follows it."""
        line = bytes(self._line)
        self._line.clear()
        return [event for event in (self._read(line) if line else b"", self._read(b"")) if event]

    def _add(self, part: bytes) -> None:
        self._line += part
        if self._size + len(self._line) > self._most:
            raise ModelError(
                f"The endpoint sent more than {byte_size(self._most)} without the end of an event.",
                hint="Is this the address of an OpenAI-compatible API?",
            )

    def _read(self, line: bytes) -> bytes:
        if not line:
            data, self._data, self._size = b"\n".join(self._data), [], 0
            this = (self._id, data)
            twice = bool(self._id) and this == self._last
            self._last = this if data else self._last
            return b"" if twice else data
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"id":
            self._id = value
        return b""


DONE = b"[DONE]"
AFTER_END = 2.0
"""Seconds in which an endpoint may still send its counts after it reported the end of the answer."""
CUT_HINT = "Run it again; the endpoint's log may have the reason. The tokens so far are kept."


class StreamedAnswer:
    """One reply of status 200, read as chunks.

    `characters` counts the received text. A failure before the first chunk of substance is `RequestFailed`, so that the
    request may be repeated; after it, a ModelError.
    """

    def __init__(
        self,
        exchange: HttpExchange,
        headers: Mapping[str, str],
        deadline: float,
        read: Callable[[bytes], Iterable[Chunk]],
    ) -> None:
        """`deadline`, on the monotonic clock, is for the first chunk of substance. `read` reads one event."""
        self._read = read
        self._exchange = exchange
        self._address, self._patience = exchange.connection.address, exchange.connection.patience
        self._kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._compressed = headers.get("content-encoding", "identity").lower() not in ("", "identity")
        self._deadline = deadline
        self._begun = self._ended = False
        self.characters = 0

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks to the end. Raises ModelError, RequestFailed and Interrupted."""
        if self._compressed:
            raise not_understood(
                "The endpoint compressed its answer, though it was asked not to.", self._address
            )
        if self._kind == "text/html":
            page = self._exchange.without_key(self._bytes())
            raise not_understood("The endpoint sent a web page.", self._address, page)
        if self._kind == "application/json":
            yield from self._whole()
        else:
            yield from self._streamed()

    def _streamed(self) -> Iterator[Chunk]:
        reader, beginning, events = EventReader(), b"", 0
        while data := self._bytes():
            beginning = beginning or self._exchange.without_key(data)[:512]
            for event in reader.feed(data):
                events += 1
                if event.strip() == DONE:
                    self._check_end()
                    return
                yield from self._chunks(event)
        for event in reader.end():
            events += 1
            if event.strip() == DONE:
                break
            yield from self._chunks(event, last=True)
        if not events and beginning.lstrip()[:1] in (b"", b":"):  # nothing, or only keep-alive comments
            failed = ModelError(
                "The endpoint ended its stream without an event.",
                where=str(self._address),
                hint="See the server's log: llama_cpp.server does so for a prompt beyond its context.",
            )
            raise RequestFailed(failed, again=False, silent=True)
        if not events:
            raise not_understood("The endpoint sent no event of a stream.", self._address, beginning)
        self._check_end()

    def _whole(self) -> Iterator[Chunk]:
        """The answer of an endpoint that does not stream, in one chunk."""
        body = bytearray()
        while data := self._bytes():
            body += data
            if len(body) > MAX_BODY:
                raise not_understood(
                    f"The endpoint sent more than {byte_size(MAX_BODY)} at once.", self._address
                )
        yield from self._chunks(bytes(body))
        self._check_end()

    def _chunks(self, event: bytes, *, last: bool = False) -> Iterator[Chunk]:
        try:
            found = list(self._read(self._exchange.without_key(event)))
        except ModelError:
            if last:  # a stream that was cut in the middle of an event
                raise self._cut("The stream ended in the middle of an event") from None
            raise
        for chunk in found:
            self._count(chunk)
            yield chunk

    def _count(self, chunk: Chunk) -> None:
        if chunk.substance:
            self._begun = True
            self.characters += len(chunk.text)
        if chunk.substance and not self._ended:  # later chunks do not extend the last deadline
            self._ended = bool(chunk.finish)
            self._deadline = time.monotonic() + (AFTER_END if self._ended else self._patience.between)

    def _check_end(self) -> None:
        if not self._ended:
            raise self._cut("The stream ended before the answer did, without a reason from the endpoint")

    def _bytes(self) -> bytes:
        """The next bytes; b"" at the end, also if the answer has ended and the endpoint sends nothing more."""
        left = self._deadline - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError
            return self._exchange.read(left)
        except TimeoutError:
            if self._ended:
                return b""
            raise self._late() from None
        except ModelError as error:
            if self._ended:
                return b""
            if not self._begun:
                raise RequestFailed(error, again=True) from error
            raise self._cut("The connection broke in the middle of the answer") from error

    def _late(self) -> ModelError:
        if not self._begun:
            said = f"The endpoint sent no part of its answer within {duration(self._patience.first)}."
        else:
            said = (
                f"The endpoint sent nothing for {duration(self._patience.between)}, "
                f"after {pluralize(self.characters, 'character')} of its answer."
            )
        return ModelError(said, where=str(self._address), hint="It may be overloaded; try again later.")

    def _cut(self, how: str) -> ModelError:
        return ModelError(
            f"{how}, after {pluralize(self.characters, 'character')}.",
            where=str(self._address),
            hint=CUT_HINT,
        )
