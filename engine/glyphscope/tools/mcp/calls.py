"""A request to a server and its replies, exchanged between the server's thread and its callers in other threads."""

from __future__ import annotations

import queue
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyio import CancelScope


@dataclass(frozen=True, kw_only=True)
class About:
    """The facts that a server declares. `features`: `logging`, `resources/subscribe`, and other capabilities.

    `isolated`: a new start forgets the effects of calls in its memory, as it is a new process or HTTP session.
    """

    name: str = ""
    version: str = ""
    protocol: str = ""
    instructions: str = ""
    features: tuple[str, ...] = ()
    isolated: bool = False


@dataclass(frozen=True)
class CallProgress:
    """`done` of `total` steps, in a unit of the tool's choice; `total` is None if unknown."""

    done: float
    total: float | None
    message: str


@dataclass(frozen=True)
class CallResult:
    """The result sent by the server, as plain JSON; the result of a tool may be an error of the tool."""

    result: dict[str, Any]


@dataclass(frozen=True)
class CallFailure:
    """The server returned a JSON-RPC error, or ended without an answer."""

    message: str


def before_it_answered(why: str, stderr: str) -> str:
    """The failure message of a call whose server ended: the reason `why`, and the last line of its standard error."""
    last = stderr.rstrip().rpartition("\n")[2].strip()
    return f"{why.rstrip('.')} before it answered." + (f" Its last output: {last[:300]}" if last else "")


@dataclass(eq=False)
class ServerCall:
    """A request in progress. `replies` ends with a `CallResult` or a `CallFailure`, unless its caller no longer waits
    (`abandoned`). `scope` cancels it in the server's loop.
    """

    method: str
    params: dict[str, Any]
    replies: queue.SimpleQueue[CallProgress | CallResult | CallFailure] = field(
        default_factory=queue.SimpleQueue
    )
    scope: CancelScope | None = None
    abandoned: bool = False
