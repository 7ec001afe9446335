"""Intersections for engines that lack them: their automaton as right-linear rules, one for each state that needs it.

An intersection that would need too many rules loses its weakest part (`_weakest`): bounds of a length rather than a
pattern, a large automaton rather than a small one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.regular.formats import FORMATS, format_node
from glyphscope.grammar.regular.strings import any_character, escaped
from glyphscope.registry.keywords import LIMITS

MAX_STATES = 2000  # of an intersection written as rules
MAX_MOVES = 20_000  # of such an intersection
_MAX_DEPTH = 12  # states written inside one rule


class DroppedPart(NamedTuple):
    """A part that was dropped from an intersection: the schema keywords from which it was made, and why."""

    keywords: tuple[str, ...]
    why: str


class _TooLarge(Exception):
    pass


class _States(NamedTuple):
    """An automaton with states numbered from 0, the first state: which are final, and the moves of each."""

    final: list[bool]
    moves: list[list[tuple[Ranges, int]]]


class Intersections:
    """Writes the intersections of one grammar as rules.

    Their automata share their states: the lexemes of alternatives have most of their parts in common.
    """

    def __init__(self) -> None:
        self._automaton = Automaton()
        self._starts: list[DfaState] = []  # a state exists while a state before it does

    def right_linear(
        self,
        node: tree.Intersect,
        new_rule: Callable[[tree.Node], tree.RuleRef],
        rules: dict[str, tree.Node],
        note_dropped: Callable[[DroppedPart], None],
    ) -> tree.Node:
        """The intersection as a reference to rules, or its only remaining part.

        `new_rule` makes a rule with a preliminary body, which is then replaced in `rules`. `note_dropped` is called
        with each dropped part.
        """
        parts = list(node.parts)
        while len(parts) > 1:
            try:
                return _rules_of(self._states(tree.Intersect(tuple(parts))), new_rule, rules)
            except _TooLarge:
                weakest = self._weakest(parts)
                parts.remove(weakest)
                why = f"with the rest it needs more than {MAX_STATES:,} rules in GBNF"
                note_dropped(DroppedPart(_keywords(weakest), why))
        if isinstance(parts[0], tree.Except):
            return _rules_of(self._states(parts[0]), new_rule, rules)
        return parts[0]

    def _states(self, body: tree.Node) -> _States:
        """The automaton of a node. Raises _TooLarge."""
        try:
            start = self._automaton.state_of(body)
            self._starts.append(start)
            numbers: dict[DfaState, int] = {start: 0}
            final, moves, waiting, count = [], [], [start], 0
            for state in waiting:
                row = []
                for ranges, target in self._automaton.moves(state):
                    if target not in numbers:
                        numbers[target] = len(numbers)
                        waiting.append(target)
                    row.append((ranges, numbers[target]))
                count += len(row)
                if len(numbers) > MAX_STATES or count > MAX_MOVES:
                    raise _TooLarge
                final.append(state.final)
                moves.append(row)
        except GrammarError:
            raise _TooLarge from None
        return _States(final, moves)

    def _weakest(self, parts: list[tree.Node]) -> tree.Node:
        """The part to drop: a length if there is one, else the part with the most states."""
        lengths = [part for part in parts if _is_length(part)]
        droppable = [
            part for part in parts if not isinstance(part, tree.Except)
        ]  # exceptions end a text, so they must stay
        return lengths[0] if lengths else max(droppable or parts, key=self._count)

    def _count(self, part: tree.Node) -> int:
        try:
            return len(self._states(part).final)
        except _TooLarge:
            return MAX_STATES + 1


def _rules_of(
    states: _States, new_rule: Callable[[tree.Node], tree.RuleRef], rules: dict[str, tree.Node]
) -> tree.Node:
    """A reference to the first state's rule. States reached by several moves become rules, others are inlined.

    Moves of a state to itself are a repetition: llguidance needs a step more for each character of a right recursion.
    """
    reached = [0] * len(states.final)  # how often
    reached[0] = 2  # the first state is always a rule
    for state, row in enumerate(states.moves):
        for _, target in row:
            reached[target] += target != state
    names: dict[int, str] = {}
    waiting: list[int] = []

    def reference(state: int) -> tree.Node:
        if state not in names:
            names[state] = new_rule(tree.EMPTY).name
            waiting.append(state)
        return tree.RuleRef(names[state])

    def moves_of(state: int, depth: int) -> tree.Node:
        options: list[tree.Node] = [tree.EMPTY] if states.final[state] else []
        stays: list[tree.Node] = []
        for ranges, target in sorted(states.moves[state], key=_width):
            if target == state:
                stays.append(_class(ranges))
                continue
            alone = reached[target] == 1 and depth < _MAX_DEPTH
            if not states.moves[target]:
                following: tree.Node = tree.EMPTY
            else:
                following = moves_of(target, depth + 1) if alone else reference(target)
            options.append(tree.seq(_class(ranges), following))
        return tree.seq(tree.repeat(tree.alt(*stays)), tree.alt(*options)) if stays else tree.alt(*options)

    start = reference(0)
    for state in waiting:
        rules[names[state]] = moves_of(state, 0)
    return start


def _width(move: tuple[Ranges, int]) -> int:
    # The class with the most characters is last, because llama.cpp tries the last alternative first.
    return sum(high - low + 1 for low, high in move[0])


def _class(ranges: Ranges) -> tree.Node:
    return tree.seq(chr(ranges[0][0])) if ranges[0][0] == ranges[-1][1] else tree.CharClass(ranges)


def _is_length(part: tree.Node) -> bool:
    return isinstance(part, tree.Repeat) and part.body in (any_character("json"), any_character("glyph"))


def _keywords(part: tree.Node) -> tuple[str, ...]:
    if isinstance(part, tree.Repeat) and _is_length(part):
        least, most = LIMITS["length"]
        return (least,) * (part.minimum > 0) + (most,) * (part.maximum is not None)
    return ("format",) if part in _formats() else ("pattern",)


@lru_cache(maxsize=1)
def _formats() -> frozenset[tree.Node]:
    contents = [content for name in FORMATS if (content := format_node(name))]
    return frozenset(escaped(c, notation) for c in contents for notation in ("json", "glyph"))
