"""Properties of rules that depend on each other, decided for all rules of a document together, in linear time.

Three questions, each answered from what `rule_properties` found of single rules:
- which rules have a property at all, such as deriving a finite text (`forward_chaining`);
- with which rules each rule can begin, and in how many ways (`beginnings`, then `total_ways` and `depths`);
- which rules begin with each other in a cycle (`cycles`, `shortest_cycle`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.lint.rule_properties import (
    AGAIN,
    TERMINAL,
    Condition,
    InnerRule,
    RuleProperties,
)
from glyphscope.grammar.traversal import callees_first

MANY = 10**12
"""Counts stop there: they double with each rule."""

Atom: TypeAlias = str | tuple[str, int]
"""The proposition that a rule has the property, by its name, or an inner rule of it, by its place in the condition."""


@dataclass(slots=True)
class _Clause:
    """A Horn clause: if all atoms of its body are true, so is `head`. `unknown` are those not yet known to be true."""

    head: Atom
    unknown: int


def forward_chaining(conditions: Mapping[str, Condition]) -> set[str]:
    """The rules that have a property, by the condition under which each has it; rules without a condition do not.

    Each conjunction of a condition is the body of a Horn clause. Starting from the rules that always have the property,
    each new true atom is counted off in the clauses that need it, and a clause without an unknown atom makes its head
    true (Dowling and Gallier 1984). So each atom of a clause is visited once, and rules that only need each other never
    get the property: with `a ::= b` and `b ::= a`, neither derives a finite text.
    """
    true: set[Atom] = {name for name, condition in conditions.items() if condition is True}
    waiting: dict[Atom, list[_Clause]] = {}  # the clauses by the atoms of their bodies
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
    """How a rule can begin: with which rules, and by itself."""

    rules: dict[str, bool]
    """Each rule with which it can begin, and whether something can follow it there."""
    calls: tuple[tuple[str, int], ...]
    """The same rules, each with the number of ways that lead to it."""
    ways: int
    """An upper bound of the ways to begin with a character or token, without another rule."""


def beginnings(properties: RuleProperties, nullable: set[str], *, as_llama: bool) -> Beginnings:
    """How a rule begins, given the rules that can be empty.

    `as_llama`: as llama.cpp sees it, for which an inner rule can be empty only by an alternative with nothing in it.
    """
    inner = properties.inner
    nullable_inner = _nullable_inner(inner, nullable, directly=as_llama)
    entered: list[int] = [0] * len(inner)  # in how many ways the rule begins with each
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
    """Whether each inner rule can be empty; `directly`: by an alternative with nothing in it."""
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

    A single name is one if it has an edge to itself. Components come in the order in which they are complete, each
    after those it leads to, its members in the order of their visit.
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
    """The shortest path from `first` by its edge to `second` and, through these members, back to `first`."""
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
    """The names, each after those with which its rule begins."""
    return list(
        callees_first(begins, lambda name: [other for other in begins[name].rules if other in begins])
    )


def total_ways(order: Iterable[str], begins: Mapping[str, Beginnings], own: int = 0) -> dict[str, int]:
    """For each rule its ways to begin, `own` for itself, and those of the rules that it begins with, as often.

    In a cycle, a rule that is not counted yet adds nothing.
    """
    totals: dict[str, int] = {}
    for name in order:
        checkpoint()
        calls = sum(times * totals.get(other, 0) for other, times in begins[name].calls)
        totals[name] = min(MANY, own + begins[name].ways + calls)
    return totals


def depths(order: Iterable[str], begins: Mapping[str, Beginnings]) -> dict[str, int]:
    """For each rule the length of its longest chain of rules that begin with each other, without cycles."""
    lengths: dict[str, int] = {}
    for name in order:
        checkpoint()
        lengths[name] = 1 + max((lengths.get(other, 0) for other in begins[name].rules), default=0)
    return lengths
