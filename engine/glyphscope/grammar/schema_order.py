"""The entries of an object in the schema's order, with separators between the present ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from glyphscope.grammar.tree import EMPTY, NEVER, Node, alt, optional, repeat, separated, seq


class ListedMember(NamedTuple):
    """A member; `before` is the separator before it."""

    before: Node
    node: Node
    required: bool


class ListedMembers(NamedTuple):
    """Members, then `low` to `high` free entries. `needs_one`: at least one entry must be present."""

    members: Sequence[ListedMember]
    free: Node
    separator: Node
    low: int
    high: int | None
    needs_one: bool = False


def in_order(listed: ListedMembers, inner: Callable[[int, Node], Node]) -> Node:
    """The entries with separators between them; `inner(n, rest)` makes a rule of the rest after the first n members."""
    members, free, separator, low, high, needs_one = listed
    first = next((i for i, member in enumerate(members) if member.required), len(members))
    rest = repeat(seq(separator, free), low, high)
    for member in reversed(members[first + 1 :]):
        rest = seq(following(member), rest)
    options: list[Node] = []
    if first < len(members):
        member = members[first]
        options.append(seq(member.node, rest))
        rest = seq(member.before, member.node, rest)
    elif high == 0 or free == NEVER:
        options.append(EMPTY if low == 0 and not needs_one else NEVER)
    else:
        options.append(separated(free, separator, low, high))
    for index in reversed(range(first)):
        member = members[index]
        rest = inner(index + 1, rest)
        options.append(seq(member.node, rest))
        rest = seq(optional(seq(member.before, member.node)), rest)
    return alt(*reversed(options))


def after_another(listed: ListedMembers) -> Node:
    """The entries after another entry, each with a separator before it."""
    named = (following(member) for member in listed.members)
    return seq(*named, repeat(seq(listed.separator, listed.free), listed.low, listed.high))


def following(member: ListedMember) -> Node:
    """A member with its separator, after another entry."""
    whole = seq(member.before, member.node)
    return whole if member.required else optional(whole)
