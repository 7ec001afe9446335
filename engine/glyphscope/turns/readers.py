"""Readings of an answer: strictly by its form, leniently like servers, and by the notations of other models.

The other forms are those of the assets (`foreign.known_forms`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from glyphscope.base.shorten import listed
from glyphscope.events import TokenStep, Violation
from glyphscope.registry import ToolRegistry
from glyphscope.turns.expected import Expected
from glyphscope.turns.foreign import KnownForm, known_forms
from glyphscope.turns.form import TurnForm, TurnOptions, state_of
from glyphscope.turns.read import Turn, read_turn
from glyphscope.turns.slots import written
from glyphscope.turns.tools import TurnTools
from glyphscope.turns.violations import CallViolation, call_violations

ReaderKind: TypeAlias = Literal["strict", "lenient", "other"]
_OF_THE_FORM = ("SYNTAX", "TRUNCATED")
"""Violations that say nothing of a call's values: a lenient reading accepts the text."""


class FoundCall(msgspec.Struct, frozen=True):
    """A call that a reader finds, and whether it is valid according to its tool's schema."""

    name: str
    arguments: dict[str, Any] | None
    valid: bool


class Reading(msgspec.Struct, frozen=True):
    """One reading of an answer.

    `reads`: it accepts the answer; a lenient or other notation does if it finds calls, or if no reading finds any.
    `left_at` is the first character that deviates from this form, with the reason; None if there is none.
    `left_expected` is the expected text there, if there is only one.
    """

    reader: str
    kind: ReaderKind
    reads: bool
    calls: tuple[FoundCall, ...]
    content: str
    reasoning: str
    complete: bool
    left_at: int | None = None
    left_why: str = ""
    left_expected: str = ""
    sources: tuple[str, ...] = ()


def readings(
    text: str,
    form: TurnForm,
    registry: ToolRegistry,
    thinking: bool | None = None,
    others: Mapping[str, TurnForm] | None = None,
) -> tuple[Reading, ...]:
    """The strict and the lenient reading by the form, and readings by `others`; None: the forms of the assets.

    `text` is the model's output after a prompt rendered with that state of thinking. Takes linear time.
    """
    tools = TurnTools(registry)
    turn = read_turn(text, form, tools, thinking)
    valid = _valid_calls(text, turn, form, tools, thinking)
    strict = _reading("this form, strictly", "strict", turn, valid, takes=turn.strict)
    if not turn.strict:  # a strict parser finds nothing: all of it is text, or an error
        strict = replace(strict, calls=(), content=text, reasoning="")
    out = [strict, _reading("servers, leniently", "lenient", turn, valid, takes=bool(turn.calls))]
    if others is None:
        known = [each for each in known_forms() if not same_calls(each.form, form)]
    else:
        known = [KnownForm(name, (), each) for name, each in others.items()]
    begun = form.begun.get(state_of(thinking), "")
    for each in known:
        found, valid = _read_as(each.form, text, begun, tools)
        reading = _reading(each.name, "other", found, valid, takes=bool(found.calls))
        out.append(replace(reading, sources=each.sources))
    if not any(each.calls for each in out):  # an answer without calls: no reading misses one
        out = [replace(each, reads=True) if each.kind != "strict" else each for each in out]
    return tuple(out)


def own_notation(form: TurnForm) -> TurnForm:
    """The form without the notations that only a lenient reading accepts, and without the prompt's part of a turn."""
    return replace(form, calls=tuple(call for call in form.calls if call.strict), begun={}, corrections=())


def same_calls(one: TurnForm, other: TurnForm) -> bool:
    """Whether the first way of writing calls is the same, apart from white space."""
    return _first_call(one) == _first_call(other)


def _first_call(form: TurnForm) -> str:
    return next(("".join(written(call).split()) for call in form.calls if call.strict), "")


def _read_as(form: TurnForm, text: str, begun: str, tools: TurnTools) -> tuple[Turn, list[bool]]:
    """The whole turn, including the part begun by the prompt, read by another form, and which calls are valid.

    Places refer to the text.
    """
    own = own_notation(form)
    turn = read_turn(begun + text, own, tools)
    valid = _valid_calls(begun + text, turn, own, tools)
    if turn.left_at is None:
        return turn, valid
    return replace(turn, left_at=max(0, turn.left_at - len(begun))), valid


def call_verdicts(
    text: str, turn: Turn, form: TurnForm, tools: TurnTools, thinking: bool | None = None
) -> list[list[CallViolation]]:
    """The violations of each call of a turn that was read by the form, at their first deciding characters."""
    verdicts = [call_violations(call, tools) for call in turn.calls]
    if any(verdicts) or any(_has_decimal(call.arguments) for call in turn.calls):
        options = TurnOptions("auto", most_calls=None, thinking=thinking)
        validator = Expected(form, options).validator(tools.registry)
        validator.feed(text)
        validator.finish()
        for call, violations, streamed in zip(turn.calls, verdicts, validator.calls):
            own = list(streamed.violations)
            violations[:] = [_placed(each, own) for each in violations]
            if not violations and streamed.arguments == call.arguments:
                violations += _of_spelling(own)
    return verdicts


