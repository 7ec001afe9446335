"""Rules that llama.cpp reads without changing the language: entries in any order, and repetitions.

Repetitions are within its limits (`repeated`), and never of an item that can be empty (`without_empty_iterations`).
GBNF has no sets of members (`with_plain_orders`).

A few entries become one rule for each set of entries that may already be present (`_spelled_out`). If there are more,
they keep the order in which they are listed (`_in_order`), which is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import is_
from typing import NamedTuple

from glyphscope.grammar.match.nullability import may_be_empty, nullable_rules, productive_rules
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.schema_order import ListedMember, ListedMembers, after_another, in_order
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    NOWHERE,
    Alt,
    CharClass,
    Grammar,
    Intersect,
    Literal,
    Node,
    Ordered,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    Terminal,
    Unenforced,
    Unordered,
    alt,
    joined,
    repeat,
    replace_refs,
    seq,
    terminal,
    walk,
)  # fmt: skip  # fmt: skip

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
        listed = ListedMembers(members, self._node(node.free), node.separator, low, high, one_of_many)
        if node.leading:
            return after_another(listed)
        return in_order(listed, lambda count, rest: self._rule(f"{self._owner.name}-after-{count}", rest))


LIMIT = 1999
"""The largest bound that is written: llama.cpp rejects a minimum over 2,000 and silently drops a larger maximum."""
BLOCK = 1000
"""Repetitions in each of the rules that replace more than `LIMIT`."""


def expansion(body: Node, minimum: int, maximum: int | None) -> int | None:
    """The number of rules that llama.cpp makes of the repetition; None if it would reject the unchanged body."""
    rules = _rules_inside(body, grouped=True)
    count = maximum or minimum or 1
    return None if rules > 1 and rules * min(count, LIMIT) > LIMIT // 2 else rules * count


def _rules_inside(node: Node, *, grouped: bool = False) -> int:
    """The number of rules that llama.cpp makes of a node: one for each group, and for each optional repetition."""
    if isinstance(node, Seq):
        return int(grouped) + sum(_rules_inside(part, grouped=isinstance(part, Alt)) for part in node.parts)
    if isinstance(node, Alt):
        return 1 + sum(_rules_inside(option) for option in node.options)
    if isinstance(node, Repeat):
        optional = 1 if node.maximum is None else node.maximum - node.minimum
        single = isinstance(node.body, CharClass | Literal | RuleRef)
        return int(grouped) + optional + (0 if single else _rules_inside(node.body, grouped=True))
    return int(not isinstance(node, CharClass | Literal | RuleRef))


def repeated(body: Node, minimum: int, maximum: int | None, block: Callable[[Node], Node]) -> Node:
    """`body` exactly `minimum` to `maximum` times; `block` makes a rule of a body and returns a reference to it."""
    if max(minimum, maximum or 0) <= LIMIT:
        return repeat(body, minimum, maximum)
    if not isinstance(body, CharClass | RuleRef):
        body = block(body)
    thousand = block(repeat(body, BLOCK, BLOCK))
    required = seq(
        repeated(thousand, minimum // BLOCK, minimum // BLOCK, block), repeat(body, *[minimum % BLOCK] * 2)
    )
    if maximum is None:
        return seq(required, repeat(body))
    if maximum == minimum:
        return required
    more = maximum - minimum
    if more <= LIMIT:
        return seq(required, repeat(body, 0, more))
    # Up to `blocks` blocks, then single items, at least as many as a block has less 1, so every number can be reached.
    blocks = (more - (BLOCK - 1)) // BLOCK
    return seq(required, repeated(thousand, 0, blocks, block), repeat(body, 0, more - blocks * BLOCK))


def without_empty_iterations(grammar: Grammar) -> Grammar:
    """A grammar with the same language, in which no repeated item can be empty; the same grammar if none can."""
    rewriter = _Rewriter(grammar)
    rules = {name: rewriter.rule(rule) for name, rule in grammar.rules.items()}
    if all(rules[name] is rule for name, rule in grammar.rules.items()):
        return grammar
    while rewriter.missing:
        source, name = rewriter.missing.pop()
        rule = grammar.rules[source]
        rules[name] = Rule(name, rewriter.node(rewriter.nonempty(rule.body)), rule.origin)
    added = rules.keys() - grammar.rules.keys()
    return replace(
        grammar, rules=_without(rules, added - productive_rules(replace(grammar, rules=rules), _has_text))
    )


def _without(rules: dict[str, Rule], dead: set[str]) -> dict[str, Rule]:
    """The rules without the `dead` ones, which derive no text: the nonempty parts of rules that are always empty."""
    if not dead:
        return rules

    def living_node(name: str) -> Node:
        return NEVER if name in dead else RuleRef(name)

    return {
        name: Rule(name, replace_refs(rule.body, living_node), rule.origin)
        for name, rule in rules.items()
        if name not in dead
    }


def _has_text(_: Intersect) -> bool:
    """Assume that an intersection has a text; that is decided when it is written."""
    return True


class _Rewriter:
    """Rewrites nodes without repetitions of nullable items, and without the empty text (`nonempty`).

    `missing` are the rules that `nonempty` still needs: the names of the original rule and of the new one.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._nullable = nullable_rules(grammar)
        self._nonempty: dict[str, str] = {}
        self.missing: list[tuple[str, str]] = []

    def rule(self, rule: Rule) -> Rule:
        body = self.node(rule.body)
        return rule if body is rule.body else Rule(rule.name, body, rule.origin)

    def node(self, node: Node) -> Node:
        """The node with its repetitions rewritten; the same node if there is nothing to rewrite."""
        if isinstance(node, Repeat) and node.maximum is None and may_be_empty(node.body, self._nullable):
            return repeat(self.node(self.nonempty(node.body)))
        if not isinstance(node, Terminal | Seq | Alt | Repeat):
            return node
        parts = [self.node(part) for part in node.inner]
        return node if all(map(is_, parts, node.inner)) else joined(node, parts)

    def nonempty(self, node: Node) -> Node:
        """The language of the node without the empty text."""
        if not may_be_empty(node, self._nullable):
            return node
        if isinstance(node, RuleRef):
            return RuleRef(self._nonempty_rule(node.name))
        if isinstance(node, Terminal):
            return terminal(self.nonempty(node.body))
        if isinstance(node, Alt):
            return alt(*(self.nonempty(option) for option in node.options))
        if isinstance(node, Seq):
            # the first nonempty part, and whatever follows it
            return alt(
                *(seq(self.nonempty(part), *node.parts[at + 1 :]) for at, part in enumerate(node.parts))
            )
        if isinstance(node, Repeat):
            body = self.nonempty(node.body)
            return NEVER if body == NEVER else repeat(body, 1, node.maximum)
        return NEVER

    def _nonempty_rule(self, name: str) -> str:
        nonempty = self._nonempty.get(name)
        if nonempty is None:
            nonempty = f"{name}-some"
            while nonempty in self._grammar.rules or nonempty in self._nonempty.values():
                nonempty += "-some"
            self._nonempty[name] = nonempty
            self.missing.append((name, nonempty))
        return nonempty
