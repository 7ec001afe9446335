"""Grammars written as trees: a maker of them, and JSON."""

from __future__ import annotations

from glyphscope.grammar import chars
from glyphscope.grammar.tree import CharClass, Grammar, Node, Rule, RuleRef, alt, optional, repeat, seq

DIGIT = CharClass(chars.DIGITS)


def made(**rules: Node) -> Grammar:
    """Return the grammar of these rules; the first one is the root."""
    return Grammar({name: Rule(name, body) for name, body in rules.items()}, next(iter(rules)))


def ref(name: str) -> Node:
    """A reference to the rule."""
    return RuleRef(name)


def some(item: Node, open_with: str, close_with: str) -> Node:
    """The item between brackets, separated by commas."""
    return seq(open_with, WS, optional(seq(item, repeat(seq(",", WS, item)))), close_with, WS)


WS = ref("ws")
WHOLE = alt("0", seq(CharClass(((0x31, 0x39),)), repeat(DIGIT)))
ESCAPE = seq("\\", CharClass(chars.of('"\\/bfnrt')))
JSON = made(
    root=ref("value"),
    value=alt(ref("object"), ref("array"), ref("string"), ref("number"), "true", "false", "null"),
    object=some(ref("member"), "{", "}"),
    member=seq(ref("string"), ":", WS, ref("value")),
    array=some(ref("value"), "[", "]"),
    string=seq('"', repeat(alt(CharClass(chars.of('"\\'), True), ESCAPE)), '"', WS),
    number=seq(repeat(seq("-"), 0, 1), WHOLE, optional(seq(".", repeat(DIGIT, 1))), WS),
    ws=repeat(CharClass(chars.of(" \n\t"))),
)
