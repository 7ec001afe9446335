"""The facts that schemas give together about one value: which of them apply, types, the range of a number, counts.

A grammar's builder and the validator combine schemas in their own ways, and read the same facts of a combination here.
Numbers are exact: 0.1 is one tenth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import gcd, lcm
from typing import Any, NamedTuple, Protocol

from glyphscope.base.pointer import Path, follow_reference, step_of, to_pointer
from glyphscope.registry.keywords import (
    ABOUT,
    ANY_TYPE,
    IN_PLACE,
    KEYWORDS,
    LIMITS,
    OTHERS,
    PATTERNS,
    TYPES,
    Measure,
    children,
    type_names,
)


class Placed(Protocol):
    """A schema with its JSON Pointer."""

    @property
    def pointer(self) -> str: ...
    @property
    def schema(self) -> Any: ...


class Whole(NamedTuple):
    """A schema by itself."""

    schema: Any
    pointer: str = ""


def exact(value: int | float) -> Fraction:
    """The number that the shortest decimal form of `value` denotes: 0.1 is one tenth."""
    return Fraction(value) if isinstance(value, int) else Fraction(Decimal(repr(value)))


def common_step(a: Fraction, b: Fraction) -> Fraction:
    """The least common multiple of two steps; 0 stands for no step."""
    if not a or not b:
        return a or b
    return Fraction(lcm(a.numerator, b.numerator), gcd(a.denominator, b.denominator))


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds (None: no bound), multiples of `step` (0: all).

    `*_rule` are the JSON Pointers of the keywords that set them; ranges are equal if they have the same numbers.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False
    step: Fraction = Fraction(0)
    low_rule: str = field(default="", compare=False)
    high_rule: str = field(default="", compare=False)
    step_rule: str = field(default="", compare=False)

    @property
    def unbounded(self) -> bool:
        return self.low is None and self.high is None and not self.step

    def above(self, low: Fraction, is_open: bool, rule: str = "") -> Range:
        """The part of the range from `low` upwards; `self` if that is not narrower."""
        if self.low is None or low > self.low or (low == self.low and is_open):
            return replace(self, low=low, low_open=is_open, low_rule=rule)
        return self

    def below(self, high: Fraction, is_open: bool, rule: str = "") -> Range:
        """The part of the range up to `high`; `self` if that is not narrower."""
        if self.high is None or high < self.high or (high == self.high and is_open):
            return replace(self, high=high, high_open=is_open, high_rule=rule)
        return self

    def mirrored(self) -> Range:
        """The range of the negated numbers."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Range(low, high, self.high_open, self.low_open, self.step)

    def contains(self, value: Fraction) -> bool:
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        if self.high is not None and (value > self.high or (self.high_open and value == self.high)):
            return False
        return not self.step or (value / self.step).denominator == 1


EVERY_NUMBER = Range()


class Count(NamedTuple):
    """The least and the most characters, items or members (None: any number), and the pointers of the keywords."""

    least: int = 0
    most: int | None = None
    least_rule: str = ""
    most_rule: str = ""


ANY_COUNT = Count()


class Types(NamedTuple):
    """Types of values, with `integer` for whole numbers, and the pointer of the first keyword that narrows them."""

    names: frozenset[str] = frozenset(TYPES)
    rule: str = ""


class Listed(NamedTuple):
    """The values that a keyword lists."""

    keyword: str
    values: list[Any]


class Accepted(NamedTuple):
    """The types of which a schema accepts every value, and those of which it accepts only some, or perhaps none.

    Integers are not numbers here: if only `integer` is in one of them, the other numbers are not.
    """

    whole: frozenset[str]
    partly: frozenset[str]


