"""Answers with free text: a call within text, and text alone."""

from __future__ import annotations

import codecs
from typing import Any

from glyphscope.events import Notation, RunEvent, RunRequest, Shape, Violation
from glyphscope.grammar.builder.turn import call_opening
from glyphscope.notation.chat_tool_format import ENDPOINTS_OWN, native_format
from glyphscope.registry import ToolRegistry
from glyphscope.validation.call import CallValidator
from glyphscope.validation.chat_tool_format import NativeValidator
from glyphscope.validation.streaming_validator import Limits
from glyphscope.validation.turn import TurnCall


def validator_of(request: RunRequest, registry: ToolRegistry) -> CallValidator:
    """The validator of a run. Raises NotationError when the registry has a tool that the shape cannot write."""
    if (native := native_format(request.native)) is not None:
        own = request.native == ENDPOINTS_OWN  # which tells words and calls apart, and may tell both
        return NativeValidator(registry, native, begun=request.constraint != "off" and not own)
    kind = FreeTextValidator if request.free_text else CallValidator
    return kind(registry, request.notation, request.shape)


class FreeTextValidator(CallValidator):
    """A validator of calls before which any text may stand; a text without a call has NO_TOOL_CALL at its end."""

    def __init__(
        self, registry: ToolRegistry, notation: Notation, shape: Shape, *, limits: Limits | None = None
    ) -> None:
        super().__init__(registry, notation, shape, limits=limits)
        self._opening = call_opening(notation, shape)
        self._held = ""
        self._begun = False

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        if self._begun:
            return super().feed(text, token)
        read = self._held + (text if isinstance(text, str) else self._decoder.decode(text))
        start = read.find(self._opening)
        self._begun = start >= 0
        if not self._begun:
            start = len(read) - self._beginning(read)
        self._held = "" if self._begun else read[start:]
        return super().feed(" " * start + (read[start:] if self._begun else ""), token)

    def finish(self) -> list[RunEvent]:
        passed: list[RunEvent] = []
        if not self._begun and self._held:
            self._begun, held, self._held = True, self._held, ""
            passed = super().feed(" " * len(held), self._token)
        return [*passed, *super().finish()]

    def _beginning(self, read: str) -> int:
        """How many characters at the end may be the beginning of a call."""
        at = read.rfind(self._opening[0])
        return len(read) - at if at >= 0 and self._opening.startswith(read[at:]) else 0


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

    def text_was_reasoning(self) -> list[RunEvent]:
        """What was read is no text for the user."""
        self._said.clear()
        self.valid = False
        return []

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        read = text if isinstance(text, str) else self._decoder.decode(text)
        self._said.append(read)
        self.valid = self.valid or bool(read.strip())
        return []

    def finish(self) -> list[RunEvent]:
        return []
