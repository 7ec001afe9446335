"""Words that are held to nothing: an answer to the user is right if it says anything."""

from __future__ import annotations

from typing import Any

from glyphscope.events import RunEvent


class WordsValidator:
    """Takes any text; valid where it is more than white space."""

    tool: str | None = None
    arguments: dict[str, Any] | None = None
    complete = False

    def __init__(self) -> None:
        self.valid = False

    def feed(self, text: str, token: int | None = None) -> list[RunEvent]:
        self.valid = self.valid or bool(text.strip())
        return []

    def finish(self) -> list[RunEvent]:
        return []
