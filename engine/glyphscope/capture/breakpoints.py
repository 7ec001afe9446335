"""Breakpoints of a capture: requests and answers that wait for a person, who edits them, sends them on or drops them.

A paused request was not sent to the server yet; a paused answer has come whole, and none of it was sent to the agent.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple, TypeAlias

import anyio
import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.shorten import listed, shorten
from glyphscope.capture.answer_calls import Document, calls_text, documents, with_calls
from glyphscope.capture.exchange import Answered, Asked, Ended, Exchange, PauseEnd, Piece, Side
from glyphscope.capture.recording import CapturedCall, calls_of
from glyphscope.capture.requests import api_of

PAUSE_SECONDS = 300.0
"""The longest time that something waits: the clients of agents stop waiting after ten minutes."""
ALL, VIOLATION, TOOL = "all", "violation", "tool:"
MAX_EDITED = 32_000_000
"""Bytes of an edit."""
_SHOWN, _MAX_WORDS = 4, 120

_NOWHERE = "http://127.0.0.1"
"""The address of an edited answer's server, which no verdict depends on."""

Choice: TypeAlias = Literal["send", "drop"]


class BreakRules(NamedTuple):
    """The rules: all requests, answers with a call that is not valid, answers that call one of these tools."""

    requests: bool = False
    violations: bool = False
    tools: frozenset[str] = frozenset()

    @property
    def answers(self) -> bool:
        """Whether answers are read whole before they are sent on, as any may have to wait."""
        return self.violations or bool(self.tools)

    def why(self, calls: Iterable[CapturedCall]) -> str:
        """Why an answer with these calls is paused; empty if it is not."""
        calls = list(calls)
        called = dict.fromkeys(call.tool for call in calls if call.tool in self.tools)
        reasons = (
            f"It calls {listed(list(called), _SHOWN)}." if called else "",
            not_valid(calls) if self.violations else "",
        )
        return " ".join(filter(None, reasons))


NOTHING = BreakRules()


def not_valid(calls: Iterable[CapturedCall]) -> str:
    """The calls that are not valid, with the reason of each; empty if all are."""
    wrong = [
        f"{call.tool or 'a call'} ({call.code}{f': {shorten(call.message, _MAX_WORDS)}' if call.message else ''})"
        for call in calls
        if not call.valid
    ]
    return f"Not valid: {listed(wrong, _SHOWN)}." if wrong else ""


def read_rules(texts: Sequence[str]) -> BreakRules:
    """The rules that a user wrote: `all`, `violation` and `tool:NAME`. Raises GlyphscopeError."""
    tools = [text.removeprefix(TOOL).strip() for text in texts if text.startswith(TOOL)]
    wrong = [text for text in texts if text not in (ALL, VIOLATION) and not text.startswith(TOOL)]
    if wrong or "" in tools:
        raise GlyphscopeError(
            "Unknown breakpoint.",
            where=f"--hold {(wrong or [TOOL])[0]}",
            hint="Write all (each request), violation (each answer with an invalid call) or tool:NAME.",
        )
    return BreakRules(ALL in texts, VIOLATION in texts, frozenset(tools))


class Paused(msgspec.Struct, frozen=True, kw_only=True, tag="paused"):
    """The body of the request or answer `number`, of content type `kind`, which waits for at most `seconds`.

    `asked` is the body of the request that the server got, empty before.
    """

    number: int
    side: Side
    path: str
    model: str
    why: str
    kind: str
    body: bytes
    seconds: float
    asked: bytes = b""

    @property
    def text(self) -> str | None:
        """The body as text; None if it is not UTF-8, and cannot be edited."""
        with suppress(UnicodeDecodeError):
            return self.body.decode()
        return None

    @property
    def calls(self) -> str:
        """The calls of an answer as JSON: the name and the arguments of each. Empty if there are none."""
        return calls_text(self.path, self.kind, self.body) if self.side == "answer" else ""

    def with_calls(self, text: str) -> bytes:
        """The body with the arguments of an edited text of `calls`. Raises GlyphscopeError, as `with_calls`."""
        return with_calls(self.path, self.kind, self.body, text)

    def verdict(self, body: bytes) -> str:
        """The calls of an edited answer that are not valid by the tools of the request, as `not_valid`.

        Raises an Exception with the reason if they cannot be judged.
        """
        asked = Asked(self.number, api_of(self.path) or "chat", self.path, "", _NOWHERE, self.asked)
        answered, piece = Answered(0.0, 200, self.kind), Piece(0.0, body)
        return not_valid(calls_of(Exchange(asked, answered, (piece,), Ended(0.0, "server"))))


