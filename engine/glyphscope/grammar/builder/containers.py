"""Arrays and objects: their items and members in order, each by a separate rule.

`ObjectKeys` has the keys of an object: those that its schema names, and the languages of the others, with the schemas
of the values. A free key is one that no schema names. Which schemas its value satisfies depends on the patterns that it
matches (`patternProperties`), so free keys are divided into languages by these patterns. `propertyNames` with a list of
names makes them named keys; otherwise it limits the free ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from glyphscope.base.shorten import json_excerpt
from glyphscope.grammar.builder.any_order import AnyOrder, any_order
from glyphscope.grammar.builder.context import Impossible, MemberEntries, NotationEntries, ToolContext
from glyphscope.grammar.builder.schema import Part, Parts, Place, Schema, names_of, sizes_of
from glyphscope.grammar.notation_syntax import KeyLanguage
from glyphscope.grammar.regular.formats import written_format
from glyphscope.grammar.regular.pattern import found
from glyphscope.grammar.regular.regex import PatternNotEnforced, pattern_node
from glyphscope.grammar.regular.strings import CHARACTER
from glyphscope.grammar.schema_order import ListedMember, ListedMembers, after_another, in_order
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    Literal,
    Node,
    Terminal,
    alt,
    optional,
    repeat,
    separated,
    seq,
)
from glyphscope.registry import facts
from glyphscope.registry.keywords import ANY_TYPE, CHOICES, LIMITS, OTHERS

_FEW = 16  # members that are written inline in the object's rule; more become a shared rule
_MAX_NAME = 60  # characters of a name in a message
_NOT_COUNTED = "which of the optional properties are there is not counted"


def array_node(context: ToolContext, name: str, parts: Parts) -> Node:
    """An array: the items of `prefixItems`, then those of `items`, `minItems` to `maxItems` in total."""
    low, high = sizes_of(parts, "items")
    fixed = max((len(part.schema.get("prefixItems", ())) for part in parts), default=0)
    if high is not None and high < low:
        return NEVER
    item = NEVER if high is not None and high <= fixed else _item(context, name, parts, fixed)
    most = None if high is None else max(0, high - fixed)
    tail: Node
    if fixed:
        tail = repeat(seq(context.syntax.separator, item), max(0, low - fixed), most)
    elif most == 0:
        tail = EMPTY
    else:
        tail = separated(item, context.syntax.separator, low, most)
    for index in reversed(range(fixed if high is None else min(fixed, high))):
        separator = context.syntax.separator if index else EMPTY
        one = seq(separator, _item(context, name, parts, index), tail)
        tail = one if index < low else optional(one)
        if index % 8 == 7:  # a separate rule, so that a long tuple is not a deep tree
            tail = context.book.inner(f"{name}-from-{index}", tail)
    return seq(context.syntax.open_list, tail, context.syntax.close_list)


def _item(context: ToolContext, name: str, parts: Parts, index: int) -> Node:
    places = []
    for part in parts:
        places += [Place(item.pointer) for item in facts.of_item(part, index)]
        if "unevaluatedItems" in part.schema and not uncertain_items(context.schema, part, parts):
            inside = context.schema.within(part, parts)
            evaluated = any(_evaluates_item(other, part, index) for other in inside)
            places += () if evaluated else (part.at("unevaluatedItems"),)
    return context.ref(tuple(places), "value", f"{name}-item") if places else context.any_value(parts[0])


def _evaluates_item(other: Part, owner: Part, index: int) -> bool:
    """Whether a part evaluates the item at that index for the `unevaluatedItems` of its owner."""
    return any(facts.of_item(other, index)) or (other is not owner and "unevaluatedItems" in other.schema)


def uncertain_items(schema: Schema, owner: Part, parts: Parts) -> list[Part]:
    """The parts of which only the items decide what they evaluate for the `unevaluatedItems` of the owner."""
    inside = schema.within(owner, parts)
    if any("items" in other.schema for other in inside):
        return []
    return [other for other in inside if {"contains", "if"} & other.schema.keys()]


def object_node(context: ToolContext, name: str, parts: Parts) -> Node:
    """An object in braces: its properties in the schema's order, then free keys; all in any order if requested."""
    inside = arguments_node(context, name, parts, NotationEntries(context.syntax))
    return seq(context.syntax.open_object, inside, context.syntax.close_object)


def arguments_node(
    context: ToolContext, name: str, parts: Parts, entries: MemberEntries, *, leading: bool = False
) -> Node:
    """The content of an object: its members, written by `entries`. With `leading`, it follows another entry."""
    members = _members(context, name, parts, entries)
    if context.order == "any":
        inside = any_order(context, parts, members, entries.separator, leading=leading)
        if inside is not None:
            return inside
    low, high = _free_counts(context, parts, members, leading=leading)
    if high is not None and high < low:
        return NEVER
    if leading:
        return after_another(_listed(entries.separator, members, low, high))
    needs_one = bool(members.named) and sizes_of(parts, "members")[0] == 1
    listed = _listed(entries.separator, members, low, high)._replace(needs_one=needs_one)
    inside = in_order(listed, lambda count, rest: context.book.inner(f"{name}-after-{count}", rest))
    # many members can begin in many ways, and several objects may share them
    return context.book.inner(f"{name}-members", inside) if len(members.named) > _FEW else inside


