"""The streaming validator of a turn in a model's own notation: reasoning, text, calls, and all fields of calls.

The strict form decides which characters are violations: the first after which no valid turn can follow. Reading
continues if that is safe, so that the rest is shown. At the end of the text, `read_turn` determines the contents of the
turn.

Text and reasoning are read up to the next marker, which a `Finder` finds; from a call's marker on, `Calls` reads. Text
that turns out not to be a marker or a call is read again (`put_back`). An apparent call where text is allowed is a
trial: its events wait until it names a known tool; otherwise they are dropped, and it is text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from glyphscope.events import (
    Code,
    RunEvent,
    SegmentClosed,
    SegmentKind,
    SegmentOpened,
    Violation,
    add_violation,
)
from glyphscope.notation.ahead import TextAhead
from glyphscope.registry import ToolRegistry
from glyphscope.turns.form import DEFAULT_OPTIONS, CallForm, CallObject, TurnForm, TurnOptions, state_of
from glyphscope.turns.read import FOREIGN, Turn, is_call, read_turn
from glyphscope.turns.scan import in_words
from glyphscope.turns.tools import TurnTools
from glyphscope.turns.validator_calls import Calls, Mode, Opening, Trial, beginnings_of
from glyphscope.turns.validator_markers import (
    Finder,
    FoundMarker,
    Marker,
    markers_of,
    reasoning_ends,
    strays_of,
    without_bare,
)
from glyphscope.turns.validator_one_call import CallRecord, OneCallValidator
from glyphscope.turns.violations import final_calls, not_before
from glyphscope.validation.streaming_validator import JudgedCall, Limits

MAX_CALLS = 1000
"""The maximum number of calls that are read in one turn."""
_SLICE = 4096
"""The number of characters read at a time; violations are counted and limited after each slice."""
_NOT_SPACE = re.compile(r"\S")
_MAX_BEFORE, _MAX_GAP = 16, 100
"""The number of characters kept: before a call, to compare a marker's white space; between calls, the separator."""


