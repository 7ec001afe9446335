"""The rest of a body while a text is read, as terms; equal terms are the same object.

A body's term is stepped by partial derivatives (Antimirov 1996): after a character, the rest is again a term, so a
repetition keeps its bounds as two numbers, and `x{0,10000}` is never expanded. References to rules and tokens of a
vocabulary are steps like characters; the caller decides their meaning.
Nothing here recurses, so trees of any depth are possible. Tables refer to their terms weakly.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.tree import TokenMatch, Unordered

ENDLESS = 1 << 62
"""The value of `longest` for a language without a longest text; lengths are in characters."""

T = TypeVar("T", bound="Term")


class Term:
    """A language. `nullable`: the empty text is in it. `shortest` and `longest` bound the lengths of its texts.

    Many states have the same terms, so each term caches its `steps`, and its `shape` for `automaton.merged`.
    """

    __slots__ = ("__weakref__", "longest", "nullable", "serial", "shape", "shortest", "steps")

    def __init__(self, serial: int, nullable: bool, shortest: int, longest: int) -> None:
        self.steps: TermSteps | None = None
        self.shape: Any = None
        self.serial = serial
        self.nullable = nullable
        self.shortest = min(shortest, ENDLESS)
        self.longest = min(longest, ENDLESS)


class CharsTerm(Term):
    """One character of `ranges`."""

    __slots__ = ("ranges",)

    def __init__(self, serial: int, ranges: Ranges) -> None:
        super().__init__(serial, False, 1, 1)
        self.ranges = ranges


class Text(Term):
    """The literal `text` from the index `at` on."""

    __slots__ = ("at", "text")

    def __init__(self, serial: int, text: str, at: int) -> None:
        super().__init__(serial, False, len(text) - at, len(text) - at)
        self.text, self.at = text, at


class Cat(Term):
    """`head`, then `tail`."""

    __slots__ = ("head", "tail")

    def __init__(self, serial: int, head: Term, tail: Term) -> None:
        lengths = head.shortest + tail.shortest, head.longest + tail.longest
        super().__init__(serial, head.nullable and tail.nullable, *lengths)
        self.head, self.tail = head, tail


class ChoiceTerm(Term):
    """One of the options; without options, the empty language."""

    __slots__ = ("options",)

    def __init__(self, serial: int, options: tuple[Term, ...]) -> None:
        shortest = min((option.shortest for option in options), default=0)
        longest = max((option.longest for option in options), default=0)
        super().__init__(serial, any(option.nullable for option in options), shortest, longest)
        self.options = options


class LoopTerm(Term):
    """`body`, `minimum` to `maximum` times."""

    __slots__ = ("body", "maximum", "minimum")

    def __init__(self, serial: int, body: Term, minimum: int, maximum: int | None) -> None:
        longest = 0 if body.longest == 0 else ENDLESS if maximum is None else body.longest * maximum
        super().__init__(serial, minimum == 0, body.shortest * minimum, longest)
        self.body, self.minimum, self.maximum = body, minimum, maximum


class Intersection(Term):
    """The texts that all states accept. `possible` is None until it was tested whether there is any such text."""

    __slots__ = ("possible", "product", "states")

    def __init__(self, serial: int, states: tuple[DfaState, ...]) -> None:
        lengths = max([state.shortest for state in states]), min([state.longest for state in states])
        super().__init__(serial, all(state.final for state in states), *lengths)
        self.states = states
        self.possible = False if lengths[0] > lengths[1] else True if self.nullable else None
        self.product: list[tuple[Ranges, Intersection]] | None = None


class Complement(Intersection):
    """The texts that the state does not accept."""

    __slots__ = ()

    def __init__(self, serial: int, state: DfaState) -> None:
        Term.__init__(self, serial, not state.final, int(state.final), ENDLESS)
        self.states, self.possible, self.product = (state,), None if state.final else True, None


class Call(Term):
    """A text of the rule `name`."""

    __slots__ = ("name",)

    def __init__(self, serial: int, name: str, nullable: bool) -> None:
        super().__init__(serial, nullable, 0, ENDLESS)
        self.name = name


class TokenTerm(Term):
    """A token of a vocabulary."""

    __slots__ = ("match",)

    def __init__(self, serial: int, match: TokenMatch) -> None:
        super().__init__(serial, False, 0, ENDLESS)
        self.match = match


class EntryTerms:
    """The terms of an `Unordered`; `dead` has a bit for each entry without a text."""

    __slots__ = ("__weakref__", "dead", "node", "separator", "terms")

    def __init__(self, node: Unordered, terms: tuple[Term, ...], separator: Term, dead: int) -> None:
        self.node = node
        self.terms = terms
        self.separator = separator
        self.dead = dead

    def may_come(self, present: int, extra: int) -> tuple[int, ...]:
        """The entries that may be next."""
        return tuple(i for i in self.node.may_come(present, extra) if not self.dead >> i & 1)

    def shortest(self, present: int, extra: int, due: bool) -> int:
        """A lower bound on the rest's length, in characters."""
        left = self.node.required & ~present
        missing = [term.shortest for place, term in enumerate(self.terms) if left >> place & 1]
        if due and not missing:
            return min(self.terms[place].shortest for place in self.may_come(present, extra))
        return sum(missing) + self.separator.shortest * (len(missing) - due)


