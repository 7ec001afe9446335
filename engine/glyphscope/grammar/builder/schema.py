"""One tool's schema as places, with references followed, `allOf` merged, and types and sizes read.

A rule of the grammar is made from a *conjunction* of places: all the schemas that its value must satisfy. A place
counts once in a conjunction, so references that lead back to their place terminate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from glyphscope.base.errors import GrammarError
from glyphscope.base.pointer import follow, to_pointer
from glyphscope.grammar.checking import DeepStack, validator_of
from glyphscope.grammar.time_limit import check_time
from glyphscope.registry.facts import Whole, applied, count_of, in_place
from glyphscope.registry.keywords import KEYWORDS, Measure

MAX_SIZE = 1_000_000_000
"""A length, or a number of items, that no value has."""
MAX_COUNTED = 64
"""Alternatives of a `oneOf` of which each listed value is judged; with more, only whether they may overlap."""


class Place(NamedTuple):
    """A JSON Pointer into the schema; `taken`: its choices (`anyOf`, `oneOf`) of which a branch is already selected."""

    pointer: str
    taken: frozenset[str] = frozenset()


class Part(NamedTuple):
    """A place with its schema."""

    place: Place
    schema: dict[str, Any]

    @property
    def pointer(self) -> str:
        return self.place.pointer

    def at(self, *keys: str | int) -> Place:
        """A place inside this one."""
        return Place(join(self.place.pointer, *keys))


Parts: TypeAlias = tuple[Part, ...]


def join(pointer: str, *keys: str | int) -> str:
    """The pointer with further keys, escaped according to RFC 6901."""
    return pointer + to_pointer(keys)


class Schema:
    """The parameters of one tool."""

    def __init__(self, tool: str, root: dict[str, Any]) -> None:
        self.tool = tool
        self.root = root
        self._validator = validator_of(root)
        self._at: dict[str, Any] = {}  # by JSON Pointer

    def at(self, pointer: str) -> Any:
        """The schema at a place. Raises GrammarError if there is none."""
        if pointer in self._at:
            return self._at[pointer]
        target = follow(self.root, pointer)
        if target is None:
            raise GrammarError(f"The schema has no place {pointer!r}.", where=self.tool)
        self._at[pointer] = target[1]
        return target[1]

    def expand(self, places: Sequence[Place]) -> Parts | str:
        """Every schema of the conjunction, with `$ref` and `allOf` followed; the pointer of a `false`, if any."""
        given = {place.pointer: place for place in places}
        parts = []
        for at in applied(self.root, *(Whole(self.at(pointer), pointer) for pointer in given)):
            schema, pointer = at.schema, at.pointer
            if schema is False:
                return pointer
            if schema is None:
                raise GrammarError(
                    f"The reference {self.at(pointer)!r} leads out of the schema.",
                    where=f"{self.tool}: {pointer}",
                    hint="Copy what it refers to into $defs.",
                )
            # with `taken`, so that choices are not offered again
            place = given.get(pointer) or Place(pointer)
            parts.append(Part(place, schema if isinstance(schema, dict) else {}))
        return tuple(parts)

    def within(self, part: Part, parts: Parts) -> tuple[Part, ...]:
        """The part and those of the conjunction that apply because of it: what they evaluate is evaluated for it."""
        by_pointer = {other.pointer: other for other in parts}
        reached = {part.pointer: part}
        waiting = [part]
        while waiting:
            for _, inner in in_place(self.root, waiting.pop()):
                if inner.pointer in by_pointer and inner.pointer not in reached:
                    reached[inner.pointer] = other = by_pointer[inner.pointer]
                    waiting.append(other)
        return tuple(reached.values())

    def excluded(self, places: Sequence[Place], values: Iterable[Any]) -> Iterator[str | None]:
        """The keyword that excludes each constant from the conjunction, by jsonschema; None if none does.

        A branch of a choice is among the places, so the choice itself is not judged again (a `oneOf` is if it is
        small): a thousand alternatives would be read for each of them.
        """
        schemas = [_without_chosen(self.at(place.pointer), place.taken) for place in places]
        validators = [self._validator.evolve(schema=schema) for schema in schemas]
        for value in values:
            check_time()
            with DeepStack():
                error = next((error for one in validators for error in one.iter_errors(value)), None)
            if error is None:
                yield None
            else:
                short = isinstance(error.validator_value, str | int | float)
                yield f"{error.validator} {error.validator_value}" if short else str(error.validator)


def _without_chosen(schema: Any, taken: frozenset[str]) -> Any:
    """The schema without the choices of which a branch is selected."""
    if not taken or not isinstance(schema, dict):
        return schema
    chosen = {
        keyword for keyword in taken
        if KEYWORDS[keyword].choice == "some" or len(schema[keyword]) > MAX_COUNTED
    }  # fmt: skip
    return {key: value for key, value in schema.items() if key not in chosen}


def type_of(value: Any) -> str:
    """The JSON Schema type of a value; integers are not numbers here."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def sizes_of(parts: Parts, measure: Measure) -> tuple[int, int | None]:
    """The least and the most characters, items or members.

    A maximum that no value reaches does not count; with a minimum that no value reaches, the maximum is below it.
    """
    count = count_of(parts, measure)
    maximum = None if count.most is not None and count.most > MAX_SIZE else count.most
    return count.least, maximum if count.least <= MAX_SIZE else 0


def names_of(parts: Parts) -> tuple[list[str], set[str]]:
    """The properties in the order of their first occurrence, and the required ones."""
    names: dict[str, None] = {}
    for part in parts:
        names.update(dict.fromkeys(part.schema.get("properties", ())))
    required = [name for part in parts for name in part.schema.get("required", ())]
    names.update(dict.fromkeys(required))
    return list(names), set(required)
