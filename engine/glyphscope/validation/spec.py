"""One alternative of a place in a schema, prepared for checking a value while it is written.

A `Spec` is a conjunction: the merged constraints on one value by its schema, its `$ref`, its `allOf` and one branch of
its `anyOf`. A place with alternatives has several Specs; a value is impossible when none of them is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from glyphscope.events import Code
from glyphscope.grammar.regular import pattern
from glyphscope.grammar.regular.pattern import StringLanguage
from glyphscope.grammar.regular.regex import unreadable
from glyphscope.grammar.tree import Grammar
from glyphscope.notation.scalars import ANY_KIND, NUMBER, SCALAR, STRING
from glyphscope.registry.facts import ANY_COUNT, EVERY_NUMBER, Count, Range


class SpecPlace:
    """A schema with its JSON Pointer. Places are interned: the same place is the same object."""

    __slots__ = ("pointer", "schema")

    def __init__(self, schema: Any, pointer: str) -> None:
        self.schema = schema
        self.pointer = pointer


class Deferred(NamedTuple):
    """A keyword that is judged when the value is complete, by jsonschema against `fragment`; `rule` is its pointer."""

    fragment: Any
    rule: str
    code: Code
    message: str


class StringPattern(NamedTuple):
    """A `pattern`, or the `format` named `name`; `linear`: it is checked while the string streams in."""

    source: str
    rule: str
    name: str
    linear: bool


class StringTexts(NamedTuple):
    """The grammar of a custom tool's text, which is not empty; `rule` is the pointer of its keyword."""

    grammar: Grammar
    rule: str


@dataclass(frozen=True)
class ObjectPart:
    """The constraints of one schema object, at `pointer`, on members."""

    properties: dict[str, SpecPlace]
    patterns: tuple[tuple[str, SpecPlace], ...]
    additional: SpecPlace | None  # None: other members are not constrained
    unevaluated: bool  # `unevaluatedProperties` is present and does not simply forbid them
    pointer: str


@dataclass(frozen=True)
class ArrayPart:
    """The constraints of one schema object, at `pointer`, on items."""

    prefix: tuple[SpecPlace, ...]
    items: SpecPlace | None  # None: the items after the prefix are not constrained
    pointer: str


