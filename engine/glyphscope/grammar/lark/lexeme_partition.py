"""Lexemes for a grammar without any, chosen so that llguidance's lexer loses no text.

**The problem.** llguidance reads a text with a lexer and a parser. If the grammar allows several lexemes, the lexer
takes the longest one and never goes back (maximal munch); all lexemes of that length go to the parser. Overlapping
lexemes lose texts this way: `("a" | "ab") "bc"` rejects `abc` (measured), because `ab` is longer than `a`, and no `bc`
follows it.

**The condition.** A set of lexemes loses nothing if no text of a lexeme continues, in any lexeme of the set, with a
character that may also follow it in the grammar. `lexeme_conflicts.py` finds the lexemes that violate this, using the
characters of `follow_sets.py`. Single characters never do. But a mask is fast only if lexemes are large.

**The algorithm** (`_partitioned`). The rules are rewritten over the largest possible lexemes: whole regular parts, or
the lexemes of a builder. Those in conflict are split into the lexemes of their parts, and the rules that use them are
rewritten, until none is in conflict. If that takes too many rounds or lexemes, all are split into single characters.

`_Partition._over_lexemes` decides how one lexeme is split. An intersection that is split becomes the rules of its
automaton (`regular/intersections.py`), without its weakest part if it is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby, islice
from typing import NamedTuple

from glyphscope.grammar import tree
from glyphscope.grammar.lark.follow_sets import FollowSets
from glyphscope.grammar.lark.lexeme_conflicts import LexemeConflicts
from glyphscope.grammar.normalize import limit_depth
from glyphscope.grammar.regular.intersections import DroppedPart, Intersections
from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.traversal import callees_first, reachable

MAX_NODES = 300  # of a lexeme, including the bodies of the rules that it refers to
MAX_LEXEMES = 1500  # distinct lexemes that are compared with each other
MAX_ROUNDS = 8  # of splitting

_TOO_LARGE = "together with the rest it is too large to be taken apart for llguidance's lexer"
"""The reason for dropping a part of an intersection."""

_SIGNS, _ENDS = frozenset("{}[](), "), frozenset(":=")  # split off the start and the end of a literal


def partition_lexemes(grammar: tree.Grammar) -> tree.Grammar:
    """The same language over lexemes that lose no text.

    A part of an intersection that is too large to be split is dropped and listed in `unenforced` of the result.
    Raises GrammarError if the grammar derives no text, or if the time limit is exceeded.
    """
    return _partitioned(grammar, LexemeConflicts(), merge=True)


def with_partitioned_rules(grammar: tree.Grammar) -> tree.Grammar:
    """A builder's grammar with everything below its `unlexed` rules partitioned.

    Each of these rules is partitioned separately, as no two are open at once. Lexemes are only split, never merged: a
    builder's lexemes have the size that is fastest, and a whole object as one lexeme would need its own automaton.
    """
    rules = dict(grammar.rules)
    unenforced = dict.fromkeys(grammar.unenforced)
    conflicts = LexemeConflicts()  # shared, because tools have most of their lexemes in common
    for number, root in enumerate(grammar.unlexed, start=1):
        partitioned = _partitioned(_below(grammar.rules, root), conflicts, merge=False)
        unenforced.update(dict.fromkeys(partitioned.unenforced))
        names = {name: f"{name}-cut-{number}" for name in partitioned.rules} | {root: root}
        for rule in partitioned.rules.values():
            rules[names[rule.name]] = tree.Rule(names[rule.name], _renamed(rule.body, names), rule.origin)
    needed = _below(rules, grammar.root).rules
    return replace(grammar, rules=needed, unenforced=tuple(unenforced), lexed=True, unlexed=())


def as_lexeme(grammar: tree.Grammar) -> tree.Node | None:
    """The whole grammar as one regular node; None if it is recursive, names tokens or is too large."""
    return _regular_rules(limit_depth(grammar)).get(grammar.root)


def _partitioned(given: tree.Grammar, conflicts: LexemeConflicts, *, merge: bool) -> tree.Grammar:
    grammar = limit_depth(given)
    partition, follow = _Partition(grammar, merge=merge), FollowSets()
    for _ in range(MAX_ROUNDS):
        rewritten, lexemes = partition.rewritten()
        if len(lexemes) > MAX_LEXEMES:
            break
        in_conflict = conflicts.among(rewritten, lexemes, follow)
        if not in_conflict:
            return rewritten
        partition.split(in_conflict)
    return _Partition(grammar, merge=merge, characters=True).rewritten()[0]


class _Rewritten(NamedTuple):
    """A rule over lexemes, and the lexemes that it uses, in their order."""

    rule: tree.Rule
    lexemes: dict[tree.Node, None]


class _Partition:
    """A grammar's rules rewritten over lexemes: regular nodes, except those that were split.

    `merge`: regular neighbours become one lexeme, including rules without recursion. `characters`: every lexeme is
    split into single characters.
    """

    def __init__(self, grammar: tree.Grammar, *, merge: bool, characters: bool = False) -> None:
        self._grammar = grammar
        self._merge = merge
        self._characters = characters
        self._split: set[tree.Node] = set()
        self._rewritten: dict[str, _Rewritten] = {}
        self._lexemes: dict[tree.Node, None] = {}  # of the rule being rewritten
        self._origin = tree.NOWHERE  # of that rule
        self._unenforced: dict[tree.Unenforced, None] = {}  # parts dropped from intersections
        self._intersections = Intersections()
        self._automata: dict[str, tree.Node] = {}  # rules of automata made from intersections
        self._regular_rules = _regular_rules(grammar) if merge else {}
        self._regular: dict[
            int, tuple[tree.Node, tree.Node | None]
        ] = {}  # by identity, with the node to keep it alive

    def split(self, lexemes: set[tree.Node]) -> None:
        """Split these lexemes as well. Only rules that use one of them are rewritten."""
        self._split |= lexemes
        self._rewritten = {
            name: rule for name, rule in self._rewritten.items() if lexemes.isdisjoint(rule.lexemes.keys())
        }

    def rewritten(self) -> tuple[tree.Grammar, dict[tree.Node, None]]:
        """The rules that the root needs, and their lexemes."""
        rules: dict[str, tree.Rule] = {}
        lexemes: dict[tree.Node, None] = {}
        for name in reachable([self._grammar.root], lambda name: rules[name].refs):
            if name not in self._rewritten:
                self._lexemes = {}
                self._rewritten[name] = _Rewritten(self._rule(name), self._lexemes)
            rules[name] = self._rewritten[name].rule
            lexemes.update(self._rewritten[name].lexemes)
        return tree.Grammar(
            rules, self._grammar.root, (*self._grammar.unenforced, *self._unenforced)
        ), lexemes

    def _rule(self, name: str) -> tree.Rule:
        """The rule over lexemes; it is a rule of the grammar or of an automaton."""
        check_time()
        rule = self._grammar.rules.get(name)
        if rule is None:
            return tree.Rule(name, self._in_characters(self._automata[name]))
        self._origin = rule.origin or tree.NOWHERE
        return tree.Rule(name, self._over_lexemes(rule.body, self._merge), rule.origin)

    def _over_lexemes(self, node: tree.Node, merge: bool) -> tree.Node:
        """The node as one lexeme if it is regular and need not be split; otherwise as the lexemes of its parts."""
        lexeme = self._as_regular(node, merge)
        if lexeme == tree.EMPTY:
            return tree.EMPTY
        if lexeme is not None and (self._stays_whole(lexeme) or _is_character(lexeme)):
            self._lexemes[lexeme] = None
            return lexeme if isinstance(lexeme, tree.Literal | tree.CharClass) else tree.Terminal(lexeme)
        if isinstance(node, tree.RuleRef | tree.TokenMatch):
            return node
        if isinstance(node, tree.Literal):
            return self._split_literal(node.text, merge)
        if isinstance(node, tree.Intersect):
            return self._split_intersection(node, merge)
        if isinstance(node, tree.Terminal):
            return self._over_lexemes(node.body, True)
        if isinstance(node, tree.Alt):
            return tree.alt(*(self._over_lexemes(part, merge) for part in self._merged(node, merge)))
        if isinstance(node, tree.Seq):
            return _side_by_side(self._over_lexemes(part, merge) for part in self._merged(node, merge))
        if isinstance(node, tree.Unordered):  # without `free`, its place has NEVER, which is not a lexeme
            return tree.with_parts(
                node, [part if part == tree.NEVER else self._over_lexemes(part, merge) for part in node.inner]
            )
        assert isinstance(node, tree.Repeat), (
            "a character class is a lexeme, and only intersections have exceptions"
        )
        return tree.joined(node, [self._over_lexemes(node.body, merge)])

    def _stays_whole(self, lexeme: tree.Node) -> bool:
        return not self._characters and lexeme not in self._split

    def _split_literal(self, text: str, merge: bool) -> tree.Node:
        """Split off a sign at the start or end, so that a key between signs may stay whole; else into characters."""
        if text[0] in _SIGNS and len(text) > 1:
            return _side_by_side(
                (self._character(text[0]), self._over_lexemes(tree.Literal(text[1:]), merge))
            )
        if text[-1] in _ENDS and len(text) > 1:
            return _side_by_side(
                (self._over_lexemes(tree.Literal(text[:-1]), merge), self._character(text[-1]))
            )
        return tree.seq(*map(self._character, text))

    def _split_intersection(self, node: tree.Intersect, merge: bool) -> tree.Node:
        """The rules of the intersection's automaton, or its only remaining part over lexemes."""
        split = self._intersections.right_linear(node, self._new_rule, self._automata, self._note_dropped)
        return split if isinstance(split, tree.RuleRef) else self._over_lexemes(split, merge)

    def _new_rule(self, body: tree.Node) -> tree.RuleRef:
        name = f"automaton-{len(self._automata) + 1}"
        while name in self._grammar.rules:
            name = f"r-{name}"
        self._automata[name] = body
        return tree.RuleRef(name)

    def _note_dropped(self, part: DroppedPart) -> None:
        self._unenforced.update(dict.fromkeys(self._origin.unenforced(part.keywords, _TOO_LARGE)))

    def _in_characters(self, node: tree.Node) -> tree.Node:
        """The body of an automaton's rule with every character as a lexeme."""
        if isinstance(node, tree.Literal):
            return tree.seq(*map(self._character, node.text))
        if isinstance(node, tree.CharClass):
            self._lexemes[node] = None
        return tree.joined(node, map(self._in_characters, node.inner))

    def _character(self, char: str) -> tree.Node:
        # A class, because neighbouring literals would be joined into one lexeme again.
        character = tree.CharClass(((ord(char), ord(char)),))
        self._lexemes[character] = None
        return character

    def _merged(self, node: tree.Seq | tree.Alt, merge: bool) -> Iterator[tree.Node]:
        """The parts, with regular neighbours merged unless these are all parts, too large together, or were split."""
        parts = [(part, self._as_regular(part, merge) if merge else None) for part in node.inner]
        for _, group in groupby(parts, lambda pair: pair[1] is not None):
            neighbours = list(group)
            regular = [lexeme for _, lexeme in neighbours if lexeme is not None]
            whole = tree.joined(node, regular) if 1 < len(regular) < len(parts) else None
            if whole is None or _is_too_large(whole) or not self._stays_whole(whole):
                yield from (part for part, _ in neighbours)
            else:
                yield whole

    def _as_regular(self, node: tree.Node, merge: bool) -> tree.Node | None:
        """The node without references if it is regular and not too large; without `merge`, only a leaf or a lexeme."""
        if not merge and isinstance(node, tree.RuleRef | tree.Seq | tree.Alt | tree.Repeat | tree.Unordered):
            return tree.EMPTY if node == tree.EMPTY else None
        known = self._regular.get(id(node))
        if known is None or known[0] is not node:
            regular = _without_references(
                node, self._regular_rules, lambda part: self._as_regular(part, merge)
            )
            known = self._regular[id(node)] = node, regular
        return known[1]


