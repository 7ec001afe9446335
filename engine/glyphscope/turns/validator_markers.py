"""Markers in a text that is being written: where one may begin, which are still possible, which is complete.

`starts` has the same markers for reading a whole turn: those of a form, and those that end a parameter's value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from glyphscope.turns.form import CallForm, TurnForm
from glyphscope.turns.markup import loose_tokens, tags_of
from glyphscope.turns.own_text import Sign
from glyphscope.turns.starts import CALL_KEYS, closing_tags, closing_texts, links_of, marker_like, starts


@lru_cache(maxsize=4096)
def gaps(literal: str) -> frozenset[int]:
    """The indexes of a marker before which more white space is allowed, as in `markup.loose`."""
    found, at = {0, len(literal)}, 0
    for gap, token in loose_tokens(literal):
        before, at = at, literal.index(token, at)
        found |= {before, at} if gap or not before else set()
        at += len(token)
    return frozenset({*found, at})


@lru_cache(maxsize=4096)
def signs_of(literal: str) -> tuple[Sign, ...]:
    """A marker without the white space in and around it."""
    return tuple(
        Sign(char, bool(gap) and not place)
        for gap, token in loose_tokens(literal)
        for place, char in enumerate(token)
    )


class Marker(NamedTuple):
    """A text with a function: `kind` is call, open or close (of reasoning), wrap, end, skip or stray; for a parameter's
    parts, link, head or lost. `strict`: the form allows it. `form` is the index of a call's form; `whole`: `text` is
    the whole opening.
    """

    kind: str
    signs: tuple[Sign, ...]
    strict: bool = True
    form: int = -1
    whole: bool = True
    text: str = ""


@lru_cache(maxsize=64)
def markers_of(form: TurnForm, names: tuple[str, ...]) -> tuple[Marker, ...]:
    """The markers of a form: those that end a turn or separate its parts, and every beginning of a call."""
    found = [Marker("wrap", signs_of(text)) for text in form.wrap_markers]
    if form.reasoning is not None:
        found.append(Marker("open", signs_of(form.reasoning.open)))
    found += [Marker("end", signs_of(end)) for end in form.ends]
    found += [Marker("skip", signs_of(text)) for text in (form.header, *form.skips)]
    for place, call in enumerate(form.calls):
        found += _calls(call, place, names)
    if form.reasoning is not None:  # a marker that is also another one counts as that
        found.append(Marker("close", signs_of(form.reasoning.close)))
    return tuple(dict.fromkeys(marker for marker in found if marker.signs))


def without_bare(markers: tuple[Marker, ...], form: TurnForm) -> tuple[Marker, ...]:
    """The markers in a text between markers: there, an object or a list of another notation is text."""
    calls = form.calls
    return tuple(m for m in markers if m.kind != "call" or m.strict or not calls[m.form].unmarked)


def strays_of(call: CallForm) -> tuple[Marker, ...]:
    """The tags with which a call and its section end, as stray markers after the end of the call."""
    return tuple(Marker("stray", signs_of(tag)) for tag in closing_tags(call))


def reasoning_ends(markers: tuple[Marker, ...], form: TurnForm, *, by_call: bool) -> tuple[Marker, ...]:
    """The markers that end reasoning: first its closing, which may also be another marker, and, if `by_call`, calls."""
    close = next(marker for marker in markers if marker.kind == "close")
    calls = (m for m in markers if m.kind == "call" and not form.calls[m.form].unmarked)
    return (close, *(calls if by_call else ()))


def _calls(call: CallForm, place: int, names: tuple[str, ...]) -> list[Marker]:
    if call.unmarked and not marker_like(call.opening):
        return _unmarked(call, place, names)
    brace = (Sign("{", True),) if call.object is not None else ()
    return [
        Marker("call", signs_of(text) + brace, call.strict and whole, place, whole, text)
        for text, whole in starts(call)
        if text.strip()
    ]


def _unmarked(call: CallForm, place: int, names: tuple[str, ...]) -> list[Marker]:
    """Calls that are recognised only by their text: their keys, or the name of a tool of the request."""
    if call.object is not None:
        opening = signs_of(call.section_open)
        opening = (*opening, Sign("{", bool(opening)), Sign('"', True))
        keys = [
            (*opening, *signs_of(f'{key}"'), Sign(":", True))
            for key in dict.fromkeys((call.object.name_key, *CALL_KEYS))
            if key
        ]
        return [Marker("call", signs, call.strict, place, text=call.section_open) for signs in keys]
    found = []
    for name in names:
        opening = signs_of(call.section_open)
        word = tuple(Sign(char, not at and bool(opening)) for at, char in enumerate(name))
        found.append(
            Marker("call", (*opening, *word, Sign("(", False)), call.strict, place, text=call.section_open)
        )
    return found


@lru_cache(maxsize=512)
def heads_of(call: CallForm, core: str, keys: tuple[str, ...]) -> tuple[Marker, ...]:
    """The markers that can follow a parameter of a call's form.

    `core` is the parameter's closing, which may be written again; without one, `keys` are the tool's arguments.
    """
    form = call.arguments
    closings = [tag for text in closing_texts(call) for tag in tags_of(text)]
    openings = [text for text, _ in starts(call) if "<" in text or "[" in text]
    before = [form.opening, form.separator]
    if not core:  # a parameter's key and link, too, as its separator may be in a text
        links = dict.fromkeys(link.strip()[:1] for link in links_of(form))
        before = [form.separator + form.opening + key + link for key in keys for link in links]
    texts = dict.fromkeys((*before, *call.after_arguments, *closings, *openings))
    heads = [Marker("head", signs_of(text)) for text in texts if text.strip()]
    again = [Marker("again", signs_of(core))] if core else []
    return _shortest([*again, *heads])


def _shortest(markers: Iterable[Marker]) -> tuple[Marker, ...]:
    """The markers without those that begin with another one, which is found first."""
    kept: list[Marker] = []
    for marker in sorted(markers, key=lambda each: len(each.signs)):
        if not any(each.signs == marker.signs[: len(each.signs)] for each in kept):
            kept.append(marker)
    return tuple(kept)


@lru_cache(maxsize=512)
def lost_of(call: CallForm, keys: tuple[str, ...], names: tuple[str, ...]) -> tuple[Marker, ...]:
    """The markers inside a value that show that its closing is missing: another of the arguments `keys`, or a call of
    one of the tools `names`.
    """
    form = call.arguments
    links = [signs_of(link) for link in links_of(form) if link.strip()]
    found = [_joined(signs_of(form.opening), signs_of(name), link) for name in keys for link in links]
    place = next((place for place, piece in enumerate(call.pieces) if piece.kind == "name"), 0)
    after = next(
        (piece.text.strip(" ")[:1] for piece in call.pieces[place + 1 :] if piece.kind == "text"), ""
    )
    openings = [signs_of(text) for text in call.call_opens if "<" in text or "[" in text]
    if after and place == 1:
        found += [
            (*opening, *signs_of(name), Sign(after, False))
            for name in names
            for opening in openings
            if name.strip()
        ]
    return _shortest(Marker("lost", signs) for signs in found if signs)


def _joined(*parts: tuple[Sign, ...]) -> tuple[Sign, ...]:
    """Markers in sequence, with any white space between them."""
    out: tuple[Sign, ...] = ()
    for part in parts:
        out += (part[0]._replace(spaced=bool(out)), *part[1:]) if part else ()
    return out


@lru_cache(maxsize=1024)
def first_of(markers: tuple[Marker, ...]) -> tuple[re.Pattern[str], dict[str, list[Marker]]]:
    """A pattern for the beginning of any marker, and the markers that begin with each character."""
    found: dict[str, list[Marker]] = {}
    for marker in markers:
        found.setdefault(marker.signs[0].char, []).append(marker)
    chars = "".join(map(re.escape, sorted(found)))
    return re.compile(f"[{chars}]" if chars else r"(?!)"), found


class FoundMarker(NamedTuple):
    """A marker from character `start` to `end` (exclusive); `left` as in `Finder`."""

    marker: Marker
    start: int
    end: int
    left: int


class Finder:
    """Finds the next marker of a text, fed character by character.

    `buffer` withholds a possible marker, from character `start` on; at `left`, it could no longer be a strict one (-1:
    it still can, or never could). `first` matches the characters with which a marker may begin.
    """

    def __init__(self, markers: tuple[Marker, ...]) -> None:
        self.markers = markers
        self.first, self._by_first = first_of(markers)
        self.buffer: list[str] = []
        self.start = 0
        self.left = -1
        self._alive: list[tuple[int, Marker, int]] = []  # start, marker, number of signs read
        self._found: FoundMarker | None = None  # complete, while a longer or earlier one is possible

    @property
    def earliest(self) -> int:
        """The beginning of the earliest marker that is still possible; without one, the beginning of the buffer."""
        return min((start for start, _, _ in self._alive), default=self.start)

    @property
    def open(self) -> bool:
        """Whether a marker may have begun."""
        return bool(self._alive) or self._found is not None

    def step(self, char: str, at: int) -> FoundMarker | None:
        """Read the next character; returns the marker that it decides."""
        before, self._alive = self._alive, []
        if not before and self._found is None:
            self.buffer, self.start, self.left = [], at, -1
        strict_before = self._strict_left(before)
        complete: list[tuple[int, Marker]] = []
        began = [(at, marker, 0) for marker in self._by_first.get(char, ())]
        for start, marker, read in before + began:
            sign = marker.signs[read]
            if char == sign.char:
                read += 1
            elif sign.char == '"' and char == "'":
                marker, read = marker._replace(strict=False), read + 1
            elif not (sign.spaced and (char.isspace() or char == "Ġ")):
                continue
            if read == len(marker.signs):
                complete.append((start, marker))
            else:
                self._alive.append((start, marker, read))
        self.buffer.append(char)
        if strict_before and self.left < 0 and not self._strict_left((*self._alive, *complete)):
            self.left = at
        if complete:
            start, marker = min(complete, key=lambda each: (each[0], not each[1].strict))
            if self._found is None or start <= self._found.start:
                self._found = FoundMarker(marker, start, at + 1, self.left)
        return self._decided()

    def _strict_left(self, markers: Iterable[tuple[Any, ...]]) -> bool:
        """Whether any of the (start, marker, …) tuples is strict and begins with the buffer's first character."""
        return any(start == self.start and marker.strict for start, marker, *_ in markers)

    def _decided(self) -> FoundMarker | None:
        found = self._found
        if found is None or any(start <= found.start for start, _, _ in self._alive):
            return None
        self._found, self._alive = None, []
        return found

    def pending(self) -> FoundMarker | None:
        """At the end of the text: the complete marker, which can no longer become a longer one."""
        found, self._found, self._alive = self._found, None, []
        return found

    def dropped(self) -> str:
        """Release the withheld text that can no longer be a marker."""
        if self._found is not None:
            return ""
        begin = self.earliest if self._alive else self.start + len(self.buffer)
        count = begin - self.start
        if not count:
            return ""
        text = "".join(self.buffer[:count])
        self.buffer, self.start, self.left = self.buffer[count:], begin, -1
        return text
