"""Read arguments in JSON, Python or dictionaries while they are written, and pass them to the call's validator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from glyphscope.notation import structure as s
from glyphscope.notation.ahead import TextAhead
from glyphscope.notation.read_json import JsonReader
from glyphscope.notation.reader import Reader
from glyphscope.notation.structure import Structural
from glyphscope.turns.form import CallForm
from glyphscope.turns.literals import LiteralReader
from glyphscope.turns.tools import TurnTools
from glyphscope.turns.validator_one_call import OneCallValidator
from glyphscope.validation.streaming_validator import Limits


@dataclass(frozen=True)
class CallText:
    """The text of a call in a form, and what its drivers need to read it."""

    text: TextAhead
    validator: OneCallValidator
    form: CallForm
    tools: TurnTools
    limits: Limits


class Driver:
    """Reads a part of a call, which begins with the next character. `broken`: the rest cannot be read."""

    def __init__(self, call: CallText) -> None:
        self.broken = False
        self.call, self.text, self.validator = call, call.text, call.validator

    def read(self) -> Iterator[None]:
        """Read up to the end of the part, or through the character that cannot be read."""
        raise NotImplementedError


class _Value(Driver):
    """A part that `_reader` reads, up to its last character."""

    _reader: Reader

    def read(self) -> Iterator[None]:
        reader = self._reader
        while not (reader.done or reader.broken):
            yield from self.text.char()
            self._take(reader.feed(self.text.rest))
            self.text.skip(reader.place - self.text.place)
        self.broken = reader.broken
        if self.broken:
            self.text.skip(1)
        else:
            self._ended(self.text.place)

    def _take(self, events: list[Structural]) -> None:
        """Pass the reader's events on."""
        self.validator.drive(events)

    def _ended(self, end: int) -> None:
        """The part is complete, and ends before the character `end`."""
        raise NotImplementedError


class _Unquoted:
    """JSON in a JSON string: `read` returns its structure, with positions in the whole text."""

    def __init__(self, max_depth: int) -> None:
        self._reader = JsonReader(calls=False, max_depth=max_depth)

    def read(self, event: Structural) -> list[Structural]:
        kind, start, end, text = event
        if kind != s.STRING_TEXT:
            return []
        unescaped = end - start == len(text)
        events = self._reader.feed(text, start if unescaped else end - 1)
        return [each for each in events if each[0] != s.DOCUMENT_END]


class JsonArguments(_Value):
    """Arguments as a JSON object, or as a string that contains one."""

    def __init__(self, call: CallText) -> None:
        super().__init__(call)
        self._reader = JsonReader(calls=False, max_depth=call.limits.depth, at=call.text.place)
        self._inner = _Unquoted(call.limits.depth) if call.form.arguments.as_string else None
        self.validator.open_arguments()

    def _take(self, events: list[Structural]) -> None:
        if self._inner is not None:
            events = [each for event in events for each in self._inner.read(event)]
        self.validator.drive(events)

    def _ended(self, end: int) -> None:
        self.validator.close_call(end - 1)


