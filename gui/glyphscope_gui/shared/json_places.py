"""The position of each value in a JSON text: from a JSON Pointer to a line and a column, for editors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from glyphscope.base.lines import line_and_column
from glyphscope.registry.document import is_too_deep
from glyphscope.registry.places import TextPlace, find_places, scan
from glyphscope_gui.shared.language import tr


@dataclass(frozen=True)
class TextProblem:
    """An error in a text; `line` and `column` count from 1, `pointer` is empty for a JSON syntax error."""

    message: str
    pointer: str
    line: int
    column: int
    start: int
    end: int


def _repeated_name(text: str) -> TextProblem | None:
    """The first repeated name within an object: JSON readers would silently drop the first value."""
    seen: set[str] = set()
    for pointer, place, is_name in scan(text):
        if is_name and pointer in seen:
            return _problem(text, pointer, place, tr("Duplicate name."))
        if is_name:
            seen.add(pointer)
    return None


def located(text: str, problems: Iterable[tuple[str, str]]) -> tuple[TextProblem, ...]:
    """Return problems at JSON Pointers, with their places in the text; for a long value, its first line."""
    listed = list(problems)
    found = find_places(text, [pointer for pointer, _ in listed])
    return tuple(
        _problem(text, pointer, place, message)
        for (pointer, message), place in zip(listed, found, strict=True)
    )


def _problem(text: str, pointer: str, place: TextPlace, message: str) -> TextProblem:
    line_end = text.find("\n", place.start)
    end = place.end if line_end < 0 else min(place.end, line_end)
    line, column = line_and_column(text, place.start)
    return TextProblem(message, pointer, line, column, place.start, max(end, place.start + 1))


def parse_object(text: str) -> dict[str, Any] | TextProblem:
    """Return the JSON object in a text, or the problem of the text with its place."""
    repeated = False

    def to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(pairs)
        repeated = repeated or len(found) < len(pairs)
        return found

    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=to_dict)
        if is_too_deep(document):
            raise RecursionError
    except json.JSONDecodeError as error:
        return TextProblem(
            _plain(error.msg), "", error.lineno, error.colno, error.pos, min(error.pos + 1, max(len(text), 1))
        )
    except RecursionError:
        return TextProblem(tr("Nested too deeply."), "", 1, 1, 0, 1)
    except ValueError as error:  # NaN or Infinity, or an integer of more than 4,300 digits
        return TextProblem(tr("Invalid JSON: {error}.", error=error), "", 1, 1, 0, 1)
    if not isinstance(document, dict):
        return TextProblem(tr("A schema is a JSON object: it starts with “{”."), "", 1, 1, 0, 1)
    return (_repeated_name(text) if repeated else None) or document


def _refuse_constant(name: str) -> None:
    raise ValueError(tr("{name} is not a JSON number", name=name))


def _plain(message: str) -> str:
    """The parser's message as a sentence."""
    words = {
        "Expecting value": tr("Expected a value."),
        "Expecting property name enclosed in double quotes": tr("Expected a name in double quotes."),
        "Expecting ':' delimiter": tr("Expected a colon."),
        "Expecting ',' delimiter": tr("Expected a comma."),
        "Extra data": tr("Unexpected text after the end of the object."),
        "Unterminated string starting at": tr("This string has no closing quote."),
        "Illegal trailing comma before end of object": tr("Trailing comma."),
        "Illegal trailing comma before end of array": tr("Trailing comma."),
    }
    return words.get(message, message + ".")
