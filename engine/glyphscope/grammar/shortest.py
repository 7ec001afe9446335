"""The shortest text of each piece of a grammar, and the choices that lead to it (Knuth 1977).

Linear in the grammar's size but for a logarithm, whatever its recursion. A choice that is recorded here never comes
back to itself, so following the choices ends.
"""

from __future__ import annotations

from heapq import heappop, heappush

from glyphscope.grammar import chars
from glyphscope.grammar.automaton import Automaton
from glyphscope.grammar.terms import Place
from glyphscope.grammar.tree import (
    Alt,
    CharClass,
    Grammar,
    Intersect,
    Literal,
    Node,
    Repeat,
    RuleRef,
    Seq,
    Terminal,
    TokenMatch,
    Unordered,
)  # fmt: skip

CHARACTER = 1 << 40
"""A character's cost; a rule entered costs 1, so of equally short texts the one of fewer rules is chosen."""
TOO_MUCH = 1 << 200


class Shortest:
    """Costs and choices of a grammar whose references are all defined. Raises GrammarError as automata do."""

    def __init__(self, grammar: Grammar) -> None:
        self.choices: dict[int, int] = {}
        """For the id of an `Alt`, the index of the option with the shortest text."""
        self.meetings: dict[int, Automaton] = {}
        """For the id of an `Intersect`, its automaton."""
        self._costs: dict[int, int] = {}
        self._separators: list[Node] = []  # kept alive, because costs are known by identity
        self._rules: dict[str, int] = {}
        self._solve(grammar)

    def length(self, node: Node) -> int | None:
        """Characters of the node's shortest text (at least a million billion where too many); None without a text."""
        cost = self._costs.get(id(node))
        return None if cost is None else cost // CHARACTER

    def rule_length(self, rule: str) -> int | None:
        """Characters of the rule's shortest text; None without a text."""
        cost = self._rules.get(rule)
        return None if cost is None else cost // CHARACTER

    def _solve(self, grammar: Grammar) -> None:
        names = list(grammar.rules)
        number = {name: index for index, name in enumerate(names)}
        nodes: list[Node | None] = [None] * len(names)
        users: list[list[tuple[int, int]]] = [[] for _ in names]  # (claim, which part of it)
        needs = [1] * len(names)  # parts still to be known; -1: one of them is enough
        costs = [0] * len(names)
        heap: list[tuple[int, int, int]] = []  # (cost, claim, by which part)

        waiting: list[tuple[Node, int, int]] = [
            (grammar.rules[n].body, number[n], 0) for n in reversed(names)
        ]
        while waiting:
            node, user, part = waiting.pop()
            claim = len(nodes)
            nodes.append(node)
            users.append([(user, part)])
            needs.append(1)
            costs.append(0)
            inner: tuple[Node, ...] = ()
            if isinstance(node, RuleRef):
                users[number[node.name]].append((claim, 0))
                costs[claim] = 1
            elif isinstance(node, Seq):
                inner, needs[claim] = node.parts, len(node.parts)
            elif isinstance(node, Alt):
                inner, needs[claim] = node.options, -1
            elif isinstance(node, Repeat) and (node.maximum is None or node.maximum >= node.minimum):
                inner, needs[claim] = (node.body,), min(1, node.minimum)
            elif isinstance(node, Terminal):
                inner = (node.body,)
            elif isinstance(node, Unordered):
                inner = self._needed(node)
                more = node.least - node.required.bit_count()
                needs[claim] = len(inner) + (more > 0)
                nodes.append(None)
                users.append([(claim, 0)] if more else [])
                needs.append(more)  # the first ones that are known, which are the cheapest
                costs.append(0)
                others = [m for place, m in enumerate(node.members) if not node.required >> place & 1]
                waiting += [(child, claim + 1, 0) for child in (*others, *[node.free] * max(1, more))]
            else:
                cost = self._leaf(node)
                if cost is not None:
                    needs[claim], costs[claim] = 0, cost
            waiting += [(child, claim, index) for index, child in enumerate(inner)]
            if needs[claim] == 0:
                heappush(heap, (costs[claim], claim, 0))
        known: set[int] = set()
        while heap:
            cost, claim, by = heappop(heap)
            if claim in known:
                continue
            known.add(claim)
            node_known = nodes[claim]
            if node_known is not None:
                self._costs.setdefault(id(node_known), cost)
                if isinstance(node_known, Alt):
                    self.choices.setdefault(id(node_known), by)
            for user, part in users[claim]:
                owner = nodes[user]
                if needs[user] == -1:
                    heappush(heap, (cost, user, part))
                elif needs[user] > 0:
                    factor = owner.minimum if isinstance(owner, Repeat) else 1
                    costs[user] = min(TOO_MUCH, costs[user] + cost * factor)
                    needs[user] -= 1
                    if needs[user] == 0:
                        heappush(heap, (costs[user], user, part))
        self._rules = {
            name: self._costs[id(grammar.rules[name].body)] for name in names if number[name] in known
        }

    def _needed(self, node: Unordered) -> tuple[Node, ...]:
        """What each of its texts has: the required members, and the separators of as many entries as must come."""
        required = tuple(m for place, m in enumerate(node.members) if node.required >> place & 1)
        separators = node.least - (0 if node.leading or not node.least else 1)
        if not separators:
            return required
        self._separators.append(Repeat(node.separator, separators, separators))
        return (*required, self._separators[-1])

    def _leaf(self, node: Node) -> int | None:
        if isinstance(node, Literal):
            return len(node.text) * CHARACTER
        if isinstance(node, CharClass):
            ranges = chars.complement(node.ranges) if node.negated else node.ranges
            return CHARACTER if chars.intersection(ranges, chars.ALL) else None
        if isinstance(node, Intersect):
            automaton = self.meetings.get(id(node))
            if automaton is None:
                automaton = self.meetings[id(node)] = Automaton.of(node)
            way = way_out(automaton, automaton.start)
            return None if way is None else len(way) * CHARACTER
        assert isinstance(node, TokenMatch | Repeat)
        return None  # a token is no text, and the repetition is less often than it must be


def way_out(automaton: Automaton, state: Place) -> list[chars.Ranges] | None:
    """The characters of a shortest text from a state to acceptance; None if there is none."""
    sources: dict[Place, tuple[Place, chars.Ranges] | None] = {state: None}
    waiting = [state]
    for at in waiting:  # it grows meanwhile
        if automaton.accepts(at):
            way = []
            step = sources[at]
            while step is not None:
                way.append(step[1])
                step = sources[step[0]]
            return way[::-1]
        for ranges, target in automaton.moves(at):
            if target not in sources:
                sources[target] = (at, ranges)
                waiting.append(target)
    return None
