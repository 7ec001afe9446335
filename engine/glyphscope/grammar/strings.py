"""Strings as they are written: nodes over characters turned into nodes over their escaped text.

The escaped texts are those both notations read alike; only what the notation's own reader refuses differs: GLYPH has
no `\\b \\f \\/` and no escaped surrogate pairs.
"""

from __future__ import annotations

from functools import lru_cache

from glyphscope.events import Notation
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.lengths import within
from glyphscope.grammar.tree import (
    EMPTY,
    Alt,
    CharClass,
    Intersect,
    Literal,
    Node,
    Repeat,
    Seq,
    alt,
    intersect,
    repeat,
    seq,
    terminal,
)  # fmt: skip

_QUOTE = '"'
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS: Ranges = ((0x00, 0x1F),)
RAW = chars.subtract(chars.ALL, chars.union(_CONTROLS, chars.of('"\\')))
_HEX = CharClass(chars.of("0123456789abcdefABCDEF"))


@lru_cache(maxsize=1024)
def string_node(
    notation: Notation, contents: tuple[Node, ...] = (), min_length: int = 0, max_length: int | None = None
) -> Node:
    """A quoted string whose characters are in all of `contents`; lengths count characters, however escaped."""
    if len(contents) == 1 and (min_length or max_length is not None):
        bounded = within(contents[0], min_length, max_length)
        if bounded is not None:
            return terminal(seq(_QUOTE, escaped(bounded, notation), _QUOTE))
    parts = [escaped(content, notation) for content in contents]
    if min_length or max_length is not None or not parts:
        parts.append(repeat(any_character(notation), min_length, max_length))
    return terminal(seq(_QUOTE, intersect(parts), _QUOTE))


@lru_cache(maxsize=2048)
def escaped(node: Node, notation: Notation) -> Node:
    """The texts that are read as the strings of `node`."""
    if isinstance(node, Literal):
        return seq(*(_character(ord(char)) for char in node.text))
    if isinstance(node, CharClass):
        return _escaped_class(node.ranges, notation)
    if isinstance(node, Repeat):
        return repeat(escaped(node.body, notation), node.minimum, node.maximum)
    if isinstance(node, Seq):
        return seq(*(escaped(part, notation) for part in node.parts))
    if isinstance(node, Intersect):
        return intersect(escaped(part, notation) for part in node.parts)
    assert isinstance(node, Alt), "a string's content is regular"
    return alt(*(escaped(option, notation) for option in node.options))


def _escaped_class(ranges: Ranges, notation: Notation) -> Node:
    if ranges == chars.ALL:
        return any_character(notation)
    special = chars.intersection(ranges, chars.complement(RAW))
    raw = chars.intersection(ranges, RAW)
    written = (_character(code) for low, high in special for code in range(low, high + 1))
    return alt(*((CharClass(raw),) if raw else ()), *written)


def _character(code: int) -> Node:
    char = chr(code)
    return seq(_SHORT.get(char) or (f"\\u{code:04x}" if code < 0x20 else char))


@lru_cache(maxsize=2)
def any_character(notation: Notation) -> Node:
    """Any character of a string, as it is or escaped."""
    short = CharClass(chars.of('"\\/bfnrt' if notation == "json" else '"\\nrt'))
    first = CharClass(chars.of("0123456789abcefABCEF"))
    low_d = seq(CharClass(chars.of("dD")), CharClass(((0x30, 0x37),)), _HEX, _HEX)
    code = seq("u", alt(seq(first, repeat(_HEX, 3, 3)), low_d))
    escapes = [short, code]
    if notation == "json":
        pair = seq(
            "u", CharClass(chars.of("dD")), CharClass(chars.of("89abAB")), repeat(_HEX, 2, 2),
            "\\u", CharClass(chars.of("dD")), CharClass(chars.of("cdefCDEF")), repeat(_HEX, 2, 2),
        )  # fmt: skip
        escapes.append(pair)
    return alt(CharClass(RAW), seq("\\", alt(*escapes)))


@lru_cache(maxsize=256)
def word_except(reserved: frozenset[str], first: Ranges, following: Ranges) -> Node:
    """The words of those characters, the empty one among them, that are none of the reserved ones."""
    spelled = frozenset(word for word in reserved if _is_word(word, first, following))
    if spelled != reserved:
        return word_except(spelled, first, following)

    def from_prefix(prefix: str) -> Node:
        branches = {word[len(prefix)] for word in reserved if word.startswith(prefix) and word != prefix}
        allowed = following if prefix else first
        free = chars.subtract(allowed, chars.of("".join(branches)))
        options: list[Node] = [seq(CharClass(free), repeat(CharClass(following)))]
        options += (
            seq(char, from_prefix(prefix + char))
            for char in sorted(branches)
            if chars.intersection(allowed, chars.of(char))
        )
        return alt(*options) if prefix in reserved else alt("", *options)

    return from_prefix("")


def _is_word(word: str, first: Ranges, following: Ranges) -> bool:
    if not word:
        return True
    inside = (chars.intersection(following, chars.of(char)) for char in word[1:])
    return bool(chars.intersection(first, chars.of(word[0]))) and all(inside)


def words_left_out(node: Node) -> tuple[frozenset[str], Ranges, Ranges] | None:
    """With which arguments `word_except` made the node; None where it did not, or no word is left out."""
    if not isinstance(node, Alt):
        return None
    reserved: set[str] = set()
    begins: list[Ranges] = []
    following: Ranges = ()
    waiting: list[tuple[str, tuple[Node, ...]]] = [("", (node,))]
    while waiting:
        prefix, rest = waiting.pop()
        options = rest[0].options if isinstance(rest[0], Alt) else (Seq(rest),)
        if EMPTY not in options:
            reserved.add(prefix)
        for option in options:
            match option:
                case Seq((CharClass(ranges, False), Repeat(CharClass(more, False), 0, None))):
                    following = more
                    begins += () if prefix else (ranges,)
                case Seq((Literal(text), *inner)) if inner and len(text) == 1:
                    begins += () if prefix else (chars.of(text),)
                    waiting.append((prefix + text, tuple(inner)))
                case Seq(()):
                    pass
                case _:
                    return None
    found = frozenset(reserved), chars.union(*begins), following
    return found if reserved and word_except(*found) == node else None
