"""Walks over trees and graphs without recursion, so that any depth is possible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

N = TypeVar("N")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)


def bottom_up(root: N, inner: Callable[[N], Sequence[N]], make: Callable[[N, list[R]], R]) -> R:
    """The result of `make` for the root, after the results for its inner nodes, which it gets from left to right.

    `inner` returns the nodes directly inside a node. It is called once per node, before its inner nodes are made.
    """
    open_nodes: list[tuple[N, Iterator[N], list[R]]] = [(root, iter(inner(root)), [])]
    while True:
        node, rest, results = open_nodes[-1]
        for part in rest:
            if parts := inner(part):
                open_nodes.append((part, iter(parts), []))
                break
            results.append(make(part, []))
        else:
            open_nodes.pop()
            whole = make(node, results)
            if not open_nodes:
                return whole
            open_nodes[-1][2].append(whole)


def callees_first(roots: Iterable[K], callees: Callable[[K], Iterable[K]]) -> Iterator[K]:
    """The roots and all nodes reachable from them, each once and after its callees, except in cycles."""
    entered: set[K] = set()
    done: set[K] = set()
    for root in roots:
        waiting = [root]
        while waiting:
            node = waiting[-1]
            if node not in entered:
                entered.add(node)
                waiting += [other for other in callees(node) if other not in entered]
                continue
            waiting.pop()
            if node not in done:
                done.add(node)
                yield node


def reachable(roots: Iterable[K], callees: Callable[[K], Iterable[K]]) -> Iterator[K]:
    """The roots and all nodes reachable from them, each once, in the order of reading.

    `callees` is called for a node after the node was yielded.
    """
    seen: set[K] = set()
    waiting = [*roots][::-1]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node
            waiting += reversed(list(callees(node)))
