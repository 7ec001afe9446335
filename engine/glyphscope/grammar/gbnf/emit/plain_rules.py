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

from glyphscope.grammar import tree
from glyphscope.grammar.match.nullability import may_be_empty, nullable_rules, productive_rules
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.schema_order import ListedMember, ListedMembers, after_another, in_order

MAX_SETS = 16
"""The maximum number of sets of entries that are spelled out as rules: enough for four properties."""

_NOT_COUNTED = "GBNF counts no members, some of which are optional"


class Plain(NamedTuple):
    """A grammar without `Unordered`, the constraints that it no longer enforces, and the objects with a fixed order."""

    grammar: tree.Grammar
    unenforced: tuple[tree.Unenforced, ...]
    ordered: tuple[tree.Ordered, ...]


def with_plain_orders(grammar: tree.Grammar) -> Plain:
    """The grammar with each `Unordered` as rules; the same grammar if there is none."""
    if not any(_has(rule.body) for rule in grammar.rules.values()):
        return Plain(grammar, (), grammar.ordered)
    return _Writer(grammar).plain()


def _has(body: tree.Node) -> bool:
    return any(isinstance(node, tree.Unordered) for node in tree.walk(body, skip=tree.Terminal))


class _Writer:
    """Replaces each `Unordered` in the rules of a grammar; added rules have the origin of their `_owner`."""

    def __init__(self, grammar: tree.Grammar) -> None:
        self._grammar = grammar
        self._book = RuleBook(grammar.rules)
        self._owner = tree.Rule("", tree.EMPTY)
        self._unenforced: dict[tree.Unenforced, None] = {}
        self._ordered: dict[tree.Ordered, None] = {}

    def plain(self) -> Plain:
        for rule in self._grammar.rules.values():
            if _has(rule.body):
                self._owner = rule
                self._book.add(rule.name, self._node(rule.body), rule.origin)
        grammar = self._grammar
        plain = replace(grammar, rules=self._book.rules)
        return Plain(plain, tuple(self._unenforced), (*grammar.ordered, *self._ordered))

    def _node(self, node: tree.Node) -> tree.Node:
        if isinstance(node, tree.Unordered):
            sets = (node.counted + 1) << len(node.members)
            return self._spelled_out(node) if sets <= MAX_SETS else self._in_order(node)
        return node if isinstance(node, tree.Terminal) else tree.joined(node, map(self._node, node.inner))

    def _rule(self, hint: str, body: tree.Node) -> tree.Node:
        rule = self._book.inner(hint, body)
        if isinstance(rule, tree.RuleRef):
            self._book.add(rule.name, body, self._owner.origin)
        return rule

    def _spelled_out(self, node: tree.Unordered) -> tree.Node:
        entries = [self._node(node.entry(place)) for place in range(len(node.members) + 1)]
        by_entries: dict[tuple[int, int], tree.Node] = {}

        def more(present: int, extra: int) -> tree.Node:
            """The rest after these entries, as a reference to the rule of their set."""
            known = by_entries.get((present, extra))
            if known is not None:
                return known
            places = node.may_come(present, extra)
            if not places:
                return tree.EMPTY
            shown = "".join(str(place + 1) for place in range(len(node.members)) if present >> place & 1)
            name = self._book.reserve(f"{self._owner.name}-with-{shown or 0}{'-more' * extra}")
            by_entries[present, extra] = tree.RuleRef(name)
            further = tree.alt(*(following(place, present, extra) for place in places))
            body = tree.seq(node.separator, further)
            may_end = node.may_end(present, extra)
            self._book.add(name, tree.alt(tree.EMPTY, body) if may_end else body, self._owner.origin)
            return by_entries[present, extra]

        def following(place: int, present: int, extra: int) -> tree.Node:
            return tree.seq(entries[place], more(*node.after(place, present, extra)))

        if node.leading:
            return more(0, 0)
        at_least_one = tree.alt(*(following(place, 0, 0) for place in node.may_come(0, 0)))
        return tree.alt(tree.EMPTY, at_least_one) if node.may_end(0, 0) else at_least_one

    def _in_order(self, node: tree.Unordered) -> tree.Node:
        origin = self._owner.origin or tree.NOWHERE
        needed = node.required.bit_count()
        low, high = 0, None
        one_of_many = node.low == 1 and node.free == tree.NEVER and not node.leading
        if needed == len(node.members):
            low, high = max(0, node.low - needed), None if node.high is None else node.high - needed
        else:
            uncounted = ["minProperties"] * bool(node.low and not one_of_many)
            uncounted += ["maxProperties"] * (node.high is not None)
            self._unenforced.update(dict.fromkeys(origin.unenforced(uncounted, _NOT_COUNTED)))
        why = f"GBNF has no sets: any order of {len(node.members)} properties would be too many rules"
        self._ordered[tree.Ordered(origin.tool, origin.pointer, why)] = None
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


def expansion(body: tree.Node, minimum: int, maximum: int | None) -> int | None:
    """The number of rules that llama.cpp makes of the repetition; None if it would reject the unchanged body."""
    rules = _rules_inside(body, grouped=True)
    count = maximum or minimum or 1
    return None if rules > 1 and rules * min(count, LIMIT) > LIMIT // 2 else rules * count


