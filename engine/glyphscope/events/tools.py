"""What becomes of a call: whether it may run, that it runs, and what came back."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.events.base import Code, RunEvent

ContentKind: TypeAlias = Literal["text", "image", "audio", "resource", "link"]


class ToolContent(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a tool's answer. `data` is what is not text; `size` its bytes, also where `data` was left out."""

    kind: ContentKind = "text"
    text: str = ""
    data: bytes = b""
    mime: str = ""
    uri: str = ""
    name: str = ""
    size: int = 0


class ApprovalNeeded(RunEvent, frozen=True, kw_only=True, tag="approval_needed"):
    """A call waits for a person. `identity` is the command line or the address that a standing permission is bound to;
    `claims` is what the tool says of itself (read-only, destructive …): its word, nothing that was checked.
    """

    call: str
    tool: str
    arguments: dict[str, Any]
    source: str
    identity: str = ""
    claims: dict[str, Any] = msgspec.field(default_factory=dict)


class ApprovalGiven(RunEvent, frozen=True, kw_only=True, tag="approval_given"):
    """What was decided: `arguments` are those that run, `edited` where a person changed them.

    `scope` is how far the decision reaches, `by` who took it: a person, a rule of the request, or nobody (there was
    nobody to ask, so the call is denied).
    """

    call: str
    action: Literal["allow", "deny"]
    arguments: dict[str, Any]
    edited: bool = False
    scope: Literal["once", "run", "tool", "source"] = "once"
    by: Literal["person", "rule", "nobody"] = "person"
    reason: str = ""


class ToolStarted(RunEvent, frozen=True, kw_only=True, tag="tool_started"):
    """A call is carried out."""

    call: str
    tool: str
    source: str
    arguments: dict[str, Any]


class ToolProgressed(RunEvent, frozen=True, kw_only=True, tag="tool_progressed"):
    """A tool that takes its time says how far it is; `total` None where it does not know."""

    call: str
    done: float
    total: float | None = None
    message: str = ""


class ToolResult(RunEvent, frozen=True, kw_only=True, tag="tool_result"):
    """What came of a call, in every case: `ok` False with a `code` also where it did not run at all.

    `fault` tells the tool's own error (`tool`: the model is told, and may do better) from one of the protocol, a time
    out, a stop, a refusal, and a guardrail. `told` is the text the model gets, exactly; `bytes` is the size of the
    answer before it was cut. `schema_problems` is where `structured` breaks the tool's own output schema. `ms` is the
    call's time; the time until a person approved it lies between `ApprovalNeeded` and `ApprovalGiven`.
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
    told: str = ""
    bytes: int = 0
    ms: float = 0.0
