"""A call in words: what a tool claims about itself, and its arguments as JSON of bounded length. Without Qt."""

from __future__ import annotations

import json
from typing import Any

from glyphscope_gui.shared.language import tr

LONGEST = 20_000
"""Characters of a text that are shown."""


def claim_words(claims: dict[str, Any]) -> list[str]:
    """What a tool says of itself, as its words: nothing of it was checked."""
    known = {
        ("readOnlyHint", True): tr("says it only reads"),
        ("readOnlyHint", False): tr("says it changes things"),
        ("destructiveHint", True): tr("says it may destroy"),
        ("destructiveHint", False): tr("says it destroys nothing"),
        ("idempotentHint", True): tr("says twice is as once"),
        ("openWorldHint", True): tr("says it reaches the outside world"),
        ("openWorldHint", False): tr("says it stays on this machine"),
    }
    words = []
    for name, value in claims.items():
        if isinstance(value, bool) and (name, value) in known:
            words.append(known[name, value])
        elif name == "title" and isinstance(value, str):
            words.append(tr("calls itself “{title}”", title=value[:60]))
        elif not isinstance(value, bool):
            words.append(
                tr(
                    "says {name}: {value}",
                    name=name,
                    value=json.dumps(value, ensure_ascii=False, default=str)[:60],
                )
            )
    return words


def json_text(value: Any) -> str:
    try:
        return cut(json.dumps(value, indent=2, ensure_ascii=False, default=str))
    except (RecursionError, ValueError):
        return tr("Nested too deep to be shown.")


def cut(text: str) -> str:
    """The text, or as much of it as is shown, with a note on the rest: the record has all of it."""
    if len(text) <= LONGEST:
        return text
    left = len(text) - LONGEST
    return f"{text[:LONGEST]}\n… " + tr("%n more characters are in the record.", "", left)
