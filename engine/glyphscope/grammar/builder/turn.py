"""A turn of a conversation: words, or words and then calls.

The words are any text in which no call begins. Where one begins, is what a reader goes by as well: a brace and the
key of the tool's name, with white space wherever a model may put it (`{ "action" : `). So no call can leak out as
words, and none is words and call at once; from its beginning on it is written as any other.
"""

from __future__ import annotations

from typing import NamedTuple

from glyphscope.events import Notation, Shape
from glyphscope.grammar import chars
from glyphscope.grammar.builder.free_text import call_opening
from glyphscope.grammar.tree import CharClass, Node, alt, intersect, optional, repeat, seq, terminal

WHITE_SPACE = " \t\n\r"
MOST_WHITE = 2  # characters between two calls; more could go on for ever

_WHITE = repeat(CharClass(chars.of(WHITE_SPACE)))


class Sign(NamedTuple):
    """A character of what begins a call; `spaced` where white space may stand before it."""

    char: str
    spaced: bool


def opening_signs(opening: str) -> tuple[Sign, ...]:
    """The characters after the brace, as they may be written: `{`, white space, the key, white space, `:` or `=`."""
    assert opening[0] == "{" and "{" not in opening[1:]
    last = len(opening) - 1
    return tuple(Sign(char, index in (1, last)) for index, char in enumerate(opening) if index)


def words_to_call(notation: Notation, shape: Shape) -> Node:
    """One lexeme: words, and then what begins a call."""
    signs = opening_signs(call_opening(notation, shape))
    opening = seq("{", *(seq(_WHITE, sign.char) if sign.spaced else sign.char for sign in signs))
    return _lexeme(seq(_words(signs), opening))


def words_only(notation: Notation, shape: Shape) -> Node:
    """One lexeme: words, possibly none."""
    return _lexeme(_words(opening_signs(call_opening(notation, shape))))


def next_call(notation: Notation, shape: Shape) -> Node:
    """One lexeme: what stands between a call and the next one's name."""
    white = repeat(CharClass(chars.of(WHITE_SPACE)), 0, MOST_WHITE)
    return terminal(seq(white, call_opening(notation, shape)))


def _words(signs: tuple[Sign, ...]) -> Node:
    """Any text in which the signs never follow a brace; its last characters may be the first of them."""
    broken: Node | None = None
    begun: Node = seq()
    for index in reversed(range(len(signs))):
        char, spaced = signs[index]
        off = CharClass(chars.complement(chars.of("{" + char + (WHITE_SPACE if spaced else ""))))
        after: Node = off if broken is None else alt(off, seq(char, broken))
        further: Node = seq() if index == len(signs) - 1 else optional(seq(char, begun))
        broken, begun = (seq(_WHITE, after), seq(_WHITE, further)) if spaced else (after, further)
    assert broken is not None
    attempt = seq("{", begun)  # a brace and some of the signs, which another brace or the end breaks off
    calm = CharClass(chars.complement(chars.of("{")))
    return seq(repeat(alt(seq(repeat(attempt), "{", broken), calm)), repeat(attempt))


def _lexeme(text: Node) -> Node:
    # Both are the same language; the second makes it an automaton where it is written as rules.
    return terminal(intersect((text, repeat(CharClass(chars.ALL)))))
