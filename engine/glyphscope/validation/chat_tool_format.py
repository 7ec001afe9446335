"""Calls in a model's own notation, judged where they stand: after free text and the form's marker, up to its closing.

What comes before the call is passed over, marker and all; so is what the form writes after it. The call in between is
judged as any other, in JSON and in the form's shape.
"""

from __future__ import annotations

import re

from glyphscope.events import FieldChanged, FieldClosed, RunEvent
from glyphscope.grammar.builder.turn import call_opening
from glyphscope.notation.chat_tool_format import NativeFormat
from glyphscope.registry import ToolRegistry
from glyphscope.validation.call import CallValidator
from glyphscope.validation.streaming_validator import Limits

_AFTER_BRACE = re.compile(r"(?<=\})")


class NativeValidator(CallValidator):
    """A validator of calls in that form; a text without its marker has NO_TOOL_CALL at its end."""

    def __init__(
        self, registry: ToolRegistry, form: NativeFormat, *, begun: bool = False, limits: Limits | None = None
    ) -> None:
        """`begun`: what comes before the call is no part of the text."""
        super().__init__(registry, "json", form.shape, limits=limits)
        self._form = form
        self._mark = form.marker or call_opening("json", form.shape)
        self._passed = len(form.marker)
        self._held = ""
        self._found = begun
        self._opener = "" if begun else form.opener
        self._after = ""

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        read = text if isinstance(text, str) else self._decoder.decode(text)
        index = self._token + 1 if token is None else token
        if not self._found:
            read = self._before(self._held + read)
        pieces = _AFTER_BRACE.split(read) if self._found else [read]
        events = [event for piece in pieces if piece for event in self._feed(piece, index)]
        self._token = index
        return _latest(events)

    def finish(self) -> list[RunEvent]:
        held, self._held = self._held, ""
        passed = super().feed(" " * len(held), self._token) if held else []
        return [*passed, *super().finish()]

    def _feed(self, piece: str, token: int) -> list[RunEvent]:
        if self.complete:
            piece = self._past(piece)
        elif self._opener and (start := piece.lstrip()):
            if start.startswith(self._opener):
                piece = piece.replace(self._opener, " " * len(self._opener), 1)
            self._opener = ""
        return super().feed(piece, token)

    def _before(self, read: str) -> str:
        """What was read, white space in place of what comes before the call; what may be the marker is held back."""
        start = read.find(self._mark)
        self._found = start >= 0
        if self._found:
            start += self._passed
            self._held = ""
            return " " * start + read[start:]
        keep = next((n for n in range(len(self._mark) - 1, 0, -1) if read.endswith(self._mark[:n])), 0)
        self._held = read[len(read) - keep :]
        return " " * (len(read) - keep)

    def _past(self, piece: str) -> str:
        """White space in place of what the form writes after a call, as far as it is that."""
        before = len(self._after)
        self._after += piece
        closing = self._form.closing
        blank = len(self._after) - len(self._after.lstrip())
        same = 0
        for written, meant in zip(self._after[blank:], closing):
            if written != meant:
                break
            same += 1
        kept = max(0, blank + same - before)
        return " " * kept + piece[kept:]


def _latest(events: list[RunEvent]) -> list[RunEvent]:
    """The events of one feed: of a field's growth only the last is told."""
    kept: list[RunEvent] = []
    told: set[str] = set()
    for event in reversed(events):
        if isinstance(event, FieldChanged | FieldClosed):
            if isinstance(event, FieldChanged) and event.path in told:
                continue
            told.add(event.path)
        kept.append(event)
    return kept[::-1]
