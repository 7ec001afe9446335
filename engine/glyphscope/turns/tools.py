"""The tools of a request for readers of turns: their names, and the possible types of their arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from glyphscope.notation.scalars import ARRAY, KIND_WORDS, OBJECT, STRING
from glyphscope.registry import ToolRegistry
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import Spec, SpecPlace

_CACHED = 10_000


@dataclass(frozen=True)
class ArgumentTypes:
    """The types of one argument: `kinds` are bits of `notation.scalars`; 0 if the schema does not name it."""

    kinds: int
    places: tuple[tuple[SpecPlace, ...], ...] = ()
    schemas: SchemaSet | None = None

    @property
    def only_string(self) -> bool:
        return self.kinds == STRING

    @property
    def string(self) -> bool:
        """Whether a string is allowed; True if nothing is known."""
        return self.kinds == 0 or bool(self.kinds & STRING)

    @property
    def names(self) -> tuple[str, ...]:
        """The JSON types; none if nothing is known."""
        return tuple(word for kind, word in KIND_WORDS.items() if self.kinds & kind)

    def is_list(self, name: str, item: str) -> bool:
        """Whether members beginning with that name form a list, whose items have the name `item`."""
        return name == item and not (self.kinds & OBJECT and not self.kinds & ARRAY)

    @property
    def list_allowed(self) -> bool:
        """Whether a list is allowed; True if nothing is known."""
        return self.kinds == 0 or bool(self.kinds & ARRAY)

    @property
    def empty(self) -> list[Any] | dict[str, Any] | None:
        """The list or object that an empty text denotes; None if it may be something else."""
        if self.kinds & STRING or bool(self.kinds & ARRAY) == bool(self.kinds & OBJECT):
            return None
        return [] if self.kinds & ARRAY else {}

    def inner(self, step: str | int) -> ArgumentTypes:
        """The types of a member or of an item."""
        if self.schemas is None:
            return _ANY
        specs = [spec for places in self.places for spec in self.schemas.specs(places)]
        return _types_of(self.schemas, specs, step)

    def fits(self, value: Any) -> bool:
        """Whether the schema allows the value."""
        if self.schemas is None:
            return True
        checker = self.schemas.checker
        return any(all(checker.valid(value, place.schema) for place in places) for places in self.places)


_ANY = ArgumentTypes(0)


def _types_of(schemas: SchemaSet, specs: Iterable[Spec], step: str | int) -> ArgumentTypes:
    kinds = 0
    found = []
    for spec in specs:
        places = spec.member(step) if isinstance(step, str) else spec.item(step)
        if not places:
            continue
        found.append(places)
        for each in schemas.specs(places):
            own = each.kinds
            if each.enum is not None and all(isinstance(value, str) for value in each.enum):
                own &= STRING
            kinds |= own
    return ArgumentTypes(kinds, tuple(found), schemas) if found else _ANY


class TurnTools:
    """A registry's tools by name, with the types of their arguments looked up once."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.registry = registry
        self.names = frozenset(tool.name for tool in registry)
        self.longest_first = sorted(self.names, key=len, reverse=True)
        # looked up once per name; the caches are bounded, because a model writes the names
        self.schemas = lru_cache(_CACHED)(self._schemas)
        self.properties = lru_cache(_CACHED)(self._properties)
        self.types = lru_cache(_CACHED)(self._types)

    def _schemas(self, name: str) -> SchemaSet | None:
        """The schemas of a tool's arguments; None for a tool outside the registry."""
        tool = self.registry.get(name)
        return None if tool is None else SchemaSet(tool.parameters, closed=self.registry.is_closed(tool))

    def _properties(self, name: str) -> tuple[str, ...]:
        """The arguments that a tool names, in the schema's order."""
        schemas = self.schemas(name)
        specs = () if schemas is None else schemas.specs((schemas.top,))
        return tuple(dict.fromkeys(n for spec in specs for n in spec.names))

    def _types(self, name: str, argument: str) -> ArgumentTypes:
        """The types of an argument of that tool."""
        schemas = self.schemas(name)
        return _ANY if schemas is None else _types_of(schemas, schemas.specs((schemas.top,)), argument)

    def only_text(self, name: str) -> str:
        """The one string argument of a tool that takes a text and nothing else, such as code; "" for others."""
        names = self.properties(name)
        return names[0] if len(names) == 1 and self.types(name, names[0]).only_string else ""
