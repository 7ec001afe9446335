"""Tagged parameters: a key and a value between markers; strings are raw, other values follow the tool's schema."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce
from itertools import takewhile
from typing import Any, NamedTuple

from glyphscope.base.lines import begun_length, common_length
from glyphscope.notation.scalars import DECIMAL
from glyphscope.turns.form import ArgumentsForm, CallForm
from glyphscope.turns.lenient_literals import ReadValue, whole_value
from glyphscope.turns.literals import WORDS
from glyphscope.turns.markup import common_prefix, tokens
from glyphscope.turns.scan import Scan, pattern_of
from glyphscope.turns.starts import Bounds, bounds_of
from glyphscope.turns.tools import ArgumentTypes, TurnTools

MAX_KEY = 200
"""The maximum length of a key, in characters: longer keys are not found."""
_MAX_LINK = 80
"""The maximum length of the marker between key and value, which a key of full length needs to be found."""
_MIN_LINK = 4
"""The minimum length of a link that no value begins with by chance."""
_MAX_DEPTH = 100
"""The maximum nesting of values whose members are tags; deeper values are read as text."""
_BEGUN = re.compile(rf"[\w.\-]{{1,{MAX_KEY}}}\s*(\S{{0,{_MAX_LINK}}})\Z")
_ATTRIBUTE = re.compile(r'\s\w+="[^"]*"')
BEGUN_BEFORE = "the value had begun before"
"""The reason of a departure: the marker before a value is written twice."""
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_TYPE_NAMES: dict[type, str] = {
    bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object",
}  # fmt: skip


class ReadArguments(NamedTuple):
    """Arguments and their end. `values` is None if they could not be read. `cut`: the text ended inside them.
    `repeated` is the first key that is written twice, None if there is none.
    """

    values: dict[str, Any] | None
    end: int
    cut: bool = False
    repeated: str | None = None


class _Parameter(NamedTuple):
    """A parameter and its end; `cut`: the text ended inside it, and `value` is None or its available part.

    `repeated` is the first key that is written twice in an object of its value, None if there is none.
    """

    key: str
    value: Any
    end: int
    cut: bool = False
    repeated: str | None = None


class _ReadText(NamedTuple):
    """The value of a raw text, and the first key that is written twice in an object of it."""

    value: Any
    repeated: str | None = None


def untyped(form: ArgumentsForm) -> tuple[str, ...]:
    """The texts before a value without the attribute for its type, which models omit."""
    bare = (_ATTRIBUTE.sub("", link) for link in form.typed.values())
    return tuple(dict.fromkeys(link for link in bare if link.strip() and link not in form.typed.values()))


def said_types(form: ArgumentsForm, link: str) -> frozenset[str]:
    """The JSON types that the text before a value declares; none if it declares no type."""
    return frozenset(kind for kind, each in form.typed.items() if each == link)


def link_of(form: ArgumentsForm, types: Iterable[str]) -> str:
    """The text before a value of the first of these types that has one; "" if none has."""
    return next((form.typed[kind] for kind in types if kind in form.typed), "")


def type_name(value: Any) -> str:
    """The JSON type of a value; integers are not numbers here."""
    return "null" if value is None else _TYPE_NAMES[type(value)]


def doubled(form: ArgumentsForm, link: str) -> tuple[str, ...]:
    """The texts with which a link, or its tag, is written twice."""
    again = (link, tokens(link.rstrip())[-1]) if link.strip() else ()
    closing = form.closing("").strip()
    kept = takewhile(lambda text: text.strip() != closing, again)  # otherwise the value is empty
    return tuple(text for text in kept if len(text.strip()) >= _MIN_LINK)


def lacks_space(link: str, written: str) -> bool:
    """Whether a link was written without white space that it has inside."""
    return len(written) < len(link.strip())


def read_tagged(scan: Scan, at: int, call: CallForm, tool: str, tools: TurnTools) -> ReadArguments:
    """The parameters from a place on, up to the end of the last one, before the call's closing.

    For an invalid parameter, `values` is None, and `end` is its beginning.
    """
    return _Tagged(scan, call, tool, tools).read(at)


def value_of(
    text: str, call: CallForm, tool: str, tools: TurnTools, key: str, link: str
) -> tuple[Any] | None:
    """The value of the parameter `key` in a text from its beginning up to the markers that end it; None if damaged."""
    reader = _Tagged(Scan(link + text), call, tool, tools)
    found = reader._value(key, tools.types(tool, key), len(link), link)
    return None if found is None else (found.value,)


class _Tagged:
    def __init__(self, scan: Scan, call: CallForm, tool: str, tools: TurnTools) -> None:
        self.scan = scan
        self.form = form = call.arguments
        self.tool = tool
        self.tools = tools
        self.opening = form.opening
        self.untyped = untyped(form)
        self.links = list(dict.fromkeys([*form.own_links, *form.typed.values(), *self.untyped]))
        self.begun = reduce(common_prefix, form.typed.values()) if form.typed else ""  # of a link with a type
        self.follow = call.after_arguments
        close = (*call.call_closes, call.section_close)[0]
        self.before_close = close[: len(close) - len(close.lstrip())]
        self.bounds: Bounds = bounds_of(call, tools.properties(tool), tuple(tools.longest_first))
        self.begins = pattern_of(self.opening) if self.opening.strip() else self.bounds.begins

    def read(self, at: int) -> ReadArguments:
        values: dict[str, Any] = {}
        scan = self.scan
        last, repeated = at, None
        while True:
            notes = len(scan.notes)
            start = self._separated(at, first=not values)
            if start is None or start >= scan.end:
                del scan.notes[notes:]
                separator = self.form.separator.strip() if values else ""
                ended = scan.ended(at) or (
                    scan.text.startswith(separator, at) and scan.ended(at + len(separator))
                )
                return ReadArguments(values, last, ended, repeated)
            found = self._parameter(start)
            if found is None:
                if scan.breaks_off(self.opening, at):
                    return ReadArguments(values, scan.end, cut=True)
                return ReadArguments(None, start)
            key, value, at, cut, inner = found
            if cut:
                if value is not None:
                    values[key] = value
                return ReadArguments(values, scan.end, True, repeated)
            if key in values:
                scan.note(start, f"{key!r} is written twice")
                inner = key if inner is None else inner
            repeated = inner if repeated is None else repeated
            values[key] = value
            last = at

    def _separated(self, at: int, *, first: bool) -> int | None:
        """The beginning of the next parameter, after a separator; None if there is none."""
        separator = "" if first else self.form.separator
        if separator and self.scan.text.startswith(separator, at):
            at += len(separator)
        elif separator.strip() and self.scan.text.startswith(separator.strip(), self.scan.space(at)):
            self.scan.expect(at, separator)
            at = self.scan.space(at) + len(separator.strip())
        start = self.scan.space(at)
        if any(pattern_of(closing).match(self.scan.text, start) for closing in self.follow):
            return None
        if self.begins.match(self.scan.text, start) is None:
            begun = self.scan.breaks_off(self.opening, at) if self.opening.strip() else self._key_begun(start)
            return start if begun and start < self.scan.end else None
        if self.scan.text.startswith(self.opening, at):
            return at
        self.scan.expect(at, self.opening)
        return start

    def _key_begun(self, at: int) -> bool:
        """Whether the text ends inside a parameter's key, or inside the link after it."""
        found = _BEGUN.match(self.scan.text, at)
        return found is not None and any(link.strip().startswith(found[1]) for link in self.links)

    def _parameter(self, at: int) -> _Parameter | None:
        """The parameter that begins at that place; None if there is none."""
        scan = self.scan
        start = scan.match(self.opening, at)
        if start is None:
            return None
        key, end, cut = self._key(start)
        if cut:
            return _Parameter(key, None, scan.end, cut=True)
        if end is None:
            return None
        types = self.tools.types(self.tool, key)
        after_link, text_type = self._matched_link(end)
        if after_link is None:
            return None
        if self.form.item and not types.only_string:
            nested = self._nested(after_link, key, types)
            if nested is not None:
                return nested
        return self._value(key, types, after_link, text_type)

    def _key(self, start: int) -> tuple[str, int | None, bool]:
        """The key, its end (None if there is no key), and whether the text may have ended inside it."""
        scan = self.scan
        best: int | None = None
        for link in self.links:
            found = pattern_of(link).search(scan.text, start, min(scan.end, start + MAX_KEY + _MAX_LINK))
            if found is not None and (best is None or found.start() < best):
                best = found.start()
        if best is None:
            return scan.text[start:], None, scan.end - start < MAX_KEY
        written = scan.text[start:best]
        written = written.rstrip() if any(link[:1].isspace() for link in self.links) else written
        key = written.strip().strip("\"'")
        if key != written:
            scan.expect(start, key)
        if not key or "\n" in key or "<" in key:
            return key, None, False
        return key, best, False

    def _matched_link(self, at: int) -> tuple[int | None, str]:
        """The beginning of the value, and the text before it."""
        for link in sorted(self.links, key=len, reverse=True):
            if self.scan.text.startswith(link, at):
                if link in self.untyped:
                    self.scan.expect(at, self.links[0])
                return self._after_doubled(at + len(link), link), link
        for link in self.links:
            end = self.scan.match(link, at, raw=True)
            if end is not None:
                if (
                    lacks_space(link, self.scan.text[self.scan.space(at) : end])
                    and self.scan.space(end) > end
                ):
                    return None, ""  # the link's white space may be the value's, too
                if link.endswith("\n") and self.scan.text.startswith("\n", end):
                    end += 1
                return end, link
        return None, ""

    def _after_doubled(self, at: int, link: str) -> int:
        """The beginning of the value, after a link, or its tag, that is written twice."""
        for again in doubled(self.form, link):
            if self.scan.text.startswith(again, at):
                self.scan.note(at, BEGUN_BEFORE)
                return at + len(again)
        return at

    def _value(self, key: str, types: ArgumentTypes, at: int, link: str) -> _Parameter | None:
        """The parameter whose value begins at that place, after that link; None for a damaged one."""
        scan = self.scan
        closing = self.form.closing(key)
        core = closing.strip()
        opened, closed = self.form.escape
        escaped = bool(opened) and scan.text.startswith(opened, at)
        if escaped:
            at, closing = at + len(opened), closed + closing
            core = closing.strip()
        stop, end, repaired = self._end_of_value(at, core, types)
        if stop is None:
            text = scan.text[at : scan.end - begun_length(scan.text, core)]
            shown = text.strip() and not types.string
            read = self._typed(at, text.strip(), types, link) if shown else _ReadText(None)
            return _Parameter(key, read.value, scan.end, cut=True)
        text = scan.text[at:stop]
        if escaped and repaired:
            text = text.removesuffix(closed)
        if not escaped and (
            self._damaged(text, key, core, repaired) or (repaired and self._begins_again(key, end))
        ):
            scan.note(at, "a value without markers was expected")
            return None
        lead = closing[: len(closing) - len(closing.lstrip())]
        if lead and not repaired:
            if text.endswith(lead):
                text = text[: -len(lead)]
            elif text or not scan.text.startswith("\n", at - 1):
                scan.expect(stop, closing)
        tail = closing[len(closing.rstrip()) :]
        after = end
        if tail and not repaired:
            if scan.text.startswith(tail, end):
                after = end + len(tail)
            else:
                scan.expect(end, tail)
        word = text.strip().lower()
        if word in _WORDS and types.kinds and not types.string:
            if text.strip() not in WORDS:
                scan.note(at, "JSON was expected")
            return _Parameter(key, _WORDS[word], after)
        read = _ReadText(text) if escaped else self._typed(at, text, types, link)
        return _Parameter(key, read.value, after, repeated=read.repeated)

    def _damaged(self, text: str, key: str, core: str, repaired: bool) -> bool:
        """Whether a value contains markers that its text would not have: parts of the call are missing."""
        if len(self.begun) >= _MIN_LINK and text.startswith(self.begun):
            return True
        if repaired:
            named = (
                f"{key}{self.form.after_value[-1].text.strip()}"
                if core != self.form.closing("").strip()
                else ""
            )
            return self.bounds.damage.search(text) is not None or bool(named and named in text)
        if core and core in text and (self.links[0].endswith(core) or text.lstrip().startswith(core)):
            return True  # the same marker begins and ends texts, or the text follows its closing
        closed = text.find(core) if core else -1
        rest = text[closed:].replace(core, "") if closed >= 0 else ""
        return self.bounds.damage.search(rest) is not None

    def _begins_again(self, key: str, at: int) -> bool:
        """Whether the same parameter follows a value without a closing: the marker is not the opening that it seems."""
        opening = pattern_of(self.opening).match(self.scan.text, self.scan.space(at))
        return opening is not None and self._key(opening.end())[0] == key

    def _end_of_value(self, at: int, core: str, types: ArgumentTypes) -> tuple[int | None, int, bool]:
        """The ends of the value's text and of its closing, and whether the closing is missing.

        The closing is the first one after which the form continues or, after a whole value that cannot be a text, the
        first one. A new parameter or call ends the value before that.
        """
        scan = self.scan
        if not core:
            return self._end_without_closing(at)
        place = at
        first: int | None = None
        lost = scan.search(self.bounds.lost, at)
        while True:
            stop = scan.find(core, place)
            if stop < 0 or (lost is not None and lost.start() < stop):
                break
            end = stop + len(core)
            again = end
            while scan.text.startswith(core, following := scan.space(again)):
                again = following + len(core)
            whole = first is None and not types.string and whole_value(scan.text[at:stop]) is not None
            if whole or self._continues(again):
                if again > end:
                    scan.note(end, "the value was closed before")
                return stop, again, False
            first = stop if first is None else first
            place = again  # each of the closings in a row is followed by the same
        if lost is None and first is not None:
            return first, first + len(core), False
        ends = lost or scan.search(self.bounds.closing, at)
        if ends is None:
            return None, scan.end, False
        stop, after = self._without_closings(at, ends.start() if lost else ends.end())
        scan.expect(stop, core)
        return stop, after, True

    def _end_without_closing(self, at: int) -> tuple[int | None, int, bool]:
        """The ends of a value, in a form that does not close parameters: before another one, or the call's closing."""
        found = self.scan.search(self.bounds.follows, at)
        if found is None:
            return None, self.scan.end, False
        end = found.start()
        if self.before_close and self.scan.text.endswith(self.before_close, at, end):
            end -= len(self.before_close)
        return end, end, False

    def _without_closings(self, at: int, end: int) -> tuple[int, int]:
        """The end of a value without its closing, before closings of the call, and the beginning of those."""
        text = self.scan.text
        before = separator = self.form.separator
        if separator.strip() and text.endswith(separator.strip(), at, at + len(text[at:end].rstrip())):
            end = text.rindex(separator.strip(), at, end)
        while True:
            ink = at + len(text[at:end].rstrip())
            closed = next((each for each in self.bounds.closings if text.endswith(each, at, ink)), "")
            if not closed:
                break
            end, before = ink - len(closed), self.before_close
        closing = self.form.closing("")
        core = closing.strip()
        tail, lead = closing[len(closing.rstrip()) :], closing[: closing.find(core)]
        spaces = text[ink:end]
        for space in (
            before if not before.strip() else "",
            tail,
            lead,
        ):  # what the form writes around the closing
            spaces = spaces[: -len(space)] if space and spaces.endswith(space) else spaces
        return ink + len(spaces), end

    def _continues(self, at: int) -> bool:
        """Whether a parameter, the call's closing or the text's end follows."""
        scan = self.scan
        start = scan.space(at)
        if start >= scan.end or self.bounds.follows.match(scan.text, start):
            return True
        heads = (self.opening, *self.follow, *scan.ends)
        return any(scan.breaks_off(head, start) for head in heads if head.strip()) or any(
            scan.text.startswith(text.strip(), start) for text in scan.ends if text.strip()
        )

    def _typed(self, at: int, text: str, types: ArgumentTypes, link: str) -> _ReadText:
        """The value of the raw text at a place according to the schema and to the type in the tag."""
        said = said_types(self.form, link)
        read = _read_by(self.scan, at, text, types, said == {"string"}, tagged=bool(self.form.item))
        own = type_name(read.value)
        if said and own not in said and (meant := link_of(self.form, (own,))):
            self.scan.expect(at - len(link) + common_length(link, meant), meant)
        return read

    # values as tags

    def _nested(self, at: int, key: str, types: ArgumentTypes) -> _Parameter | None:
        """An object or a list whose members are also tags; None if the value is a text."""
        reader = _Nested(self.scan, self.form)
        found = reader.read(at, key, types, 0)
        if found is None and reader.begin.match(self.scan.text, at):  # a text does not begin like a member
            self.scan.note(at, "a value without markers was expected")
        return None if found is None else _Parameter(key, *found, repeated=reader.repeated)


