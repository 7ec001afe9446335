"""Schemas with hostile changes, as a server may list them: large numbers, slow patterns, deep and wide ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

MAX_BYTES = 60_000
"""Characters of a mutant; larger ones take longer to mutate than to reject."""

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 7, 63, 64, 65, 300, 5_000, 100_000, 2**31, 2**32, 2**63, 2**64, 10**30, -(10**30), 0.1, 1e-9, 1e308,
)  # fmt: skip
COUNTED = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
    "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
PATTERNS = (
    "^(a+)+$", "(a|b)*a(a|b){300}", "^.{0,5000}$", "^(.{1,100}){1,100}$", "(?=a)b", r"(\w+)\1", "a{1000}{1000}",
    "(" * 200 + "a" + ")" * 200, "^([a-z]{2,40}[.]){1,60}$", "[^\\s]*", "\\p{L}{1,2000}", "^$", "(", "[z-a]", "\ud800",
    "^(?:x|(?:y|(?:z|w){1,50}){1,50}){1,50}$", "|".join(f"word{i}" for i in range(800)),
)  # fmt: skip
NAMES = (
    "", '"', "\\", "a b", "\x00", "\x7f", "é" * 40, "\ud83d", "action", "x" * 3_000, "</tool_call>", "{", "$ref",
)  # fmt: skip


def mutated(schema: Any, others: Sequence[Any], rng: random.Random) -> Any:
    """A copy with one to six changes; some of it may come from the other schemas."""
    text = json.dumps(schema)
    for _ in range(rng.choice((1, 1, 2, 3, 4, 6))):
        mutant = json.loads(text)
        places = list(objects_in(mutant))
        if not places:
            break
        schemas = [place for place in places if not _SAYS.isdisjoint(place)]
        places = schemas if schemas and rng.random() < 0.9 else places
        try:
            rng.choice(_CHANGES)(rng.choice(places), mutant, others, rng)
            changed = json.dumps(mutant)
        except RecursionError:  # deeper than any JSON parser reads
            continue
        if len(changed) <= MAX_BYTES:
            text = changed
    return json.loads(text)


_SAYS = {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "properties"}


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """The objects in the document; most of them are schemas."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _number(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    place[rng.choice(COUNTED)] = rng.choice(NUMBERS)


def _pattern(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    if rng.random() < 0.7:
        place |= {"type": "string", "pattern": rng.choice(PATTERNS)}
    else:
        place.setdefault("patternProperties", {})[rng.choice(PATTERNS)] = {"type": "integer"}


def _spliced(place: dict[str, Any], mutant: Any, others: Sequence[Any], rng: random.Random) -> None:
    source = list(objects_in(rng.choice((mutant, rng.choice(others)))))
    taken = json.dumps(rng.choice(source) if source else {})
    if len(taken) < 100_000:
        place[rng.choice(("items", "additionalProperties", "not", "if", "contains", "propertyNames"))] = (
            json.loads(taken)
        )


def _deeper(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    inner = dict(place)
    for _ in range(rng.choice((3, 20, 120, 250))):
        inner = rng.choice(
            (
                {"type": "object", "properties": {"a": inner}, "required": ["a"]},
                {"type": "array", "items": inner},
                {"anyOf": [inner, {"type": "null"}]},
                {"allOf": [inner]},
            )
        )
    place.clear()
    place |= inner


def _wider(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    count = rng.choice((10, 10, 70, 70, 300, 600))
    like = {key: value for key, value in place.items() if key != "properties"} if rng.random() < 0.3 else {}
    if len(json.dumps(like)) * count > 100_000:
        like = {}
    properties = {
        f"p{i}": like or {"type": rng.choice(("string", "integer", "boolean"))} for i in range(count)
    }
    place.setdefault("type", "object")
    place["properties"] = properties
    place["required"] = rng.sample(sorted(properties), rng.choice((0, 1, count // 2)))


def _listed(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    count = rng.choice((1, 30, 30, 1_000, 3_000))
    values: tuple[Callable[[int], Any], ...] = (
        lambda i: f"value {i}",
        lambda i: i,
        lambda i: {"k": i, "l": [i]},
    )
    made = rng.choice(values)
    place["enum"] = [made(i) for i in range(count)]


def _recursive(place: dict[str, Any], mutant: Any, _others: Sequence[Any], rng: random.Random) -> None:
    pointers = ["#"]
    if isinstance(mutant, dict):
        pointers += [
            f"#/{part}/{key}".replace("~", "~0")
            for part in ("properties", "definitions", "$defs")
            if isinstance(mutant.get(part), dict)
            for key in mutant[part]
        ]
    for name in rng.choice((("a",), ("a", "b", "c"), tuple(f"q{i}" for i in range(60)))):
        place.setdefault("properties", {})[name] = {"$ref": rng.choice(pointers)}


def _multiplied(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    one = {"anyOf": [{rng.choice(COUNTED): i} for i in range(rng.choice((2, 6, 12)))]}
    place[rng.choice(("allOf", "anyOf", "oneOf"))] = [one] * rng.choice((2, 4, 6))


def _renamed(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    if place:
        key = rng.choice(sorted(place))
        place[rng.choice(NAMES)] = place.pop(key)


def _retyped(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    place["type"] = rng.choice(
        ("object", "array", "string", "number", "null", ["string", "object"], 3, "no type")
    )


_CHANGES: tuple[Callable[..., None], ...] = (
    _number, _number, _pattern, _spliced, _deeper, _wider, _listed, _recursive, _multiplied, _renamed, _retyped,
)  # fmt: skip
