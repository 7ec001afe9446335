"""The interface of a source of tools: a list of tools, and calls that return or can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NotRequired, Protocol, TypeAlias, TypedDict, Unpack

from glyphscope.base.plugins import PluginGroup
from glyphscope.events import ToolContent
from glyphscope.registry import Tool

Progress: TypeAlias = Callable[[float, float | None, str], None]
"""Called with the progress of a call: done, total (None if unknown), and words."""

Fault: TypeAlias = Literal["", "tool", "protocol", "timeout", "cancelled", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a call. `fault` is empty after success.

    `tool` is an error of the tool: the model gets it and may correct its call. `protocol` is an error of the server;
    `timeout` and `cancelled` are ours; `unknown` is a tool that the source does not have. `message` explains all of
    them. `roles` are the roles of a prompt's messages, one per piece; `findings` are deviations of a resource or prompt
    from its declaration. `waited` are the seconds in which an MCP server waited for the user's answer to its request.
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
    """Whether a source is waiting for the user's answer to its request, as an MCP server may."""
    return bool(getattr(source, "questions", ()))


TRACEPARENT: ContextVar[str] = ContextVar("traceparent", default="")
"""The trace context (W3C) of the call that this thread makes; empty for none."""


class CallOptions(TypedDict):
    """The limits of waiting for a call: at most `seconds`, and until `cancel` is set. `progress` gets its reports."""

    seconds: float
    cancel: threading.Event
    progress: NotRequired[Progress | None]


class ToolSource(Protocol):
    """The demo tools or a connected MCP server. Every method may be called from any thread."""

    @property
    def name(self) -> str:
        """Its name in the request's `sources`."""

    @property
    def identity(self) -> str:
        """The identity to which permissions are bound: a command line, an address, or the name of a bundled source."""

    def tools(self) -> tuple[Tool, ...]:
        """The current tools; they may change while the source is open."""

    def claims(self, tool: str) -> dict[str, Any]:
        """The annotations that the tool declares (MCP); empty if it has none."""

    def call(self, tool: str, arguments: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        """Execute the tool and wait, at most `seconds` and until `cancel` is set.

        Never raises for errors of a tool, a server or the arguments: these are outcomes. Any other exception is a bug
        and ends the run.
        """

    def close(self) -> None:
        """End its processes, connections and threads. May be called repeatedly."""


Answer: TypeAlias = tuple[str, dict[str, Any]]
"""A result as text, and as structured data."""
Answering: TypeAlias = Callable[..., Answer | Awaitable[Answer]]
"""The function of a tool of a server, called with its arguments. A GlyphscopeError is the answer, as an error."""


class ToolFunctions(NamedTuple):
    """Tools that only compute: each function takes the arguments of the tool of its name, and raises ToolError."""

    tools: Callable[[], Sequence[Tool]]
    functions: Mapping[str, Callable[..., Answer]]


TOOLS: PluginGroup[ToolFunctions] = PluginGroup("glyphscope.tools", ToolFunctions)
