"""Possible continuations in words: whole literals, classes such as `0-9`, tokens, and the end of the text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from glyphscope.base.shorten import shorten
from glyphscope.base.translate import Translate, english
from glyphscope.base.visible import character_words
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.tree import Origin, TokenMatch

END = "end of text"
MAX_LITERAL = 60  # characters
MAX_PIECES = 8  # ranges of a class
_CONTROLS = (0x00, 0x1F)


class Continuation(NamedTuple):
    """A possible continuation and its rule (empty for the text's end)."""

    words: str
    rule: str
    origin: Origin | None


def expectations(
    automaton: Automaton, places: Iterable[tuple[DfaState, str, Origin | None]], accepted: bool, limit: int
) -> tuple[Continuation, ...]:
    """The possible continuations at the places, at most `limit`; `accepted`: ending with the text's end."""
    listed: dict[Continuation, None] = {}
    room = limit - 1 if accepted else limit
    for place, rule, origin in places:
        if len(listed) >= room:
            break
        for words in _words(automaton, place):
            listed[Continuation(words, rule, origin)] = None
    shown = list(listed)[:room]
    return (*shown, Continuation(END, "", None)) if accepted else tuple(shown)


def _words(automaton: Automaton, place: DfaState) -> Iterable[str]:
    steps = automaton.steps(place)
    for move in steps.moves:
        if move.literal is not None:
            yield literal_words(move.literal.text[move.literal.at :])
    classes = chars.union(*(move.ranges for move in steps.moves if move.literal is None))
    if classes:
        yield class_words(classes)
    for match, _ in steps.tokens:
        yield token_words(match)


def literal_words(text: str) -> str:
    """A literal in quotes; if it is long, its middle is omitted."""
    return json.dumps(shorten(text, MAX_LITERAL, keep="ends"), ensure_ascii=False)


def class_words(ranges: Ranges, tr: Translate = english) -> str:
    """A set of characters: `0-9 a-f`, or `any character but "`."""
    if not ranges:
        return tr("no character")
    without = chars.complement(ranges)
    if not without:
        return tr("any character")
    if len(without) < len(ranges) or sum(high - low for low, high in ranges) > 0x80000:
        return tr("any character but {characters}", characters=_pieces(without, tr))
    return _pieces(ranges, tr)


def token_words(match: TokenMatch) -> str:
    """A token of the vocabulary by its name or number."""
    name = match.token if isinstance(match.token, str) else f"<[{match.token}]>"
    name = name if name.startswith("<") else f"<{name}>"
    return f"any token but {name}" if match.negated else f"token {name}"


def _pieces(ranges: Ranges, tr: Translate) -> str:
    pieces = [_piece(low, high, tr) for low, high in ranges[:MAX_PIECES]]
    return " ".join(pieces) + (" …" if len(ranges) > MAX_PIECES else "")


def _piece(low: int, high: int, tr: Translate) -> str:
    if (low, high) == _CONTROLS:
        return tr("controls", "characters")
    if low == high:
        return char_words(low, tr)
    return f"{char_words(low, tr)}{' ' if high == low + 1 else '-'}{char_words(high, tr)}"


def char_words(code: int, tr: Translate = english) -> str:
    """One character as itself, or its name if it is invisible."""
    match chr(code):
        case " ":
            return tr("space", "a character")
        case "\t":
            return tr("tab", "a character")
        case "\n":
            return tr("line-feed", "a character")
        case "\r":
            return tr("carriage-return", "a character")
        case character:
            return character_words(character)
