"""GBNF as the rule tree: the language llama.cpp gives it, under the user's own names.

Nothing is simplified, so that active rules and derivations show what was written. A class with nothing in it is the
empty text, an upper bound over 2,000 is none, and of several rules of one name the last counts: so does llama.cpp.
"""

from __future__ import annotations

from glyphscope.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.lint.analysis import ROOT
from glyphscope.grammar.gbnf.lint.diagnose import diagnose
from glyphscope.grammar.gbnf.lint.rule_properties import MAX_REPETITIONS
from glyphscope.grammar.gbnf.parse.literals import IMPOSSIBLE, united
from glyphscope.grammar.gbnf.parse.syntax import (
    Alternatives,
    AnyCharacter,
    Class,
    GbnfDocument,
    Group,
    Item,
    Quoted,
    Reference,
    Repetition,
    Token,
)
from glyphscope.grammar.tree import EMPTY, NEVER, Grammar, Node, Rule
from glyphscope.text.lines import line_and_column


def to_grammar(document: GbnfDocument) -> Grammar:
    """The grammar of a document. Raises GrammarError while it has errors, with the first of them."""
    for diagnostic in diagnose(document):
        if diagnostic.severity == "error":
            line = line_and_column(document.text, diagnostic.start)[0]
            raise GrammarError(
                diagnostic.message, where=f"line {line}", hint="Fix the grammar's errors first."
            )
    return tree_of(document)


def tree_of(document: GbnfDocument) -> Grammar:
    """The grammar of a document that is known to have no errors."""
    return Grammar({rule.name: Rule(rule.name, _node(rule.body)) for rule in document.rules}, ROOT)


def _node(body: Alternatives) -> Node:
    """Post-order, without recursion."""
    done: list[Node] = []
    waiting: list[tuple[Alternatives | Item, bool]] = [(body, False)]
    while waiting:
        checkpoint()
        node, entered = waiting.pop()
        if isinstance(node, Group):
            waiting.append((node.body, False))
        elif isinstance(node, Alternatives):
            if not entered:
                waiting.append((node, True))
                waiting += [
                    (item, False) for option in reversed(node.options) for item in reversed(option.items)
                ]
                continue
            count = sum(len(option.items) for option in node.options)
            parts = done[len(done) - count :]
            del done[len(done) - count :]
            done.append(_alternatives(node, parts))
        elif isinstance(node, Repetition):
            if entered:
                maximum = node.maximum
                unbounded = maximum is None or maximum > MAX_REPETITIONS
                done.append(tree.Repeat(done.pop(), node.minimum, None if unbounded else maximum))
            else:
                waiting += [(node, True), (node.item, False)]
        else:
            done.append(_leaf(node))
    return done[0]


def _alternatives(node: Alternatives, parts: list[Node]) -> Node:
    options: list[Node] = []
    at = 0
    for option in node.options:
        size = len(option.items)
        options.append(parts[at] if size == 1 else tree.Seq(tuple(parts[at : at + size])))
        at += size
    return options[0] if len(options) == 1 else tree.Alt(tuple(options))


def _leaf(node: Item) -> Node:
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
