"""Patterns that are not regular (look-around, back references), searched for with the `regex` package."""

from __future__ import annotations

from functools import lru_cache

import regex


def searched(pattern: str, text: str, seconds: float) -> bool | None:
    """Whether a backtracking engine finds the pattern; None for an invalid pattern, or after a timeout."""
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    try:
        return compiled.search(text, timeout=seconds) is not None
    except TimeoutError:
        return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> regex.Pattern[str] | None:
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError):
        return None
