"""Grammars of users normalised for recursive walks: trees of limited depth, in which every node derives a text."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.traversal import bottom_up
from glyphscope.grammar.tree import EMPTY, NEVER, Grammar, Node, Rule, joined, terminal

MAX_DEPTH = 40  # levels of a rule's body, far below Python's recursion limit
_ATOMIC = (tree.Terminal, tree.Except)  # nodes whose content is not divided into rules


def limit_depth(grammar: Grammar) -> Grammar:
    """The same language in trees of at most `MAX_DEPTH` levels; deeper parts become separate rules.

    The result has no negated classes. Raises GrammarError if the grammar derives no text at all.
    """
    book = RuleBook(grammar.rules)
    for rule in grammar.rules.values():

        def as_rule(body: Node, rule: Rule = rule) -> Node:
            return book.inner(f"{rule.name}-inside", body, rule.origin)

        book.rules[rule.name] = Rule(rule.name, _rebuilt(rule.body, as_rule), rule.origin)
    shallow = book.grammar(grammar.root, grammar.unenforced, lexed=False)
    if grammar.root not in shallow.rules:
        raise GrammarError(
            "The grammar derives no text at all.",
            where=grammar.root,
            hint="Give each rule an alternative that ends without coming back to the rule itself.",
        )
    return shallow


def _rebuilt(body: Node, as_rule: Callable[[Node], Node] | None) -> Node:
    """The simplified node; `as_rule` makes a rule of a part that is too deep (None inside a lexeme: never)."""

    def make(node: Node, parts: list[tuple[Node, int]]) -> tuple[Node, int]:
        if isinstance(node, tree.Terminal):
            # A lexeme cannot be divided into rules, and a lexeme inside another has no meaning.
            return _rebuilt(node.body, None) if as_rule is None else _lexeme(node.body), 0
        if not parts:
            return _leaf(node), 0
        depth = 1 + max(depth for _, depth in parts)
        whole = _simplified(node, [part for part, _ in parts])
        return (as_rule(whole), 0) if depth >= MAX_DEPTH and as_rule is not None else (whole, depth)

    return bottom_up(body, lambda node: () if isinstance(node, _ATOMIC) else node.inner, make)[0]


@lru_cache(maxsize=1024)
def _lexeme(body: Node) -> Node:
    """A terminal. Tools have most of their terminals in common."""
    lexeme = terminal(_rebuilt(body, None))
    # A literal that is a separate lexeme must not be joined to its neighbours.
    return tree.Terminal(lexeme) if isinstance(lexeme, tree.Literal) else lexeme


def _leaf(node: Node) -> Node:
    if isinstance(node, tree.CharClass):
        ranges = chars.complement(node.ranges) if node.negated else chars.intersection(node.ranges, chars.ALL)
        return tree.CharClass(ranges) if ranges else NEVER
    if isinstance(node, tree.Literal):
        if any("\ud800" <= char <= "\udfff" for char in node.text):
            return NEVER  # no text contains a lone surrogate
        return node if node.text else EMPTY
    return node


def _simplified(node: Node, parts: list[Node]) -> Node:
    whole = joined(node, parts)
    if not isinstance(whole, tree.Intersect) or not isinstance(node, tree.Intersect):
        return whole
    automaton = Automaton.of(whole)
    return whole if automaton.start.final or automaton.moves(automaton.start) else NEVER
