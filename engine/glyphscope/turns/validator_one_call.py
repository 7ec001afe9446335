"""The validator of one call of a turn, in any notation.

It validates like `CallValidator` in Glyphscope's notations; only its input differs: `validator_calls` opens the call,
spells the tool's name and opens the arguments, and a driver (`validator_arguments`, `validator_tagged`) passes on their
structure. The paths of its violations point into the arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from glyphscope.events import Code, FieldChanged, RunEvent, ToolKnown, Violation
from glyphscope.notation import structure as s
from glyphscope.registry import ToolRegistry
from glyphscope.turns.form import EXTRA_MEMBERS
from glyphscope.validation.call import CallValidator
from glyphscope.validation.call_level import CallKeys, CallLevel
from glyphscope.validation.candidates import Candidate
from glyphscope.validation.reasons import Reason
from glyphscope.validation.spec import ANYTHING
from glyphscope.validation.streaming_validator import JudgedCall, Limits, StreamingValidator

_OF_THE_TURN = ("LEADING_TEXT", "TRAILING_TEXT", "NO_TOOL_CALL")
"""Violations that do not belong to a call."""


class Hypothesis(StreamingValidator):
    """Validates a value separately, as one way of reading a text: `possible` as long as it has no violation."""

    def __init__(self, candidates: list[Candidate], limits: Limits) -> None:
        roots = [Candidate(c.schemas, c.spec) for c in candidates]
        super().__init__("json", lambda: roots, limits=limits)

    @property
    def possible(self) -> bool:
        return not self.violations


class _Numbered(list[RunEvent]):
    """A list that passes appended events, with the number of their call, to another list."""

    def __init__(self, out: list[RunEvent], index: int) -> None:
        super().__init__()
        self._target, self._index = out, index

    def append(self, event: RunEvent) -> None:
        changes: Any = {"call_index": self._index}
        self._target.append(msgspec.structs.replace(event, **changes))


class OneCallValidator(CallValidator):
    """The `index`-th call; `keys` are the keys of its name, arguments and id if it is a JSON object.

    `shown` is the tool's name once an event has it: a call keeps that name. So one that is not among the `tools` is not
    shown while the text is written, as the rest of the text decides where it ends; nor is any if the call is `unsure`.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        index: int,
        limits: Limits,
        keys: tuple[str, str, str],
        tools: Collection[str],
    ) -> None:
        name, arguments, own_id = keys
        extras = tuple(dict.fromkeys((*EXTRA_MEMBERS, own_id) if own_id else EXTRA_MEMBERS))
        own = CallKeys(name, arguments, extras, relative=True)
        super().__init__(registry, "json", "name-arguments", keys=own, limits=limits)
        self.index, self._known = index, tools
        self.shown: str | None = None
        self.unsure = False
        self._named: ToolKnown | None = None  # it is to be shown
        self._value_begun = False
        self._handlers[s.BARE_END] = self._bare_end
        self._handlers[s.DEPARTURE] = lambda start, end, text: self.violate("SYNTAX", text, start, "")

    @property
    def names_no_tool(self) -> bool:
        """Whether no allowed tool has its name, or any that begins like it."""
        return any(violation.code == "UNKNOWN_TOOL" for violation in self.violations)

    def attach(self, out: list[RunEvent], token: int) -> None:
        """Append all further events to `out`."""
        self._out, self._token = _Numbered(out, self.index) if self.index else out, token

    @property
    def candidates(self) -> list[Candidate]:
        """The candidates of the value that has begun."""
        return self._candidates.left

    # the call around the arguments, if it is not a JSON object

    @property
    def _own_level(self) -> CallLevel:
        assert self._call is not None, "the call has begun"
        return self._call

    def begin(self, at: int) -> None:
        """The call begins."""
        self._object_open(at, at + 1, "")

    def open_name(self, at: int) -> None:
        """The tool's name begins."""
        if not self._stopped:
            self._own_level.end_key(self._keys.name)
            self._string_open(at, at, "")

    def name_text(self, at: int, text: str) -> None:
        if not self._stopped:
            self._string_text(at, at + len(text), text)

    def close_name(self, at: int, *, proven: bool = True) -> None:
        """The name is complete, as shown by the character `at`; not `proven`: the text may still only mention it."""
        if not self._stopped:
            before, self.unsure = self.unsure, self.unsure or not proven
            self._string_end(at, at, "")
            self.unsure = before

    def _tool_known(self, event: ToolKnown) -> None:
        self._named = event
        self.show_name()

    def show_name(self) -> None:
        """Show the tool's name, if it is known."""
        if self._named is not None and self._named.name in self._known and not self.unsure:
            self._out.append(self._named)
            self.shown, self._named = self._named.name, None

    def open_arguments(self) -> None:
        """The arguments' object comes next."""
        if not self._stopped:
            self._own_level.end_key(self._keys.arguments or "")

    def close_call(self, at: int) -> None:
        """The arguments were closed at that character: jsonschema validates them as a whole."""
        if not self._stopped and self._levels:
            self._container_close(at, at + 1, "")
            self._document_end(at + 1, at + 1, "")

    def begin_value(self, at: int) -> None:
        """A member's value begins; its kind is not yet known."""
        if not self._stopped:
            self._begin(at)
            self._value_begun = True

    def _begin(self, start: int) -> None:
        if self._value_begun:
            self._value_begun = False
        else:
            super()._begin(start)

    def reject_value(self, at: int) -> None:
        """The text that has begun cannot become a value of an allowed kind."""
        self._value_begun = False
        # if only ANYTHING is left, a violation was already reported
        constrained = any(one.spec is not ANYTHING for one in self._candidates.left)
        if constrained and not self._stopped:
            self._report(self._candidates.keep_kind(0), at)

    def end_value(self, value: Any, end: int, at: int) -> None:
        """The value that has begun is complete, but was not validated."""
        self._value_begun = False
        if not self._stopped:
            self._end(value, end, at)

    def _bare_end(self, start: int, end: int, text: str) -> None:
        """A scalar turned out to be a text without marks."""
        self._scalar = None
        self._candidates.checking = False
        self._end(text, start, start)

    def drop_levels(self, depth: int) -> None:
        """Leave the containers that a broken value opened."""
        while len(self._levels) > depth:
            level = self._levels.pop()
            self._fields.innermost = level.field
            self._candidates.replace(level.candidates)
        self._candidates.checking = False
        self._scalar = None

    @property
    def depth(self) -> int:
        return len(self._levels)

    def changed(self, end: int) -> list[RunEvent]:
        """The event that the innermost open field has grown to `end`."""
        field = self._fields.innermost
        if field is None or self._stopped:
            return []
        field.end = end
        return [FieldChanged(path=field.path, end=end, status=field.status, call_index=self.index)]

    def violate(self, code: Code, message: str, at: int, viable: str) -> None:
        """A violation of the form, not of a schema."""
        self._violate(Reason(code, message, "", (viable,) if viable else ()), at, "")


@dataclass
class CallRecord:
    """A call while it is read, at characters `start` to `end` (exclusive; -1 while it is open)."""

    start: int
    end: int = -1
    validator: OneCallValidator | None = None

    def call(self, index: int, violations: Sequence[Violation], chars: int) -> JudgedCall:
        """The call with its violations, from all violations of the turn; `chars` characters were read so far."""
        own = tuple(v for v in violations if v.call_index == index and v.code not in _OF_THE_TURN)
        tool = None if self.validator is None else self.validator.tool
        arguments = None if self.validator is None else self.validator.arguments
        end, complete = (self.end, arguments is not None) if self.end >= 0 else (chars, False)
        return JudgedCall(tool, arguments, self.start, end, complete, own)
