"""The events of a call's execution: its approval, its start and progress, and its result."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.events.base import Code, Count, Milliseconds, RunEvent

ContentKind: TypeAlias = Literal["text", "image", "audio", "resource", "link"]


class ToolContent(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a tool's result. `data` has content other than text; `size` is its bytes, also if `data` was
    omitted.
    """

    kind: ContentKind = "text"
    text: str = ""
    data: bytes = b""
    mime: str = ""
    uri: str = ""
    name: str = ""
    size: Count = 0


class ApprovalNeeded(RunEvent, frozen=True, kw_only=True, tag="approval_needed"):
    """A call waits for a person. `identity` is the command line or the URL that a permanent permission is bound to;
    `claims` are the tool's annotations (read-only, destructive …), which are not verified.
    """

    call: str
    tool: str
    arguments: dict[str, Any]
    source: str
    identity: str = ""
    claims: dict[str, Any] = msgspec.field(default_factory=dict)


class ApprovalGiven(RunEvent, frozen=True, kw_only=True, tag="approval_given"):
    """The decision on a call: `arguments` are those that are used, `edited` if a person changed them.

    `scope` is the scope of the decision, `by` who made it: a person, a rule of the request, or `nobody` (no one
    could answer, so the call is denied).
    """

    call: str
    action: Literal["allow", "deny"]
    arguments: dict[str, Any]
    edited: bool = False
    scope: Literal["once", "run", "tool", "source"] = "once"
    by: Literal["person", "rule", "nobody"] = "person"
    reason: str = ""


class ToolStarted(RunEvent, frozen=True, kw_only=True, tag="tool_started"):
    """The execution of a call begins."""

    call: str
    tool: str
    source: str
    arguments: dict[str, Any]


class ToolProgressed(RunEvent, frozen=True, kw_only=True, tag="tool_progressed"):
    """Progress of a tool; `total` is None if unknown."""

    call: str
    done: float
    total: float | None = None
    message: str = ""


class ToolResult(RunEvent, frozen=True, kw_only=True, tag="tool_result"):
    """The result of a call, for every call: `ok` False with a `code` also if it did not run.

    `fault` distinguishes an error of the tool (`tool`: the model gets it, and can try again), of the protocol, a
    timeout, a stop, a refusal, and a guardrail. `told` is exactly the text that the model gets; `bytes` is the size
    of the result before it was cut. `schema_problems` are violations of the tool's own output schema by `structured`.
    `ms` is the time of the call without the time in which somebody was asked: `waited_ms`, in which its server waited
    for an answer of the user, and the wait for an approval, which is between `ApprovalNeeded` and `ApprovalGiven`.
    """

    call: str
    tool: str
    source: str
    ok: bool
    code: Code | None = None
    fault: Literal["", "tool", "protocol", "timeout", "cancelled", "denied", "guard", "unknown"] = ""
    message: str = ""
    content: tuple[ToolContent, ...] = ()
    structured: Any = None
    schema_problems: tuple[str, ...] = ()
    sent: str = msgspec.field(default="", name="told")
    bytes: Count = 0
    ms: Milliseconds = 0.0
    waited_ms: Milliseconds = 0.0


ExecutionEvent: TypeAlias = ApprovalNeeded | ApprovalGiven | ToolStarted | ToolProgressed | ToolResult
"""The kinds of these events."""
