"""Reasoning before a call in one of Glyphscope's notations: it is separated, and another validator reads the rest.

That validator is fed white space in place of the reasoning, so that its positions refer to the whole text.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from glyphscope.base.lines import begun_length
from glyphscope.events import FieldOpened, RunEvent, SegmentClosed, SegmentOpened, ToolKnown, Violation
from glyphscope.turns.form import State, TurnForm
from glyphscope.validation.call import CallValidator
from glyphscope.validation.free_text_answer import FreeTextValidator, WordsValidator
from glyphscope.validation.turn import TurnCall, TurnValidator

PlainValidator: TypeAlias = CallValidator | TurnValidator | WordsValidator
"""A validator of an answer without reasoning."""


class ReasonedValidator:
    """Reads an answer in pieces of any size: reasoning between the form's markers, then the text for `validator`.

    Reasoning that the prompt opened begins with the text. If the prompt leaves that to the model, only an opening
    marker at the text's beginning opens it or, with the form's `again`, any on a separate line. A lone closing marker
    before any call ends reasoning that a server's prompt may have opened. Reasoning that is never closed leaves no text
    for the validator. The markers around a message do not belong to the call.
    """

    def __init__(self, validator: PlainValidator, form: TurnForm, state: State) -> None:
        """`form` must have reasoning."""
        assert form.reasoning is not None
        self._validator = validator
        self._open, self._close = form.reasoning.open.strip(), form.reasoning.close.strip()
        alone = self._open if "|" in self._open else f"\n{self._open}\n"
        self._again = alone if form.reasoning.again else ""
        self._heads = _markers(form.header, *form.skips, *(wrap.open for wrap in form.wraps))
        self._ends = _markers(*form.ends, *(wrap.close for wrap in form.wraps))
        part = form.reasoning.prompt.get(state, "leaves")
        self._phase: Literal["before", "inside", "after"]  # of the reasoning
        self._phase = "inside" if part == "opens" else "before" if part == "leaves" else "after"
        self._unopened = part == "leaves"  # the text may turn out to be reasoning
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending = ""
        self._read = 0  # characters before the withheld ones
        self._start: int | None = None  # of the reasoning
        self._after = -1  # where the validator's text begins; -1 until then
        self._token = -1
        self._later: list[int] = []  # the lengths of further reasoning in the text
        self._parted = False  # reasoning preceded, so the call is a part of the answer
        self._call_start: int | None = None  # of the open part

    @property
    def complete(self) -> bool:
        """Whether the call is complete."""
        return self._validator.complete

    @property
    def valid(self) -> bool:
        """Whether the call is complete and valid."""
        return self._validator.valid

    @property
    def tool(self) -> str | None:
        return self._validator.tool

    @property
    def arguments(self) -> dict[str, Any] | None:
        return self._validator.arguments

    @property
    def violations(self) -> Sequence[Violation]:
        """The violations of the call so far."""
        return self._validator.violations

    @property
    def calls(self) -> Sequence[TurnCall]:
        """The validator's calls, or its one call."""
        if isinstance(self._validator, TurnValidator | WordsValidator):
            return self._validator.calls
        if self._phase != "after" or self.tool is None or self.arguments is None:
            return ()
        found = tuple(self.violations)
        return (TurnCall(self.tool, self.arguments, self._after, self._read, self.complete, found),)

    @property
    def content(self) -> str:
        """The text for the user."""
        if not isinstance(self._validator, TurnValidator | WordsValidator):
            return ""
        text = self._validator.content
        for length in self._later:
            text = text.replace(" " * length, "", 1)
        return text.strip()

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """The verdicts decided by the next piece of the text."""
        self._pending += text if isinstance(text, str) else self._decoder.decode(text)
        self._token = self._token + 1 if token is None else token
        out: list[RunEvent] = []
        before = ("", 0)
        while self._pending and (now := (self._phase, len(self._pending))) != before:
            before = now
            if self._phase == "before":
                self._look_for_opening()
            elif self._phase == "inside":
                out += self._look_for_closing()
            else:
                out += self._validated()
        return out

    def _validated(self) -> list[RunEvent]:
        out: list[RunEvent] = []
        while self._pending and self._phase == "after":
            if self._after < 0 or self._validator.complete:
                markers = self._heads if self._after < 0 else self._ends
                self._pass(markers)
                begun = self._pending.lstrip()
                if any(marker.startswith(begun) for marker in markers):
                    break  # it may become one
                self._after = self._read if self._after < 0 else self._after
            limit = self._to_marker()
            if limit:
                events = self._read_on(limit)
                self._unopened = self._unopened and not any(map(_begins_call, events))
                out += events
            elif self._unopened and self._pending.startswith(self._close):
                out += self._was_thinking()
            elif self._unopened and self._pending.startswith(self._open):
                self._unopened = False  # both markers are a part of the text
            elif self._again and self._pending.startswith(self._again):
                out += self._thinks_again()
            else:
                break
        return out

    def _to_marker(self) -> int:
        """The number of characters before a marker of reasoning, or before the possible beginning of one."""
        markers = (self._close, self._open, self._again) if self._unopened else (self._again,)
        return min(_before(self._pending, marker) for marker in markers)

    def _was_thinking(self) -> list[RunEvent]:
        """Mark the text read so far as reasoning that the text itself did not open."""
        self._unopened = False
        start, end = max(self._after, 0), self._read
        self._start, self._after, self._parted = start, -1, True
        out: list[RunEvent] = []
        if isinstance(self._validator, TurnValidator | WordsValidator):
            out += self._validator.text_was_reasoning()
        if not out and end > start:
            out += [SegmentOpened(kind="reasoning", start=start)]
            out += [SegmentClosed(kind="reasoning", start=start, end=end)]
        self._skip(len(self._close))
        return out

    def _thinks_again(self) -> list[RunEvent]:
        out = (
            self._validator.text_ends() if isinstance(self._validator, TurnValidator) else self._close_call()
        )
        self._later.append(self._skip(len(self._again)))
        self._phase, self._start, self._after = "inside", None, -1
        return out

    def _read_on(self, limit: int) -> list[RunEvent]:
        """Validate up to the next brace, which may complete the call, but at most `limit` characters."""
        end = self._pending.find("}", 0, limit) + 1 or limit
        piece, self._pending = self._pending[:end], self._pending[end:]
        start = self._read
        self._read += len(piece)
        opened = self._open_call(start + len(piece) - len(piece.lstrip())) if piece.strip() else []
        events = self._validator.feed(piece, self._token)
        return [*opened, *events, *(self._close_call() if self._validator.complete else ())]

    def _open_call(self, start: int) -> list[RunEvent]:
        """Open the part of the call after reasoning; validators of whole turns report parts themselves."""
        own_parts = isinstance(self._validator, TurnValidator | WordsValidator | FreeTextValidator)
        if own_parts or not self._parted or self._call_start is not None or self._validator.complete:
            return []
        self._call_start = start
        return [SegmentOpened(kind="call", start=start)]

    def _close_call(self) -> list[RunEvent]:
        start, self._call_start = self._call_start, None
        return [] if start is None else [SegmentClosed(kind="call", start=start, end=self._read)]

    def _pass(self, markers: tuple[str, ...]) -> None:
        """Skip the markers at the beginning of the withheld text."""
        while True:
            begun = self._pending.lstrip()
            found = next((marker for marker in markers if begun.startswith(marker)), "")
            if not found:
                return
            self._skip(len(self._pending) - len(begun) + len(found))

    def finish(self) -> list[RunEvent]:
        """The verdicts at the end of the text."""
        out: list[RunEvent] = []
        if self._phase == "inside":
            out += self._opened()
            self._skip(len(self._pending))
            out.append(SegmentClosed(kind="reasoning", start=self._start or 0, end=self._read))
        while self._pending:
            out += self._read_on(len(self._pending))
        return [*out, *self._validator.finish(), *self._close_call()]

    def _look_for_opening(self) -> None:
        begun = self._pending.lstrip()
        if begun.startswith(self._open):
            self._skip(len(self._pending) - len(begun) + len(self._open))
            self._phase, self._unopened = "inside", False
        elif not self._open.startswith(begun):
            self._phase = "after"

    def _look_for_closing(self) -> list[RunEvent]:
        found = self._pending.find(self._close)
        if found >= 0:
            out = self._opened()
            start, end = self._start or 0, self._read + found
            self._skip(found + len(self._close))
            self._phase = "after"
            return [*out, SegmentClosed(kind="reasoning", start=start, end=end)]
        pending = begun_length(self._pending, self._close)
        out = self._opened() if len(self._pending) > pending else []
        self._skip(len(self._pending) - pending)
        return out

    def _opened(self) -> list[RunEvent]:
        if self._start is not None:
            return []
        self._start, self._parted = self._read, True
        return [SegmentOpened(kind="reasoning", start=self._read)]

    def _skip(self, count: int) -> int:
        """Skip characters outside the call: the validator gets white space instead. Returns `count`."""
        if count:
            self._validator.feed(" " * count, self._token)
            self._read += count
            self._pending = self._pending[count:]
            if self._later and self._phase == "inside":
                self._later[-1] += count
        return count


def _begins_call(event: RunEvent) -> bool:
    return isinstance(event, FieldOpened | ToolKnown) or (
        isinstance(event, SegmentOpened) and event.kind == "call"
    )


def _before(text: str, marker: str) -> int:
    """The number of characters before a marker or its beginning; all of them if there is no marker."""
    found = text.find(marker) if marker else len(text)
    return found if found >= 0 else len(text) - begun_length(text, marker)


def _markers(*texts: str) -> tuple[str, ...]:
    """The texts without surrounding white space, longest first."""
    return tuple(sorted({text.strip() for text in texts if text.strip()}, key=len, reverse=True))
