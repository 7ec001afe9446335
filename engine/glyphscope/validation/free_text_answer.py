"""Answers with free text: a call after text, or text alone; and the choice of the validator for a run's answer."""

from __future__ import annotations

import codecs
from typing import Any

from glyphscope.base.lines import begun_length, common_length
from glyphscope.events import FieldChanged, FieldClosed, Notation, RunEvent, RunRequest, Shape, Violation
from glyphscope.grammar.builder.turn import call_opening
from glyphscope.notation.chat_tool_format import ENDPOINTS_OWN, NativeFormat, native_format
from glyphscope.registry import ToolRegistry
from glyphscope.validation.call import CallValidator
from glyphscope.validation.streaming_validator import Limits
from glyphscope.validation.turn import AFTER_BRACES, TurnCall


def validator_of(request: RunRequest, registry: ToolRegistry) -> CallValidator:
    """The validator of a run. Raises NotationError if the registry has a tool that the shape cannot write."""
    if (native := native_format(request.native)) is not None:
        # an endpoint's own format separates text from calls, and may contain both
        begun = request.constraint != "off" and request.native != ENDPOINTS_OWN
        return FreeTextValidator(registry, "json", native.shape, form=native, begun=begun)
    kind = FreeTextValidator if request.free_text else CallValidator
    return kind(registry, request.notation, request.shape)


class FreeTextValidator(CallValidator):
    """Judges a call after any text; a text without a call gets the violation NO_TOOL_CALL at its end.

    The text before the call is replaced by white space of the same length, so that characters keep their positions; so
    are the markers around the call in `form`, a model's native format.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        notation: Notation,
        shape: Shape,
        *,
        form: NativeFormat | None = None,
        begun: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """`begun`: the text before the call was written as a prefix, not generated."""
        super().__init__(registry, notation, shape, limits=limits)
        self._form = form
        self._marker = (form and form.marker) or call_opening(
            notation, shape
        )  # text at which the call begins
        self._blank = (
            len(form.marker) if form else 0
        )  # characters of the marker that do not belong to the call
        self._opener = form.opener if form and not begun else ""  # text that may precede the call's brace
        self._begun = begun  # the marker was read
        self._pending = ""  # may be the beginning of the marker
        self._after = ""  # the text after the call

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        read = text if isinstance(text, str) else self._decoder.decode(text)
        index = self._token + 1 if token is None else token
        if not self._begun:
            read = self._before(self._pending + read)
        pieces = AFTER_BRACES.split(read) if self._begun and self._form else [read]
        events = [event for piece in pieces if piece for event in self._feed(piece, index)]
        self._token = index
        return events if len(pieces) == 1 else _latest(events)

    def finish(self) -> list[RunEvent]:
        pending, self._pending = self._pending, ""
        events = super().feed(" " * len(pending), self._token) if pending else []
        return [*events, *super().finish()]

    def _before(self, read: str) -> str:
        """White space in place of the text before the call; a possible start of the marker is withheld."""
        start = read.find(self._marker)
        self._begun = start >= 0
        if self._begun:
            self._pending = ""
            start += self._blank
            return " " * start + read[start:]
        start = len(read) - begun_length(read, self._marker)
        self._pending = read[start:]
        return " " * start

    def _feed(self, piece: str, token: int) -> list[RunEvent]:
        if self.complete:
            piece = self._behind(piece)
        elif self._opener and (start := piece.lstrip()):
            if start.startswith(self._opener):
                piece = piece.replace(self._opener, " " * len(self._opener), 1)
            self._opener = ""
        return super().feed(piece, token)

    def _behind(self, piece: str) -> str:
        """White space in place of the form's closing marker, as far as the text after the call matches it."""
        before = len(self._after)
        self._after += piece
        rest = self._after.lstrip()
        closing = self._form.closing if self._form else ""
        blank = max(0, len(self._after) - len(rest) + common_length(rest, closing) - before)
        return " " * blank + piece[blank:]


def _latest(events: list[RunEvent]) -> list[RunEvent]:
    """The events of one `feed`, reduced to the last change of each field."""
    latest: list[RunEvent] = []
    seen: set[str] = set()
    for event in reversed(events):
        if isinstance(event, FieldChanged | FieldClosed):
            if isinstance(event, FieldChanged) and event.path in seen:
                continue
            seen.add(event.path)
        latest.append(event)
    return latest[::-1]


class WordsValidator:
    """Takes any text, which is valid if it is more than white space; with the interface of a validator of turns."""

    tool: str | None = None
    arguments: dict[str, Any] | None = None
    complete = False
    calls: tuple[TurnCall, ...] = ()
    violations: tuple[Violation, ...] = ()

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._texts: list[str] = []
        self.valid = False

    @property
    def content(self) -> str:
        """All of the text."""
        return "".join(self._texts).strip()

    def text_was_reasoning(self) -> list[RunEvent]:
        """Mark the text read so far as reasoning, not text for the user."""
        self._texts.clear()
        self.valid = False
        return []

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        read = text if isinstance(text, str) else self._decoder.decode(text)
        self._texts.append(read)
        self.valid = self.valid or bool(read.strip())
        return []

    def finish(self) -> list[RunEvent]:
        return []
