"""The proxy as an ASGI application: every byte of the server reaches the agent, and nothing else does.

It answers by itself only what it rejects: another Host header, as a page on the web could have made its name one of
this machine, requests of browsers, and bodies beyond `MAX_REQUEST`; and what a person dropped or edited at a
breakpoint. The server is the one that the user named, whatever a request says. Keys are in forwarded headers and
nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import httpx2
import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from glyphscope.base.errors import StorageError
from glyphscope.base.figures import byte_size, duration
from glyphscope.base.json_values import json_object
from glyphscope.capture.breakpoints import Breakpoints, Paused
from glyphscope.capture.exchange import (
    MAX_RECORDED,
    MAX_REQUEST,
    STALL_SECONDS,
    Answered,
    Asked,
    Ended,
    EndedBy,
    Exchange,
    ExchangeWriter,
    PauseEnd,
    Piece,
    Side,
    Waited,
)
from glyphscope.capture.recording import CapturedCall
from glyphscope.capture.requests import api_of
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.connection import trust
from glyphscope.models.remote.failures import unreachable
from glyphscope.store.files import now

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
_OF_BODY = (b"content-length", b"content-md5", b"content-digest", b"digest", b"etag")
"""Headers that describe the body, and are wrong for an edited one."""
_NOT_SENT: dict[EndedBy | PauseEnd, tuple[int, str]] = {
    "dropped": (403, "The {what} was dropped at a breakpoint."),
    "late": (504, "The {what} waited at a breakpoint for {time}, and was not sent on."),
    "stop": (503, "The capture ended while the {what} waited at a breakpoint."),
}
_ONCE = {"x-should-retry": "false"}
"""The header by which OpenAI's and Anthropic's clients do not repeat a request, which would wait again."""
_OF_REQUEST = _OF_CONNECTION | {b"host", b"content-length", b"expect", b"accept-encoding"}

Headers = Iterable[tuple[bytes, bytes]]


class _AnswerCut(Exception):
    """Closes the agent's connection, as an end that looks whole would be a lie."""


