"""Generated JSON Schemas and values: small, full of constraints, mostly satisfiable."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import strategies as st

WORDS = ["a", "b", "ab", "abc", "ba", "t", "x-1", "é", "5", "", 'q"', "a b"]
NAMES = ["a", "ab", "b", "c", "key"]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-30, 130)
    | st.sampled_from([0.5, -2.5, 1.0, 12.25])
    | st.sampled_from(WORDS)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)


def _bounds(draw: st.DrawFn, low: str, high: str, numbers: st.SearchStrategy[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if draw(st.booleans()):
        found[low] = draw(numbers)
    if draw(st.booleans()):
        found[high] = draw(numbers)
    if low in found and high in found and found[low] > found[high]:
        found[low], found[high] = found[high], found[low]
    return found


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": draw(st.sampled_from(["integer", "number"]))}
    low = draw(st.sampled_from(["minimum", "exclusiveMinimum"]))
    high = draw(st.sampled_from(["maximum", "exclusiveMaximum"]))
    schema |= _bounds(draw, low, high, st.integers(-20, 120))
    if draw(st.integers(0, 3)) == 0:
        schema["multipleOf"] = draw(
            st.sampled_from([2, 5, 7] if schema["type"] == "integer" else [1, 0.5, 3])
        )
    return schema


@st.composite
def strings(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if draw(st.booleans()):
        schema |= _bounds(draw, "minLength", "maxLength", st.integers(0, 4))
    if draw(st.integers(0, 2)) == 0:
        schema["pattern"] = draw(
            st.sampled_from(["^a", "b$", "^a+b?$", "[0-9]", "^(ab|ba)$", "^x-", "^(?!b)"])
        )
    if draw(st.integers(0, 8)) == 0:
        schema["format"] = draw(st.sampled_from(["date", "uuid", "ipv4", "unknown-format"]))
    return schema


@cache
def _some_of(*names: str) -> st.SearchStrategy[list[str]]:
    """Made once for the same names: Hypothesis validates a strategy when it is first used."""
    return st.lists(st.sampled_from(names), unique=True)


_names = st.lists(st.sampled_from(NAMES), unique=True, max_size=3)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    @st.composite
    def objects(draw: st.DrawFn) -> dict[str, Any]:
        names = draw(_names)
        schema: dict[str, Any] = {"type": "object", "properties": {name: draw(inner) for name in names}}
        if names and draw(st.booleans()):
            schema["required"] = draw(_some_of(*names))
        extra = draw(st.integers(0, 4))
        if extra == 0:
            schema["additionalProperties"] = False
        elif extra == 1:
            schema["additionalProperties"] = draw(inner)
        elif extra == 2:
            schema["patternProperties"] = {draw(st.sampled_from(["^a", "b"])): draw(inner)}
        if draw(st.integers(0, 5)) == 0:
            schema |= _bounds(draw, "minProperties", "maxProperties", st.integers(0, 3))
        if draw(st.integers(0, 8)) == 0:
            schema["propertyNames"] = draw(
                st.sampled_from([{"maxLength": 1}, {"pattern": "^[ab]"}, {"enum": ["a", "b"]}])
            )
        return schema

    @st.composite
    def arrays(draw: st.DrawFn) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array"}
        if draw(st.booleans()):
            schema["items"] = draw(inner)
        if draw(st.integers(0, 3)) == 0:
            schema["prefixItems"] = draw(st.lists(inner, min_size=1, max_size=2))
        if draw(st.booleans()):
            schema |= _bounds(draw, "minItems", "maxItems", st.integers(0, 3))
        if draw(st.integers(0, 3)) == 0:
            schema["uniqueItems"] = True
        if draw(st.integers(0, 8)) == 0:
            schema["contains"] = draw(inner)
        return schema

    @st.composite
    def combined(draw: st.DrawFn) -> dict[str, Any]:
        keyword = draw(st.sampled_from(["anyOf", "oneOf", "allOf", "not", "if"]))
        if keyword == "not":
            return {"not": draw(inner)}
        if keyword == "if":
            return {"if": draw(inner), "then": draw(inner), "else": draw(inner)}
        return {keyword: draw(st.lists(inner, min_size=1, max_size=3))}

    return objects() | arrays() | combined()


enums = st.lists(values, min_size=1, max_size=4).map(lambda listed: {"enum": listed})
consts = scalars.map(lambda value: {"const": value})
typed = st.lists(
    st.sampled_from(["null", "boolean", "integer", "string"]), unique=True, min_size=1, max_size=3
).map(lambda kinds: {"type": kinds})
schemas = st.recursive(
    numbers() | strings() | enums | consts | typed | st.just({}) | st.just(True), _containers, max_leaves=6
).map(copy.deepcopy)
"""`deepcopy`: hypothesis may return one object twice, and a schema's places are distinguished by identity."""


def in_our_language(value: Any) -> bool:
    """Whether the writers' form of `value` is in the language of calls whatever the schema: without whole floats
    (written 5.0, which is an integer in JSON Schema but not in a call's grammar)."""
    if isinstance(value, float):
        return value != int(value)
    if isinstance(value, list):
        return all(map(in_our_language, value))
    if isinstance(value, dict):
        return all(map(in_our_language, value.values()))
    return True
