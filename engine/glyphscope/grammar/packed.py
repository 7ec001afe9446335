"""A grammar as bytes, for the process that runs the model: only what its language is, without origins and notes.

Equal nodes are listed once, those inside before those around them: neither side recurses, and what tools have in common
is there once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from glyphscope.grammar import tree
from glyphscope.grammar.tree import Grammar, Node, Rule

_MANY: dict[type[Any], str] = {tree.Seq: "seq", tree.Alt: "alt", tree.Intersect: "both"}
_ONE: dict[type[Any], str] = {tree.Terminal: "lexeme", tree.Except: "not"}


def pack(grammar: Grammar) -> bytes:
    """The rules and the root."""
    listed: dict[tuple[Any, ...], int] = {}
    places: dict[int, int] = {}
    for rule in grammar.rules.values():
        waiting: list[tuple[Node, bool]] = [(rule.body, False)]
        while waiting:
            node, ready = waiting.pop()
            if id(node) in places:
                continue
            inner = node.inner
            if inner and not ready:
                waiting.append((node, True))
                waiting += [(each, False) for each in inner]
                continue
            entry = _entry(node, tuple(places[id(each)] for each in inner))
            places[id(node)] = listed.setdefault(entry, len(listed))
    rules = [(name, places[id(rule.body)]) for name, rule in grammar.rules.items()]
    return msgspec.msgpack.encode((grammar.root, rules, list(listed)))


def unpack(data: bytes) -> Grammar:
    """The grammar of `pack`."""
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
    return (_MANY[type(node)], inner) if type(node) in _MANY else (_ONE[type(node)], inner[0])


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
        case ["lexeme", place]:
            return tree.Terminal(nodes[place])
        case ["not", place]:
            return tree.Except(nodes[place])
        case ["seq", inner]:
            return tree.Seq(tuple(nodes[place] for place in inner))
        case ["alt", inner]:
            return tree.Alt(tuple(nodes[place] for place in inner))
        case [_, inner]:
            return tree.Intersect(tuple(nodes[place] for place in inner))
    raise AssertionError("an entry of no kind")