class Decision(msgspec.Struct, frozen=True, tag="decision"):
    """The decision on a paused request or answer. A `body` is sent in its place."""

    number: int
    side: Side
    choice: Choice
    body: bytes | None = None


class Released(msgspec.Struct, frozen=True, tag="released"):
    """The request or answer no longer waits."""

    number: int
    side: Side
    end: PauseEnd


class Breakpoints:
    """Keeps what waits. `paused` and `released` are called in the loop's thread, `decide` in any."""

    def __init__(
        self,
        rules: BreakRules,
        seconds: float,
        paused: Callable[[Paused], None],
        released: Callable[[Released], None],
    ) -> None:
        self.rules, self.seconds = rules, seconds
        self._paused, self._released = paused, released
        self._lock, self._has_ended = threading.Lock(), False
        self._waiting: dict[
            tuple[int, Side], tuple[Paused, asyncio.Future[tuple[PauseEnd, bytes | None]]]
        ] = {}

    async def wait(self, paused: Paused) -> tuple[PauseEnd, bytes | None]:
        """How the wait ended, and the bytes to send if they were edited."""
        future: asyncio.Future[tuple[PauseEnd, bytes | None]] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._has_ended:
                return "stop", None
            self._waiting[paused.number, paused.side] = paused, future
        end: PauseEnd = "agent"  # it left, unless something else happens
        body = None
        try:
            self._paused(paused)
            with anyio.move_on_after(self.seconds) as limit:
                end, body = await future
            if limit.cancelled_caught:
                end = "late"
        finally:
            with self._lock:
                del self._waiting[paused.number, paused.side]
            self._released(Released(paused.number, paused.side, end))
        return end, body

    def decide(self, decision: Decision) -> None:
        """Release what waits. Raises GlyphscopeError if it no longer does, and for an edit that is not valid."""
        with self._lock:
            paused, future = self._waiting.get((decision.number, decision.side), (None, None))
        if paused is None or future is None:
            raise GlyphscopeError(f"The {decision.side} {decision.number} no longer waits.")
        body = None if decision.body == paused.body else decision.body
        if body is not None:
            check_edit(paused, body)
        end: PauseEnd = "dropped" if decision.choice == "drop" else "sent" if body is None else "edited"
        _settle(future, end, body)

    def end(self) -> None:
        """Release everything, also what comes later: the capture ends."""
        with self._lock:
            self._has_ended = True
            waiting = list(self._waiting.values())
        for _, future in waiting:
            _settle(future, "stop", None)


def _settle(future: asyncio.Future[tuple[PauseEnd, bytes | None]], end: PauseEnd, body: bytes | None) -> None:
    def settle() -> None:
        if not future.done():
            future.set_result((end, body))

    with suppress(RuntimeError):  # the loop has ended
        future.get_loop().call_soon_threadsafe(settle)


def check_edit(paused: Paused, body: bytes) -> None:
    """Raises GlyphscopeError for an edit that is not what its content type says, with the place."""
    what = f"The edited {paused.side} is not valid JSON"
    hint = "Correct it, or send the original."
    if len(body) > MAX_EDITED:
        raise GlyphscopeError(f"The edited {paused.side} is too large.", hint=hint)
    at = Document(1, 1, 0, 0)
    try:
        text = body.decode()
        for at in documents("" if paused.side == "request" else paused.kind, text):
            read = json.loads(text[at.start : at.end])
            if paused.side == "request" and not isinstance(read, dict):
                raise GlyphscopeError("The edited request is not a JSON object.", hint=hint)
    except UnicodeDecodeError:
        raise GlyphscopeError(f"{what}: it is not UTF-8.", hint=hint) from None
    except json.JSONDecodeError as error:
        column = error.colno + (at.column - 1 if error.lineno == 1 else 0)
        place = f"line {at.line + error.lineno - 1}, column {column}"
        raise GlyphscopeError(f"{what}: {error.msg}.", where=place, hint=hint) from None
    except RecursionError:
        raise GlyphscopeError(f"{what}: it is nested too deeply.", hint=hint) from None
