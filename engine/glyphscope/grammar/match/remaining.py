"""The minimal cost of completing a text, from any state and by any measure, and a text with that cost.

The cost of a state is the cost of an actual completion: there is always a next piece of text (a literal, a character, a
token) that reduces the cost of the state by its own cost. Costs are those of `shortest.py`: the measure's cost times
`UNIT`, plus 1 for each rule entered, so that following the cheapest path terminates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import Frame, Item, State
from glyphscope.grammar.match.rule_automata import RuleAutomata
from glyphscope.grammar.regular import derivatives
from glyphscope.grammar.shortest import CHARACTER, TOO_MUCH, Measure, Shortest, cheapest_path
from glyphscope.grammar.traversal import callees_first
from glyphscope.grammar.tree import TokenMatch

UNIT = CHARACTER
MAX_PIECES = 100_000
"""The maximum number of pieces of a shortest text."""


class PieceMeasure(Measure, Protocol):
    """A measure that also knows the costs of a literal's suffixes, and the cheapest character."""

    def suffixes(self, text: str) -> Sequence[int | None]:
        """The cost of the rest of the literal from each of its characters on, and 0 at its end."""

    def cheapest(self, ranges: Ranges) -> str:
        """The character whose cost is `one_of`."""


class TextPiece(NamedTuple):
    """The next piece of a text: characters, or a single token of a vocabulary."""

    text: str
    token: TokenMatch | None = None


