"""The span of a call in a rendering: the smallest part that contains its name and its arguments."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from glyphscope.text.json_values import read_json
from glyphscope.turns.form import CallObject
from glyphscope.turns.probe import NAMES, VALUES, SampleCall

_OPENING = re.compile(r'[{"]')


class Span(NamedTuple):
    """The span of one call, `start` to `end`: from its name or object to the end of its arguments."""

    start: int
    end: int
    object: CallObject | None
    as_string: bool


def find_span(text: str, call: SampleCall) -> Span | None:
    """The span of a call in a rendering: a JSON object, or from its name to the end of its arguments."""
    at = text.find(call.name)
    found = _object_span(text, at, call)
    if found is not None:
        return found
    last = text.rfind(VALUES[NAMES.index(call.name)])
    for opening in _OPENING.finditer(text, at):
        value, end = _decode(text, opening.start())
        if value == call.arguments:
            return Span(at, end, None, False)
        if isinstance(value, str) and _decode(value, 0)[0] == call.arguments:
            return Span(at, end, None, True)
    if last < 0:
        return None
    return Span(at, last + len(VALUES[0]), None, False)


def _decode(text: str, start: int) -> tuple[Any, int]:
    return read_json(text, start) or (None, start)


def _object_span(text: str, name_at: int, call: SampleCall) -> Span | None:
    """The smallest JSON object around the name that is a call, or the object around that if it wraps the call."""
    for start in range(name_at, -1, -1):
        if text[start] != "{":
            continue
        value, end = _decode(text, start)
        if not isinstance(value, dict) or end <= name_at:
            continue
        if set(value) == {call.name}:
            return Span(start, end, CallObject("", ""), isinstance(value[call.name], str))
        name_key = next((key for key, item in value.items() if item == call.name), "")
        arguments_key = next((key for key, item in value.items() if _is_arguments(item, call)), "")
        if not name_key or not arguments_key:
            return None
        id_key = next((key for key, item in value.items() if key not in (name_key, arguments_key)
                       and (item == call.id or str(item).isdigit())), "")  # fmt: skip
        wrapper, start, end = _wrapper(text, start, end, value)
        found = CallObject(name_key, arguments_key, id_key, wrapper)
        return Span(start, end, found, isinstance(value[arguments_key], str))
    return None


def _is_arguments(item: Any, call: SampleCall) -> bool:
    return bool(item == call.arguments or (isinstance(item, str) and _decode(item, 0)[0] == call.arguments))


def _wrapper(text: str, start: int, end: int, inner: dict[str, Any]) -> tuple[str, int, int]:
    outside = text.rfind("{", 0, start)
    value, stop = _decode(text, outside) if outside >= 0 else (None, 0)
    if isinstance(value, dict) and stop > end:
        key = next((key for key, item in value.items() if item == inner), "")
        if key:
            return key, outside, stop
    return "", start, end