def _listed(separator: Node, members: AnyOrder, low: int, high: int | None) -> ListedMembers:
    """The members in order. If a free key may replace a member, its separator is a separate lexeme: together with the
    key, as in `,"to":`, it would conflict with a free `,"tone":`.
    """
    last = max((i for i, (key, _) in enumerate(members.named) if key in members.required), default=-1)
    mixed = members.free != NEVER and isinstance(separator, Literal)
    named = [
        ListedMember(Terminal(separator) if mixed and i > last else separator, node, key in members.required)
        for i, (key, node) in enumerate(members.named)
    ]
    return ListedMembers(named, members.free, separator, low, high)


def _free_counts(
    context: ToolContext, parts: Parts, members: AnyOrder, *, leading: bool
) -> tuple[int, int | None]:
    """The minimum and maximum number of free keys after the members; notes keywords that this does not enforce."""
    low, high = sizes_of(parts, "members")
    named, required = len(members.named), len(members.required)
    if named == required:
        return max(0, low - named), None if high is None else high - named
    for part in parts:
        (at_least, at_most), (least, most, *_) = LIMITS["members"], facts.count_of((part,), "members")
        if least > required and (leading or least > 1 or members.free != NEVER):
            context.note_unenforced(part, at_least, _NOT_COUNTED)
        if most is not None and (most < named or members.free != NEVER):
            context.note_unenforced(part, at_most, _NOT_COUNTED)
    return 0, None


def _note_unknown(context: ToolContext, parts: Parts, key: str, places: tuple[Place, ...]) -> None:
    """Note a required key that a closed part of the schema does not allow."""
    excluding = context.schema.expand(places) if places else ()
    if isinstance(excluding, str) and excluding.rpartition("/")[2] in OTHERS["object"]:
        rule = next((part for part in parts if key in part.schema.get("required", ())), parts[0])
        words = f"{json_excerpt(key, _MAX_NAME)} is required, and {excluding} does not allow it"
        context.impossible.append(Impossible(context.rule, rule.at("required").pointer, words))


def _members(context: ToolContext, name: str, parts: Parts, entries: MemberEntries) -> AnyOrder:
    keys = ObjectKeys(context, parts)
    for key in keys.required:
        _note_unknown(context, parts, key, keys.places(key))
    members = [
        (
            key,
            NEVER if key in keys.forbidden else entries.entry(context, name, key, keys.places(key), parts[0]),
        )
        for key in keys.names
    ]
    free = alt(*(entries.free(context, name, *one, parts[0]) for one in keys.free))
    if free != NEVER:
        context.note_unenforced(parts[0], "", "the keys of a free object may repeat")
    return AnyOrder(members, keys.required, free)


MAX_NAMED = 256
"""Names that `propertyNames` lists and that become named keys; a longer list is a language of free keys."""
_MAX_COMBINED = 3
"""Patterns of which a key may match several; with more of them, free keys that match two are not written."""

_UNLISTED = ANY_TYPE - {"$ref", "allOf", "const", "enum"}


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
            part.place.pointer: self.context.schema.within(part, self.parts)
            for part in self.parts
            if "unevaluatedProperties" in part.schema
        }
        self.names, self.required = names_of(self.parts)
        keys = (facts.forbidden_key(part.schema.get("not")) for part in self.parts)
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
            for member in facts.of_member(part, key, matches):
                yield Place(member.pointer)
            inside = self._within.get(part.place.pointer, ())
            if inside and not any(_evaluates(other, part, key, matches) for other in inside):
                yield part.at("unevaluatedProperties")

    # free keys

    def _unmatched_allowed(self) -> bool:
        """Whether there may be free keys that match no pattern: the schema allows them, or it names no property.

        The arguments of a call always need the explicit permission: other free keys are unknown arguments.
        """
        if any(
            part.schema.get(other, False) is not False for part in self.parts for other in OTHERS["object"]
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
        if isinstance(parts, str) or "string" not in facts.types_of(parts).names:
            return []
        listed = _listed_by(self.context, parts)
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
            for _, pattern in facts.patterns_of(part.schema):
                try:
                    contents.append(pattern_node(pattern))
                except PatternNotEnforced as reason:
                    self._note_names(str(reason), checked=reason.checked)
            if "format" in part.schema:
                written = written_format(part.schema["format"])
                contents += () if written.node is None else (written.node,)
                if written.why:
                    self._note_names(written.why, checked=written.checked)
            for keyword in part.schema:
                if keyword in _UNLISTED:
                    self._note_names(f"{keyword} of keys is not enforced")
        low, high = sizes_of(parts, "length")
        if low or high is not None:
            contents.append(repeat(CHARACTER, low, high))
        return tuple(contents)

    def _note_names(self, why: str, *, checked: bool = True) -> None:
        for part in self.parts:
            if "propertyNames" in part.schema:
                self.context.note_unenforced(part, "propertyNames", why, checked=checked)


def _listed_by(context: ToolContext, parts: Parts) -> list[Any] | None:
    """The values of `enum` or `const`, or those of all alternatives; None if there is no such list."""
    for part in parts:
        if (found := facts.listed(part.schema)) is not None:
            return found.values
        for keyword in CHOICES:
            branches = [
                context.schema.expand([part.at(keyword, index)])
                for index in range(len(part.schema.get(keyword, ())))
            ]
            lists = [_listed_by(context, branch) for branch in branches if not isinstance(branch, str)]
            if branches and None not in lists:
                return [value for values in lists for value in values or ()]
    return None


def _evaluates(other: Part, owner: Part, key: str | None, matches: Callable[[str], bool | None]) -> bool:
    """Whether a part evaluates the key for the `unevaluatedProperties` of its owner."""
    unnamed = OTHERS["object"][:1] if other is owner else OTHERS["object"]
    return not other.schema.keys().isdisjoint(unnamed) or facts.is_named(other.schema, key, matches)
