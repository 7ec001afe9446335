"""GBNF as a rule tree: the language that llama.cpp reads, under the user's names.

Nothing is simplified, so that active rules and derivations show the written text. As in llama.cpp, an empty class is
the empty text, an upper bound over 2,000 is ignored, and the last of several rules with one name counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from glyphscope.grammar import chars, tree
from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.lint.analysis import ROOT
from glyphscope.grammar.gbnf.lint.rule_properties import MAX_REPETITIONS
from glyphscope.grammar.gbnf.parse.literals import IMPOSSIBLE, united
from glyphscope.grammar.gbnf.parse.syntax import (
    Alternatives,
    AnyCharacter,
    Class,
    GbnfDocument,
    Group,
    Part,
    Quoted,
    Reference,
    Repetition,
    Token,
    by_option,
)
from glyphscope.grammar.traversal import bottom_up
from glyphscope.grammar.tree import EMPTY, NEVER, Grammar, Node, Rule


def tree_of(document: GbnfDocument) -> Grammar:
    """The grammar of a document without errors."""
    bodies: Iterator[tuple[str, Part]] = ((rule.name, rule.body) for rule in document.rules)
    return Grammar(
        {name: Rule(name, bottom_up(body, attrgetter("inner"), _node)) for name, body in bodies}, ROOT
    )


def _node(node: Part, parts: list[Node]) -> Node:
    """The node of a part, given the nodes of its parts."""
    checkpoint()
    if isinstance(node, Alternatives):
        sequences = by_option(node, parts)
        options = [items[0] if len(items) == 1 else tree.Seq(tuple(items)) for items in sequences]
        return options[0] if len(options) == 1 else tree.Alt(tuple(options))
    if isinstance(node, Group):
        return parts[0]
    if isinstance(node, Repetition):
        unbounded = node.maximum is None or node.maximum > MAX_REPETITIONS
        return tree.Repeat(parts[0], node.minimum, None if unbounded else node.maximum)
    if isinstance(node, Reference):
        return tree.RuleRef(node.name)
    if isinstance(node, Quoted):
        return NEVER if IMPOSSIBLE in node.text else tree.Literal(node.text) if node.text else EMPTY
    if isinstance(node, AnyCharacter):
        return tree.CharClass(chars.ALL)
    if isinstance(node, Token):
        return tree.TokenMatch(node.token, node.negated)
    assert isinstance(node, Class), "groups and repetitions have been taken apart"
    if not node.ranges:
        return EMPTY
    return tree.CharClass(chars.intersection(united(node.ranges), chars.ALL), node.negated)
