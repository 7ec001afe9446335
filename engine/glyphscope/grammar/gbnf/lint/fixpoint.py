"""Properties of rules that depend on each other, decided for all rules of a document together, in linear time.

Three questions, each answered from the properties of single rules (`rule_properties`):
- which rules have a property at all, such as deriving a finite text (`forward_chaining`);
- which rules each rule can begin with, and in how many ways (`beginnings`, then `total_ways` and `depths`);
- which rules begin with each other in a cycle (`cycles`, `shortest_cycle`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.lint.rule_properties import AGAIN, TERMINAL, Condition, InnerRule, RuleProperties
from glyphscope.grammar.traversal import callees_first

MANY = 10**12
"""The upper limit of counts, which may double with each rule."""

Atom: TypeAlias = str | tuple[str, int]
"""The proposition that a rule (its name) or one of its inner rules (the place in its condition) has the property."""


@dataclass(slots=True)
class _Clause:
    """A Horn clause: if all atoms of its body are true, so is `head`. `unknown` counts those not yet known as true."""

    head: Atom
    unknown: int


def forward_chaining(conditions: Mapping[str, Condition]) -> set[str]:
    """The rules that have a property, given the condition of each; rules without a condition do not have it.

    Each conjunction of a condition is the body of a Horn clause. Starting from the rules that always have the property,
    each new true atom decrements the count of the clauses that need it, and a clause without unknown atoms makes its
    head true (Dowling and Gallier 1984). So each atom of a clause is visited once, and rules that only need each other
    never get the property: with `a ::= b` and `b ::= a`, neither derives a finite text.
    """
    true: set[Atom] = {name for name, condition in conditions.items() if condition is True}
    waiting: dict[Atom, list[_Clause]] = {}  # clauses by the atoms of their bodies
    for name, condition in conditions.items():
        if isinstance(condition, bool):
            continue
        for place, conjunctions in enumerate(condition):
            head: Atom = name if place == len(condition) - 1 else (name, place)
            for body in conjunctions:
                checkpoint(1 + len(body))
                clause = _Clause(head, len(body))
                for element in body:
                    atom: Atom = (name, element) if isinstance(element, int) else element
                    waiting.setdefault(atom, []).append(clause)
    news: list[Atom] = list(true)
    while news:
        for clause in waiting.pop(news.pop(), ()):
            checkpoint()
            clause.unknown -= 1
            if not clause.unknown and clause.head not in true:
                true.add(clause.head)
                news.append(clause.head)
    return {atom for atom in true if isinstance(atom, str)}


class Beginnings(NamedTuple):
    """The ways in which a rule can begin: with other rules, or with a character or token."""

    rules: dict[str, bool]
    """Each rule with which it can begin, and whether something can follow it there."""
    calls: tuple[tuple[str, int], ...]
    """The same rules, each with the number of ways to begin with it."""
    ways: int
    """An upper bound on the ways to begin directly with a character or token."""


def beginnings(properties: RuleProperties, nullable: set[str], *, as_llama: bool) -> Beginnings:
    """How a rule begins, given the rules that can be empty.

    `as_llama`: by llama.cpp's analysis, in which an inner rule can be empty only through an empty alternative.
    """
    inner = properties.inner
    nullable_inner = _nullable_inner(inner, nullable, directly=as_llama)
    entered: list[int] = [0] * len(inner)  # the number of ways to begin with each
    follows = [False] * len(inner)  # whether something can follow it there
    entered[-1] = 1
    rules: dict[str, bool] = {}
    calls: dict[str, int] = {}
    ways = 0
    for place in range(len(inner) - 1, -1, -1):
        times = entered[place]
        if not times:
            continue
        for option in inner[place]:
            checkpoint()
            for at, element in enumerate(option):
                more = follows[place] or at < len(option) - 1
                if element is TERMINAL:
                    ways += times
                    break
                if isinstance(element, str):
                    rules[element] = rules.get(element, False) or more
                    calls[element] = min(calls.get(element, 0) + times, MANY)
                    if element not in nullable:
                        break
                elif element != AGAIN:
                    entered[element] = min(entered[element] + times, MANY)
                    follows[element] = follows[element] or more
                    if not nullable_inner[element]:
                        break
    return Beginnings(rules, tuple(calls.items()), ways)


def _nullable_inner(inner: tuple[InnerRule, ...], nullable: set[str], *, directly: bool) -> list[bool]:
    """Whether each inner rule can be empty; `directly`: through an empty alternative."""
    if directly:
        return [() in options for options in inner]
    result: list[bool] = []
    for options in inner:
        checkpoint(len(options))
        result.append(
            any(
                all(e == AGAIN or (result[e] if isinstance(e, int) else e in nullable) for e in option)
                for option in options
            )
        )
    return result


def cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components of a graph that have a cycle, by Tarjan's algorithm without recursion.

    A single name is one if it has an edge to itself. Components are in the order of their completion, each after those
    that it leads to; their members are in the order of their visit.
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    components: list[list[str]] = []
    for root in edges:
        if root in order:
            continue
        work = [(root, iter(edges[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, rest = work[-1]
            for other in rest:
                checkpoint()
                if other not in edges:
                    continue
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(edges[other])))
                    break
                if other in on_stack:
                    low[name] = min(low[name], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == order[name]:
                    members = _popped(stack, name)
                    on_stack.difference_update(members)
                    if len(members) > 1 or name in edges[name]:
                        components.append(members)
    return components


def _popped(stack: list[str], name: str) -> list[str]:
    """Pop the end of the stack from `name` on."""
    members: list[str] = []
    while not members or members[-1] != name:
        members.append(stack.pop())
    return members[::-1]


def shortest_cycle(
    edges: Mapping[str, Iterable[str]], members: Iterable[str], first: str, second: str
) -> list[str]:
    """The shortest path from `first` along its edge to `second` and, through these members, back to `first`."""
    inside, came_from, waiting = set(members), {second: ""}, [second]
    for name in waiting:
        if name == first:
            break
        checkpoint()
        for other in edges[name]:
            if other in inside and other not in came_from:
                came_from[other] = name
                waiting.append(other)
    way = [first]
    while way[-1] != second:
        way.append(came_from[way[-1]])
    return [first, *way[::-1]]


def callees_order(begins: Mapping[str, Beginnings]) -> list[str]:
    """The names, each after the names of the rules with which its rule begins."""
    return list(
        callees_first(begins, lambda name: [other for other in begins[name].rules if other in begins])
    )


def total_ways(order: Iterable[str], begins: Mapping[str, Beginnings], own: int = 0) -> dict[str, int]:
    """For each rule, `own` plus its direct ways to begin, plus those of each rule that it begins with, times its uses.

    In a cycle, a rule that is not counted yet adds nothing.
    """
    totals: dict[str, int] = {}
    for name in order:
        checkpoint()
        calls = sum(times * totals.get(other, 0) for other, times in begins[name].calls)
        totals[name] = min(MANY, own + begins[name].ways + calls)
    return totals


def depths(order: Iterable[str], begins: Mapping[str, Beginnings]) -> dict[str, int]:
    """For each rule, the length of the longest chain of rules, each beginning with the next, without cycles."""
    lengths: dict[str, int] = {}
    for name in order:
        checkpoint()
        lengths[name] = 1 + max((lengths.get(other, 0) for other in begins[name].rules), default=0)
    return lengths
