"""Arrays and objects: their items and members in order, each by a separate rule."""

from __future__ import annotations

from glyphscope.grammar.builder.any_order import Members, any_order
from glyphscope.grammar.builder.context import Entries, Impossible, NotationEntries, ToolContext
from glyphscope.grammar.builder.object_keys import ObjectKeys, within
from glyphscope.grammar.builder.schema import Part, Parts, Place, sizes_of
from glyphscope.grammar.schema_order import Listed, ListedMember, after_another, in_order
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
from glyphscope.text.shorten import json_excerpt

_FEW = 16  # members that are written inline in the object's rule; more become a shared rule
_MAX_NAME = 60  # characters of a name in a message
_NOT_COUNTED = "which of the optional properties are there is not counted"


def array_node(context: ToolContext, name: str, parts: Parts) -> Node:
    """An array: the items of `prefixItems`, then those of `items`, `minItems` to `maxItems` in total."""
    low, high = sizes_of(parts, "minItems", "maxItems")
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
        prefix = part.schema.get("prefixItems", ())
        if index < len(prefix):
            places.append(part.at("prefixItems", index))
        elif "items" in part.schema:
            places.append(part.at("items"))
        if "unevaluatedItems" in part.schema and not uncertain_items(part, parts):
            evaluated = any(_evaluates_item(other, part, index) for other in within(part, parts))
            places += () if evaluated else (part.at("unevaluatedItems"),)
    return context.ref(tuple(places), "value", f"{name}-item") if places else context.any_value(parts[0])


def _evaluates_item(other: Part, owner: Part, index: int) -> bool:
    """Whether a part evaluates the item at that index for the `unevaluatedItems` of its owner."""
    schema = other.schema
    if "items" in schema or (other is not owner and "unevaluatedItems" in schema):
        return True
    return index < len(schema.get("prefixItems", ()))


def uncertain_items(owner: Part, parts: Parts) -> list[Part]:
    """The parts of which only the items decide what they evaluate for the `unevaluatedItems` of the owner."""
    inside = within(owner, parts)
    if any("items" in other.schema for other in inside):
        return []
    return [other for other in inside if {"contains", "if"} & other.schema.keys()]


def object_node(context: ToolContext, name: str, parts: Parts) -> Node:
    """An object in braces: its properties in the schema's order, then free keys; all in any order if requested."""
    inside = arguments_node(context, name, parts, NotationEntries(context.syntax))
    return seq(context.syntax.open_object, inside, context.syntax.close_object)


def arguments_node(
    context: ToolContext, name: str, parts: Parts, entries: Entries, *, leading: bool = False
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
    needs_one = bool(members.named) and sizes_of(parts, "minProperties", "maxProperties")[0] == 1
    listed = _listed(entries.separator, members, low, high)._replace(needs_one=needs_one)
    inside = in_order(listed, lambda count, rest: context.book.inner(f"{name}-after-{count}", rest))
    # many members can begin in many ways, and several objects may share them
    return context.book.inner(f"{name}-members", inside) if len(members.named) > _FEW else inside


def _listed(separator: Node, members: Members, low: int, high: int | None) -> Listed:
    """The members in order. If a free key may replace a member, its separator is a separate lexeme: together with the
    key, as in `,"to":`, it would conflict with a free `,"tone":`.
    """
    last = max((i for i, (key, _) in enumerate(members.named) if key in members.required), default=-1)
    mixed = members.free != NEVER and isinstance(separator, Literal)
    named = [
        ListedMember(Terminal(separator) if mixed and i > last else separator, node, key in members.required)
        for i, (key, node) in enumerate(members.named)
    ]
    return Listed(named, members.free, separator, low, high)


def _free_counts(
    context: ToolContext, parts: Parts, members: Members, *, leading: bool
) -> tuple[int, int | None]:
    """The minimum and maximum number of free keys after the members; notes keywords that this does not enforce."""
    low, high = sizes_of(parts, "minProperties", "maxProperties")
    named, required = len(members.named), len(members.required)
    if named == required:
        return max(0, low - named), None if high is None else high - named
    for part in parts:
        least, most = part.schema.get("minProperties", 0), part.schema.get("maxProperties")
        if least > required and (leading or least > 1 or members.free != NEVER):
            context.note_unenforced(part, "minProperties", _NOT_COUNTED)
        if most is not None and (most < named or members.free != NEVER):
            context.note_unenforced(part, "maxProperties", _NOT_COUNTED)
    return 0, None


def _note_unknown(context: ToolContext, parts: Parts, key: str, places: tuple[Place, ...]) -> None:
    """Note a required key that a closed part of the schema does not allow."""
    excluding = context.schema.expand(places) if places else ()
    if isinstance(excluding, str) and excluding.endswith(("/additionalProperties", "/unevaluatedProperties")):
        rule = next((part for part in parts if key in part.schema.get("required", ())), parts[0])
        words = f"{json_excerpt(key, _MAX_NAME)} is required, and {excluding} does not allow it"
        context.impossible.append(Impossible(context.rule, rule.at("required").pointer, words))


def _members(context: ToolContext, name: str, parts: Parts, entries: Entries) -> Members:
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
    return Members(members, keys.required, free)
