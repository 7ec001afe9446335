"""A grammar as bytes, for the process that runs the model: only its language, without origins and notes.

Equal nodes are listed once, each after the nodes in it, so that neither side recurses, and common parts of tools are
sent once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from glyphscope.grammar import tree
from glyphscope.grammar.traversal import bottom_up
from glyphscope.grammar.tree import Grammar, Node, Rule

_KINDS: dict[str, Callable[[Any], Node]] = {
    "seq": tree.Seq, "alt": tree.Alt, "both": tree.Intersect, "lexeme": tree.Terminal, "not": tree.Except,
}  # fmt: skip
_KIND_NAMES = {kind: name for name, kind in _KINDS.items()}


def pack(grammar: Grammar) -> bytes:
    """The rules and the root."""
    listed: dict[tuple[Any, ...], int] = {}
    places: dict[int, int] = {}

    def place_of(node: Node, inner: list[int]) -> int:
        if id(node) not in places:
            places[id(node)] = listed.setdefault(_entry(node, tuple(inner)), len(listed))
        return places[id(node)]

    def fresh_inner(node: Node) -> tuple[Node, ...]:
        return () if id(node) in places else node.inner

    rules = [(name, bottom_up(rule.body, fresh_inner, place_of)) for name, rule in grammar.rules.items()]
    return msgspec.msgpack.encode((grammar.root, rules, list(listed)))


def unpack(data: bytes) -> Grammar:
    """The grammar that `pack` packed."""
    root, rules, listed = msgspec.msgpack.decode(data)
    nodes: list[Node] = []
    for entry in listed:
        nodes.append(_node(entry, nodes))
    return Grammar({name: Rule(name, nodes[place]) for name, place in rules}, root)


def _entry(node: Node, inner: tuple[int, ...]) -> tuple[Any, ...]:
    if isinstance(node, tree.Literal):
        return ("text", node.text.encode("utf-8", "surrogatepass"))
    if isinstance(node, tree.CharClass):
        return ("class", node.ranges, node.negated)
    if isinstance(node, tree.RuleRef):
        return ("rule", node.name)
    if isinstance(node, tree.TokenMatch):
        return ("token", node.token, node.negated)
    if isinstance(node, tree.Unordered):
        return ("any order", inner, node.required, node.low, node.high, node.leading)
    if isinstance(node, tree.Repeat):
        return ("repeat", inner[0], node.minimum, node.maximum)
    return _KIND_NAMES[type(node)], inner[0] if isinstance(node, tree.Terminal | tree.Except) else inner


def _node(entry: list[Any], nodes: list[Node]) -> Node:
    match entry:
        case ["text", data]:
            return tree.Literal(data.decode("utf-8", "surrogatepass"))
        case ["class", ranges, negated]:
            return tree.CharClass(tuple((low, high) for low, high in ranges), negated)
        case ["rule", name]:
            return tree.RuleRef(name)
        case ["token", token, negated]:
            return tree.TokenMatch(token, negated)
        case ["any order", inner, required, low, high, leading]:
            *members, free, separator = (nodes[place] for place in inner)
            return tree.Unordered(tuple(members), required, free, separator, low, high, leading)
        case ["repeat", place, minimum, maximum]:
            return tree.Repeat(nodes[place], minimum, maximum)
        case [kind, [*inner]]:
            return _KINDS[kind](tuple(nodes[place] for place in inner))
        case [kind, place]:
            return _KINDS[kind](nodes[place])
    raise AssertionError("an entry of no kind")
