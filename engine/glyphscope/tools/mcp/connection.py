"""One run of a server, from its start to its end: the SDK's session in the event loop of the server's own thread.

The SDK negotiates, numbers requests and routes answers. Lists and results are read as plain JSON instead of with the
SDK's models, which reject a whole list because of one invalid tool, and a whole answer because of one invalid item.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.client._transport import TransportStreams
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.shared.dispatcher import CallOptions
from mcp.shared.inbound import MCP_NAME_HEADER, encode_header_value
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, ValidationError

from glyphscope.base.errors import ServerError
from glyphscope.base.figures import duration
from glyphscope.tools.mcp.asking import Asking
from glyphscope.tools.mcp.calls import (
    About,
    CallFailure,
    CallProgress,
    CallResult,
    ServerCall,
    before_it_answered,
)
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.guard import LOCAL_ERROR, Guard
from glyphscope.tools.mcp.listing import Listing, ListReader
from glyphscope.tools.mcp.lists import Ask, Listening, NoList, read_pages
from glyphscope.tools.mcp.log import ProtocolLog, StderrRing
from glyphscope.tools.mcp.oauth import SIGN_IN_SECONDS, SigningIn
from glyphscope.tools.mcp.offers import LISTS, OfferReader, Offers
from glyphscope.tools.mcp.process import ServerProcess
from glyphscope.tools.mcp.transports import Pipes, Refusals, http_streams

_LISTS_APART = 1.0
"""Minimum seconds between two requests for a list, for servers that constantly report changes."""
_MAX_ROUNDS = 10
"""The maximum number of requests for input in reply to one request."""
_POLLS, _POLLS_APART, _POLLS_MOST = 1.0, 0.05, 30.0
"""Seconds between two requests for the state of a task: without a server's wish, and the least and most of a wish."""
_TASKS = "io.modelcontextprotocol/tasks"
"""The extension of 2026-07-28 that lets a server run the call of a tool as a task."""
_GOODBYE = 1.0
"""Maximum seconds for ending an HTTP session."""
_ENDED_HERE, _SESSION_GONE = "Connection closed", "Session terminated"
"""The SDK's messages for a connection that ended, and for a session that the server no longer knows."""
_NO_REGISTRATION = (
    "Clients cannot register themselves there: write `oauth` with a `clientId`, or a token into `headers`, for example "
    "Authorization."
)

