"""The cost of each part of a prompt: its pieces are located in the rendered text, and the tokens divided among them.

The whole text is tokenized once, and every token belongs to one part, so the parts add up to the total. A token across
a border belongs to the part of the last character that it completes; one that completes none, to the part of the
character whose byte it is. A token that begins the sequence belongs to the first part.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from glyphscope.events import PromptPart
from glyphscope.prompting.messages import SYSTEM_PROMPT
from glyphscope.prompting.template import LINE, Part

TEMPLATE = "template"
"""The name of the part that the chat template writes between the others."""
_OF = ("/", LINE, SYSTEM_PROMPT)
"""The beginnings of `of` in pieces that are searched for together with their neighbours."""
_SHORT = 8
"""Characters of a text so short that a chat template may contain it by chance."""
_MAX_COUNTED = 400
"""Parts that are counted one by one if the places of tokens are unknown; beyond it, each tool is one part."""


class Span(NamedTuple):
    """The characters `start` to `end` (exclusive) of the text; `name` and `of` as in `PromptPart`."""

    name: str
    start: int
    end: int
    of: str = ""


def part_spans(text: str, pieces: Sequence[Part]) -> Iterator[Span]:
    """The pieces in the rendered text, with the chat template's own text between them: together the whole text.

    Neighbours from one template are searched for together, as a single bracket would be found anywhere. A piece that
    the chat template changed, other than by trimming white space, is not found and counts as the template's text.
    """
    at = 0
    for name, inside in _together(pieces):
        if (locate := inside[0].locate) is not None:
            for found in locate(text, at, _next_place(text, at, pieces, inside[0])):
                if found.start > at:
                    yield Span(TEMPLATE, at, found.start)
                yield Span(name, found.start, found.end, found.of)
                at = found.end
            continue
        whole = "".join(piece.text for piece in inside)
        start = _find(text, whole, at)
        cut = 0
        if start < 0 and (short := whole.strip()) and short != whole:
            start, cut = text.find(short, at), len(whole) - len(whole.lstrip())
            whole = short
        if start < 0:
            continue
        if start > at:
            yield Span(TEMPLATE, at, start)
        at = start + len(whole)
        place = start - cut
        for piece in inside:
            begin, place = max(place, start), place + len(piece.text)
            if min(place, at) > begin:
                yield Span(name, begin, min(place, at), piece.of)
    if at < len(text):
        yield Span(TEMPLATE, at, len(text))


def _find(text: str, whole: str, at: int) -> int:
    """The index of the piece from `at` on, or -1. A short piece is searched for as a whole word, if there is one."""
    if len(whole) <= _SHORT and whole[:1].isalnum() and whole[-1:].isalnum():
        found = re.compile(rf"(?<!\w){re.escape(whole)}(?!\w)").search(text, at)
        if found is not None:
            return found.start()
    return text.find(whole, at) if whole else -1


def _next_place(text: str, at: int, pieces: Sequence[Part], piece: Part) -> int:
    """The index of the next piece that is found after `piece`, which ends before it; otherwise the text's end."""
    place = next(n for n, one in enumerate(pieces) if one is piece)
    for one in pieces[place + 1 :]:
        if (words := one.text.strip()) and (found := text.find(words, at)) >= 0:
            return found
    return len(text)


def _together(pieces: Sequence[Part]) -> Iterator[tuple[str, list[Part]]]:
    """Neighbouring pieces of one template (of a tool, a line, the system prompt) together; all others separately."""
    for (name, is_of), group in groupby(pieces, key=lambda piece: (piece.name, piece.of.startswith(_OF))):
        inside = list(group)
        yield from [(name, inside)] if is_of else ((name, [piece]) for piece in inside)


def priced_by_tokens(spans: Sequence[Span], lengths: Sequence[int]) -> tuple[PromptPart, ...]:
    """The cost of each span by the characters that each token completes: `lengths`, one number per token."""
    prices = [0] * len(spans)
    starts = [span.start for span in spans]
    at = 0
    for number, length in enumerate(lengths):
        at += length
        place = at - 1 if length else at
        if spans:
            prices[0 if number == 0 and not length else max(0, bisect_right(starts, place) - 1)] += 1
    return _parts(spans, prices)


def priced_by_counting(
    text: str, tokens: int, spans: Sequence[Span], count_tokens: Callable[[str], int]
) -> tuple[PromptPart, ...]:
    """The cost of each span as the tokens that it adds to the previous span, if only counts of tokens are known.

    The difference from `tokens`, the total, has no text (the token that begins a sequence): the first part gets it. If
    the parts count more than the total, because tokens span their boundaries, the first ones get less.
    """
    if len(spans) > _MAX_COUNTED:
        spans = list(_whole_tools(spans))
    prices: list[int] = []
    before = 0
    for span in spans:
        counted = count_tokens(text[before : span.start]) if span.start > before else 0
        prices.append(max(0, count_tokens(text[before : span.end]) - counted))
        before = span.start
    rest = tokens - sum(prices)
    for place, price in enumerate(prices):
        prices[place] = max(0, price + rest)
        rest -= prices[place] - price
    return _parts(spans, prices)


def _parts(spans: Sequence[Span], prices: Sequence[int]) -> tuple[PromptPart, ...]:
    return tuple(
        PromptPart(span.name, span.start, span.end, price, span.of) for span, price in zip(spans, prices)
    )


def _whole_tools(spans: Sequence[Span]) -> Iterator[Span]:
    """The spans, with neighbouring spans of the same tool joined."""
    for (name, of), group in groupby(
        spans, key=lambda span: (span.name, "/".join(span.of.split("/", 2)[:2]))
    ):
        inside = list(group)
        yield Span(name, inside[0].start, inside[-1].end, of)