def accepted(schema: Any) -> Accepted:
    """The types that a schema accepts, by `type` and the keywords of single types: `minLength` alone accepts every
    number. So `not` rejects all of them, and a value under a `not` of it is a string.
    """
    if not isinstance(schema, dict):
        return Accepted(frozenset(TYPES if schema is True else ()), frozenset())
    types = type_names(schema.get("type"))
    if schema.keys() & ANY_TYPE:
        return Accepted(frozenset(), types)
    limited = _meant(schema.keys())
    return Accepted(types - limited, types & limited)


def _meant(keywords: Set[str]) -> frozenset[str]:
    """The types that keywords of single types are about."""
    return type_names([kind for kind, about in ABOUT.items() if about & keywords])


def forbidden_key(rejected: Any) -> str | None:
    """The one property that a `not` of `rejected` forbids in objects; None if it forbids something else."""
    if not isinstance(rejected, dict) or rejected.keys() & ANY_TYPE:
        return None
    limits = rejected.keys() & ABOUT["object"]
    if limits != {"required"} or "object" not in type_names(rejected.get("type")):
        return None
    return rejected["required"][0] if len(rejected["required"]) == 1 else None


def applied(root: Any, *given: Placed) -> Iterator[Placed]:
    """The given schemas with those that `$ref` and `allOf` add to them, each once.

    In the order in which a grammar writes their properties: first the schema, then `$ref`, then `allOf`.

    A reference that leads out of `root` gives its own pointer, and None in place of a schema.
    """
    seen: set[str] = set()
    waiting = [*reversed(given)]
    while waiting:
        at = waiting.pop()
        schema, pointer = at.schema, at.pointer
        if pointer in seen:
            continue
        seen.add(pointer)
        yield at
        if not isinstance(schema, dict):
            continue
        if "allOf" in schema:
            parts = [Whole(part, f"{pointer}/allOf/{index}") for index, part in enumerate(schema["allOf"])]
            waiting += reversed(parts)
        if isinstance(reference := schema.get("$ref"), str):
            target = follow_reference(root, reference) if reference.startswith("#") else None
            waiting.append(
                Whole(None, f"{pointer}/$ref") if target is None else Whole(target[1], to_pointer(target[0]))
            )


_MAX_MERGED = 24
"""Schemas that are merged into one."""


def merged(root: Any, *schemas: Any) -> dict[str, Any]:
    """Schemas that apply together, with their `$ref` and `allOf`, as one schema, as far as keywords can express it."""
    result: dict[str, Any] = {}
    given = (Whole(schema, f"schema {index}") for index, schema in enumerate(schemas))
    for at in islice(applied(root, *given), _MAX_MERGED):
        for keyword, value in at.schema.items() if isinstance(at.schema, dict) else ():
            if keyword in result and keyword in KEYWORDS and result[keyword] != value:
                value = KEYWORDS[keyword].both(result[keyword], value)
            if keyword not in ("$ref", "allOf"):
                result[keyword] = value
    return result


_OF_VALUES = tuple(keyword for keyword in KEYWORDS.values() if keyword.bounds == "value")


def types_of(placed: Iterable[Placed]) -> Types:
    """The types that `type` and `not` leave."""
    names, rule = Types()
    for at in placed:
        if "type" in at.schema:
            names &= type_names(at.schema["type"])
            rule = rule or f"{at.pointer}/type"
        if "not" in at.schema and (rejected := accepted(at.schema["not"]).whole):
            names -= rejected
            rule = rule or f"{at.pointer}/not"
    return Types(names, rule)


def written_types(placed: Sequence[Placed]) -> frozenset[str]:
    """The types that a grammar writes: those that `type` and `not` leave; without `type`, of these the types that other
    keywords are about, if there are any.
    """
    names = types_of(placed).names
    if any("type" in at.schema for at in placed):
        return names
    return names & (_meant(set[str]().union(*(at.schema for at in placed))) or frozenset(TYPES))


