"""Free text before a call: any text, up to where a call begins.

What begins a call is its first letters, up to where the tool's name stands (`{"action":`, `{action=`). The text is
everything before the first place where these are written; from there on it is the call and must be one. So a brace, a
piece of JSON or code may stand in the text, and no position is text and call at once: neither engine has to keep both
open, and a reader finds the call by the same rule. Any other choice (a text without braces, a mark between the two)
would forbid texts that models write, or ask them for a mark they were not trained on.
"""

from __future__ import annotations

from glyphscope.events import Notation, Shape
from glyphscope.grammar import chars
from glyphscope.grammar.tree import CharClass, Node, alt, intersect, optional, repeat, seq, terminal
from glyphscope.notation import shape_keys, write_value
from glyphscope.notation.write import glyph_key


def call_opening(notation: Notation, shape: Shape) -> str:
    """The letters with which every call begins: `{"action":`, `{action=`."""
    name, _ = shape_keys(shape)
    return "{" + (f"{glyph_key(name)}=" if notation == "glyph" else f"{write_value(name, 'json')}:")


def up_to(opening: str) -> Node:
    """One lexeme: any text, then `opening`, which is nowhere in it before; its first character comes once in it."""
    first, rest = opening[0], opening[1:]
    assert rest and first not in rest
    broken: Node = _none_of(first + rest[-1])
    for index in reversed(range(len(rest) - 1)):
        broken = alt(_none_of(first + rest[index]), seq(rest[index], broken))
    begun: Node = seq()
    for char in reversed(rest[:-1]):
        begun = optional(seq(char, begun))
    # `first` and some of the rest, again and again, then what breaks it off
    attempt = seq(first, begun)
    text = repeat(alt(seq(repeat(attempt), first, broken), _none_of(first)))
    # Both are the same language; the second makes it an automaton where it is written as rules.
    return terminal(intersect((seq(text, repeat(attempt), opening), repeat(CharClass(chars.ALL)))))


def _none_of(text: str) -> Node:
    return CharClass(chars.complement(chars.of(text)))
