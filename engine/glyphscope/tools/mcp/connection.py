"""One run of a server, from its start to its end: the SDK's session in the event loop of the server's own thread.

The SDK negotiates, numbers requests and routes answers. Lists and results are taken as they came, before the SDK's
models: those refuse a whole list for one bad tool, and a whole answer for one odd item.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
from mcp import ClientSession, MCPError
from mcp.client._transport import TransportStreams
from mcp.client.session import IncomingMessage
from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    Implementation,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from glyphscope.errors import ServerError
from glyphscope.tools.mcp.calls import About, Answered, Call, Progressed, Refused, before_it_answered
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.guard import LOCAL_ERROR, Guard
from glyphscope.tools.mcp.http import Refusals, http_streams
from glyphscope.tools.mcp.listing import MAX_BYTES, MAX_PAGES, MAX_TOOLS, Listing, ListReader
from glyphscope.tools.mcp.log import ProtocolLog, StderrRing
from glyphscope.tools.mcp.process import ServerProcess
from glyphscope.tools.mcp.stdio import Pipes

_Ask: TypeAlias = Callable[[str, dict[str, Any], CallOptions], Awaitable[dict[str, Any]]]

LIST_SECONDS = 30.0
"""For all pages of a list of tools."""
_LISTS_APART = 1.0
"""Seconds between two lists: a server that says all the time that its list has changed is asked no more often."""
_GOODBYE = 1.0
"""Seconds for the end of an HTTP session."""
_ENDED_HERE = "Connection closed"
_SESSION_GONE = "Session terminated"

for _name in (
    "mcp",
    "client",
    "httpx2",
):  # what they log reaches a handler that somebody sets, and never stderr
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Connection:
    """`ready` and `listed` are called in the loop's thread."""

    def __init__(
        self,
        config: ServerConfig,
        log: ProtocolLog,
        stderr: StderrRing,
        ready: Callable[[About, Listing], None],
        listed: Callable[[Listing], None],
    ) -> None:
        self._config = config
        self._log = log
        self._stderr = stderr
        self._ready = ready
        self._listed = listed
        self._guard = Guard(log)
        self._refusals = Refusals()
        self._process: ServerProcess | None = None
        self._pipes: Pipes | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._jobs: asyncio.Queue[Call | None] = asyncio.Queue()
        self._life: anyio.CancelScope | None = None
        self._stale = asyncio.Event()
        self._is_ready = False
        self._lost = ""
        self.stopping = False

    # from any thread

    def submit(self, call: Call) -> None:
        """Raises RuntimeError when the loop is over."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._jobs.put_nowait, call)

    def abandon(self, call: Call) -> None:
        """Nobody waits for it any more: the server is told that it is cancelled."""
        assert self._loop is not None
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_abandon, call)

    def stop(self) -> None:
        """Ends everything, in less than 2 seconds."""
        self.stopping = True
        if self._life is not None and self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop)

    def kill(self) -> None:
        """Ends the process when its thread does not."""
        if self._process is not None:
            self._process.kill()

    # in the loop

    def _stop(self) -> None:
        assert self._life is not None
        if self._pipes is not None:
            self._pipes.hang_up()
        if not self._is_ready:
            self._life.cancel()
        self._life.deadline = anyio.current_time() + (_GOODBYE if self._pipes is None else 0.0)
        self._jobs.put_nowait(None)

    async def run(self, seconds: float) -> None:
        """Until the server ends or is stopped. `seconds` are those it has to get ready.

        Raises ServerError for a server that does not get ready, and for one that ends by itself.
        """
        self._loop = asyncio.get_running_loop()
        with anyio.CancelScope() as self._life:
            if self.stopping:
                return
            try:
                async with self._streams() as streams:
                    await self._hold(streams, seconds)
            except ServerError:
                raise
            except Exception as error:
                raise self._failure(error) from None
        if self._lost and not self.stopping:
            raise self._error(self._lost)

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[TransportStreams]:
        if self._config.transport == "http":
            async with http_streams(self._config, self._guard, self._log, self._refusals) as streams:
                yield streams
            return
        self._process = ServerProcess(self._config)
        self._pipes = Pipes(self._process, self._guard, self._log, self._stderr, self._ended)
        async with self._pipes.streams() as streams:
            yield streams

    def _ended(self) -> None:
        """The process can no longer be heard."""
        assert self._process is not None
        self._lose(f"The server {self._process.ending or 'closed its standard output'}.")

    def _lose(self, why: str) -> None:
        self._lost = self._lost or why
        self._jobs.put_nowait(None)

    async def _hold(self, streams: TransportStreams, seconds: float) -> None:
        dispatcher = JSONRPCDispatcher(*streams)
        who = Implementation(name="glyphscope", version=version("glyphscope"))
        async with ClientSession(
            dispatcher=dispatcher, client_info=who, message_handler=self._hear
        ) as session:

            async def ask(method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
                data: dict[str, Any] = {"method": method, "params": params}
                session._stamp(data, options)  # what the version that was agreed on wants with every request
                return await dispatcher.send_raw_request(method, data["params"] or None, options)

            about = await self._introduce(session, seconds)
            capabilities = session.server_capabilities
            if capabilities is None or capabilities.tools is None:
                listing = Listing(problem="The server offers no tools.")
            else:
                listing = await self._list(ask, needed=True)
            self._is_ready = True
            self._ready(about, listing)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_listed, ask)
                while (call := await self._jobs.get()) is not None:
                    tasks.start_soon(self._carry_out, ask, call)
                tasks.cancel_scope.cancel()

    async def _introduce(self, session: ClientSession, seconds: float) -> About:
        try:
            with anyio.fail_after(seconds):
                await self._negotiate(session)
        except TimeoutError:
            raise self._error(
                f"The server did not answer within {seconds:g} seconds after it was started."
            ) from None
        except MCPError as error:
            if self._lost:
                raise self._error(f"{self._lost[:-1]} before it was ready.") from None
            if error.code == UNSUPPORTED_PROTOCOL_VERSION:
                raise self._error(
                    "The server speaks only versions of MCP that are not spoken here."
                ) from None
            raise self._error(f"The server refused to start a session: {self._words(error)}") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = "/".join(map(str, first["loc"]))
            raise self._error(
                f"The server's answer to `initialize` is not MCP: {place}: {first['msg']}."
            ) from None
        except RuntimeError as error:  # the SDK's word for a version that it does not know
            raise self._error(f"{error}.") from None
        info = session.server_info
        return About(
            name=(info.title or info.name) if info else "",
            version=info.version if info else "",
            protocol=session.protocol_version or "",
            instructions=session.instructions or "",
        )

    async def _negotiate(self, session: ClientSession) -> None:
        """The handshake that every server knew until 2026; one that refuses it is asked in the way of today.

        In this order, as older servers may keep silent, or end, when the first message is another.
        """
        try:
            await session.initialize()
        except MCPError as error:
            if self._lost or error.code not in (UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND):
                raise
            try:
                await session.discover()
            except MCPError:
                raise error from None

    async def _list(self, ask: _Ask, *, needed: bool = False) -> Listing:
        """All pages. With `needed`, a list of which not even the first page comes is a ServerError."""
        reader, seen, cursor = ListReader(), set[str](), None
        received, until = self._log.received_bytes, anyio.current_time() + LIST_SECONDS
        for page in range(MAX_PAGES):
            try:
                left = max(0.01, until - anyio.current_time())
                result = await ask(
                    "tools/list", {} if cursor is None else {"cursor": cursor}, {"timeout": left}
                )
            except MCPError as error:
                why = self._lost or f"The list of tools did not come: {self._words(error)}"
                if page == 0 and needed:
                    raise self._error(why) from None
                return reader.listing(why)
            tools = result.get("tools")
            if not isinstance(tools, list):
                return reader.listing("The server's list of tools is not a list.")
            for number, entry in enumerate(tools):
                if reader.is_full:
                    return reader.listing(
                        f"The server lists more than {MAX_TOOLS:,} tools: the rest is left out."
                    )
                reader.take(entry)
                if number % 50 == 49:  # checking a schema takes a moment, and others want their turn
                    await anyio.lowlevel.checkpoint()
            cursor = result.get("nextCursor")
            if cursor is None or cursor == "":
                return reader.listing()
            if not isinstance(cursor, str) or cursor in seen:
                return reader.listing(
                    "The server's list of tools leads back to a page that it had: it never ends."
                )
            seen.add(cursor)
            if self._log.received_bytes - received > MAX_BYTES:
                return reader.listing(f"The server's list of tools has more than {MAX_BYTES >> 20} MiB.")
        return reader.listing(
            f"The server's list of tools has more than {MAX_PAGES:,} pages: the rest is left out."
        )

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._stale.set()

    async def _keep_listed(self, ask: _Ask) -> None:
        while True:
            await self._stale.wait()
            self._stale.clear()
            self._listed(await self._list(ask))
            await anyio.sleep(_LISTS_APART)

    async def _carry_out(self, ask: _Ask, call: Call) -> None:
        async def tell(progress: float, total: float | None, message: str | None) -> None:
            if math.isfinite(progress):
                call.replies.put(Progressed(progress, total, message or ""))

        options: CallOptions = {"on_progress": tell}
        with anyio.CancelScope() as call.scope:
            if call.abandoned:
                return
            try:
                result = await ask("tools/call", {"name": call.tool, "arguments": call.arguments}, options)
            except MCPError as error:
                call.replies.put(Refused(self._words(error)))
                if error.code == CONNECTION_CLOSED and error.message == _ENDED_HERE:
                    self._lose("The connection to the server was lost.")
                elif error.message == _SESSION_GONE and self._config.transport == "http":
                    self._lose(
                        "The server no longer knows the session: it was restarted, or it ended the session."
                    )
            else:
                call.replies.put(Answered(result))

    def _words(self, error: MCPError) -> str:
        """An error of the protocol in words, with its code where it is the server's own."""
        if error.code == CONNECTION_CLOSED and self._lost:
            return before_it_answered(self._lost, self._stderr.text)
        message = self._log.hide(error.message).strip()[:1_000] or "an error without a message"
        if self._config.transport == "http" and self._refusals.last:
            return f"{message} ({self._refusals.last})"
        return message if error.code == LOCAL_ERROR else f"{message} (code {error.code})"

    def _failure(self, error: BaseException) -> ServerError:
        """What came out of a group of tasks, as one error in words."""
        while isinstance(error, BaseExceptionGroup):
            error = next((e for e in error.exceptions if isinstance(e, ServerError)), error.exceptions[0])
        if isinstance(error, ServerError):
            return error
        if self._config.transport == "http":
            words = str(error) or type(error).__name__
            return self._error(f"The server cannot be reached: {words.rstrip('.')}.")
        return self._error(f"The connection broke: {type(error).__name__}: {error}.")

    def _error(self, message: str) -> ServerError:
        hint = ""
        if self._config.transport == "http":
            hint = "Check the address, and whether the server runs."
            if self._refusals.last.startswith(("HTTP 401", "HTTP 403")):
                hint = "It wants to know who asks: write what it expects into `headers`, for example Authorization."
        elif self._guard.first_rambling:
            hint = f"It prints other text than messages on its standard output, first: {self._guard.first_rambling}"
        elif self._stderr.text:
            hint = "See its last lines of output."
        return ServerError(
            self._log.hide(message), where=self._config.identity, hint=hint, log=self._stderr.text
        )


def _abandon(call: Call) -> None:
    call.abandoned = True
    if call.scope is not None:
        call.scope.cancel()