class FormValidator:
    """Judges the turn after the prompt, fed in pieces of any size; returns events, with `call_index` in those of calls.

    The options' `thinking` is the state with which the prompt was rendered.
    """

    def __init__(
        self,
        form: TurnForm,
        registry: ToolRegistry,
        options: TurnOptions = DEFAULT_OPTIONS,
        limits: Limits | None = None,
    ) -> None:
        self.chars = 0
        self.violations: list[Violation] = []
        self.turn: Turn | None = None
        self._form, self._thinking = form, options.thinking
        self._limits = limits or Limits()
        self._room = 0 if options.choice == "none" else options.most_calls
        self._text_allowed = options.choice != "required"
        self._free_text = options.free_text or options.constrain_from == "call" or self._text_allowed
        self._registry = registry
        if options.tool is not None:  # another registry would have its schemas prepared again
            self._registry = replace(
                registry, tools=tuple(tool for tool in registry if tool.name == options.tool)
            )
        self._names = tuple(tool.name for tool in self._registry.allowed)
        self._tools = TurnTools(registry)
        self._markers = markers_of(form, self._names)
        self._beginnings = beginnings_of(form)
        self._call_opening = _opening_words(form)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._token = -1  # the number of the token being read
        self._counted = 0  # events of this feed whose violations are recorded
        self._pieces: list[str] = []  # all of the text
        begun = form.begun.get(state_of(self._thinking), "")
        self._text = TextAhead(-len(begun))
        self._reading = self._read()
        self._records: list[CallRecord] = []
        self._final: tuple[JudgedCall, ...] | None = None  # the calls at the end of the text
        self._out: list[RunEvent] = []  # where events go
        self._mode: Mode = "text"
        self._finder = Finder(self._possible)
        self._calls: Calls | None = None
        self._opening = Opening(0, "text", -1, 0, False)  # of the calls
        self._trial: Trial | None = None
        self._segment: tuple[SegmentKind, int] | None = None  # the open text or reasoning, and its start
        self._text_end = 0  # the end of the last character other than white space
        self._unread = False  # the text follows arguments that cannot be read to their end
        self._has_text = self._has_reasoning = self._quoted = False  # quoted: reasoning's opening is text
        self._text_reported = False  # text where none is allowed was already reported
        self._broken = False  # the last call left the form: text after it is not another violation
        self._after_call = -1  # the end of the last call, -1 once text followed
        self._gap = ""  # the white space and markers since then
        self._before = ""  # the last characters of text
        self._last_form: CallForm | None = None
        self._ended = False  # a marker has ended the turn
        self._finished = self._stopped = False  # `finish` was called; a limit was reached
        self._open_to = -1  # text before this character could still have become a longer marker
        self._validated_to = -1  # text before this character was part of a failed call, and is read again
        self._unasked = False  # the prompt opened reasoning with thinking off: text, unless it is closed
        self._whole = False  # the last allowed call is complete
        self._run(begun)
        self._early, self._out = self._out, []  # events of the prompt's part, for the first feed

    # the result so far

    @property
    def complete(self) -> bool:
        """Whether nothing may follow, or the text has ended with nothing left open and with what `choice` requires."""
        if self._final is not None:
            return self.turn is not None and self.turn.complete and self._enough
        if self._whole:
            return not self._finder.open  # the token that closed the last call may have begun the turn's end
        return self._ended and self._enough and self._mode == "text"

    @property
    def _enough(self) -> bool:
        calls = self._records if self._final is None else self._final
        return bool(calls) or (self._text_allowed and self._has_text)

    @property
    def valid(self) -> bool:
        """Whether it is complete and without violations."""
        return self.complete and not self.violations

    @property
    def tool(self) -> str | None:
        """The first call's tool, once known."""
        if self._final is not None:
            return self._final[0].tool if self._final else None
        first = self._records[0].validator if self._records else None
        return None if first is None else first.tool

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The first call's arguments, once it is complete."""
        calls = self.calls
        return calls[0].arguments if calls and calls[0].complete else None

    @property
    def calls(self) -> tuple[JudgedCall, ...]:
        """The calls so far; at the end of the text, those of `read_turn`."""
        if self._final is not None:
            return self._final
        return tuple(each.call(n, self.violations, self.chars) for n, each in enumerate(self._records))

    @property
    def content(self) -> str:
        """The text for the user, known at the end."""
        return "" if self.turn is None else self.turn.content

    @property
    def reasoning(self) -> str:
        """The reasoning, known at the end."""
        return "" if self.turn is None else self.turn.reasoning

    # feeding

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """Validate the next piece, of any size; bytes may end inside a character. Returns the resulting events."""
        if isinstance(text, bytes):
            text = self._decoder.decode(text)
        self._token = self._token + 1 if token is None else token
        out, self._early = self._early, []
        self._emit_to(out)
        self._counted = 0
        base = self.chars
        self.chars += len(text)
        if self._stopped:
            return out
        room = self._limits.text - base
        self._pieces.append(text if len(text) <= room else text[:room])
        for start in range(0, min(len(text), room), _SLICE):
            self._run(text[start : min(start + _SLICE, room)])
            self._count(out)
        if len(text) > room and not self._stopped:
            self._stop(f"the text is longer than {self._limits.text} characters", self._limits.text)
        if self._calls is not None and self._trial is None and self._calls.validator is not None:
            out += self._calls.validator.changed(self.chars)
        self._count(out)
        return out

    def finish(self) -> list[RunEvent]:
        """Validate the end of the text. Returns the last events."""
        self._counted, rest = 0, self._decoder.decode(b"", final=True)
        out = self.feed(rest, self._token) if rest else []
        finished, self._finished = self._finished, True
        if finished:
            return out
        self._emit_to(out)
        if not self._stopped:
            self._end_text()
        self._close_segment()
        self._count(out)
        self._read_turn()
        self._count(out)
        return out

    def _emit_to(self, out: list[RunEvent]) -> None:
        if self._trial is None:
            self._out = out
        else:
            self._trial = self._trial._replace(out=out)

    def _count(self, out: list[RunEvent]) -> None:
        """Record the violations among the new events up to the limit; beyond it, drop them and stop."""
        found = [event for event in out[self._counted :] if isinstance(event, Violation)] if out else []
        room = max(self._limits.errors - len(self.violations), 0) if found else 0
        for violation in found[:room]:
            add_violation(self.violations, violation)
        if len(found) > room:
            out[:] = [event for event in out if event not in found[room:]]
            if all(each.code != "LIMIT_EXCEEDED" for each in self.violations):
                self._out = out
                self._stop(f"more than {self._limits.errors} violations", found[room].char)
                self.violations.append(out[-1])  # type: ignore[arg-type]
        self._counted = len(out)

    def _stop(self, message: str, at: int) -> None:
        self._violate("LIMIT_EXCEEDED", message, max(at, self._validated_to), "")
        self._stopped = True

    def _violate(self, code: Code, message: str, at: int, viable: str) -> None:
        index, at = max(len(self._records) - 1, 0), max(at, 0)
        if at >= self._validated_to:
            out = self._trial.out if self._trial is not None and self._trial.loose else self._out
            out.append(
                Violation(
                    code=code, message=message, path="", char=at, token=self._token, viable=viable, call_index=index
                )
            )  # fmt: skip

    # from marker to marker

    def _run(self, text: str) -> None:
        """Read on with more text."""
        self._text.add(text)
        next(self._reading, None)

    def _read(self) -> Iterator[None]:
        while not self._stopped:
            yield from self._text.char()
            if self._mode == "calls":
                yield from self._in_calls()
            else:
                self._free()

    def _free(self) -> None:
        """Read text or reasoning up to a character that may begin a marker, or one character of a marker."""
        finder, at = self._finder, self._text.place
        if not finder.open:
            rest = self._text.rest
            found = finder.first.search(rest)
            if found is None or found.start():
                self._take_text(self._text.take(found.start() if found else len(rest)), at, -1)
                return
        marker = finder.step(self._text.take(1), at)
        if marker is not None:
            self._marker(marker)
            return
        start, left = finder.start, finder.left
        if dropped := finder.dropped():
            self._take_text(dropped, start, left)

    def _marker(self, found: FoundMarker) -> None:
        """Continue after a marker, or take its first character as text."""
        pending, start = "".join(self._finder.buffer), self._finder.start
        if found.start > start:
            self._take_text(pending[: found.start - start], start, found.left)
        self._open_to = max(self._open_to, self._finder.left)
        self._text.put_back(pending[found.end - start :])
        written = pending[found.start - start : found.end - start]
        if found.marker.kind == "call":
            self._begin_calls(found, written)
        elif self._mark(found):
            self._add_gap(written)
        else:
            self._take_text(written[0], found.start, found.left)
            self._text.put_back(written[1:])
            self._finder = Finder(self._finder.markers)

    # text and reasoning

    def _take_text(self, text: str, at: int, left: int) -> None:
        """Take text without markers; at the character `left` it could no longer be a marker of the form."""
        if self._unread:
            return
        if at < 0:
            text, at = text[-at:], 0
        self._before = (self._before + text)[-_MAX_BEFORE:]
        found = _NOT_SPACE.search(text)
        if found is None:
            self._add_gap(text)
            return
        ink = at + found.start()
        if self._segment is None:
            kind: SegmentKind = "reasoning" if self._mode == "reasoning" else "text"
            self._segment = (kind, ink)
            self._out.append(SegmentOpened(kind=kind, start=ink))
        self._text_end = at + len(text.rstrip())
        if self._mode == "reasoning":
            return
        self._has_text, self._ended, self._after_call = True, False, -1
        self._report_text(max(left, ink, self._open_to))

    def _add_gap(self, text: str) -> None:
        self._gap += text if self._after_call >= 0 and len(self._gap) < _MAX_GAP else ""

    def _report_text(self, at: int) -> None:
        if self._text_may_come or self._text_reported:
            return
        self._text_reported = True
        if self._records:
            self._violate("TRAILING_TEXT", "text appears after the calls", at, "the end of the turn")
        else:
            self._violate("LEADING_TEXT", "text appears before the required call", at, self._call_opening)

    @property
    def _text_may_come(self) -> bool:
        if self._broken:
            return True
        return self._form.text_after if self._records else self._free_text

    def _close_segment(self, kind: SegmentKind | None = None) -> None:
        """End the open text or reasoning; `kind` is its actual kind, if that turned out to be different."""
        if self._segment is None:
            return
        (own, start), self._segment = self._segment, None
        self._out.append(SegmentClosed(kind=kind or own, start=start, end=max(start, self._text_end)))

    def _mark(self, found: FoundMarker) -> bool:
        """Take a marker other than a call's; False if it is text."""
        kind, last = found.marker.kind, max(found.end - 1, self._open_to)
        self._unread = False
        anywhere = self._form.reasoning is not None and self._form.reasoning.opens_anywhere
        quoted = kind == "open" and self._has_text and not anywhere
        if quoted or (kind == "close" and self._mode == "text" and self._quoted):
            self._quoted = quoted
            return False
        if kind == "close" and self._mode == "text":
            self._lone_close(found.start, last)
        elif kind == "stray" and not self._broken:
            self._violate("SYNTAX", "the call was closed before", last, "")
        if self._mode == "reasoning":
            self._has_reasoning = self._has_reasoning or self._segment is not None
        self._before, self._ended = "", kind == "end"
        self._close_segment()
        self._unasked = kind == "open" and found.start < 0 and self._thinking is False
        if kind == "wrap":
            self._markers = without_bare(self._markers, self._form)
        if kind in ("open", "close", "wrap"):
            self._enter("reasoning" if kind == "open" else "text")
        return True

    def _enter(self, mode: Mode) -> None:
        self._mode = mode
        if mode == "reasoning":
            assert self._form.reasoning is not None
            by_call = self._form.reasoning.call_ends or self._unasked
            self._finder = Finder(reasoning_ends(self._markers, self._form, by_call=by_call))
        else:
            strays = strays_of(self._last_form) if self._last_form else ()
            self._finder = Finder((*self._possible, *strays))

    @property
    def _possible(self) -> tuple[Marker, ...]:
        """The possible markers; after the maximum number of calls, markers of calls no longer belong to the form."""
        if self._room is None or len(self._records) < self._room:
            return self._markers
        return tuple(m._replace(strict=False) if m.kind == "call" else m for m in self._markers)

    def _lone_close(self, start: int, last: int) -> None:
        if start >= 0 and (self._records or self._has_reasoning):
            self._violate("SYNTAX", "nothing was open that this closes", last, "")
        elif start >= 0 and self._has_text:
            self._violate("SYNTAX", "reasoning was not opened", last, "")
            self._close_segment("reasoning")
            self._has_text, self._has_reasoning = False, True

    # calls

    def _begin_calls(self, found: FoundMarker, written: str) -> None:
        mode, follows, self._unread = self._mode, self._unread, False
        form = self._form.calls[found.marker.form]
        opening = found.marker.text
        blank = opening[: len(opening) - len(opening.lstrip())]
        before = len(blank) if self._before.endswith(blank) else 0
        weak = form.unmarked or not any(sign in written for sign in "<[|`")
        trial = mode == "reasoning" or (weak and self._text_may_come) or (form.unmarked and self._has_text)
        late = trial and mode == "text" and not form.unmarked and form.object is None
        bare = trial and mode == "text" and form.unmarked and form.object is not None and not self._has_text
        room = None if self._room is None else max(self._room - len(self._records), 0)
        beginnings = [each for each in self._beginnings if each.fits(written[0])]
        self._text.put_back(written)
        self._calls = calls = Calls(
            beginnings, self._text, self._tools, self._names, self._limits, self._records, self._new_validator, room
        )  # fmt: skip
        calls.violate, calls.on_call, calls.on_end = self._violate, self._on_call, self._on_end
        calls.late, calls.follows_unread = late, follows
        calls.raise_floor(max(self._open_to, found.end - 1) if self._text_may_come else self._open_to)
        self._mode = "calls"
        foreign = not any(each.strict for each in beginnings)
        self._opening = Opening(found.start, mode, found.left, before, foreign)
        loose = not trial and self._text_may_come and not found.marker.strict
        if not trial and not loose:
            self._certain(found.end - 1, calls)
        elif loose:
            self._report_foreign(found.end - 1)
        if not trial:
            self._compare_gap(self._gap.removesuffix(blank), form.separator, found.end - 1)
        if trial or loose:
            self._trial, calls.trial_from = Trial("", self._out, loose, found.end - 1, late, bare), found.end
            self._out = []

    def _compare_gap(self, gap: str, separator: str, at: int) -> None:
        """Report what is between two calls in place of the form's separator; a marker may begin another message."""
        other_message = bool(gap.strip()) and not separator.strip()
        if self._after_call >= 0 and not other_message and gap.strip("\n") != separator.strip("\n"):
            separator = in_words(separator)
            self._violate("SYNTAX", f"{separator} was expected", at, separator)

    def _certain(self, at: int, calls: Calls) -> None:
        """From here on, this is a call, no longer a trial."""
        opening, self._trial, calls.trial_from = self._opening, None, None
        self._close_segment("text" if self._unasked else None)
        self._has_reasoning = self._has_reasoning or (opening.mode == "reasoning" and not self._unasked)
        self._unasked = False
        self._report_foreign(at)
        if self._room is not None and calls.earlier >= self._room:
            self._report_call(at)

    def _report_foreign(self, at: int) -> None:
        """Report, once, that the calls are in another notation."""
        opening = self._opening
        if opening.foreign:
            at = at if self._text_may_come else max(opening.left, opening.at)
            self._violate("SYNTAX", "another notation of calls is written", at, self._call_opening)
        self._opening = opening._replace(foreign=False)

    def _report_call(self, at: int) -> None:
        """Report a call beyond the limit: at its marker or, if text is allowed, at the character that proves it."""
        if not self._text_may_come:
            at = self._opening.left if self._opening.left >= 0 else self._opening.at
        if self._room == 0:
            self._violate("SYNTAX", "no tool may be called", at, "text")
        else:
            self._violate("TRAILING_TEXT", "no further call may follow", at, "the end of the turn")

    def _new_validator(self, form: CallForm) -> OneCallValidator:
        shape = form.object or CallObject()
        keys = (shape.name_key or "name", shape.arguments_key or "arguments", shape.id_key)
        return OneCallValidator(self._registry, len(self._records) - 1, self._limits, keys, self._tools.names)

    def _on_call(self, at: int) -> None:
        at -= self._opening.blank if self._calls is not None and at == self._calls.at else 0
        if len(self._records) >= MAX_CALLS:
            self._stop(f"more than {MAX_CALLS} calls", max(at, 0))
            return
        start = max(at, 0)
        self._records.append(CallRecord(start))
        self._out.append(SegmentOpened(kind="call", start=start, call_index=len(self._records) - 1))

    def _on_end(self, at: int) -> None:
        record, index = self._records[-1], len(self._records) - 1
        record.end = at
        end = max(at, record.start)
        self._out.append(SegmentClosed(kind="call", start=record.start, end=end, call_index=index))

    def _in_calls(self) -> Iterator[None]:
        calls = self._calls
        assert calls is not None
        calls.attach(self._out, self._token)
        alone = self._text.place if calls.trial_from is None else calls.trial_from
        later = self._text.cut(alone) if self._text.place < alone else ""  # a trial's marker is read alone
        rest = self._text.rest
        waits = calls.read()
        self._text.add(later)
        if self._trial is not None:
            written = (self._trial.text + rest)[: self._text.place - self._opening.at]
            self._trial = self._trial._replace(text=written)
            call = calls.last_validator
            loose, at, late = self._trial.loose, self._trial.at, self._trial.late
            named = call is not None and call.tool is not None
            unknown = call is not None and named and not call.tool_allowed
            known = named and (calls.begun if loose or (late and unknown) else not unknown)
            none = calls.state == "failed" if loose or late else calls.is_none or unknown
            proof = self._text.place - 1 if late else -1
            if self._trial.bare and call is not None and call.names_no_tool and calls.state != "failed":
                end = self._records[-1].end
                written = written[: end - self._opening.at]
                known, none, proof = end >= 0 and is_call(written, self._form, self._tools), end >= 0, end - 1
            if none and not known:
                self._no_call(self._trial, calls)
                return
            if known:
                found, self._out = not_before(self._out, proof, self._token), self._trial.out
                self._certain(at if loose else self._opening.at, calls)
                self._out += found  # after the end of the text before the call
                calls.attach(self._out, self._token)
        if calls.state != "open":
            self._end_calls(calls)
        elif waits and not later:
            yield

    def _no_call(self, trial: Trial, calls: Calls) -> None:
        """End a trial: the apparent call is text."""
        self._trial, self._calls, self._out = None, None, trial.out
        del self._records[calls.earlier :]
        self._mode = self._opening.mode
        self._text.put_back(trial.text)
        self._take_text(self._text.take(1), self._opening.at, -1)
        self._enter(self._mode)

    def _end_calls(self, calls: Calls) -> None:
        self._calls = None
        self._gap = ""
        self._after_call = at = self._text.place
        self._last_form = calls.form
        self._has_text = self._has_text or calls.state == "failed"
        self._broken = calls.state == "failed" or calls.left_form
        self._unread = calls.unread
        self._whole = calls.state != "failed" and self._room is not None and len(self._records) >= self._room
        self._before = ""
        self._enter("text")
        if calls.state == "failed":
            self._validated_to = max(self._validated_to, calls.known)
        elif calls.state == "left":
            self._open_to = max(self._open_to, calls.known - 1)
        if calls.state == "failed" and not calls.unread and at <= calls.at:
            self._take_text(self._text.take(1), at, -1)

    # the end

    def _end_text(self) -> None:
        if self._mode != "calls" and (found := self._finder.pending()) is not None:
            self._marker(found)
            self._run("")
        if self._mode == "calls":
            self._end_in_calls()
        if self._mode == "reasoning" and self._unasked:
            self._close_segment("text")
        elif self._mode == "reasoning":
            self._violate("TRUNCATED", "the text ends before the reasoning is closed", self.chars, "")

    def _end_in_calls(self) -> None:
        calls = self._calls
        assert calls is not None
        calls.attach(self._out, self._token)
        calls.finish(self.chars)
        if self._trial is not None:
            self._out, self._mode = self._trial.out, self._opening.mode
            return
        if calls.in_call:
            validator = calls.validator
            if validator is None or not validator.stopped:
                self._violate("TRUNCATED", "the text ends before the call does", self.chars, "")
            self._on_end(self.chars)
            self._records[-1].end = -1

    def _read_turn(self) -> None:
        """Take the result of `read_turn`, and report violations that only the whole text shows."""
        self.turn = turn = read_turn("".join(self._pieces), self._form, self._tools, self._thinking)
        self._has_text = self._has_text or bool(turn.content)
        shown = [None if each.validator is None else each.validator.shown for each in self._records]
        self._final, last = final_calls(
            turn, self.calls, shown, self._tools, self._names, self._token, MAX_CALLS
        )
        self._out += last
        if not self._final and not self._text_allowed:
            self._violate("NO_TOOL_CALL", "the text holds no tool call", self.chars, self._call_opening)
        if self.violations or any(isinstance(event, Violation) for event in self._out):
            return
        if not turn.complete:
            self._violate("TRUNCATED", "the text ends in the middle of a marker", self.chars, "")
        elif turn.left_at is not None and turn.left_why != FOREIGN:
            self._violate("SYNTAX", turn.left_why, turn.left_at, "")


def _opening_words(form: TurnForm) -> str:
    """The beginning of the form's calls, in words."""
    own = next((call for call in form.calls if call.strict), None)
    return "a call" if own is None or not own.opening.strip() else repr(own.opening)
