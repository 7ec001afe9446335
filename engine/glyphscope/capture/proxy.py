"""The proxy as an ASGI application: every byte of the server reaches the agent, and nothing else does.

It answers by itself only what it rejects: another Host header, as a page on the web could have made its name one of
this machine, requests of browsers, and bodies beyond `MAX_REQUEST`. The server is the one that the user named,
whatever a request says. Keys are in forwarded headers and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx2
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from glyphscope.base.errors import StorageError
from glyphscope.base.figures import byte_size, duration
from glyphscope.capture.exchange import MAX_REQUEST, Asked, EndedBy, ExchangeWriter
from glyphscope.capture.requests import api_of
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.connection import trust
from glyphscope.models.remote.failures import unreachable
from glyphscope.store.files import now

STALL_SECONDS = 600.0
"""The longest time between two pieces of an answer; a long prompt is read before the first."""
_MAX_DROPPED = 1_000_000_000
"""Bytes of a body that are read in all before its connection is closed."""
MAX_AT_ONCE = 64
"""Requests at once, as each keeps its body in memory."""
_CONNECT_SECONDS = 10.0
_LEAST_KEY = 16
"""Characters of a key that is hidden: shorter ones stand for none, and may be words of any text."""
_KEY_HEADERS = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"cookie")
_OF_CONNECTION = frozenset(
    (
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te", b"trailer",
        b"transfer-encoding", b"upgrade", b"proxy-connection",
    )
)  # fmt: skip
"""Headers that belong to one connection (RFC 9110, 7.6.1)."""
_OF_REQUEST = _OF_CONNECTION | {b"host", b"content-length", b"expect", b"accept-encoding"}

Headers = Iterable[tuple[bytes, bytes]]


class _AnswerCut(Exception):
    """Closes the agent's connection, as an end that looks whole would be a lie."""


class _Left(Exception):
    """The agent closed its connection."""


class CaptureProxy:
    """Forwards requests to `to`, and writes those of the captured interfaces to files in `folder`.

    `written` gets the path of each finished file, `note` a sentence about what is not recorded; both in the
    loop's thread.
    """

    def __init__(
        self,
        to: Address,
        folder: Path,
        written: Callable[[Path], None],
        note: Callable[[str], None],
        stall: float = STALL_SECONDS,
    ) -> None:
        self._to, self._folder, self._written, self._note, self._stall = to, folder, written, note, stall
        self._url = httpx2.URL(to.root)
        self._hosts: frozenset[str] = frozenset()
        self._numbers = count(_last_number(folder) + 1)
        self._busy = 0
        self._unrecorded: set[str] = set()
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(stall, connect=_CONNECT_SECONDS, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            cookies=CookieJar(
                DefaultCookiePolicy(allowed_domains=())
            ),  # those of one agent are not another's
            follow_redirects=False,
            **trust(to),
        )

    def listens_at(self, port: int) -> None:
        """Set the port that the Host header names."""
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._client.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = str(scope.get("path", ""))
        if rejected := self._rejected(request, scope):
            status, words = rejected
            await _error(path, status, words)(scope, receive, send)
            return
        self._busy += 1
        try:
            body = await _body(request)
            if body is None:
                words = f"The request's body has more than {byte_size(MAX_REQUEST)}. It was not sent to the server."
                await _error(path, 413, words)(scope, receive, send)
                return
            await self._forwarded(scope, receive, send, path, body)
        except ClientDisconnect:
            return  # before the whole request was here
        finally:
            self._busy -= 1

    def _rejected(self, request: Request, scope: Scope) -> tuple[int, str] | None:
        """The status and the reason for a request that is not forwarded."""
        headers = request.headers
        if headers.get("host", "").lower() not in self._hosts:
            return (
                403,
                "The Host header is not the address of this capture. Use http://127.0.0.1 with its port.",
            )
        if "origin" in headers or "sec-fetch-site" in headers:
            return (
                403,
                "Requests of web pages are rejected: a page could use your server without your knowledge.",
            )
        if not scope.get("raw_path", b"/").startswith(b"/"):
            return (
                400,
                "The request names a server. The capture forwards only to the one that its user named.",
            )
        if self._busy >= MAX_AT_ONCE:
            return 503, f"The capture forwards {MAX_AT_ONCE} requests already. Try again later."
        return None

    async def _forwarded(self, scope: Scope, receive: Receive, send: Send, path: str, body: bytes) -> None:
        exchange = _Recording(self._recorded(scope, path, body), self._note)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_watch, receive, exchange, group.cancel_scope)
                await self._exchanged(scope, receive, send, path, body, exchange)
                group.cancel_scope.cancel()
        except* _AnswerCut as cut:
            raise cut.exceptions[0] from None
        except* OSError:
            exchange.by = "agent"  # its connection broke while the answer was sent
        finally:
            if written := exchange.close():
                self._written(written)

    async def _exchanged(
        self, scope: Scope, receive: Receive, send: Send, path: str, body: bytes, exchange: _Recording
    ) -> None:
        begun = False
        try:
            answer = await self._client.send(self._asked(scope, body), stream=True)
            try:
                kind, encoding = (
                    answer.headers.get(name, "") for name in ("content-type", "content-encoding")
                )
                exchange.answered(answer.status_code, kind, encoding)
                headers = list(_forwardable(answer.headers.raw, _OF_CONNECTION))
                start = {"type": "http.response.start", "status": answer.status_code, "headers": headers}
                await send(start)
                begun = True
                async for data in answer.aiter_raw():
                    if data:
                        exchange.piece(data)
                        await send({"type": "http.response.body", "body": data, "more_body": True})
                exchange.by = "server"
            finally:
                with anyio.CancelScope(shield=True), suppress(httpx2.HTTPError):
                    await answer.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            status, words = self._failed(error, exchange)
            if begun:
                raise _AnswerCut(words) from error
            await _error(path, status, words)(scope, receive, send)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _failed(self, error: Exception, exchange: _Recording) -> tuple[int, str]:
        """The status and the words for an agent whose request got no whole answer."""
        if isinstance(error, httpx2.ReadTimeout):
            exchange.by = "stall"
            status, words = 504, f"The server sent nothing for {duration(self._stall)}."
        elif isinstance(error, httpx2.HTTPError):
            exchange.by, status = "broken", 502
            failed = unreachable(error, self._to, "").error
            words = f"{failed.message} {failed.hint}"
        else:
            exchange.by, status, words = "broken", 400, "The request's path is not valid."
        exchange.message = words
        return status, words

    def _asked(self, scope: Scope, body: bytes) -> httpx2.Request:
        """The request to the server: the agent's headers and body, unchanged but for those of the connection."""
        query = b"?" + scope["query_string"] if scope.get("query_string") else b""
        path = self._url.raw_path.rstrip(b"/") + scope["raw_path"] + query
        headers = [*_forwardable(scope["headers"], _OF_REQUEST), (b"accept-encoding", b"identity")]
        asked = self._client.build_request(
            scope["method"], self._url.copy_with(raw_path=path), headers=headers, content=body or None
        )
        for name in ("user-agent", "accept"):
            if not any(given.lower() == name.encode() for given, _ in headers):
                del asked.headers[name]  # the client's own
        return asked

    def _recorded(self, scope: Scope, path: str, body: bytes) -> ExchangeWriter | None:
        """The writer of the exchange; None if it is not recorded, which is said once for each path."""
        api = api_of(path) if scope["method"] == "POST" else None
        if api is None:
            said = f"{scope['method']} {path}"
            if said not in self._unrecorded and len(self._unrecorded) < MAX_AT_ONCE:
                self._unrecorded.add(said)
                self._note(f"Forwarded and not recorded: {said}.")
            return None
        asked = Asked(next(self._numbers), api, path, now(), str(self._to), body)
        try:
            return ExchangeWriter(self._folder, asked, tuple(_keys(scope["headers"])))
        except StorageError as error:
            self._note(f"A request is forwarded and not recorded: {error.words}")
            return None


