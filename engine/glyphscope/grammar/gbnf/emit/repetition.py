"""Repetitions for llama.cpp, of the same language: within its limits (`times`), and never of what may be empty
(`without_empty_rounds`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import is_

from glyphscope.grammar.match.nullability import nullable_rules, productive_rules
from glyphscope.grammar.tree import (
    NEVER,
    Alt,
    CharClass,
    Grammar,
    Intersect,
    Literal,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    Terminal,
    alt,
    joined,
    repeat,
    replace_refs,
    seq,
    terminal,
)  # fmt: skip

LIMIT = 1999
"""The largest bound that is written: llama.cpp takes 2,000."""
BLOCK = 1000
"""Repetitions of one rule in place of more than `LIMIT`."""


def expansion(body: Node, minimum: int, maximum: int | None) -> int | None:
    """The rules llama.cpp makes for the repetition; None where it would reject the unchanged body."""
    rules = _rules_inside(body, grouped=True)
    count = maximum or minimum or 1
    return None if rules > 1 and rules * min(count, LIMIT) > LIMIT // 2 else rules * count


def _rules_inside(node: Node, *, grouped: bool = False) -> int:
    """How many rules the parser makes inside a node; a group is one of them."""
    if isinstance(node, Seq):
        return int(grouped) + sum(_rules_inside(part, grouped=isinstance(part, Alt)) for part in node.parts)
    if isinstance(node, Alt):
        return 1 + sum(_rules_inside(option) for option in node.options)
    if isinstance(node, Repeat):
        optional = 1 if node.maximum is None else node.maximum - node.minimum
        single = isinstance(node.body, CharClass | Literal | RuleRef)
        return int(grouped) + optional + (0 if single else _rules_inside(node.body, grouped=True))
    return int(not isinstance(node, CharClass | Literal | RuleRef))


def times(body: Node, minimum: int, maximum: int | None, block: Callable[[Node], Node]) -> Node:
    """`body` from `minimum` to `maximum` times, exactly; `block` gives the reference to a rule for a body."""
    if max(minimum, maximum or 0) <= LIMIT:
        return repeat(body, minimum, maximum)
    if not isinstance(body, CharClass | RuleRef):
        body = block(body)
    thousand = block(repeat(body, BLOCK, BLOCK))
    required = seq(
        times(thousand, minimum // BLOCK, minimum // BLOCK, block), repeat(body, *[minimum % BLOCK] * 2)
    )
    if maximum is None:
        return seq(required, repeat(body))
    if maximum == minimum:
        return required
    more = maximum - minimum
    if more <= LIMIT:
        return seq(required, repeat(body, 0, more))
    # Any number of blocks and then at least as many more as a block has: every number up to the end is reached.
    blocks = (more - (BLOCK - 1)) // BLOCK
    return seq(required, times(thousand, 0, blocks, block), repeat(body, 0, more - blocks * BLOCK))


def without_empty_rounds(grammar: Grammar) -> Grammar:
    """The same language; the same grammar where no repetition can have an empty round."""
    rewriter = _Rewriter(grammar)
    rules = {name: rewriter.rule(rule) for name, rule in grammar.rules.items()}
    if all(rules[name] is rule for name, rule in grammar.rules.items()):
        return grammar
    while rewriter.missing:
        source, name = rewriter.missing.pop()
        rule = grammar.rules[source]
        rules[name] = Rule(name, rewriter.node(rewriter.filled(rule.body)), rule.origin)
    added = rules.keys() - grammar.rules.keys()
    return replace(
        grammar, rules=_without(rules, added - productive_rules(replace(grammar, rules=rules), _some))
    )


def _without(rules: dict[str, Rule], dead: set[str]) -> dict[str, Rule]:
    """The rules without those that derive no text: of what is only ever empty, nothing is left."""
    if not dead:
        return rules

    def living_node(name: str) -> Node:
        return NEVER if name in dead else RuleRef(name)

    return {
        name: Rule(name, replace_refs(rule.body, living_node), rule.origin)
        for name, rule in rules.items()
        if name not in dead
    }


def _some(_: Intersect) -> bool:
    """An intersection counts as one with a text: that it has none is decided when it is written."""
    return True


class _Rewriter:
    """Nodes without repetitions of what may be empty, and without the empty text (`filled`).

    `missing` are the rules that `filled` needs and that are still to be made: of which rule, and the name.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._nullable = nullable_rules(grammar)
        self._filled: dict[str, str] = {}
        self.missing: list[tuple[str, str]] = []

    def rule(self, rule: Rule) -> Rule:
        body = self.node(rule.body)
        return rule if body is rule.body else Rule(rule.name, body, rule.origin)

    def node(self, node: Node) -> Node:
        """The node with its repetitions rewritten; itself where there is nothing to rewrite."""
        if isinstance(node, Repeat) and node.maximum is None and self._empty(node.body):
            return repeat(self.node(self.filled(node.body)))
        if not isinstance(node, Terminal | Seq | Alt | Repeat):
            return node
        parts = [self.node(part) for part in node.inner]
        return node if all(map(is_, parts, node.inner)) else joined(node, parts)

    def filled(self, node: Node) -> Node:
        """The language of the node without the empty text."""
        if not self._empty(node):
            return node
        if isinstance(node, RuleRef):
            return RuleRef(self._filled_rule(node.name))
        if isinstance(node, Terminal):
            return terminal(self.filled(node.body))
        if isinstance(node, Alt):
            return alt(*(self.filled(option) for option in node.options))
        if isinstance(node, Seq):
            # the first part that is not empty, and whatever comes after it
            return alt(*(seq(self.filled(part), *node.parts[at + 1 :]) for at, part in enumerate(node.parts)))
        if isinstance(node, Repeat):
            body = self.filled(node.body)
            return NEVER if body == NEVER else repeat(body, 1, node.maximum)
        return NEVER

    def _filled_rule(self, name: str) -> str:
        filled = self._filled.get(name)
        if filled is None:
            filled = f"{name}-some"
            while filled in self._grammar.rules or filled in self._filled.values():
                filled += "-some"
            self._filled[name] = filled
            self.missing.append((name, filled))
        return filled

    def _empty(self, node: Node) -> bool:
        if isinstance(node, RuleRef):
            return node.name in self._nullable
        if isinstance(node, Literal):
            return not node.text
        if isinstance(node, Terminal):
            return self._empty(node.body)
        if isinstance(node, Seq):
            return all(self._empty(part) for part in node.parts)
        if isinstance(node, Alt):
            return any(self._empty(option) for option in node.options)
        return isinstance(node, Repeat) and (node.minimum == 0 or self._empty(node.body))
