"""Endless repetitions of what may be empty, written so that no round is: llama.cpp refuses a loop that reads nothing.

What is repeated loses the empty text, and the repetition its minimum: `(a?)+` is `a*`.
"""

from __future__ import annotations

from dataclasses import replace

from glyphscope.grammar.match.facts import nullable_rules, productive_rules
from glyphscope.grammar.tree import (
    NEVER,
    Alt,
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
    repeat,
    replace_refs,
    seq,
    terminal,
)  # fmt: skip


def without_empty_rounds(grammar: Grammar) -> Grammar:
    """The same language; the same grammar where no repetition can have an empty round."""
    rewriter = _Rewriter(grammar)
    rules = {name: rewriter.rule(rule) for name, rule in grammar.rules.items()}
    if all(rules[name] is rule for name, rule in grammar.rules.items()):
        return grammar
    while rewriter.wanted:
        source, name = rewriter.wanted.pop()
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

    def kept(name: str) -> Node:
        return NEVER if name in dead else RuleRef(name)

    return {
        name: Rule(name, replace_refs(rule.body, kept), rule.origin)
        for name, rule in rules.items()
        if name not in dead
    }


def _some(_: Intersect) -> bool:
    return True


class _Rewriter:
    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._nullable = nullable_rules(grammar)
        self._filled: dict[str, str] = {}
        self.wanted: list[tuple[str, str]] = []

    def rule(self, rule: Rule) -> Rule:
        body = self.node(rule.body)
        return rule if body is rule.body else Rule(rule.name, body, rule.origin)

    def node(self, node: Node) -> Node:
        """The node with its repetitions rewritten; itself where there is nothing to rewrite."""
        if isinstance(node, Terminal):
            body = self.node(node.body)
            return node if body is node.body else terminal(body)
        if isinstance(node, Seq):
            parts = [self.node(part) for part in node.parts]
            return node if all(map(_same, parts, node.parts)) else seq(*parts)
        if isinstance(node, Alt):
            options = [self.node(option) for option in node.options]
            return node if all(map(_same, options, node.options)) else alt(*options)
        if isinstance(node, Repeat):
            if node.maximum is None and self._empty(node.body):
                return repeat(self.node(self.filled(node.body)))
            body = self.node(node.body)
            return node if body is node.body else repeat(body, node.minimum, node.maximum)
        return node

    def filled(self, node: Node) -> Node:
        """What the node derives but the empty text."""
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
            self.wanted.append((name, filled))
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


def _same(one: object, other: object) -> bool:
    return one is other