for _name in ("mcp", "client", "httpx2"):  # without a handler, logging would write to stderr
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Connection:
    """One connection: `run` it in an event loop; `submit` calls to it from any thread.

    The callbacks are called in the loop's thread, `updated` with the URI of a resource. Without `asked`, the server is
    not offered sampling and elicitation.
    """

    def __init__(
        self,
        config: ServerConfig,
        log: ProtocolLog,
        stderr: StderrRing,
        ready: Callable[[About, Listing], None],
        listed: Callable[[Listing], None],
        offered: Callable[[Offers], None],
        updated: Callable[[str], None],
        asked: Callable[[], None] | None,
        sign_in: Callable[[str], None] | None,
    ) -> None:
        self._config = config
        self._log = log
        self._stderr = stderr
        self._ready = ready
        self._listed = listed
        self._offered = offered
        self._updated = updated
        self._roots = config.roots
        self.log_level = ""
        """Sent with every request to a server of 2026-07-28 and later, which has no `logging/setLevel`."""
        self.asking = Asking(config.name, asked) if asked is not None else None
        self._guard = Guard(log)
        self._refusals = Refusals()
        self._signing = SigningIn(config, log, sign_in) if config.transport == "http" else None
        self._signs_in = sign_in is not None
        self._process: ServerProcess | None = None
        self._pipes: Pipes | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._jobs: asyncio.Queue[ServerCall | None] = (
            asyncio.Queue()
        )  # calls to make; None ends the connection
        self._life: anyio.CancelScope | None = None  # of the whole run
        # set when that list must be read again
        self._stale = {kind: asyncio.Event() for kind in ("tools", "resources", "prompts")}
        self._roots_changed = asyncio.Event()
        self._listening = Listening(self._reread)
        self._offers = Offers()
        self._is_ready = False
        self.is_modern = False
        """Whether it uses version 2026-07-28 or later, which lacks `logging/setLevel` and `resources/subscribe`."""
        self._has_tasks = False
        self._lost = ""  # why the server ended by itself
        self.stopping = False

    # from any thread

    def submit(self, call: ServerCall) -> None:
        """Make a call; its replies are put into `call.replies`. Raises RuntimeError once the loop has ended."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._jobs.put_nowait, call)

    def abandon(self, call: ServerCall) -> None:
        """Stop waiting for a call, and notify the server that it is cancelled."""
        self._in_loop(_abandon, call)

    def set_roots(self, roots: tuple[str, ...]) -> None:
        """Change the folders returned for `roots/list`, and notify the server."""
        self._roots = roots
        self._in_loop(self._roots_changed.set)

    def listen_to(self, uris: tuple[str, ...]) -> None:
        """Change the resources whose updates a server of 2026-07-28 and later should report."""
        self._in_loop(self._listening.subscribe, uris)

    def stop(self) -> None:
        """End the run within 2 seconds."""
        self.stopping = True
        if self._life is not None:
            self._in_loop(self._stop)

    def _in_loop(self, do: Callable[..., object], *arguments: object) -> None:
        """Schedule a function in the loop; does nothing if the loop has ended."""
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(do, *arguments)

    def kill(self) -> None:
        """Kill the process, if its thread does not end it."""
        if self._process is not None:
            self._process.kill()

    # in the loop

    def _stop(self) -> None:
        assert self._life is not None and self._loop is not None
        if self._pipes is not None:
            self._pipes.hang_up()
        if not self._is_ready:
            self._life.cancel()
        self._life.deadline = self._loop.time() + (_GOODBYE if self._pipes is None else 0.0)
        self._jobs.put_nowait(None)

    async def run(self, seconds: float) -> None:
        """Run until the server ends or is stopped. It has `seconds` to become ready.

        Raises ServerError if the server does not become ready, or ends by itself.
        """
        self._loop = asyncio.get_running_loop()
        if self._signs_in:
            seconds = max(seconds, SIGN_IN_SECONDS)
        with anyio.CancelScope() as self._life:
            if self.stopping:
                return
            try:
                async with self._streams() as streams:
                    await self._serve_calls(streams, seconds)
            except ServerError:
                raise
            except Exception as error:
                raise self._failure(error) from None
        if self._lost and not self.stopping:
            raise self._error(self._lost)

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[TransportStreams]:
        if self._signing is not None:
            http = http_streams(self._config, self._guard, self._log, self._refusals, self._signing)
            async with http as streams:
                yield streams
            return
        self._process = ServerProcess(self._config)
        self._pipes = Pipes(self._process, self._guard, self._log, self._stderr, self._ended)
        async with self._pipes.streams() as streams:
            yield streams

    def _ended(self) -> None:
        """Handle the end of the process or of its output."""
        assert self._process is not None
        self._lose(f"The server {self._process.ending or 'closed its standard output'}.")

    def _lose(self, why: str) -> None:
        """End the connection because the server ended by itself; the first reason is reported."""
        self._lost = self._lost or why
        self._jobs.put_nowait(None)

    async def _serve_calls(self, streams: TransportStreams, seconds: float) -> None:
        """Open the session, list the tools, then make calls until None is received."""
        dispatcher = JSONRPCDispatcher(*streams)
        who = types.Implementation(name="glyphscope", version=version("glyphscope"))
        async with ClientSession(
            dispatcher=dispatcher, client_info=who, message_handler=self._notified,
            sampling_callback=self.asking.sample if self.asking else None,
            elicitation_callback=self.asking.elicit if self.asking else None,
            list_roots_callback=self._list_roots, extensions={_TASKS: {}},
        ) as session:  # fmt: skip

            async def ask(method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
                data: dict[str, Any] = {"method": method, "params": params}
                session._stamp(data, options)  # adds what the negotiated version requires in every request
                if self.log_level and self.is_modern:
                    data["params"]["_meta"].setdefault(types.LOG_LEVEL_META_KEY, self.log_level)
                if self.is_modern and method.startswith("tasks/"):  # for servers behind a balancer
                    options.setdefault("headers", {})[MCP_NAME_HEADER] = encode_header_value(params["taskId"])
                return await dispatcher.send_raw_request(method, data["params"] or None, options)

            about = await self._introduce(session, seconds)
            capabilities = session.server_capabilities
            self._has_tasks = _runs_tasks(capabilities)
            if capabilities is None or capabilities.tools is None:
                listing = Listing(problem="The server offers no tools.")
            else:
                listing = await self._list(ask, needed=True)
            kinds = frozenset(
                kind for kind in ("resources", "prompts") if getattr(capabilities, kind, None) is not None
            )
            self._is_ready = True
            self._ready(about, listing)
            self._offer(Offers(kinds=kinds))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_repeat, self._stale["tools"], lambda: self._relist(ask))
                if self.is_modern:
                    tasks.start_soon(self._listening.run, session, about.features)
                else:
                    tasks.start_soon(_repeat, self._roots_changed, lambda: _report_roots(session))
                for kind in sorted(kinds):  # in parallel: calls do not wait for these lists
                    self._stale[kind].set()
                    tasks.start_soon(_repeat, self._stale[kind], partial(self._list_kind, ask, kind))
                while (call := await self._jobs.get()) is not None:
                    tasks.start_soon(self._execute, session, ask, call)
                tasks.cancel_scope.cancel()

    async def _introduce(self, session: ClientSession, seconds: float) -> About:
        """The handshake. Raises ServerError."""
        problem = ""
        try:
            with anyio.fail_after(seconds):
                await self._negotiate(session)
        except TimeoutError:
            problem = f"The server did not answer within {duration(seconds)} after it was started."
        except MCPError as error:
            problem = f"The server rejected the session: {self._words(error).rstrip('.')}."
            if self._lost:
                problem = f"{self._lost[:-1]} before it was ready."
            elif error.code == types.UNSUPPORTED_PROTOCOL_VERSION:
                problem = "The server supports only versions of MCP that Glyphscope does not support."
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = "/".join(map(str, first["loc"]))
            problem = f"The server's answer to `initialize` is not MCP: {place}: {first['msg']}."
        except RuntimeError as error:  # raised by the SDK for an unknown version
            problem = f"{error}."
        if problem:
            raise self._error(problem)
        self.is_modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
        info = session.server_info
        return About(
            name=(info.title or info.name) if info else "",
            version=info.version if info else "",
            protocol=session.protocol_version or "",
            instructions=session.instructions or "",
            features=_features(session.server_capabilities),
            isolated=self._config.transport == "stdio" or self._refusals.has_session,
        )

    async def _negotiate(self, session: ClientSession) -> None:
        """`initialize`, the handshake of versions before 2026-07-28; if the server rejects it, `discover`.

        The order matters: after another first message, older servers may not answer, or may exit.
        """
        try:
            await session.initialize()
        except MCPError as error:
            if self._lost or error.code not in (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND):
                raise
            try:
                await session.discover()
            except MCPError:
                raise error from None

    async def _list(self, ask: Ask, *, needed: bool = False) -> Listing:
        """All tools. With `needed`, raises ServerError if not even the first page is received."""
        reader = ListReader(has_tasks=self._has_tasks)
        try:
            problem = await self._read(ask, "tools/list", "tools", reader.take, self._no_tools)
        except NoList as error:
            if needed:
                raise self._error(str(error)) from None
            problem = str(error)
        return reader.listing(problem)

    async def _read(
        self, ask: Ask, method: str, key: str, take: Callable[[Any], None], words: Callable[[MCPError], str]
    ) -> str:
        return await read_pages(ask, method, key, take, self._log, words, empty_cursors=self.is_modern)

    def _no_tools(self, error: MCPError) -> str:
        return self._lost or f"The list of tools was not received: {self._words(error)}"

    async def _notified(self, message: IncomingMessage) -> None:
        match message:
            case types.ToolListChangedNotification():
                self._stale["tools"].set()
            case types.ResourceListChangedNotification():
                self._stale["resources"].set()
            case types.PromptListChangedNotification():
                self._stale["prompts"].set()
            case types.ResourceUpdatedNotification(params=params):
                self._updated(params.uri)

    def _reread(self) -> None:
        for stale in self._stale.values():
            stale.set()

    async def _list_roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        paths = map(Path, self._roots)
        return types.ListRootsResult(
            roots=[types.Root(uri=FileUrl(path.as_uri()), name=path.name or str(path)) for path in paths]
        )

    async def _relist(self, ask: Ask) -> None:
        self._listed(await self._list(ask))

    async def _list_kind(self, ask: Ask, kind: str) -> None:
        """Read the lists of resources and of their templates, or the list of prompts."""
        problems: list[str] = []
        for name, method, key, what in LISTS[kind]:
            reader = OfferReader(what)
            try:
                problem = await self._read(ask, method, key, reader.take, self._words)
            except NoList as error:
                # templates are optional, and a server without them may not know the method
                problem = "" if what == "template" and "-32601" in str(error) else f"{method}: {error}"
            problems += [*reader.problems, *([problem] if problem else [])]
            if reader.offers or not problem:  # otherwise keep the old list
                read: dict[str, Any] = {name: reader.offers}
                self._offers = replace(self._offers, **read)
        others = (p for p in self._offers.problems if not p[0].startswith(kind))
        all_problems = (*others, *((kind, problem) for problem in problems))
        self._offer(replace(self._offers, listed=self._offers.listed | {kind}, problems=all_problems))

    def _offer(self, offers: Offers) -> None:
        self._offers = offers
        self._offered(offers)

    async def _execute(self, session: ClientSession, ask: Ask, call: ServerCall) -> None:
        async def report_progress(progress: float, total: float | None, message: str | None) -> None:
            if math.isfinite(progress):
                call.replies.put(CallProgress(progress, total, message or ""))

        options: CallOptions = {"on_progress": report_progress}
        with anyio.CancelScope() as call.scope:
            if call.abandoned:
                return
            try:
                result = await self._complete(session, ask, call, options)
            except MCPError as error:
                call.replies.put(CallFailure(self._words(error)))
                if error.code == types.CONNECTION_CLOSED and error.message == _ENDED_HERE:
                    self._lose("The connection to the server was lost.")
                elif error.message == _SESSION_GONE and self._config.transport == "http":
                    self._lose(
                        "The server no longer knows the session: it was restarted, or it ended the session."
                    )
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                call.replies.put(
                    CallFailure(f"The server's request for input, or its task, is not MCP: {first['msg']}.")
                )
            else:
                call.replies.put(CallResult(result))

    async def _complete(
        self, session: ClientSession, ask: Ask, call: ServerCall, options: CallOptions
    ) -> dict[str, Any]:
        """The result. Since 2026-07-28, a server may ask for input instead; the request is then repeated with it."""
        params = call.params
        for _round in range(_MAX_ROUNDS):
            result = await ask(call.method, dict(params), {**options})
            if "task" in params and isinstance(result.get("task"), dict):
                return await self._finished(session, ask, call, result["task"])
            if result.get("resultType") == "task" and call.method == "tools/call":
                return await self._finished(session, ask, call, result)
            if result.get("resultType", "complete") != "input_required":
                return result
            needed = types.InputRequiredResult.model_validate(result)
            requests = needed.input_requests or {}
            is_roots = bool(requests) and all(
                isinstance(each, types.ListRootsRequest) for each in requests.values()
            )
            if self.asking is None and not is_roots:
                return result
            params = {**call.params, "inputResponses": await _answers(session, requests)}
            if needed.request_state is not None:
                params["requestState"] = needed.request_state
        raise MCPError(code=LOCAL_ERROR, message=f"The server asked for input {_MAX_ROUNDS} times.")

    async def _finished(
        self, session: ClientSession, ask: Ask, call: ServerCall, found: dict[str, Any]
    ) -> dict[str, Any]:
        """The result of a task: its state is asked for until it ends. Cancelled when abandoned.

        Since 2026-07-28, the state contains the result, or requests for input, of which each is answered once.
        """
        task, answered = _task(found), set[str]()
        which = {"taskId": task.task_id}
        try:
            while task.status == "working" or (self.is_modern and task.status == "input_required"):
                if task.status_message:
                    call.replies.put(CallProgress(0.0, None, task.status_message))
                if task.status == "input_required":
                    needed = types.InputRequiredResult.model_validate(
                        found | {"resultType": "input_required"}
                    )
                    requests = {k: v for k, v in (needed.input_requests or {}).items() if k not in answered}
                    if len(answered) + len(requests) > _MAX_ROUNDS:
                        raise MCPError(
                            code=LOCAL_ERROR, message=f"The task asked for input {_MAX_ROUNDS} times."
                        )
                    if requests:
                        answers = await _answers(session, requests)
                        await ask("tasks/update", {**which, "inputResponses": answers}, {})
                        answered |= requests.keys()
                interval = _POLLS if task.poll_interval is None else task.poll_interval / 1000
                await anyio.sleep(min(max(interval, _POLLS_APART), _POLLS_MOST))
                found = await ask("tasks/get", dict(which), {})
                task = _task(found)
            if not self.is_modern:
                return await ask("tasks/result", dict(which), {})  # it waits, if the task needs input
        except asyncio.CancelledError:
            with anyio.move_on_after(_GOODBYE, shield=True), suppress(MCPError):
                await ask("tasks/cancel", dict(which), {})
            raise
        if task.status == "completed" and isinstance(result := found.get("result"), dict):
            return result
        error = types.ErrorData.model_validate(found.get("error")) if task.status == "failed" else None
        words = task.status_message or f"The task is {task.status}, without a result."
        raise MCPError.from_error_data(error) if error else MCPError(code=LOCAL_ERROR, message=words)

    def _words(self, error: MCPError) -> str:
        """The message of an error, with its code if the server sent it."""
        if error.code == types.CONNECTION_CLOSED and self._lost:
            return before_it_answered(self._lost, self._stderr.text)
        message = self._log.hide(error.message).strip()[:1_000] or "an error without a message"
        if self._config.transport == "http" and self._refusals.last:
            return f"{message} ({self._refusals.last})"
        return message if error.code == LOCAL_ERROR else f"{message} (code {error.code})"

    def _failure(self, error: BaseException) -> ServerError:
        """The error of a run; for a group of exceptions, the ServerError in it, or the first exception."""
        while isinstance(error, BaseExceptionGroup):
            error = next((e for e in error.exceptions if isinstance(e, ServerError)), error.exceptions[0])
        if isinstance(error, ServerError):
            return error
        if isinstance(error, OAuthFlowError):
            hint = _NO_REGISTRATION if isinstance(error, OAuthRegistrationError) else ""
            return self._error(f"The sign-in failed: {str(error).rstrip(' .')}.", hint)
        if self._config.transport == "http":
            words = str(error) or type(error).__name__
            return self._error(f"The server cannot be reached: {words.rstrip('.')}.")
        return self._error(f"The connection broke: {type(error).__name__}: {error}.")

    @property
    def needs_sign_in(self) -> bool:
        """Whether the server rejected the connection because of a missing sign-in that this program supports."""
        has_header = any(name.lower() == "authorization" for name in self._config.headers)
        return self._refusals.last.startswith("HTTP 401") and not has_header

    @property
    def unsaved(self) -> str:
        """The reason why the sign-in is not stored; "" if it is stored."""
        return self._signing.unsaved if self._signing is not None else ""

    def _error(self, message: str, hint: str = "") -> ServerError:
        """The sign-in's problem, if any, else the message; without `hint`, a hint for the state of the connection."""
        if self._signing is not None and self._signing.problem is not None:
            return self._signing.problem
        return ServerError(
            self._log.hide(message),
            where=self._config.identity,
            hint=hint or self._hint(),
            log=self._stderr.text,
        )

    def _hint(self) -> str:
        if self._config.transport == "http":
            if not self._refusals.last.startswith(("HTTP 401", "HTTP 403")):
                return "Check the address, and whether the server runs."
            if self._signing is not None and self._signing.is_needed:
                return "The sign-in was rejected. Sign in again."
            return "Sign in, or write what it expects into `headers`, for example Authorization."
        if self._guard.first_rambling:
            first = self._guard.first_rambling
            return f"It writes text that is not a message to its standard output, first: {first}"
        return "See the last lines of its output." if self._stderr.text else ""