class _NotSent(Exception):
    """The request, or its answer, is not sent on: the agent gets this status with these words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


Judge: TypeAlias = Callable[[Exchange], Sequence[CapturedCall]]
"""The calls of an answer with their verdicts; called in a thread. Raises an Exception with the reason if it cannot."""


class CaptureProxy:
    """Forwards requests to `to`, and writes those of the captured interfaces to files in `folder`.

    `written` gets the path of each finished file, `note` a sentence about what is not recorded; both in the
    loop's thread. Requests and answers wait at the `breakpoints`, by the verdicts of `judge`.
    """

    def __init__(
        self,
        to: Address,
        folder: Path,
        written: Callable[[Path], None],
        note: Callable[[str], None],
        breakpoints: Breakpoints,
        judge: Judge,
        stall: float = STALL_SECONDS,
    ) -> None:
        self._breakpoints, self._judge = breakpoints, judge
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
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))

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
        if headers.get("upgrade", "").lower() == "websocket":
            return 501, "WebSockets are not forwarded. Use the interface over HTTP."
        if self._busy >= MAX_AT_ONCE:
            return 503, f"The capture forwards {MAX_AT_ONCE} requests already. Try again later."
        return None

    async def _forwarded(self, scope: Scope, receive: Receive, send: Send, path: str, body: bytes) -> None:
        exchange = self._recorded(scope, path, body)
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
            if exchange.asked is not None and self._breakpoints.rules.requests:
                body = await self._paused(
                    exchange, "request", "Each request is paused.", "application/json", body
                )
                exchange.restart()
            answer = await self._client.send(self._asked(scope, body), stream=True)
            try:
                kind, encoding = (
                    answer.headers.get(name, "") for name in ("content-type", "content-encoding")
                )
                exchange.answered(answer.status_code, kind, encoding)
                headers = list(_forwardable(answer.headers.raw, _OF_CONNECTION))
                start = {"type": "http.response.start", "status": answer.status_code, "headers": headers}
                pieces = aiter(answer.aiter_raw())
                whole: list[bytes] = []
                if exchange.asked is not None and self._breakpoints.rules.answers and answer.is_success:
                    whole = await self._whole(exchange, pieces, kind, start)
                await send(start)
                begun = True
                for data in whole:
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                async for data in pieces:
                    if data:
                        exchange.piece(data)
                        await send({"type": "http.response.body", "body": data, "more_body": True})
                exchange.ended("server")
            finally:
                with anyio.CancelScope(shield=True), suppress(httpx2.HTTPError):
                    await answer.aclose()
        except _NotSent as not_sent:
            await _error(path, not_sent.status, not_sent.words, _ONCE)(scope, receive, send)
            return
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            status, words = self._failed(error, exchange)
            if begun:
                raise _AnswerCut(words) from error
            await _error(path, status, words)(scope, receive, send)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _whole(
        self, exchange: _Recording, pieces: AsyncIterator[bytes], kind: str, start: dict[str, Any]
    ) -> list[bytes]:
        """The pieces of the answer to send on, once it is whole and not paused; of one that is too large,
        its first pieces. An edited answer is one piece, and changes the length in `start`.
        """
        whole: list[bytes] = []
        size = 0
        async for data in pieces:
            if data:
                exchange.piece(data)
                whole.append(data)
                size += len(data)
            if size > MAX_RECORDED:
                self._note(f"An answer has more than {byte_size(MAX_RECORDED)}: it cannot be paused.")
                return whole
        exchange.ended("server")
        try:
            calls = await anyio.to_thread.run_sync(
                self._judge, exchange.judged(whole), abandon_on_cancel=True
            )
        except Exception as error:  # of whichever process: the answer is the agent's anyway
            self._note(f"An answer was not judged, and is not paused: {error}")
            return whole
        if not (why := self._breakpoints.rules.why(calls)):
            return whole
        body = b"".join(whole)
        edited = await self._paused(exchange, "answer", why, kind, body)
        if edited is body:
            return whole
        headers = [(name, value) for name, value in start["headers"] if name.lower() not in _OF_BODY]
        start["headers"] = [*headers, (b"content-length", b"%d" % len(edited))]
        return [edited]

    async def _paused(self, exchange: _Recording, side: Side, why: str, kind: str, body: bytes) -> bytes:
        """The bytes to send, after a person has looked at these: the same object unless they were edited.

        Raises _NotSent.
        """
        asked, limit = exchange.asked, self._breakpoints.seconds
        assert asked is not None
        model = str(json_object(exchange.sent).get("model") or "")
        paused = Paused(
            number=asked.number,
            side=side,
            path=asked.path,
            model=model,
            why=why,
            kind=kind,
            body=body,
            seconds=limit,
            asked=exchange.sent if side == "answer" else b"",
        )
        begun = time.monotonic()
        end: PauseEnd = "agent"
        edited = None
        try:
            end, edited = await self._breakpoints.wait(paused)
        finally:
            exchange.waited(Waited(time.monotonic() - begun, side, end, edited))
        if end == "dropped" or end == "late" or end == "stop":
            status, words = _NOT_SENT[end]
            words = words.format(what=side if side == "request" else "server's answer", time=duration(limit))
            if side == "request":
                exchange.ended(end, words)
            raise _NotSent(status, words)
        return body if edited is None else edited

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

    def _recorded(self, scope: Scope, path: str, body: bytes) -> _Recording:
        """The recording of the exchange. One that is not recorded is said once for each path."""
        api = api_of(path) if scope["method"] == "POST" else None
        if api is None:
            said = f"{scope['method']} {path}"
            if said not in self._unrecorded and len(self._unrecorded) < MAX_AT_ONCE:
                self._unrecorded.add(said)
                self._note(f"Forwarded and not recorded: {said}.")
            return _Recording(None, None, self._note)
        asked = Asked(next(self._numbers), api, path, now(), str(self._to), body)
        writer = None
        try:
            writer = ExchangeWriter(self._folder, asked, tuple(_keys(scope["headers"])))
        except StorageError as error:
            self._note(f"A request is forwarded and not recorded: {error.words}")
        return _Recording(asked, writer, self._note)


class _Recording:
    """The file of an exchange, as long as it can be written: a full disk does not end the exchange itself."""

    def __init__(
        self, asked: Asked | None, writer: ExchangeWriter | None, note: Callable[[str], None]
    ) -> None:
        """`asked` is None for a path that is not recorded."""
        self.asked, self._writer, self._note = asked, writer, note
        self.sent = b"" if asked is None else asked.body
        """The body that the server gets."""
        self.by: EndedBy = "stop"
        """Who ended it: the user, unless something else happened."""
        self.message = ""
        self._answered = Answered(0.0, 0, "")
        self._end: float | None = None
        self.restart()

    def restart(self) -> None:
        """Count the seconds from now on: the request is sent."""
        self._start = time.monotonic()

    def answered(self, status: int, kind: str, encoding: str) -> None:
        self._answered = Answered(0.0, status, kind, encoding)
        self._try(lambda writer, t: writer.answered(t, status, kind, encoding))

    def ended(self, by: EndedBy, message: str = "") -> None:
        """Nothing more comes from the server; the agent may still wait for its answer."""
        if self._end is None:
            self.by, self.message, self._end = by, message, time.monotonic() - self._start

    def waited(self, wait: Waited) -> None:
        if wait.side == "request" and wait.body is not None:
            self.sent = wait.body
        self._try(lambda writer, t: writer.waited(wait))

    def judged(self, pieces: Sequence[bytes]) -> Exchange:
        """The exchange with a whole answer, to be judged."""
        assert self.asked is not None
        asked = msgspec.structs.replace(self.asked, body=self.sent)
        return Exchange(asked, self._answered, (Piece(0.0, b"".join(pieces)),), Ended(0.0, "server"))

    def piece(self, data: bytes) -> None:
        self._try(lambda writer, t: writer.piece(t, data))

    def close(self) -> Path | None:
        """Write the end. Returns the file's path, None without a file."""
        path = self._writer.path if self._writer is not None else None
        self._try(lambda writer, t: writer.end(t if self._end is None else self._end, self.by, self.message))
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


def _error(path: str, status: int, words: str, more: Mapping[str, str] = {}) -> JSONResponse:
    """An error in the form of all interfaces: Ollama's is a text, the others' an object."""
    said: Any = (
        words if "/api/" in path else {"type": "glyphscope_capture", "message": f"Glyphscope: {words}"}
    )
    content: MutableMapping[str, Any] = {"type": "error", "error": said}
    return JSONResponse(content, status, headers={"connection": "close", **more})


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
