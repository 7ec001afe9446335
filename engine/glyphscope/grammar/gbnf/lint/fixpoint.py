"""Properties of mutually dependent rules, and of which rules can begin with which. All passes are linear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.lint.rule_properties import AGAIN, TERMINAL, Facts, Inner
from glyphscope.grammar.traversal import callees_first

MANY = 10**12
"""More is not counted."""


def true_names(forms: Mapping[str, tuple[Inner, ...] | bool]) -> set[str]:
    """The names that hold: those with an alternative of which everything does. A name without a form does not."""
    true = [name for name, form in forms.items() if form is True]
    known: set[str | tuple[str, int]] = set(true)
    waiting_for: dict[str | tuple[str, int], list[list[object]]] = {}
    ready: list[str | tuple[str, int]] = list(true)
    for name, form in forms.items():
        if isinstance(form, bool):
            continue
        for place, options in enumerate(form):
            node: str | tuple[str, int] = name if place == len(form) - 1 else (name, place)
            for option in options:
                checkpoint(1 + len(option))
                # how many are missing, and what holds then
                counter: list[object] = [len(option), node]
                for element in option:
                    key = (name, element) if isinstance(element, int) else str(element)
                    waiting_for.setdefault(key, []).append(counter)
    while ready:
        for counter in waiting_for.pop(ready.pop(), ()):
            checkpoint()
            missing = counter[0]
            assert isinstance(missing, int)
            counter[0] = missing - 1
            node = counter[1]  # type: ignore[assignment]
            if missing == 1 and node not in known:
                known.add(node)
                ready.append(node)
    return {name for name in known if isinstance(name, str)}


class Beginnings(NamedTuple):
    """The rules with which a rule can begin, each with whether something follows it there; and in how many ways a text
    of it can begin inside of it (`ways`, an upper bound), besides those of the rules.
    """

    rules: dict[str, bool]
    calls: tuple[tuple[str, int], ...]
    ways: int


def beginnings(facts: Facts, empty: set[str], *, seen_by_llama: bool) -> Beginnings:
    """How a rule begins, if the rules in `empty` can be empty.

    `seen_by_llama`: an inner rule counts as one that can be empty only if an alternative of it has nothing in it.
    """
    inner = facts.inner
    passes = _passing(inner, empty, directly=seen_by_llama)
    entered: list[int] = [0] * len(inner)  # how often
    follows = [False] * len(inner)
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
                    if element not in empty:
                        break
                elif element != AGAIN:
                    entered[element] = min(entered[element] + times, MANY)
                    follows[element] = follows[element] or more
                    if not passes[element]:
                        break
    return Beginnings(rules, tuple(calls.items()), ways)


def _passing(inner: tuple[Inner, ...], empty: set[str], *, directly: bool) -> list[bool]:
    if directly:
        return [() in options for options in inner]
    found: list[bool] = []
    for options in inner:
        checkpoint(len(options))
        found.append(
            any(
                all(e == AGAIN or (found[e] if isinstance(e, int) else e in empty) for e in option)
                for option in options
            )
        )
    return found


def cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The sets of names that reach each other, in the order of their first members (Tarjan, no recursion).

    A single name is one if it reaches itself.
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
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
                        found.append(members)
    return found


def _popped(stack: list[str], name: str) -> list[str]:
    members: list[str] = []
    while not members or members[-1] != name:
        members.append(stack.pop())
    return members[::-1]


def way_around(
    edges: Mapping[str, Iterable[str]], members: Iterable[str], first: str, second: str
) -> list[str]:
    """The shortest way from `first` to `second`, a rule with which it begins, and back to it, by these members."""
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


def sums(order: Iterable[str], begins: Mapping[str, Beginnings], own: int = 0) -> dict[str, int]:
    """For each rule its ways and `own`, and those of the rules that it begins with, as often; a circle adds nothing."""
    done: dict[str, int] = {}
    for name in order:
        checkpoint()
        calls = sum(times * done.get(other, 0) for other, times in begins[name].calls)
        done[name] = min(MANY, own + begins[name].ways + calls)
    return done


def depths(order: Iterable[str], begins: Mapping[str, Beginnings]) -> dict[str, int]:
    """For each rule the length of its longest chain of rules that begin with each other, without circles."""
    done: dict[str, int] = {}
    for name in order:
        checkpoint()
        done[name] = 1 + max((done.get(other, 0) for other in begins[name].rules), default=0)
    return done
