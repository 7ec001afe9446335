"""What is left of a body while a text is read: terms, equal ones being one object.

A body's term is stepped by partial derivatives (Antimirov 1996): the step over a character is a term again, so a
repetition keeps its bounds as two numbers and `x{0,10000}` is never written out. References to rules and tokens of a
vocabulary are steps like characters are; whoever reads the terms decides what they mean.
Nothing here recurses: a tree may be as deep as it likes. Tables hold their terms weakly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

from glyphscope.errors import GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.tree import (
    Alt,
    CharClass,
    Intersect,
    Literal,
    Node,
    Repeat,
    Seq,
    Terminal,
    TokenMatch,
)  # fmt: skip

ENDLESS = 1 << 62
"""The length of the longest text where there is none; lengths are in characters."""

T = TypeVar("T", bound="Term")


class Term:
    """A language. `nullable`: the empty text is in it. `shortest` and `longest` bound the lengths of its texts."""

    __slots__ = ("__weakref__", "longest", "nullable", "serial", "shortest")

    def __init__(self, serial: int, nullable: bool, shortest: int, longest: int) -> None:
        self.serial = serial
        self.nullable = nullable
        self.shortest = min(shortest, ENDLESS)
        self.longest = min(longest, ENDLESS)


class Chars(Term):
    """One character of `ranges`."""

    __slots__ = ("ranges",)
    ranges: Ranges


class Text(Term):
    """The literal `text` from the index `at` on."""

    __slots__ = ("at", "text")
    text: str
    at: int


class Cat(Term):
    """`head`, then `tail`."""

    __slots__ = ("head", "tail")
    head: Term
    tail: Term


class Choice(Term):
    """One of the options; without any it is the language without a text."""

    __slots__ = ("options",)
    options: tuple[Term, ...]


class Loop(Term):
    """`body`, `minimum` to `maximum` times."""

    __slots__ = ("body", "maximum", "minimum")
    body: Term
    minimum: int
    maximum: int | None


class Both(Term):
    """What all the places accept. `possible` is None until somebody asked whether there is any such text."""

    __slots__ = ("places", "possible", "product")
    places: tuple[Place, ...]
    possible: bool | None
    product: list[tuple[Ranges, Both]] | None


class Call(Term):
    """A text of the rule `name`."""

    __slots__ = ("name",)
    name: str


class Token(Term):
    """A token of a vocabulary."""

    __slots__ = ("match",)
    match: TokenMatch


class Move(NamedTuple):
    """A step over one character of `ranges`; `literal` is the literal that it begins or goes on with, if it is one."""

    ranges: Ranges
    target: Term
    literal: Text | None


class Steps(NamedTuple):
    """All the ways to go on from a term: by a character, by a text of a rule, by a token."""

    moves: list[Move]
    calls: list[tuple[str, Term]]
    tokens: list[tuple[TokenMatch, Term]]
    meetings: list[tuple[Both, Term]]
    """Intersections that come next, and what follows each: their moves are their places' to tell."""


class Place:
    """A state. `final`: the text may end here. `shortest` and `longest` bound what may still follow, in characters."""

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
        """Drops what can be made again."""
        self.steps: Steps | None = None
        self.moves: tuple[tuple[Ranges, Place], ...] | None = None
        self.targets: dict[str, Place | None] = {}
        self.known: dict[Any, Any] = {}  # whatever the automaton's user remembers about the place


