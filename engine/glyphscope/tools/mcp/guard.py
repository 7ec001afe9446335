"""The filter between a server's output and the SDK: it passes expected answers, and limits the rate of other messages.

The SDK starts a task for every message other than an answer, and reads lines of any length; a server that floods its
output would fill the memory. Blocked messages are counted and logged. If a blocked message was the answer to a request,
the request gets an error instead, so that no caller waits forever.
"""

from __future__ import annotations

import re
import time

import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from glyphscope.base.figures import byte_size
from glyphscope.base.structs import ready
from glyphscope.tools.mcp.lines import MAX_LINE, Line
from glyphscope.tools.mcp.log import ProtocolLog

LOCAL_ERROR = -31_999
"""The code of an error that was not sent by a server, outside the ranges of JSON-RPC and MCP."""

_TO_SDK = frozenset(
    {
        "notifications/progress",
        "notifications/cancelled",
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "notifications/prompts/list_changed",
    }
)
"""Notifications that are passed to the SDK; all others are only logged."""
_RATE, _BURST = 50.0, 200.0
"""The limits for messages other than answers: per second, and at once."""
_ID_FIRST = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]{1,100}"|\d{1,18})\s*,'
)
_ID_LAST = re.compile(
    rb',\s*"id"\s*:\s*("[^"\\]{1,100}"|\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z'
)
"""The id of an undecodable message, at its beginning and at its end."""


class _Envelope(msgspec.Struct):
    """The members that distinguish answers, requests and notifications."""

    method: str | None = None
    id: int | str | None = None


class Guard:
    """Filters incoming messages; outgoing messages are passed to it, so that it knows the expected answers."""

    def __init__(self, log: ProtocolLog) -> None:
        self._log = log
        self._waiting: dict[str, int | str] = {}  # the ids of unanswered requests, by their text
        self._room = _BURST  # messages that may pass now
        self._at = time.monotonic()  # when that was counted
        self.first_rambling = ""
        """The first line that is not JSON; some servers log to standard output."""

    def sent(self, message: JSONRPCMessage) -> str:
        """Record an outgoing message. Returns its JSON."""
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        method, id = getattr(message, "method", ""), getattr(message, "id", None)
        if method and id is not None:
            self._waiting[str(id)] = id
        self._log.add("sent", text, method=method, id=id)
        return text

    def take(self, line: Line) -> list[SessionMessage]:
        """The messages of a line of output."""
        if not line.whole:
            return self._too_long(line)
        if not line.data.lstrip().startswith(b"{"):
            return self._no_message(line, "it is not a JSON object")
        try:
            envelope = msgspec.json.decode(line.data, type=ready(_Envelope))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return self._no_message(line, str(error))
        if envelope.method is not None:
            return self._unasked(line, envelope.method, envelope.id)
        return self._answer(line, envelope.id)

    def admits(self, message: JSONRPCMessage) -> bool:
        """Whether an already decoded message may pass; logs it in either case."""
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        match message:
            case JSONRPCRequest() | JSONRPCNotification():
                return self._pass(text, message.method, getattr(message, "id", None), len(text))
            case JSONRPCResponse() | JSONRPCError():
                self._waiting.pop(str(message.id), None)
                self._log.add("received", text, id=message.id)
        return True

    def _unasked(self, line: Line, method: str, id: int | str | None) -> list[SessionMessage]:
        if not self._pass(line.data, method, id, line.size):
            return []
        try:
            message = jsonrpc_message_adapter.validate_json(line.data, by_name=False)
        except ValidationError as error:
            self._log.add("dropped", line.data, method=method, note=_reason(error))
            return []
        if isinstance(message, JSONRPCResponse | JSONRPCError):  # it has both a method and a result
            return self._answer(line, id)
        return [SessionMessage(message)]

    def _pass(self, text: str | bytes, method: str, id: int | str | None, size: int) -> bool:
        if id is None and method not in _TO_SDK:  # only logged, for users
            self._log.add("received", text, method=method, size=size)
            return False
        now = time.monotonic()
        self._room = min(_BURST, self._room + (now - self._at) * _RATE)
        self._at = now
        if self._room < 1:
            self._log.add("dropped", text, method=method, id=id, size=size, note="too many at a time")
            return False
        self._room -= 1
        self._log.add("received", text, method=method, id=id, size=size)
        return True

    def _answer(self, line: Line, id: int | str | None) -> list[SessionMessage]:
        waiting = self._waiting.pop(str(id), None)
        if waiting is None:
            note = "a response without a request" if id is not None else "not a JSON-RPC message"
            self._log.add("dropped", line.data, id=id, note=note)
            return []
        try:
            line.data.decode()
            message = jsonrpc_message_adapter.validate_json(line.data, by_name=False)
        except UnicodeDecodeError as error:
            where = f"byte 0x{line.data[error.start]:02X} at {error.start}"
            return [self._refuse(line, waiting, f"The server's answer is not UTF-8: {where}.")]
        except ValidationError as error:
            return [self._refuse(line, waiting, f"The server's answer is not JSON-RPC: {_reason(error)}.")]
        self._log.add("received", line.data, id=id)
        return [SessionMessage(message)]

    def _no_message(self, line: Line, why: str) -> list[SessionMessage]:
        """Handle a line that is not a message: if it is a broken answer, its request gets an error."""
        if found := self._find(line.data, line.data[-4096:]):
            return [self._refuse(line, found, f"The server's answer is not JSON-RPC: {why}.")]
        self._log.add("dropped", line.data, note="not a JSON-RPC message")
        if not self.first_rambling:
            self.first_rambling = self._log.hide(line.data[:200].decode("utf-8", "replace").strip())
        return []

    def _too_long(self, line: Line) -> list[SessionMessage]:
        message = (
            f"The server sent {byte_size(line.size)} in one message; at most {byte_size(MAX_LINE)} are read."
        )
        if found := self._find(line.data, line.tail):
            return [self._refuse(line, found, message)]
        if not line.data.lstrip().startswith(b"{"):
            self._log.add("dropped", line.data, size=line.size, note="not a JSON-RPC message, and too long")
            return []
        waiting = list(self._waiting.values())  # the request is unknown
        self._waiting.clear()
        if not waiting:
            self._log.add("dropped", line.data, size=line.size, note="too long")
        return [self._refuse(line, each, message) for each in waiting]

    def _find(self, head: bytes, tail: bytes) -> int | str | None:
        """The request answered by an unreadable text, found at its beginning or end."""
        found = _ID_FIRST.match(head) or _ID_LAST.search(tail)
        return self._waiting.pop(found[1].decode("utf-8", "replace").strip('"'), None) if found else None

    def _refuse(self, line: Line, id: int | str, message: str) -> SessionMessage:
        self._log.add("dropped", line.data, id=id, size=line.size, note=message)
        return SessionMessage(
            JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=LOCAL_ERROR, message=message))
        )


def _reason(error: ValidationError) -> str:
    """The error nearest to an answer, with the member that it is about: `error.message: Field required`."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    answers = [each for each in errors if each["loc"][:1] in (("JSONRPCResponse",), ("JSONRPCError",))]
    nearest = max(answers or errors, key=lambda each: len(each["loc"]))
    # the first step names a kind of message of the SDK, not a member of the answer
    member = ".".join(map(str, nearest["loc"][1:] if answers else nearest["loc"]))
    return f"{member}: {nearest['msg']}"[:200] if member else str(nearest["msg"])[:200]
