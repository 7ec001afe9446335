"""Boundary examples: arguments that break one constraint of a tool's schema and are otherwise valid.

Each example is verified: the schema rejects it (jsonschema, with the validator's patterns and formats), and the same
schema without that one keyword accepts it. So an engine that rejects it enforces that constraint. If no value breaks a
keyword alone (`type` beside an `enum`), an example also breaks others (`only` is False).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from time import thread_time
from typing import Any, NamedTuple

from glyphscope.base.figures import duration
from glyphscope.base.pointer import Path, to_pointer, with_value
from glyphscope.explain.proof.breaking import MAX_LENGTH, BreakingText, broken, with_name
from glyphscope.explain.proof.instances import instances, value_at
from glyphscope.explain.proof.places import FALSE, MAX_CONSTRAINTS, PlacedConstraint, constraints, merged
from glyphscope.grammar.generate.example import example_arguments, example_value
from glyphscope.registry import Tool, making
from glyphscope.registry.keywords import CUSTOM, KEYWORDS, companions
from glyphscope.validation.checker import Checker

_EXAMPLES, _OWN, _ENOUGH = 8, 5, 3
"""The maximum number of examples of a constraint; of examples made from the constraint itself if alternatives share its
place, as the others break its neighbours; and of examples for a slow schema, which then tries no more valid arguments.
"""
_TRIES = 80
"""The number of values tried with the same valid arguments."""
_FROM_NEIGHBOURS, _NEIGHBOURS = 12, 20
"""The number of values tried for each constraint at the same place, and the maximum number of such constraints."""
_BRANCHES = 8
"""The number of alternatives of a `oneOf` that are combined in pairs."""
_CACHED_VERDICTS = 20_000
_SECONDS = 20.0
"""CPU time for one tool, enough for 2,000 constraints; further ones are reported as not tried."""
_NOTHING = object()
_TOO_LONG = f"a text that breaks it has more than {MAX_LENGTH:,} characters; the limit is in the grammar"
_NO_VALUE = "no value was found that breaks it: other constraints may leave it nothing to reject"
_UNREAD = "a grammar of the text of a value is what a mask writes, and no validator judges values by it"


@dataclass(frozen=True)
class Boundary:
    """`arguments` break `keyword`, whose JSON Pointer in the tool's parameters is `pointer`; `valid` do not.

    They differ at `path`; `what` describes how. `only`: no other constraint rejects them. `choices`: the pointers of
    each `anyOf` and `oneOf` that contains the keyword in an alternative, innermost last.
    """

    pointer: str
    keyword: str
    arguments: Any
    valid: Any
    path: Path
    what: str
    only: bool = True
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unreached:
    """A constraint without an example, and the reason."""

    pointer: str
    keyword: str
    why: str


@dataclass
class Boundaries:
    """The result for one tool: every constraint is in one of the two tuples."""

    examples: tuple[Boundary, ...] = ()
    unreached: tuple[Unreached, ...] = ()


def boundary_examples(tool: Tool, *, closed: bool = True) -> Boundaries:
    """The examples of each constraint of the tool's schema.

    `closed`: an argument that the schema does not name breaks `/additionalProperties`, even if that is not written, as
    in a registry that rejects unknown arguments. Results are cached.
    """
    return _examples(json.dumps(tool.parameters), closed)


@lru_cache(maxsize=256)
def _examples(parameters: str, closed: bool) -> Boundaries:
    root = json.loads(parameters)
    return _Finder(making.closed(root) if closed else root).find()


class _Replacement(NamedTuple):
    """The value to put at `path`, and how it breaks the constraint, in words."""

    path: Path
    value: Any
    what: str


@dataclass
class _Found:
    """The examples found for one constraint; `why` explains if there are none, or none that break it alone."""

    keyword: str
    examples: list[Boundary] = field(default_factory=list)
    why: str = ""


class _Finder:
    """Finds the examples of one schema."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._checker = Checker(root)
        self._own = example_arguments(root)
        self._valid: dict[str, bool] = {}  # by arguments as JSON
        self._all: list[PlacedConstraint] = []
        self._by_steps: dict[Path, list[PlacedConstraint]] = {}  # by place in the arguments
        self._hurry = 0.0  # the time after which fewer examples are made

    def find(self) -> Boundaries:
        found: dict[str, _Found] = {}
        for constraint in constraints(self._root):
            if constraint.pointer not in found and len(found) >= MAX_CONSTRAINTS:
                continue
            self._all.append(constraint)
            found.setdefault(constraint.pointer, _Found(constraint.keyword))
            self._by_steps.setdefault(constraint.steps, []).append(constraint)
        until = thread_time() + _SECONDS
        self._hurry = thread_time() + _SECONDS / 10
        for constraint in self._all:
            one = found[constraint.pointer]
            if any(example.only for example in one.examples):
                continue
            if thread_time() > until:
                one.why = one.why or f"the {duration(_SECONDS)} for one tool were over"
                continue
            examples, why = self._break(constraint)
            if not one.examples or any(example.only for example in examples):
                one.examples = examples or one.examples
            one.why = one.why or why
        return Boundaries(
            tuple(example for one in found.values() for example in one.examples),
            tuple(
                Unreached(pointer, one.keyword, one.why) for pointer, one in found.items() if not one.examples
            ),
        )

    def _break(self, constraint: PlacedConstraint) -> tuple[list[Boundary], str]:
        """Examples of the constraint, or the reason why there are none, or none that break it alone."""
        if constraint.why_not:
            return [], constraint.why_not
        # a copy of `tee`'s iterator repeats the arguments made by another copy, without making them again
        (bases,) = itertools.tee(self._bases_of(constraint), 1)
        if next(copy(bases), _NOTHING) is _NOTHING:
            return [], "no valid arguments were found that have a value there"
        relaxed = _relaxed(self._root, constraint)
        without = Checker(relaxed)
        strict: list[Boundary] = []  # break the constraint alone
        weak: list[Boundary] = []
        shared = any(location.chosen for location in constraint.route)
        # a large schema takes milliseconds per value: a few examples of each constraint are better than all of some
        enough = _EXAMPLES if thread_time() < self._hurry else _ENOUGH
        for candidates, most in (
            (self._candidates, min(enough, _OWN) if shared else enough),
            (self._pool, enough),
        ):
            for base in copy(bases):
                if len(strict) >= _ENOUGH and candidates == self._candidates:
                    break  # further valid arguments are longer and would not show more
                for candidate in _distinct(candidates(constraint, base)):
                    if len(strict) >= most:
                        break
                    example = self._example(
                        constraint, base, candidate, lambda a: _valid(without, a, relaxed)
                    )
                    if example is not None:
                        (strict if example.only else weak).append(example)
            if strict and not shared:
                break
        if strict:
            return strict, ""
        return weak[:3], _why_none(constraint)

    def _bases_of(self, constraint: PlacedConstraint) -> Iterator[Any]:
        """Valid arguments with a value at the constraint's place; for the whole arguments, also the tool's example."""
        # no value is possible at the schema `false`
        route = constraint.route[:-1] if constraint.keyword == FALSE else constraint.route
        base = None
        for base in instances(self._root, route, self._is_valid):
            yield base
        if base is None and len(route) == 1 and self._own is not None:
            yield self._own

    def _candidates(self, constraint: PlacedConstraint, base: Any) -> Iterator[_Replacement]:
        """Changes of valid arguments that break the constraint."""
        steps = constraint.steps
        if constraint.keyword == FALSE:
            *_, name = steps
            value = value_at(base, steps[:-1])
            fillers: tuple[Any, ...] = ("text", 1, None, True, [], {})
            for filler in fillers:
                if isinstance(name, str):
                    yield _Replacement(steps[:-1], with_name(value, name, filler), f"{name!r} is there")
                elif isinstance(value, list):
                    yield _Replacement(steps[:-1], [*value[:name], filler], f"item {name} is there")
            return
        value = value_at(base, steps)
        if constraint.of_name:
            names = [name for name in value if isinstance(name, str)] if isinstance(value, dict) else []
            filler = next(iter(value.values()), "text") if names else "text"
            for candidate in broken(
                constraint.keyword, constraint.value, (names or ["name"])[0], constraint.schema
            ):
                if isinstance(candidate.value, str):
                    named = with_name(value, candidate.value, filler)
                    yield _Replacement(steps, named, f"a name, {candidate.what}")
            return
        schema = {**merged(self._root, constraint.route[-1]), **constraint.schema}
        for candidate in self._values(constraint, value, schema):
            yield _Replacement(steps, candidate.value, candidate.what)

    def _values(
        self, constraint: PlacedConstraint, value: Any, schema: dict[str, Any]
    ) -> Iterator[BreakingText]:
        keyword, expected = constraint.keyword, constraint.value
        if keyword == "not":
            for optional in (False, True):
                made = example_value(self._root, {"allOf": [schema, expected]}, optional=optional)
                yield BreakingText(made, "what is excluded")
                inner = example_value(self._root, expected, optional=optional)
                yield BreakingText(inner, "what is excluded")
                if isinstance(value, dict) and isinstance(inner, dict):
                    yield BreakingText({**value, **inner}, "what is excluded")
            if isinstance(expected, dict):
                listed = [*expected.get("enum", ()), *([expected["const"]] if "const" in expected else ())]
                yield from (BreakingText(item, "what is excluded") for item in listed)
        elif KEYWORDS[keyword].choice == "one":
            rest = {name: part for name, part in schema.items() if name != keyword}
            yield from self._two_at_once(expected, rest, value)
        if keyword in ("minContains", "maxContains"):
            item = example_value(self._root, constraint.schema.get("contains", True))
            count = int(expected) + (1 if keyword == "maxContains" else -1)
            yield BreakingText([item] * max(0, min(count, 1000)), "one match off")
        yield from broken(keyword, expected, value, schema)

    def _two_at_once(self, branches: list[Any], rest: dict[str, Any], value: Any) -> Iterator[BreakingText]:
        for first in range(min(len(branches), _BRANCHES)):
            for second in range(first + 1, min(len(branches), _BRANCHES)):
                both = {"allOf": [rest, branches[first], branches[second]]}
                words = f"the alternatives {first} and {second} at once"
                made = [example_value(self._root, both, optional=optional) for optional in (False, True)]
                yield from (BreakingText(one, words) for one in made)
                if isinstance(value, dict) and all(isinstance(one, dict) for one in made):
                    yield from (BreakingText({**value, **one}, words) for one in made)

    def _pool(self, constraint: PlacedConstraint, base: Any) -> Iterator[_Replacement]:
        """Changes that break the other constraints at the place: shared alternatives need each other's values."""
        if constraint.keyword == FALSE or constraint.of_name:
            return
        steps, value = constraint.steps, value_at(base, constraint.steps)
        inner = merged(self._root, constraint.route[-1])
        streams: list[Iterator[BreakingText]] = []
        for other in self._by_steps[steps]:
            if other is not constraint and other.keyword != FALSE and not other.of_name:
                schema = {**inner, **other.schema}
                streams.append(
                    itertools.islice(broken(other.keyword, other.value, value, schema), _FROM_NEIGHBOURS)
                )
        for turn in itertools.zip_longest(*streams[:_NEIGHBOURS]):
            for candidate in turn:
                if candidate is not None:
                    yield _Replacement(steps, candidate.value, candidate.what)

    def _example(
        self,
        constraint: PlacedConstraint,
        base: Any,
        candidate: _Replacement,
        without: Callable[[Any], bool],
    ) -> Boundary | None:
        """The verified example; `without` decides whether the schema without the constraint accepts arguments."""
        steps, value, what = candidate
        arguments = with_value(base, steps, value)
        if self._is_valid(arguments):
            return None
        only = without(arguments)
        if not only and not self._breaks_itself(constraint, value):
            return None
        choices = tuple(map(to_pointer, constraint.choices))
        return Boundary(constraint.pointer, constraint.keyword, arguments, base, steps, what, only, choices)

    def _breaks_itself(self, constraint: PlacedConstraint, value: Any) -> bool:
        """Whether the keyword, together with those it depends on, rejects the value."""
        if constraint.keyword == FALSE or constraint.of_name:
            return False
        keywords = companions(constraint.keyword)
        alone = {k: v for k, v in constraint.schema.items() if k in keywords}
        return not _valid(self._checker, value, alone)

    def _is_valid(self, arguments: Any) -> bool:
        try:
            key = json.dumps(arguments)
        except (TypeError, ValueError, RecursionError):
            return False
        if key not in self._valid:
            if len(self._valid) > _CACHED_VERDICTS:
                self._valid.clear()
            self._valid[key] = _valid(self._checker, arguments, self._root)
        return self._valid[key]


def _valid(checker: Checker, value: Any, schema: Any) -> bool:
    try:
        return checker.valid(value, schema)
    except Exception:  # jsonschema also raises re.error, RecursionError and referencing's errors
        return False


def _distinct(candidates: Iterator[_Replacement]) -> Iterator[_Replacement]:
    """The first `_TRIES` distinct candidates."""
    seen: set[str] = set()
    for candidate in candidates:
        key = repr(candidate[:2])
        if key not in seen:
            seen.add(key)
            yield candidate
        if len(seen) >= _TRIES:
            return


def _relaxed(root: dict[str, Any], constraint: PlacedConstraint) -> Any:
    """A copy of the schema without the constraint, sharing all other parts."""
    if constraint.keyword == FALSE:
        return with_value(root, constraint.holder, True)
    return with_value(root, constraint.holder, making.without(constraint.schema, constraint.keyword))


def _why_none(constraint: PlacedConstraint) -> str:
    """Why no value was found that breaks a constraint."""
    value = constraint.value
    if constraint.keyword == CUSTOM and isinstance(value, str):
        return _UNREAD
    is_long = constraint.keyword == "maxLength" and isinstance(value, int | float) and value >= MAX_LENGTH
    return _TOO_LONG if is_long else _NO_VALUE
