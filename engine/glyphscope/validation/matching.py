"""Comparing a call with the expected one, with the first difference, and pairing made calls with expected ones.

To compare JSON values, every value gets a number, the same for equal ones, from the leaves up and without recursion:
that takes time proportional to the values' size, however deep they are; lists as bags also need a sort. Numbers are
looked up by their text, so that no choice of them makes the look-up slow.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from jsonschema.exceptions import ValidationError
from referencing.exceptions import Unresolvable

from glyphscope.base.figures import pluralize
from glyphscope.base.lines import common_length
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.events import ExpectedCall, FinalText
from glyphscope.grammar.regular import pattern as patterns
from glyphscope.validation.checker import Checker

MAX_SHOWN = 60
"""Characters of a value in a sentence."""
MAX_STEPS = 60
"""The deepest level to which a difference is followed: for a deeper one, the sentence names this level."""
MAX_POINTER = 400
_MAX_WORDS, _MAX_ALTERNATIVES = 200, 4
"""Characters of a validator's own message in a sentence, and right values that one names."""
_SHOWN_ITEMS, _SHOWN_LEVELS = 4, 3
_CONTEXT = 20


class ArgumentDifference(NamedTuple):
    """A difference: a JSON Pointer into the made value, and the actual and the expected value there, in words."""

    pointer: str
    words: str


class Values:
    """The values of some comparisons, each with its number; discard it with them.

    `unordered`: lists are equal if they have the same items equally often, at any depth. `folded`: texts are compared
    without case and runs of white space. Names in objects are compared exactly.
    """

    def __init__(self, *, unordered: bool = False, folded: bool = False) -> None:
        self._unordered, self._folded = unordered, folded
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps alive the values that `_known` identifies by their addresses

    def same(self, one: Any, other: Any) -> bool:
        """Whether they are equal: numbers by value, and no number equals a boolean."""
        return self._number(one) == self._number(other)

    def difference(self, expected: Any, made: Any, path: Sequence[str] = ()) -> ArgumentDifference | None:
        """The first place where `made` differs from `expected`; None if it does not. `path` are the steps to both."""
        if self.same(expected, made):
            return None
        steps = list(path)
        while len(steps) < MAX_STEPS:
            inside = self._inside(expected, made)
            if inside is None:
                break
            step, expected, made = inside
            steps.append(step)
        return self._difference(expected, made, steps)

    def _inside(self, expected: Any, made: Any) -> tuple[str, Any, Any] | None:
        """The first differing parts of two containers, and the step to them; None if there is no such pair of parts."""
        if isinstance(expected, dict) and isinstance(made, dict):
            if expected.keys() != made.keys():
                return None
            return next(
                (name, value, made[name])
                for name, value in expected.items()
                if not self.same(value, made[name])
            )
        if not (_is_list(expected) and _is_list(made)):
            return None
        if self._unordered:
            lacking, surplus = self._bag(expected, made)
            if len(lacking) == len(surplus) == 1 and _kind(expected[lacking[0]]) == _kind(made[surplus[0]]):
                return str(surplus[0]), expected[lacking[0]], made[surplus[0]]
            return None
        for index, (one, other) in enumerate(zip(expected, made)):
            if not self.same(one, other):
                return str(index), one, other
        return None

    def _bag(self, expected: Sequence[Any], made: Sequence[Any]) -> tuple[list[int], list[int]]:
        """The places of items that only one of the lists has, or has more often."""
        left, right = map(self._number, expected), list(map(self._number, made))
        lacking = _beyond(left, Counter(right))
        return lacking, _beyond(right, Counter(map(self._number, expected)))

    def _difference(self, expected: Any, made: Any, steps: list[str]) -> ArgumentDifference:
        name = named(steps)
        if len(steps) >= MAX_STEPS:
            return ArgumentDifference(pointer(steps), f"{name} is another value, somewhere deep in it")
        if isinstance(expected, dict) and isinstance(made, dict):
            lacking = next((key for key in expected if key not in made), None)
            if lacking is not None:
                return ArgumentDifference(
                    pointer([*steps, lacking]), f"{named([*steps, lacking])} is missing"
                )
            surplus = next((key for key in made if key not in expected), None)
            if surplus is not None:
                below = [*steps, surplus]
                return ArgumentDifference(
                    pointer(below), f"{named(below)} is {shown(made[surplus])}, which is not expected"
                )
        elif _is_list(expected) and _is_list(made):
            return self._list_difference(expected, made, steps)
        elif isinstance(expected, str) and isinstance(made, str):
            return ArgumentDifference(pointer(steps), f"{name} {self._text_difference(expected, made)}")
        return ArgumentDifference(pointer(steps), f"{name} is {shown(made)}, not {shown(expected)}")

    def _list_difference(
        self, expected: Sequence[Any], made: Sequence[Any], steps: list[str]
    ) -> ArgumentDifference:
        name = named(steps)
        if not self._unordered:
            words = f"{name} has {pluralize(len(made), 'item')}, not {len(expected):,}"
            return ArgumentDifference(pointer(steps), words)
        lacking, surplus = self._bag(expected, made)
        if not surplus:
            return ArgumentDifference(pointer(steps), f"{name} lacks {shown(expected[lacking[0]])}")
        place = pointer([*steps, str(surplus[0])])
        item = shown(made[surplus[0]])
        if not lacking:
            return ArgumentDifference(place, f"{name} has {item}, which is one too many")
        return ArgumentDifference(place, f"{name} has {item}, and lacks {shown(expected[lacking[0]])}")

    def _text_difference(self, expected: str, made: str) -> str:
        """The difference of two texts; for long ones, from the first differing character on."""
        if max(len(expected), len(made)) <= MAX_SHOWN - 2:
            return f"is {shown(made)}, not {shown(expected)}"
        if self._folded:
            expected, made = normalized_text(expected), normalized_text(made)
        at = common_length(expected, made)
        start = max(0, at - _CONTEXT)
        two = [
            shown(text[start : at + _CONTEXT]) if at < len(text) else "its end" for text in (made, expected)
        ]
        return f"differs from character {at} on: {two[0]}, not {two[1]}"

    def _number(self, value: Any) -> int:
        """The value's number, which is the same for equal values."""
        if not _is_container(value):
            return self._of(self._leaf(value))
        known = self._known.get(id(value))
        if known is not None:
            return known
        self._kept.append(value)
        waiting = [(value, False)]
        while waiting:
            part, read = waiting.pop()
            if id(part) in self._known:
                continue
            if read:
                self._known[id(part)] = self._of(self._form(part))
                continue
            waiting.append((part, True))
            below = part.values() if isinstance(part, dict) else part
            waiting += [(each, False) for each in below if _is_container(each)]
        return self._known[id(value)]

    def _of(self, form: Any) -> int:
        return self._numbers.setdefault(form, len(self._numbers))

    def _form(self, value: Any) -> tuple[Any, ...]:
        """The form of a container whose parts already have numbers."""
        if isinstance(value, dict):
            return ("object", tuple(sorted((str(name), self._number(part)) for name, part in value.items())))
        numbers = [self._number(part) for part in value]
        return ("list", tuple(sorted(numbers) if self._unordered else numbers))

    def _leaf(self, value: Any) -> tuple[str, Any]:
        if isinstance(value, str):
            return "text", normalized_text(value) if self._folded else value
        if value is None or isinstance(value, bool):
            return "word", value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int):
            return "number", f"{value:x}"
        return ("number", value.hex()) if isinstance(value, float) else ("other", repr(value))


