"""The shortest text of each piece of a grammar, and the choices that lead to it (Knuth 1977).

Length is measured in characters, or by another measure: bytes, or tokens of a vocabulary.

The time is n log n in the grammar's size, even with recursion. A choice recorded here never leads back to itself, so
following the choices terminates.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol, TypeVar

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.tree import Grammar, Node

CHARACTER = 1 << 40
"""The cost of a character; entering a rule costs 1, so of equally short texts, the one with fewer rules is chosen."""
TOO_MUCH = 1 << 200
"""The cost of an impossible text and the upper bound of all costs, which nested repetitions would double forever."""
MAX_VISITED = 1_500
"""The maximum number of states visited to find a cheapest path."""

H = TypeVar("H", bound=Hashable)


class Measure(Protocol):
    """The costs of texts by another measure than characters; None for impossible texts."""

    @property
    def token(self) -> int | None:
        """The cost of a vocabulary's token that the grammar names."""

    def text(self, text: str) -> int | None:
        """A literal."""

    def one_of(self, ranges: chars.Ranges) -> int | None:
        """The cost of the cheapest of these characters."""


class _Characters:
    token = None  # not a text

    def text(self, text: str) -> int:
        return len(text)

    def one_of(self, ranges: chars.Ranges) -> int | None:
        return 1 if ranges else None


_ANY = -1


class _Claim:
    """A node or rule, whose cost is known when `needs` of its parts, or any of them (`_ANY`), have a cost.

    `users`: the claims of which this is a part, with its index there. `times`: how often its part counts.
    """

    __slots__ = ("cost", "needs", "node", "serial", "settled", "times", "users")

    def __init__(
        self, serial: int, node: Node | None = None, users: Iterable[tuple[_Claim, int]] = ()
    ) -> None:
        self.serial, self.node, self.users = serial, node, list(users)
        self.needs, self.cost, self.times = 1, 0, 1
        self.settled = False


class Shortest:
    """Costs and choices of a grammar without undefined references. Raises GrammarError like `Automaton`."""

    def __init__(self, grammar: Grammar, measure: Measure | None = None) -> None:
        self._measure = measure or _Characters()
        self.choices: dict[int, int] = {}
        """For the id of an `Alt`, the index of the option with the shortest text."""
        self.intersections: dict[int, Automaton] = {}
        """For the id of an `Intersect`, its automaton."""
        self._costs: dict[int, int] = {}
        self._separators: list[Node] = []  # kept alive, because costs are keyed by identity
        self._rules: dict[str, int] = {}
        self._solve(grammar)

    def length(self, node: Node) -> int | None:
        """Characters of the node's shortest text (a million billion or more if too many); None without a text."""
        cost = self._costs.get(id(node))
        return None if cost is None else cost // CHARACTER

    def rule_length(self, rule: str) -> int | None:
        """Characters of the rule's shortest text; None without a text."""
        cost = self._rules.get(rule)
        return None if cost is None else cost // CHARACTER

    def rule_cost(self, rule: str) -> int:
        """The length of the rule's shortest text by the measure, times `CHARACTER`, plus 1 for each rule entered."""
        return self._rules.get(rule, TOO_MUCH)

    def cost(self, node: Node) -> int:
        """The same cost for a node of the grammar."""
        return self._costs.get(id(node), TOO_MUCH)

    def _solve(self, grammar: Grammar) -> None:
        rules = {name: _Claim(serial) for serial, name in enumerate(grammar.rules)}
        claims = list(rules.values())
        by_node: dict[int, _Claim] = {}

        def claim_of(node: Node | None, users: list[tuple[_Claim, int]]) -> _Claim:
            claims.append(_Claim(len(claims), node, users))
            return claims[-1]

        waiting: list[tuple[Node, _Claim, int]] = [
            (grammar.rules[name].body, rules[name], 0) for name in reversed(rules)
        ]
        while waiting:
            node, user, part = waiting.pop()
            if id(node) in by_node:  # a node in several places
                by_node[id(node)].users.append((user, part))
                continue
            claim = by_node[id(node)] = claim_of(node, [(user, part)])
            inner: Sequence[Node] = ()
            if isinstance(node, tree.RuleRef):
                rules[node.name].users.append((claim, 0))
                claim.cost = 1
            elif isinstance(node, tree.Seq):
                inner, claim.needs = node.parts, len(node.parts)
            elif isinstance(node, tree.Alt):
                inner, claim.needs = node.options, _ANY
            elif isinstance(node, tree.Repeat) and (node.maximum is None or node.maximum >= node.minimum):
                inner, claim.needs, claim.times = (node.body,), min(1, node.minimum), node.minimum
            elif isinstance(node, tree.Terminal):
                inner = (node.body,)
            elif isinstance(node, tree.Unordered):
                inner = self._needed(node)
                more = node.least - node.required.bit_count()
                claim.needs = len(inner) + (more > 0)
                further = claim_of(None, [(claim, 0)] if more else [])
                further.needs = more  # the first known ones, which are the cheapest
                others = [m for place, m in enumerate(node.members) if not node.required >> place & 1]
                waiting += [(child, further, 0) for child in (*others, *[node.free] * max(1, more))]
                separator = claim_of(None, [])  # no claim needs it, but its cost is used
                separator.needs = 0
                waiting.append((node.separator, separator, 0))
            elif (price := self._price(node)) is not None:
                claim.needs, claim.cost = 0, price * CHARACTER
            waiting += [(child, claim, index) for index, child in enumerate(inner)]
        self._settle(claims)
        self._rules = {
            name: self._costs[id(grammar.rules[name].body)] for name in rules if rules[name].settled
        }

    def _settle(self, claims: list[_Claim]) -> None:
        """Settle claims, cheapest first: a complete claim never gets cheaper, so it then counts for its users."""
        complete = [
            (claim.cost, claim.serial, 0) for claim in claims if not claim.needs and claim.node is not None
        ]
        heapify(complete)
        while complete:
            cost, serial, by = heappop(complete)
            claim = claims[serial]
            if claim.settled:
                continue
            claim.settled = True
            if claim.node is not None:
                self._costs[id(claim.node)] = cost
            if claim.needs == _ANY:
                self.choices[id(claim.node)] = by
            for user, part in claim.users:
                if user.needs == _ANY:
                    heappush(complete, (cost, user.serial, part))
                elif user.needs:
                    user.cost = min(TOO_MUCH, user.cost + cost * user.times)
                    user.needs -= 1
                    if not user.needs:
                        heappush(complete, (user.cost, user.serial, part))

    def _needed(self, node: tree.Unordered) -> tuple[Node, ...]:
        """The parts that every text needs: the required members, and the separators of the required entries."""
        required = tuple(m for place, m in enumerate(node.members) if node.required >> place & 1)
        separators = node.least - (0 if node.leading or not node.least else 1)
        if not separators:
            return required
        self._separators.append(tree.Repeat(node.separator, separators, separators))
        return (*required, self._separators[-1])

    def _price(self, node: Node) -> int | None:
        if isinstance(node, tree.Literal):
            return self._measure.text(node.text)
        if isinstance(node, tree.CharClass):
            ranges = chars.complement(node.ranges) if node.negated else node.ranges
            return self._measure.one_of(chars.intersection(ranges, chars.ALL))
        if isinstance(node, tree.Intersect):
            automaton = self.intersections.get(id(node))
            if automaton is None:
                automaton = self.intersections[id(node)] = Automaton.of(node)
            return self._price_of_intersection(automaton)
        # any other node here is a repetition with a maximum below its minimum
        return self._measure.token if isinstance(node, tree.TokenMatch) else None

    def _price_of_intersection(self, automaton: Automaton) -> int | None:
        most = None if isinstance(self._measure, _Characters) else MAX_VISITED
        cost = _costs_to_end(automaton, automaton.start, self._measure.one_of, most)[automaton.start]
        return None if cost >= TOO_MUCH else cost


