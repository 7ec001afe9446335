"""Why a text became impossible, and what was still possible, in words: to change a violation's message, start here."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import structs

from glyphscope.base.pointer import steps_of
from glyphscope.base.shorten import json_excerpt
from glyphscope.events import Code, RunEvent, Violation
from glyphscope.notation.scalars import DECIMAL, INTEGER, KIND_WORDS
from glyphscope.registry.facts import Count, Range

_LISTED = 12
"""The number of alternatives that a message lists before it only counts them."""


class Reason(NamedTuple):
    """Why a value is a violation; the validator adds the location."""

    code: Code
    message: str
    """The predicate of a sentence about the value, or a whole sentence for the codes in `_WHOLE_SENTENCES`."""
    rule: str = ""
    """The JSON Pointer of the constraint in the schema."""
    viable: tuple[str, ...] = ()
    """Continuations of the text before the deciding character, in words: each that is listed is possible."""
    kinds: int = 0
    """Of a wrong type: the kinds of value that are allowed (bits of `notation.scalars`)."""


class LocatedReason(NamedTuple):
    """A reason, and the JSON Pointer of the value that it is about."""

    reason: Reason
    path: str


def not_listed(values: Iterable[Any], rule: str) -> Reason:
    """The value is not in the enumeration; `values` are those that were still possible."""
    return Reason("CONSTRAINT_ENUM", "is not one of the allowed values", rule, values_in_words(values))


def must_be(types: Iterable[str]) -> str:
    """The message of a value that is of none of these types."""
    return f"must be of type {one_of(types) or 'nothing'}"


def no_tool(prefix: str, *, whole: bool) -> str:
    """The message of a name that no allowed tool begins with or, if `whole`, has."""
    return f"no allowed tool {'is named' if whole else 'has a name that starts with'} '{prefix}'"


AS_DECIMAL = "is written without an exponent here"
"""The message of a TYPE_MISMATCH that concerns a number's form, not its type."""

# Reasons whose message is a whole sentence; other messages follow the name of the value.
_WHOLE_SENTENCES = frozenset(
    {
        "UNKNOWN_TOOL", "MISSING_TOOL", "UNKNOWN_ARGUMENT", "DUPLICATE_ARGUMENT", "SYNTAX", "LEADING_TEXT",
        "TRAILING_TEXT", "TRUNCATED", "LIMIT_EXCEEDED", "NO_TOOL_CALL",
    }
)  # fmt: skip


def in_words(reason: Reason, path: str, subject: str) -> str:
    """The reason as a sentence about the value at `path`; `subject` names the document itself."""
    if reason.code in _WHOLE_SENTENCES:
        return reason.message
    steps = list(steps_of(path))
    name = steps.pop() if steps else ""
    while name.partition("[")[0].isdigit() and steps:  # an item of a list: `sizes[2]`
        index, bracket, rest = name.partition("[")
        name = f"{steps.pop()}[{index}]{bracket}{rest}"
    return f"{name or subject} {reason.message}"


def correct(violation: Violation, reason: Reason, violations: list[Violation], out: list[RunEvent]) -> None:
    """Replace the reason of a violation of a name, whose message has no path, in the list and in the events.

    An event that was not returned yet is replaced; otherwise an event that corrects it follows.
    """
    corrected = structs.replace(violation, code=reason.code, message=reason.message, rule=reason.rule)
    violations[violations.index(violation)] = corrected
    if violation in out:
        out[out.index(violation)] = corrected
    else:
        out.append(structs.replace(corrected, corrects=True))


def kinds_in_words(kinds: int) -> tuple[str, ...]:
    """`string` and `null`, `number`, …"""
    if kinds & DECIMAL:
        kinds &= ~INTEGER
    return tuple(word for bit, word in KIND_WORDS.items() if kinds & bit)


def one_of(words: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`; long lists end in `…`."""
    listed = list(words)
    if len(listed) > _LISTED:
        return ", ".join(listed[:_LISTED]) + f" … ({len(listed)} in all)"
    if len(listed) < 2:
        return "".join(listed)
    return ", ".join(listed[:-1]) + " or " + listed[-1]


def values_in_words(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(json_excerpt(value, 60) for value in values)


def number_in_words(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def range_in_words(span: Range, kinds: int) -> str:
    """`an integer from 1 to 100`, `a number above 0`, …"""
    words = "a number" if kinds & DECIMAL else "an integer"
    low = "" if span.low is None else number_in_words(span.low)
    high = "" if span.high is None else number_in_words(span.high)
    if low and high and not span.low_open and not span.high_open:
        words += f" from {low} to {high}"
    else:
        parts = []
        if low:
            parts.append(f"{'above' if span.low_open else 'at least'} {low}")
        if high:
            parts.append(f"{'below' if span.high_open else 'at most'} {high}")
        words += " " + " and ".join(parts) if parts else ""
    return words + (f", a multiple of {number_in_words(span.step)}" if span.step else "")


def length_in_words(length: Count) -> str:
    if length.most is None:
        return f"text of {length.least} characters or more"
    least = f"{length.least} to" if length.least else "at most"
    return f"text of {least} {length.most} characters"