def normalized_text(text: str) -> str:
    """The text without regard to case and runs of white space."""
    return " ".join(text.split()).casefold()


def pointer(steps: Iterable[str]) -> str:
    """A JSON Pointer; a very long one is cut."""
    return shorten(to_pointer(steps), MAX_POINTER)


def named(steps: Sequence[str]) -> str:
    """A place in words: the argument's name, and the steps into it."""
    return shorten(visible(".".join(steps), spaces=True), MAX_SHOWN * 2) if steps else "the value"


def shown(value: Any) -> str:
    """A value in a sentence: JSON, cut short, with all characters visible."""
    return shorten(visible(_shown(value, _SHOWN_LEVELS), spaces=True), MAX_SHOWN)


def alternatives(values: Sequence[Any], word: Callable[[Any], str] = shown) -> str:
    """`1 or 2`; for many values, the first ones and the number of others."""
    more = len(values) - _MAX_ALTERNATIVES
    words = [word(value) for value in values[:_MAX_ALTERNATIVES]]
    return " or ".join([*words, pluralize(more, "other")] if more > 0 else words)


def _shown(value: Any, levels: int) -> str:
    if isinstance(value, str):
        return json.dumps(value[: MAX_SHOWN + 1], ensure_ascii=False)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return "a number of hundreds of digits"
    if not _is_container(value):
        return (
            json.dumps(value) if value is None or isinstance(value, bool | int | float) else str(type(value))
        )
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    if not value or not levels:
        return f"{opened}…{closed}" if value else f"{opened}{closed}"
    if isinstance(value, dict):
        parts = [
            f"{_shown(str(name), 0)}:{_shown(part, levels - 1)}"
            for name, part in islice(value.items(), _SHOWN_ITEMS)
        ]
    else:
        parts = [_shown(part, levels - 1) for part in islice(value, _SHOWN_ITEMS)]
    more = ["…"] if len(value) > _SHOWN_ITEMS else []
    return f"{opened}{','.join(parts + more)}{closed}"


def _beyond(numbers: Iterable[int], taken: Counter[int]) -> list[int]:
    """The indices of numbers that occur more often than in `taken`, which is used up."""
    places = []
    for index, number in enumerate(numbers):
        if taken[number] > 0:
            taken[number] -= 1
        else:
            places.append(index)
    return places


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list | tuple)


def _kind(value: Any) -> str:
    return "object" if isinstance(value, dict) else "list" if _is_list(value) else "leaf"


# calls