def _has_decimal(value: Any) -> bool:
    """Whether a value contains a number other than an integer literal, whose spelling may be invalid."""
    if isinstance(value, dict | list):
        return any(map(_has_decimal, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


def _of_spelling(streamed: list[Violation]) -> list[CallViolation]:
    """The violations of a call whose values are valid: of how they are written, such as `1.0` for an integer."""
    return [
        CallViolation(each.code, each.message, each.path, each.rule, each.char)
        for each in streamed
        if each.code not in _OF_THE_FORM
    ]


def _placed(violation: CallViolation, streamed: list[Violation]) -> CallViolation:
    """The violation at the character of its counterpart in the stream, which may name the object around it."""
    within = [each for each in streamed if f"{violation.path}/".startswith(f"{each.path}/")]
    like = [each for each in within if each.code == violation.code]
    like = like or [each for each in within if each.path == violation.path]
    if not like:
        return violation
    found = max(like, key=lambda each: len(each.path))
    if len(like) > 1:
        streamed.remove(found)
    return replace(violation, char=found.char)


def _valid_calls(
    text: str, turn: Turn, form: TurnForm, tools: TurnTools, thinking: bool | None = None
) -> list[bool]:
    return [not violations for violations in call_verdicts(text, turn, form, tools, thinking)]


def _reading(reader: str, kind: ReaderKind, turn: Turn, valid: Sequence[bool], *, takes: bool) -> Reading:
    calls = tuple(
        FoundCall(call.name, call.arguments, right) for call, right in zip(turn.calls, valid, strict=True)
    )
    return Reading(
        reader=reader,
        kind=kind,
        reads=takes,
        calls=calls,
        content=turn.content,
        reasoning=turn.reasoning,
        complete=turn.complete,
        left_at=turn.left_at,
        left_why=turn.left_why,
        left_expected=turn.left_expected,
    )


class Resemblance(msgspec.Struct, frozen=True):
    """Another notation whose markers are in the text of an answer, from character `at` on.

    `calls` are those that it reads, none if it reads none. `notation` is "" for markers that no known form has.
    """

    notation: str
    at: int
    calls: tuple[FoundCall, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """A sentence for users."""
        if not self.notation:
            return f"From character {self.at:,} on, the text has markers that belong to no call."
        names = [f"{call.name}{'' if call.valid else ' (not valid)'}" for call in self.calls]
        reads = (
            f"which would read calls of {listed(names, 5)}" if names else "which would read no call either"
        )
        about = f"the notation {self.notation} of {listed(self.sources, 2)}"
        return f"From character {self.at:,} on, this looks like {about}, {reads}."


def resemblance(text: str, turn: Turn, tools: TurnTools) -> Resemblance | None:
    """The notation that the text of a read turn looks like; None if it has no markers of another form."""
    if turn.foreign is None:
        return None
    at, read = turn.foreign.at, []
    for known in turn.foreign.forms:
        other, valid = _read_as(known.form, text[at:], "", tools)
        calls = _reading(known.name, "other", other, valid, takes=True).calls
        read.append(Resemblance(known.name, at, calls, known.sources))
    return max(
        read,
        key=lambda each: (sum(call.valid for call in each.calls), len(each.calls)),
        default=Resemblance("", at),
    )


class Departed(msgspec.Struct, frozen=True):
    """The token with which an answer left the form, and the most probable token within it; probabilities are raw.

    `right` is "" if no alternative of the token is known to be right; `right_probability` is None then.
    """

    index: int
    text: str
    probability: float | None
    right: str = ""
    right_probability: float | None = None


def departed(reading: Reading, steps: Sequence[TokenStep]) -> Departed | None:
    """The probability of a token within the form at the place where these tokens left it; None if unknown."""
    if reading.left_at is None:
        return None
    size = reading.left_at  # of the token's characters before the departure
    for step in steps:
        if size < len(step.text):
            break
        size -= len(step.text)
    else:
        return None
    own = step.raw
    expected = step.text[:size] + reading.left_expected
    right = [
        each
        for each in step.alternatives
        if reading.left_expected
        and len(each.text) > size
        and (expected.startswith(each.text) or each.text.startswith(expected))
    ]
    if not right:
        return Departed(step.index, step.text, own)
    best = max(right, key=lambda each: each.raw)
    return Departed(step.index, step.text, own, best.text, best.raw)
