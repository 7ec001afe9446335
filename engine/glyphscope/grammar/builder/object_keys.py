"""The keys of an object: those that its schema names, and the languages of the others, with the schemas of the values.

A free key is one that no schema names. Which schemas its value satisfies depends on the patterns that it matches
(`patternProperties`), so free keys are divided into languages by these patterns. `propertyNames` with a list of names
makes them named keys; otherwise it limits the free ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from glyphscope.grammar.builder.context import ToolContext
from glyphscope.grammar.builder.schema import Part, Parts, Place, names_of, sizes_of, types_of
from glyphscope.grammar.notation_syntax import KeyLanguage
from glyphscope.grammar.regular.formats import written_format
from glyphscope.grammar.regular.pattern import found
from glyphscope.grammar.regular.regex import PatternNotEnforced, pattern_node
from glyphscope.grammar.regular.strings import CHARACTER
from glyphscope.grammar.tree import Literal, Node, alt, repeat
from glyphscope.registry.keywords import forbidden_key

MAX_NAMED = 256
"""Names that `propertyNames` lists and that become named keys; a longer list is a language of free keys."""
_MAX_COMBINED = 3
"""Patterns of which a key may match several; with more of them, free keys that match two are not written."""

_UNLISTED = ("not", "anyOf", "oneOf", "if", "$dynamicRef")


class FreeKeys(NamedTuple):
    """Free keys of one language, and the schemas that their values satisfy."""

    keys: KeyLanguage
    places: tuple[Place, ...]


@dataclass
class ObjectKeys:
    """The keys of an object that satisfies all `parts`. `names`: the named keys in order; `forbidden`: those of them
    that never come; `free`: the languages of the others.
    """

    context: ToolContext
    parts: Parts
    names: list[str] = field(init=False)
    required: set[str] = field(init=False)
    forbidden: set[str] = field(init=False)
    free: list[FreeKeys] = field(init=False)

    def __post_init__(self) -> None:
        self._within = {
            part.place.pointer: within(part, self.parts)
            for part in self.parts
            if "unevaluatedProperties" in part.schema
        }
        self.names, self.required = names_of(self.parts)
        keys = (forbidden_key(part.schema.get("not")) for part in self.parts)
        self.forbidden = {key for key in keys if key is not None}
        limits = [part.at("propertyNames") for part in self.parts if "propertyNames" in part.schema]
        listed = self._listed_names(limits) if limits else None
        self.forbidden |= self._excluded(limits, self.names)
        if listed is not None and len(listed) <= MAX_NAMED:
            known = {*self.names, *self.forbidden}
            self.names += [name for name in listed if name not in known and self._is_free(name)]
            self.free = []
            return
        contents = self._limits(limits) if listed is None else (alt(*map(Literal, listed)),)
        self.free = list(self._languages(contents))

    def places(self, key: str) -> tuple[Place, ...]:
        """The schemas that the value under a named key satisfies."""
        return tuple(self._places(key, lambda pattern: found(pattern, key)))

    # the schemas of a value

    def _places(self, key: str | None, matches: Callable[[str], bool | None]) -> Iterator[Place]:
        """The schemas of the value under a key (None: a free one), by the patterns that it matches (None: perhaps)."""
        for part in self.parts:
            named = key is not None and key in part.schema.get("properties", {})
            if named:
                yield part.at("properties", key or "")
            sure = named
            for pattern in part.schema.get("patternProperties", {}):
                matched = matches(pattern)
                if matched is not False:
                    yield part.at("patternProperties", pattern)
                sure = sure or matched is True
            if not sure and "additionalProperties" in part.schema:
                yield part.at("additionalProperties")
            inside = self._within.get(part.place.pointer, ())
            if inside and not any(_evaluates(other, part, key, matches) for other in inside):
                yield part.at("unevaluatedProperties")

    # free keys

    def _allowed_explicitly(self, keyword: str) -> bool:
        return any(part.schema.get(keyword, False) is not False for part in self.parts)

    def _unmatched_allowed(self) -> bool:
        """Whether there may be free keys that match no pattern: the schema allows them, or it names no property.

        The arguments of a call always need the explicit permission: other free keys are unknown arguments.
        """
        if self._allowed_explicitly("additionalProperties") or self._allowed_explicitly(
            "unevaluatedProperties"
        ):
            return True
        named = any(part.schema.get("properties") or part.schema.get("required") for part in self.parts)
        top = self.context.closed and self.parts[0].place.pointer == ""
        return not named and not top and not any(schema is not False for schema in self._patterns().values())

    def _patterns(self) -> dict[str, Any]:
        """The patterns, each with a schema; `false` only if all its schemas are."""
        patterns: dict[str, Any] = {}
        for part in self.parts:
            for pattern, schema in part.schema.get("patternProperties", {}).items():
                patterns[pattern] = patterns.get(pattern) or schema
        return patterns

    def _is_free(self, key: str) -> bool:
        """Whether this key may come although no schema names it."""
        matched = any(found(pattern, key) is not False for pattern in self._patterns())
        possible = all(self.context.schema.at(place.pointer) is not False for place in self.places(key))
        return possible and (matched or self._unmatched_allowed())

    def _languages(self, contents: tuple[Node, ...]) -> Iterator[FreeKeys]:
        """The free keys that match all of `contents`, by the patterns that they match."""
        known: dict[str, Node] = {}
        unknown: dict[str, PatternNotEnforced] = {}
        for pattern in self._patterns():
            try:
                known[pattern] = pattern_node(pattern)
            except PatternNotEnforced as reason:
                unknown[pattern] = reason
        named = frozenset((*self.names, *self.forbidden))
        sizes = range(len(known) + 1) if len(known) <= _MAX_COMBINED else range(2)
        for matched in (set(some) for size in sizes for some in combinations(known, size)):
            if not matched and not unknown and not self._unmatched_allowed():
                continue
            places = self._free_places(matched, unknown)
            if places is None:
                continue
            others = [pattern for pattern in known if pattern not in matched]
            matches = (*(known[pattern] for pattern in known if pattern in matched), *contents)
            yield FreeKeys(KeyLanguage(matches, tuple(known[pattern] for pattern in others), named), places)

    def _free_places(
        self, matched: set[str], unknown: dict[str, PatternNotEnforced]
    ) -> tuple[Place, ...] | None:
        """The schemas of free keys that match these patterns, and perhaps the unknown ones; None if there are none."""
        perhaps = self._possible(self._places(None, lambda p: None if p in unknown else p in matched))
        if perhaps is not None or not unknown:
            return perhaps
        # keys that do not match are forbidden, and the grammar cannot exclude them
        for part in self.parts:
            for pattern in part.schema.get("patternProperties", {}).keys() & unknown:
                why = unknown[pattern]
                self.context.note_unenforced(part, "patternProperties", str(why), checked=why.checked)
        return self._possible(self._places(None, lambda p: p in unknown or p in matched))

    def _possible(self, places: Iterator[Place]) -> tuple[Place, ...] | None:
        listed = tuple(places)
        return None if any(self.context.schema.at(place.pointer) is False for place in listed) else listed

    # propertyNames

    def _excluded(self, limits: list[Place], names: list[str]) -> set[str]:
        reasons = self.context.schema.excluded(limits, names)
        return {name for name, why in zip(names, reasons, strict=True) if why is not None}

    def _listed_names(self, limits: list[Place]) -> list[str] | None:
        """The only names that `propertyNames` allows; None if it does not list them."""
        parts = self.context.schema.expand(limits)
        if isinstance(parts, str) or "string" not in types_of_names(parts):
            return []
        listed = _listed(self.context, parts)
        if listed is None:
            return None
        names = list(dict.fromkeys(value for value in listed if isinstance(value, str)))
        excluded = self._excluded(limits, names)
        return [name for name in names if name not in excluded]

    def _limits(self, limits: list[Place]) -> tuple[Node, ...]:
        """The languages that `propertyNames` requires of free keys; notes what they do not enforce."""
        contents: list[Node] = []
        parts = self.context.schema.expand(limits)
        assert not isinstance(parts, str), "then the list of names is empty"
        for part in parts:
            for keyword in part.schema:
                why, checked = "", True
                if keyword == "pattern":
                    try:
                        contents.append(pattern_node(part.schema["pattern"]))
                    except PatternNotEnforced as reason:
                        why, checked = str(reason), reason.checked
                elif keyword == "format":
                    written = written_format(part.schema["format"])
                    contents += () if written.node is None else (written.node,)
                    why, checked = written.why, written.checked
                elif keyword in _UNLISTED:
                    why = f"{keyword} of keys is not enforced"
                if why:
                    self._note_names(why, checked=checked)
        low, high = sizes_of(parts, "minLength", "maxLength")
        if low or high is not None:
            contents.append(repeat(CHARACTER, low, high))
        return tuple(contents)

    def _note_names(self, why: str, *, checked: bool = True) -> None:
        for part in self.parts:
            if "propertyNames" in part.schema:
                self.context.note_unenforced(part, "propertyNames", why, checked=checked)


def types_of_names(parts: Parts) -> set[str]:
    """The types that `type` allows; keywords of other types do not concern names."""
    return types_of(tuple(part for part in parts if "type" in part.schema or "not" in part.schema))


def _listed(context: ToolContext, parts: Parts) -> list[Any] | None:
    """The values of `enum` or `const`, or those of all alternatives; None if there is no such list."""
    for part in parts:
        if "const" in part.schema:
            return [part.schema["const"]]
        if "enum" in part.schema:
            return list(part.schema["enum"])
        for keyword in ("anyOf", "oneOf"):
            branches = [
                context.schema.expand([part.at(keyword, index)])
                for index in range(len(part.schema.get(keyword, ())))
            ]
            lists = [_listed(context, branch) for branch in branches if not isinstance(branch, str)]
            if branches and None not in lists:
                return [value for values in lists for value in values or ()]
    return None


def within(part: Part, parts: Parts) -> tuple[Part, ...]:
    """The part and the parts of the conjunction that apply because of it: their keys are evaluated for it."""
    by_pointer = {other.place.pointer: other for other in parts}
    reached = {part.place.pointer: part}
    waiting = [part]
    while waiting:
        one = waiting.pop()
        for place in in_place(one):
            other = by_pointer.get(place.pointer)
            if other is not None and place.pointer not in reached:
                reached[place.pointer] = other
                waiting.append(other)
    return tuple(reached.values())


def in_place(part: Part) -> Iterator[Place]:
    """The schemas that may apply to the same value because of this one."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from (part.at(keyword, index) for index in range(len(part.schema.get(keyword, ()))))
    if "$ref" in part.schema:
        yield part.target


def _evaluates(other: Part, owner: Part, key: str | None, matches: Callable[[str], bool | None]) -> bool:
    """Whether a part evaluates the key for the `unevaluatedProperties` of its owner."""
    schema = other.schema
    if "additionalProperties" in schema or (other is not owner and "unevaluatedProperties" in schema):
        return True
    named = key is not None and key in schema.get("properties", {})
    return named or any(matches(pattern) is True for pattern in schema.get("patternProperties", {}))
