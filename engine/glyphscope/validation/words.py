"""Words that are held to nothing: an answer to the user is right if it says anything."""

from __future__ import annotations

import codecs
from typing import Any

from glyphscope.events import RunEvent, Violation
from glyphscope.validation.turn import TurnCall


class WordsValidator:
    """Takes any text; valid where it is more than white space."""

    tool: str | None = None
    arguments: dict[str, Any] | None = None
    complete = False
    calls: tuple[TurnCall, ...] = ()
    violations: tuple[Violation, ...] = ()

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._said: list[str] = []
        self.valid = False

    @property
    def content(self) -> str:
        """All of the text."""
        return "".join(self._said).strip()

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        read = text if isinstance(text, str) else self._decoder.decode(text)
        self._said.append(read)
        self.valid = self.valid or bool(read.strip())
        return []

    def finish(self) -> list[RunEvent]:
        return []