def _rules_inside(node: tree.Node, *, grouped: bool = False) -> int:
    """The number of rules that llama.cpp makes of a node: one for each group, and for each optional repetition."""
    if isinstance(node, tree.Seq):
        return int(grouped) + sum(
            _rules_inside(part, grouped=isinstance(part, tree.Alt)) for part in node.parts
        )
    if isinstance(node, tree.Alt):
        return 1 + sum(_rules_inside(option) for option in node.options)
    if isinstance(node, tree.Repeat):
        optional = 1 if node.maximum is None else node.maximum - node.minimum
        single = isinstance(node.body, tree.CharClass | tree.Literal | tree.RuleRef)
        return int(grouped) + optional + (0 if single else _rules_inside(node.body, grouped=True))
    return int(not isinstance(node, tree.CharClass | tree.Literal | tree.RuleRef))


def repeated(
    body: tree.Node, minimum: int, maximum: int | None, block: Callable[[tree.Node], tree.Node]
) -> tree.Node:
    """`body` exactly `minimum` to `maximum` times; `block` makes a rule of a body and returns a reference to it."""
    if max(minimum, maximum or 0) <= LIMIT:
        return tree.repeat(body, minimum, maximum)
    if not isinstance(body, tree.CharClass | tree.RuleRef):
        body = block(body)
    thousand = block(tree.repeat(body, BLOCK, BLOCK))
    required = tree.seq(
        repeated(thousand, minimum // BLOCK, minimum // BLOCK, block),
        tree.repeat(body, *[minimum % BLOCK] * 2),
    )
    if maximum is None:
        return tree.seq(required, tree.repeat(body))
    if maximum == minimum:
        return required
    more = maximum - minimum
    if more <= LIMIT:
        return tree.seq(required, tree.repeat(body, 0, more))
    # Up to `blocks` blocks, then single items, at least as many as a block has less 1, so every number can be reached.
    blocks = (more - (BLOCK - 1)) // BLOCK
    return tree.seq(
        required, repeated(thousand, 0, blocks, block), tree.repeat(body, 0, more - blocks * BLOCK)
    )


def without_empty_iterations(grammar: tree.Grammar) -> tree.Grammar:
    """A grammar with the same language, in which no repeated item can be empty; the same grammar if none can."""
    rewriter = _Rewriter(grammar)
    rules = {name: rewriter.rule(rule) for name, rule in grammar.rules.items()}
    if all(rules[name] is rule for name, rule in grammar.rules.items()):
        return grammar
    while rewriter.missing:
        source, name = rewriter.missing.pop()
        rule = grammar.rules[source]
        rules[name] = tree.Rule(name, rewriter.node(rewriter.nonempty(rule.body)), rule.origin)
    added = rules.keys() - grammar.rules.keys()
    return replace(
        grammar, rules=_without(rules, added - productive_rules(replace(grammar, rules=rules), _has_text))
    )


def _without(rules: dict[str, tree.Rule], dead: set[str]) -> dict[str, tree.Rule]:
    """The rules without the `dead` ones, which derive no text: the nonempty parts of rules that are always empty."""
    if not dead:
        return rules

    def living_node(name: str) -> tree.Node:
        return tree.NEVER if name in dead else tree.RuleRef(name)

    return {
        name: tree.Rule(name, tree.replace_refs(rule.body, living_node), rule.origin)
        for name, rule in rules.items()
        if name not in dead
    }


def _has_text(_: tree.Intersect) -> bool:
    """Assume that an intersection has a text; that is decided when it is written."""
    return True


class _Rewriter:
    """Rewrites nodes without repetitions of nullable items, and without the empty text (`nonempty`).

    `missing` are the rules that `nonempty` still needs: the names of the original rule and of the new one.
    """

    def __init__(self, grammar: tree.Grammar) -> None:
        self._grammar = grammar
        self._nullable = nullable_rules(grammar)
        self._nonempty: dict[str, str] = {}
        self.missing: list[tuple[str, str]] = []

    def rule(self, rule: tree.Rule) -> tree.Rule:
        body = self.node(rule.body)
        return rule if body is rule.body else tree.Rule(rule.name, body, rule.origin)

    def node(self, node: tree.Node) -> tree.Node:
        """The node with its repetitions rewritten; the same node if there is nothing to rewrite."""
        if isinstance(node, tree.Repeat) and node.maximum is None and may_be_empty(node.body, self._nullable):
            return tree.repeat(self.node(self.nonempty(node.body)))
        if not isinstance(node, tree.Terminal | tree.Seq | tree.Alt | tree.Repeat):
            return node
        parts = [self.node(part) for part in node.inner]
        return node if all(map(is_, parts, node.inner)) else tree.joined(node, parts)

    def nonempty(self, node: tree.Node) -> tree.Node:
        """The language of the node without the empty text."""
        if not may_be_empty(node, self._nullable):
            return node
        if isinstance(node, tree.RuleRef):
            return tree.RuleRef(self._nonempty_rule(node.name))
        if isinstance(node, tree.Terminal):
            return tree.terminal(self.nonempty(node.body))
        if isinstance(node, tree.Alt):
            return tree.alt(*(self.nonempty(option) for option in node.options))
        if isinstance(node, tree.Seq):
            # the first nonempty part, and whatever follows it
            return tree.alt(
                *(tree.seq(self.nonempty(part), *node.parts[at + 1 :]) for at, part in enumerate(node.parts))
            )
        if isinstance(node, tree.Repeat):
            body = self.nonempty(node.body)
            return tree.NEVER if body == tree.NEVER else tree.repeat(body, 1, node.maximum)
        return tree.NEVER

    def _nonempty_rule(self, name: str) -> str:
        nonempty = self._nonempty.get(name)
        if nonempty is None:
            nonempty = f"{name}-some"
            while nonempty in self._grammar.rules or nonempty in self._nonempty.values():
                nonempty += "-some"
            self._nonempty[name] = nonempty
            self.missing.append((name, nonempty))
        return nonempty
