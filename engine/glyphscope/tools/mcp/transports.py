"""The streams that the SDK reads and writes: over HTTP, with bounded reading and a log; and the pipes of a process.

The pipes replace the SDK's transport, which reads lines of any length, reports each line that is not JSON with a stack
trace, and takes up to six seconds to end a process.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from glyphscope.base.figures import byte_size
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.guard import Guard
from glyphscope.tools.mcp.lines import MAX_LINE, BoundedLines
from glyphscope.tools.mcp.log import ProtocolLog, StderrRing
from glyphscope.tools.mcp.oauth import SigningIn
from glyphscope.tools.mcp.process import ServerProcess

_SECONDS = 30.0
"""Maximum seconds for connecting and for sending."""


class Refusals:
    """The HTTP status of the last answer if it was an error, of which the SDK reports only the existence; and whether
    the server opened a session.
    """

    def __init__(self) -> None:
        self.last = ""
        self.has_session = False


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
            refusals.has_session |= "mcp-session-id" in response.headers
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


CHUNK = 256 * 1024
_LAST_WORDS = 0.5
"""Seconds in which a process may exit and finish its error messages after its output has ended."""
_PATIENCE = (0.6, 0.5, 0.5)
"""Seconds for a process to end after its input is closed, after SIGTERM, and after SIGKILL: less than 2 in total."""


class Pipes:
    """The pipes of one process. `ended` is called when no more output can be received."""

    def __init__(
        self,
        process: ServerProcess,
        guard: Guard,
        log: ProtocolLog,
        stderr: StderrRing,
        ended: Callable[[], None],
    ) -> None:
        self._process = process
        self._guard = guard
        self._log = log
        self._stderr = stderr
        self._ended = ended
        self._stderr_over = anyio.Event()
        self._writing = anyio.CancelScope()
        streams = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._read_writer: MemoryObjectSendStream[SessionMessage | Exception] = streams[0]
        self._incoming: MemoryObjectReceiveStream[SessionMessage | Exception] = streams[1]
        sent = anyio.create_memory_object_stream[SessionMessage](0)
        self._outgoing: MemoryObjectSendStream[SessionMessage] = sent[0]
        self._write_reader: MemoryObjectReceiveStream[SessionMessage] = sent[1]

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        """The streams that the SDK reads and writes. On exit, the process has ended, and its pipes are closed."""
        try:
            async with anyio.create_task_group() as tasks:
                for work in (self._read_stdout, self._read_stderr, self._write_stdin, self._watch_exit):
                    tasks.start_soon(work)
                try:
                    yield self._incoming, self._outgoing
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(self._process, self._stderr)
            self._close()

    def hang_up(self) -> None:
        """Stop sending: later senders get an error instead of waiting for a server that no longer reads."""
        self._writing.cancel()

    async def _read_stdout(self) -> None:
        lines = BoundedLines()
        try:
            while data := await _read(self._process.stdout):
                self._log.received_bytes += len(data)
                for line in lines.feed(data):
                    for message in self._guard.take(line):
                        await self._read_writer.send(message)
                await anyio.lowlevel.checkpoint()  # a flood must not block other tasks
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session is over
            return
        with anyio.move_on_after(_LAST_WORDS):
            await _exit(self._process)
            await self._stderr_over.wait()
        self._over()

    async def _watch_exit(self) -> None:
        """Stop reading once the process has ended, even if a child of it keeps its output open."""
        await _exit(self._process)
        await anyio.sleep(2 * _LAST_WORDS)
        self._over()

    def _over(self) -> None:
        self._ended()
        self._read_writer.close()

    async def _read_stderr(self) -> None:
        while data := await _read(self._process.stderr):
            self._stderr.feed(data)
            await anyio.lowlevel.checkpoint()
        self._stderr_over.set()

    async def _write_stdin(self) -> None:
        with self._writing, self._write_reader:  # closed, so that senders get an error
            async for message in self._write_reader:
                text = self._guard.sent(message.message)
                try:
                    await _write(self._process.stdin, text.encode() + b"\n")
                except OSError:
                    self._log.add("dropped", text, note="the server closed its standard input")
                    return

    def _close(self) -> None:
        for stream in (self._read_writer, self._incoming, self._outgoing, self._write_reader):
            stream.close()
        self._process.close()


async def _read(pipe: int) -> bytes:
    """The available output; empty at its end."""
    while True:
        try:
            return os.read(pipe, CHUNK)
        except BlockingIOError:
            await anyio.wait_readable(pipe)
        except OSError:
            return b""


async def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(pipe, view) :]
        except BlockingIOError:
            await anyio.wait_writable(pipe)


async def _exit(process: ServerProcess) -> None:
    """Wait until the process has exited, without reaping it."""
    if not hasattr(os, "pidfd_open"):
        while not process.has_exited:
            await anyio.sleep(0.02)
        return
    if process.has_exited:
        return
    descriptor = os.pidfd_open(process.pid)
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


async def _end(process: ServerProcess, stderr: StderrRing) -> None:
    """End the process, more forcefully at each step, and discard its output, so that it cannot block on writing."""
    process.close_stdin()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_drain, process.stdout, None)
        tasks.start_soon(_drain, process.stderr, stderr)
        for seconds, firmer in zip(_PATIENCE, (signal.SIGTERM, signal.SIGKILL, None)):
            with anyio.move_on_after(seconds):
                await _exit(process)
            if process.has_exited or firmer is None:
                break
            process.signal(firmer)
        tasks.cancel_scope.cancel()
    if process.has_exited:
        process.reap()


async def _drain(pipe: int, into: StderrRing | None) -> None:
    while data := await _read(pipe):
        if into is not None:
            into.feed(data)
        await anyio.lowlevel.checkpoint()
