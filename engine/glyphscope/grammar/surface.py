"""What differs between the notations when a call is spelled: keys, separators, words, and how a constant is written."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias
from typing import Literal as TypingLiteral

from glyphscope.errors import NotationError
from glyphscope.events import Notation
from glyphscope.grammar import chars
from glyphscope.grammar.lexemes import is_possible
from glyphscope.grammar.strings import RAW, escaped, string_node, word_except
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    CharClass,
    Literal,
    Node,
    alt,
    intersect,
    repeat,
    seq,
    terminal,
)  # fmt: skip
from glyphscope.notation import write_value
from glyphscope.notation.write import RESERVED, glyph_key

WhiteSpace: TypeAlias = TypingLiteral["none", "single", "any"]
"""Where JSON may have white space: nowhere, one space after each colon and comma, or any wherever JSON allows it."""

WHITE = repeat(CharClass(chars.of(" \t\n\r")))

_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_LIST, _CLOSE_LIST = map(Literal, "{}[]")
_LETTERS = chars.of(string.ascii_letters)


@dataclass(frozen=True)
class Surface:
    """One notation's spelling. `key_end` stands between key and value, `separator` between entries and items.

    `margin` may stand before and after the whole text.
    """

    notation: Notation
    separator: Node
    key_end: Node
    boolean: Node
    null: Node
    open_object: Node = _OPEN_OBJECT
    close_object: Node = _CLOSE_OBJECT
    open_list: Node = _OPEN_LIST
    close_list: Node = _CLOSE_LIST
    margin: Node = EMPTY

    def key(self, name: str) -> Node:
        """A key with what follows it."""
        return seq(glyph_key(name) if self.notation == "glyph" else write_value(name, "json"), self.key_end)

    def constant(self, value: Any) -> Node:
        """A value written in the one way the writer has, but words in all; NEVER for what it cannot write."""
        if value is None:
            return self.null
        if isinstance(value, bool):
            short, long = ("t", "true") if value else ("f", "false")
            return alt(short, long) if self.notation == "glyph" else seq(long)
        try:
            return seq(write_value(value, self.notation))
        except NotationError:
            return NEVER

    def map_key(self, contents: tuple[Node, ...] = (), named: frozenset[str] = frozenset()) -> Node:
        """A key that no schema names, in all of `contents`, and none of the `named` ones."""
        if not contents and not named:
            quoted = string_node(self.notation)
        else:
            # Without escapes, so that no other spelling of a named key gets through.
            unnamed = (word_except(named, RAW, RAW),) if named else ()
            body = intersect([*(escaped(content, self.notation) for content in contents), *unnamed])
            quoted = terminal(seq('"', body, '"'))
        if self.notation == "json":
            return quoted
        bare = intersect([*contents, _bare_key(named)])
        return alt(quoted, terminal(bare)) if is_possible(bare) else quoted


@lru_cache(maxsize=64)
def _bare_key(named: frozenset[str]) -> Node:
    return word_except(RESERVED | named | {""}, _LETTERS, chars.union(_LETTERS, chars.of("0123456789_")))


@lru_cache(maxsize=4)
def surface(notation: Notation, white_space: WhiteSpace = "none") -> Surface:
    """The notation's spelling. `white_space` is JSON's; GLYPH has one space between entries and none elsewhere."""
    if notation == "glyph":
        return Surface(notation, seq(" "), seq("="), alt("t", "f", "true", "false"), alt("_", "null"))
    boolean, null = alt("true", "false"), seq("null")
    if white_space == "any":
        # Openers take what follows them, all other signs what is before them too: no two lexemes share a place.
        comma, colon = (terminal(seq(WHITE, sign, WHITE)) for sign in ",:")
        openers = [terminal(seq(sign, WHITE)) for sign in "{["]
        closers = [terminal(seq(WHITE, sign)) for sign in "}]"]
        ends = (openers[0], closers[0], openers[1], closers[1])
        return Surface(notation, comma, colon, boolean, null, *ends, terminal(WHITE))
    comma, colon = (
        terminal(alt(sign, f"{sign} ")) if white_space == "single" else seq(sign) for sign in ",:"
    )
    return Surface(notation, comma, colon, boolean, null)
