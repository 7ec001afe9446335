"""What `glyphscope check --json` prints."""

from __future__ import annotations

from typing import Any

import msgspec

from glyphscope.events import Code, Status


class CheckError(msgspec.Struct, frozen=True):
    """A violation, as `events.Violation` has it."""

    code: Code
    message: str
    path: str
    char: int
    token: int
    rule: str
    viable: str


class CheckField(msgspec.Struct, frozen=True):
    """A member of the call: the characters `start` to `end` (exclusive) are its value."""

    path: str
    start: int
    end: int
    status: Status


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one text. `arguments` is None unless the call is complete."""

    complete: bool
    valid: bool
    tool: str | None
    tool_allowed: bool
    tool_char: int | None
    arguments: dict[str, Any] | None
    errors: list[CheckError]
    fields: list[CheckField]
    chars: int
    tokens: int
    stopped_at: int | None = None
