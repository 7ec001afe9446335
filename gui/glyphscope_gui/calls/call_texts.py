"""A call in words: the tool's annotations, and its arguments as JSON of limited length; no Qt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from glyphscope_gui.shared.language import tr

MAX_LENGTH = 20_000
"""Characters of a text that are shown."""


_HINTS = {
    ("readOnlyHint", True): tr("read-only"),
    ("readOnlyHint", False): tr("not read-only"),
    ("destructiveHint", True): tr("destructive"),
    ("destructiveHint", False): tr("not destructive"),
    ("idempotentHint", True): tr("idempotent"),
    ("openWorldHint", True): tr("open world"),
    ("openWorldHint", False): tr("closed world"),
}
"""MCP's annotations of a tool, by name and value; `idempotentHint` false is the default, and carries no information."""


def hint_words(claims: Mapping[str, Any]) -> str:
    """The annotations that MCP defines, in its order; "" if a tool has none."""
    return ", ".join(words for (name, value), words in _HINTS.items() if claims.get(name) is value)


def claim_words(claims: dict[str, Any]) -> list[str]:
    """All annotations of a tool as claims by its server, which are not verified."""
    words = []
    for name, value in claims.items():
        if isinstance(value, bool) and (name, value) in _HINTS:
            words.append(_HINTS[name, value])
        elif name == "title" and isinstance(value, str):
            words.append(tr("title “{title}”", title=value[:60]))
        elif not isinstance(value, bool):
            words.append(
                tr(
                    "{name}: {value}",
                    name=name,
                    value=json.dumps(value, ensure_ascii=False, default=str)[:60],
                )
            )
    return words


def json_text(value: Any) -> str:
    """Indented JSON, or its beginning: a long value is not written to its end."""
    try:
        return cut(beginning(value, MAX_LENGTH))
    except (RecursionError, ValueError):
        return tr("Nested too deeply to show.")


def cut(text: str) -> str:
    """The text, or its beginning with a note that there is more: the record has all of it."""
    return (
        text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}\n… " + tr("The record has the whole text.")
    )


def argument_text(value: Any) -> str:
    """An argument in full: a string unchanged, any other value as JSON on one line."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return json_text(value)


_ENCODER = json.JSONEncoder(indent=2, ensure_ascii=False, default=str)


def beginning(value: Any, most: int) -> str:
    """The first characters of a value's JSON, `most` + 1 if there are more: the rest is not written.

    Raises ValueError and RecursionError.
    """
    if isinstance(value, str):
        return json.dumps(value[: most + 1], ensure_ascii=False)[: most + 1]
    parts, length = [], 0
    for part in _ENCODER.iterencode(value):
        parts.append(part)
        length += len(part)
        if length > most:
            break
    return "".join(parts)[: most + 1]


def whole_json(value: Any) -> str:
    """The whole JSON of a value. Raises ValueError and RecursionError."""
    return _ENCODER.encode(value)
