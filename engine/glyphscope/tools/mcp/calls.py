"""The messages between the thread of a server and its callers."""

from __future__ import annotations

import queue
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyio import CancelScope


@dataclass(frozen=True, kw_only=True)
class About:
    """The facts that a server declares. `features`: `logging`, `resources/subscribe`, and other capabilities."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    instructions: str = ""
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Progressed:
    done: float
    total: float | None
    message: str


@dataclass(frozen=True)
class Answered:
    result: dict[str, Any]


@dataclass(frozen=True)
class Refused:
    """The call was answered with an error of the protocol, or with none at all."""

    message: str


def before_it_answered(why: str, stderr: str) -> str:
    """The outcome of a call whose server ended."""
    last = stderr.rstrip().rpartition("\n")[2].strip()
    return f"{why.rstrip('.')} before it answered." + (f" Its last words: {last[:300]}" if last else "")


@dataclass(eq=False)
class Call:
    """A request under way; `replies` ends with the `Answered` or `Refused` of the server, unless it is abandoned."""

    method: str
    params: dict[str, Any]
    replies: queue.SimpleQueue[Progressed | Answered | Refused] = field(default_factory=queue.SimpleQueue)
    scope: CancelScope | None = None
    abandoned: bool = False
