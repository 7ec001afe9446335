"""The possible continuations of a state, as a key: states with one key have the same continuations.

The text read so far does not count. Of the open rules only the part after each of them counts, and a rule at the end of
its caller is replaced by the caller: so a right-recursive list has few keys, however long it is. Equal
keys prove equal futures; different ones prove nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import Frame, State
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
        self._after: dict[Frame, frozenset[Any]] = {}
        self._least: dict[Frame, int] = {}

    def key(self, state: State) -> int:
        """The number of what can follow the state. A dead one has the number of no text."""
        continuations: set[Continuation] = set()
        for place, frame in state.items:
            self._join(continuations, place, frame)
        return self._number(frozenset(continuations))

    def least(self, state: State) -> int:
        """No text that completes the state is shorter, in characters."""
        return min((place.shortest + self._least_after(frame) for place, frame in state.items), default=0)

    def _join(self, continuations: set[Continuation], place: Place, frame: Frame) -> None:
        if place.longest == 0:
            continuations |= self._follow(frame)
        else:
            continuations.add((place, self._number(self._follow(frame))))

    def _follow(self, frame: Frame) -> frozenset[Any]:
        """The part after the rule."""
        known = self._after.get(frame)
        if known is not None:
            return known
        open_, waiting = {frame}, [frame]
        while waiting:  # the outer rules first, without a stack of calls for a text that is nested deeply
            inner = [e[1] for e in waiting[-1].edges if e[1] not in self._after and e[1] not in open_]
            if inner:
                open_.update(inner)
                waiting += inner
                continue
            done = waiting.pop()
            if done not in self._after:
                self._after[done] = self._continuations(done)
        return self._after[frame]

    def _continuations(self, frame: Frame) -> frozenset[Any]:
        if not frame.edges:
            return frozenset({_END})
        continuations: set[Continuation] = set()
        for place, outer in frame.edges:
            if outer is frame:
                continuations.add((place, _SELF))
            elif outer in self._after:
                self._join(continuations, place, outer)
            else:  # rules that begin with each other: nothing is merged
                continuations.add((place, outer))
        return frozenset(continuations)

    def _number(self, continuations: frozenset[Any]) -> int:
        return self._numbers.setdefault(continuations, len(self._numbers))

    def _least_after(self, frame: Frame) -> int:
        known = self._least.get(frame)
        if known is None:
            seen: set[Frame] = set()
            best, waiting = None, [(0, frame)]
            while waiting and len(seen) < 200:
                length, at = waiting.pop()
                if not at.edges or at in seen:
                    best = length if best is None else min(best, length)
                    continue
                seen.add(at)
                waiting += [(length + place.shortest, outer) for place, outer in at.edges]
            known = self._least[frame] = 0 if waiting else best or 0
        return known