class _Recording:
    """The file of an exchange, as long as it can be written: a full disk does not end the exchange itself."""

    def __init__(self, writer: ExchangeWriter | None, note: Callable[[str], None]) -> None:
        self._writer, self._note, self._start = writer, note, time.monotonic()
        self.by: EndedBy = "stop"
        """Who ended it: the user, unless something else happened."""
        self.message = ""

    def answered(self, status: int, kind: str, encoding: str) -> None:
        self._try(lambda writer, t: writer.answered(t, status, kind, encoding))

    def piece(self, data: bytes) -> None:
        self._try(lambda writer, t: writer.piece(t, data))

    def close(self) -> Path | None:
        """Write the end. Returns the file's path, None without a file."""
        path = self._writer.path if self._writer is not None else None
        self._try(lambda writer, t: writer.end(t, self.by, self.message))
        return path

    def _try(self, write: Callable[[ExchangeWriter, float], None]) -> None:
        if self._writer is None:
            return
        try:
            write(self._writer, time.monotonic() - self._start)
        except StorageError as error:
            self._writer = None
            self._note(f"The rest of a request is forwarded and not recorded: {error.words}")


async def _watch(receive: Receive, exchange: _Recording, scope: anyio.CancelScope) -> None:
    """End the exchange when the agent leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    if exchange.by == "stop":
        exchange.by = "agent"
    scope.cancel()


async def _body(request: Request) -> bytes | None:
    """The whole body; None if it is too large, of which the rest is read and dropped: an agent that still sends would
    see a broken connection in place of the error.
    """
    body, size = bytearray(), 0
    async for data in request.stream():
        size += len(data)
        if size <= MAX_REQUEST:
            body += data
        else:
            body.clear()
            if size > _MAX_DROPPED:
                break
    return bytes(body) if size <= MAX_REQUEST else None


def _error(path: str, status: int, words: str) -> JSONResponse:
    """An error in the form of all interfaces: Ollama's is a text, the others' an object."""
    said: Any = (
        words if "/api/" in path else {"type": "glyphscope_capture", "message": f"Glyphscope: {words}"}
    )
    content: MutableMapping[str, Any] = {"type": "error", "error": said}
    return JSONResponse(content, status, headers={"connection": "close"})


def _forwardable(headers: Headers, dropped: frozenset[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The headers without those `dropped`, and without those that `Connection` names."""
    given = list(headers)
    named = b",".join(value for name, value in given if name.lower() == b"connection").lower().split(b",")
    out = dropped | {name.strip() for name in named}
    return ((name, value) for name, value in given if name.lower() not in out)


def _keys(headers: Headers) -> Iterator[str]:
    """The secrets among the headers, as a server may repeat them."""
    for name, value in headers:
        if name.lower() in _KEY_HEADERS:
            key = value.decode("latin-1").rpartition(" ")[2]
            if len(key) >= _LEAST_KEY:
                yield key


def _last_number(folder: Path) -> int:
    """The highest number of a file in the folder."""
    return max(
        (int(name) for file in folder.glob("*.*") if (name := file.name.partition(".")[0]).isdigit()),
        default=0,
    )