async def _repeat(changed: asyncio.Event, act: Callable[[], Awaitable[None]]) -> None:
    """Call `act` after each change, at most once per `_LISTS_APART` seconds."""
    while True:
        await changed.wait()
        changed.clear()
        await act()
        await anyio.sleep(_LISTS_APART)


async def _report_roots(session: ClientSession) -> None:
    await session.send_notification(types.RootsListChangedNotification())


def _features(found: types.ServerCapabilities | None) -> tuple[str, ...]:
    """The capabilities by name: `tools`, `logging`, `resources`, `resources/subscribe` …"""
    plain = found.model_dump(by_alias=True, exclude_none=True) if found is not None else {}
    names = [*plain]
    for name, value in plain.items():
        if name in ("tools", "resources", "prompts") and isinstance(value, dict):
            names += [f"{name}/{key}" for key, on in value.items() if on is True]
    return tuple(names)


def _task(found: dict[str, Any]) -> types.Task:
    """The state of a task, whose numbers have other names since 2026-07-28. Raises ValidationError."""
    later = {"ttl": found.get("ttlMs"), "pollInterval": found.get("pollIntervalMs")}
    return types.Task.model_validate({**later, **found})


async def _answers(
    session: ClientSession, requests: Mapping[str, types.InputRequest]
) -> dict[str, dict[str, Any]]:
    """The answers to requests for input. Raises MCPError for one without an answer."""
    answers = {}
    for key, request in requests.items():
        context = ClientRequestContext(session=session, request_id=key)
        answer = await session.dispatch_input_request(context, request)
        if isinstance(answer, types.ErrorData):
            raise MCPError.from_error_data(answer)
        answers[key] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    return answers


def _runs_tasks(found: types.ServerCapabilities | None) -> bool:
    """Whether the server declares calls of tools as tasks."""
    tasks = getattr(found, "tasks", None)
    return bool(tasks and tasks.requests and tasks.requests.tools and tasks.requests.tools.call is not None)


def _abandon(call: ServerCall) -> None:
    call.abandoned = True
    if call.scope is not None:
        call.scope.cancel()
