"""Possible continuations in words: whole literals, classes such as `0-9`, tokens, and the end of the text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from glyphscope.base.shorten import shorten
from glyphscope.base.visible import character_words
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.tree import Origin, TokenMatch

END = "end of text"
MAX_LITERAL = 60  # characters
MAX_PIECES = 8  # ranges of a class
_NAMES = {0x20: "space", 0x09: "tab", 0x0A: "line-feed", 0x0D: "carriage-return"}
_CONTROLS = (0x00, 0x1F)


class Expectation(NamedTuple):
    """A possible continuation and its rule (empty for the text's end)."""

    words: str
    rule: str
    origin: Origin | None


def expectations(
    automaton: Automaton, places: Iterable[tuple[DfaState, str, Origin | None]], accepted: bool, limit: int
) -> tuple[Expectation, ...]:
    """The possible continuations at the places, at most `limit`; `accepted`: ending with the text's end."""
    listed: dict[Expectation, None] = {}
    room = limit - 1 if accepted else limit
    for place, rule, origin in places:
        if len(listed) >= room:
            break
        for words in _words(automaton, place):
            listed[Expectation(words, rule, origin)] = None
    shown = list(listed)[:room]
    return (*shown, Expectation(END, "", None)) if accepted else tuple(shown)


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


def class_words(ranges: Ranges) -> str:
    """A set of characters: `0-9 a-f`, or `any character but "`."""
    without = chars.complement(ranges)
    if not without:
        return "any character"
    if len(without) < len(ranges) or sum(high - low for low, high in ranges) > 0x80000:
        return f"any character but {_pieces(without)}"
    return _pieces(ranges)


def token_words(match: TokenMatch) -> str:
    """A token of the vocabulary by its name or number."""
    name = match.token if isinstance(match.token, str) else f"<[{match.token}]>"
    name = name if name.startswith("<") else f"<{name}>"
    return f"any token but {name}" if match.negated else f"token {name}"


def _pieces(ranges: Ranges) -> str:
    pieces = [_piece(low, high) for low, high in ranges[:MAX_PIECES]]
    return " ".join(pieces) + (" …" if len(ranges) > MAX_PIECES else "")


def _piece(low: int, high: int) -> str:
    if (low, high) == _CONTROLS:
        return "control-characters"
    if low == high:
        return char_words(low)
    return f"{char_words(low)}{' ' if high == low + 1 else '-'}{char_words(high)}"


def char_words(code: int) -> str:
    """One character as itself, or its name if it is invisible."""
    if code in _NAMES:
        return _NAMES[code]
    return character_words(chr(code))
