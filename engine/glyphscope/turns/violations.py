"""The violations of a call that was read as a whole: an unknown tool, and errors by its tool's schema."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from glyphscope.base.pointer import to_pointer
from glyphscope.events import Code, RunEvent, ToolKnown, Violation
from glyphscope.turns.read import Turn, TurnCall
from glyphscope.turns.tools import TurnTools
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.streaming_validator import JudgedCall
from glyphscope.validation.tools import code_of

MAX_VIOLATIONS = 20
"""The maximum number of violations listed for one call."""


class CallViolation(msgspec.Struct, frozen=True):
    """A broken rule. `path` is a JSON Pointer into the arguments, `rule` one into the tool's schema.

    `char` is the character of the text at which the call begins, or breaks off.
    """

    code: Code
    message: str
    path: str = ""
    rule: str = ""
    char: int = 0


def call_violations(call: TurnCall, tools: TurnTools) -> list[CallViolation]:
    """All violations of a call; empty for a valid one."""
    tool = tools.registry.get(call.name)
    found: list[CallViolation] = []
    if tool is None:
        found.append(CallViolation("UNKNOWN_TOOL", f"there is no tool {call.name!r}", char=call.start))
    elif not tool.enabled:
        found.append(CallViolation("UNKNOWN_TOOL", f"the tool {call.name!r} is not allowed", char=call.start))
    if call.arguments is None:
        at = call.start if call.broken_at is None else call.broken_at
        return [*found, CallViolation("SYNTAX", "the arguments cannot be read", char=at)]
    if call.repeated is not None:
        path = to_pointer([call.repeated]) if call.repeated in call.arguments else ""
        found.append(
            CallViolation("DUPLICATE_ARGUMENT", f"{call.repeated!r} is already given", path, char=call.start)
        )
    if not call.complete:
        found.append(CallViolation("TRUNCATED", "the text ends inside of the call", char=call.end))
    schemas = tools.schemas(call.name)
    if schemas is not None and call.complete:
        found += _by_schema(call, schemas, call.arguments)
    return found


def _by_schema(call: TurnCall, schemas: SchemaSet, arguments: dict[str, Any]) -> list[CallViolation]:
    found: list[CallViolation] = []
    specs = schemas.specs((schemas.top,))
    for name in arguments:
        if specs and all(spec.member(name) is None for spec in specs):
            message = f"{name!r} is not an argument of {call.name}"
            found.append(CallViolation("UNKNOWN_ARGUMENT", message, to_pointer([name]), char=call.start))
    unknown = {each.path for each in found}
    try:
        errors = schemas.checker.errors(arguments, MAX_VIOLATIONS)
    except RecursionError:
        return [*found, CallViolation("LIMIT_EXCEEDED", "the arguments are nested too deep", char=call.start)]
    for error in errors:
        path = to_pointer(error.absolute_path)
        code = code_of(error)
        if code == "UNKNOWN_ARGUMENT" and (path in unknown or (not path and unknown)):
            continue
        rule = schemas.checker.rule_of(error)
        found.append(CallViolation(code, error.message[:200], path, rule, call.start))
    return found[:MAX_VIOLATIONS]


def final_calls(
    turn: Turn,
    streamed: Sequence[JudgedCall],
    shown: Sequence[str | None],
    tools: TurnTools,
    allowed: Collection[str],
    token: int,
    limit: int,
) -> tuple[tuple[JudgedCall, ...], list[RunEvent]]:
    """The calls of the complete turn, `limit` at most, and the events for those that differ from `streamed`, or whose
    tool's name was not `shown`.

    A call that was read in the same way while it was written keeps its violations.
    """
    final: list[JudgedCall] = []
    events: list[RunEvent] = []
    place = 0
    for call in turn.calls[:limit]:
        while place < len(streamed) and streamed[place].end <= call.start:
            place += 1
        seen = streamed[place] if place < len(streamed) and streamed[place].start < call.end else None
        own = () if seen is None else seen.violations
        same = seen is not None and (seen.tool, seen.arguments) == (call.name, call.arguments)
        index = len(final)
        if index >= len(shown) or shown[index] != call.name:
            known = call.name in allowed
            events.append(ToolKnown(name=call.name, allowed=known, char=call.start, call_index=index))
        if not own and not (same and call.complete):
            own = _violations(call, tools, index, token)
            events += own
        final.append(JudgedCall(call.name, call.arguments, call.start, call.end, call.complete, own))
    return tuple(final), events


def not_before(events: list[RunEvent], char: int, token: int) -> list[RunEvent]:
    """The events of what could be text up to a character, which proves that it is a call: none is violated earlier."""
    return [
        msgspec.structs.replace(event, char=char, token=token)
        if isinstance(event, Violation) and event.char < char
        else event
        for event in events
    ]


def _violations(call: TurnCall, tools: TurnTools, index: int, token: int) -> tuple[Violation, ...]:
    return tuple(
        Violation(
            code=each.code, message=each.message, path=each.path, char=max(each.char, 0), token=token, rule=each.rule,
            call_index=index,
        )
        for each in call_violations(call, tools)
    )  # fmt: skip
