"""Read the calls of a turn by one form of calls: a section, the calls in it, the pieces of each."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, NamedTuple

from glyphscope.turns.arguments import read_arguments
from glyphscope.turns.form import EXTRA_MEMBERS, CallForm, CallObject, Piece
from glyphscope.turns.lenient_literals import CutOff, NotAValue, read_value, whole_value
from glyphscope.turns.markup import is_tag, tags_of, tokens
from glyphscope.turns.scan import BrokenOff, MissingPart, Scan, pattern_of
from glyphscope.turns.starts import Bounds, bounds_of
from glyphscope.turns.tools import TurnTools

_MAX_NAME = 200
_MIN_CLOSE = 4
"""The minimum length of a section's closing that no broken value contains by chance."""
_NAME = re.compile(r"[^\s<>{}()\[\]\"'=,]+")
_TAGS = re.compile(r"<[^<>]*>")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_NAME_KEYS = ("name", "tool_name", "function", "tool")
_MEMBERS = {
    "json": re.compile(r',\s*"([^"\\\n]{1,200})"\s*:'),
    "pythonic": re.compile(r",\s*([\w.\-]+)\s*=(?!=)"),
    "dict": re.compile(r",\s*([\w.\-]+)\s*:"),
}
"""A further argument, by encoding."""
_OBJECT = re.compile(r"\w*\s*\{")
"""An object, also after the word of its fence."""
_NAMED = re.compile(r"""(?:name["']?\s*[:=]\s*["']?|[=>.:]\s*)([\w.\-]+)""")
"""A word where the markers of calls have a tool's name."""
_FIRST_KEY = re.compile(rf'\{{\s*"([^"\\\n]{{1,{_MAX_NAME}}})"')
_BRACKETS = re.compile(r"\s*[)\]}]+")


class ReadCall(NamedTuple):
    """A call from `start` to `end` (exclusive). `arguments` None: it names a tool, and its arguments are broken.

    `cut`: the text ended inside it. `unclosed`: its arguments are complete; its or its section's closing is missing.
    `repeated` is a key that is written twice in its arguments, None if there is none.
    """

    name: str
    arguments: dict[str, Any] | None
    start: int
    end: int
    id: str = ""
    cut: bool = False
    broken_at: int | None = None
    unclosed: bool = False
    repeated: str | None = None


class CallReader:
    """Reads calls of one form. Each method raises MissingPart if there is none."""

    def __init__(self, scan: Scan, form: CallForm, tools: TurnTools, *, whole: bool = True) -> None:
        """`whole`: the first call has its whole opening."""
        self.scan = scan
        self.form = form
        self.tools = tools
        self.whole = whole

    def section(self, at: int) -> tuple[list[ReadCall], int]:
        """All calls from the place on where the section, or its first call, begins."""
        form = self.form
        opened = False
        place = at
        if form.section_open:
            end = self.scan.match(form.section_open, at)
            opened = end is not None
            if end is None:
                self.scan.expect(at, form.section_open)
            place = at if end is None else end
            if opened and (end := self._empty(place)) is not None:
                return [], end
        calls = [self.one(place)]
        place = calls[0].end
        while not calls[-1].cut:
            if form.object is not None and calls[-1].arguments is None:
                place = self._before_close(place)
            if form.section_close:
                end = self.scan.match(form.section_close, place)
                if end is not None:
                    return calls, end
            following = self._next(place)
            if following is None:
                break
            calls.append(following)
            place = following.end
        if form.section_close and (opened or form.listed) and not calls[-1].cut:
            self.scan.expect(place, form.section_close)
            if self.scan.breaks_off(form.section_close, place):
                calls[-1] = calls[-1]._replace(unclosed=True)
                return calls, self.scan.end
        return calls, place

    def _before_close(self, at: int) -> int:
        """Where the section's closing follows a call that cannot be read; the same place if that is too short."""
        core = self.form.section_close.strip()
        stop = self.scan.find(core, at) if len(core) >= _MIN_CLOSE else -1
        return at if stop < 0 else stop

    def _empty(self, at: int) -> int | None:
        """The end of a section without calls."""
        notes = len(self.scan.notes)
        end = self.scan.match(self.form.section_close, at) if self.form.section_close.strip() else None
        del self.scan.notes[notes:]
        if end is not None:
            self.scan.note(at, "a call was expected")
        return end

    def _next(self, at: int) -> ReadCall | None:
        """The next call of the section, or of the turn, after white space and a separator."""
        form, scan = self.form, self.scan
        if not form.section_open and not form.separator.strip():
            return None  # the turn's reader searches for it
        notes = len(scan.notes)
        start = at
        if form.separator:
            end = scan.match(form.separator, at)
            if end is None and form.separator.strip():
                if form.listed:
                    del scan.notes[notes:]
                    return None
                scan.expect(at, form.separator)
                end = scan.space(at)
            start = at if end is None else end
        if scan.space(start) >= scan.end:
            del scan.notes[notes:]
            return None
        try:
            return self.one(start)
        except MissingPart:
            del scan.notes[notes:]
            return None

    def one(self, at: int) -> ReadCall:
        """One call; the opening of its section may be missing."""
        return _OneCall(self, at).read()


