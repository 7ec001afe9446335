"""The judge of one call of a turn, whatever notation its pieces are in.

It is the judge of every call of Glyphscope. Only its driver differs: the call automaton of the form opens the call,
spells the tool's name and opens the arguments; a reader of the form's encoding drives what is in them. Paths point into
the arguments.
"""

from __future__ import annotations

from typing import Any

import msgspec

from glyphscope.events import Code, FieldChanged, RunEvent
from glyphscope.notation.structure import Structural
from glyphscope.registry import ToolRegistry
from glyphscope.validation.call import CallValidator
from glyphscope.validation.candidates import Candidate, Level, gravest, wrong_type
from glyphscope.validation.reasons import Reason
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import ANYTHING
from glyphscope.validation.streaming_validator import Judge, Limits
from glyphscope.validation.strings import StringCheck

CONSTRAINED_TEXT = 21
"""Text of a string that looked like its end until the character `end` (exclusive)."""
RAW_END = 22
"""A raw string ended before `start`: up to `end` (exclusive) is written what shows it, which is `text`."""
QUOTE_END = 23
"""The same with a closing quotation mark, which is part of the field."""

_ANY = SchemaSet(True)
_EXTRAS = ("id", "type", "index", "tool_call_id")
"""Members that a call as a JSON object may have beside its name and arguments."""


