"""Keys for the possible continuations of states: states with the same key have the same continuations.

The text read so far does not matter. Of the open rules, only the part after each one matters, and a rule at the end of
its caller is replaced by the caller, so a right-recursive list has few keys, however long it is. Equal keys prove equal
continuations; different keys prove nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import Frame, State
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.traversal import callees_first

_END = "end"
_SELF = "self"
_MAX_OUTER = 200
"""The number of enclosing rules that `Futures.least` reads; with more, the lower bound is 0."""

Continuation: TypeAlias = Hashable
"""A place and the number of its rule's continuations, or the end of the text."""


def open_moves(state: State) -> list[Ranges]:
    """The characters of each possible step; characters in the same sets lead to the same state."""
    steps = state._compiled.automaton.steps
    return [move.ranges for place, _ in state.ways for move in steps(place).moves]


class Futures:
    """The keys of states of one compiled grammar."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[Any], int] = {}
        self._after: dict[Frame, frozenset[Any]] = {}
        self._least: dict[Frame, int] = {}

    def key(self, state: State) -> int:
        """The number of the state's continuations; all dead states have the same."""
        continuations: set[Continuation] = set()
        for place, frame in state.items:
            self._join(continuations, place, frame)
        return self._number(frozenset(continuations))

    def least(self, state: State) -> int:
        """A lower bound on the number of characters that complete the text."""
        return min((place.shortest + self._least_after(frame) for place, frame in state.items), default=0)

    def _join(self, continuations: set[Continuation], place: DfaState, frame: Frame) -> None:
        if place.longest == 0:
            continuations |= self._follow(frame)
        else:
            continuations.add((place, self._number(self._follow(frame))))

    def _follow(self, frame: Frame) -> frozenset[Any]:
        """The continuations after the rule."""
        after = self._after
        if frame not in after:  # outer rules first
            for at in callees_first([frame], lambda at: [o for _, o in at.edges if o not in after]):
                after[at] = self._continuations(at)
        return after[frame]

    def _continuations(self, frame: Frame) -> frozenset[Any]:
        if not frame.edges:
            return frozenset({_END})
        continuations: set[Continuation] = set()
        for place, outer in frame.edges:
            if outer is frame:
                continuations.add((place, _SELF))
            elif outer in self._after:
                self._join(continuations, place, outer)
            else:  # a cycle of rules that end with each other: nothing is merged
                continuations.add((place, outer))
        return frozenset(continuations)

    def _number(self, continuations: frozenset[Any]) -> int:
        return self._numbers.setdefault(continuations, len(self._numbers))

    def _least_after(self, frame: Frame) -> int:
        known = self._least.get(frame)
        if known is None:
            seen: set[Frame] = set()
            best, waiting = None, [(0, frame)]
            while waiting and len(seen) < _MAX_OUTER:
                length, at = waiting.pop()
                if not at.edges or at in seen:
                    best = length if best is None else min(best, length)
                    continue
                seen.add(at)
                waiting += [(length + place.shortest, outer) for place, outer in at.edges]
            known = self._least[frame] = 0 if waiting else best or 0
        return known
