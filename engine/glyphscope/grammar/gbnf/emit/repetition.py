"""Repetitions rewritten for llama.cpp without changing the language: within its limits (`repeated`), and never of an
item that can be empty (`without_empty_iterations`).
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
"""The largest bound that is written: llama.cpp rejects a minimum over 2,000 and silently drops a larger maximum."""
BLOCK = 1000
"""Repetitions in each of the rules that replace more than `LIMIT`."""


def expansion(body: Node, minimum: int, maximum: int | None) -> int | None:
    """The number of rules that llama.cpp makes of the repetition; None if it would reject the unchanged body."""
    rules = _rules_inside(body, grouped=True)
    count = maximum or minimum or 1
    return None if rules > 1 and rules * min(count, LIMIT) > LIMIT // 2 else rules * count


def _rules_inside(node: Node, *, grouped: bool = False) -> int:
    """The number of rules that llama.cpp makes of a node: one for each group, and for each optional repetition."""
    if isinstance(node, Seq):
        return int(grouped) + sum(_rules_inside(part, grouped=isinstance(part, Alt)) for part in node.parts)
    if isinstance(node, Alt):
        return 1 + sum(_rules_inside(option) for option in node.options)
    if isinstance(node, Repeat):
        optional = 1 if node.maximum is None else node.maximum - node.minimum
        single = isinstance(node.body, CharClass | Literal | RuleRef)
        return int(grouped) + optional + (0 if single else _rules_inside(node.body, grouped=True))
    return int(not isinstance(node, CharClass | Literal | RuleRef))


def repeated(body: Node, minimum: int, maximum: int | None, block: Callable[[Node], Node]) -> Node:
    """`body` exactly `minimum` to `maximum` times; `block` makes a rule of a body and returns a reference to it."""
    if max(minimum, maximum or 0) <= LIMIT:
        return repeat(body, minimum, maximum)
    if not isinstance(body, CharClass | RuleRef):
        body = block(body)
    thousand = block(repeat(body, BLOCK, BLOCK))
    required = seq(
        repeated(thousand, minimum // BLOCK, minimum // BLOCK, block), repeat(body, *[minimum % BLOCK] * 2)
    )
    if maximum is None:
        return seq(required, repeat(body))
    if maximum == minimum:
        return required
    more = maximum - minimum
    if more <= LIMIT:
        return seq(required, repeat(body, 0, more))
    # Up to `blocks` blocks, then single items, at least as many as a block has less 1, so every number can be reached.
    blocks = (more - (BLOCK - 1)) // BLOCK
    return seq(required, repeated(thousand, 0, blocks, block), repeat(body, 0, more - blocks * BLOCK))


def without_empty_iterations(grammar: Grammar) -> Grammar:
    """A grammar with the same language, in which no repeated item can be empty; the same grammar if none can."""
    rewriter = _Rewriter(grammar)
    rules = {name: rewriter.rule(rule) for name, rule in grammar.rules.items()}
    if all(rules[name] is rule for name, rule in grammar.rules.items()):
        return grammar
    while rewriter.missing:
        source, name = rewriter.missing.pop()
        rule = grammar.rules[source]
        rules[name] = Rule(name, rewriter.node(rewriter.nonempty(rule.body)), rule.origin)
    added = rules.keys() - grammar.rules.keys()
    return replace(
        grammar, rules=_without(rules, added - productive_rules(replace(grammar, rules=rules), _has_text))
    )


def _without(rules: dict[str, Rule], dead: set[str]) -> dict[str, Rule]:
    """The rules without the `dead` ones, which derive no text: the nonempty parts of rules that are always empty."""
    if not dead:
        return rules

    def living_node(name: str) -> Node:
        return NEVER if name in dead else RuleRef(name)

    return {
        name: Rule(name, replace_refs(rule.body, living_node), rule.origin)
        for name, rule in rules.items()
        if name not in dead
    }


def _has_text(_: Intersect) -> bool:
    """Assume that an intersection has a text; that is decided when it is written."""
    return True


class _Rewriter:
    """Rewrites nodes without repetitions of nullable items, and without the empty text (`nonempty`).

    `missing` are the rules that `nonempty` still needs: the names of the original rule and of the new one.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._nullable = nullable_rules(grammar)
        self._nonempty: dict[str, str] = {}
        self.missing: list[tuple[str, str]] = []

    def rule(self, rule: Rule) -> Rule:
        body = self.node(rule.body)
        return rule if body is rule.body else Rule(rule.name, body, rule.origin)

    def node(self, node: Node) -> Node:
        """The node with its repetitions rewritten; the same node if there is nothing to rewrite."""
        if isinstance(node, Repeat) and node.maximum is None and self._is_nullable(node.body):
            return repeat(self.node(self.nonempty(node.body)))
        if not isinstance(node, Terminal | Seq | Alt | Repeat):
            return node
        parts = [self.node(part) for part in node.inner]
        return node if all(map(is_, parts, node.inner)) else joined(node, parts)

    def nonempty(self, node: Node) -> Node:
        """The language of the node without the empty text."""
        if not self._is_nullable(node):
            return node
        if isinstance(node, RuleRef):
            return RuleRef(self._nonempty_rule(node.name))
        if isinstance(node, Terminal):
            return terminal(self.nonempty(node.body))
        if isinstance(node, Alt):
            return alt(*(self.nonempty(option) for option in node.options))
        if isinstance(node, Seq):
            # the first nonempty part, and whatever follows it
            return alt(
                *(seq(self.nonempty(part), *node.parts[at + 1 :]) for at, part in enumerate(node.parts))
            )
        if isinstance(node, Repeat):
            body = self.nonempty(node.body)
            return NEVER if body == NEVER else repeat(body, 1, node.maximum)
        return NEVER

    def _nonempty_rule(self, name: str) -> str:
        nonempty = self._nonempty.get(name)
        if nonempty is None:
            nonempty = f"{name}-some"
            while nonempty in self._grammar.rules or nonempty in self._nonempty.values():
                nonempty += "-some"
            self._nonempty[name] = nonempty
            self.missing.append((name, nonempty))
        return nonempty

    def _is_nullable(self, node: Node) -> bool:
        if isinstance(node, RuleRef):
            return node.name in self._nullable
        if isinstance(node, Literal):
            return not node.text
        if isinstance(node, Terminal):
            return self._is_nullable(node.body)
        if isinstance(node, Seq):
            return all(self._is_nullable(part) for part in node.parts)
        if isinstance(node, Alt):
            return any(self._is_nullable(option) for option in node.options)
        return isinstance(node, Repeat) and (node.minimum == 0 or self._is_nullable(node.body))