class RawStrings(Judge):
    """A judge that also takes strings whose end is seen late: see HELD_TEXT, RAW_END, QUOTE_END."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.floor = -1  # before this character nothing could be decided
        self._handlers = (
            *self._handlers, *([self._nothing] * (CONSTRAINED_TEXT - len(self._handlers))),
            self._check_text, self._raw_end, self._quote_end,
        )  # fmt: skip

    def attach(self, out: list[RunEvent], token: int) -> None:
        """Events go there from now on."""
        self._out, self._token = out, token

    def drive(self, events: list[Structural]) -> None:
        """Judges what a reader found."""
        if events and not self._stopped:
            self._take(events)

    def raise_floor(self, at: int) -> None:
        """No verdict that follows is decided before this character."""
        self.floor = max(self.floor, at)

    @property
    def stopped(self) -> bool:
        return self._stopped

    def _violate(self, reason: Reason, at: int, path: str) -> None:
        super()._violate(reason, max(at, self.floor), path)

    def _nothing(self, start: int, end: int, text: str) -> None:
        raise NotImplementedError

    def _check_text(self, start: int, end: int, text: str) -> None:
        if self._judging_string and any(check is None or _may_end(check) for check in self._strings):
            self.raise_floor(end - 1)
        self._string_text(start, start + len(text), text)

    def _raw_end(self, start: int, end: int, text: str) -> None:
        self._late_end(start, end, text, start)

    def _quote_end(self, start: int, end: int, text: str) -> None:
        self._late_end(start, end, text, end)

    def _late_end(self, start: int, end: int, text: str, field_end: int) -> None:
        """The string ended before `start`, unless it can be longer: then nothing is decided before that is excluded."""
        decided = start
        if self._judging_string:
            reasons = [None if check is None else check.ended() for check in self._strings]
            furthest = max(len(text) if check is None else check.feed(text) for check in self._strings)
            decided = start + min(furthest, end - 1 - start)
            if None in reasons:
                self._narrow_strings([reason is None for reason in reasons])
            else:
                self._keep([], lambda c: gravest(filter(None, reasons)), decided)
            self._judging_string = False
        else:
            decided = end - 1
        self.raise_floor(decided)
        self._end("".join(self._pieces), field_end, decided)

    @property
    def candidates(self) -> list[Candidate]:
        """Those of the value that has begun."""
        return self._candidates


def _may_end(check: StringCheck) -> bool:
    """Whether the string may end here; it is taken for one that may where only its whole text could say."""
    return any(not wanted.linear for wanted in check.spec.patterns) or check.ended() is None


class Hypothesis(RawStrings):
    """Judges a value by itself, as one way of reading a text; it is possible as long as nothing is wrong."""

    def __init__(self, candidates: list[Candidate], limits: Limits) -> None:
        super().__init__("json", limits=limits, calls=False)
        self._roots = candidates

    @property
    def possible(self) -> bool:
        return not self.violations

    def _root_candidates(self) -> list[Candidate]:
        return [Candidate(c.schemas, c.spec, None) for c in self._roots]


class _Numbered(list[RunEvent]):
    """Passes events on with the number of their call."""

    def __init__(self, out: list[RunEvent], index: int) -> None:
        super().__init__()
        self._target, self._index = out, index

    def append(self, event: RunEvent) -> None:
        changes: Any = {"call_index": self._index}
        self._target.append(msgspec.structs.replace(event, **changes))


class CallJudge(RawStrings, CallValidator):
    """One call, the `index`-th; `keys` are those of its name, arguments and id, where it is a JSON object."""

    def __init__(
        self, registry: ToolRegistry, index: int, limits: Limits, keys: tuple[str, str, str]
    ) -> None:
        super().__init__(registry, "json", "name-arguments", limits=limits)
        self.index = index
        self._name_key, self._args_key, own_id = keys
        self._extras = tuple(dict.fromkeys((*_EXTRAS, own_id))) if own_id else _EXTRAS
        self._extra = False
        self._value_begun = False

    def attach(self, out: list[RunEvent], token: int) -> None:
        super().attach(_Numbered(out, self.index) if self.index else out, token)

    # the call around the arguments, where it is no JSON object

    def begin(self, at: int) -> None:
        """The call begins."""
        self._object_open(at, at + 1, "")

    def open_name(self, at: int) -> None:
        """The tool's name begins."""
        if self._stopped:
            return
        self._named = self._naming = True
        self._levels[0].key = self._name_key
        self._string_open(at, at, "")

    def name_text(self, at: int, text: str) -> None:
        if not self._stopped:
            self._string_text(at, at + len(text), text)

    def close_name(self, at: int) -> None:
        """The name is complete, as the character there shows."""
        if not self._stopped:
            self._string_end(at, at, "")

    def open_arguments(self) -> None:
        """The arguments' object comes next."""
        if self._stopped:
            return
        self._args_given = True
        self._levels[0].key = self._args_key or ""

    def close_call(self, at: int) -> None:
        """The arguments were closed; jsonschema has the final word at that character."""
        if not self._stopped and self._levels:
            self._object_close(at, at + 1, "")
            self._document_end(at + 1, at + 1, "")

    def begin_value(self, at: int) -> None:
        """A member's value begins, and it is not known yet of which kind it is."""
        if not self._stopped:
            self._begin(at)
            self._value_begun = True

    def refuse_value(self, at: int, reason: Reason | None = None) -> None:
        """The value that has begun cannot become one."""
        self._value_begun = False
        if self._candidates and not self._stopped:
            self._keep([], lambda c: reason or wrong_type(c), at)

    def end_value(self, value: Any, end: int, at: int) -> None:
        """The value that has begun is complete, and was not judged."""
        self._value_begun = False
        if not self._stopped:
            self._end(value, end, at)

    def drop_levels(self, depth: int) -> None:
        """Leave the containers that a broken value opened."""
        while len(self._levels) > depth:
            level = self._levels.pop()
            self._field = level.field
            self._candidates = level.candidates
        self._judging_string = False
        self._scalar = None

    @property
    def depth(self) -> int:
        return len(self._levels)

    def changed(self, end: int) -> list[RunEvent]:
        """The growth of the innermost open field."""
        field = self._field
        if field is None or self._stopped:
            return []
        field[2] = end
        return [FieldChanged(path=field[0], end=end, status=field[3], call_index=self.index)]

    def violate(self, code: Code, message: str, at: int, viable: str) -> None:
        """A violation that the form decides, not a schema."""
        self._violate(Reason(code, message, "", viable), at, "")

    # changes to the validator of calls

    @property
    def _arguments_path(self) -> str:
        return ""

    def _begin(self, start: int) -> None:
        if self._value_begun:
            self._value_begun = False
            return
        super()._begin(start)

    def _push(self, value: Any) -> None:
        super()._push(value)
        if len(self._levels) == 2:
            self._levels[1].path = ""

    def _open_field(self, path: str, start: int) -> None:
        if len(self._levels) == 1:
            self._field = None
            return
        super()._open_field(path, start)

    def _own_key(self, prefix: str) -> bool:
        return super()._own_key(prefix) or any(key.startswith(prefix) for key in self._extras_left())

    def _extras_left(self) -> list[str]:
        used = self._levels[0].used
        return [key for key in self._extras if key not in used]

    def _key_end(self, start: int, end: int, text: str) -> None:
        key = "".join(self._pieces)
        own = key in (self._name_key, self._args_key)
        if self._at_top and not own and key in self._extras_left():
            self._extra = True
            self._levels[0].key = key
            self._levels[0].used.add(key)
            return
        super()._key_end(start, end, text)

    def _member_candidates(self, level: Level) -> list[Candidate]:
        if self._extra and self._at_top:
            return [Candidate(_ANY, ANYTHING, None)]
        return super()._member_candidates(level)

    def _end(self, value: Any, end: int, at: int) -> None:
        if self._extra and self._at_top:
            self._extra = False
            self._field = None
            return
        super()._end(value, end, at)


__all__ = [
    "CONSTRAINED_TEXT",
    "QUOTE_END",
    "RAW_END",
    "CallJudge",
    "Hypothesis",
    "RawStrings",
]
