"""The streaming validator of an answer whose calls are in GLYPH or JSON, in any shape: calls, and text around them.

An answer is either one call, or another answer (`answers`), which text may precede if the form or the options allow it;
or text and calls in any order (`text_after` of the form); or text alone. A call to which none of this applies is judged
as a value, by itself.

A call begins where one of the openings is complete: the key of the tool's name (or of the arguments) after a brace, or
the first marker of a form known by name. Where a grammar constrains the text, only its own spellings of the key count
(`own_text`). Without one, all do, quoted or not, with `:` or with `=`: a call in the other notation may be invalid, but
it is not an answer for the user.

There are two states: `_seek` looks for the next call (`Openings`), and `_judge` feeds an open one, which is validated
as a value (`CallValidator`), with characters counted in the whole text. Where the model may reason, its reasoning is
separated first (`ReasonedValidator`).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope import events
from glyphscope.base.lines import begun_length
from glyphscope.registry import ToolRegistry
from glyphscope.turns.answers import TextValidator, answer_validator_of
from glyphscope.turns.form import TurnForm, TurnOptions, state_of
from glyphscope.turns.own import own_call
from glyphscope.turns.own_text import Openings, SectionMarkers, lone_opening, openings_of
from glyphscope.validation.call import CallValidator
from glyphscope.validation.streaming_validator import JudgedCall, Limits
from glyphscope.validation.value import ValueValidator

AFTER_BRACES = re.compile(r"(?<=\})")
"""Splits text after each closing brace, so that a call's end is the end of a piece."""
MAX_CALLS = 100
"""Calls that are searched for in one text; the text after them counts as words."""

_Call: TypeAlias = CallValidator | ValueValidator | TextValidator
"""The judges of an open call, or of an answer other than a call."""
Enforced: TypeAlias = Literal["grammar", "other", "nothing"]
"""The constraint of a text: the grammar of its form and options, another grammar, or nothing."""


