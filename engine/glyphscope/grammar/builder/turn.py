"""A turn of a conversation: words, or words and then calls.

The words are any text in which no call begins. Where one begins, is what a reader goes by as well: a brace and the
key of the tool's name, with white space wherever a model may put it (`{ "action" : `), and in GLYPH, which reads them
all, in quotes or not and with `:` or `=`. So no call can leak out as words, and none is words and call at once; from
the tool's name on it is written as any other.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from glyphscope.events import Notation, Shape
from glyphscope.grammar import chars
from glyphscope.grammar.builder.free_text import call_opening
from glyphscope.grammar.tree import CharClass, Node, alt, intersect, optional, repeat, seq, terminal
from glyphscope.notation import shape_keys

WHITE_SPACE = " \t\n\r"
MOST_WHITE = 2  # characters between two calls; more could go on for ever

_WHITE = repeat(CharClass(chars.of(WHITE_SPACE)))


class Sign(NamedTuple):
    """A character of what begins a call; `spaced` where white space may stand before it."""

    char: str
    spaced: bool


Signs: TypeAlias = tuple[Sign, ...]
"""What follows the brace of a call that begins."""


def spellings(key: str, marks: tuple[str, ...] = ("", '"'), ends: str = ":=") -> tuple[Signs, ...]:
    """The ways in which a key may follow the brace: white space, the key in or without quotes, white space, its end."""
    words = [f"{mark}{key}{mark}{end}" for mark in marks for end in ends]
    return tuple(
        tuple(Sign(char, index in (0, len(word) - 1)) for index, char in enumerate(word)) for word in words
    )


def call_spellings(notation: Notation, shape: Shape) -> tuple[Signs, ...]:
    """The ways in which a call may begin in a turn under its grammar."""
    key = shape_keys(shape).name_key
    return spellings(key) if notation == "glyph" else spellings(key, ('"',), ":")


def words_to_call(notation: Notation, shape: Shape) -> Node:
    """One lexeme: words, and then what begins a call."""
    found = call_spellings(notation, shape)
    written = alt(*(seq(*(seq(_WHITE, s.char) if s.spaced else s.char for s in signs)) for signs in found))
    return _lexeme(seq(_words(found), "{", written))


def words_only(notation: Notation, shape: Shape) -> Node:
    """One lexeme: words, possibly none."""
    return _lexeme(_words(call_spellings(notation, shape)))


def next_call(notation: Notation, shape: Shape) -> Node:
    """One lexeme: what stands between a call and the next one's name."""
    white = repeat(CharClass(chars.of(WHITE_SPACE)), 0, MOST_WHITE)
    return terminal(seq(white, call_opening(notation, shape)))


def _words(found: tuple[Signs, ...]) -> Node:
    """Any text in which no spelling follows a brace; its last characters may be the beginning of one."""
    broken, begun = _off_and_on(found)
    attempt = seq("{", begun)  # a brace and some of the signs, which another brace or the end breaks off
    calm = CharClass(chars.complement(chars.of("{")))
    return seq(repeat(alt(seq(repeat(attempt), "{", broken), calm)), repeat(attempt))


def _off_and_on(found: tuple[Signs, ...]) -> tuple[Node, Node]:
    """What follows the signs read so far: some of the next and then one that fits none, and only some of the next."""
    nexts: dict[str, list[Signs]] = {}
    for signs in found:
        nexts.setdefault(signs[0].char, []).append(signs[1:])
    spaced = any(signs[0].spaced for signs in found)
    off: list[Node] = [
        CharClass(chars.complement(chars.of("{" + "".join(nexts) + (WHITE_SPACE if spaced else ""))))
    ]
    on: list[Node] = []
    for char, rest in nexts.items():
        if all(rest):  # else the spelling is complete, and the text no words any more
            broken, begun = _off_and_on(tuple(rest))
            off.append(seq(char, broken))
            on.append(seq(char, begun))
    further = optional(alt(*on)) if on else seq()
    white = (_WHITE,) if spaced else ()
    return seq(*white, alt(*off)), seq(*white, further)


def _lexeme(text: Node) -> Node:
    # Both are the same language; the second makes it an automaton where it is written as rules.
    return terminal(intersect((text, repeat(CharClass(chars.ALL)))))
