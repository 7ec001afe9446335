"""The interface of a source of tools: a list of tools, and calls that return or can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, Unpack

from glyphscope.events import ToolContent
from glyphscope.registry import Tool

Progress: TypeAlias = Callable[[float, float | None, str], None]
"""Called with the progress of a call: done, total (None where it is not known), and words."""

Fault: TypeAlias = Literal["", "tool", "protocol", "timeout", "cancelled", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a call. `fault` is empty after success.

    `tool` is the tool's own error: the model gets it, and may correct its call. `protocol` is the server's; `timeout`
    and `cancelled` are ours, `unknown` a tool that the source does not have. `message` is in words for all of them.
    `roles` are those of a prompt's messages, one for each piece; `findings` is where a resource or a prompt is not as
    declared. `waited` are the seconds in which an MCP server waited for the user's answer to its request.
    """

    content: tuple[ToolContent, ...] = ()
    structured: Any = None
    fault: Fault = ""
    message: str = ""
    schema_problems: tuple[str, ...] = field(default=())
    findings: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    waited: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.fault


def is_asking(source: object) -> bool:
    """Whether a source waits for a person's answer to its request, as an MCP server may."""
    return bool(getattr(source, "questions", ()))


class CallOptions(TypedDict):
    """How long a call is waited for: so many `seconds`, and until `cancel` is set. `progress` gets its reports."""

    seconds: float
    cancel: threading.Event
    progress: NotRequired[Progress | None]


class ToolSource(Protocol):
    """Demo tools, or a connected MCP server. Every method may be called from any thread."""

    @property
    def name(self) -> str:
        """Under which the request's `sources` know it."""

    @property
    def identity(self) -> str:
        """The identity that a permission is bound to: a command line, an address, or the name of a bundled source."""

    def tools(self) -> tuple[Tool, ...]:
        """The present tools; they may change while the source is open."""

    def claims(self, tool: str) -> dict[str, Any]:
        """The annotations that the tool declares (MCP); empty where it has none."""

    def call(self, tool: str, arguments: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        """Executes it and waits, at most `seconds` and until `cancel` is set.

        Never raises for errors of a tool, a server or the arguments: these are outcomes. Any other exception is a bug
        and ends the run.
        """

    def close(self) -> None:
        """Ends its processes, connections and threads. May be called again."""
