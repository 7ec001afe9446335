"""Texts of a grammar: random ones, or enough to cover every alternative.

Every walk ends: beyond the depth bound, or if a text gets long, it takes the choice with the shortest text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from random import Random
from typing import NamedTuple, TypeAlias

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.nullability import check_references
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.grammar.shortest import Shortest, shortest_path
from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.tree import ByIdentity, Grammar, Node

MAX_LENGTH = 100_000
"""Characters; a grammar with only longer texts is rejected."""
ROOM = 20_000
"""Characters by which a random text may exceed the shortest one."""
MANY = 1_000
"""The maximum number of written repetitions of an item that can be empty."""
SKIPPED = 0.2
"""The probability that something that a lexer skips is written, once."""
TRIES = 10
"""The number of texts made for each text that a lexer must be able to read."""
CHOICES = 3_000
"""The maximum number of random choices in one text; all further ones take the shortest text."""
MAX_SHOWN = 300
"""Characters of a shown text; longer ones are omitted, or cut if all are longer."""
PLAIN: Ranges = ((0x20, 0x20), (0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A))
PRINTABLE: Ranges = ((0x20, 0x7E),)

Way: TypeAlias = "tuple[int, Way] | None"
"""The path from the root to a node, as a linked list: the index of a part, and the path from there."""
Trail: TypeAlias = "tuple[Trail, int] | None"
"""The same path linked from its end: the path to the part's parent, and its index."""
Choice: TypeAlias = tuple[int, int]
"""An alternative, an optional part or an entry: the id of the node, and the index of its part."""


def sample_texts(grammar: Grammar, n: int, *, seed: int = 0, depth: int = 12) -> list[str]:
    """`n` texts of the grammar, the same for the same seed; they may repeat.

    Beyond `depth` nested rules, every choice is the shortest. Characters are mostly letters and digits if the grammar
    allows them. Raises GrammarError for a grammar without a text. With a lexer that takes the longest lexeme, texts
    that it cannot read are left out, so that there may be fewer.
    """
    shortest = _checked(ByIdentity(grammar))
    random = Random(seed)
    if grammar.lexer is None:
        return [_Walk(grammar, shortest, random, depth).text() for _ in range(n)]
    texts = (_Walk(grammar, shortest, random, depth).text() for _ in range(n * TRIES))
    return list(islice(_readable(grammar, texts), n))


def short_samples(grammar: Grammar, count: int, seed: int = 0) -> tuple[str, ...]:
    """Random texts of the grammar to be shown, short ones first, without duplicates. Raises GrammarError."""
    texts = dict.fromkeys(sample_texts(grammar, 3 * count, seed=seed, depth=8))
    short = [text for text in texts if len(text) <= MAX_SHOWN] or [text[:MAX_SHOWN] for text in texts]
    return tuple(sorted(short[:count], key=len))


def _readable(grammar: Grammar, texts: Iterable[str]) -> Iterator[str]:
    """The texts that the lexer of the grammar reads as its rules have them."""
    start = compile_grammar(grammar).start()
    return (text for text in texts if start.feed(text).accepted)


def texts_of_rules(grammar: Grammar, n: int) -> Iterator[str]:
    """Covering and random texts of the rules, `n` each at most, also those that a lexer cannot read."""
    shortest = _checked(ByIdentity(grammar))
    random = Random(0)
    yield from _covering(grammar, n)
    yield from (_Walk(grammar, shortest, random, 6).text() for _ in range(n))


def texts_by_rule(grammar: Grammar, n: int) -> Iterator[tuple[str, list[str]]]:
    """For each rule with a text, short texts of it: random ones, and those of its alternatives, `n` each at most.

    They are not read by a lexer.
    """
    shortest = _checked(ByIdentity(grammar))
    random = Random(0)
    for name, rule in grammar.rules.items():
        length = shortest.rule_length(name)
        if length is not None and length <= MAX_LENGTH:
            of_rule = dataclasses.replace(grammar, root=name)
            trails = [piece.trail for piece in _pieces(rule.body, shortest) if piece.choice is not None][:n]
            ways = [*(_from_root({}, name, trail) for trail in trails), *[None] * n]
            yield name, [_Walk(of_rule, shortest, random, 2).text(way) for way in ways]


