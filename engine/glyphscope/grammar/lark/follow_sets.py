"""Which characters may follow a lexeme, anywhere in a grammar."""

from __future__ import annotations

from collections.abc import Mapping

from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.nullability import may_be_empty
from glyphscope.grammar.patience import check_time
from glyphscope.grammar.tree import (
    Alt,
    Grammar,
    Node,
    Repeat,
    RuleRef,
    Seq,
    Terminal,
    TokenMatch,
    Unordered,
    refs,
)  # fmt: skip


class FollowSets:
    """FIRST and FOLLOW over lexemes (Aho, Sethi, Ullman §4.4), then over the characters that `firsts` tells of them.

    A set of lexemes is an integer with a bit for each. Rules are read after those they refer to, then the other way
    round, so that only what comes back to itself is read more than once.
    """

    def __init__(self, grammar: Grammar, firsts: Mapping[Node, Ranges]) -> None:
        self._grammar = grammar
        # Nodes are known by their identity: hashing them again and again takes the time.
        self._facts: dict[int, tuple[bool, int]] = {}
        self._numbers = {lexeme: number for number, lexeme in enumerate(firsts)}
        self._firsts = tuple(firsts.values())
        self._leaves: dict[int, tuple[bool, int]] = {}
        self._known: dict[str, tuple[bool, int]] = dict.fromkeys(grammar.rules, (False, 0))
        order = _callees_first(grammar)
        self._begin(order)
        self._after: dict[int, int] = {}
        self._follow(order)
        self._ranges: dict[int, Ranges] = {0: ()}

    def of(self, number: int) -> Ranges:
        """The characters that may follow a lexeme, by its number in `firsts`."""
        after = self._after.get(number, 0)
        found = self._ranges.get(after)
        if found is None:
            inside = (self._firsts[other] for other in _bits(after))
            found = self._ranges[after] = chars.union(*set(inside))
        return found

    def _leaf(self, node: Node) -> tuple[bool, int]:
        """Whether a lexeme may be empty, and its number."""
        known = self._leaves.get(id(node))
        if known is None:
            lexeme = node.body if isinstance(node, Terminal) else node
            known = self._leaves[id(node)] = (may_be_empty(lexeme), self._numbers[lexeme])
        return known

    def _begin(self, order: list[str]) -> None:
        rules, changed = self._grammar.rules, True
        while changed:
            changed = False
            self._facts.clear()
            check_time()
            for name in order:
                facts = self._of(rules[name].body)
                if facts != self._known[name]:
                    # Who was read before, and refers to it, did so in a circle.
                    changed = True
                    self._known[name] = facts

    def _of(self, node: Node) -> tuple[bool, int]:
        """Whether the node may be empty, and the lexemes that it may begin with."""
        if isinstance(node, RuleRef):
            return self._known[node.name]
        known = self._facts.get(id(node))
        if known is None:
            known = self._facts[id(node)] = self._made(node)
        return known

    def _made(self, node: Node) -> tuple[bool, int]:
        if isinstance(node, Seq):
            first = 0
            for part in node.parts:
                nullable, begins = self._of(part)
                first |= begins
                if not nullable:
                    return False, first
            return True, first
        if isinstance(node, Alt):
            empty, first = False, 0
            for option in node.options:
                nullable, begins = self._of(option)
                empty, first = empty or nullable, first | begins
            return empty, first
        if isinstance(node, Repeat):
            nullable, first = self._of(node.body)
            return nullable or node.minimum == 0, first
        if isinstance(node, TokenMatch):
            return False, 0
        if isinstance(node, Unordered):
            entries = self._entries(node)
            return node.least == 0, self._of(node.separator)[1] | entries if node.leading else entries
        nullable, number = self._leaf(node)
        return nullable, 1 << number

    def _entries(self, node: Unordered) -> int:
        """The lexemes that its entries may begin with, and no separator."""
        first = 0
        for entry in (*node.members, node.free):
            first |= self._of(entry)[1]
        return first

    def _follow(self, order: list[str]) -> None:
        follow: dict[str, int] = {self._grammar.root: 0}
        waiting = {self._grammar.root}

        def walk(node: Node, after: int) -> None:
            if isinstance(node, RuleRef):
                before = follow.get(node.name)
                if before is None or after & ~before:
                    follow[node.name] = after | (before or 0)
                    waiting.add(node.name)
            elif isinstance(node, Seq):
                for part in reversed(node.parts):
                    walk(part, after)
                    nullable, first = self._of(part)
                    after = after | first if nullable else first
            elif isinstance(node, Alt):
                for option in node.options:
                    walk(option, after)
            elif isinstance(node, Repeat):
                if node.maximum is None or node.maximum > 1:
                    after |= self._of(node.body)[1]
                walk(node.body, after)
            elif isinstance(node, Unordered):
                after |= self._of(node.separator)[1]
                for entry in (*node.members, node.free):
                    walk(entry, after)
                walk(node.separator, self._entries(node))
            elif not isinstance(node, TokenMatch):
                number = self._leaf(node)[1]
                self._after[number] = self._after.get(number, 0) | after

        while waiting:
            for name in reversed(order):
                if name in waiting:
                    waiting.discard(name)
                    walk(self._grammar.rules[name].body, follow[name])


def _callees_first(grammar: Grammar) -> list[str]:
    order: list[str] = []
    seen: set[str] = set()
    for root in grammar.rules:
        waiting = [(root, False)]
        while waiting:
            name, done = waiting.pop()
            if done:
                order.append(name)
            elif name not in seen:
                seen.add(name)
                waiting.append((name, True))
                waiting += [(other, False) for other in refs(grammar.rules[name].body) if other not in seen]
    return order


def _bits(number: int) -> list[int]:
    found = []
    while number:
        low = number & -number
        found.append(low.bit_length() - 1)
        number ^= low
    return found
