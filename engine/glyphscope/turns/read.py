"""Read a turn by a form: its reasoning, its text for the user, and its calls.

The reading is lenient, like that of servers: missing markers and different white space are tolerated. Every departure
from the form is noted; without any, the turn is strict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from glyphscope.turns.arguments_tagged import value_of
from glyphscope.turns.calls import CallReader, ReadCall
from glyphscope.turns.foreign import Foreign, find_foreign
from glyphscope.turns.form import CallForm, Piece, TurnForm, state_of
from glyphscope.turns.scan import BrokenOff, Departure, MissingPart, Scan, pattern_of
from glyphscope.turns.starts import Start, edges, marker_pattern, may_break_off, openings_alone, own_openings
from glyphscope.turns.tools import TurnTools

FOREIGN = "a marker that belongs to no call is in the text"
"""The reason of a departure that is not a violation, as a text for the user may contain anything else."""
_NAME_AHEAD = 400
"""Characters from a call's beginning that contain its tool's name: longer than any name with the text before it."""


class TurnCall(msgspec.Struct, frozen=True):
    """A call in a turn, from character `start` to `end` (exclusive) of the text.

    `arguments` is None if they are not in a known notation; `broken_at` is the character. `repeated` is a key that is
    written twice in them, of which the last value is given.
    """

    name: str
    arguments: dict[str, Any] | None
    start: int
    end: int
    complete: bool = True
    id: str = ""
    broken_at: int | None = None
    repeated: str | None = None


class Turn(msgspec.Struct, frozen=True):
    """A turn that was read. `left_at` is the first character at which the text leaves the form, with the reason and, if
    there is only one, the expected text.

    `complete`: nothing was left open at the end. `strict`: the text follows the form exactly. The spans are the places
    (start, end exclusive) of text and of reasoning. `foreign` is the first marker of another notation in the text.
    """

    content: str
    reasoning: str
    calls: tuple[TurnCall, ...]
    complete: bool
    strict: bool
    left_at: int | None = None
    left_why: str = ""
    left_expected: str = ""
    text_spans: tuple[tuple[int, int], ...] = ()
    reasoning_spans: tuple[tuple[int, int], ...] = ()
    foreign: Foreign | None = None


def read_turn(text: str, form: TurnForm, tools: TurnTools, thinking: bool | None = None) -> Turn:
    """Read the model's text after a prompt that was rendered with that state of thinking.

    Takes time linear in the text. Calls are not validated here; see `call_violations`.
    """
    begun = form.begun.get(state_of(thinking), "")
    return _Reader(text, begun, form, tools, thinking).read()


def is_call(text: str, form: TurnForm, tools: TurnTools) -> bool:
    """Whether a turn that is only this text, such as a JSON object, has a call, also of no tool."""
    return bool(read_turn(text, replace(form, begun={}), tools).calls)


@dataclass
class _Reader:
    """Reads from marker to marker. Places refer to `whole`: the part that the prompt has `begun`, then the `text`."""

    text: str
    begun: str
    form: TurnForm
    tools: TurnTools
    thinking: bool | None = None
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[ReadCall] = field(default_factory=list)
    text_spans: list[tuple[int, int]] = field(default_factory=list)
    reasoning_spans: list[tuple[int, int]] = field(default_factory=list)
    open_end: bool = False

    def __post_init__(self) -> None:
        self.state = state_of(self.thinking)
        again = bool(self.begun.strip()) and self.text.lstrip().startswith(self.begun.strip())
        if again:
            self.begun = ""
        self.whole = self.begun + self.text
        self.scan = Scan(self.whole, self.form.ends)
        if again:
            self.scan.note(0, "the prompt has this already")
        self.pattern, self.starts = marker_pattern(self.form)
        self.after_call = -1  # the end of the last call
        self.last_form: CallForm | None = None
        self.has_text = False
        self.quoted = False  # text has an opening marker of reasoning
        self.wrapped = False  # a marker around text was written

    def read(self) -> Turn:
        at = 0
        searched = 0
        while at < self.scan.end:
            found = self.pattern.search(self.whole, max(at, searched))
            if found is None:
                break
            assert found.lastgroup is not None
            end = None
            starts = self.starts[int(found.lastgroup[1:])]
            for place, start in enumerate(starts):
                end = self._marker(start, found, at, starts[place + 1 :])
                if end is not None:
                    break
            if end is None and starts[0].kind == "call":
                end = self._hidden_call(found, at)
            if end is None:  # not a marker at this place
                searched = found.start() + 1
                self._mentioned(starts, found)
                continue
            at = searched = end
        self._add_text(at, self._half_marker(at))
        return self._turn()

    def _marker(self, start: Start, found: re.Match[str], at: int, others: list[Start]) -> int | None:
        """Continue from a marker; None if it is part of the text. `others` are its less likely meanings."""
        if start.kind == "call":
            return self._calls(start, found, at, others)
        if start.kind == "open":
            return self._reason(found, at)
        if start.kind == "close":
            return self._lone_close(found, at)
        if start.kind == "end":
            return self._end(found, at)
        if start.kind == "stray":
            return self._stray(found, at)
        if not start.whole:
            if self.whole[at : found.start()].strip():
                return None  # a text mentions it
            self.scan.note(found.start(), "no marker belongs here")
        self._add_text(at, found.start())
        self.wrapped = self.wrapped or start.kind == "wrap"
        return found.end()

    def _hidden_call(self, found: re.Match[str], at: int) -> int | None:
        """Continue from the form's own opening where a longer marker of another notation was found in vain."""
        for pattern, start in own_openings(self.form):
            own = pattern.match(self.whole, found.start())
            if own is not None and own.end() < found.end():
                end = self._calls(start, own, at, [])
                if end is not None:
                    return end
        return None

    def _mentioned(self, starts: list[Start], found: re.Match[str]) -> None:
        """Note a marker of calls that is text: the form does not allow it there."""
        for start in starts:
            if start.kind == "call" and start.form is not None and not start.form.unmarked:
                if any(sign in start.text for sign in "<[|`") or self._tool_at(found.end()):
                    self.scan.note(found.start(), "a call was expected")
            elif start.kind == "stray" and start.form == self.last_form:
                self.scan.note(found.start(), "the call was closed before")

    def _tool_at(self, at: int) -> bool:
        return any(self.whole.startswith(name, at) for name in self.tools.names)

    # text

    def _add_text(self, start: int, end: int) -> None:
        piece = self.whole[start:end]
        if piece.strip():
            if self.calls and not self.form.text_after and start >= self.after_call >= 0:
                self.scan.note(start + len(piece) - len(piece.lstrip()), "text comes after the calls")
            self.has_text = True
            self.text_spans.append((start, end))
        if piece:
            self.content.append(piece)

    def _half_marker(self, at: int) -> int:
        """The beginning of an incomplete marker at the end of the text, or the end of the text."""
        first, markers = may_break_off(self.form)
        longest = max(map(len, markers), default=0)
        for found in first.finditer(self.whole, max(at, self.scan.end - longest), self.scan.end - 1):
            place, rest = found.start(), self.whole[found.start() :]
            if any(marker.startswith(rest) and rest != marker for marker in markers):
                self.open_end = True
                self.scan.note(place, "the text ends in the middle of a marker")
                return place
        return self.scan.end

    def _end(self, found: re.Match[str], at: int) -> int | None:
        """An end of the turn: only at the end of the text, or before another marker."""
        end, rest = self.scan.end, self.scan.space(found.end())
        if rest < self.scan.end:
            boundaries = (text.strip() for text in (self.form.header, *self.form.skips))
            boundary = next((text for text in boundaries if text and self.whole.startswith(text, rest)), "")
            if not boundary and self.pattern.match(self.whole, rest) is None:
                return None
            end = rest + len(boundary) if boundary else found.end()
        self._add_text(at, found.start())
        return end

    def _stray(self, found: re.Match[str], at: int) -> int | None:
        """A closing marker directly after a call that has already ended."""
        if not self.calls or at != self.after_call or self.whole[at : found.start()].strip():
            return None
        self.scan.note(found.start(), "the call was closed before")
        self.after_call = found.end()
        return found.end()

    # reasoning

    def _reason(self, found: re.Match[str], at: int) -> int | None:
        """Reasoning from its opening marker on."""
        reasoning = self.form.reasoning
        assert reasoning is not None
        if not reasoning.opens_anywhere and (self.has_text or self.whole[at : found.start()].strip()):
            self.quoted = True
            return None
        self._add_text(at, found.start())
        start = found.end()
        close = pattern_of(reasoning.close).search(self.whole, start)
        message_at = self._message_in_reasoning(start, close.start() if close else self.scan.end)
        if message_at is not None:
            self._add_reasoning(start, message_at)
            self.scan.note(message_at, "the reasoning is not closed")
            return message_at
        if close is None and found.start() < len(self.begun) and self.thinking is False:
            return start  # the prompt always opens it, and there is no reasoning
        call_at = self._call_in_reasoning(start, close.start() if close else self.scan.end, close is None)
        if call_at is not None:
            self._add_reasoning(start, call_at)
            if not reasoning.call_ends:
                self.scan.note(call_at, "the reasoning is not closed")
            return call_at
        if close is None:
            rest = self._half_marker(start)
            self._add_reasoning(start, rest)
            self.open_end = True
            return self.scan.end
        self._add_reasoning(start, close.start())
        return close.end()

    def _message_in_reasoning(self, start: int, end: int) -> int | None:
        """The beginning of text for the user between its markers, which end open reasoning."""
        openings = [text for wrap in self.form.wraps if (text := wrap.open.strip()) and text.startswith("<|")]
        texts = [*openings, *(skip.strip() for skip in self.form.skips if skip.strip().startswith("<|"))]
        found = [at for text in texts if (at := self.whole.find(text, start, end)) >= 0]
        return min(found, default=None)

    def _add_reasoning(self, start: int, end: int) -> None:
        if self.whole[start:end].strip():
            self.reasoning.append(self.whole[start:end].strip())
            self.reasoning_spans.append((start, end))

    def _call_in_reasoning(self, start: int, end: int, unclosed: bool) -> int | None:
        """Where a readable call ends the reasoning, in a form that allows this or if there is no closing."""
        reasoning = self.form.reasoning
        assert reasoning is not None
        if not reasoning.call_ends and not unclosed:
            return None
        at = start
        while True:
            found = self.pattern.search(self.whole, at, end)
            if found is None:
                return None
            assert found.lastgroup is not None
            for marker in self.starts[int(found.lastgroup[1:])]:
                if self._call_may_begin(marker, found.start(), reasoning.call_ends):
                    return found.start()
            at = found.end()

    def _call_may_begin(self, marker: Start, at: int, cut_off: bool) -> bool:
        """Whether there is a call of a known tool at this place, complete or, with `cut_off`, begun."""
        if marker.kind != "call" or marker.form is None or marker.form.unmarked:
            return False
        notes = len(self.scan.notes)
        try:
            calls, _ = self._read_calls(marker, at)
        except MissingPart:
            calls = []
        del self.scan.notes[notes:]
        known = bool(calls) and (calls[0].name in self.tools.names or not self.tools.names)
        return known and (cut_off or not calls[-1].cut)

    def _lone_close(self, found: re.Match[str], at: int) -> int | None:
        """A closing marker without an opening one: the text before it was reasoning."""
        if found.start() < len(self.begun):
            self._add_text(at, found.start())
            return found.end()
        if self.quoted:  # both markers are a part of the text
            self.quoted = False
            return None
        closed = self.form.reasoning is not None and self.form.reasoning.prompt.get(self.state) == "closes"
        last = closed and self.scan.ended(found.end())  # otherwise there would be no answer
        if self.calls or self.reasoning or self.wrapped or last:
            self._add_text(at, found.start())
            self.scan.note(found.start(), "nothing was open that this closes")
            return found.end()
        before = "".join(self.content) + self.whole[at : found.start()]
        if before.strip():
            self.scan.note(0, "reasoning was not opened")
            self.reasoning.append(before.strip())
            self.reasoning_spans.append((len(self.begun), found.start()))
        self.content.clear()
        self.text_spans.clear()
        self.has_text = False
        return found.end()

    # calls

    def _calls(self, start: Start, found: re.Match[str], at: int, others: list[Start]) -> int | None:
        form = start.form
        assert form is not None
        if form.unmarked and not form.strict and self.wrapped:
            return None  # an object between the markers of text is text
        if (
            form.unmarked
            and (self.has_text or self.whole[at : found.start()].strip())
            and not self._known_ahead(found)
        ):
            return None
        notes = len(self.scan.notes)
        begin = found.start()
        lead = start.text[: len(start.text) - len(start.text.lstrip())]
        if lead and at <= begin - len(lead) and self.whole.startswith(lead, begin - len(lead)):
            begin -= len(lead)
        try:
            form, calls, end = self._readable_calls(start, begin, others)
        except BrokenOff:
            del self.scan.notes[notes:]
            if form.unmarked or not form.strict:
                return None
            self._add_text(at, found.start())
            self.scan.note(self.scan.end, "the text ends before the call has a name")
            self.open_end = True
            return self.scan.end
        except MissingPart:
            del self.scan.notes[notes:]
            return None
        if not form.strict:
            self.scan.note(begin, "another notation of calls is written")
        calls = [self._undamaged(call, form, notes) for call in calls]
        if not calls:
            self._add_text(at, found.start())
            return end
        certain = start.whole and form.strict and not calls[-1].cut
        if not certain and calls[-1].arguments is None and calls[-1].name not in self.tools.names:
            del self.scan.notes[notes:]
            return None
        before = found.start()
        if not form.strict and (alone := openings_alone(self.form).search(self.whole, at, before)):
            before = alone.start()
            end = self._fence_closed(end) if alone.group().startswith("```") else end
        self._add_text(at, before)
        self._between(form, at, begin)
        self.calls += calls
        self.after_call, self.last_form = end, form
        self.open_end = self.open_end or calls[-1].cut or calls[-1].unclosed
        return end

    def _undamaged(self, call: ReadCall, form: CallForm, notes: int) -> ReadCall:
        """The call; its arguments cannot be read if it leaves the form and a marker begins or ends a text of it."""
        left = [note.at for note in self.scan.notes[notes:] if call.start <= note.at <= call.end]
        encoding = form.arguments.encoding
        if (
            not left or not call.arguments or encoding in ("json", "pythonic")
        ):  # quotation marks protect texts
            return call
        texts = _texts(call.arguments) if encoding == "dict" else call.arguments.values()
        if any(isinstance(text, str) and edges(self.form).search(text) for text in texts):
            return call._replace(arguments=None, broken_at=min(left))
        return call

    def _fence_closed(self, at: int) -> int:
        start = self.scan.space(at)
        return start + 3 if self.whole.startswith("```", start) else at

    def _known_ahead(self, found: re.Match[str]) -> bool:
        """Whether an unmarked call after text names a tool of the request."""
        ahead = self.whole[found.start() : found.start() + _NAME_AHEAD]
        spellings = ('"{}"', "{}(", "{}{{")
        return any(spelling.format(name) in ahead for name in self.tools.names for spelling in spellings)

    def _between(self, form: CallForm, at: int, start: int) -> None:
        """Note white space or boundaries between two calls that differ from the form's separator."""
        if not self.calls or any(end > self.after_call for _, end in self.text_spans):
            return
        separator, written = form.separator, self.whole[self.after_call : start]
        if at != self.after_call and not separator.strip():
            return  # another message begins
        if (at != self.after_call or not written.strip()) and written.strip("\n") != separator.strip("\n"):
            self.scan.expect(self.after_call, separator)

    def _readable_calls(
        self, start: Start, at: int, others: list[Start]
    ) -> tuple[CallForm, list[ReadCall], int]:
        """The calls and their form: if it cannot read their arguments, another form with the same marker."""
        assert start.form is not None
        calls, end = self._read_calls(start, at)
        if all(call.arguments is not None for call in calls):
            return start.form, calls, end
        notes = self.scan.notes[:]
        for other in others:
            if other.kind != "call" or other.form is None or other.form.unmarked:
                continue
            try:
                again, other_end = self._read_calls(other, at)
            except MissingPart:
                continue
            if all(call.arguments for call in again):
                return other.form, [self._typed(call, start.form, other.form) for call in again], other_end
        self.scan.notes = notes
        return start.form, calls, end

    def _typed(self, call: ReadCall, form: CallForm, other: CallForm) -> ReadCall:
        """A call that another form read: between the marks that both have, `form` writes more than texts."""
        own, quote = form.arguments, other.arguments.quote.strip()
        if own.encoding != "tagged" or not quote or quote != own.closing("").strip():
            return call
        values = {
            key: value_of(text + own.closing(key), form, call.name, self.tools, key, own.own_links[0])
            if isinstance(text, str)
            else (text,)
            for key, text in (call.arguments or {}).items()
        }
        whole = {key: value[0] for key, value in values.items() if value is not None}
        return call._replace(arguments=whole) if len(whole) == len(values) else call

    def _read_calls(self, start: Start, at: int) -> tuple[list[ReadCall], int]:
        form = start.form
        assert form is not None
        if start.whole:
            return CallReader(self.scan, form, self.tools, whole=form.strict).section(at)
        self.scan.expect(at, form.opening)
        shortened = form
        if form.pieces[0].text != start.text:
            shortened = replace(form, pieces=(Piece("text", start.text), *form.pieces[1:]))
        if not form.section_open:
            call = CallReader(self.scan, shortened, self.tools, whole=False).one(at)
            return [call], call.end
        return CallReader(self.scan, replace(shortened, section_open=""), self.tools, whole=False).section(at)

    # result

    def _turn(self) -> Turn:
        shift = len(self.begun)
        spans = (find_foreign(self.whole, *span, self.form) for span in self.text_spans)
        foreign = next(filter(None, spans), None)
        notes = sorted(self.scan.notes, key=lambda note: note.at)
        first: Departure | None = notes[0] if notes else foreign and Departure(foreign.at, FOREIGN)
        calls = tuple(
            TurnCall(
                call.name,
                call.arguments,
                max(0, call.start - shift),
                call.end - shift,
                not call.cut and call.arguments is not None,
                call.id,
                None if call.broken_at is None else call.broken_at - shift,
                call.repeated,
            )
            for call in self.calls
        )
        complete = not self.open_end and all(call.complete for call in calls)
        return Turn(
            content=_joined(self.content),
            reasoning="\n".join(self.reasoning),
            calls=calls,
            complete=complete,
            strict=first is None and foreign is None and complete,
            left_at=None if first is None else max(0, first.at - shift),
            left_why="" if first is None else first.why,
            left_expected="" if first is None else first.expected,
            text_spans=tuple((max(0, a - shift), b - shift) for a, b in self.text_spans),
            reasoning_spans=tuple((max(0, a - shift), b - shift) for a, b in self.reasoning_spans),
            foreign=None if foreign is None else foreign._replace(at=max(0, foreign.at - shift)),
        )


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _joined(pieces: list[str]) -> str:
    """The texts around markers joined, on separate lines if there is no white space between them."""
    out: list[str] = []
    for piece in pieces:
        if out and piece and not (out[-1][-1].isspace() or piece[0].isspace()):
            out.append("\n")
        out.append(piece)
    return "".join(out).strip()
