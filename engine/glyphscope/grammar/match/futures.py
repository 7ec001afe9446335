"""The possible continuations of a state, as a key: states with one key have the same continuations.

The text read so far does not count. Of the open rules only the part after each of them counts, and a rule at the end of
its caller is replaced by the caller: so a right-recursive list has few keys, however long it is. Equal
keys prove equal futures; different ones prove nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import Begun, State
from glyphscope.grammar.regular.derivatives import Place

_END = "end"
_SELF = "self"

Continuation: TypeAlias = Hashable
"""A place and the number of what follows its rule; or the end of the text."""


def open_moves(state: State) -> list[Ranges]:
    """The sets of characters of each way on: characters in the same of them lead to the same state."""
    steps = state._compiled.automaton.steps
    return [move.ranges for place, _ in state.ways for move in steps(place).moves]


class Futures:
    """The keys of states of one compiled grammar."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[Any], int] = {}
        self._after: dict[Begun, frozenset[Any]] = {}
        self._least: dict[Begun, int] = {}

    def key(self, state: State) -> int:
        """The number of what can follow the state. A dead one has the number of no text."""
        found: set[Continuation] = set()
        for place, begun in state.items:
            self._join(found, place, begun)
        return self._number(frozenset(found))

    def least(self, state: State) -> int:
        """No text that completes the state is shorter, in characters."""
        return min((place.shortest + self._least_after(begun) for place, begun in state.items), default=0)

    def _join(self, found: set[Continuation], place: Place, begun: Begun) -> None:
        if place.longest == 0:
            found |= self._follow(begun)
        else:
            found.add((place, self._number(self._follow(begun))))

    def _follow(self, begun: Begun) -> frozenset[Any]:
        """The part after the rule."""
        known = self._after.get(begun)
        if known is not None:
            return known
        open_, waiting = {begun}, [begun]
        while waiting:  # the outer rules first, without a stack of calls for a text that is nested deeply
            inner = [e[1] for e in waiting[-1].edges if e[1] not in self._after and e[1] not in open_]
            if inner:
                open_.update(inner)
                waiting += inner
                continue
            done = waiting.pop()
            if done not in self._after:
                self._after[done] = self._continuations(done)
        return self._after[begun]

    def _continuations(self, begun: Begun) -> frozenset[Any]:
        if not begun.edges:
            return frozenset({_END})
        found: set[Continuation] = set()
        for place, outer in begun.edges:
            if outer is begun:
                found.add((place, _SELF))
            elif outer in self._after:
                self._join(found, place, outer)
            else:  # rules that begin with each other: nothing is merged
                found.add((place, outer))
        return frozenset(found)

    def _number(self, found: frozenset[Any]) -> int:
        return self._numbers.setdefault(found, len(self._numbers))

    def _least_after(self, begun: Begun) -> int:
        known = self._least.get(begun)
        if known is None:
            seen: set[Begun] = set()
            best, waiting = None, [(0, begun)]
            while waiting and len(seen) < 200:
                length, at = waiting.pop()
                if not at.edges or at in seen:
                    best = length if best is None else min(best, length)
                    continue
                seen.add(at)
                waiting += [(length + place.shortest, outer) for place, outer in at.edges]
            known = self._least[begun] = 0 if waiting else best or 0
        return known