class OwnValidator:
    """Judges an answer's text, fed in pieces of any size.

    Calls after the first `most_calls` are counted, not judged; under a constraint, the text is complete after that
    many. A text without a call is valid if the options' choice allows it, unless it is empty.
    """

    turn = None
    reasoning = ""

    def __init__(
        self,
        form: TurnForm,
        registry: ToolRegistry,
        options: TurnOptions,
        enforced: Enforced = "nothing",
        limits: Limits | None = None,
    ) -> None:
        """Raises NotationError if the registry has a tool that the shape cannot write."""
        call = own_call(form)
        assert call is not None, "the form's calls are in GLYPH or JSON"
        self._new_call: Callable[..., _Call]
        self._is_answer = call.part == "answer"
        if self._is_answer:
            self._new_call = partial(answer_validator_of, call, limits)
        else:
            self._new_call = partial(CallValidator, registry, call.notation, call.shape, limits=limits)
        self._answer: list[str] = []  # pieces of an answer other than a call
        self._silent = options.choice == "none"  # the answer is text, and has no other parts
        self._alone = not form.text_after and not self._silent  # the answer is one call
        self._words = options.choice != "required"
        self._most_calls = options.most_calls
        self._ends = enforced != "nothing"
        self._openings: Openings | None = None  # None: the call begins with the text, or there is none
        self._call: _Call | None = None  # the open call; a lone one stays open
        if not self._silent:
            first = self._new_call()  # raises at once
            if not self._alone:
                self._openings = openings_of(call, options, constrained=enforced == "grammar")
            elif options.free_text or form.text_before:
                self._openings = lone_opening(call)
            else:
                self._call = first
        self._markers = SectionMarkers(call, opened=self._openings is None)
        self._marked = self._alone and bool(call.native)
        self._call_start = 0  # the first character of the open call
        self._calls: list[JudgedCall] = []  # complete ones, beside text
        self._violations: list[events.Violation] = []  # in these
        self._texts: list[str] = []  # pieces of the text beside the calls
        self._text_start: int | None = None  # first character of the open text segment
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._token = -1  # index of the piece being judged
        self._out: list[events.RunEvent] = []  # the events that the current call of a public method returns
        self.chars = 0  # read so far

    # the result so far

    @property
    def complete(self) -> bool:
        """Whether the text ends here, with its last call."""
        if self._alone:
            return self._call is not None and self._call.complete
        return self._ends and self._surplus

    @property
    def _surplus(self) -> bool:
        """Whether the maximum number of calls is reached, so that the next one is too many."""
        return self._most_calls is not None and len(self._calls) >= self._most_calls

    @property
    def valid(self) -> bool:
        """Whether there were no violations, and there is a call, or text if that suffices."""
        if self._alone:
            return self._call is not None and self._call.valid
        return not self._violations and (bool(self._calls) or (self._words and bool(self.content)))

    @property
    def violations(self) -> Sequence[events.Violation]:
        """The violations of a lone call so far, or of the calls that have ended."""
        return self._call.violations if self._alone and self._call is not None else self._violations

    @property
    def tool(self) -> str | None:
        """The first call's tool."""
        if self._calls:
            return self._calls[0].tool
        return self._call.tool if self._call else None

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The first call's arguments, once it is complete."""
        if self._alone:
            return self._call.arguments if self._call else None
        return self._calls[0].arguments if self._calls else None

    @property
    def calls(self) -> Sequence[JudgedCall]:
        """The calls; a lone one, once it can be read, is the whole text."""
        if not self._alone:
            return self._calls
        return self._call.calls if self._call is not None else ()

    @property
    def content(self) -> str:
        """The text beside the calls, unless it is just what a lone call may follow; an answer other than a call."""
        if self._is_answer:
            return (self._call and self._call.content) or "".join(self._answer).strip()
        return "" if self._alone else "".join(self._texts).strip()

    # text in

    def feed(self, text: str | bytes, token: int | None = None) -> list[events.RunEvent]:
        """Judge the next piece. Returns the resulting events, with positions from the text's beginning."""
        if isinstance(text, bytes):
            text = self._decoder.decode(text)
        self._token = self._token + 1 if token is None else token
        self._out = []
        self._read(text)
        return _latest(self._out) if self._marked else self._out

    def finish(self) -> list[events.RunEvent]:
        """Judge the end of the text."""
        rest = self._decoder.decode(b"", final=True)
        self._out = out = self.feed(rest, self._token) if rest else []
        if self._alone:
            self._call = self._call or self._new_call(at=self.chars)  # reports that there is no call
            out += self._call.finish(self._token)
        elif self._call is None:
            self._flush()
            self._end_text(self.chars)
            if not self._calls and not self._words:
                violation = events.Violation(
                    code="NO_TOOL_CALL", message="the text holds no tool call", path="", char=self.chars,
                    token=self._token, viable="'{'",
                )  # fmt: skip
                self._violations.append(violation)
                out.append(violation)
        else:
            self._end_call(self.chars)
        return out

    def _read(self, text: str) -> None:
        """Judge text whose beginning is at `chars`."""
        start = self.chars
        self.chars += len(text)
        while text:
            if self._call is None:
                text, start = self._seek(text, start)
            elif self._alone:
                for piece in AFTER_BRACES.split(text) if self._marked else (text,):
                    self._feed_call(piece)
                return
            else:
                read = self._judge(text, start)
                text, start = text[read:], start + read

    # the text beside the calls

    def _seek(self, text: str, start: int) -> tuple[str, int]:
        """Look for a call's beginning. Returns the text to judge, from there on ("": none), and its position."""
        end = start + len(text)
        if self._openings is None or len(self._calls) >= MAX_CALLS:
            self._add_text(text, start)
            return "", end
        before = self._openings.pending
        opening = self._openings.feed(text, start)
        read, begin = before + text, start - len(before)
        if opening is None:
            self._add_text(read[: len(read) - len(self._openings.pending)], begin)
            return "", end
        self._add_text(read[: opening.start - begin], begin)
        self._end_text(opening.start)
        self._call, self._call_start = self._new_call(at=opening.call), opening.call
        if not self._alone:
            self._report([events.SegmentOpened(kind="call", start=opening.call)])
        return opening.text, opening.call

    def _add_text(self, text: str, start: int) -> None:
        self._texts.append(text)
        if self._text_start is None and not (self._silent or self._alone) and text.strip():
            self._text_start = start + len(text) - len(text.lstrip())
            self._out.append(events.SegmentOpened(kind="text", start=self._text_start))

    def _flush(self) -> None:
        """The withheld beginning of a call is text."""
        if self._openings is not None and self._call is None:
            pending = self._openings.pending
            self._openings.reset()
            self._add_text(pending, self.chars - len(pending))

    def _end_text(self, end: int, kind: events.SegmentKind = "text") -> None:
        start, self._text_start = self._text_start, None
        if start is not None:
            self._out.append(events.SegmentClosed(kind=kind, start=start, end=end))

    # the calls

    def _feed_call(self, piece: str) -> None:
        """Feed the lone call."""
        assert self._call is not None
        if self._marked:
            piece = self._markers.blanked(piece, complete=self._call.complete)
            if not piece:
                return
        if self._is_answer:
            self._answer.append(piece)
        self._out += self._call.feed(piece, self._token)

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
        self._report([*last, events.SegmentClosed(kind="call", start=self._call_start, end=end)])
        self._violations += () if self._surplus else violations
        self._calls.append(
            JudgedCall(call.tool, call.arguments, self._call_start, end, call.complete, violations)
        )

    def _report(self, found: Sequence[events.RunEvent]) -> None:
        """Add events of the open call, with its number; those of a surplus call are dropped."""
        number = len(self._calls)
        if not self._surplus:
            self._out += (
                [msgspec.structs.replace(each, call_index=number) for each in found] if number else found
            )


