"""One tagged parameter, read while it is written: its key, the marker before its value, the value, and its end.

A value's text ends at the first closing marker after which the form continues, so a possible end is withheld until
that is decided. The schema decides how the text is read, as in `arguments_tagged`: as a raw string, as a value in JSON
or Python or, if both are allowed, as the one that remains possible.

The states, in order: `_read_key`, which ends with the link (the marker between key and value); `_read_tail`, the link's
white space; `_read_escape`, or `_read_first_tag` and `_read_nested`, if the form has these; `_read_value`. A state
reads `text` at index `at`, the turn's character `base + at`, and returns the next index.
"""

from __future__ import annotations

import re

from glyphscope.grammar.builder.turn import Sign
from glyphscope.notation import structure as s
from glyphscope.turns.arguments_tagged import untyped
from glyphscope.turns.form import CallForm
from glyphscope.turns.markup import tags_of
from glyphscope.turns.starts import closing_texts, starts
from glyphscope.turns.tools import ArgumentTypes, TurnTools
from glyphscope.turns.validator_arguments import Driver
from glyphscope.turns.validator_markers import Finder, FoundMarker, Marker, signs_of
from glyphscope.turns.validator_nested import Nested
from glyphscope.turns.validator_one_call import OneCallValidator
from glyphscope.turns.validator_values import Piece, ValueText
from glyphscope.validation.streaming_validator import Limits

_MAX_KEY = 200


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
        self._state = self._read_key
        self._value: ValueText  # set when its text begins
        self._types = ArgumentTypes(0)
        self._link = ""  # the link that was read
        self._escaped = self._closed = ""  # the texts around an escaped value
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
        self._begin_value(base + at)
        return at

    # the value

    def _begin_value(self, at: int) -> None:
        key = "".join(self._key)
        self._types = self.tools.types(self.tool, key)
        self.validator.begin_value(at)
        self._start = at
        closing = self.form.closing(key)
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
        """The markers that can follow a parameter: those of another one, and those that close the call or open one."""
        form, call = self.form, self._call
        closings = [tag for text in closing_texts(call) for tag in tags_of(text)]
        openings = [text for text, _ in starts(call) if "<" in text or "[" in text]
        texts = (form.opening, form.separator, *call.after_arguments, *closings, *openings)
        if not form.closing("").strip():  # a parameter's key and link, too, as its separator may be in a text
            links = dict.fromkeys(link.strip()[:1] for link in self._links)
            keys = self.tools.properties(self.tool)
            texts = (
                *(form.separator + form.opening + key + link for key in keys for link in links),
                *texts[2:],
            )
        return tuple(dict.fromkeys(Marker("head", signs_of(text)) for text in texts if text.strip()))

    def _lost_markers(self) -> tuple[Marker, ...]:
        """Openings of the tool's parameters on a separate line; one inside a value means that it lacks its closing."""
        opening = self.form.opening.strip()
        if not opening or self.form.item:
            return ()
        links = dict.fromkeys(link.strip()[:1] for link in self._links)
        return tuple(
            Marker(
                "lost", (Sign("\n", False), *signs_of(opening), *(Sign(each, False) for each in key + link))
            )
            for key in self.tools.properties(self.tool)
            for link in links
        )

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
        # characters that cannot begin the closing marker, or a lost parameter's line
        self._plain = re.compile("[^\n" + re.escape((self._lead or self._core)[0] + self._core[0]) + "]+")
        self._first = at
        self._lost_closing = Finder(self._lost_markers())
        self._looked_at = -1  # the last character that it has read
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
        if base + at > self._looked_at and (lost.open or text[at] == "\n"):
            self._looked_at = base + at
            found = lost.step(text[at], base + at)
            if found is not None:
                self._close_lost(found, base + at)
                return at + 1
            if not lost.open:
                self._let_go()
        return self._read_text(text, at, base)

    def _close_lost(self, found: FoundMarker, at: int) -> None:
        """End the unclosed value where another parameter of the tool begins."""
        finder = self._lost_closing
        opening = "".join(finder.buffer)[found.start + 1 - finder.start :]
        place = found.start + 1
        start = found.start if self._lead == "\n" else place
        pending, self._pending = self._pending, []
        for piece in pending:
            if piece.at < start:
                self._text(piece._replace(text=piece.text[: start - piece.at]))
        self._departed(at, self._lead + self._core)
        self._value.end(start, at + 1, opening)
        self.again, self.again_at, self.done = opening, place, True

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
        pending, start = self._buffer, self._buffer_at
        self._buffer, self._follow = "", None
        if not pending:
            return at
        end = 1
        while end < len(pending) and pending[end] not in (self._lead[:1], self._core[0]):
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
        if found is not None:
            self._ended(base + at + 1)
        return at + 1

    def _blank(self) -> int:
        rest = self._buffer[self._core_end :]
        return len(rest) - len(rest.lstrip())

    def _let_go(self) -> None:
        pending, self._pending = self._pending, []
        for piece in pending:
            self._text(piece)

    def _text(self, piece: Piece) -> None:
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
