"""What is true of whole rules: which derive the empty text, which derive any text at all.

Both are least fixed points, as shortest texts are: found in about linear time however rules refer to each other.
"""

from __future__ import annotations

from collections.abc import Callable

from glyphscope.errors import GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.shortest import Shortest
from glyphscope.grammar.tree import (
    Alt,
    CharClass,
    Except,
    Grammar,
    Intersect,
    Literal,
    Node,
    Repeat,
    Seq,
    Terminal,
    refs,
)  # fmt: skip


def check_references(grammar: Grammar) -> None:
    """Raises GrammarError for a reference to a rule that is not there."""
    if grammar.root not in grammar.rules:
        raise GrammarError("The first rule is not in the grammar.", where=grammar.root)
    for rule in grammar.rules.values():
        for name in refs(rule.body):
            if name not in grammar.rules:
                raise GrammarError(f"No rule is called {name}.", where=rule.name, hint="Define it.")


def nullable_rules(grammar: Grammar) -> set[str]:
    """The rules that derive the empty text."""
    return _Derivable(grammar, may_be_empty).rules


def may_be_empty(node: Node) -> bool:
    """Whether the empty text is of a regular node."""
    if isinstance(node, Literal):
        return not node.text
    if isinstance(node, Alt):
        return any(may_be_empty(option) for option in node.options)
    if isinstance(node, Seq | Intersect):
        return all(may_be_empty(part) for part in node.parts)
    if isinstance(node, Repeat):
        return node.minimum == 0 or may_be_empty(node.body)
    if isinstance(node, Except):
        return not may_be_empty(node.body)
    return isinstance(node, Terminal) and may_be_empty(node.body)


def productive_rules(grammar: Grammar, meets: Callable[[Intersect], bool]) -> set[str]:
    """The rules that derive a text (or a token) at all; `meets` decides whether anything is in an intersection."""

    def has_text(node: Node) -> bool:
        if isinstance(node, CharClass):
            return bool(chars.complement(node.ranges) if node.negated else node.ranges)
        return meets(node) if isinstance(node, Intersect) else True

    return _Derivable(grammar, has_text).rules


class _Derivable(Shortest):
    """The rules that derive a text if only those leaves do that `leaf` says: what has a shortest text has one."""

    def __init__(self, grammar: Grammar, leaf: Callable[[Node], bool]) -> None:
        self._has_text = leaf
        super().__init__(grammar)
        self.rules = {name for name in grammar.rules if self.rule_length(name) is not None}

    def _price(self, node: Node) -> int | None:
        impossible = isinstance(node, Repeat)  # more often than it may be
        return None if impossible or not self._has_text(node) else 0
