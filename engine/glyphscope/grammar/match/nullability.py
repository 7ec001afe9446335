"""Properties of rules: which derive the empty text, which derive any text at all, and whether all are defined.

The first two are least fixed points, found by forward chaining (`_least_fixed_point`) in time linear in the grammar's
size, however its rules refer to each other. (`gbnf.lint.fixpoint` does this for the rules that llama.cpp makes.)
"""

from __future__ import annotations

from collections.abc import Callable, Set

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.tree import Grammar, Node


def check_references(grammar: Grammar) -> None:
    """Raises GrammarError for a reference to an undefined rule."""
    if grammar.root not in grammar.rules:
        raise GrammarError("The first rule is not in the grammar.", where=grammar.root)
    for rule in grammar.rules.values():
        for name in rule.refs:
            if name not in grammar.rules:
                raise GrammarError(f"No rule is called {name}.", where=rule.name, hint="Define it.")


def nullable_rules(grammar: Grammar) -> set[str]:
    """The rules that derive the empty text."""
    return _least_fixed_point(grammar, may_be_empty, None)


def may_be_empty(node: Node, nullable: Set[str] = frozenset()) -> bool:
    """Whether a node matches the empty text, as the rules in `nullable` do."""
    if isinstance(node, tree.Literal):
        return not node.text
    if isinstance(node, tree.RuleRef):
        return node.name in nullable
    if isinstance(node, tree.Alt):
        return any(may_be_empty(option, nullable) for option in node.options)
    if isinstance(node, tree.Seq | tree.Intersect):
        return all(may_be_empty(part, nullable) for part in node.parts)
    if isinstance(node, tree.Repeat):
        return node.minimum == 0 or may_be_empty(node.body, nullable)
    if isinstance(node, tree.Except):
        return not may_be_empty(node.body)
    if isinstance(node, tree.Unordered):
        return node.least == 0
    return isinstance(node, tree.Terminal) and may_be_empty(node.body)


def productive_rules(grammar: Grammar, has_text: Callable[[tree.Intersect], bool]) -> set[str]:
    """The rules that derive a text (or a token) at all; `has_text` decides whether an intersection has one."""

    def leaf(node: Node) -> bool:
        if isinstance(node, tree.CharClass):
            return bool(chars.complement(node.ranges) if node.negated else node.ranges)
        return True

    return _least_fixed_point(grammar, leaf, has_text)


def _least_fixed_point(
    grammar: Grammar, leaf: Callable[[Node], bool], has_text: Callable[[tree.Intersect], bool] | None
) -> set[str]:
    """The rules with the property that `leaf` decides for leaves and `has_text`, if given, for intersections.

    Each node is a claim that it has the property. A claim is true when enough of the claims that it needs are: all for
    a sequence, one for a choice. By claim number, `needs` counts the missing claims and `users` lists the dependents.
    """
    names = list(grammar.rules)
    claim_of = {name: index for index, name in enumerate(names)}
    needs = [1] * len(names)
    users: list[list[int]] = [[] for _ in names]
    true: list[int] = []

    def claim(count: int, user: int) -> int:
        needs.append(count)
        users.append([user])
        if count == 0:
            true.append(len(needs) - 1)
        return len(needs) - 1

    waiting: list[tuple[Node, int]] = [(grammar.rules[name].body, claim_of[name]) for name in names]
    while waiting:
        node, user = waiting.pop()
        if isinstance(node, tree.RuleRef):
            users[claim_of[node.name]].append(user)
        elif isinstance(node, tree.Seq) or (isinstance(node, tree.Intersect) and has_text is None):
            mine = claim(len(node.parts), user)
            waiting += [(part, mine) for part in node.parts]
        elif isinstance(node, tree.Alt):
            mine = claim(1, user)
            waiting += [(option, mine) for option in node.options]
        elif isinstance(node, tree.Repeat):
            if node.maximum is not None and node.maximum < node.minimum:
                continue
            if node.minimum == 0:
                claim(0, user)
            else:
                waiting.append((node.body, claim(1, user)))
        elif isinstance(node, tree.Unordered):
            waiting += _parts_needed(node, user, claim)
        elif isinstance(node, tree.Terminal):
            waiting.append((node.body, claim(1, user)))
        elif has_text(node) if isinstance(node, tree.Intersect) and has_text is not None else leaf(node):
            claim(0, user)
    while true:
        for user in users[true.pop()]:
            needs[user] -= 1
            if needs[user] == 0:
                true.append(user)
    return {name for name in names if needs[claim_of[name]] <= 0}


def _parts_needed(
    node: tree.Unordered, user: int, claim: Callable[[int, int], int]
) -> list[tuple[Node, int]]:
    """The claims of an `Unordered`: its required members, and as many other entries as it needs."""
    parts = [member for place, member in enumerate(node.members) if node.required >> place & 1]
    parts += [node.separator] * (node.least > (0 if node.leading else 1))
    more = node.least - node.required.bit_count()
    mine = claim(len(parts) + (more > 0), user)
    needed = [(part, mine) for part in parts]
    if more:
        others = claim(more, mine)
        needed += [(m, others) for place, m in enumerate(node.members) if not node.required >> place & 1]
        needed += [(node.free, others)] * more
    return needed
