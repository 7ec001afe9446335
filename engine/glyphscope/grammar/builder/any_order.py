"""Objects with members in any order: those that a schema describes, and those that it lists as values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from glyphscope.grammar import tree
from glyphscope.grammar.builder.context import ToolContext
from glyphscope.grammar.builder.schema import Part, Parts, sizes_of
from glyphscope.grammar.lark.parametric import BITS, bits_needed
from glyphscope.grammar.regular.strings import StringStyle
from glyphscope.registry.keywords import LIMITS


class AnyOrder(NamedTuple):
    """The entry of each property, the names of the required ones, and the entry of a free key (NEVER: none)."""

    named: list[tuple[str, tree.Node]]
    required: set[str]
    free: tree.Node


MAX_LISTED = 20  # objects in a list of values; they may begin alike
MAX_DEPTH = 20  # levels of such a value

_TOO_MANY = f"more than {BITS} properties: which of them were written is a set of {BITS} bits"
_NOT_COUNTED = f"the count goes beyond the {BITS} bits that the members' set leaves"


def any_order(
    context: ToolContext, parts: Parts, members: AnyOrder, separator: tree.Node, *, leading: bool = False
) -> tree.Node | None:
    """The content of the object's braces; None, with a note, if only one order can be enforced.

    With `leading`, it follows another entry. The number of entries is also enforced if the bits suffice.
    """
    low, high = sizes_of(parts, "members")
    entries = [(entry, key in members.required) for key, entry in members.named]
    inside = tree.unordered(entries, separator, members.free, low=low, high=high, leading=leading)
    if not isinstance(inside, tree.Unordered) or bits_needed(inside) <= BITS:
        return inside
    if len(inside.members) > BITS:
        context.note_fixed_order(parts[0], _TOO_MANY)
        return None
    for part in parts:
        for keyword in LIMITS["members"]:
            if keyword in part.schema:
                context.note_unenforced(part, keyword, _NOT_COUNTED)
    return replace(inside, low=0, high=None)


def listed_values(
    context: ToolContext, part: Part, values: list[Any], style: StringStyle | None = None
) -> tree.Node:
    """One of the values, with the members of objects in any order if requested, and strings in the given style."""
    free = [value for value in values if context.order == "any" and _objects(value)]
    if sum(map(_objects, free)) > MAX_LISTED:
        context.note_fixed_order(
            part, f"more than {MAX_LISTED} objects are listed, or they are nested too deeply"
        )
        free = []
    fixed = [value for value in values if not free or not _objects(value)]
    if free and len(values) > 1:
        context.note_unlexed()  # other values may begin alike
    regular: list[tree.Node] = []
    others: list[tree.Node] = []
    for value in fixed:
        node = _plain(context, value, style)
        (regular if _is_regular(node) else others).append(node)
    return tree.alt(
        tree.terminal(tree.alt(*regular)),
        *others,
        *(_constant(context, part, value) for value in free),
    )


def _plain(context: ToolContext, value: Any, style: StringStyle | None) -> tree.Node:
    return style.constant(value) if style and isinstance(value, str) else context.syntax.constant(value)


def _is_regular(node: tree.Node) -> bool:
    """Whether the node may be a part of a lexeme: it contains neither a lexeme nor a token."""
    return all(isinstance(inner, tree.Literal | tree.Seq | tree.Alt) for inner in tree.walk(node))


def _objects(value: Any) -> int:
    """The number of objects in the value whose members could be written in another order."""
    count, deepest, waiting = 0, 0, [(value, 0)]
    while waiting:
        inner, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(inner, dict | list):
            count += isinstance(inner, dict) and len(inner) > 1
            items = inner.values() if isinstance(inner, dict) else inner
            waiting += [(item, depth + 1) for item in items]
    return count + MAX_LISTED if count and deepest > MAX_DEPTH else count


def _constant(context: ToolContext, part: Part, value: Any) -> tree.Node:
    syntax = context.syntax
    whole = syntax.constant(value)
    if whole == tree.NEVER or not _objects(value):
        return whole
    if isinstance(value, list):
        items = [_constant(context, part, item) for item in value]
        return syntax.row(syntax.open_list, items, syntax.close_list)
    entries = [tree.seq(syntax.key(key), _constant(context, part, inner)) for key, inner in value.items()]
    if len(entries) > BITS:
        context.note_fixed_order(part, _TOO_MANY)
        return syntax.row(syntax.open_object, entries, syntax.close_object)
    members = tree.unordered([(entry, True) for entry in entries], syntax.separator)
    return tree.seq(syntax.open_object, members, syntax.close_object)