class MembersTerm(Term):
    """The rest of an `Unordered`. `due`: an entry must be next; otherwise a separator or nothing."""

    __slots__ = ("due", "entries", "extra", "present")

    def __init__(self, serial: int, entries: EntryTerms, present: int, extra: int, due: bool) -> None:
        may_end = not due and entries.node.may_end(present, extra)
        super().__init__(serial, may_end, entries.shortest(present, extra, due), ENDLESS)
        self.entries, self.present, self.extra, self.due = entries, present, extra, due


class Move(NamedTuple):
    """A step over one character of `ranges`; `literal` is the literal that it begins or continues, if any."""

    ranges: Ranges
    target: Term
    literal: Text | None


class TermSteps(NamedTuple):
    """All ways to continue from a term: by a character, a text of a rule, or a token."""

    moves: list[Move]
    calls: list[tuple[str, Term]]
    tokens: list[tuple[TokenMatch, Term]]
    intersections: list[tuple[Intersection, Term]]
    """The next intersections, each with the rest after it; their moves are those of their states."""


class DfaState:
    """A state of an automaton: `terms`, of which one is the rest of the text. `final`: the text may end here.

    `shortest` and `longest` bound the number of characters that may still follow.
    """

    __slots__ = (
        "__weakref__", "final", "known", "longest", "moves", "serial", "shortest", "steps", "targets", "terms",
    )  # fmt: skip

    def __init__(self, serial: int, terms: tuple[Term, ...]) -> None:
        self.serial = serial
        self.terms = terms
        self.final = any(term.nullable for term in terms)
        self.shortest = min((term.shortest for term in terms), default=0)
        self.longest = max((term.longest for term in terms), default=0)
        self.forget()

    def forget(self) -> None:
        """Drop all caches of this state."""
        self.steps: TermSteps | None = None
        self.moves: tuple[tuple[Ranges, DfaState], ...] | None = None
        self.targets: dict[str, DfaState | None] = {}
        self.known: dict[Any, Any] = {}  # a cache of the automaton's user


_BY_SERIAL = attrgetter("serial")


