"""All constraints of a schema, each with the route through a value to the constrained place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from glyphscope.base.pointer import Path, follow_reference, to_pointer
from glyphscope.grammar.generate.example import matching_text
from glyphscope.grammar.regular.pattern import found
from glyphscope.registry import facts
from glyphscope.registry.keywords import CHOICES, KEYWORDS, OTHERS

MAX_CONSTRAINTS = 5_000
_MAX_PLACES = 20_000
_MAX_STEPS = 12
_ROUTES = 2
"""The maximum number of routes followed to one schema; the first may not exist in any valid value."""

FALSE = "false"
"""In place of a keyword, if the schema is `false`."""


class Location(NamedTuple):
    """A place in a value: the key or index that leads to it, and the schemas that apply there together.

    `chosen` are the keywords (`anyOf`, `oneOf`) of which an alternative is one of the schemas.
    """

    step: str | int | None
    schemas: tuple[Any, ...]
    chosen: frozenset[str] = frozenset()


Route: TypeAlias = tuple[Location, ...]
"""From the whole arguments to a place in them."""


@dataclass(frozen=True)
class PlacedConstraint:
    """`keyword: value` in `schema`, which is at `holder` and applies at the end of `route`.

    `of_name`: it applies to the names of the object's members there. `why_not`: why no value is possible there.
    `choices`: the paths of each `anyOf` and `oneOf` that contains it in an alternative, innermost last.
    """

    holder: Path
    keyword: str
    value: Any
    schema: dict[str, Any]
    route: Route
    of_name: bool = False
    why_not: str = ""
    choices: tuple[Path, ...] = ()

    @property
    def pointer(self) -> str:
        """The JSON Pointer of the keyword in the tool's parameters."""
        return to_pointer(self.holder if self.keyword == FALSE else (*self.holder, self.keyword))

    @property
    def steps(self) -> Path:
        """The place in the arguments."""
        return tuple(location.step for location in self.route if location.step is not None)


@dataclass(frozen=True)
class _Place:
    path: Path
    schema: Any
    route: Route
    of_name: bool = False
    lost: str = ""  # why no value leads here
    choices: tuple[Path, ...] = ()


def constraints(root: dict[str, Any]) -> Iterator[PlacedConstraint]:
    """Each keyword that can reject a value, outermost first, once for each route to it, but at most `_ROUTES` times."""
    waiting = deque([_Place((), root, (Location(None, (root,)),))])
    visits: dict[Path, int] = {}
    for _ in range(_MAX_PLACES):
        if not waiting:
            return
        place = waiting.popleft()
        if visits.get(place.path, 0) >= _ROUTES or len(place.route) > _MAX_STEPS:
            continue
        visits[place.path] = visits.get(place.path, 0) + 1
        if place.schema is False:
            yield _constraint(place, FALSE, False, {})
        if isinstance(place.schema, dict):
            yield from _constraints_of(place)
            waiting.extend(_places_in(root, place))


def _constraints_of(place: _Place) -> Iterator[PlacedConstraint]:
    for keyword, value in place.schema.items():
        if keyword in KEYWORDS and KEYWORDS[keyword].rejects(value):
            yield _constraint(place, keyword, value, place.schema)


def _constraint(place: _Place, keyword: str, value: Any, schema: dict[str, Any]) -> PlacedConstraint:
    return PlacedConstraint(
        place.path, keyword, value, schema, place.route, place.of_name, place.lost, place.choices
    )


def _places_in(root: dict[str, Any], place: _Place) -> Iterator[_Place]:
    schema, here = place.schema, place.route[-1]
    if isinstance(ref := schema.get("$ref"), str) and (target := follow_reference(root, ref)):
        yield replace(place, path=target[0], schema=target[1])
    for index, part in enumerate(schema.get("allOf", ())):
        yield replace(place, path=(*place.path, "allOf", index), schema=part)
    for keyword in CHOICES:
        for index, part in enumerate(schema.get(keyword, ())):
            taken = here._replace(schemas=(*here.schemas, part), chosen=here.chosen | {keyword})
            chosen = replace(place, choices=(*place.choices, (*place.path, keyword)))
            yield _in_place(chosen, (keyword, index), part, taken)
    if "if" in schema:
        for keyword, condition in (("then", (schema["if"],)), ("else", ())):
            if keyword in schema:
                added = (*here.schemas, *condition, schema[keyword])
                yield _in_place(place, (keyword,), schema[keyword], here._replace(schemas=added))
    for name, part in schema.get("dependentSchemas", {}).items():
        added = (*here.schemas, part, {"required": [name]})
        yield _in_place(place, ("dependentSchemas", name), part, here._replace(schemas=added))
    if not place.of_name:
        yield from _members(root, place)
        yield from _items(root, place)


def _in_place(place: _Place, steps: Path, schema: Any, location: Location) -> _Place:
    return replace(place, path=(*place.path, *steps), schema=schema, route=(*place.route[:-1], location))


def _members(root: dict[str, Any], place: _Place) -> Iterator[_Place]:
    schema = place.schema
    named = schema.get("properties", {})
    for name, part in named.items():
        yield _into(root, place, ("properties", name), part, name)
    for pattern, part in schema.get("patternProperties", {}).items():
        name = matching_text(pattern, 1)
        lost = "" if name else "no name is known that the pattern matches"
        yield replace(
            _into(root, place, ("patternProperties", pattern), part, name or "unknown"),
            lost=lost or place.lost,
        )
    for keyword in OTHERS["object"]:
        if isinstance(part := schema.get(keyword), dict):
            free = free_name(merged(root, place.route[-1]))
            yield _into(root, place, (keyword,), part, free)
    if isinstance(part := schema.get("propertyNames"), dict):
        yield replace(place, path=(*place.path, "propertyNames"), schema=part, of_name=True)


def _items(root: dict[str, Any], place: _Place) -> Iterator[_Place]:
    schema = place.schema
    first = schema.get("prefixItems", ())
    for index, part in enumerate(first):
        yield _into(root, place, ("prefixItems", index), part, index)
    for keyword in OTHERS["array"]:
        if isinstance(part := schema.get(keyword), dict):
            yield _into(root, place, (keyword,), part, len(first))


def _into(root: dict[str, Any], place: _Place, steps: Path, schema: Any, step: str | int) -> _Place:
    """The place one step further in the value, with the other schemas that apply to the same member."""
    others = merged(root, place.route[-1])
    if isinstance(step, int):
        other = next((item.schema for item in facts.of_item(facts.Whole(others), step)), None)
    else:
        other = others.get("properties", {}).get(step)
    schemas = (schema,) if other is None or other == schema or schema is False else (schema, other)
    return replace(
        place, path=(*place.path, *steps), schema=schema, route=(*place.route, Location(step, schemas))
    )


def merged(root: dict[str, Any], location: Location) -> dict[str, Any]:
    """All schemas of a location merged, without the keywords of which an alternative was chosen."""
    whole = facts.merged(root, *location.schemas)
    return {keyword: value for keyword, value in whole.items() if keyword not in location.chosen}


def free_name(schema: dict[str, Any]) -> str:
    """A name that matches neither `properties` nor `patternProperties`."""

    def is_free(name: str) -> bool:
        return not facts.is_named(schema, name, lambda pattern: found(pattern, name))

    tried = ("unknown", "extra", "another_one", "x9", "Z", "unknown-1", "0", "ünknown")
    return next(filter(is_free, tried), "unknown" * 9)
