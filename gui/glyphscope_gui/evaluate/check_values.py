"""The values of checks as written in a field: text unchanged, everything else as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.suites.call_form import CheckKind, PathTest
from glyphscope.text.json_values import json_or_text
from glyphscope_gui.shared.language import tr

_BETWEEN = "|"
_KINDS = {list: tr("a JSON array"), dict: tr("a JSON object"), int: tr("a whole number")}


def field_text(kind: CheckKind, value: Any, *, is_text: bool) -> str:
    """Return the text of a check's field; `is_text`: the argument's schema requires a string."""
    return _text(kind, value, lambda one: one if is_text and isinstance(one, str) else _as_json(one))


def field_value(kind: CheckKind, text: str, *, is_text: bool) -> Any:
    """Return the value of a check's field. Raises GlyphscopeError for invalid JSON where JSON is required."""
    return _read(kind, text, (lambda one: one) if is_text else (lambda one: _json(one, object)))


def loose_text(test: PathTest, value: Any) -> str:
    """Return the text of a JSONPath's field: plain text if that is unambiguous, otherwise JSON."""
    return _text(
        test, value, lambda one: one if isinstance(one, str) and json_or_text(one) == one else _as_json(one)
    )


def loose_value(test: PathTest, text: str) -> Any:
    """Return the value of a JSONPath's field. Raises GlyphscopeError."""
    return _read(test, text, json_or_text)


def _text(kind: CheckKind | PathTest, value: Any, text_of: Callable[[Any], str]) -> str:
    """The text from which `_read` reads the value."""
    match kind:
        case "optional" | "exists":
            return ""
        case "matches":
            return str(value)
        case "one_of":
            parts = [text_of(each) for each in value]
            is_ambiguous = any(
                _BETWEEN in part or part != part.strip() or part.startswith("[") for part in parts
            )
            return _as_json(value) if is_ambiguous or not parts else f" {_BETWEEN} ".join(parts)
    return text_of(value)


def _read(kind: CheckKind | PathTest, text: str, value_of: Callable[[str], Any]) -> Any:
    match kind:
        case "optional" | "exists":
            return None
        case "matches":
            return text
        case "schema":
            return _json(text, dict)
        case "count":
            return _json(text, int)
        case "one_of" if text.lstrip().startswith("["):
            return _json(text, list)
        case "one_of":
            return [value_of(each.strip()) for each in text.split(_BETWEEN)]
    return value_of(text)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json(text: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = ...
    if value is ... or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        expected = _KINDS.get(kind) or tr("JSON")
        raise GlyphscopeError(tr("{text} is not {wanted}.", text=text.strip()[:60] or "“”", wanted=expected))
    return value
