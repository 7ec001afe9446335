"""An MCP server as a source of tools. It runs in a separate thread; every method may be called from any other."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, Unpack

import msgspec

from glyphscope.base.errors import ServerError
from glyphscope.base.figures import duration
from glyphscope.registry import Tool
from glyphscope.tools.mcp.calls import (
    About,
    CallFailure,
    CallProgress,
    CallResult,
    ServerCall,
    before_it_answered,
)
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.content import read_prompt, read_resource, read_result
from glyphscope.tools.mcp.listing import (
    DescribedTools,
    Listing,
    ToolChanges,
    ToolProblem,
    described,
    tool_changes,
)
from glyphscope.tools.mcp.log import LogLevel, ProtocolLog, StderrRing
from glyphscope.tools.mcp.offers import (
    COMPLETE,
    COMPLETIONS,
    Completion,
    Offer,
    Offers,
    completion_params,
    read_completion,
)
from glyphscope.tools.mcp.questions import Question
from glyphscope.tools.source import TRACEPARENT, CallOptions, Fault, Outcome

if TYPE_CHECKING:
    from glyphscope.tools.mcp.connection import Connection

State: TypeAlias = Literal["stopped", "starting", "ready", "failed", "ended"]
"""`failed`: it did not become ready; `ended`: it was ready, then ended by itself. `problem` gives the reason."""

Seen: TypeAlias = Callable[[ServerConfig, DescribedTools], ToolChanges]
"""Remembers a list of tools, and returns the changes since the one before. Never raises."""

START_SECONDS = 60.0
"""The time limit of a start: a launcher such as npx or uvx may have to download the server first."""
_STOP_SECONDS = 2.5
"""Maximum seconds for its thread to end, before and again after its process is killed."""
_POLL_SECONDS = 0.02
"""Seconds between two checks of a waiting call for cancellation or its time limit."""
MAX_SUBSCRIPTIONS = 1_000
"""The maximum number of subscribed resources of one server."""


class Updates(NamedTuple):
    """The number of updates of a resource since its subscription, and the time of the last (Unix seconds; 0: none)."""

    times: int = 0
    last: float = 0.0


class McpServer:
    """A `ToolSource`. The callbacks are called in the server's thread and must not wait.

    `changed` is called for a new state or a changed list; `asked` when a question opens or closes (without it, the
    server cannot ask); `sign_in` with the address at which the user signs in (without it, only a stored sign-in is
    used); it may raise ServerError. `seen` remembers each complete list of tools.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        changed: Callable[[McpServer], None] | None = None,
        asked: Callable[[McpServer], None] | None = None,
        sign_in: Callable[[str], None] | None = None,
        start_seconds: float = START_SECONDS,
        seen: Seen | None = None,
    ) -> None:
        self.config = config
        self.name, self.identity = config.name, config.identity
        self.log = ProtocolLog(config.secrets)
        self._stderr = StderrRing(self.log.hide)
        self._changed = changed
        self._asked = asked
        self._sign_in = sign_in
        self._seen = seen
        self.needs_sign_in = False
        """Whether it failed because of a missing OAuth sign-in."""
        self._unsaved = ""  # why the last connection's sign-in was not saved
        self._start_seconds = start_seconds
        self._lock = threading.Lock()
        self._settled = threading.Event()  # set unless it is starting
        self.state: State = "stopped"
        self.problem: ServerError | None = None
        """The reason why it failed or ended."""
        self.about = About()
        """The server's own description, empty before it is ready."""
        self._listing = Listing()
        self.offers = Offers()
        """Its resources and prompts, as far as they were listed."""
        self.tool_changes = ToolChanges()
        """The changes from the previous list of tools to the last, also since an earlier connection if that is
        remembered. Empty if there was only one.
        """
        self._subscriptions: dict[str, Updates] = {}
        self.log_level = ""
        """The least severe level of log messages requested from the server; "" leaves it to the server."""
        self._connection: Connection | None = None
        self._thread: threading.Thread | None = None
        self._calls: set[ServerCall] = set()  # in progress
        self._closed = False

    @property
    def stderr(self) -> str:
        """The last lines of its standard error."""
        return self._stderr.text

    @property
    def tool_problems(self) -> tuple[ToolProblem, ...]:
        """The problems of tools; some make a tool unusable."""
        return self._listing.problems

    @property
    def list_problem(self) -> str:
        """The problem of the list of tools as a whole; empty if there is none."""
        return self._listing.problem

    @property
    def unsaved_sign_in(self) -> str:
        """The reason why the sign-in is not stored in the keyring; "" if it is."""
        connection = self._connection
        return connection.unsaved if connection is not None else self._unsaved

    @property
    def subscriptions(self) -> dict[str, Updates]:
        """The subscribed resources by URI."""
        return self._subscriptions.copy()

    def set_roots(self, roots: tuple[str, ...]) -> None:
        """Change the server's roots; a running server is notified, and may ask for them."""
        self.config = msgspec.structs.replace(self.config, roots=roots)
        if (connection := self._connection) is not None:
            connection.set_roots(roots)

    def set_log_level(self, level: LogLevel, **options: Unpack[CallOptions]) -> Outcome:
        """Request log messages of at least that level; options and errors as in `call`."""
        if not self._declares("logging"):
            return self._unsupported("logging")
        connection = self._connection
        if connection is not None and connection.is_modern:
            self.log_level = connection.log_level = level
            return Outcome()
        found = self.request("logging/setLevel", {"level": level}, **options)
        if found.ok:
            self.log_level = level
        return found

    def subscribe(self, uri: str, *, on: bool = True, **options: Unpack[CallOptions]) -> Outcome:
        """Subscribe to a resource, or unsubscribe; options and errors as in `call`. `subscriptions` counts updates."""
        connection = self._connection
        if not self._declares("resources/subscribe"):
            return self._unsupported("subscriptions to single resources")
        if on and len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            return Outcome(
                fault="protocol", message=f"At most {MAX_SUBSCRIPTIONS} resources can be subscribed to."
            )
        if on:  # an update may arrive before the answer
            self._subscriptions.setdefault(uri, Updates())
        if connection is not None and connection.is_modern:
            if not on:
                self._subscriptions.pop(uri, None)
            connection.listen_to(tuple(self._subscriptions))
            self._report()
            return Outcome()
        method = f"resources/{'' if on else 'un'}subscribe"
        found = self.request(method, {"uri": uri}, **options)
        if not on or not found.ok:
            self._subscriptions.pop(uri, None)
        self._report()
        return found

    def _declares(self, feature: str) -> bool:
        return feature in self.about.features

    def _unsupported(self, what: str) -> Outcome:
        if self.state != "ready":
            return self._not_connected()
        return Outcome(fault="protocol", message=f"The server does not declare {what}.")

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open requests for sampling and elicitation."""
        connection = self._connection
        return connection.asking.questions if connection is not None and connection.asking else ()

    def start(self) -> None:
        """Start it and return immediately; `changed` is called for each new state. Does nothing if it already runs."""
        with self._lock:
            if self._closed or self.state in ("starting", "ready"):
                return
            self.state, self.problem = "starting", None
            self._stderr = StderrRing(self.log.hide)
            self._settled.clear()
            self._thread = threading.Thread(target=self._run, name=f"mcp-{self.name}", daemon=True)
            self._thread.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is ready, has failed or has ended; False if it is still starting after that time."""
        return self._settled.wait(seconds)

    def open(self) -> McpServer:
        """Start it and wait until it is ready. Raises ServerError if it fails; then nothing keeps running."""
        self.start()
        self.wait()
        if self.state != "ready":
            found = self.problem or ServerError("The server was closed.", where=self.identity)
            raise ServerError(found.message, where=found.where, hint=found.hint, log=found.log)
        return self

    def tools(self) -> tuple[Tool, ...]:
        return self._listing.tools

    def claims(self, tool: str) -> dict[str, Any]:
        return dict(self._listing.claims.get(tool, {}))

    def call(self, tool: str, arguments: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        if options["cancel"].is_set():
            return _cancelled()
        listing = self._listing
        if failure := self._uncallable(listing, tool, arguments):
            return failure
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if parent := TRACEPARENT.get():
            params["_meta"] = {"traceparent": parent}
        if tool in listing.tasks:  # the result is then read from the task
            params["task"] = {"ttl": round(options["seconds"] * 1000)}
        found = self._ask("tools/call", params, "tool", **options)
        return _read(found, lambda result: read_result(result, listing.outputs.get(tool)))

    def fetch(self, method: str, params: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        """The answer to `resources/read` or `prompts/get`; options and errors as in `call`."""
        found = self.request(method, params, **options)
        if method == "resources/read":
            return _read(found, lambda result: read_resource(result, str(params.get("uri"))))
        return _read(found, read_prompt)

    def request(self, method: str, params: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        """The unchanged result of any request in `structured`; options and errors as in `call`."""
        if options["cancel"].is_set():
            return _cancelled()
        if failure := self._unsendable(params):
            return failure
        return self._ask(method, params, "server", **options)

    def complete(
        self,
        offer: Offer,
        argument: str,
        value: str,
        *,
        others: Mapping[str, str] | None = None,
        **options: Unpack[CallOptions],
    ) -> Completion:
        """Values for an argument of a prompt or template that continue `value`; options as in `call`."""
        if not self._declares(COMPLETIONS):
            return Completion(problem=self._unsupported("completions").message)
        params = completion_params(offer, argument, value, others)
        found = self.request(COMPLETE, params, **options)
        return read_completion(found.structured) if found.ok else Completion(problem=found.message)

    def _ask(self, method: str, params: dict[str, Any], who: str, **options: Unpack[CallOptions]) -> Outcome:
        """The result of a request in `structured`, or the reason for none; `who` (tool or server) is for the message.

        Time while a question is open does not count towards the limit.
        """
        seconds, cancel, progress = options["seconds"], options["cancel"], options.get("progress")
        call = ServerCall(method, params)
        connection = self._begin(call)
        if connection is None:
            return self._not_connected()
        left, waited, now = seconds, 0.0, time.monotonic()
        try:
            while not cancel.is_set():
                before, now = now, time.monotonic()
                if self.questions:
                    waited += now - before
                else:
                    left -= now - before
                if left <= 0:
                    connection.abandon(call)
                    message = f"The {who} did not answer within {duration(seconds)}."
                    return Outcome(fault="timeout", message=message, waited=waited)
                try:
                    reply = call.replies.get(timeout=min(_POLL_SECONDS, left))
                except queue.Empty:
                    continue
                if isinstance(reply, CallProgress):
                    if progress is not None:
                        progress(reply.done, reply.total, reply.message)
                elif isinstance(reply, CallResult):
                    return Outcome(structured=reply.result, waited=waited)
                else:
                    fault: Fault = "cancelled" if self._closed else "protocol"
                    return Outcome(fault=fault, message=reply.message, waited=waited)
            connection.abandon(call)
            return _cancelled()
        finally:
            with self._lock:
                self._calls.discard(call)

    def close(self) -> None:
        """End the process and everything that it started, usually within 2 seconds."""
        with self._lock:
            self._closed = True
            connection, thread = self._connection, self._thread
        if connection is not None:
            connection.stop()
        if thread is None or thread is threading.current_thread():
            return
        thread.join(_STOP_SECONDS)
        if thread.is_alive() and connection is not None:
            connection.kill()
            thread.join(_STOP_SECONDS)

    # in the server's thread

    def _run(self) -> None:
        self._report()
        if find_spec("mcp") is None:
            self._finish(
                ServerError("The MCP SDK is not installed.", hint='Install it: pip install "glyphscope[mcp]"')
            )
            return
        import anyio

        from glyphscope.tools.mcp.connection import Connection

        connection = Connection(
            self.config, self.log, self._stderr, self._ready, self._listed, self._offered, self._updated,
            None if self._asked is None else partial(self._asked, self), self._sign_in,
        )  # fmt: skip
        with self._lock:
            self._connection = connection
            if self._closed:
                connection.stop()
        problem: ServerError | None = None
        try:
            anyio.run(connection.run, self._start_seconds)
        except ServerError as error:
            problem = error
        except Exception as error:  # a bug in Glyphscope or the SDK ends only this server, and is reported
            problem = ServerError(
                f"The connection broke: {type(error).__name__}: {error}.", where=self.identity
            )
        finally:
            connection.kill()
        self.needs_sign_in, self._unsaved = connection.needs_sign_in, connection.unsaved
        self._finish(problem)

    def _ready(self, about: About, listing: Listing) -> None:
        self.tool_changes = self._remembered(listing) or ToolChanges()
        with self._lock:
            self.about, self._listing, self.state = about, listing, "ready"
        self._settled.set()
        self._report()

    def _listed(self, listing: Listing) -> None:
        if listing.problem and not listing.tools:  # keep the old list if the new one was not received
            listing = replace(self._listing, problem=listing.problem)
        before, self._listing = self._listing, listing
        self._remembered(listing)
        self.tool_changes = tool_changes(*map(_described, (before, listing))) or self.tool_changes
        self._report()

    def _remembered(self, listing: Listing) -> ToolChanges | None:
        """The changes since the last list that was remembered, if this one is complete; it is remembered."""
        if self._seen is None or listing.problem:
            return None
        return self._seen(self.config, _described(listing))

    def _offered(self, offers: Offers) -> None:
        self.offers = offers
        if offers.listed:
            self._report()

    def _updated(self, uri: str) -> None:
        """Count an update of a subscribed resource, or of one below it; others are only logged."""
        below = (each for each in self._subscriptions.copy() if uri.startswith(each))
        known = uri if uri in self._subscriptions else next(below, "")
        if (before := self._subscriptions.get(known)) is not None:
            self._subscriptions[known] = Updates(before.times + 1, time.time())
            self._report()

    def _finish(self, problem: ServerError | None) -> None:
        with self._lock:
            self.problem = problem
            self.state = "stopped" if problem is None else "ended" if self.state == "ready" else "failed"
            self._connection = None
            calls, self._calls = self._calls, set()
            self._subscriptions = {}
        why = before_it_answered(problem.message, problem.log) if problem else "The server was closed."
        for call in calls:  # without an answer at the connection's end
            call.replies.put(CallFailure(why))
        self._settled.set()
        self._report()

    def _report(self) -> None:
        if self._changed is not None:
            self._changed(self)

    # a call

    def _begin(self, call: ServerCall) -> Connection | None:
        with self._lock:
            connection = self._connection
            if connection is None or self.state != "ready" or self._closed:
                return None
            self._calls.add(call)
            try:
                connection.submit(call)
            except RuntimeError:  # its loop has just ended
                self._calls.discard(call)
                return None
            return connection

    def _uncallable(self, listing: Listing, tool: str, arguments: dict[str, Any]) -> Outcome | None:
        """The outcome of a call that cannot be sent; None if it can."""
        if self.state != "ready":
            return self._not_connected()
        if not any(known.name == tool for known in listing.tools):
            why = next((p.message for p in listing.problems if p.tool == tool), "")
            end = f" that can be used: {why}" if why else "."
            return Outcome(fault="unknown", message=f"The server {self.name} has no tool {tool}{end}")
        return self._unsendable(arguments)

    def _unsendable(self, params: dict[str, Any]) -> Outcome | None:
        """The outcome of a request that cannot be sent; None if it can."""
        if self.state != "ready":
            return self._not_connected()
        try:
            msgspec.json.encode(params)
        except (UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
            return Outcome(fault="protocol", message=f"The arguments cannot be sent as JSON: {error}.")
        return None

    def _not_connected(self) -> Outcome:
        why = self.problem.message if self.problem else f"it is {self.state}"
        return Outcome(fault="protocol", message=f"The server {self.name} is not connected: {why}")


def _described(listing: Listing) -> DescribedTools:
    return described(listing.tools, listing.claims)


def _cancelled() -> Outcome:
    return Outcome(fault="cancelled", message="The call was stopped.")


def _read(found: Outcome, read: Callable[[dict[str, Any]], Outcome]) -> Outcome:
    """The result converted by `read`, with the time waited; the outcome itself if it has no result."""
    return replace(read(found.structured), waited=found.waited) if found.ok else found
