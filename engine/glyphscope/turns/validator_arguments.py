"""Read arguments in JSON, Python or dictionaries while they are written, and pass them to the call's validator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from glyphscope.notation import structure as s
from glyphscope.notation.ahead import TextAhead
from glyphscope.notation.read_json import JsonReader
from glyphscope.notation.structure import Structural
from glyphscope.turns.form import CallForm
from glyphscope.turns.tools import TurnTools
from glyphscope.turns.validator_literals import LiteralReader
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


class _Json(Driver):
    """A JSON value, up to its last character."""

    def __init__(self, call: CallText) -> None:
        super().__init__(call)
        self._reader = JsonReader(calls=False, max_depth=call.limits.depth)
        self._reader._base = call.text.place

    def read(self) -> Iterator[None]:
        while True:
            yield from self.text.char()
            events = self._reader.feed(self.text.rest)
            for place, (kind, _, end, _) in enumerate(events):
                if kind in (s.DOCUMENT_END, s.SYNTAX, s.TOO_DEEP):
                    self.broken = kind != s.DOCUMENT_END
                    self._take(events[: place + 1])
                    self.text.skip(end - self.text.place)
                    return
            self._take(events)
            self.text.skip(len(self.text.rest))

    def _take(self, events: list[Structural]) -> None:
        raise NotImplementedError


class _Unquoted:
    """JSON in a JSON string: `read` returns its structure, with positions in the whole text."""

    def __init__(self, at: int, max_depth: int) -> None:
        self._reader = JsonReader(calls=False, max_depth=max_depth)
        self._reader._base = at

    def read(self, event: Structural) -> list[Structural]:
        kind, start, end, text = event
        if kind != s.STRING_TEXT:
            return []
        unescaped = end - start == len(text)
        self._reader._base = start if unescaped else end - 1
        return [each for each in self._reader.feed(text) if each[0] != s.DOCUMENT_END]


class JsonArguments(_Json):
    """Arguments as a JSON object, or as a string that contains one."""

    def __init__(self, call: CallText) -> None:
        super().__init__(call)
        as_string = call.form.arguments.as_string
        self._inner = _Unquoted(call.text.place, call.limits.depth) if as_string else None
        self.validator.open_arguments()

    def _take(self, events: list[Structural]) -> None:
        done = bool(events) and events[-1][0] == s.DOCUMENT_END
        ended = events[-1][2] if done else 0
        events = events[:-1] if done else events
        if self._inner is not None and events:
            events = [each for event in events for each in self._inner.read(event)]
        self.validator.drive(events)
        if done:
            self.validator.close_call(ended - 1)


class JsonCall(_Json):
    """A call as a JSON object, in one of the forms of `CallObject`."""

    def __init__(self, call: CallText) -> None:
        super().__init__(call)
        assert call.form.object is not None
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

    def _one(self, event: Structural) -> None:
        kind = event[0]
        if kind in (s.OBJECT_CLOSE, s.ARRAY_CLOSE):
            self._depth -= 1
        if kind in (s.KEY_OPEN, s.KEY_TEXT, s.KEY_END) and self._depth <= self._own:
            self._on_key(event)
        elif not self._inside:
            self._outside(event)
        elif (
            not self._shape.name_key
            and self._depth == self._own - 1
            and kind in (s.OBJECT_OPEN, s.OBJECT_CLOSE)
        ):
            self.validator.begin(event[1]) if kind == s.OBJECT_OPEN else self._end(event)
        elif kind == s.DOCUMENT_END:
            if self._shape.name_key:
                self.validator.drive([event])
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

    def _outside(self, event: Structural) -> None:
        """Read the structure around the wrapped call."""
        if event[0] in (s.SYNTAX, s.TOO_DEEP):
            self.validator.drive([event])
        elif event[0] == s.DOCUMENT_END and not self.validator.depth and not self.validator.complete:
            self.validator.violate(
                "MISSING_TOOL", "the call names no tool", event[1] - 1, f'"{self._shape.wrapper}"'
            )

    def _end(self, event: Structural) -> None:
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
                self._inner = _Unquoted(end, self.call.limits.depth)
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


class Members(Driver):
    """Arguments as Python keywords or as a dictionary, up to the closing bracket, which is not read."""

    def __init__(self, call: CallText) -> None:
        super().__init__(call)
        form, at, depth = call.form.arguments, call.text.place, call.limits.depth
        types = partial(call.tools.types, self.validator.tool or "") if form.encoding == "dict" else None
        closer = ")" if types is None else "}"
        self._reader = LiteralReader(at, quote=form.quote, closer=closer, max_depth=depth, types=types)
        self.validator.open_arguments()
        self.validator.drive([(s.OBJECT_OPEN, at, at, "")])

    def read(self) -> Iterator[None]:
        while not self._reader.done and not self.broken:
            yield from self.text.char()
            events: list[Structural] = []
            count = self._reader.feed(self.text.rest, 0, events)
            self.validator.drive(events)
            self.broken = self._reader.broken
            self.text.skip(count + self.broken)
        if not self.broken:
            self.validator.close_call(self.text.place)