class ReasonedValidator(OwnValidator):
    """Reads an answer in pieces of any size: reasoning between the form's markers, then calls and text.

    Reasoning that the prompt opened begins with the text. If the prompt leaves that to the model, only an opening
    marker at the text's beginning opens it or, with the form's `again`, any on a separate line. A lone closing marker
    before any call ends reasoning that a server's prompt may have opened. After reasoning that is never closed, there
    is neither text nor call. The markers around a message do not belong to the call.
    """

    def __init__(self, form: TurnForm, registry: ToolRegistry, options: TurnOptions, *more: Any) -> None:
        """`form` must have reasoning."""
        super().__init__(form, registry, options, *more)
        assert form.reasoning is not None
        self._open, self._close = form.reasoning.open.strip(), form.reasoning.close.strip()
        alone = self._open if "|" in self._open else f"\n{self._open}\n"
        self._again = alone if form.reasoning.again else ""
        self._heads = _markers(form.header, *form.skips, *(wrap.open for wrap in form.wraps))
        self._tails = _markers(*form.ends, *(wrap.close for wrap in form.wraps))
        part = form.reasoning.prompt.get(state_of(options.thinking), "leaves")
        self._phase: Literal["before", "inside", "after"]  # of the reasoning
        self._phase = "inside" if part == "opens" else "before" if part == "leaves" else "after"
        self._unopened = part == "leaves"  # the text may turn out to be reasoning
        self._pending = ""  # not yet read
        self._read_token = -1  # the index of the last piece of which something was read
        self._start: int | None = None  # of the reasoning
        self._content_start = -1  # of the text after the reasoning; -1 until then
        self._parted = False  # reasoning preceded, so a lone call is a part of the answer
        self._part_start: int | None = None  # of this part while it is open

    @property
    def calls(self) -> Sequence[JudgedCall]:
        if not self._alone:
            return super().calls
        start = self._content_start
        return tuple(replace(call, start=start) for call in super().calls if self._phase == "after")

    def feed(self, text: str | bytes, token: int | None = None) -> list[events.RunEvent]:
        """The verdicts decided by the next piece of the text."""
        self._pending += text if isinstance(text, str) else self._decoder.decode(text)
        self._token = self._token + 1 if token is None else token
        self._out = []
        before = ("", 0)
        while self._pending and (now := (self._phase, len(self._pending))) != before:
            before = now
            if self._phase == "before":
                self._look_for_opening()
            elif self._phase == "inside":
                self._look_for_closing()
            else:
                self._read_content()
        return self._out

    def finish(self) -> list[events.RunEvent]:
        """The verdicts at the end of the text."""
        rest = self._decoder.decode(b"", final=True)
        self._out = out = self.feed(rest, self._token) if rest else []
        if self._phase == "inside":
            self._open_reasoning()
            self._skip(len(self._pending))
            out.append(events.SegmentClosed(kind="reasoning", start=self._start or 0, end=self.chars))
        while self._pending:
            self._read_on(len(self._pending))
        self._token = self._read_token
        out += super().finish()
        self._out = out
        self._close_part()
        return out

    # reasoning

    def _look_for_opening(self) -> None:
        begun = self._pending.lstrip()
        if begun.startswith(self._open):
            self._skip(len(self._pending) - len(begun) + len(self._open))
            self._phase, self._unopened = "inside", False
        elif not self._open.startswith(begun):
            self._phase = "after"

    def _look_for_closing(self) -> None:
        found = self._pending.find(self._close)
        if found >= 0:
            self._open_reasoning()
            start, end = self._start or 0, self.chars + found
            self._skip(found + len(self._close))
            self._phase = "after"
            self._out.append(events.SegmentClosed(kind="reasoning", start=start, end=end))
            return
        pending = begun_length(self._pending, self._close)
        if len(self._pending) > pending:
            self._open_reasoning()
        self._skip(len(self._pending) - pending)

    def _open_reasoning(self) -> None:
        if self._start is None:
            self._start, self._parted = self.chars, True
            self._out.append(events.SegmentOpened(kind="reasoning", start=self.chars))

    # the text after it

    def _read_content(self) -> None:
        while self._pending and self._phase == "after":
            if self._content_start < 0 or self.complete:
                markers = self._heads if self._content_start < 0 else self._tails
                self._pass(markers)
                begun = self._pending.lstrip()
                if any(marker.startswith(begun) for marker in markers):
                    break  # it may become one
                if self._content_start < 0:
                    self._content_start = self.chars
            limit = self._to_marker()
            if limit:
                before = len(self._out)
                self._read_on(limit)
                self._unopened = self._unopened and not any(map(_begins_call, self._out[before:]))
            elif self._unopened and self._pending.startswith(self._close):
                self._was_thinking()
            elif self._unopened and self._pending.startswith(self._open):
                self._unopened = False  # both markers are a part of the text
            elif self._again and self._pending.startswith(self._again):
                self._think_again()
            else:
                break

    def _pass(self, markers: tuple[str, ...]) -> None:
        """Skip the markers at the beginning of the withheld text."""
        while True:
            begun = self._pending.lstrip()
            found = next((marker for marker in markers if begun.startswith(marker)), "")
            if not found:
                return
            self._skip(len(self._pending) - len(begun) + len(found))

    def _to_marker(self) -> int:
        """The number of characters before a marker of reasoning, or before the possible beginning of one."""
        markers = (self._close, self._open, self._again) if self._unopened else (self._again,)
        return min(_before(self._pending, marker) for marker in markers)

    def _read_on(self, limit: int) -> None:
        """Judge the text up to the next brace, which may complete the call, but at most `limit` characters."""
        end = self._pending.find("}", 0, limit) + 1 or limit
        piece, self._pending = self._pending[:end], self._pending[end:]
        self._open_part(piece)
        self._read_token = self._token
        self._read(piece)
        if self.complete:
            self._close_part()

    def _was_thinking(self) -> None:
        """Mark the text read so far as reasoning that the text itself did not open."""
        self._unopened = False
        start, end = max(self._content_start, 0), self.chars
        self._start, self._content_start, self._parted = start, -1, True
        reported = self._text_start is not None
        if self._openings is not None:
            self._openings.reset()
        self._texts.clear()
        self._end_text(end, "reasoning")
        if not reported and end > start:
            self._out.append(events.SegmentOpened(kind="reasoning", start=start))
            self._out.append(events.SegmentClosed(kind="reasoning", start=start, end=end))
        self._skip(len(self._close))

    def _think_again(self) -> None:
        self._flush()
        if self._call is None:
            self._end_text(self.chars)
        self._close_part()
        self._skip(len(self._again))
        self._phase, self._start, self._content_start = "inside", None, -1

    def _open_part(self, piece: str) -> None:
        """Open the part of a lone call after reasoning; other calls are parts anyway."""
        bare = self._alone and self._openings is None and not self._marked
        if bare and self._parted and self._part_start is None and piece.strip() and not self.complete:
            self._part_start = self.chars + len(piece) - len(piece.lstrip())
            self._out.append(events.SegmentOpened(kind="call", start=self._part_start))

    def _close_part(self) -> None:
        start, self._part_start = self._part_start, None
        if start is not None:
            self._out.append(events.SegmentClosed(kind="call", start=start, end=self.chars))

    def _skip(self, count: int) -> None:
        """Skip characters outside of text and calls; an open call gets white space instead."""
        if count:
            if self._call is not None:
                if isinstance(self._call, TextValidator):
                    self._call.skip(count)
                else:
                    reported = len(self._out)
                    self._feed_call(" " * count)
                    del self._out[reported:]
            self._read_token = self._token
            self.chars += count
            self._pending = self._pending[count:]


def _latest(found: list[events.RunEvent]) -> list[events.RunEvent]:
    """The events of one `feed`, reduced to the last change of each field."""
    latest: list[events.RunEvent] = []
    seen: set[str] = set()
    for event in reversed(found):
        if isinstance(event, events.FieldChanged | events.FieldClosed):
            if isinstance(event, events.FieldChanged) and event.path in seen:
                continue
            seen.add(event.path)
        latest.append(event)
    return latest[::-1]


def _begins_call(event: events.RunEvent) -> bool:
    return isinstance(event, events.FieldOpened | events.ToolKnown) or (
        isinstance(event, events.SegmentOpened) and event.kind == "call"
    )


def _before(text: str, marker: str) -> int:
    """The number of characters before a marker or its beginning; all of them if there is no marker."""
    found = text.find(marker) if marker else len(text)
    return found if found >= 0 else len(text) - begun_length(text, marker)


def _markers(*texts: str) -> tuple[str, ...]:
    """The texts without surrounding white space, longest first."""
    return tuple(sorted({text.strip() for text in texts if text.strip()}, key=len, reverse=True))
