"""The violations of a call that was read as a whole: an unknown tool, and errors by its tool's schema."""

from __future__ import annotations

from typing import Any

import msgspec

from glyphscope.events import Code
from glyphscope.registry.pointer import to_pointer
from glyphscope.turns.read import TurnCall
from glyphscope.turns.tools import TurnTools
from glyphscope.validation.schema import SchemaSet
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
    if call.repeated:
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
        rule = to_pointer(error.absolute_schema_path)
        found.append(CallViolation(code, error.message[:200], path, rule, call.start))
    return found[:MAX_VIOLATIONS]
