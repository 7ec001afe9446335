"""A turn of a conversation, validated while it is generated: text, and calls that are found in it.

A call begins where the key of the tool's name (or of the arguments) follows a brace (`_spellings`). With a constraint,
only the spellings of `grammar.builder.turn` count. Without one, all do, quoted or not, with `:` or with `=`: a call in
the other notation may be invalid, but it is not an answer for the user.

There are two states: `_seek` looks for the next call (`_Openings`), and `_judge` feeds an open one, which is validated
like a single call, with characters counted in the whole text. After the call's last brace, the search continues.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from glyphscope.events import Notation, RunEvent, SegmentClosed, SegmentOpened, Shape, Violation
from glyphscope.grammar.builder.turn import WHITE_SPACE, Sign, Signs, call_opening, call_spellings, spellings
from glyphscope.notation.shapes import shape_keys
from glyphscope.registry import ToolRegistry
from glyphscope.validation.call import CallValidator
from glyphscope.validation.streaming_validator import Limits

AFTER_BRACES = re.compile(r"(?<=\})")
"""Splits text after each closing brace, so that a call's end is the end of a piece."""
MAX_CALLS = 100
"""Calls that are searched for in one text; the text after them counts as words."""


@dataclass(frozen=True)
class TurnCall:
    """A call in the text: the characters `start` to `end` (exclusive), markers included.

    `arguments` is None if they are unknown or cannot be read. `violations` is empty for a valid call.
    """

    tool: str | None
    arguments: dict[str, Any] | None
    start: int
    end: int
    complete: bool
    violations: tuple[Violation, ...]

    @property
    def valid(self) -> bool:
        return self.complete and not self.violations


class TurnValidator:
    """Judges a turn's text, fed in pieces of any size. `words`: a text without a call is valid, unless it is empty.

    `constrained`: the text is generated with the grammar of turns or, if `spaced` is False, of free text before a call.
    Calls after the first `most_calls` are counted, not judged; with `ends`, the text is complete after that many.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        notation: Notation,
        shape: Shape,
        *,
        words: bool,
        constrained: bool,
        spaced: bool = True,
        most_calls: int | None = None,
        ends: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """Raises NotationError if the registry has a tool that the shape cannot write."""
        self._call_arguments = (registry, notation, shape, limits)
        self._new_call()  # to raise at once
        self._words = words
        self._most_calls = most_calls
        self._ends = ends
        self._openings = _Openings(_spellings(notation, shape, constrained, spaced))
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._call: CallValidator | None = None  # the open call
        self._call_start = 0  # its first character
        self._texts: list[str] = []  # pieces of the text beside the calls
        self._text_start: int | None = None  # first character of the open text segment
        self._token = -1  # index of the piece being judged
        self._out: list[RunEvent] = []  # the events that the current call of a public method returns
        self.chars = 0  # fed so far
        self.calls: list[TurnCall] = []
        self.violations: list[Violation] = []

    @property
    def complete(self) -> bool:
        """Whether the text ends here, with its last call."""
        return self._ends and self._surplus

    @property
    def _surplus(self) -> bool:
        """Whether the maximum number of calls is reached, so that the next one is too many."""
        return self._most_calls is not None and len(self.calls) >= self._most_calls

    @property
    def valid(self) -> bool:
        """Whether there were no violations, and there is a call, or text if that suffices."""
        return not self.violations and (bool(self.calls) or (self._words and bool(self.content)))

    @property
    def content(self) -> str:
        """The text beside the calls."""
        return "".join(self._texts).strip()

    @property
    def tool(self) -> str | None:
        """The first call's tool."""
        if self.calls:
            return self.calls[0].tool
        return self._call.tool if self._call else None

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The first call's arguments, once it is complete."""
        return self.calls[0].arguments if self.calls else None

    # text in

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """Judge the next piece. Returns the resulting events, with positions from the turn's beginning."""
        if isinstance(text, bytes):
            text = self._decoder.decode(text)
        self._token = self._token + 1 if token is None else token
        self._out = []
        start = self.chars
        self.chars += len(text)
        while text:
            if self._call is None:
                text, start = self._seek(text, start)
            else:
                read = self._judge(text, start)
                text, start = text[read:], start + read
        return self._out

    def finish(self) -> list[RunEvent]:
        """Judge the end of the text."""
        out = self.feed(self._decoder.decode(b"", final=True), self._token)
        if self._call is None:
            pending = self._openings.pending
            self._add_text(pending, self.chars - len(pending))
            self._end_text(self.chars)
            if not self.calls and not self._words:
                violation = Violation(
                    code="NO_TOOL_CALL", message="the text holds no tool call", path="", char=self.chars,
                    token=self._token, viable="'{'",
                )  # fmt: skip
                self.violations.append(violation)
                out.append(violation)
        else:
            self._end_call(self.chars)
        return out

    # the text beside the calls

    def _seek(self, text: str, start: int) -> tuple[str, int]:
        """Look for a call's beginning. Returns the text to judge, from its brace on ("": none), and its position."""
        end = start + len(text)
        if len(self.calls) >= MAX_CALLS:
            self._add_text(text, start)
            return "", end
        before = self._openings.pending
        opening = self._openings.feed(text, start)
        read, begin = before + text, start - len(before)
        if opening is None:
            self._add_text(read[: len(read) - len(self._openings.pending)], begin)
            return "", end
        brace = opening.brace
        self._add_text(read[: brace - begin], begin)
        self._end_text(brace)
        self._call, self._call_start = self._new_call(), brace
        self._call.feed(" " * brace, self._token)
        self._report([SegmentOpened(kind="call", start=brace)])
        return opening.text, brace

    def _add_text(self, text: str, start: int) -> None:
        self._texts.append(text)
        if self._text_start is None and text.strip():
            self._text_start = start + len(text) - len(text.lstrip())
            self._out.append(SegmentOpened(kind="text", start=self._text_start))

    def _end_text(self, end: int) -> None:
        start, self._text_start = self._text_start, None
        if start is not None:
            self._out.append(SegmentClosed(kind="text", start=start, end=end))

    def text_ends(self) -> list[RunEvent]:
        """End the open text segment here; later text begins another one."""
        self._out = []
        if self._call is None:
            self._end_text(self.chars)
        return self._out

    def text_was_reasoning(self) -> list[RunEvent]:
        """Mark the text up to here as reasoning, not text for the user."""
        self._openings.reset()
        self._texts.clear()
        self._out = []
        self._end_text(self.chars)
        return [msgspec.structs.replace(event, kind="reasoning") for event in self._out]

    # the calls

    def _new_call(self) -> CallValidator:
        registry, notation, shape, limits = self._call_arguments
        return CallValidator(registry, notation, shape, limits=limits)

    def _judge(self, text: str, start: int) -> int:
        """Feed the open call, up to its last brace at most. Returns the number of characters read."""
        assert self._call is not None
        read = 0
        for piece in AFTER_BRACES.split(text):
            self._report(self._call.feed(piece, self._token))
            read += len(piece)
            if self._call.complete:
                self._end_call(start + read)
                break
        return read

    def _end_call(self, end: int) -> None:
        call, self._call = self._call, None
        assert call is not None
        last = [] if self._surplus else call.finish()
        violations = tuple(call.violations)
        self._report([*last, SegmentClosed(kind="call", start=self._call_start, end=end)])
        self.violations += () if self._surplus else violations
        self.calls.append(
            TurnCall(call.tool, call.arguments, self._call_start, end, call.complete, violations)
        )

    def _report(self, events: Sequence[RunEvent]) -> None:
        """Add events of the open call, with its number; those of a surplus call are dropped."""
        number = len(self.calls)
        if not self._surplus:
            self._out += (
                [msgspec.structs.replace(each, call_index=number) for each in events] if number else events
            )