class Terms:
    """The makers of terms, each returning the one that is there already, and `steps`."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[object, Term] = WeakValueDictionary()
        self._serials = count()
        self.empty = Term(next(self._serials), True, 0, 0)
        self.never = self._make(Choice, (Choice,), False, 0, 0)
        self.never.options = ()

    def _make(self, kind: type[T], key: object, nullable: bool, shortest: int, longest: int) -> T:
        term = kind(next(self._serials), nullable, shortest, longest)
        self._known[key] = term
        return term

    def chars(self, ranges: Ranges) -> Term:
        """One character of the ranges."""
        if not ranges:
            return self.never
        key = (Chars, ranges)
        term = cast(Chars | None, self._known.get(key))
        if term is None:
            term = self._make(Chars, key, False, 1, 1)
            term.ranges = ranges
        return term

    def text(self, text: str, at: int = 0) -> Term:
        """The literal from `at` on."""
        if at >= len(text):
            return self.empty
        key = (Text, text, at)
        term = cast(Text | None, self._known.get(key))
        if term is None:
            term = self._make(Text, key, False, len(text) - at, len(text) - at)
            term.text, term.at = text, at
        return term

    def cat(self, head: Term, tail: Term) -> Term:
        """One after the other."""
        if head is self.empty or tail is self.never:
            return tail
        if tail is self.empty or head is self.never:
            return head
        key = (Cat, head, tail)
        term = cast(Cat | None, self._known.get(key))
        if term is None:
            nullable = head.nullable and tail.nullable
            lengths = head.shortest + tail.shortest, head.longest + tail.longest
            term = self._make(Cat, key, nullable, *lengths)
            term.head, term.tail = head, tail
        return term

    def choice(self, options: Iterable[Term]) -> Term:
        """One of them."""
        distinct = tuple(dict.fromkeys(option for option in options if option is not self.never))
        if len(distinct) < 2:
            return distinct[0] if distinct else self.never
        key = (Choice, distinct)
        term = cast(Choice | None, self._known.get(key))
        if term is None:
            nullable = any(option.nullable for option in distinct)
            lengths = min(o.shortest for o in distinct), max(o.longest for o in distinct)
            term = self._make(Choice, key, nullable, *lengths)
            term.options = distinct
        return term

    def loop(self, body: Term, minimum: int, maximum: int | None) -> Term:
        """`minimum` to `maximum` times, None being without end."""
        if maximum is not None and maximum < minimum:
            return self.never
        if body.nullable:
            minimum = 0  # the missing ones may be empty
        if maximum == 0 or body is self.empty:
            return self.empty
        if body is self.never:
            return self.never if minimum else self.empty
        if (minimum, maximum) == (1, 1):
            return body
        key = (Loop, body, minimum, maximum)
        term = cast(Loop | None, self._known.get(key))
        if term is None:
            longest = 0 if body.longest == 0 else ENDLESS if maximum is None else body.longest * maximum
            term = self._make(Loop, key, minimum == 0, body.shortest * minimum, longest)
            term.body, term.minimum, term.maximum = body, minimum, maximum
        return term

    def both(self, places: Iterable[Place]) -> Both:
        """What is in all of them; whether that is anything is not asked."""
        distinct = tuple(sorted(set(places), key=lambda place: place.serial))
        key = (Both, distinct)
        term = cast(Both | None, self._known.get(key))
        if term is None:
            nullable = all(place.final for place in distinct)
            lengths = max(p.shortest for p in distinct), min(p.longest for p in distinct)
            term = self._make(Both, key, nullable, *lengths)
            term.places, term.possible, term.product = distinct, True if nullable else None, None
            if lengths[0] > lengths[1]:
                term.possible = False
        return term

    def call(self, name: str, nullable: bool) -> Term:
        """A text of the rule."""
        key = (Call, name)
        term = cast(Call | None, self._known.get(key))
        if term is None:
            term = self._make(Call, key, nullable, 0, ENDLESS)
            term.name = name
        return term

    def token(self, match: TokenMatch) -> Term:
        """One token of a vocabulary."""
        key = (Token, match)
        term = cast(Token | None, self._known.get(key))
        if term is None:
            term = self._make(Token, key, False, 0, ENDLESS)
            term.match = match
        return term

    def steps(self, terms: Iterable[Term]) -> Steps:
        """The ways to go on from any of the terms, in the order in which the body has them."""
        found = Steps([], [], [], [])
        waiting = [(term, self.empty) for term in terms][::-1]
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
                found.moves.append(Move(((code, code),), target, term))
            elif isinstance(term, Chars):
                found.moves.append(Move(term.ranges, rest, None))
            elif isinstance(term, Cat):
                if term.head.nullable:
                    waiting.append((term.tail, rest))
                waiting.append((term.head, self.cat(term.tail, rest)))
            elif isinstance(term, Choice):
                waiting += [(option, rest) for option in reversed(term.options)]
            elif isinstance(term, Loop):
                most = None if term.maximum is None else term.maximum - 1
                following = self.loop(term.body, max(0, term.minimum - 1), most)
                waiting.append((term.body, self.cat(following, rest)))
            elif isinstance(term, Call):
                found.calls.append((term.name, rest))
            elif isinstance(term, Token):
                found.tokens.append((term.match, rest))
            elif isinstance(term, Both):
                found.meetings.append((term, rest))
        return found


def term_of(
    node: Node,
    terms: Terms,
    meet: Callable[[list[Term]], Term],
    call: Callable[[str], Term] | None = None,
    *,
    backwards: bool = False,
) -> Term:
    """The term of a node. `meet` makes an intersection; `call` a reference, which is an error without it.

    `backwards`: of the texts read from their ends. Raises GrammarError.
    """
    done: list[Term] = []
    waiting: list[tuple[Node, int]] = [(node, -1)]
    while waiting:
        node, taken = waiting.pop()
        if taken >= 0:
            parts = done[len(done) - taken :]
            del done[len(done) - taken :]
            done.append(_joined(node, parts, terms, meet, backwards))
        elif isinstance(node, Seq | Intersect | Alt):
            inner = node.options if isinstance(node, Alt) else node.parts
            waiting.append((node, len(inner)))
            waiting += [(part, -1) for part in reversed(inner)]
        elif isinstance(node, Repeat | Terminal):
            waiting += [(node, 1), (node.body, -1)]
        elif isinstance(node, Literal):
            done.append(terms.text(node.text[::-1] if backwards else node.text))
        elif isinstance(node, CharClass):
            ranges = chars.complement(node.ranges) if node.negated else node.ranges
            done.append(terms.chars(chars.intersection(ranges, chars.ALL)))
        elif isinstance(node, TokenMatch):
            done.append(terms.token(node))
        else:
            if call is None:
                raise GrammarError("What is one lexeme refers to no rule.", where=node.name)
            done.append(call(node.name))
    return done[0]


def _joined(
    node: Node, parts: list[Term], terms: Terms, meet: Callable[[list[Term]], Term], backwards: bool
) -> Term:
    if isinstance(node, Seq):
        whole = terms.empty
        for part in parts if backwards else reversed(parts):
            whole = terms.cat(part, whole)
        return whole
    if isinstance(node, Alt):
        return terms.choice(parts)
    if isinstance(node, Intersect):
        return terms.never if terms.never in parts else meet(parts)
    if isinstance(node, Repeat):
        return terms.loop(parts[0], node.minimum, node.maximum)
    return parts[0]


Shape = tuple[tuple[object, ...], tuple[tuple[int, int], ...]]


def merged(terms: Terms, listed: Iterable[Term]) -> list[Term]:
    """The same language in fewer terms: those that differ in how often something may still be repeated become one.

    Without this `([a-z]{1,3}){0,1000}` would come to hundreds of terms for every character.
    """
    found = [term for term in dict.fromkeys(listed) if term is not terms.never]
    if len(found) < 2:
        return found
    groups: dict[tuple[object, ...], dict[tuple[tuple[int, int], ...], Term]] = {}
    plain: list[Term] = []
    for term in found:
        skeleton, counts = _shape(term)
        if counts:
            groups.setdefault(skeleton, {})[counts] = term
        else:
            plain.append(term)
    for skeleton, rows in groups.items():
        joined = _joined_counts(list(rows)) if len(rows) > 1 else rows
        plain += [rows.get(row) or _rebuilt(terms, skeleton, row) for row in joined]
    if terms.empty in plain and any(term.nullable for term in plain if term is not terms.empty):
        plain.remove(terms.empty)
    return sorted(plain, key=lambda term: term.serial)


_SPINE = 6  # how many pieces of a term are looked at


def _shape(term: Term) -> Shape:
    """What a term is but for the bounds of its repetitions, and these."""
    skeleton: list[object] = []
    counts: list[tuple[int, int]] = []
    for _ in range(_SPINE):
        head = term.head if isinstance(term, Cat) else term
        if isinstance(head, Loop):
            skeleton.append((head.body,))
            counts.append((head.minimum, ENDLESS if head.maximum is None else head.maximum))
        else:
            skeleton.append(head)
        if not isinstance(term, Cat):
            return tuple(skeleton), tuple(counts)
        term = term.tail
    skeleton.append(term)
    return tuple(skeleton), tuple(counts)


def _rebuilt(terms: Terms, skeleton: tuple[object, ...], counts: tuple[tuple[int, int], ...]) -> Term:
    whole = terms.empty
    left = list(counts)
    for piece in reversed(skeleton):
        if isinstance(piece, Term):
            part = piece
        else:
            low, high = left.pop()
            (body,) = cast(tuple[Term], piece)
            part = terms.loop(body, low, None if high == ENDLESS else high)
        whole = terms.cat(part, whole)
    return whole


def _joined_counts(rows: list[tuple[tuple[int, int], ...]]) -> list[tuple[tuple[int, int], ...]]:
    """Rows of intervals; two that differ in one interval only, and there touch, are one. Covered rows are gone."""
    width = len(rows[0])
    before = 0
    while before != len(rows):
        before = len(rows)
        for column in range(width):
            by_others: dict[object, list[tuple[int, int]]] = {}
            for row in rows:
                by_others.setdefault((row[:column], row[column + 1 :]), []).append(row[column])
            rows = []
            for others, intervals in by_others.items():
                start, end = cast(tuple[tuple[tuple[int, int], ...], ...], others)
                rows += [(*start, interval, *end) for interval in chars.union(intervals)]
    if width > 1 and 1 < len(rows) <= 64:
        rows = [row for row in rows if not any(other != row and _covers(other, row) for other in rows)]
    return rows


def _covers(one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> bool:
    return all(a[0] <= b[0] and b[1] <= a[1] for a, b in zip(one, other, strict=True))