def covering_texts(grammar: Grammar, *, limit: int = 1_000) -> list[str]:
    """The shortest text, and a short text for each reachable rule, alternative and optional part.

    Returns at most `limit` texts. Raises GrammarError for a grammar without a text.
    """
    texts = _covering(grammar, limit)
    return list(_readable(grammar, texts)) if grammar.lexer else texts


def _covering(grammar: Grammar, limit: int) -> list[str]:
    shortest = _checked(ByIdentity(grammar))
    random = Random(0)
    covered: set[Choice] = set()
    texts: dict[str, None] = {_Walk(grammar, shortest, random, 0, covered).text(): None}
    callers: dict[str, tuple[str, Trail]] = {}
    waiting = [grammar.root]
    seen = {grammar.root}
    for name in waiting:  # grows in this loop
        for piece in _pieces(grammar.rules[name].body, shortest):
            called = piece.called
            if called is not None and called not in seen and shortest.rule_length(called) is not None:
                seen.add(called)
                waiting.append(called)
                callers[called] = (name, piece.trail)
            if piece.choice is None or piece.choice in covered or len(texts) >= limit:
                continue
            way = _from_root(callers, name, piece.trail)
            texts[_Walk(grammar, shortest, random, 0, covered).text(way)] = None
    return list(texts)


@lru_cache(maxsize=4)
def _checked(key: ByIdentity[Grammar]) -> Shortest:
    grammar = key.value
    check_references(grammar)
    shortest = Shortest(grammar)
    length = shortest.rule_length(grammar.root)
    if length is None:
        raise GrammarError(
            "The grammar has no text: each would have to contain itself, or a token.", where=grammar.root
        )
    if length > MAX_LENGTH:
        raise GrammarError(
            f"The grammar's shortest text has more than {MAX_LENGTH:,} characters.",
            where=grammar.root,
            hint="Make its repetitions smaller.",
        )
    return shortest


def _from_root(callers: dict[str, tuple[str, Trail]], rule: str, trail: Trail) -> Way:
    way: Way = None
    while True:
        while trail is not None:
            trail, step = trail
            way = (step, way)
        if rule not in callers:
            return way
        rule, trail = callers[rule]


class _Piece(NamedTuple):
    """A part of a body to visit: the choice that it covers, the trail to it, and the rule that it calls."""

    choice: Choice | None
    trail: Trail
    called: str | None


def _pieces(body: Node, shortest: Shortest) -> list[_Piece]:
    """The parts of a body that are choices or call a rule, in the order of the text."""
    pieces: list[_Piece] = []
    waiting: list[tuple[Node, Trail, Choice | None]] = [(body, None, None)]
    while waiting:
        node, trail, choice = waiting.pop()
        if shortest.length(node) is None:
            continue
        called = node.name if isinstance(node, tree.RuleRef) else None
        if choice is not None or called is not None:
            pieces.append(_Piece(choice, trail, called))
        if isinstance(node, tree.Seq):
            if all(shortest.length(part) is not None for part in node.parts):
                waiting += [(part, (trail, i), None) for i, part in reversed(list(enumerate(node.parts)))]
        elif isinstance(node, tree.Alt):
            options = reversed(list(enumerate(node.options)))
            waiting += [(option, (trail, i), (id(node), i)) for i, option in options]
        elif isinstance(node, tree.Repeat):
            if node.maximum != 0 and shortest.length(node.body) is not None:
                waiting.append((node.body, (trail, 0), (id(node), 0) if node.minimum == 0 else None))
        elif isinstance(node, tree.Terminal):
            waiting.append((node.body, (trail, 0), None))
        elif isinstance(node, tree.Unordered):
            entries = enumerate((*node.members, node.free))
            choices = [(e, i, None if node.required >> i & 1 else (id(node), i)) for i, e in entries]
            waiting += [(entry, (trail, i), choice) for entry, i, choice in reversed(choices)]
    return pieces


