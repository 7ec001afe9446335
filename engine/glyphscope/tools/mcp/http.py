"""A server at an address: the SDK's HTTP transport, with bounded reading and a log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from glyphscope.text.figures import byte_size
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.guard import Guard
from glyphscope.tools.mcp.lines import MAX_LINE
from glyphscope.tools.mcp.log import ProtocolLog
from glyphscope.tools.mcp.oauth import SigningIn

_SECONDS = 30.0
"""Maximum seconds for connecting and for sending."""


class Refusals:
    """The HTTP status of the last answer if it was an error, of which the SDK reports only the existence."""

    def __init__(self) -> None:
        self.last = ""


@asynccontextmanager
async def http_streams(
    config: ServerConfig, guard: Guard, log: ProtocolLog, refusals: Refusals, signing: SigningIn
) -> AsyncIterator[TransportStreams]:
    """Callers limit the wait for an answer; only connecting and sending have time limits here.

    A body has at most MAX_LINE bytes; in a stream of events, the limit applies to each event.
    """

    async def bound_body(response: httpx2.Response) -> None:
        """Note an error status of the server's address, and limit the body."""
        if response.request.method == "POST" and str(response.request.url) == str(httpx2.URL(config.url)):
            status = f"HTTP {response.status_code} {response.reason_phrase}".strip()
            refusals.last = status if response.status_code >= 400 else ""
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        encoded = response.headers.get("content-encoding", "identity").lower() != "identity"
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedBody(response.stream, log, None if events else MAX_LINE, encoded)

    async with (
        signing.auth() as auth,
        httpx2.AsyncClient(
            # an encoded answer could be a thousand times its size on the wire
            headers={"accept-encoding": "identity", **config.headers},
            timeout=httpx2.Timeout(_SECONDS, read=None),
            event_hooks={"response": [bound_body]},
            auth=auth,
        ) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_LINE) as (read, write),
    ):
        yield _GuardedReceiveStream(read, guard), _GuardedSendStream(write, guard)


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer, of which at most `limit` bytes are read. Encoded bodies are errors."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, log: ProtocolLog, limit: int | None, encoded: bool
    ) -> None:
        self._inner = inner
        self._log = log
        self._limit = limit
        self._encoded = encoded

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoded:
            raise httpx2.StreamError("the server compresses its answers, though it was asked not to")
        size = 0
        async for part in self._inner:
            size += len(part)
            self._log.received_bytes += len(part)
            if self._limit is not None and size > self._limit:
                raise httpx2.StreamError(f"the answer has more than {byte_size(self._limit)}")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


class _GuardedReceiveStream(ObjectReceiveStream[SessionMessage | Exception]):
    """The stream that the SDK reads: messages admitted by the guard."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            item: SessionMessage | Exception = await self._inner.receive()
            if isinstance(item, Exception) or self._guard.admits(item.message):
                return item

    async def aclose(self) -> None:
        await self._inner.aclose()


class _GuardedSendStream(ObjectSendStream[SessionMessage]):
    """The stream that the SDK writes: each message first passes the guard."""

    def __init__(self, inner: WriteStream[SessionMessage], guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    async def send(self, item: SessionMessage) -> None:
        self._guard.sent(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()