class _Opening(NamedTuple):
    """The beginning of a call: the position of its brace in the whole text, and the text from there on."""

    brace: int
    text: str


class _SpellingRead(NamedTuple):
    """A spelling that still matches the text since the brace, and how many of its signs were read."""

    signs: Signs
    read: int


class _Openings:
    """Finds the first occurrence of one of the spellings; `pending` is text that may become one."""

    def __init__(self, spellings: tuple[Signs, ...]) -> None:
        self.pending = ""
        self._spellings = spellings
        self._alive: list[_SpellingRead] = []
        self._brace = 0  # the position of the last brace

    def feed(self, text: str, start: int) -> _Opening | None:
        """The first opening that `text` completes; `start` is the position of `text` in the whole text."""
        at = 0
        while at < len(text):
            if not self._alive and (at := text.find("{", at)) < 0:
                break
            self._step(text[at], start + at)
            at += 1
            if any(read == len(signs) for signs, read in self._alive):
                opening = _Opening(self._brace, self._since_brace(text, start))
                self.reset()
                return opening
        self.pending = self._since_brace(text, start) if self._alive else ""
        return None

    def reset(self) -> None:
        """Discard a beginning that did not become a call."""
        self.pending, self._alive = "", []

    def _step(self, char: str, at: int) -> None:
        if char == "{":
            self._brace = at
            self._alive = [_SpellingRead(signs, 0) for signs in self._spellings]
            return
        before, self._alive = self._alive, []
        for signs, read in before:
            if char == signs[read].char:
                self._alive.append(_SpellingRead(signs, read + 1))
            elif signs[read].spaced and char in WHITE_SPACE:
                self._alive.append(_SpellingRead(signs, read))

    def _since_brace(self, text: str, start: int) -> str:
        return text[self._brace - start :] if self._brace >= start else self.pending + text


def _spellings(notation: Notation, shape: Shape, constrained: bool, spaced: bool) -> tuple[Signs, ...]:
    """The sequences of signs after a brace that begin a call."""
    if not spaced:
        return (tuple(Sign(char, False) for char in call_opening(notation, shape)[1:]),)
    if constrained:
        return call_spellings(notation, shape)
    return tuple(signs for key in shape_keys(shape) if key for signs in spellings(key))
