"""Requests that any thread can cancel at once: httpx2 behind an anyio portal, whose event loop has a separate thread.

A thread that waits for a socket cannot be interrupted; a task of an event loop can. The caller requests each piece, so
the endpoint cannot send more than is read: memory is bounded by the socket's buffer.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple, TypeAlias, TypedDict, TypeVar

import anyio
import certifi
import httpx2
from anyio.from_thread import BlockingPortal

from glyphscope.base.errors import ModelError
from glyphscope.base.figures import duration
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.failures import not_understood, unreachable
from glyphscope.models.remote.keys import without
from glyphscope.models.remote.retry import RequestFailed, Timeouts

MAX_BODY = 8_000_000
"""Bytes of an answer that is not streamed."""
MAX_REFUSAL = 64 << 10
"""Bytes of an error's body that are read."""

T = TypeVar("T")
Ask: TypeAlias = Callable[[httpx2.AsyncClient], Coroutine[Any, Any, T]]


class ConnectionInterrupted(Exception):
    """The exchange was cancelled."""


class HttpReply(NamedTuple):
    """An answer that was read completely or up to its limit; the key is removed from `body`."""

    status: int
    headers: httpx2.Headers
    body: bytes


class EndpointConnection:
    """A connection to one endpoint with one key. From any thread; `close` ends its thread and all running requests."""

    def __init__(self, address: Address, key: str, patience: Timeouts) -> None:
        self.address, self.key, self.patience = address, key, patience
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None
        self._client: httpx2.AsyncClient | None = None
        self._lock = threading.Lock()

    def begin(
        self, ask: Ask[T], earlier: BlockingPortal | None
    ) -> tuple[BlockingPortal, concurrent.futures.Future[T]]:
        """Starts `ask` in the portal; portal and client are created again after `close`.

        `close` comes either before the task is started, or after it and cancels it: no caller waits for a closed loop.
        Raises Interrupted if it came after an `earlier` request of the same exchange, which began in that portal.
        """
        with self._lock:
            if earlier is not None and earlier is not self._portal:
                raise ConnectionInterrupted
            if self._portal is None or self._client is None:
                self._client = self._made()
                opened: concurrent.futures.Future[BlockingPortal] = concurrent.futures.Future()
                self._thread = threading.Thread(
                    target=anyio.run,
                    args=(_serve, self._client, opened),
                    name="glyphscope-remote",
                    daemon=True,
                )
                self._thread.start()
                self._portal = opened.result()
            return self._portal, self._portal.start_task_soon(ask, self._client)

    def end(self, portal: BlockingPortal | None, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs `work` in that portal for at most half a second, unless the portal and its tasks were ended."""
        with self._lock:
            if portal is None or portal is not self._portal:
                return
            ended = portal.start_task_soon(work)
        with contextlib.suppress(TimeoutError, concurrent.futures.CancelledError):
            ended.result(0.5)

    def close(self) -> None:
        with self._lock:
            portal, thread = self._portal, self._thread
            self._portal = self._client = self._thread = None
            if portal is None or thread is None:
                return
            portal.start_task_soon(portal.stop, True)
        thread.join(2.0)

    def _made(self) -> httpx2.AsyncClient:
        headers = {"accept-encoding": "identity", "user-agent": "glyphscope"}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        return httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(self.patience.connect, read=None, write=30.0),
            follow_redirects=False,
            **trust(self.address),
        )


class HttpExchange:
    """The requests of one thread: one, or a few that belong together.

    `cancel`, from any other thread, ends the wait with `ConnectionInterrupted`.
    """

    def __init__(self, connection: EndpointConnection) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._future: concurrent.futures.Future[Any] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._response: httpx2.Response | None = None
        self._bytes: AsyncIterator[bytes] | None = None
        self._cancelled = False

    def get(self, url: str, *, body: bytes | None = None, seconds: float = 15.0) -> HttpReply:
        """A complete answer to a GET, or to a POST if there is a `body` (JSON). Raises RequestFailed."""

        async def asked(client: httpx2.AsyncClient) -> HttpReply:
            headers = None if body is None else {"content-type": "application/json"}
            method = "GET" if body is None else "POST"
            request = client.build_request(method, url, content=body, headers=headers)
            return await self._whole(await client.send(request, stream=True), MAX_BODY)

        return self._limited(asked, seconds, "The endpoint did not answer in time.")

    def open(self, url: str, body: bytes, seconds: float) -> HttpReply:
        """Sends the request. A reply of status 200 has no body yet: `read` returns it. Raises RequestFailed."""

        async def asked(client: httpx2.AsyncClient) -> HttpReply:
            headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
            request = client.build_request("POST", url, content=body, headers=headers)
            response = self._response = await client.send(request, stream=True)
            if response.status_code == 200:
                self._bytes = response.aiter_raw().__aiter__()
                return HttpReply(200, response.headers, b"")
            return await self._whole(response, MAX_REFUSAL)

        return self._limited(
            asked, seconds, f"The endpoint did not begin to answer within {duration(seconds)}."
        )

    def read(self, seconds: float) -> bytes:
        """The next bytes, b"" at the end; they may contain the key, whole or cut in two (`without_key`).

        Raises TimeoutError, and ModelError if the connection breaks.
        """

        async def asked(client: httpx2.AsyncClient) -> bytes:
            assert self._bytes is not None, "nothing was opened"
            async with asyncio.timeout(seconds):
                async for data in self._bytes:
                    if data:
                        return data
            return b""

        try:
            return self._run(asked)
        except httpx2.HTTPError as error:
            raise self._unreachable(error).error from error

    def without_key(self, said: bytes) -> bytes:
        """The endpoint's text without the key, for reading, showing and recording."""
        return without(self.connection.key, said)

    def wait(self, seconds: float) -> None:
        """A pause, which `cancel` also ends."""
        self._run(lambda client: asyncio.sleep(seconds))

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._future is not None:
                self._future.cancel()

    def close(self) -> None:
        """Ends a running request, and closes the connection if the answer was not read to the end."""
        response, task = self._response, self._task
        self._response = self._bytes = None
        if response is not None or (task is not None and not task.done()):
            self.connection.end(self._portal, lambda: _shut(response, task))

    async def _whole(self, response: httpx2.Response, most: int) -> HttpReply:
        body = bytearray()
        try:
            async for data in response.aiter_raw():
                body += data[: most - len(body)]
                if len(body) >= most:
                    break
        finally:
            await response.aclose()
        return HttpReply(response.status_code, response.headers, self.without_key(bytes(body)))

    def _unreachable(self, error: httpx2.HTTPError) -> RequestFailed:
        return unreachable(error, self.connection.address, self.connection.key)

    def _limited(self, ask: Ask[T], seconds: float, late: str) -> T:
        async def asked(client: httpx2.AsyncClient) -> T:
            async with asyncio.timeout(seconds):
                return await ask(client)

        address = self.connection.address
        try:
            return self._run(asked)
        except TimeoutError as error:
            hint = "It may be overloaded, or the prompt is long."
            raise RequestFailed(ModelError(late, where=str(address), hint=hint), again=False) from error
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise RequestFailed(not_understood("Invalid address.", address), again=False) from error

    def _run(self, ask: Ask[T]) -> T:
        async def asked(client: httpx2.AsyncClient) -> T:
            self._task = asyncio.current_task()
            return await ask(client)

        with self._lock:
            if self._cancelled:
                raise ConnectionInterrupted
            self._portal, future = self.connection.begin(asked, self._portal)
            self._future = future
        try:
            result: T = future.result()
        except concurrent.futures.CancelledError:
            raise ConnectionInterrupted from None
        except BaseException:
            future.cancel()  # Ctrl-C while waiting
            raise
        finally:
            self._future = None
        return result


class Trust(TypedDict):
    """The arguments of a client that decide whom it trusts."""

    verify: ssl.SSLContext | bool
    trust_env: bool


def trust(address: Address) -> Trust:
    """Certificates are not needed without TLS, and no proxy can reach this machine."""
    encrypted = address.base.startswith("https:")
    return Trust(verify=_authorities() if encrypted else False, trust_env=not address.loopback)


def _authorities() -> ssl.SSLContext:
    """Trusts the authorities in SSL_CERT_FILE or SSL_CERT_DIR; without these variables, the system's, and those of
    certifi, as a system may have none.
    """
    context = httpx2.create_ssl_context()
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        context.load_verify_locations(certifi.where())
    return context


async def _serve(client: httpx2.AsyncClient, opened: concurrent.futures.Future[BlockingPortal]) -> None:
    """The portal until it is stopped; then its tasks end, then the client is closed."""
    async with client, BlockingPortal() as portal:
        opened.set_result(portal)
        await portal.sleep_until_stopped()
    # the thread that resolves host names is not waited for: it takes as long as the network does
    asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(1))


async def _shut(response: httpx2.Response | None, task: asyncio.Task[Any] | None) -> None:
    if task is not None and not task.done():
        if not task.cancelling():  # a second cancel would interrupt the closing of the socket
            task.cancel()
        await asyncio.wait([task], timeout=0.3)
    if response is not None:
        with contextlib.suppress(httpx2.HTTPError):
            await response.aclose()
