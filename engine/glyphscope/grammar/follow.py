"""Which characters may follow a lexeme, anywhere in a grammar."""

from __future__ import annotations

from collections.abc import Mapping

from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.tree import (
    Alt,
    CharClass,
    Grammar,
    Literal,
    Node,
    Repeat,
    RuleRef,
    Seq,
    Terminal,
    TokenMatch,
    refs,
)  # fmt: skip

_Set = frozenset[int]
_NONE: _Set = frozenset()


class Follows:
    """FIRST and FOLLOW over lexemes (Aho, Sethi, Ullman §4.4), then over the characters that `firsts` tells of them."""

    def __init__(self, grammar: Grammar, firsts: Mapping[Node, Ranges]) -> None:
        self._grammar = (
            grammar  # its nodes are known by their identity: hashing them again and again takes the time
        )
        self._numbers = {lexeme: number for number, lexeme in enumerate(firsts)}
        self._firsts = tuple(firsts.values())
        self._leaves: dict[int, tuple[bool, int]] = {}
        self._nullable: dict[str, bool] = dict.fromkeys(grammar.rules, False)
        self._first: dict[str, _Set] = dict.fromkeys(grammar.rules, _NONE)
        self._begin(grammar)
        self._after: dict[int, set[int]] = {}
        self._follow(grammar)
        self._ranges: dict[int, Ranges] = {}

    def of(self, number: int) -> Ranges:
        """The characters that may follow a lexeme, by its number in `firsts`."""
        found = self._ranges.get(number)
        if found is None:
            after = self._after.get(number, ())
            found = self._ranges[number] = chars.union(*(self._firsts[other] for other in after))
        return found

    def _leaf(self, node: Node) -> tuple[bool, int]:
        """Whether a lexeme may be empty, and its number."""
        known = self._leaves.get(id(node))
        if known is None:
            lexeme = node.body if isinstance(node, Terminal) else node
            known = self._leaves[id(node)] = (_may_be_empty(lexeme), self._numbers[lexeme])
        return known

    def _begin(self, grammar: Grammar) -> None:
        users: dict[str, list[str]] = {name: [] for name in grammar.rules}
        for name, rule in grammar.rules.items():
            for other in set(refs(rule.body)):
                users[other].append(name)
        waiting = list(grammar.rules)
        queued = set(waiting)
        while waiting:
            name = waiting.pop()
            queued.discard(name)
            facts = self._facts(grammar.rules[name].body)
            if facts != (self._nullable[name], self._first[name]):
                self._nullable[name], self._first[name] = facts
                for user in users[name]:
                    if user not in queued:
                        queued.add(user)
                        waiting.append(user)

    def _facts(self, node: Node) -> tuple[bool, _Set]:
        """Whether the node may be empty, and the lexemes that it may begin with."""
        if isinstance(node, RuleRef):
            return self._nullable[node.name], self._first[node.name]
        if isinstance(node, Seq):
            first = _NONE
            for part in node.parts:
                nullable, begins = self._facts(part)
                first |= begins
                if not nullable:
                    return False, first
            return True, first
        if isinstance(node, Alt):
            facts = [self._facts(option) for option in node.options]
            return any(nullable for nullable, _ in facts), frozenset().union(*(begins for _, begins in facts))
        if isinstance(node, Repeat):
            nullable, first = self._facts(node.body)
            return nullable or node.minimum == 0, first
        if isinstance(node, TokenMatch):
            return False, _NONE
        nullable, number = self._leaf(node)
        return nullable, frozenset((number,))

    def _follow(self, grammar: Grammar) -> None:
        follow: dict[str, _Set] = dict.fromkeys(grammar.rules, _NONE)
        waiting = [grammar.root]
        reached = {grammar.root}
        queued = {grammar.root}

        def walk(node: Node, after: _Set) -> None:
            if isinstance(node, RuleRef):
                if node.name not in reached or not after <= follow[node.name]:
                    reached.add(node.name)
                    follow[node.name] |= after
                    if node.name not in queued:
                        queued.add(node.name)
                        waiting.append(node.name)
            elif isinstance(node, Seq):
                for part in reversed(node.parts):
                    walk(part, after)
                    nullable, first = self._facts(part)
                    after = after | first if nullable else first
            elif isinstance(node, Alt):
                for option in node.options:
                    walk(option, after)
            elif isinstance(node, Repeat):
                if node.maximum is None or node.maximum > 1:
                    after = after | self._facts(node.body)[1]
                walk(node.body, after)
            elif not isinstance(node, TokenMatch):
                self._after.setdefault(self._leaf(node)[1], set()).update(after)

        while waiting:
            name = waiting.pop()
            queued.discard(name)
            walk(grammar.rules[name].body, follow[name])


def _may_be_empty(node: Node) -> bool:
    if isinstance(node, Literal):
        return not node.text
    if isinstance(node, CharClass):
        return False
    if isinstance(node, Alt):
        return any(_may_be_empty(option) for option in node.options)
    if isinstance(node, Repeat):
        return node.minimum == 0 or _may_be_empty(node.body)
    parts = getattr(node, "parts", ())
    return all(_may_be_empty(part) for part in parts)
