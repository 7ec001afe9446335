"""A place in the code whose handling of something can be removed, for tests that have to fail then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Breakage:
    """In `file`, the one place `old` becomes `new`; one of `tests` (below `tests/`) then fails."""

    line: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def without(breakage: Breakage, text: str) -> str:
    """Return the file's text without the handling. Raises ValueError if the place is missing or not unique."""
    if text.count(breakage.old) != 1:
        raise ValueError(f"{breakage.line}: {text.count(breakage.old)} places in {breakage.file}")
    return text.replace(breakage.old, breakage.new)