class _Walk:
    """Makes one text, in the limited time of the current work. `covered` collects the choices taken."""

    def __init__(
        self, grammar: Grammar, shortest: Shortest, random: Random, depth: int,
        covered: set[Choice] | None = None,
    ) -> None:  # fmt: skip
        self.grammar = grammar
        self.shortest = shortest
        self.random = random
        self.depth = depth
        self.covered = set() if covered is None else covered
        self.room = ROOM
        self.choices = CHOICES if depth else 0
        self.skipped = grammar.lexer.skipped if grammar.lexer else frozenset()

    def text(self, way: Way = None) -> str:
        """The text; the choices on `way` are forced."""
        pieces: list[str] = []
        waiting: list[tuple[Node, int, Way]] = [(tree.RuleRef(self.grammar.root), 0, way)]
        while waiting:
            check_time()
            node, depth, way = waiting.pop()
            free = depth <= self.depth and self.choices > 0
            if isinstance(node, tree.Literal):
                pieces.append(node.text)
            elif isinstance(node, tree.CharClass):
                ranges = chars.complement(node.ranges) if node.negated else node.ranges
                pieces.append(self._character(_common(ranges, chars.ALL)))
            elif isinstance(node, tree.Seq) and way is None:
                waiting += [(part, depth, None) for part in node.parts[::-1]]
            elif isinstance(node, tree.Seq):
                forced, rest = way or (-1, None)
                parts = reversed(list(enumerate(node.parts)))
                waiting += [(part, depth, rest if index == forced else None) for index, part in parts]
            elif isinstance(node, tree.Alt):
                index = self._option(node, free) if way is None else way[0]
                self.covered.add((id(node), index))
                waiting.append((node.options[index], depth, way[1] if way else None))
            elif isinstance(node, tree.Repeat):
                times = self._times(node, free) if way is None else max(1, node.minimum)
                if self.shortest.length(node.body) == 0:
                    times = min(times, MANY)  # the others are empty texts
                if times:
                    self.covered.add((id(node), 0))
                waiting += [(node.body, depth, None)] * (times - 1)
                waiting += [(node.body, depth, way[1] if way else None)] * min(1, times)
            elif isinstance(node, tree.RuleRef) and way is None and node.name in self.skipped:
                body = self.grammar.rules[node.name].body
                if free and isinstance(body, tree.Repeat) and self.random.random() < SKIPPED:
                    waiting.append((body.body, self.depth + 1, None))
            elif isinstance(node, tree.RuleRef):
                waiting.append((self.grammar.rules[node.name].body, depth + 1, way))
            elif isinstance(node, tree.Terminal):
                waiting.append((node.body, depth, way[1] if way else None))
            elif isinstance(node, tree.Unordered):
                waiting += [(part, depth, inner) for part, inner in reversed(self._entries(node, free, way))]
            else:
                assert isinstance(node, tree.Intersect), "a token has no text"
                pieces.append(self._intersection(node, free))
        return "".join(pieces)

    def _affordable(self, node: Node) -> int | None:
        """The length of the node's shortest text if there is room for it, else None."""
        length = self.shortest.length(node)
        return length if length is not None and length <= self.room else None

    def _option(self, node: tree.Alt, free: bool) -> int:
        best = self.shortest.choices[id(node)]
        if not free:
            return best
        options = [index for index, option in enumerate(node.options) if self._affordable(option) is not None]
        self.choices -= 1
        plain = [index for index in options if _is_plain(node.options[index])]
        if plain and self.random.random() < 0.7:  # otherwise half of a string's characters would be escapes
            options = plain
        index = self.random.choice(options) if options else best
        self.room -= self.shortest.length(node.options[index]) or 0
        return index

    def _times(self, node: tree.Repeat, free: bool) -> int:
        length = self._affordable(node.body)
        if not free or length is None:
            return node.minimum
        self.choices -= 1
        most = node.minimum + self.room // (length or 1) // 4
        most = most if node.maximum is None else min(node.maximum, most)
        if most - node.minimum <= 4:
            times = self.random.randint(node.minimum, most)
        else:
            times = min(most, node.minimum + int(self.random.expovariate(0.3)))
        self.room -= (times - node.minimum) * length
        return times

    def _entries(self, node: tree.Unordered, free: bool, way: Way) -> list[tuple[Node, Way]]:
        """The entries and separators; a forced entry comes first, with the way into it."""
        forced = way[0] if way else None
        chosen = self._chosen(node, free, forced)
        self.covered.update((id(node), place) for place in chosen)
        parts: list[tuple[Node, Way]] = []
        for number, place in enumerate(chosen):
            if number or node.leading:
                parts.append((node.separator, None))
            parts.append((node.entry(place), way[1] if way and not number else None))
        return parts

    def _chosen(self, node: tree.Unordered, free: bool, forced: int | None) -> list[int]:
        """The numbers of the chosen entries: all required ones, and others, at random if `free`."""
        last = len(node.members)
        required = [place for place in range(last) if node.required >> place & 1]
        lengths = {place: self.shortest.length(node.entry(place)) for place in range(last + 1)}
        others = [place for place in range(last + 1) if place not in required and lengths[place] is not None]
        others.sort(key=lambda place: lengths[place] or 0)
        more = max(0, node.low - len(required))
        picked = [forced] if forced in others else []
        if free:
            self.choices -= 1
            affordable = [place for place in others if self._affordable(node.entry(place)) is not None]
            self.random.shuffle(affordable)
            picked += [place for place in affordable if place not in picked and self.random.random() < 0.5]
            if last in picked:
                picked += [last] * int(self.random.expovariate(0.5))
        picked += [place for place in others if place not in picked][: max(0, more - len(picked))]
        if last in others:
            picked += [last] * (more - len(picked))
        picked = picked if node.high is None else picked[: node.high - len(required)]
        self.room -= sum(lengths[place] or 0 for place in picked) if free else 0
        chosen = required + picked
        if free:
            self.random.shuffle(chosen)
        if forced is not None:
            chosen.remove(forced)
            chosen.insert(0, forced)
        return chosen

    def _intersection(self, node: tree.Intersect, free: bool) -> str:
        automaton = self.shortest.intersections[id(node)]
        state = automaton.start
        characters = []
        steps = int(self.random.expovariate(0.08)) if free else 0
        while steps > 0:
            moves = automaton.moves(state)
            if not moves or (state.final and self.random.random() < 0.1):
                break
            plain = [move for move in moves if _common(move[0], PLAIN)]
            ranges, state = self.random.choice(plain if plain and self.random.random() < 0.8 else moves)
            characters.append(self._character(ranges))
            steps -= 1
        way = shortest_path(automaton, state)
        assert way is not None, "an automaton offers no state without an end"
        return "".join([*characters, *map(self._character, way)])

    def _character(self, ranges: Ranges) -> str:
        chance = self.random.random()
        common: Ranges = ()
        if chance < 0.9 or not self.depth:
            common = _common(ranges, PLAIN if chance < 0.7 else PRINTABLE) or _common(ranges, PRINTABLE)
        low, high = self.random.choice(common or ranges)
        first = max(low, min(high, 1))  # not U+0000, which ends a text in llama.cpp
        return chr(self.random.randint(first, high))


def _is_plain(node: Node) -> bool:
    return isinstance(node, tree.CharClass) and bool(_common(node.ranges, PLAIN)) != node.negated


_common = lru_cache(maxsize=256)(chars.intersection)  # texts have few classes, but many characters
