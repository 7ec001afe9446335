"""A mistake in a GBNF text, or a doubt about it, and what would mend it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning", "hint"]
Edit: TypeAlias = tuple[int, int, str]
"""Replace the code points from start to end (excluded) with the text."""


class Fix(msgspec.Struct, frozen=True):
    """Edits of the text that remove a diagnostic; they do not overlap and all count in the text as it was."""

    title: str
    edits: tuple[Edit, ...]

    def apply(self, text: str) -> str:
        """The text with all edits made."""
        pieces: list[str] = []
        done = 0
        for start, end, new in sorted(self.edits):
            pieces += text[done:start], new
            done = end
        return "".join([*pieces, text[done:]])


class Diagnostic(msgspec.Struct, frozen=True):
    """What is wrong from `start` to `end` (code points from 0, `end` excluded).

    An error is what llama.cpp refuses, or what crashes or hangs it. A warning is what it takes and what is hardly
    meant; a hint is what works, and works better otherwise.
    """

    severity: Severity
    code: str
    message: str
    start: int
    end: int
    fix: Fix | None = None


def fix(title: str, *edits: Edit) -> Fix:
    """A fix of some edits."""
    return Fix(title, edits)