@dataclass(frozen=True, eq=False)
class Spec:
    """The merged constraints of one alternative. `*_rule` are the JSON Pointers of their keywords, or ""."""

    kinds: int = ANY_KIND  # bits of `notation.scalars`
    kinds_rule: str = ""
    enum: tuple[Any, ...] | None = None
    enum_rule: str = ""
    # numbers
    span: Range = EVERY_NUMBER
    # strings
    length: Count = ANY_COUNT
    patterns: tuple[StringPattern, ...] = ()
    texts: tuple[StringTexts, ...] = ()
    # objects
    objects: tuple[ObjectPart, ...] = ()
    required: dict[str, str] = field(default_factory=dict)  # a member's name to its rule
    members: Count = ANY_COUNT
    member_names: tuple[SpecPlace, ...] = ()  # schemas of the names themselves (`propertyNames`)
    closed: bool = False  # the registry rejects top-level arguments that no keyword names
    # arrays
    arrays: tuple[ArrayPart, ...] = ()
    items: Count = ANY_COUNT
    unique_rule: str = ""
    # of any kind
    deferred: tuple[Deferred, ...] = ()
    _members: dict[str, tuple[SpecPlace, ...] | None] = field(default_factory=dict)  # cache of `member`

    @cached_property
    def free(self) -> int:
        """The kinds of scalar of which every value is valid."""
        kinds = self.kinds & SCALAR if self.enum is None else 0
        if not self.span.unbounded:
            kinds &= ~NUMBER
        if self.patterns or self.texts or self.length != ANY_COUNT or self.deferred:
            kinds &= ~STRING
        return kinds

    # strings

    @cached_property
    def language(self) -> StringLanguage | None:
        """The language for a streaming matcher; None when counting characters is enough."""
        sources = tuple(p.source for p in self.patterns if p.linear)
        return StringLanguage(sources, self.length.least, self.length.most) if sources else None

    @cached_property
    def strings(self) -> tuple[str, ...] | None:
        """The strings of the enumeration, or None without one."""
        return None if self.enum is None else tuple(v for v in self.enum if isinstance(v, str))

    # objects

    def member(self, key: str) -> tuple[SpecPlace, ...] | None:
        """The places that the value under `key` must satisfy, or None if such a member is not allowed."""
        if key not in self._named and not self._matched:
            return self._additional
        if key not in self._members:
            if len(self._members) > 10_000:  # a model writes the keys, so their number is unbounded
                self._members.clear()
            self._members[key] = self._find_member(key)
        return self._members[key]

    @cached_property
    def _named(self) -> dict[str, None]:
        """The names that keywords list, in their order."""
        return dict.fromkeys([*(name for part in self.objects for name in part.properties), *self.required])

    @cached_property
    def _matched(self) -> bool:
        """Whether patterns match the names of members."""
        return any(part.patterns for part in self.objects)

    @cached_property
    def _additional(self) -> tuple[SpecPlace, ...] | None:
        """The places of a member that no keyword names or matches."""
        places = tuple(part.additional for part in self.objects if part.additional is not None)
        return places if self.open_names else None

    def _find_member(self, key: str) -> tuple[SpecPlace, ...] | None:
        places: list[SpecPlace] = []
        named, open_to_all = key in self.required, False
        for part in self.objects:
            mine = [part.properties[key]] if key in part.properties else []
            mine += [place for expression, place in part.patterns if pattern.found(expression, key)]
            if mine or any(unreadable(expression) for expression, _ in part.patterns):
                named = True
            elif part.additional is not None:
                mine = [part.additional]
                open_to_all = True
            open_to_all = open_to_all or part.unevaluated
            places += mine
        if any(place.schema is False for place in places):
            return None
        if self.closed and not named and not open_to_all:
            return None
        return tuple(places)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The member names that the schema lists and does not forbid, in its order."""
        return tuple(name for name in self._named if self.member(name) is not None)

    @cached_property
    def open_names(self) -> bool:
        """Whether members may have names that are neither listed nor match a pattern."""
        if any(part.additional is not None and part.additional.schema is False for part in self.objects):
            return False
        if not self.closed:
            return True
        return any(part.additional is not None or part.unevaluated for part in self.objects)

    @cached_property
    def any_name(self) -> bool:
        """Whether a further member can have any name, however many there are."""
        if not self.open_names or self.member_names or self.members.most is not None:
            return False
        named = [place for part in self.objects for place in part.properties.values()]
        matched = [place for part in self.objects for _, place in part.patterns]
        return all(place.schema is not False for place in named + matched)

    @cached_property
    def name_patterns(self) -> tuple[str, ...]:
        """The patterns that further members' names may match."""
        return tuple(
            expression
            for part in self.objects
            for expression, place in part.patterns
            if place.schema is not False
        )

    # arrays

    def item(self, index: int) -> tuple[SpecPlace, ...] | None:
        """The places that item `index` must satisfy, or None if such an item is not allowed."""
        if self.items.most is not None and index >= self.items.most:
            return None
        return self._items[min(index, len(self._items) - 1)]

    @cached_property
    def _items(self) -> tuple[tuple[SpecPlace, ...] | None, ...]:
        """The places of each item in a prefix, then those of every further item."""
        longest = max((len(part.prefix) for part in self.arrays), default=0)
        return tuple(self._find_item(index) for index in range(longest + 1))

    def _find_item(self, index: int) -> tuple[SpecPlace, ...] | None:
        places = []
        for part in self.arrays:
            if index < len(part.prefix):
                places.append(part.prefix[index])
            elif part.items is not None:
                places.append(part.items)
        return None if any(place.schema is False for place in places) else tuple(places)


ANYTHING = Spec()
