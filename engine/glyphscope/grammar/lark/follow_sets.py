"""The characters that may follow a lexeme anywhere in a grammar: FIRST and FOLLOW (Aho, Sethi, Ullman §4.4).

A set of lexemes is an integer with a bit for each, by its number. `_find_starts` makes FIRST, which lexemes a rule may
begin with, and `_find_follow` FOLLOW, which lexemes may follow a lexeme; `of` translates that to characters.

Rules are read after those that they refer to for FIRST, and before them for FOLLOW, so that only recursive ones are
read more than once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.nullability import may_be_empty
from glyphscope.grammar.patience import check_time
from glyphscope.grammar.traversal import callees_first
from glyphscope.grammar.tree import Grammar, Node, refs

_Start: TypeAlias = tuple[bool, int]
"""Whether a node may be empty, and the lexemes that it may begin with."""


class FollowSets:
    """Made for a grammar whose lexemes are the keys of `characters`, with the characters that each may begin with."""

    def __init__(self, grammar: Grammar, characters: Mapping[Node, Ranges]) -> None:
        self._rules = {name: rule.body for name, rule in grammar.rules.items()}
        self._numbers = {lexeme: number for number, lexeme in enumerate(characters)}
        self._characters = tuple(characters.values())
        # Nodes are known by their identity: hashing them again and again takes the time.
        self._lexemes: dict[int, tuple[bool, int]] = {}
        self._starts: dict[int, _Start] = {}
        self._rule_starts = dict.fromkeys(self._rules, (False, 0))
        order = list(callees_first(self._rules, lambda name: refs(self._rules[name])))
        self._find_starts(order)
        self._follow: dict[int, int] = {}  # the lexemes that may follow a lexeme, both by their numbers
        self._find_follow(grammar.root, order[::-1])
        self._unions: dict[int, Ranges] = {0: ()}

    def of(self, number: int) -> Ranges:
        """The characters that may follow a lexeme, by its number in `characters`."""
        lexemes = self._follow.get(number, 0)
        if lexemes not in self._unions:
            self._unions[lexemes] = chars.union(*{self._characters[other] for other in _bits(lexemes)})
        return self._unions[lexemes]

    def _find_starts(self, order: list[str]) -> None:
        changed = True
        while changed:
            changed = False
            self._starts.clear()
            check_time()
            for name in order:
                start = self._start(self._rules[name])
                if start != self._rule_starts[name]:
                    self._rule_starts[name] = start
                    changed = True  # a recursive rule was read with less

    def _start(self, node: Node) -> _Start:
        if isinstance(node, tree.RuleRef):
            return self._rule_starts[node.name]
        known = self._starts.get(id(node))
        if known is None:
            known = self._starts[id(node)] = self._start_by_parts(node)
        return known

    def _start_by_parts(self, node: Node) -> _Start:
        if isinstance(node, tree.Seq):
            first = 0
            for part in node.parts:
                nullable, begins = self._start(part)
                first |= begins
                if not nullable:
                    return False, first
            return True, first
        if isinstance(node, tree.Alt):
            empty, first = False, 0
            for option in node.options:
                nullable, begins = self._start(option)
                empty, first = empty or nullable, first | begins
            return empty, first
        if isinstance(node, tree.Repeat):
            nullable, first = self._start(node.body)
            return nullable or node.minimum == 0, first
        if isinstance(node, tree.TokenMatch):
            return False, 0
        if isinstance(node, tree.Unordered):
            entries = self._first_of_entries(node)
            return node.least == 0, entries | self._start(node.separator)[1] if node.leading else entries
        nullable, number = self._lexeme(node)
        return nullable, 1 << number

    def _first_of_entries(self, node: tree.Unordered) -> int:
        first = 0
        for entry in (*node.members, node.free):
            first |= self._start(entry)[1]
        return first

    def _lexeme(self, node: Node) -> tuple[bool, int]:
        """Whether a lexeme may be empty, and its number."""
        known = self._lexemes.get(id(node))
        if known is None:
            lexeme = node.body if isinstance(node, tree.Terminal) else node
            known = self._lexemes[id(node)] = may_be_empty(lexeme), self._numbers[lexeme]
        return known

    def _find_follow(self, root: str, order: list[str]) -> None:
        after_rule = {root: 0}
        waiting = {root}

        def walk(node: Node, after: int) -> None:
            if isinstance(node, tree.RuleRef):
                before = after_rule.get(node.name)
                if before is None or after & ~before:
                    after_rule[node.name] = after | (before or 0)
                    waiting.add(node.name)
            elif isinstance(node, tree.Seq):
                for part in reversed(node.parts):
                    walk(part, after)
                    nullable, first = self._start(part)
                    after = after | first if nullable else first
            elif isinstance(node, tree.Alt):
                for option in node.options:
                    walk(option, after)
            elif isinstance(node, tree.Repeat):
                again = node.maximum is None or node.maximum > 1
                walk(node.body, after | self._start(node.body)[1] if again else after)
            elif isinstance(node, tree.Unordered):
                after |= self._start(node.separator)[1]
                for entry in (*node.members, node.free):
                    walk(entry, after)
                walk(node.separator, self._first_of_entries(node))
            elif not isinstance(node, tree.TokenMatch):
                _, number = self._lexeme(node)
                self._follow[number] = self._follow.get(number, 0) | after

        while waiting:
            for name in order:
                if name in waiting:
                    waiting.discard(name)
                    walk(self._rules[name], after_rule[name])


def _bits(number: int) -> list[int]:
    """The places of the bits that are set."""
    places = []
    while number:
        low = number & -number
        places.append(low.bit_length() - 1)
        number ^= low
    return places
