"""One tagged parameter, read while it is written: its key, the marker before its value, the value, and its end.

A value's text ends at the first closing marker after which the form continues, so a possible end is withheld until
that is decided. The schema decides how the text is read, as in `arguments_tagged`: as a raw string, as a value in JSON
or Python or, if both are allowed, as the one that remains possible. Where members of a value are also tags, a
container begins with the tag of its first member, and is a list if that is the form's tag for items.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from glyphscope.base.lines import common_length
from glyphscope.notation import structure as s
from glyphscope.notation.ahead import Ended
from glyphscope.turns.arguments_tagged import (
    BEGUN_BEFORE,
    doubled,
    lacks_space,
    link_of,
    said_types,
    untyped,
    value_of,
)
from glyphscope.turns.tools import ArgumentTypes
from glyphscope.turns.validator_arguments import CallText, Driver
from glyphscope.turns.validator_markers import Finder, FoundMarker, Marker, heads_of, lost_of, signs_of
from glyphscope.turns.validator_values import ValuePart, ValueText

_MAX_KEY = 200
_WORD = re.compile(r"[\w.\-]")


class _Stopped(Exception):
    """The parameter is complete, or cannot be read any further."""


class Parameter(Driver):
    """Reads one parameter of a call, from the character after its opening to its end."""

    def __init__(self, call: CallText) -> None:
        super().__init__(call)
        self._tool, self._form = self.validator.tool or "", call.form.arguments
        form, place = self._form, call.text.place
        self._links = tuple(dict.fromkeys([*form.own_links, *form.typed.values()]))
        self._untyped = untyped(form)
        self._link = ""  # the link that was read
        self._mark = ""  # the text before an escaped value, once it was read
        self._written: list[str] = []  # the value's text so far
        self._closed = 0  # the length of a marker ahead that may close the value, 0 for none
        self._doubled = self._released = False  # the closing is written twice; one of them is text
        self.known = place  # the text up to here was looked at
        self.validator.drive([(s.KEY_OPEN, place - 1, place, '"')])

    def read(self) -> Iterator[None]:
        with suppress(_Stopped):
            try:
                yield from self._read()
            except Ended:
                if not self._closed:
                    raise
                self._end(len(self.text.rest))  # the end of the text completes a closed value

    def _marker(self, finder: Finder, ahead: int) -> Generator[None, None, FoundMarker | int]:
        """The marker that begins at a character ahead, or the position of the character that rules out all of them."""
        finder.pending()
        start, place = self.text.place + ahead, self.text.place + ahead
        while True:
            char = yield from self.text.char(place - self.text.place)
            found = finder.step(char, place)
            if found is not None and found.start == start:
                return found
            if not finder.open or finder.earliest > start:
                return place
            place += 1

    def _departed(self, at: int, expected: str) -> None:
        self.validator.violate("SYNTAX", f"{expected!r} was expected", at, repr(expected))

    def _break(self, end: int) -> None:
        """Read no further than `end`. Raises _Stopped."""
        self.broken = True
        self._stop(end, end)

    def _stop(self, end: int, known: int) -> None:
        """The parameter ends at `end`, as the text up to `known` shows. Raises _Stopped."""
        self.known = known
        self.text.skip(end - self.text.place)
        raise _Stopped

    def _read(self) -> Iterator[None]:
        key, link, written = yield from self._read_key()
        yield from self._read_link(link, written)
        self._types = types = self.call.tools.types(self._tool, key)
        self._key, self._closing = key, self._form.closing(key)
        self._compare_types()
        self.validator.begin_value(self.text.place)
        if again := (yield from self.text.one_of(doubled(self._form, self._link))):
            self.text.skip(len(again))
            self.validator.violate("SYNTAX", BEGUN_BEFORE, self.text.place - 1, "")
        opened, closed = self._form.escape
        if opened and (yield from self.text.one_of((opened,))):
            self.text.skip(len(opened))
            self._mark, self._closing = opened, closed + self._closing
        elif self._form.item and not opened and not types.only_string:
            nested = _Nested(self.call)
            whole = yield from nested.read(key, types)  # members; None: a text
            if whole is not None:
                self._stop(self.text.place, self.text.place) if whole else self._break(self.text.place)
        # a string, or another value, if both the link and the argument's types say so
        said = said_types(self._form, self._link)
        self._value = ValueText(
            self.validator,
            types,
            self.text.place,
            self.call.limits,
            as_string=bool(self._mark) or (said == {"string"} and types.string),
            as_data=bool(said) and "string" not in said,
            empty=bool(self._form.item),
        )
        yield from self._read_text() if self._closing.strip() else self._read_unclosed()

    # the key and the marker after it

    def _read_key(self) -> Generator[None, None, tuple[str, FoundMarker, str]]:
        """Read the key and the link up to its last character other than white space, and as it was written."""
        finder = Finder(tuple(Marker("link", signs_of(t), text=t) for t in (*self._links, *self._untyped)))
        key: list[str] = []
        while True:
            char, place = (yield from self.text.char()), self.text.place
            self.text.skip(1)
            if char.isspace() and not key and not finder.open and not self._form.opening:
                self._departed(place, "an argument")
                continue
            found, start = finder.step(char, place), finder.start
            pending = "".join(finder.buffer)
            text = finder.dropped() if found is None else pending[: found.start - start]
            if text:
                self.validator.raise_floor(place)  # until then it could have been the link
                key.append(text)
                self.validator.drive([(s.KEY_TEXT, start, start + len(text), text)])
            if found is not None:
                self.validator.drive([(s.KEY_END, found.start, found.start, "")])
                return "".join(key), found, pending[found.start - start :]
            if len(key) > _MAX_KEY or (char == "\n" and not finder.open):
                self._departed(place, self._links[0])
                self._break(place + 1)

    def _read_link(self, found: FoundMarker, written: str) -> Iterator[None]:
        """Read the white space at the end of the link, up to the first character of the value."""
        self._link = link = found.marker.text
        core = link.rstrip()
        if link in self._untyped:
            self._departed(found.end - 1, self._links[0])
        elif written != core:
            self._departed(found.start + common_length(written, core), link)
        for sign in link[len(core) :]:
            if (yield from self.text.char()) != sign:
                self._departed(self.text.place, link)
                break
            self.text.skip(1)
        if (yield from self.text.char()).isspace() and lacks_space(link, written):
            self._departed(self.text.place, link)
            self._break(self.text.place)

    def _compare_types(self) -> None:
        """Report a link that declares only types that the argument does not have, where it leaves a right one."""
        link, said, own = self._link, said_types(self._form, self._link), self._types.names
        meant = link_of(self._form, own)
        if said and meant and said.isdisjoint(own):
            self._departed(self.text.place - len(link) + common_length(link, meant), meant)

    # its text

    def _heads(self) -> tuple[Marker, ...]:
        """The markers that can follow a parameter: those of another one, those that close the call or open one, and the
        parameter's closing once more.
        """
        core = self._closing.strip()
        return heads_of(self.call.form, core, () if core else self.call.tools.properties(self._tool))

    def _read_unclosed(self) -> Iterator[None]:
        """Read a value that nothing closes: up to another parameter, or to a marker of the call."""
        finder = Finder(self._heads())
        while True:
            found = finder.step((yield from self.text.char()), self.text.place)
            left, start = finder.left, finder.start
            self.text.skip(1)
            if found is not None:
                break
            if dropped := finder.dropped():
                self._value.text(ValuePart(start, dropped, left))
        pending = "".join(finder.buffer)
        marker = pending[found.start - start :]
        if before := pending[: found.start - start]:
            self._value.text(ValuePart(start, before, -1))
        self._value.end(found.start, found.end, marker)
        self.known = found.end
        self.text.put_back(marker)

    def _read_text(self) -> Iterator[None]:
        """Read a value up to its closing marker, or to one that shows that the closing is missing."""
        closing = self._closing
        self._core = core = closing.strip()
        self._lead = lead = closing[: len(closing) - len(closing.lstrip())]  # the white space before it
        self._first = self.text.place
        tools = self.call.tools
        lost = lost_of(self.call.form, tools.properties(self._tool), tuple(tools.longest_first))
        lost_closing, follow = Finder(lost), Finder(self._heads())
        begins = {marker.signs[0].char for marker in lost}
        first = "".join({(lead or core)[0], core[0], *begins})
        plain = re.compile(f"[^{re.escape(first)}]+")
        while True:
            char = yield from self.text.char()
            if found := plain.match(self.text.rest):
                self._give(found.end(), -1)
                continue
            if char in begins:
                marker = yield from self._marker(lost_closing, 0)
                if isinstance(marker, FoundMarker) and self._is_lost():
                    self._end_lost(marker)
            yield from self._read_closing(follow)

    def _give(self, count: int, ruled_out: int) -> None:
        """Pass characters to the value; at `ruled_out`, they could no longer be a closing (-1: they never could)."""
        place, text = self.text.place, self.text.take(count)
        self._written.append(text)
        self._value.text(ValuePart(place, text, ruled_out))

    def _is_lost(self) -> bool:
        """Whether a marker ahead that begins with a parameter's key is not a part of a longer word."""
        return bool(self._form.opening.strip()) or not _WORD.match("".join(self._written[-1:])[-1:])

    def _end_lost(self, found: FoundMarker) -> None:
        """End the unclosed value where another parameter of the tool, or a call, begins."""
        self.validator.raise_floor(found.end - 1)
        self._departed(found.end - 1, self._lead + self._core)
        value = self._check_markers(found.end)
        self._value.replace(value, found.start, found.end - 1)
        self._stop(found.start, found.end)

    def _check_markers(self, end: int) -> Any:
        """The value in the text up to `end`, as `read_turn` reads it. Raises _Stopped if it has markers of a call."""
        read = "".join(self._written) + self.text.rest[: end - self.text.place]
        found = value_of(
            self._mark + read, self.call.form, self._tool, self.call.tools, self._key, self._link
        )
        if found is None:
            self._ruin(end - 1, end)
            raise _Stopped
        return found[0]

    def _ruin(self, at: int, end: int) -> None:
        self.validator.violate("SYNTAX", "a value without markers was expected", at, "")
        self._break(end)

    def _read_closing(self, follow: Finder) -> Iterator[None]:
        """Read a closing marker, which one of the markers in `follow` must follow, or what only begins like one."""
        lead, core = self._lead, self._core
        wholes = (lead + core, core)
        closing = yield from self.text.one_of(wholes)
        if not closing:
            count = max(common_length(self.text.rest, whole) for whole in wholes)
            end = 1
            while end < count and self.text.rest[end] not in (lead[:1], core[0]):
                end += 1
            self._give(end, self.text.place + count if count else -1)
            return
        self._closed, self._doubled = len(closing), False
        blank = 0
        while True:
            while (yield from self.text.char(self._closed + blank)).isspace():
                blank += 1
            found = yield from self._marker(follow, self._closed + blank)
            if isinstance(found, int):
                break
            if found.marker.kind != "again":
                self._end(found.end - self.text.place)
            self._closed, blank, self._doubled = found.end - self.text.place, 0, True
        if self._value.may_end:  # such a value contains no marker: the text after it is wrong
            self.validator.raise_floor(found)
            self._end(found - self.text.place, noting=False)
        if not self._mark and (self._links[0].endswith(core) or not "".join(self._written).strip()):
            self._ruin(
                found, found
            )  # a closing that is text is not at a value's beginning, nor begins values
        size, self._closed = self._closed, 0
        self._released, self._doubled = True, False
        self._give(size, found)

    def _end(self, end: int, *, noting: bool = True) -> None:
        """The value's text is complete, as shown by the next `end` characters. `noting`: report errors in its closing.
        Raises _Stopped.
        """
        start, known = self.text.place, self.text.place + end
        pending = self.text.rest[:end]
        if noting and self._doubled:
            self.validator.violate("SYNTAX", "the value was closed before", known - 1, "")
        if noting and (self._doubled or self._released):
            self._check_markers(known)
        self._value.end(start, known, pending)
        lead, last = self._lead, self._closing[len(self._closing.rstrip()) :]
        if noting and not pending.startswith(lead) and not (start == self._first and lead == "\n"):
            self._departed(start, lead + self._core)
        closed = self._closed
        if pending[closed : closed + len(last)] == last:
            closed += len(last)
        elif noting:
            self._departed(start + closed, self._core + last)
        self._stop(start + closed, known)