class _OneCall:
    """Reads the pieces of one call in the form's order; its fields become the `ReadCall`."""

    def __init__(self, reader: CallReader, at: int) -> None:
        self.reader = reader
        self.scan = reader.scan
        self.form = reader.form
        self.tools = reader.tools
        self.start = at
        self.notes = len(reader.scan.notes)
        self.name = reader.form.fixed_name
        self.id = ""
        self.arguments: dict[str, Any] | None = {}
        self.cut = False
        self.unclosed = False
        self.broken_at: int | None = None
        self.repeated: str | None = None
        self.first_name = ""  # before a key that is written twice, as that may be the name's
        self.unwritten = False  # the arguments are an empty text
        self.exact = False  # the part up to the first piece after the name is as in the form
        self.lost = False  # another text is where a later marker belongs

    @cached_property
    def bounds(self) -> Bounds:
        return bounds_of(self.form, (), ())

    def read(self) -> ReadCall:
        at = self.start
        pieces = self.form.pieces
        for place, piece in enumerate(pieces):
            at = self._piece(place, piece, at)
            self.exact = self.exact or (
                place > 0 and pieces[place - 1].kind == "name" and len(self.scan.notes) == self.notes
            )
            if self.cut or self.lost:
                break
            empty = self.form.empty
            if piece.kind == "name" and empty and self.scan.text.startswith(empty, at):
                at += len(empty)
                break
        if not self.name:
            raise MissingPart(self.start)
        at = self.scan.end if self.cut else self._with_rest(at)
        return ReadCall(
            self.name,
            self._unwrapped(),
            self.start,
            at,
            self.id,
            self.cut,
            self.broken_at,
            self.unclosed,
            self.repeated,
        )

    def _with_rest(self, at: int) -> int:
        """The end of a call. Its arguments cannot be read if it was closed before them: then they follow."""
        tagged = self.form.arguments.encoding == "tagged"
        start = self.scan.space(at)
        member = _MEMBERS.get(self.form.arguments.encoding)
        more = member.match(self.scan.text, start) if member is not None and self.arguments else None
        if more is not None and more[1] in self.tools.properties(self.name):
            self.arguments, self.broken_at = None, start
            self.scan.note(start, "the call was closed before")
            return self._unclosed(start)
        if not tagged and not (self.unwritten and self.form.arguments.encoding == "json"):
            return at
        while (closing := self.bounds.closing.match(self.scan.text, start)) is not None:
            start = self.scan.space(closing.end())
        opening = self.bounds.openings.match(self.scan.text, start)
        inside = start if opening is None else self.scan.space(opening.end())  # arguments without a name
        if tagged:
            separator = self.form.arguments.separator.strip()
            if separator and self.scan.text.startswith(separator, inside):
                inside = self.scan.space(inside + len(separator))
            follow = self.bounds.begins.match(self.scan.text, inside) is not None or self._marks_follow(start)
        else:
            follow = _OBJECT.match(self.scan.text, inside) is not None
        if not follow or self.broken_at is not None:
            return at
        self.arguments, self.broken_at = None, start
        self.scan.note(start, "the call was closed before")
        return self._unclosed(start)

    def _marks_follow(self, at: int) -> bool:
        """Whether a call that leaves the form is followed by markers of parameters, before the next call."""
        if len(self.scan.notes) == self.notes:
            return False
        found, opening = self.scan.search(self.bounds.marks, at), self.scan.search(self.bounds.openings, at)
        if found is None or (opening is not None and opening.start() <= found.start()):
            return False
        names = set(_NAMED.findall(self.scan.text, at, found.start()))  # a tool's: another form of calls
        return names.isdisjoint(self.tools.names)

    def _unwrapped(self) -> dict[str, Any] | None:
        """The arguments without a surrounding object that is not an argument of the tool."""
        known = self.tools.properties(self.name)
        if self.arguments is None or len(self.arguments) != 1 or self.cut:
            return self.arguments
        ((key, inner),) = self.arguments.items()
        if key in known or key not in (*_ARGUMENT_KEYS, "properties"):
            return self.arguments
        read = whole_value(inner) if isinstance(inner, str) else None
        value = inner if read is None else read.value
        if not (isinstance(value, dict) and value and all(name in known for name in value)):
            return self.arguments
        self.scan.note(self.start, f"{key!r} is around the arguments")
        return value

    def _piece(self, place: int, piece: Piece, at: int) -> int:
        if piece.kind == "text":
            return self._text(place, piece, at)
        if piece.kind == "name":
            return self._name(place, at)
        if piece.kind == "object":
            return self._object(at)
        if piece.kind == "arguments":
            return self._arguments(at)
        return self._word(place, piece, at)

    def _text(self, place: int, piece: Piece, at: int) -> int:
        scan = self.scan
        end = scan.piece(piece, at)
        if end is not None:
            return end
        if not self.name:
            raise MissingPart(at)
        if self._is_closing(place):
            scan.expect(min(scan.space(at), scan.end), piece.text)
            surplus = _BRACKETS.match(scan.text, at)
            if surplus is not None and (end := scan.piece(piece, surplus.end())) is not None:
                return end
            broken_off = scan.breaks_off(piece.text, at)
            at = self._partly(piece.text, at)
            if broken_off or scan.breaks_off(piece.text, at):
                whole = self.form.object is not None or self.form.arguments.encoding == "json"
                self.unclosed = whole or not scan.ended(at)
                self.cut = not self.unclosed
                return scan.end
            return self._unclosed(at)
        if scan.breaks_off(piece.text, at):
            self.cut = True
            return scan.end
        following = self.form.pieces[place + 1] if place + 1 < len(self.form.pieces) else None
        if following is not None and following.kind == "arguments" and self._closes(at):
            return at  # no arguments at all
        return self._lose(at, repr(piece.text))

    def _lose(self, at: int, expected: str) -> int:
        """The end of a call that leaves the form for good before its arguments. Raises MissingPart if it is a text."""
        if not self._is_certain:
            raise MissingPart(at)
        start = self.scan.space(at)
        self.scan.note(min(start, self.scan.end), f"{expected} was expected")
        self.arguments, self.broken_at, self.lost = None, start, True
        return self._unclosed(at)

    @property
    def _is_certain(self) -> bool:
        """Whether the whole opening, the name of a tool and what follows it are there: no text mentions so much."""
        return self.exact and self.reader.whole and not self.form.unmarked and self.name in self.tools.names

    def _unclosed(self, at: int) -> int:
        """The end of a call whose closing is not at this place: before text, or after what cannot be read.

        Raises MissingPart if nothing but a text follows the name, which only mentions the call's marker.
        """
        scan, bounds = self.scan, self.bounds
        start = scan.space(at)
        closed = scan.search(bounds.closing, at)
        opened = scan.search(bounds.openings, start)
        stop = scan.end if closed is None else closed.start()
        if opened is not None and opened.start() < stop:
            stop, closed = opened.start(), None
        body = scan.text[start:stop]
        if self.broken_at is None and body.strip() and self._is_body(body, closed is not None):
            self.arguments, self.broken_at = None, start
            scan.note(start, "arguments were expected")
        if self.broken_at is not None:
            return closed.end() if closed is not None else stop
        if not self.arguments and body.strip():
            if not self._is_certain:
                raise MissingPart(at)
            self.arguments, self.broken_at = None, start
            return closed.end() if closed is not None else stop
        part = next((tag for text in self.form.call_closes[:1] for tag in tags_of(text)), "")
        return start + len(part) if part and scan.text.startswith(part, start) else at

    def _is_body(self, text: str, closed: bool) -> bool:
        """Whether the text after the arguments, up to a closing or another call, must belong to them."""
        separator = self.form.arguments.separator.strip()
        more = bool(separator) and text.startswith(separator)
        marked = text[0] in "<{[" or more or (closed and self.reader.whole)
        if self.form.arguments.encoding == "tagged":
            return marked or bool(self.arguments and closed) or self.bounds.damage.search(text) is not None
        return not self.arguments and marked

    def _partly(self, text: str, at: int) -> int:
        """The end of the first parts, other than tags, of a closing that is not completely present."""
        for token in tokens(text.strip()):
            start = self.scan.space(at) if token.strip() else at
            if is_tag(token) or not self.scan.text.startswith(token, start):
                break
            at = start + len(token)
        return at

    def _is_closing(self, place: int) -> bool:
        """Whether the name and the arguments precede this piece."""
        return not any(p.kind in ("name", "object", "arguments") for p in self.form.pieces[place + 1 :])

    def _closes(self, at: int) -> bool:
        """Whether the call's closing is at this place."""
        closings = self.form.call_closes[:1]
        start = self.scan.space(at)
        return start < self.scan.end and any(
            pattern_of(text).match(self.scan.text, start) for text in closings
        )

    def _stops(self, place: int) -> list[str]:
        """The texts that may follow the piece at `place`; blank ones stand for white space."""
        pieces = self.form.pieces
        out: list[str] = []
        for piece in pieces[place + 1 :]:
            if piece.kind == "text":
                out += filter(None, piece.texts)
                if piece.text.strip() and "" not in piece.also:
                    break
            elif piece.kind == "arguments" and self.form.arguments.encoding == "json":
                return [*out, "{"]
            elif piece.kind == "arguments" and self.form.arguments.encoding == "tagged":
                opening = self.form.arguments.opening
                out += [opening, "{"] if opening else []
        return out

    def _name(self, place: int, at: int) -> int:
        scan = self.scan
        stops = self._stops(place)
        for known in self.tools.longest_first:
            if scan.text.startswith(known, at):
                end = at + len(known)
                if not stops or any(self._follows(stop, end) for stop in stops) or scan.ended(end):
                    return self._named(known, end)
                if self._breaks_off(stops, end):
                    self.cut = True
                    return self._named(known, end)
        start = scan.space(at)
        if start != at:
            scan.note(at, "a tool's name was expected")
        found = [
            (match.start(), stop)
            for stop in stops
            if stop.strip() and (match := pattern_of(stop).search(scan.text, start, start + _MAX_NAME))
        ]
        end = min((where for where, _ in found), default=-1)
        plain = _NAME.match(scan.text, start)
        if end < 0:
            if plain is None:
                raise BrokenOff(at) if start >= scan.end else MissingPart(at)
            if plain.end() >= scan.end or self._breaks_off(stops, plain.end()):
                self.cut = True
                return self._named(plain.group(), scan.end)
            if stops and not any(not stop.strip() for stop in stops):
                raise MissingPart(at)
            end = plain.end()
        name = scan.text[start:end].strip()
        if not name or "\n" in name or len(name) > _MAX_NAME:
            raise MissingPart(at)
        if _NAME.fullmatch(name) is None:
            bare = _TAGS.sub("", name)
            if bare in self.tools.names:
                scan.expect(start, bare)
                return self._named(bare, end)
            raise MissingPart(at)  # a name with signs of the notation must be a tool of the request
        while end > start and scan.text[end - 1].isspace():
            end -= 1
        return self._named(name, end)

    def _breaks_off(self, stops: list[str], at: int) -> bool:
        """Whether the text ends inside the part after the name."""
        return any(stop.strip() and self.scan.breaks_off(stop, at) for stop in stops)

    def _named(self, name: str, end: int) -> int:
        """Take the name, which ends at `end`. Raises MissingPart for an unknown tool if only the name marks a call."""
        half = name[: len(name) // 2]
        if name not in self.tools.names and half in self.tools.names and name == f"{half}.{half}":
            self.scan.expect(end - len(name), half)  # the tool as its own namespace
            name = half
        if self.name and self.name != name:
            self.scan.expect(end - len(name), self.name)
            if name in self.tools.names and self.name not in self.tools.names:
                self.name = name
        if self.form.unmarked and name not in self.tools.names:
            raise MissingPart(end)
        self.name = self.name or name
        return end

    def _follows(self, stop: str, at: int) -> bool:
        """Whether that text, or white space if it is blank, is at this place."""
        if self.scan.text.startswith(stop, at):
            return True
        core = stop.strip()
        if not core:
            return self.scan.space(at) > at
        return pattern_of(stop).match(self.scan.text, self.scan.space(at)) is not None

    def _word(self, place: int, piece: Piece, at: int) -> int:
        """An id or an index: everything up to the next text."""
        scan = self.scan
        stops = [pattern_of(stop) for stop in self._stops(place) if stop.strip()]
        ends = [m.start() for p in stops if (m := p.search(scan.text, at, at + _MAX_NAME))]
        if not ends:
            if scan.end - at < _MAX_NAME:
                self.cut = True
                return scan.end
            return self._lose(at, "an id")
        word = scan.text[at : min(ends)].rstrip()
        if _NAME.fullmatch(word.lstrip() or "0") is None:
            return self._lose(at, "an id")
        if word != word.lstrip():
            scan.expect(at, "")
        if piece.kind == "id":
            self.id = word.lstrip()
        return at + len(word)

    def _arguments(self, at: int) -> int:
        found = read_arguments(self.scan, at, self.form, self.name, self.tools)
        self.arguments = found.values
        self.cut, self.repeated = found.cut, found.repeated
        self.unwritten = found.end == at
        if found.values is None:
            self.broken_at = found.end
        return found.end

    def _object(self, at: int) -> int:
        scan = self.scan
        shape = self.form.object or CallObject()
        start = scan.space(at)
        if start >= scan.end:
            raise BrokenOff(at)
        if not scan.text.startswith("{", start):
            raise MissingPart(at)
        try:
            value, end, cut, self.repeated, departures, repeated_at = read_value(scan.text, start)
        except NotAValue as error:
            return self._broken(start, error.at, shape)
        if cut and departures and self.bounds.follows_in(scan.text, departures[0].at):
            return self._broken(start, departures[0].at, shape)
        scan.notes += departures
        if not isinstance(value, dict):
            raise MissingPart(start)
        if self.repeated is not None:
            self.first_name = self._name_before(start, repeated_at, shape)
        try:
            self._take_object(value, shape, start)
        except MissingPart:
            if cut and not any(isinstance(value.get(key), str) for key in _NAME_KEYS):
                raise BrokenOff(start) from None
            raise
        self.cut = cut
        return scan.end if cut else end

    def _broken(self, start: int, at: int, shape: CallObject) -> int:
        """An invalid call in JSON, with its name if that is complete before the character `at`."""
        name = self._name_before(start, at, shape)
        known = name in self.tools.names
        if not name or len(name) > _MAX_NAME or (self.form.unmarked and not known):
            raise MissingPart(start)
        self.name, self.arguments, self.broken_at = name, None, at
        self.scan.note(at, "JSON was expected")
        return at

    def _name_before(self, start: int, at: int, shape: CallObject) -> str:
        """The name in a call in JSON up to the character `at`; "" without one."""
        try:
            value, _, _, repeated, _, repeated_at = read_value(self.scan.text[start:at], 0)
        except (NotAValue, CutOff):
            return ""
        if repeated is not None and (before := self._name_before(start, start + repeated_at, shape)):
            return before
        if not isinstance(value, dict):
            return ""
        if isinstance(value.get(shape.wrapper), dict) or self._is_wrapped(value, shape):
            value = value[shape.wrapper or "function"]
        if not shape.name_key and not isinstance(value.get("name"), str):
            first = _FIRST_KEY.match(self.scan.text, start)
            return "" if first is None else first[1]
        names = (value.get(key) for key in (shape.name_key, *_NAME_KEYS))
        return next((name for name in names if isinstance(name, str)), "")

    def _is_wrapped(self, value: dict[str, Any], shape: CallObject) -> bool:
        """Whether a call is in a wrapper that the form does not have; in some forms, its key may be a tool's name."""
        tool = not shape.name_key and "function" in self.tools.names
        return not (shape.wrapper or tool) and isinstance(value.get("function"), dict) and "name" not in value

    def _take_object(self, value: dict[str, Any], shape: CallObject, start: int) -> None:
        """Take name and arguments from a call as an object without wrapper. Raises MissingPart for another object."""
        if shape.wrapper and isinstance(value.get(shape.wrapper), dict):
            value = value[shape.wrapper]
        elif self._is_wrapped(value, shape):
            self.scan.note(start, "a bare call was expected")
            value = value["function"]
        if not shape.name_key and len(value) == 1 and not isinstance(value.get("name"), str):
            ((self.name, arguments),) = value.items()
            self.arguments = self._as_object(arguments, start)
        elif not self._take_usual(value, shape, start):
            raise MissingPart(start)

    def _take_usual(self, value: dict[str, Any], shape: CallObject, start: int) -> bool:
        """Take name and arguments from the form's keys, or from other usual keys."""
        texts = {k for k, each in value.items() if isinstance(each, str) or self.first_name}
        key = next((k for k in (shape.name_key, *_NAME_KEYS) if k in texts), "")
        if not key:
            return False
        others = (shape.arguments_key, *_ARGUMENT_KEYS)
        arguments_key = next((k for k in others if k in value), "")
        name = self.first_name or value[key]
        if self.form.unmarked and name not in self.tools.names and not arguments_key:
            return False
        if self.form.unmarked and not self.form.strict and name not in self.tools.names:
            return False
        if key != shape.name_key or arguments_key != shape.arguments_key:
            self.scan.note(start, f"{shape.name_key!r} and {shape.arguments_key!r} were expected")
        own = (key, arguments_key, shape.id_key, *EXTRA_MEMBERS)
        if more := next((each for each in value if each not in own), None):
            self.scan.note(self._place_of(more, start), f"{more!r} is not a member of a call")
        self.name = name
        self.arguments = self._as_object(value.get(arguments_key, {}), start, arguments_key)
        ids = [value[k] for k in (shape.id_key, "id", "tool_call_id") if isinstance(value.get(k), str | int)]
        self.id = str(ids[0]) if ids else ""
        return True

    def _as_object(self, arguments: Any, start: int, key: str = "") -> dict[str, Any] | None:
        """The arguments as an object, also from a string or null; None otherwise."""
        if isinstance(arguments, dict):
            return arguments
        text = arguments if isinstance(arguments, str) else ""
        read = whole_value(text)
        inner = read.value if read is not None and isinstance(read.value, dict) else None
        if inner is None or not self.form.arguments.as_string:
            self.scan.note(start, "arguments as an object were expected")
        if inner is not None:
            return inner
        if isinstance(arguments, str | None) and not text.strip():
            return {}
        self.broken_at = self._place_of(key, start, after=True) if key else start
        return None

    def _place_of(self, key: str, start: int, *, after: bool = False) -> int:
        """Where a key of an object is written, or what is after it; the object's start if it is spelled otherwise."""
        written = re.compile(rf"[\"']?{re.escape(key)}[\"']?\s*:\s*").search(self.scan.text, start)
        return start if written is None else written.end() if after else written.start()
