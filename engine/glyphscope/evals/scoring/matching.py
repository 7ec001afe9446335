"""Comparing a call with the expected one, with the first difference, and pairing made calls with expected ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jsonschema.exceptions import ValidationError
from referencing.exceptions import Unresolvable

from glyphscope.evals.scoring.values import Difference, Values, alternatives, named, pointer, shown
from glyphscope.evals.suites.suite import ExpectedCall
from glyphscope.text.shorten import shorten
from glyphscope.validation.checker import Checker
from glyphscope.visible import visible

_MAX_WORDS = 200


class Matcher:
    """Compares made calls with expected ones; it caches data about the values, so discard it with them."""

    def __init__(self) -> None:
        self._values: dict[tuple[bool, bool], Values] = {}

    def difference(self, expected: ExpectedCall, tool: str, arguments: dict[str, Any]) -> Difference | None:
        """The difference from the expected call, the tool before the arguments; None if there is none."""
        if tool not in expected.tools:
            return Difference("", wrong_tool(expected, tool))
        return self.of_arguments(expected, arguments)

    def of_arguments(self, expected: ExpectedCall, arguments: dict[str, Any]) -> Difference | None:
        """The difference in the arguments alone, whatever the tool."""
        values = self._of(expected)
        right: dict[str, tuple[Any, ...]] = {n: (value,) for n, value in (expected.arguments or {}).items()}
        right |= expected.any_of
        for name, any_of in right.items():
            if name in arguments:
                found = _none_of(values, any_of, arguments[name], name)
                if found is not None:
                    return found
            elif name not in expected.optional:
                return Difference(pointer([name]), f"{named([name])} is missing")
        if expected.match == "exact" and (expected.arguments is not None or expected.any_of):
            known = {*right, *expected.optional}
            other = next((name for name in arguments if name not in known), None)
            if other is not None:
                words = f"{named([other])} is {shown(arguments[other])}, which is not expected"
                return Difference(pointer([other]), words)
        return None if expected.schema is None else schema_fault(expected.schema, arguments, "the call")

    def _of(self, expected: ExpectedCall) -> Values:
        how = (expected.unordered, expected.folded)
        if how not in self._values:
            self._values[how] = Values(unordered=expected.unordered, folded=expected.folded)
        return self._values[how]


def wrong_tool(expected: ExpectedCall, tool: str) -> str:
    """The sentence about a call of another tool."""
    return f"the call is of {quoted(tool)}, not of {alternatives(expected.tools, quoted)}"


def quoted(tool: str) -> str:
    """The name of a tool in a sentence."""
    return f"'{shorten(visible(tool, spaces=True), 60)}'"


def has_all(expected: dict[str, Any], arguments: dict[str, Any]) -> bool:
    """Whether the arguments have all of the expected ones, each with its value."""
    values = Values()
    return all(name in arguments and values.same(value, arguments[name]) for name, value in expected.items())


def schema_fault(schema: dict[str, Any], value: Any, whole: str) -> Difference | None:
    """The place where the value violates a JSON Schema of draft 2020-12, formats included; None if it is valid.

    `whole` names the value itself. Patterns cannot hang; a schema with a reference that leads nowhere accepts nothing.
    """
    try:
        error = Checker(schema).best_error(value)
    except (RecursionError, ValueError, OverflowError):
        return Difference("", f"{whole} cannot be checked: nested too deep, or a number in it is too large")
    except Unresolvable:
        return Difference("", f"{whole} cannot be checked: a reference of the schema leads nowhere")
    if error is None:
        return None
    steps = [str(step) for step in error.absolute_path]
    if error.validator == "required" and isinstance(error.instance, dict):
        steps += [name for name in error.validator_value if name not in error.instance][:1]
        return Difference(pointer(steps), f"{named(steps)} is missing")
    return Difference(pointer(steps), f"{named(steps) if steps else whole} {_broken(error)}")


def _broken(error: ValidationError) -> str:
    """The actual and the expected value in words; for rare keywords, in jsonschema's words."""
    limit = error.validator_value
    if error.validator == "type":
        kinds = [limit] if isinstance(limit, str) else limit
        return f"is {shown(error.instance)}, and must be of type {' or '.join(map(str, kinds))}"
    if error.validator == "const":
        return f"is {shown(error.instance)}, not {shown(limit)}"
    if error.validator == "enum":
        return f"is {shown(error.instance)}, and none of {shown(limit)}"
    return f"does not fit: {shorten(visible(error.message, spaces=True), _MAX_WORDS)}"


def pair_up(
    expected: int, made: int, fits: Callable[[int, int], bool], *, ordered: bool = False
) -> dict[int, int]:
    """The index of the made call by the expected one's: as many pairs as possible, each call in at most one.

    With `ordered`, the made calls of the pairs are in the order of the expected ones.
    """
    return _in_order(expected, made, fits) if ordered else _any_order(expected, made, fits)


def _in_order(expected: int, made: int, fits: Callable[[int, int], bool]) -> dict[int, int]:
    """The earliest call for each: if all can have one, this finds one for all."""
    pairs: dict[int, int] = {}
    start = 0
    for at in range(expected):
        found = next((call for call in range(start, made) if fits(at, call)), None)
        if found is not None:
            pairs[at] = found
            start = found + 1
    return pairs


def _any_order(expected: int, made: int, fits: Callable[[int, int], bool]) -> dict[int, int]:
    """A maximum matching: each expected call takes a free one, or one whose holder can take another."""
    pairs: dict[int, int] = {}
    holders: dict[int, int] = {}
    for at in range(expected):
        reached: dict[int, int] = {}  # made call -> the expected one that could take it
        free = _free_call(at, made, fits, holders, reached)
        while free is not None:
            taker = reached[free]
            given_up = pairs.get(taker)
            pairs[taker], holders[free] = free, taker
            free = given_up
    return pairs


def _free_call(
    at: int, made: int, fits: Callable[[int, int], bool], holders: dict[int, int], reached: dict[int, int]
) -> int | None:
    """A call that is free, at the end of a chain of takers that begins with the expected call `at`."""
    takers = [at]
    for taker in takers:
        for call in range(made):
            if call in reached or not fits(taker, call):
                continue
            reached[call] = taker
            if call not in holders:
                return call
            takers.append(holders[call])
    return None


def _none_of(values: Values, any_of: Sequence[Any], made: Any, name: str) -> Difference | None:
    if any(values.same(value, made) for value in any_of):
        return None
    if len(any_of) == 1:
        return values.difference(any_of[0], made, (name,))
    words = alternatives(any_of) or "anything"
    return Difference(pointer([name]), f"{named([name])} is {shown(made)}, not {words}")