def _read_by(
    scan: Scan, at: int, text: str, types: ArgumentTypes, said_string: bool = False, *, tagged: bool
) -> _ReadText:
    """The value of the raw text at a place by the schema; `tagged`: members of values are tags, so an empty text has
    none.
    """
    if types.only_string or (said_string and types.string):
        return _ReadText(text)
    if tagged and not text and types.empty is not None:
        return _ReadText(types.empty)
    read = whole_value(text)
    if read is None or (types.string and _is_text(read, types) and types.fits(text)):
        return _ReadText(text)
    scan.notes += [note._replace(at=scan.space(at) + note.at) for note in read.departures]
    return _ReadText(read.value, read.repeated)


def _is_text(read: ReadValue, types: ArgumentTypes) -> bool:
    """Whether a text that may be a string is one: it is a value only as a departure, or not one of these types."""
    decimal = not types.kinds & DECIMAL and type(read.value) is float  # `1.0` is not an integer
    return bool(read.departures) or (types.kinds != 0 and (decimal or not types.fits(read.value)))


class _Nested:
    """Reads `<k>…</k>` inside a value; the texts in it are read by the schema. `repeated` as in `_ReadText`."""

    def __init__(self, scan: Scan, form: ArgumentsForm) -> None:
        self.scan = scan
        self.item = form.item
        self.opening = form.opening
        self.closing = form.closing
        self.repeated: str | None = None
        self.begin = re.compile(re.escape(form.opening) + r"([\w.\-]+)>")

    def read(self, at: int, key: str, types: ArgumentTypes, depth: int) -> tuple[Any, int] | None:
        """The value under `key` and the place after its closing; None for a plain text or anything else."""
        closing = self.closing(key)
        first = self.begin.match(self.scan.text, at)
        if depth > _MAX_DEPTH or first is None:
            return None
        members: list[tuple[str, Any]] = []
        listed = types.is_list(first[1], self.item)
        while not self.scan.text.startswith(closing, at):
            found = self.begin.match(self.scan.text, at)
            if found is None:
                return None
            name = found.group(1)
            own_types = types.inner(len(members) if listed else name)
            inner = None if own_types.only_string else self.read(found.end(), name, own_types, depth + 1)
            if inner is None:
                own = self.closing(name)
                stop = self.scan.find(own, found.end())
                if stop < 0:
                    return None
                text = self.scan.text[found.end() : stop]
                if self.opening.strip() in text and not own_types.only_string:
                    return None
                read = _read_by(self.scan, found.end(), text, own_types, tagged=True)
                self.repeated = read.repeated if self.repeated is None else self.repeated
                inner = read.value, stop + len(own)
            value, at = inner
            members.append((name, value))
        if listed and {name for name, _ in members} == {self.item}:
            return [value for _, value in members], at + len(closing)
        return self._object(members, types, at), at + len(closing)

    def _object(self, members: list[tuple[str, Any]], types: ArgumentTypes, at: int) -> dict[str, Any]:
        """The members by name; members with the same name become a list, unless the schema does not allow a list."""
        out: dict[str, Any] = dict(members)
        for name in out:
            same = [value for each, value in members if each == name]
            if len(same) > 1:
                self.scan.note(at, f"{name!r} is written twice")
                out[name] = same if types.inner(name).list_allowed else same[-1]
        return out
