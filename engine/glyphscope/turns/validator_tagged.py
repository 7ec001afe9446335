"""One tagged parameter, read while it is written: its key, the marker before its value, the value, and its end.

A value's text ends at the first closing marker after which the form continues, so a possible end is withheld until
that is decided. The schema decides how the text is read, as in `arguments_tagged`: as a raw string, as a value in JSON
or Python or, if both are allowed, as the one that remains possible.

The states, in order: `_read_key`, which ends with the link (the marker between key and value); `_read_tail`, the link's
white space; `_read_doubled`, the link once more; `_read_escape`, or `_read_first_tag` and `_read_nested`, if the form
has these; `_read_value`. A state reads `text` at index `at`, the turn's character `base + at`, and returns the next
index.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from glyphscope.notation import structure as s
from glyphscope.turns.arguments_tagged import BEGUN_BEFORE, doubled, lacks_space, untyped, value_of
from glyphscope.turns.form import CallForm
from glyphscope.turns.tools import ArgumentTypes, TurnTools
from glyphscope.turns.validator_arguments import Driver
from glyphscope.turns.validator_bounds import heads_of, lost_of
from glyphscope.turns.validator_markers import Finder, FoundMarker, Marker, signs_of
from glyphscope.turns.validator_nested import Nested
from glyphscope.turns.validator_one_call import OneCallValidator
from glyphscope.turns.validator_values import Piece, ValueText
from glyphscope.validation.streaming_validator import Limits

_MAX_KEY = 200
_WORD = re.compile(r"[\w.\-]")


class Parameter(Driver):
    """Reads one parameter of a call, from the character after its opening to its end."""

    def __init__(
        self, validator: OneCallValidator, at: int, call: CallForm, tool: str, tools: TurnTools, limits: Limits
    ) -> None:  # fmt: skip
        super().__init__(validator)
        self.form = form = call.arguments
        self.tool, self.tools, self._limits = tool, tools, limits
        self._links = tuple(dict.fromkeys([*form.own_links, *form.typed.values()]))
        self._call = call
        self._untyped = untyped(form)
        links = (*self._links, *self._untyped)
        self._finder = Finder(tuple(Marker("link", signs_of(link), text=link) for link in links))
        self._key: list[str] = []
        self._tail = ""  # the missing part of the link's white space
        self._lacks = False  # white space inside the link was not written
        self._doubles: tuple[str, ...] = ()  # the texts of a doubled link
        self._state = self._read_key
        self._value: ValueText  # set when its text begins
        self._types = ArgumentTypes(0)
        self._link = ""  # the link that was read
        self._escaped = self._closed = ""  # the texts around an escaped value
        self._mark = ""  # the text before an escaped value, once it was read
        self._closing = ""  # the text that closes the parameter
        self._read = ""  # withheld: the possible beginning of an escape or of a member's tag
        self._start = at  # of the value
        self._nested: Nested | None = None
        validator.drive([(s.KEY_OPEN, at - 1, at, '"')])

    def feed(self, text: str, at: int, base: int) -> int:
        size = len(text)
        while at < size and not (self.done or self.broken):
            at = self._state(text, at, base)
        return at if self.done or self.broken else size

    # the key and the marker after it

    def _read_key(self, text: str, at: int, base: int) -> int:
        char, place = text[at], base + at
        if char.isspace() and not self._key and not self._finder.open and not self.form.opening:
            self._departed(place, "an argument")
            return at + 1
        found = self._finder.step(char, place)
        dropped = self._finder.dropped() if found is None else ""
        if dropped:
            self.validator.raise_floor(place)  # until then it could have been the link
            self._key_text(place - len("".join(self._finder.buffer)) - len(dropped) + 1, dropped)
        if found is None:
            if len(self._key) > _MAX_KEY or (char == "\n" and not self._finder.open):
                self._lost(place, self._links[0])
            return at + 1
        start = found.start - self._finder.start
        pending = "".join(self._finder.buffer)
        if start:
            self.validator.raise_floor(place)
            self._key_text(self._finder.start, pending[:start])
        self.validator.drive([(s.KEY_END, found.start, found.start, "")])
        self._link = found.marker.text
        written = pending[start:]
        core = self._link.rstrip()
        if self._link in self._untyped:
            self._departed(found.end - 1, self._links[0])
        elif written != core:
            left = next((n for n, (a, b) in enumerate(zip(written, core)) if a != b), len(core))
            self._departed(found.start + left, self._link)
        self._lacks = lacks_space(self._link, written)
        self._tail = self._link[len(core) :]
        self._state = self._read_tail
        return at + 1

    def _key_text(self, at: int, text: str) -> None:
        self._key.append(text)
        self.validator.drive([(s.KEY_TEXT, at, at + len(text), text)])

    def _departed(self, at: int, expected: str) -> None:
        self.validator.violate("SYNTAX", f"{expected!r} was expected", at, repr(expected))

    def _lost(self, at: int, expected: str) -> None:
        self._departed(at, expected)
        self.broken = True

    def _read_tail(self, text: str, at: int, base: int) -> int:
        if self._tail:
            if text[at] == self._tail[0]:
                self._tail = self._tail[1:]
                return at + 1
            self._departed(base + at, self._link)
        if self._lacks and text[at].isspace():
            self._lost(base + at, self._link)
            return at
        self._begin_value(base + at)
        return at

    def _read_doubled(self, text: str, at: int, base: int) -> int:
        """The link again, or the value."""
        pending = self._read + text[at]
        if pending in self._doubles:
            self._read, self._doubles = "", ()
            self.validator.violate("SYNTAX", BEGUN_BEFORE, base + at, "")
            self._choose_state(base + at + 1)
            return at + 1
        if any(link.startswith(pending) for link in self._doubles):
            self._read = pending
            return at + 1
        before, self._read = self._read, ""
        self._choose_state(self._start)
        self._again(before, base + at - len(before))
        return at

    # the value

    def _begin_value(self, at: int) -> None:
        key = "".join(self._key)
        self._types = self.tools.types(self.tool, key)
        self.validator.begin_value(at)
        self._start = at
        self._doubles = doubled(self.form, self._link)
        self._state = self._read_doubled

    def _choose_state(self, at: int) -> None:
        """The value's text, or a mark around it, begins."""
        self._start = at
        closing = self.form.closing("".join(self._key))
        opened, closed = self.form.escape
        if opened:
            self._escaped, self._closed, self._closing = opened, closed, closing
            self._state = self._read_escape
            return
        self._closing = closing
        if self.form.item and not self._types.only_string:
            self._state = self._read_first_tag
            return
        self._choose(at, closing)

    def _read_first_tag(self, text: str, at: int, base: int) -> int:
        """A value that begins with a member's tag has members; any other is a text."""
        opening = self.form.opening
        pending = self._read + text[at]
        found = re.fullmatch(re.escape(opening) + r"([\w.\-]+)(>?)", pending)
        if not found and not opening.startswith(pending):
            before, self._read = self._read, ""
            self._choose(self._start, self._closing)
            self._again(before, base + at - len(before))
            return at
        self._read = pending
        if found and found[2]:
            key = "".join(self._key)
            self._nested = Nested(
                self.validator, self.form, key, found[1], self._types, base + at + 1, self._limits
            )
            self._state = self._read_nested
        return at + 1

    def _read_nested(self, text: str, at: int, base: int) -> int:
        assert self._nested is not None
        at = self._nested.feed(text, at, base)
        self.done, self.broken = self._nested.done, self._nested.broken
        return at

    def _read_escape(self, text: str, at: int, base: int) -> int:
        if text[at] == self._escaped[len(self._read)]:
            self._read += text[at]
            if self._read == self._escaped:
                self._mark = self._escaped
                self._begin_text(base + at + 1, self._closed + self._closing, as_string=True)
            return at + 1
        pending = self._read
        self._choose(self._start, self._closing)
        self._again(pending, base + at - len(pending))
        return at

    def _choose(self, at: int, closing: str) -> None:
        """Begin the text, as a string if both the link and the argument's types say so."""
        kinds = {kind for kind, link in self.form.typed.items() if link == self._link}
        self._begin_text(at, closing, as_string=kinds == {"string"} and self._types.string)

    # its end

    def _heads(self) -> tuple[Marker, ...]:
        """The markers that can follow a parameter: those of another one, those that close the call or open one, and the
        parameter's closing once more.
        """
        keys = () if self._core else self.tools.properties(self.tool)
        return heads_of(msgspec.json.encode(self._call), self._core, keys)

    def _lost_markers(self) -> tuple[Marker, ...]:
        """The markers that show in a value that it lacks its closing: another parameter of the tool, or a call."""
        keys, names = self.tools.properties(self.tool), tuple(self.tools.longest_first)
        return lost_of(msgspec.json.encode(self._call), keys, names)

    def _begin_text(self, at: int, closing: str, *, as_string: bool) -> None:
        """The value's text begins; from here on, its closing marker is searched."""
        empty = bool(self.form.item)
        types, limits = self._types, self._limits
        self._value = ValueText(self.validator, types, at, limits, as_string=as_string, empty=empty)
        self._core = closing.strip()
        if not self._core:
            self._ends = Finder(self._heads())
            self._state = self._read_unclosed
            return
        self._lead = closing[: len(closing) - len(closing.lstrip())]  # the white space before it
        self._last = closing[len(closing.rstrip()) :]  # the white space after it
        self._first = at
        self._lost_closing = Finder(self._lost_markers())
        self._begins = frozenset(marker.signs[0].char for marker in self._lost_closing.markers)
        # characters that can begin neither the closing marker nor one that shows that it is missing
        first = "".join({(self._lead or self._core)[0], self._core[0], *self._begins})
        self._plain = re.compile(f"[^{re.escape(first)}]+")
        self._looked_at = -1  # the last character that `_lost_closing` has read
        self._written: list[str] = []  # the value's text so far
        self._doubled = self._released = False  # the closing is written twice; one of them is text
        self._pending: list[Piece] = []  # text withheld while a lost closing is possible
        self._buffer = ""  # withheld: the possible closing marker, and the text after it
        self._buffer_at = at
        self._core_end = -1  # the marker's end in the buffer
        self._follow: Finder | None = None  # finds the part after the closing marker, once that was read
        self._state = self._read_value

    def _again(self, text: str, at: int) -> None:
        """Read characters again that turned out not to be a marker."""
        place = 0
        while place < len(text) and not (self.done or self.broken):
            place = self._state(text, place, at)

    def _read_value(self, text: str, at: int, base: int) -> int:
        lost = self._lost_closing
        if base + at > self._looked_at and (lost.open or text[at] in self._begins):
            self._looked_at = base + at
            found = lost.step(text[at], base + at)
            if found is not None and self._is_lost(found):
                self._close_lost(found, text[at])
                return at + 1
            if not lost.open:
                self._let_go()
        return self._read_text(text, at, base)

    def _is_lost(self, found: FoundMarker) -> bool:
        """Whether a marker that begins with a parameter's key is not a part of a longer word."""
        if self.form.opening.strip():
            return True
        read = "".join(self._written) + self._buffer
        before = read[: found.start - self._first][-1:]
        return _WORD.match(before) is None

    def _close_lost(self, found: FoundMarker, char: str) -> None:
        """End the unclosed value where another parameter of the tool, or a call, begins."""
        read = "".join(self._written) + self._buffer + char
        self._pending = []
        self.validator.raise_floor(found.end - 1)
        self._departed(found.end - 1, self._lead + self._core)
        value = self._check_markers(read, found.end - 1)
        if value is not None:
            self._value.replace(value[0], found.start, found.end - 1)
            self.again, self.again_at, self.done = read[found.start - self._first :], found.start, True

    def _is_ruined(self) -> bool:
        """Whether a closing that is text cannot be in this value: at its beginning, or if it also begins values."""
        return not self._mark and (self._links[0].endswith(self._core) or not "".join(self._written).strip())

    def _ruin(self, at: int) -> None:
        self.validator.violate("SYNTAX", "a value without markers was expected", at, "")
        self.broken = True

    def _check_markers(self, read: str, at: int) -> tuple[Any] | None:
        """The value in a text as `read_turn` reads it; None, and a violation at `at`, if it has markers of a call."""
        found = value_of(self._mark + read, self._call, self.tool, self.tools, "".join(self._key), self._link)
        if found is None:
            self._ruin(at)
        return found

    def _read_unclosed(self, text: str, at: int, base: int) -> int:
        """A value that nothing closes: up to another parameter, or to a marker of the call."""
        follow = self._ends
        found = follow.step(text[at], base + at)
        left, start = follow.left, follow.start
        if found is None:
            if dropped := follow.dropped():
                self._value.text(Piece(start, dropped, left))
            return at + 1
        pending = "".join(follow.buffer)
        if before := pending[: found.start - start]:
            self._value.text(Piece(start, before, -1))
        marker = pending[found.start - start :]
        self._value.end(found.start, found.end, marker)
        self.again, self.again_at, self.done = marker, found.start, True
        return at + 1

    def _read_text(self, text: str, at: int, base: int) -> int:
        if not self._buffer:
            plain = None if self._lost_closing.open else self._plain.match(text, at)
            if plain is not None:
                self._text(Piece(base + at, plain[0], -1))
                return plain.end()
            if text[at] not in self._expected():
                self._text(Piece(base + at, text[at], -1))
                return at + 1
            self._buffer_at = base + at
        if self._follow is not None:
            return self._read_follow(text, at, base)
        char = text[at]
        if char not in self._expected():
            return self._break(base + at, at)
        self._buffer += char
        if self._buffer.endswith(self._core) and self._buffer in (self._core, self._lead + self._core):
            self._core_end = len(self._buffer)
            self._follow = Finder(self._heads())
        return at + 1

    def _expected(self) -> tuple[str, ...]:
        """The characters with which the closing marker can continue, with or without the white space before it."""
        read = self._buffer
        wholes = (self._core, self._lead + self._core)
        return tuple(
            whole[len(read)] for whole in wholes if whole.startswith(read) and len(whole) > len(read)
        )

    def _break(self, broke: int, at: int) -> int:
        """Release the beginning of text withheld as a closing, and read the rest, which may begin a closing, again."""
        if self._follow is not None and self._value.may_end:
            self.validator.raise_floor(broke)
            self._ended(broke, noting=False)  # such a value contains no marker: the text after it is wrong
            return at
        if self._follow is not None and self._is_ruined():
            self._ruin(broke)
            return at
        pending, start, follow = self._buffer, self._buffer_at, self._follow
        self._buffer, self._follow, self._doubled = "", None, False
        if not pending:
            return at
        self._released = self._released or follow is not None
        end = self._core_end if follow is not None else 1
        while follow is None and end < len(pending) and pending[end] not in (self._lead[:1], self._core[0]):
            end += 1
        self._text(Piece(start, pending[:end], broke))
        self._again(pending[end:], start + end)
        return at

    def _read_follow(self, text: str, at: int, base: int) -> int:
        char = text[at]
        follow = self._follow
        assert follow is not None
        if not follow.open and char.isspace():
            self._buffer += char
            return at + 1
        found = follow.step(char, base + at)
        elsewhere = follow.earliest > self._buffer_at + self._core_end + self._blank()
        if found is None and (elsewhere or not follow.open):
            return self._break(base + at, at)
        self._buffer += char
        if found is not None and found.marker.kind == "again":
            self._core_end, self._doubled = len(self._buffer), True
            self._follow = Finder(self._heads())
        elif found is not None:
            self._ended(base + at + 1)
        return at + 1

    def _blank(self) -> int:
        rest = self._buffer[self._core_end :]
        return len(rest) - len(rest.lstrip())

    def _let_go(self) -> None:
        pending, self._pending = self._pending, []
        for piece in pending:
            self._give(piece)

    def _text(self, piece: Piece) -> None:
        self._written.append(piece.text)
        self._give(piece)

    def _give(self, piece: Piece) -> None:
        """Pass a text to the value, unless it may belong to a marker."""
        if self._lost_closing.open:
            self._pending.append(piece)
            return
        self._value.text(piece)

    def _ended(self, end: int, *, noting: bool = True) -> None:
        """The value's text is complete, as shown by the text up to `end`. `noting`: report errors in its closing."""
        pending = self._buffer
        lead = self._lead if pending.startswith(self._lead) else ""
        start = self._buffer_at
        self._lost_closing = Finder(())
        self._let_go()
        if noting and self._doubled:
            self.validator.violate("SYNTAX", "the value was closed before", end - 1, "")
        if noting and (self._doubled or self._released):
            self._check_markers("".join(self._written) + pending, end - 1)
            if self.broken:
                return
        self._value.end(start, end, pending)
        if noting and lead != self._lead and not (start == self._first and self._lead == "\n"):
            self._departed(start, self._lead + self._core)
        tail_end = self._core_end + len(self._last)
        if pending[self._core_end : tail_end] != self._last:
            if noting:
                self._departed(start + self._core_end, self._core + self._last)
            tail_end = self._core_end
        self.again, self.again_at = pending[tail_end:], start + tail_end
        self.done = True

    def finish(self) -> None:
        """The text ends, which completes a closed value."""
        if self._state == self._read_value and self._follow is not None:
            self._ended(self._buffer_at + len(self._buffer))
