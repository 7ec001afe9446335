"""The syntactic differences between the notations of calls: keys, separators, words, and the form of constants."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from typing import Literal as TypingLiteral

from glyphscope.base.errors import NotationError
from glyphscope.events import Notation
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.lexemes import is_possible
from glyphscope.grammar.regular.strings import RAW, StringStyle, escaped, string_node, style_of, word_except
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    Alt,
    CharClass,
    Literal,
    Node,
    all_but,
    alt,
    intersect,
    repeat,
    seq,
    terminal,
)  # fmt: skip
from glyphscope.notation.write import RESERVED, glyph_key, write_value

WhiteSpace: TypeAlias = TypingLiteral["none", "single", "lines", "any"]
"""White space in JSON: none, one space after each colon and comma, that or indented lines, or any that JSON allows."""

WHITE = repeat(CharClass(chars.of(" \t\n\r")))
MAX_INDENTED = 40  # spaces of indentation
INDENTED = alt("", " ", seq("\n", repeat(Literal(" "), 0, MAX_INDENTED)))

_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_LIST, _CLOSE_LIST = map(Literal, "{}[]")
_LETTERS = chars.of(string.ascii_letters)


class KeyLanguage(NamedTuple):
    """The keys that match all of `matches` and none of `excludes`, and are not in `named`; as plain texts."""

    matches: tuple[Node, ...] = ()
    excludes: tuple[Node, ...] = ()
    named: frozenset[str] = frozenset()

    def escaped(self, notation: Notation) -> KeyLanguage:
        """The same keys as they are written in quotes."""
        matches, excludes = (tuple(escaped(node, notation) for node in nodes) for nodes in self[:2])
        return self._replace(matches=matches, excludes=excludes)

    def among(self, *texts: Node) -> Node:
        """The keys that are also in all of these languages; `named` is not excluded."""
        return all_but(intersect((*self.matches, *texts)), *self.excludes)


ANY_KEY = KeyLanguage()


@dataclass(frozen=True)
class NotationSyntax:
    """The syntax of a notation. `key_end` is between key and value, `separator` between entries and items.

    `margin` may surround the whole text. `strings` replaces the notation's way of writing strings, and `bare` are the
    characters of unquoted keys.
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
    strings: tuple[StringStyle, ...] = ()
    bare: Ranges = ()

    @property
    def styles(self) -> tuple[Notation | StringStyle, ...]:
        """The ways of writing a string, the usual one first."""
        return self.strings or (self.notation,)

    def key(self, name: str) -> Node:
        """A key with its `key_end`; NEVER if it cannot be written."""
        if self.strings:
            plain = bool(name) and not chars.subtract(chars.of(name), self.bare)
            key = seq(name) if plain else self.strings[0].constant(name)
            return seq(key, self.key_end)
        return seq(glyph_key(name) if self.notation == "glyph" else write_value(name, "json"), self.key_end)

    def constant(self, value: Any) -> Node:
        """A value in the form of the notation's writer, with all spellings of words; NEVER if it cannot be written."""
        if value is None:
            return self.null
        if isinstance(value, bool):
            return self._boolean(value)
        if self.strings and isinstance(value, str):
            return alt(*(node for style in self.strings if (node := style.constant(value)) != NEVER))
        if self.strings and isinstance(value, list):
            return self.row(self.open_list, [self.constant(item) for item in value], self.close_list)
        if self.strings and isinstance(value, dict):
            entries = [seq(self.key(key), self.constant(item)) for key, item in value.items()]
            return self.row(self.open_object, entries, self.close_object)
        try:
            return seq(write_value(value, self.notation))
        except NotationError:
            return NEVER

    def _boolean(self, value: bool) -> Node:
        if self.notation == "glyph":
            return alt("t", "true") if value else alt("f", "false")
        words = self.boolean.options if isinstance(self.boolean, Alt) else (self.boolean,)
        letter = "t" if value else "f"
        return alt(*(word for word in words if isinstance(word, Literal) and word.text[0].lower() == letter))

    def row(self, opening: Node, parts: list[Node], closing: Node) -> Node:
        """The parts with separators between them."""
        separated = (seq(self.separator if place else EMPTY, part) for place, part in enumerate(parts))
        return seq(opening, *separated, closing)

    def any_string(self) -> Node:
        """Any string, written in any of the ways."""
        return alt(*(string_node(style) for style in self.styles))

    def map_key(self, keys: KeyLanguage = ANY_KEY) -> Node:
        """One of the keys; NEVER if there is none."""
        if self.bare:
            return _possible(keys.among(word_except(keys.named | {""}, self.bare, self.bare)))
        if keys == ANY_KEY:
            quoted = self.any_string()
        else:
            # Without escapes, so that no other spelling of an excluded key is possible.
            style = style_of(self.styles[0])
            plain = word_except(keys.named, RAW, RAW) if keys.named else repeat(CharClass(RAW))
            body = keys.escaped(self.notation).among(*((plain,) if keys.named or keys.excludes else ()))
            quoted = NEVER if body == NEVER else _possible(style.bounded(seq('"', body, '"'), body))
        return (
            quoted if self.notation == "json" else alt(quoted, _possible(keys.among(_bare_key(keys.named))))
        )


def _possible(lexeme: Node) -> Node:
    """The lexeme; NEVER if it has no text."""
    return NEVER if is_possible(lexeme) is False else terminal(lexeme)


@lru_cache(maxsize=64)
def _bare_key(named: frozenset[str]) -> Node:
    return word_except(RESERVED | named | {""}, _LETTERS, chars.union(_LETTERS, chars.of("0123456789_")))


@lru_cache(maxsize=4)
def notation_syntax(notation: Notation, white_space: WhiteSpace = "none") -> NotationSyntax:
    """The notation's syntax. `white_space` applies to JSON; GLYPH has one space between entries and none elsewhere."""
    if notation == "glyph":
        return NotationSyntax(notation, seq(" "), seq("="), alt("t", "f", "true", "false"), alt("_", "null"))
    boolean, null = alt("true", "false"), seq("null")
    if white_space in ("any", "lines"):
        # Openers include the white space after them, other signs also that before them, so no two lexemes share any.
        white = WHITE if white_space == "any" else INDENTED
        comma, colon = (terminal(seq(white, sign, white)) for sign in ",:")
        openers = [terminal(seq(sign, white)) for sign in "{["]
        closers = [terminal(seq(white, sign)) for sign in "}]"]
        ends = (openers[0], closers[0], openers[1], closers[1])
        return NotationSyntax(
            notation, comma, colon, boolean, null, *ends, terminal(WHITE) if white == WHITE else EMPTY
        )
    comma, colon = (
        terminal(alt(sign, f"{sign} ")) if white_space == "single" else seq(sign) for sign in ",:"
    )
    return NotationSyntax(notation, comma, colon, boolean, null)