def _regular_rules(grammar: tree.Grammar) -> dict[str, tree.Node]:
    """The bodies, without references, of the rules that are neither recursive nor too large."""
    regular: dict[str, tree.Node] = {}

    def of(node: tree.Node) -> tree.Node | None:
        return _without_references(node, regular, of)

    for name in callees_first(grammar.rules, lambda name: grammar.rules[name].refs):
        body = of(grammar.rules[name].body)  # None for a recursive rule: a rule that it needs is missing
        if body is not None:
            regular[name] = body
    return regular


def _without_references(
    node: tree.Node, rules: dict[str, tree.Node], of: Callable[[tree.Node], tree.Node | None]
) -> tree.Node | None:
    """The node with references replaced by the bodies of `rules`; `of` does the same for a part of it."""
    if isinstance(node, tree.RuleRef):
        return rules.get(node.name)
    if isinstance(node, tree.TokenMatch | tree.Unordered):
        return None
    if isinstance(node, tree.Terminal):
        return node.body
    if not isinstance(node, tree.Seq | tree.Alt | tree.Repeat):
        return node
    parts = []
    for part in node.inner:
        regular = of(part)
        if regular is None:
            return None
        parts.append(regular)
    whole = tree.joined(node, parts)
    return None if not isinstance(node, tree.Repeat) and _is_too_large(whole) else whole


def _is_too_large(node: tree.Node) -> bool:
    return any(True for _ in islice(tree.walk(node), MAX_NODES, None))


def _is_character(lexeme: tree.Node) -> bool:
    return isinstance(lexeme, tree.CharClass) or (isinstance(lexeme, tree.Literal) and len(lexeme.text) == 1)


def _side_by_side(parts: Iterable[tree.Node]) -> tree.Node:
    """The parts as a sequence, not joined as by `seq`: two literals are two lexemes here."""
    some = tuple(part for part in parts if not isinstance(part, tree.Seq) or part.parts)
    return some[0] if len(some) == 1 else tree.Seq(some)


def _below(rules: dict[str, tree.Rule], root: str) -> tree.Grammar:
    """The grammar of a rule and all rules reachable from it."""
    names = reachable([root], lambda name: rules[name].refs)
    return tree.Grammar({name: rules[name] for name in names}, root)


def _renamed(node: tree.Node, names: dict[str, str]) -> tree.Node:
    if isinstance(node, tree.RuleRef):
        return tree.RuleRef(names[node.name])
    return (
        node
        if isinstance(node, tree.Terminal)
        else tree.with_parts(node, [_renamed(p, names) for p in node.inner])
    )