class JsonCall(_Value):
    """A call as a JSON object, in one of the forms of `CallObject`."""

    def __init__(self, call: CallText) -> None:
        super().__init__(call)
        assert call.form.object is not None
        self._reader = JsonReader(calls=False, max_depth=call.limits.depth, at=call.text.place)
        self._shape = shape = call.form.object
        self._depth = 0
        self._key: list[str] = []  # the last key, in pieces
        self._own = 1 if not shape.wrapper else 2  # the depth of the call's members
        self._inside = not shape.wrapper  # within the wrapper
        self._as_string = call.form.arguments.as_string
        self._inner: _Unquoted | None = None  # while arguments in a string are read
        self._named = False  # a key was the tool's name

    def _take(self, events: list[Structural]) -> None:
        if self._shape.name_key and not self._shape.wrapper and not self._as_string:
            self.validator.drive(events)
            return
        for event in events:
            self._one(event)

    def _ended(self, end: int) -> None:
        validator, shape = self.validator, self._shape
        if self._inside and shape.name_key:
            validator.drive([(s.DOCUMENT_END, end, end, "")])
        elif not self._inside and not validator.depth and not validator.complete:
            validator.violate("MISSING_TOOL", "the call names no tool", end - 1, f'"{shape.wrapper}"')

    def _one(self, event: Structural) -> None:
        kind = event[0]
        if kind in (s.OBJECT_CLOSE, s.ARRAY_CLOSE):
            self._depth -= 1
        if kind in (s.KEY_OPEN, s.KEY_TEXT, s.KEY_END) and self._depth <= self._own:
            self._on_key(event)
        elif not self._inside:
            if kind in (s.SYNTAX, s.TOO_DEEP):
                self.validator.drive([event])
        elif (
            not self._shape.name_key
            and self._depth == self._own - 1
            and kind in (s.OBJECT_OPEN, s.OBJECT_CLOSE)
        ):
            self.validator.begin(event[1]) if kind == s.OBJECT_OPEN else self._end_call(event)
        elif self._inner is not None and kind in (s.STRING_OPEN, s.STRING_TEXT, s.STRING_END, s.ESCAPE_OPEN):
            self.validator.drive(self._inner.read(event))
            self._inner = None if kind == s.STRING_END else self._inner
        else:
            self._pass_on(event)
        if kind in (s.OBJECT_OPEN, s.ARRAY_OPEN):
            self._depth += 1

    def _pass_on(self, event: Structural) -> None:
        if event[0] == s.SEPARATOR and self._depth == self._own and not self._shape.name_key:
            self.validator.violate("SYNTAX", "a call has one name", event[1], "'}'")
            return
        self.validator.drive([event])
        if self._shape.wrapper and event[0] == s.OBJECT_CLOSE and self._depth == 1:
            self.validator.drive([(s.DOCUMENT_END, event[2], event[2], "")])
            self._inside = False

    def _end_call(self, event: Structural) -> None:
        if not self._named:
            self.validator.violate("MISSING_TOOL", "the call names no tool", event[1], "a tool's name")
        self.validator.close_call(event[1])

    def _on_key(self, event: Structural) -> None:
        kind, _, _, text = event
        if kind == s.KEY_OPEN:
            self._key = []
        elif kind == s.KEY_TEXT:
            self._key.append(text)
        if self._inside and self._depth == self._own:
            self._own_key(event)
        elif kind == s.KEY_END and self._depth == 1 and "".join(self._key) == self._shape.wrapper:
            self._inside = True

    def _own_key(self, event: Structural) -> None:
        kind, start, end, text = event
        validator = self.validator
        if self._shape.name_key:
            validator.drive([event])
            if kind == s.KEY_END and self._as_string and "".join(self._key) == self._shape.arguments_key:
                self._inner = _Unquoted(self.call.limits.depth)
        elif self._named or validator.stopped:
            return
        elif kind == s.KEY_OPEN:
            validator.open_name(start)
        elif kind == s.KEY_TEXT:
            validator.drive([(s.STRING_TEXT, start, end, text)])
        else:
            self._named = True
            validator.close_name(start)
            validator.open_arguments()


class MemberArguments(_Value):
    """Arguments as Python keywords or as a dictionary, up to the closing bracket, which is not read."""

    def __init__(self, call: CallText) -> None:
        super().__init__(call)
        form, at, depth = call.form.arguments, call.text.place, call.limits.depth
        types = partial(call.tools.types, self.validator.tool or "") if form.encoding == "dict" else None
        closer = ")" if types is None else "}"
        self._reader = LiteralReader(at, quote=form.quote, closer=closer, max_depth=depth, types=types)
        self.validator.open_arguments()
        self.validator.drive([(s.OBJECT_OPEN, at, at, "")])

    def _ended(self, end: int) -> None:
        self.validator.close_call(end)
