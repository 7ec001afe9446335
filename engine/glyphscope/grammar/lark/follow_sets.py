"""The characters that may follow a lexeme anywhere in a grammar: FIRST and FOLLOW (Aho, Sethi, Ullman §4.4).

A set is an integer with one bit per symbol: a lexeme, or a rule, for the lexemes that it may begin with. Each rule is
read once (`_Inside`): its own part of FIRST, the symbols that it may begin with, and of FOLLOW, the symbols that may
follow a symbol in it; `_END` stands for those that follow the rule. The sets of lexemes are then computed from these
(`read`), and `of` translates them to characters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.nullability import may_be_empty, nullable_rules
from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.traversal import callees_first
from glyphscope.grammar.tree import Grammar, Node, RuleRef

_END = 1


class _Inside(NamedTuple):
    """One rule: the symbols with which it may begin, and those that follow each symbol in it, by number."""

    first: int
    follows: dict[int, int]


class FollowSets:
    """The FOLLOW sets of a grammar, and again of the same grammar with some rules rewritten: only these are read."""

    def __init__(self) -> None:
        self._numbers: dict[Node, int] = {}  # of lexemes and references
        # Nodes are keyed by identity: hashing them repeatedly would take most of the time.
        self._inside: dict[int, tuple[Node, _Inside]] = {}  # by the rule's body, which is kept alive
        self._lexemes: dict[int, tuple[bool, int]] = {}
        self._rules: frozenset[str] = frozenset()
        self._nullable: set[str] = set()
        self._first: dict[int, tuple[bool, int]] = {}  # of the nodes of the rule that is being read
        self._follow: dict[int, int] = {}  # a lexeme's number to the set of lexemes that may follow
        self._characters: dict[int, Ranges] = {}
        self._unions: dict[int, Ranges] = {}

    def read(self, grammar: Grammar, characters: Mapping[Node, Ranges]) -> None:
        """Compute the sets of this grammar; `characters` maps each lexeme to the characters with which it may begin."""
        self._characters = {self._number(lexeme): begins for lexeme, begins in characters.items()}
        self._unions = {0: ()}
        nullable = nullable_rules(grammar)
        if not self._rules.isdisjoint(nullable ^ self._nullable):
            self._inside.clear()
            self._lexemes.clear()  # their nodes were kept alive by the bodies
        self._rules, self._nullable = frozenset(grammar.rules), nullable
        inside = {
            self._number(RuleRef(name)): self._inside_of(rule.body) for name, rule in grammar.rules.items()
        }
        order = list(callees_first(inside, lambda rule: inside[rule].follows.keys() & inside.keys()))
        first = _first_sets(order, inside)
        self._follow = _follow_sets(self._number(RuleRef(grammar.root)), order[::-1], inside, first)

    def _number(self, symbol: Node) -> int:
        return self._numbers.setdefault(symbol, len(self._numbers) + 1)

    def of(self, lexeme: Node) -> Ranges:
        """The characters that may follow a lexeme."""
        lexemes = self._follow.get(self._number(lexeme), 0)
        if lexemes not in self._unions:
            self._unions[lexemes] = chars.union(*{self._characters[other] for other in _bits(lexemes)})
        return self._unions[lexemes]

    def _inside_of(self, body: Node) -> _Inside:
        known = self._inside.get(id(body))
        if known is None:
            check_time()
            self._first.clear()
            follows: dict[int, int] = {}
            self._walk(body, _END, follows)
            known = self._inside[id(body)] = body, _Inside(self._first_of(body)[1], follows)
        return known[1]

    def _walk(self, node: Node, after: int, follows: dict[int, int]) -> None:
        """Note the symbols that follow each one in a node, which `after` follows."""
        if isinstance(node, tree.Seq):
            for part in reversed(node.parts):
                self._walk(part, after, follows)
                nullable, first = self._first_of(part)
                after = first | after if nullable else first
        elif isinstance(node, tree.Alt):
            for option in node.options:
                self._walk(option, after, follows)
        elif isinstance(node, tree.Repeat):
            again = node.maximum is None or node.maximum > 1
            self._walk(node.body, after | self._first_of(node.body)[1] if again else after, follows)
        elif isinstance(node, tree.Unordered):
            after = after | self._first_of(node.separator)[1]
            for entry in (*node.members, node.free):
                self._walk(entry, after, follows)
            self._walk(node.separator, self._first_of_entries(node), follows)
        elif not isinstance(node, tree.TokenMatch):
            number = self._symbol(node)[1]
            follows[number] = follows.get(number, 0) | after

    def _first_of(self, node: Node) -> tuple[bool, int]:
        """Whether a node is nullable, and the symbols with which it may begin."""
        known = self._first.get(id(node))
        if known is None:
            known = self._first[id(node)] = self._first_of_parts(node)
        return known

    def _first_of_parts(self, node: Node) -> tuple[bool, int]:
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
        nullable, number = self._symbol(node)
        return nullable, 1 << number

    def _first_of_entries(self, node: tree.Unordered) -> int:
        first = 0
        for entry in (*node.members, node.free):
            first |= self._first_of(entry)[1]
        return first

    def _symbol(self, node: Node) -> tuple[bool, int]:
        """Whether a lexeme or a reference is nullable, and its number."""
        if isinstance(node, RuleRef):
            return node.name in self._nullable, self._number(node)
        return self._lexeme(node)

    def _lexeme(self, node: Node) -> tuple[bool, int]:
        known = self._lexemes.get(id(node))
        if known is None:
            lexeme = node.body if isinstance(node, tree.Terminal) else node
            known = self._lexemes[id(node)] = may_be_empty(lexeme), self._number(lexeme)
        return known


def _first_sets(order: list[int], inside: Mapping[int, _Inside]) -> dict[int, int]:
    """The lexemes with which each rule may begin. Rules are after the rules that they refer to, except in cycles."""
    rules = sum(1 << rule for rule in order)
    refs = {rule: _bits(inside[rule].first & rules) for rule in order}
    users: dict[int, list[int]] = defaultdict(list)
    for rule in order:
        for other in refs[rule]:
            users[other].append(rule)
    first = dict.fromkeys(order, 0)
    waiting = set(order)
    while waiting:
        check_time()
        for rule in order:
            if rule in waiting:
                waiting.discard(rule)
                begins = inside[rule].first & ~rules
                for other in refs[rule]:
                    begins |= first[other]
                if begins != first[rule]:
                    first[rule] = begins
                    waiting.update(users[rule])
    return first


def _follow_sets(
    root: int, order: list[int], inside: Mapping[int, _Inside], first: Mapping[int, int]
) -> dict[int, int]:
    """The lexemes that may follow each symbol. Rules are before the rules that they refer to, except in cycles."""
    rules = sum(1 << rule for rule in order)
    follow = {root: 0}
    read: dict[
        int, list[tuple[int, int, int]]
    ] = {}  # by rule: each symbol, `_END` or 0, and the lexemes after it
    waiting = {root}
    while waiting:
        check_time()
        for rule in order:
            if rule not in waiting:
                continue
            waiting.discard(rule)
            if rule not in read:
                read[rule] = []
                for symbol, after in inside[rule].follows.items():
                    lexemes = after & ~rules & ~_END
                    for other in _bits(after & rules):
                        lexemes |= first[other]
                    read[rule].append((symbol, after & _END, lexemes))
            for symbol, ends, lexemes in read[rule]:
                new = lexemes | follow[rule] if ends else lexemes
                before = follow.get(symbol)
                if before is None or new & ~before:
                    follow[symbol] = new | (before or 0)
                    waiting.update((symbol,) if symbol in inside else ())
    return follow


def _bits(number: int) -> list[int]:
    """The positions of the set bits."""
    places = []
    while number:
        low = number & -number
        places.append(low.bit_length() - 1)
        number ^= low
    return places