def _costs_to_end(
    automaton: Automaton, state: DfaState, price: Callable[[chars.Ranges], int | None], most: int | None
) -> dict[DfaState, int]:
    """The cost of the cheapest text from a state to acceptance, and from each state on the path."""
    known = dict[DfaState, int]()
    cheapest_path(
        state,
        lambda at: ((c, to) for ranges, to in automaton.moves(at) if (c := price(ranges)) is not None),
        lambda at: 0 if at.final else None,
        known,
        lambda at: at.shortest,
        most=most,
    )
    return known


def shortest_path(
    automaton: Automaton, state: DfaState, *, most: int | None = None
) -> list[chars.Ranges] | None:
    """The characters of a shortest text from a state to acceptance; None if there is none.

    Raises GrammarError if more than `most` states would be visited.
    """
    known = _costs_to_end(automaton, state, _Characters().one_of, most)
    if known[state] >= TOO_MUCH:
        return None
    way = []
    for left in range(known[state])[::-1]:
        ranges, state = next(move for move in automaton.moves(state) if known.get(move[1]) == left)
        way.append(ranges)
    return way


def cheapest_path(
    start: H,
    onward: Callable[[H], Iterable[tuple[int, H]]],
    ending: Callable[[H], int | None],
    known: dict[H, int],
    heuristic: Callable[[H], int] = lambda at: 0,
    *,
    most: int | None = MAX_VISITED,
) -> None:
    """Put the costs of the cheapest paths to an end, from `start` and the places on its path, into `known` (A*).

    `onward` returns the steps from a place with their costs; `ending` the cost of ending there, None if not possible.
    No path from a place to an end costs less than its `heuristic`. If there is no path, the cost is `TOO_MUCH`.
    Raises GrammarError for more than `most` places.
    """
    best = {start: 0}
    sources: dict[H, H] = {}
    serials = count(1)
    heap: list[tuple[int, int, int, H, bool]] = [(heuristic(start), 0, 0, start, False)]
    while heap:
        _, _, cost, at, over = heappop(heap)
        if over:
            while True:
                known[at] = min(TOO_MUCH, cost - best[at])
                if at == start:
                    return
                at = sources[at]
        if cost > best[at]:
            continue
        last = known.get(at)
        if last is None:
            last = ending(at)
        if last is not None:
            heappush(heap, (cost + last, -next(serials), cost + last, at, True))
            continue
        if most is not None and len(best) > most:
            raise GrammarError("A lexeme has too many states to find its cheapest text.")
        for price, target in onward(at):
            if target not in best or cost + price < best[target]:
                best[target] = cost + price
                sources[target] = at
                heappush(
                    heap, (cost + price + heuristic(target), -next(serials), cost + price, target, False)
                )
    known[start] = TOO_MUCH