def range_of(placed: Iterable[Placed]) -> Range:
    """The numbers that bounds and steps leave."""
    span = EVERY_NUMBER
    for at in placed:
        for keyword in _OF_VALUES:
            limit = at.schema.get(keyword.name)
            if limit is not None and abs(limit) != math.inf:
                narrowed = span.above if keyword.side < 0 else span.below
                span = narrowed(exact(limit), keyword.excluded, f"{at.pointer}/{keyword.name}")
        if "multipleOf" in at.schema:
            step = common_step(span.step, exact(at.schema["multipleOf"]))
            span = replace(span, step=step, step_rule=f"{at.pointer}/multipleOf")
    return span


def count_of(placed: Iterable[Placed], measure: Measure) -> Count:
    """The tightest bounds of a length or a count."""
    least_name, most_name = LIMITS[measure]
    count = ANY_COUNT
    for at in placed:
        if least_name in at.schema and (least := math.ceil(at.schema[least_name])) > count.least:
            count = count._replace(least=least, least_rule=f"{at.pointer}/{least_name}")
        if most_name in at.schema:
            most = math.floor(at.schema[most_name])
            if count.most is None or most < count.most:
                count = count._replace(most=most, most_rule=f"{at.pointer}/{most_name}")
    return count


def patterns_of(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The regular expressions that a schema requires of texts, by keyword."""
    for name, pattern in PATTERNS.items():
        if isinstance(given := schema.get(name), str):
            yield name, pattern(given)


def is_named(schema: Any, name: str | None, matches: Callable[[str], bool | None]) -> bool:
    """Whether `properties` or `patternProperties` certainly name a member (None: one that no property names), by the
    patterns that its name `matches` (None: perhaps).
    """
    if name is not None and name in schema.get("properties", ()):
        return True
    return any(matches(pattern) for pattern in schema.get("patternProperties", ()))


def of_member(
    at: Placed, name: str | None = None, matches: Callable[[str], bool | None] = lambda pattern: False
) -> Iterator[Whole]:
    """The schemas that a schema has for a member, as `is_named` describes it, without those of unevaluated ones."""
    schema = at.schema
    if name is not None and name in (properties := schema.get("properties", ())):
        yield Whole(properties[name], f"{at.pointer}/properties/{step_of(name)}")
    for pattern, inner in schema.get("patternProperties", {}).items():
        if matches(pattern) is not False:
            yield Whole(inner, f"{at.pointer}/patternProperties/{step_of(pattern)}")
    if "additionalProperties" in schema and not is_named(schema, name, matches):
        yield Whole(schema["additionalProperties"], f"{at.pointer}/additionalProperties")


def implicit(schema: Any, *, whole: bool) -> tuple[str, ...]:
    """The keywords that constrain a schema even if it does not have them: an object that names properties, and the
    arguments as a `whole`, have no other members unless it allows them.
    """
    return OTHERS["object"][:1] if whole or "properties" in schema else ()


def of_item(at: Placed, index: int) -> Iterator[Whole]:
    """The schema that a schema has for the item at that index, if any, but for unevaluated ones."""
    first = at.schema.get("prefixItems", ())
    if index < len(first):
        yield Whole(first[index], f"{at.pointer}/prefixItems/{index}")
    elif "items" in at.schema:
        yield Whole(at.schema["items"], f"{at.pointer}/items")


def in_place(root: Any, at: Placed) -> Iterator[tuple[Path, Whole]]:
    """The schemas that apply, or may apply, to the same value because of a schema, each with the steps to it: that of
    its `$ref`, and those inside it.
    """
    reference = at.schema.get("$ref")
    target = follow_reference(root, reference) if isinstance(reference, str) else None
    if target is not None:
        yield ("$ref",), Whole(target[1], to_pointer(target[0]))
    for steps, inner in children(at.schema):
        if steps[0] in IN_PLACE:
            yield steps, Whole(inner, at.pointer + to_pointer(steps))


def listed(schema: Any) -> Listed | None:
    """The values that `const` or `enum` lists."""
    if "const" in schema:
        return Listed("const", [schema["const"]])
    return Listed("enum", schema["enum"]) if "enum" in schema else None
