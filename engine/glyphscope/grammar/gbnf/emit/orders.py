"""Entries in any order as plain rules: GBNF has no sets of members.

A few entries become one rule for each set of entries that may already be present (`_spelled_out`). If there are more,
they keep the order in which they are listed (`_in_order`), which is reported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.schema_order import Listed, ListedMember, after_another, in_order
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    NOWHERE,
    Grammar,
    Node,
    Ordered,
    Rule,
    RuleRef,
    Terminal,
    Unenforced,
    Unordered,
    alt,
    joined,
    seq,
    walk,
)  # fmt: skip

MAX_SETS = 16
"""The maximum number of sets of entries that are spelled out as rules: enough for four properties."""

_NOT_COUNTED = "GBNF counts no members, some of which are optional"


class Plain(NamedTuple):
    """A grammar without `Unordered`, the constraints that it no longer enforces, and the objects with a fixed order."""

    grammar: Grammar
    unenforced: tuple[Unenforced, ...]
    ordered: tuple[Ordered, ...]


def with_plain_orders(grammar: Grammar) -> Plain:
    """The grammar with each `Unordered` as rules; the same grammar if there is none."""
    if not any(_has(rule.body) for rule in grammar.rules.values()):
        return Plain(grammar, (), grammar.ordered)
    return _Writer(grammar).plain()


def _has(body: Node) -> bool:
    return any(isinstance(node, Unordered) for node in walk(body, skip=Terminal))


class _Writer:
    """Replaces each `Unordered` in the rules of a grammar; added rules have the origin of their `_owner`."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._book = RuleBook(grammar.rules)
        self._owner = Rule("", EMPTY)
        self._unenforced: dict[Unenforced, None] = {}
        self._ordered: dict[Ordered, None] = {}

    def plain(self) -> Plain:
        for rule in self._grammar.rules.values():
            if _has(rule.body):
                self._owner = rule
                self._book.add(rule.name, self._node(rule.body), rule.origin)
        grammar = self._grammar
        plain = replace(grammar, rules=self._book.rules)
        return Plain(plain, tuple(self._unenforced), (*grammar.ordered, *self._ordered))

    def _node(self, node: Node) -> Node:
        if isinstance(node, Unordered):
            sets = (node.counted + 1) << len(node.members)
            return self._spelled_out(node) if sets <= MAX_SETS else self._in_order(node)
        return node if isinstance(node, Terminal) else joined(node, map(self._node, node.inner))

    def _rule(self, hint: str, body: Node) -> Node:
        rule = self._book.inner(hint, body)
        if isinstance(rule, RuleRef):
            self._book.add(rule.name, body, self._owner.origin)
        return rule

    def _spelled_out(self, node: Unordered) -> Node:
        entries = [self._node(node.entry(place)) for place in range(len(node.members) + 1)]
        by_entries: dict[tuple[int, int], Node] = {}

        def more(present: int, extra: int) -> Node:
            """The rest after these entries, as a reference to the rule of their set."""
            known = by_entries.get((present, extra))
            if known is not None:
                return known
            places = node.may_come(present, extra)
            if not places:
                return EMPTY
            shown = "".join(str(place + 1) for place in range(len(node.members)) if present >> place & 1)
            name = self._book.reserve(f"{self._owner.name}-with-{shown or 0}{'-more' * extra}")
            by_entries[present, extra] = RuleRef(name)
            further = alt(*(following(place, present, extra) for place in places))
            body = seq(node.separator, further)
            may_end = node.may_end(present, extra)
            self._book.add(name, alt(EMPTY, body) if may_end else body, self._owner.origin)
            return by_entries[present, extra]

        def following(place: int, present: int, extra: int) -> Node:
            return seq(entries[place], more(*node.after(place, present, extra)))

        if node.leading:
            return more(0, 0)
        at_least_one = alt(*(following(place, 0, 0) for place in node.may_come(0, 0)))
        return alt(EMPTY, at_least_one) if node.may_end(0, 0) else at_least_one

    def _in_order(self, node: Unordered) -> Node:
        origin = self._owner.origin or NOWHERE
        needed = node.required.bit_count()
        low, high = 0, None
        one_of_many = node.low == 1 and node.free == NEVER and not node.leading
        if needed == len(node.members):
            low, high = max(0, node.low - needed), None if node.high is None else node.high - needed
        else:
            uncounted = ["minProperties"] * bool(node.low and not one_of_many)
            uncounted += ["maxProperties"] * (node.high is not None)
            self._unenforced.update(dict.fromkeys(origin.unenforced(uncounted, _NOT_COUNTED)))
        why = f"GBNF has no sets: any order of {len(node.members)} properties would be too many rules"
        self._ordered[Ordered(origin.tool, origin.pointer, why)] = None
        members = [
            ListedMember(node.separator, self._node(member), bool(node.required >> place & 1))
            for place, member in enumerate(node.members)
        ]
        listed = Listed(members, self._node(node.free), node.separator, low, high, one_of_many)
        if node.leading:
            return after_another(listed)
        return in_order(listed, lambda count, rest: self._rule(f"{self._owner.name}-after-{count}", rest))
