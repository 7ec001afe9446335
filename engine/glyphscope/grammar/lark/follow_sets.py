"""The characters that may follow a lexeme anywhere in a grammar: FIRST and FOLLOW (Aho, Sethi, Ullman §4.4).

A set of lexemes is an integer with one bit per lexeme number. `_find_first` computes FIRST, the lexemes that a rule may
begin with, and `_find_follow` FOLLOW, the lexemes that may follow a lexeme; `of` translates these to characters.

Rules are read after the rules that they refer to for FIRST, and again only if one of these has changed. For FOLLOW each
rule is read once: a lexeme after one of its parts is in the rule, or follows the rule itself (`_Follows`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TypeAlias

from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.nullability import may_be_empty
from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.traversal import callees_first
from glyphscope.grammar.tree import Grammar, Node

_First: TypeAlias = tuple[bool, int]
"""Whether a node is nullable, and the lexemes with which it may begin."""

_Follows: TypeAlias = dict[str | int, _First]
"""By rule and by lexeme in a rule: whether it may end the rule, and the lexemes that may follow it inside the rule."""


class FollowSets:
    """The FOLLOW sets of a grammar; `characters` maps each lexeme to the characters with which it may begin."""

    def __init__(self, grammar: Grammar, characters: Mapping[Node, Ranges]) -> None:
        self._rules = {name: rule.body for name, rule in grammar.rules.items()}
        self._numbers = {lexeme: number for number, lexeme in enumerate(characters)}
        self._characters = tuple(characters.values())
        # Nodes are keyed by identity: hashing them repeatedly would take most of the time.
        self._lexemes: dict[int, tuple[bool, int]] = {}
        self._first: dict[int, _First] = {}  # of the nodes of the rule that is being read
        self._rule_first = dict.fromkeys(self._rules, (False, 0))
        refs = {name: grammar.rules[name].refs for name in self._rules}
        order = list(callees_first(self._rules, refs.__getitem__))
        users: dict[str, list[str]] = defaultdict(list)
        for name in order:
            for other in refs[name]:
                users[other].append(name)
        self._find_first(order, users)
        self._follow: dict[int, int] = {}  # a lexeme's number to the set of lexemes that may follow
        self._find_follow(grammar.root, order[::-1])
        self._unions: dict[int, Ranges] = {0: ()}

    def of(self, number: int) -> Ranges:
        """The characters that may follow a lexeme, given its number in `characters`."""
        lexemes = self._follow.get(number, 0)
        if lexemes not in self._unions:
            self._unions[lexemes] = chars.union(*{self._characters[other] for other in _bits(lexemes)})
        return self._unions[lexemes]

    def _find_first(self, order: list[str], users: Mapping[str, list[str]]) -> None:
        waiting = set(order)
        while waiting:
            check_time()
            for name in order:
                if name in waiting:
                    waiting.discard(name)
                    self._first.clear()
                    first = self._first_of(self._rules[name])
                    if first != self._rule_first[name]:
                        self._rule_first[name] = first
                        waiting.update(users[name])

    def _first_of(self, node: Node) -> _First:
        if isinstance(node, tree.RuleRef):
            return self._rule_first[node.name]
        known = self._first.get(id(node))
        if known is None:
            known = self._first[id(node)] = self._first_of_parts(node)
        return known

    def _first_of_parts(self, node: Node) -> _First:
        if isinstance(node, tree.Seq):
            first = 0
            for part in node.parts:
                nullable, begins = self._first_of(part)
                first |= begins
                if not nullable:
                    return False, first
            return True, first
        if isinstance(node, tree.Alt):
            empty, first = False, 0
            for option in node.options:
                nullable, begins = self._first_of(option)
                empty, first = empty or nullable, first | begins
            return empty, first
        if isinstance(node, tree.Repeat):
            nullable, first = self._first_of(node.body)
            return nullable or node.minimum == 0, first
        if isinstance(node, tree.TokenMatch):
            return False, 0
        if isinstance(node, tree.Unordered):
            entries = self._first_of_entries(node)
            return node.least == 0, entries | self._first_of(node.separator)[1] if node.leading else entries
        nullable, number = self._lexeme(node)
        return nullable, 1 << number

    def _first_of_entries(self, node: tree.Unordered) -> int:
        first = 0
        for entry in (*node.members, node.free):
            first |= self._first_of(entry)[1]
        return first

    def _lexeme(self, node: Node) -> tuple[bool, int]:
        """Whether a lexeme is nullable, and its number."""
        known = self._lexemes.get(id(node))
        if known is None:
            lexeme = node.body if isinstance(node, tree.Terminal) else node
            known = self._lexemes[id(node)] = may_be_empty(lexeme), self._numbers[lexeme]
        return known

    def _find_follow(self, root: str, order: list[str]) -> None:
        after_rule = {root: 0}
        inside: dict[str, _Follows] = {}
        waiting = {root}
        while waiting:
            check_time()
            for name in order:
                if name not in waiting:
                    continue
                waiting.discard(name)
                if name not in inside:
                    self._first.clear()
                    inside[name] = self._follows_in(self._rules[name])
                after = after_rule[name]
                for part, (ends, following) in inside[name].items():
                    new = following | after if ends else following
                    if isinstance(part, int):
                        self._follow[part] = self._follow.get(part, 0) | new
                    elif part not in after_rule or new & ~after_rule[part]:
                        after_rule[part] = after_rule.get(part, 0) | new
                        waiting.add(part)

    def _follows_in(self, body: Node) -> _Follows:
        """The lexemes that follow each rule and lexeme of a rule's body."""
        follows: _Follows = {}

        def walk(node: Node, ends: bool, after: int) -> None:
            if isinstance(node, tree.Seq):
                for part in reversed(node.parts):
                    walk(part, ends, after)
                    nullable, first = self._first_of(part)
                    ends, after = ends and nullable, after | first if nullable else first
            elif isinstance(node, tree.Alt):
                for option in node.options:
                    walk(option, ends, after)
            elif isinstance(node, tree.Repeat):
                again = node.maximum is None or node.maximum > 1
                walk(node.body, ends, after | self._first_of(node.body)[1] if again else after)
            elif isinstance(node, tree.Unordered):
                after |= self._first_of(node.separator)[1]
                for entry in (*node.members, node.free):
                    walk(entry, ends, after)
                walk(node.separator, False, self._first_of_entries(node))
            elif not isinstance(node, tree.TokenMatch):
                key = node.name if isinstance(node, tree.RuleRef) else self._lexeme(node)[1]
                before = follows.get(key, (False, 0))
                follows[key] = before[0] or ends, before[1] | after

        walk(body, True, 0)
        return follows


def _bits(number: int) -> list[int]:
    """The positions of the set bits."""
    places = []
    while number:
        low = number & -number
        places.append(low.bit_length() - 1)
        number ^= low
    return places
