"""The largest distance of a grammar's prefixes from the end of a text: a bound on the shortest completion of any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.shortest import CHARACTER, TOO_MUCH, Shortest
from glyphscope.grammar.text_grammar import one_expression
from glyphscope.grammar.traversal import callees_first
from glyphscope.grammar.tree import Grammar, Node

_CHARACTER_BYTES = 4
_MAX_STATES = 2_000
_MAX_FEW = 300
"""States that are made to see exactly whether texts can be longer."""
_MAX_DEPTH = 200  # of a rule's body

_PLAIN: Ranges = ((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x7E), (0xA0, 0xD7FF), (0xE000, 0x3FFFF))
"""The characters whose bytes are tokens in every vocabulary that can spell them."""
PLAIN_BYTES = frozenset((0x09, 0x0A, 0x0D, *range(0x20, 0x7F), *range(0x80, 0xC0), *range(0xC2, 0xF1)))
"""The bytes of these characters."""


class _Bytes:
    """The cost of texts in UTF-8 bytes. A token that a grammar names counts as one byte."""

    token = 1

    def text(self, text: str) -> int | None:
        """A literal."""
        data = text.encode("utf-8", "surrogatepass")
        return len(data) if PLAIN_BYTES.issuperset(data) else None

    def one_of(self, ranges: Ranges) -> int | None:
        """The lowest character."""
        plain = chars.intersection(ranges, _PLAIN)
        return len(chr(plain[0][0]).encode()) if plain else None


def reach(grammar: Grammar) -> int | None:
    """An upper bound, in bytes, on the shortest completion of any prefix of the grammar's texts.

    It is also a bound in tokens if each of `PLAIN_BYTES` is a token. None if rules are recursive or no bound is found.
    """
    order = _inner_first(grammar)
    if order is None:
        return None
    reaches = _Reaches(Shortest(grammar, _Bytes()))
    for name in order:
        most = reaches.of(grammar.rules[name].body, 0)
        if most is None:
            return None
        reaches.rules[name] = most
    return reaches.rules[grammar.root]


class _Reaches:
    """The bounds of rules and nodes, computed from the bounds of their parts; `rules` is filled from the inside out."""

    def __init__(self, shortest: Shortest) -> None:
        self._shortest = shortest
        self._automaton = Automaton()  # of all nodes: most of them exclude the same texts
        self.rules: dict[str, int] = {}
        self._nodes: dict[int, int | None] = {}

    def of(self, node: Node, depth: int) -> int | None:
        """The bound on the bytes that complete the node, from before it or from inside it."""
        if depth > _MAX_DEPTH:
            return None
        if id(node) not in self._nodes:
            self._nodes[id(node)] = self._by_kind(node, depth)
        return self._nodes[id(node)]

    def _by_kind(self, node: Node, depth: int) -> int | None:
        if isinstance(node, tree.Literal):
            return self._whole(node)
        if isinstance(node, tree.CharClass):
            # also bounds the rest of a character whose first byte was read
            return None if self._whole(node) is None else _CHARACTER_BYTES
        if isinstance(node, tree.RuleRef):
            return self.rules[node.name]
        if isinstance(node, tree.TokenMatch):
            return 1
        if isinstance(node, tree.Seq):
            return self._in_a_row(node.parts, depth)
        if isinstance(node, tree.Alt):
            return self._most(node.options, depth)
        if isinstance(node, tree.Repeat):
            inner, whole = self.of(node.body, depth + 1), self._whole(node.body)
            if inner is None or (whole is None and node.minimum > 1):
                return None
            return inner + max(0, node.minimum - 1) * (whole or 0)
        if isinstance(node, tree.Terminal):
            return self.of(node.body, depth + 1)
        if isinstance(node, tree.Unordered):
            inner, whole = self._most(node.inner, depth), self._whole(node)
            separator = self._whole(node.separator)
            return None if inner is None or whole is None else inner + whole + (separator or 0)
        return self._farthest(node)

    def _whole(self, node: Node) -> int | None:
        cost = self._shortest.cost(node)
        return None if cost >= TOO_MUCH else cost // CHARACTER

    def _most(self, nodes: Sequence[Node], depth: int) -> int | None:
        most = 0
        for node in nodes:
            inner = self.of(node, depth + 1)
            if inner is None:
                return None
            most = max(most, inner)
        return most

    def _in_a_row(self, parts: Sequence[Node], depth: int) -> int | None:
        most = after = 0
        for part in reversed(parts):
            inner, whole = self.of(part, depth + 1), self._whole(part)
            if inner is None or whole is None:
                return None
            most, after = max(most, inner + after), after + whole
        return most

    def _farthest(self, node: tree.Intersect | tree.Except) -> int | None:
        """The bound of an intersection or complement: the largest distance from a state to a final state."""
        start = self._automaton.state_of(node)
        before: dict[DfaState, list[DfaState]] = defaultdict(list, {start: []})
        for state in self._automaton.states(start):
            for _, target in self._automaton.moves(state):
                before[target].append(state)
            if len(before) > _MAX_STATES:  # then the length of the longest text, if any
                return start.longest * _CHARACTER_BYTES if start.longest < 1 << 20 else None
        ends = [state for state in before if state.final]
        away, left = 0, len(before) - len(ends)
        seen = set(ends)
        while ends:
            ends = [one for one in {b for state in ends for b in before[state]} if one not in seen]
            seen.update(ends)
            left -= len(ends)
            away += bool(ends)
        return None if left else (away + 1) * _CHARACTER_BYTES


def _inner_first(grammar: Grammar) -> list[str] | None:
    """The rules, each after those that it refers to; None if a rule contains itself."""
    done: dict[str, None] = {}
    for name in callees_first([grammar.root], lambda name: grammar.rules[name].refs):
        if not done.keys() >= set(grammar.rules[name].refs):
            return None
        done[name] = None
    return list(done)


def open_ended(grammar: Grammar) -> bool:
    """Whether a text of the grammar may be a proper prefix of another one; True if uncertain.

    Of a recursive or large grammar, only the ends of rules are looked at: a text that continues because its parts can
    be divided in another way is not found.
    """
    if (known := _has_longer(grammar)) is not None:
        return known
    seen: set[str] = set()
    waiting: list[Node] = [tree.RuleRef(grammar.root)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tree.RuleRef):
            if node.name not in seen:
                seen.add(node.name)
                waiting.append(grammar.rules[node.name].body)
        elif isinstance(node, tree.Terminal):
            waiting.append(node.body)
        elif isinstance(node, tree.Seq):
            waiting += node.parts[-1:]
        elif isinstance(node, tree.Alt):
            waiting += node.options
            literals = [option.text for option in node.options if isinstance(option, tree.Literal)]
            if any(a != b and b.startswith(a) for a in literals for b in literals):
                return True
        elif isinstance(node, tree.Repeat) and node.minimum == node.maximum:
            waiting.append(node.body)
        elif not isinstance(node, tree.Literal | tree.CharClass | tree.TokenMatch):
            return True
    return False


def _has_longer(grammar: Grammar) -> bool | None:
    """`open_ended` by the states of the grammar as one expression; None if it is recursive or has too many."""
    try:
        automaton = Automaton.of(one_expression(grammar))
        for number, state in enumerate(automaton.states()):
            if state.final and automaton.moves(state):
                return True
            if number >= _MAX_FEW:
                return None
    except GrammarError:
        return None
    return False