class Terms:
    """Makes terms, with the same object for equal terms (`_term`), and their derivatives (`steps`)."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[object, Term] = WeakValueDictionary()
        self._entries: WeakValueDictionary[object, EntryTerms] = WeakValueDictionary()
        self._serials = count()
        self.empty = Term(next(self._serials), True, 0, 0)
        self.never = self._term(ChoiceTerm, ())

    def _term(self, kind: type[T], *parts: Any) -> T:
        """The unique term of this kind with these parts."""
        key = (kind, *parts)
        term = self._known.get(key)
        if term is None:
            term = self._known[key] = kind(next(self._serials), *parts)
        return cast(T, term)

    def chars(self, ranges: Ranges) -> Term:
        """One character of the ranges."""
        return self._term(CharsTerm, ranges) if ranges else self.never

    def text(self, text: str, at: int = 0) -> Term:
        """The literal from `at` on."""
        return self._term(Text, text, at) if at < len(text) else self.empty

    def cat(self, head: Term, tail: Term) -> Term:
        """One after the other."""
        if head is self.empty or tail is self.never:
            return tail
        if tail is self.empty or head is self.never:
            return head
        return self._term(Cat, head, tail)

    def choice(self, options: Iterable[Term]) -> Term:
        """One of them."""
        distinct = tuple(dict.fromkeys(option for option in options if option is not self.never))
        if len(distinct) < 2:
            return distinct[0] if distinct else self.never
        return self._term(ChoiceTerm, distinct)

    def loop(self, body: Term, minimum: int, maximum: int | None) -> Term:
        """`minimum` to `maximum` times (None: unbounded)."""
        if maximum is not None and maximum < minimum:
            return self.never
        if body.nullable:
            minimum = 0  # the missing repetitions may be empty
        if maximum == 0 or body is self.empty:
            return self.empty
        if body is self.never:
            return self.never if minimum else self.empty
        return body if (minimum, maximum) == (1, 1) else self._term(LoopTerm, body, minimum, maximum)

    def intersection(self, states: Iterable[DfaState]) -> Intersection:
        """The intersection of all, without testing whether it is empty."""
        return self._term(Intersection, tuple(sorted(set(states), key=_BY_SERIAL)))

    def complement(self, state: DfaState) -> Intersection:
        """The texts that the state does not accept."""
        return self._term(Complement, state)

    def call(self, name: str, nullable: bool) -> Term:
        """A text of the rule."""
        return self._term(Call, name, nullable)

    def token(self, match: TokenMatch) -> Term:
        """One token of a vocabulary."""
        return self._term(TokenTerm, match)

    def entries(self, node: Unordered, listed: tuple[Term, ...], separator: Term) -> EntryTerms:
        """The parts of an `Unordered`: its members, the free entry, and the separator."""
        key = (listed, separator, node.required, node.low, node.high)
        entries = self._entries.get(key)
        if entries is None:
            dead = sum(1 << place for place, term in enumerate(listed) if term is self.never)
            entries = self._entries[key] = EntryTerms(node, listed, separator, dead)
        return entries

    def members(self, entries: EntryTerms, present: int = 0, extra: int = 0, *, due: bool) -> Term:
        """The rest after the members `present` (bits) and `extra` free entries."""
        if entries.may_come(present, extra):
            return self._term(MembersTerm, entries, present, extra, due)
        return self.empty if not due and entries.node.may_end(present, extra) else self.never

    def steps(self, terms: Iterable[Term]) -> TermSteps:
        """The ways to continue from any of the terms, in the order of the body."""
        found = TermSteps([], [], [], [])
        for term in terms:
            steps = term.steps
            if steps is None:
                steps = term.steps = self._steps(term)
            found.moves.extend(steps.moves)
            found.calls.extend(steps.calls)
            found.tokens.extend(steps.tokens)
            found.intersections.extend(steps.intersections)
        return found

    def forget(self) -> None:
        """Drop the caches of all terms."""
        for term in list(self._known.values()):
            term.steps = term.shape = None

    def _steps(self, term: Term) -> TermSteps:
        steps = TermSteps([], [], [], [])
        waiting = [(term, self.empty)]
        seen = set()
        while waiting:
            pair = waiting.pop()
            if pair in seen:
                continue
            seen.add(pair)
            term, rest = pair
            if isinstance(term, Text):
                code = ord(term.text[term.at])
                target = self.cat(self.text(term.text, term.at + 1), rest)
                steps.moves.append(Move(((code, code),), target, term))
            elif isinstance(term, CharsTerm):
                steps.moves.append(Move(term.ranges, rest, None))
            elif isinstance(term, Cat):
                if term.head.nullable:
                    waiting.append((term.tail, rest))
                waiting.append((term.head, self.cat(term.tail, rest)))
            elif isinstance(term, ChoiceTerm):
                waiting += [(option, rest) for option in reversed(term.options)]
            elif isinstance(term, LoopTerm):
                most = None if term.maximum is None else term.maximum - 1
                following = self.loop(term.body, max(0, term.minimum - 1), most)
                waiting.append((term.body, self.cat(following, rest)))
            elif isinstance(term, Call):
                steps.calls.append((term.name, rest))
            elif isinstance(term, TokenTerm):
                steps.tokens.append((term.match, rest))
            elif isinstance(term, MembersTerm):
                for one, left in reversed(self._further(term)):
                    if one.nullable:  # a separator
                        waiting.append((left, rest))
                    waiting.append((one, self.cat(left, rest)))
            elif isinstance(term, Intersection):
                steps.intersections.append((term, rest))
        return steps

    def _further(self, term: MembersTerm) -> list[tuple[Term, Term]]:
        """The next parts, each with the rest after it."""
        entries, present, extra = term.entries, term.present, term.extra
        if not term.due:
            return [(entries.separator, self.members(entries, present, extra, due=True))]
        return [
            (
                entries.terms[place],
                self.members(entries, *entries.node.after(place, present, extra), due=False),
            )
            for place in entries.may_come(present, extra)
        ]