@dataclass
class _Container:
    """An open list (`listed`) or object under a key."""

    key: str
    types: ArgumentTypes
    listed: bool
    members: int = 0


class _Nested:
    """Reads a value whose members are tags from a `text`, for a validator that has already begun it."""

    def __init__(self, call: CallText) -> None:
        form = call.form.arguments
        self._text, self._validator, self._limits = call.text, call.validator, call.limits
        self._opening, self._closing, self._item = form.opening, form.closing, form.item
        self._tag = re.compile(re.escape(form.opening) + r"([\w.\-]+)(>?)")  # of a member, or its beginning
        self._open: list[_Container] = []
        self._value: ValueText | None = None  # of the open member, if it is a text

    def read(self, key: str, types: ArgumentTypes) -> Generator[None, None, bool | None]:
        """Read the value of the parameter `key` with its closing. Returns whether it could be read; None for a text, of
        which nothing was read.
        """
        text, begun = self._text, ""
        while not (name := self._name(begun)):
            begun += yield from text.char(len(begun))
            if not self._opens(begun):
                return None
        text.skip(len(begun))
        self._begin_container(key, types, name)
        in_member = True  # not between two
        while self._open:
            owner = self._key if in_member else self._open[-1].key
            closing, types = self._closing(owner), self._types
            raw = in_member and (self._value is not None or types.only_string)
            begun, name = "", ""
            while closing.startswith(begun) or (not raw and self._opens(begun)):
                begun += yield from text.char(len(begun))
                name = "" if raw else self._name(begun)
                if name or begun == closing:
                    break
            last = text.place + len(begun) - 1
            if begun == closing:
                self._close(closing, in_member)
                in_member = False
                text.skip(len(closing))
            elif name:
                text.skip(len(begun))
                if in_member:
                    self._begin_container(owner, types, name)
                elif not self._begin_member(name):
                    return False
                in_member = True
            elif not in_member or (begun.startswith(self._opening) and not types.only_string):
                self._validator.violate("SYNTAX", f"{closing!r} was expected", last, repr(closing))
                text.skip(len(begun))
                return False
            else:
                self._value = self._value or self._begin_text()
                self._value.text(ValuePart(text.place, begun[0], last if len(begun) > 1 else -1))
                text.skip(1)
        return True

    def _opens(self, begun: str) -> bool:
        """Whether this is the beginning of a member's tag."""
        return self._opening.startswith(begun) or self._tag.fullmatch(begun) is not None

    def _name(self, begun: str) -> str:
        """The name in a member's tag; "" for anything else."""
        found = self._tag.fullmatch(begun)
        return found[1] if found and found[2] else ""

    def _begin_container(self, key: str, types: ArgumentTypes, first: str) -> None:
        """A container begins with the tag `first`, which was read."""
        listed, at = types.is_list(first, self._item), self._text.place
        self._open.append(_Container(key, types, listed))
        self._validator.drive([(s.ARRAY_OPEN if listed else s.OBJECT_OPEN, at, at, "")])
        self._begin_member(first)

    def _begin_member(self, name: str) -> bool:
        """A member begins after its tag; False for another tag than the items of a list have."""
        owner, at = self._open[-1], self._text.place
        if not owner.listed:
            start = at - len(name) - 1
            keys = [
                (s.KEY_OPEN, start, start, '"'),
                (s.KEY_TEXT, start, at - 1, name),
                (s.KEY_END, at - 1, at, ""),
            ]
            self._validator.drive(keys)
        elif name != self._item:
            self._validator.violate("SYNTAX", f"{self._item!r} was expected", at - 1, repr(self._item))
            return False
        self._types = owner.types.inner(owner.members if owner.listed else name)
        owner.members += 1
        self._key, self._value = name, None
        self._start = at
        self._validator.begin_value(at)
        return True

    def _begin_text(self) -> ValueText:
        return ValueText(self._validator, self._types, self._start, self._limits, as_string=False, empty=True)

    def _close(self, closing: str, in_member: bool) -> None:
        """The closing of the open member, or of the innermost container, is ahead."""
        start, end = self._text.place, self._text.place + len(closing)
        if in_member:
            (self._value or self._begin_text()).end(start, end, closing)
        else:
            listed = self._open.pop().listed
            self._validator.drive([(s.ARRAY_CLOSE if listed else s.OBJECT_CLOSE, start, end, "")])
