"""The calls of a turn while it is read (`Record`), and once its text is complete (`final_calls`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from glyphscope.events import RunEvent, ToolKnown, Violation
from glyphscope.turns.form import TurnForm
from glyphscope.turns.read import Turn
from glyphscope.turns.read import TurnCall as ReadTurnCall
from glyphscope.turns.tools import TurnTools
from glyphscope.turns.validator_one_call import OneCallValidator
from glyphscope.turns.violations import call_violations
from glyphscope.validation.turn import TurnCall

MAX_CALLS = 1000
"""The maximum number of calls that are read in one turn."""
_OF_THE_TURN = ("LEADING_TEXT", "TRAILING_TEXT", "NO_TOOL_CALL")
"""Violations that do not belong to a call."""


@dataclass
class Record:
    """A call while it is read, at characters `start` to `end` (exclusive; -1 while it is open)."""

    start: int
    end: int = -1
    validator: OneCallValidator | None = None

    def call(self, index: int, violations: Sequence[Violation], chars: int) -> TurnCall:
        """The call with its violations, from all violations of the turn; `chars` characters were read so far."""
        own = tuple(v for v in violations if v.call_index == index and v.code not in _OF_THE_TURN)
        tool = None if self.validator is None else self.validator.tool
        arguments = None if self.validator is None else self.validator.arguments
        end, complete = (self.end, arguments is not None) if self.end >= 0 else (chars, False)
        return TurnCall(tool, arguments, self.start, end, complete, own)


def final_calls(
    turn: Turn, streamed: Sequence[TurnCall], tools: TurnTools, allowed: Collection[str], token: int
) -> tuple[tuple[TurnCall, ...], list[RunEvent]]:
    """The calls of the complete turn, and the events for those that differ from `streamed`.

    A call that was read in the same way while it was written keeps its violations.
    """
    final: list[TurnCall] = []
    events: list[RunEvent] = []
    place = 0
    for call in turn.calls[:MAX_CALLS]:
        while place < len(streamed) and streamed[place].end <= call.start:
            place += 1
        seen = streamed[place] if place < len(streamed) and streamed[place].start < call.end else None
        own = () if seen is None else seen.violations
        same = seen is not None and (seen.tool, seen.arguments) == (call.name, call.arguments)
        if not own and not (same and call.complete):
            index = len(final)
            if seen is None or seen.tool != call.name:
                known = call.name in allowed
                events.append(ToolKnown(name=call.name, allowed=known, char=call.start, call_index=index))
            own = _violations(call, tools, index, token)
            events += own
        final.append(TurnCall(call.name, call.arguments, call.start, call.end, call.complete, own))
    return tuple(final), events


def _violations(call: ReadTurnCall, tools: TurnTools, index: int, token: int) -> tuple[Violation, ...]:
    return tuple(
        Violation(
            code=each.code, message=each.message, path=each.path, char=max(each.char, 0), token=token, rule=each.rule,
            call_index=index,
        )
        for each in call_violations(call, tools)
    )  # fmt: skip


def opening_words(form: TurnForm) -> str:
    """The beginning of the form's calls, in words."""
    own = next((call for call in form.calls if call.strict), None)
    return "a call" if own is None or not own.opening.strip() else repr(own.opening)