class Matcher:
    """Compares made calls with expected ones; it caches data about the values, so discard it with them."""

    def __init__(self) -> None:
        self._values: dict[tuple[bool, bool], Values] = {}

    def difference(
        self, expected: ExpectedCall, tool: str, arguments: dict[str, Any]
    ) -> ArgumentDifference | None:
        """The difference from the expected call, the tool before the arguments; None if there is none."""
        if tool not in expected.tools:
            return ArgumentDifference("", wrong_tool(expected, tool))
        return self.of_arguments(expected, arguments)

    def of_arguments(self, expected: ExpectedCall, arguments: dict[str, Any]) -> ArgumentDifference | None:
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
                return ArgumentDifference(pointer([name]), f"{named([name])} is missing")
        if expected.match == "exact" and (expected.arguments is not None or expected.any_of):
            known = {*right, *expected.optional}
            other = next((name for name in arguments if name not in known), None)
            if other is not None:
                words = f"{named([other])} is {shown(arguments[other])}, which is not expected"
                return ArgumentDifference(pointer([other]), words)
        return None if expected.schema is None else schema_fault(expected.schema, arguments, "the call")

    def _of(self, expected: ExpectedCall) -> Values:
        how = (expected.unordered, expected.folded)
        if how not in self._values:
            self._values[how] = Values(unordered=expected.unordered, folded=expected.folded)
        return self._values[how]


def wrong_tool(expected: ExpectedCall, tool: str) -> str:
    """The sentence about a call of another tool."""
    return f"the call is of {quoted(tool)}, not of {alternatives(expected.tools, quoted)}"


def missing_call(expected: ExpectedCall) -> str:
    """The sentence about an expected call that was not made."""
    return f"no call of {alternatives(expected.tools, quoted)} was made"


def quoted(tool: str) -> str:
    """The name of a tool in a sentence."""
    return f"'{shorten(visible(tool, spaces=True), 60)}'"


def has_all(expected: dict[str, Any], arguments: dict[str, Any]) -> bool:
    """Whether the arguments have all of the expected ones, each with its value."""
    values = Values()
    return all(name in arguments and values.same(value, arguments[name]) for name, value in expected.items())


def answer_differences(rule: FinalText, said: str | None, value: Any) -> Iterator[ArgumentDifference]:
    """The differences of an answer that is not a call: of `said`, its text without white space at its ends, None for no
    answer, or of the `value` of a schema, UNSET for any other answer.
    """
    if said is None:
        yield ArgumentDifference("", "there is no answer in words")
        return
    value = said if value is msgspec.UNSET else value
    values = Values(unordered=rule.unordered, folded=rule.folded)
    if rule.right and not any(values.same(each, value) for each in rule.right):
        yield _of_answer(values, rule.right, value)
    if rule.schema is not None and (fault := schema_fault(rule.schema, value, "the answer")) is not None:
        yield fault
    for part in rule.contains:
        if part not in said:
            yield ArgumentDifference("", f"the answer is {shown(said)}, and does not contain {shown(part)}")
    if rule.pattern is not None and not patterns.found(rule.pattern, said):
        words = f"the answer is {shown(said)}, and does not fit the pattern {shown(rule.pattern)}"
        yield ArgumentDifference("", words)
    if len(said) < rule.least_characters:
        words = f"the answer has {len(said):,} characters, and needs {rule.least_characters}"
        yield ArgumentDifference("", words)


def _of_answer(values: Values, right: tuple[Any, ...], value: Any) -> ArgumentDifference:
    """The difference of a value from the right one, at its place if there is only one."""
    found = values.difference(right[0], value) if len(right) == 1 else None
    if found is not None and found.pointer:
        return found
    return ArgumentDifference("", f"the answer is {shown(value)}, not {alternatives(right)}")


def schema_fault(schema: dict[str, Any], value: Any, whole: str) -> ArgumentDifference | None:
    """The place where the value violates a JSON Schema of draft 2020-12, formats included; None if it is valid.

    `whole` names the value itself. Patterns cannot hang; a schema with a reference that leads nowhere accepts nothing.
    """
    try:
        error = Checker(schema).best_error(value)
    except (RecursionError, ValueError, OverflowError):
        return ArgumentDifference(
            "", f"{whole} cannot be checked: nested too deep, or a number in it is too large"
        )
    except Unresolvable:
        return ArgumentDifference("", f"{whole} cannot be checked: a reference of the schema leads nowhere")
    if error is None:
        return None
    steps = [str(step) for step in error.absolute_path]
    if error.validator == "required" and isinstance(error.instance, dict):
        steps += [name for name in error.validator_value if name not in error.instance][:1]
        return ArgumentDifference(pointer(steps), f"{named(steps)} is missing")
    return ArgumentDifference(pointer(steps), f"{named(steps) if steps else whole} {_broken(error)}")


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


def _none_of(values: Values, any_of: Sequence[Any], made: Any, name: str) -> ArgumentDifference | None:
    if any(values.same(value, made) for value in any_of):
        return None
    if len(any_of) == 1:
        return values.difference(any_of[0], made, (name,))
    words = alternatives(any_of) or "anything"
    return ArgumentDifference(pointer([name]), f"{named([name])} is {shown(made)}, not {words}")