class Remaining:
    """The costs of the states of one compiled grammar. Raises GrammarError like `Automaton`."""

    def __init__(self, compiled: RuleAutomata, measure: PieceMeasure) -> None:
        self.measure = measure
        self.compiled = compiled
        self._shortest = Shortest(compiled.grammar, measure)
        self._terms: dict[int, int] = {}  # the costs of terms, by their serial numbers
        self._after: dict[Frame, int] = {}  # the cost from a rule's end to the text's end
        self._out: dict[
            Frame, int
        ] = {}  # the cost from a rule's end until no rule with a name of `leaving` is open
        self._inside: dict[Frame, bool] = {}  # whether such a rule is open

    def of(self, state: State) -> int:
        """The cost of completing the text; `TOO_MUCH` if it cannot be completed."""
        return min((self._item(item) for item in state.items), default=TOO_MUCH)

    def next_piece(self, state: State) -> TextPiece | None:
        """The next piece of a cheapest completion (with the cost `of`); None if the text is already complete."""
        place, frame = min(state.items, key=self._item)
        while True:
            if self.place(place):
                return self._first_piece(place)
            if not frame.edges:
                return None
            place, frame = min(frame.edges, key=self._item)

    def leaving(self, state: State, named: Callable[[str], bool]) -> int:
        """The cost until no rule with one of these names is open; 0 if none must be open now.

        The names must be the same in all calls.
        """
        steps = self.compiled.automaton.steps
        cheapest = TOO_MUCH
        for place, frame in state.ways:
            here = steps(place)
            if not (here.moves or here.tokens or (place.final and not frame.edges)):
                continue  # it waits for other rules
            if not self._is_inside(frame, named):
                return 0
            if frame not in self._out:
                cheapest_path(
                    frame,
                    lambda one: ((self.place(p) + 1, o) for p, o in one.edges if self._is_inside(o, named)),
                    lambda one: (
                        None if one.edges and all(self._is_inside(o, named) for _, o in one.edges) else 0
                    ),
                    self._out,
                )
            cheapest = min(cheapest, self.place(place) + self._out[frame])
        return cheapest

    def _is_inside(self, frame: Frame, named: Callable[[str], bool]) -> bool:
        """Whether the rule has such a name, or all of its callers are inside such a rule."""
        inside = self._inside

        def callers(at: Frame) -> list[Frame]:
            return [] if named(at.rule) else [outer for _, outer in at.edges if outer not in inside]

        if frame not in inside:
            for at in callees_first([frame], callers):
                outer = [inside[o] for _, o in at.edges if o in inside]
                inside[at] = named(at.rule) or (bool(outer) and all(outer))
        return inside[frame]

    def place(self, place: derivatives.DfaState) -> int:
        """The cost of the rest of a rule's body."""
        return min((self.term(term) for term in place.terms), default=TOO_MUCH)

    def term(self, term: derivatives.Term) -> int:
        """The cost of a text of the term."""
        known = self._terms
        if term.serial not in known:
            for part in callees_first([term], lambda t: [p for p in _parts(t) if p.serial not in known]):
                known[part.serial] = min(TOO_MUCH, self._cost(part))
        return known[term.serial]

    def _item(self, item: Item) -> int:
        place, frame = item
        return min(TOO_MUCH, self.place(place) + self._beyond(frame))

    def _beyond(self, frame: Frame) -> int:
        """The cost of the part after the rule."""
        if frame not in self._after:
            cheapest_path(frame, self._callers, lambda one: None if one.edges else 0, self._after)
        return self._after[frame]

    def _callers(self, frame: Frame) -> Iterator[tuple[int, Frame]]:
        # 1 more for each caller, so that the cheapest path has no cycle
        return ((self.place(place) + 1, outer) for place, outer in frame.edges)

    def _cost(self, term: derivatives.Term) -> int:
        """The cost of a term, given the costs of its parts."""
        if term.nullable:
            return 0
        known = self._terms
        if isinstance(term, derivatives.Text):
            return _priced(self.measure.suffixes(term.text)[term.at])
        if isinstance(term, derivatives.CharsTerm):
            return _priced(self.measure.one_of(term.ranges))
        if isinstance(term, derivatives.Cat):
            return known[term.head.serial] + known[term.tail.serial]
        if isinstance(term, derivatives.ChoiceTerm):
            return min((known[option.serial] for option in term.options), default=TOO_MUCH)
        if isinstance(term, derivatives.LoopTerm):
            return known[term.body.serial] * term.minimum
        if isinstance(term, derivatives.Call):
            return self._shortest.rule_cost(term.name) + 1
        if isinstance(term, derivatives.MembersTerm):
            return self._members(term)
        if isinstance(term, derivatives.Intersection):
            return self._intersection(term)
        return _priced(self.measure.token if isinstance(term, derivatives.TokenTerm) else None)

    def _members(self, term: derivatives.MembersTerm) -> int:
        chosen = self._entries_to_come(term)
        separators = len(chosen) - term.due
        listed = term.entries.terms
        return sum(self.term(listed[place]) for place in chosen) + separators * self.term(
            term.entries.separator
        )

    def _entries_to_come(self, term: derivatives.MembersTerm) -> list[int]:
        """The costs of the cheapest entries that complete the object: the required ones, and as many more as needed."""
        node, entries = term.entries.node, term.entries
        may_come = entries.may_come(term.present, term.extra)
        chosen = [place for place in may_come if node.required >> place & 1]
        more = node.low - term.present.bit_count() - term.extra - len(chosen)
        if not chosen:
            more = max(more, int(term.due))
        free = len(node.members)
        others = sorted(
            (place for place in may_come if not node.required >> place & 1),
            key=lambda place: self.term(entries.terms[place]),
        )
        while more > 0 and others:
            chosen.append(others[0])
            if others[0] != free:
                del others[0]
            more -= 1
        return chosen

    def _intersection(self, term: derivatives.Intersection) -> int:
        """The cost of an intersection: that of the nearest of its states in which the text may end."""
        serials: dict[int, derivatives.Intersection] = {}

        def onward(serial: int) -> Iterator[tuple[int, int]]:
            for ranges, target in self._moves(serials[serial]):
                price = self.measure.one_of(ranges)
                if price is not None:
                    serials[target.serial] = target
                    yield price * UNIT, target.serial

        serials[term.serial] = term
        cheapest_path(
            term.serial,
            onward,
            lambda n: 0 if serials[n].nullable else None,
            self._terms,
            lambda n: serials[n].shortest * UNIT,
        )
        return self._terms[term.serial]

    def _moves(self, both: derivatives.Intersection) -> Iterator[tuple[Ranges, derivatives.Intersection]]:
        automaton = self.compiled.automaton
        for move in automaton.steps(automaton.state([both])).moves:
            if isinstance(move.target, derivatives.Intersection):
                yield move.ranges, move.target

    def _first_piece(self, place: derivatives.DfaState) -> TextPiece:
        term = min(place.terms, key=self.term)
        while True:
            if isinstance(term, derivatives.Text):
                return TextPiece(term.text[term.at :])
            if isinstance(term, derivatives.CharsTerm):
                return TextPiece(self.measure.cheapest(term.ranges))
            if isinstance(term, derivatives.TokenTerm):
                return TextPiece("", term.match)
            if isinstance(term, derivatives.Cat):
                term = term.head if self.term(term.head) else term.tail
            elif isinstance(term, derivatives.ChoiceTerm):
                term = min(term.options, key=self.term)
            elif isinstance(term, derivatives.LoopTerm):
                term = term.body
            elif isinstance(term, derivatives.Call):
                term = min(self.compiled.start_of(term.name).terms, key=self.term)
            elif isinstance(term, derivatives.MembersTerm):
                separator = term.entries.separator
                if not term.due and self.term(separator):
                    term = separator
                else:
                    term = term.entries.terms[self._entries_to_come(term)[0]]
            else:
                assert isinstance(term, derivatives.Intersection)
                moves = [(r, t) for r, t in self._moves(term) if self.measure.one_of(r) is not None]
                ranges, _ = min(moves, key=lambda m: self.term(m[1]) + _priced(self.measure.one_of(m[0])))
                return TextPiece(self.measure.cheapest(ranges))


def _parts(term: derivatives.Term) -> tuple[derivatives.Term, ...]:
    """The terms whose costs make up the term's, unless it is nullable."""
    if term.nullable:
        return ()
    if isinstance(term, derivatives.Cat):
        return term.head, term.tail
    if isinstance(term, derivatives.ChoiceTerm):
        return term.options
    if isinstance(term, derivatives.LoopTerm):
        return (term.body,)
    if isinstance(term, derivatives.MembersTerm):
        return (*term.entries.terms, term.entries.separator)
    return ()


def _priced(cost: int | None) -> int:
    return TOO_MUCH if cost is None else min(TOO_MUCH, cost * UNIT)
