"""The renderings from which a form is derived, in pairs that differ in one respect, with the differences marked.

The probe's words in place of names, keys and values are replaced by readable ones.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

import msgspec

from glyphscope.base.lines import common_length
from glyphscope.turns.derive_calls import ONE
from glyphscope.turns.markup import tokens
from glyphscope.turns.probe import (
    IDS,
    KEYS,
    NAMES,
    REASON,
    RESULT,
    SAMPLES,
    TEXT,
    USER,
    VALUES,
    Probe,
    Renders,
    TemplateDialect,
    sample_tools,
)

_READABLE = {
    USER: "What is the weather in Zurich?",
    TEXT: "It is sunny.",
    REASON: "I should look it up.",
    RESULT: "12 degrees",
    **dict(zip(NAMES, ("get_weather", "find_train"))),
    **dict(zip(KEYS, ("city", "day"))),
    **dict(zip(VALUES, ("Zurich", "Basel"))),
    **dict(zip(IDS, ("call00001", "call00002"))),
    "907163": "3",
    "48.125": "0.5",
    "70531": "1",
    "80642": "2",
    "zq_in_a": "from",
    "51937": "8",
}
_WORDS = re.compile("|".join(sorted(map(re.escape, _READABLE), key=len, reverse=True)))
_MAX_TOKENS = 3000
"""The maximum number of tokens of a difference that are compared one by one; a longer one is marked as a whole."""


Marks = tuple[tuple[int, int], ...]
"""Spans of a text: start and end (exclusive)."""


class Side(msgspec.Struct, frozen=True):
    """A rendering: its name in `Derived.renderings`, and the spans that only it contains."""

    name: str
    text: str
    marks: Marks = ()


class Pair(msgspec.Struct, frozen=True):
    """Two renderings that differ in one respect; `shows` describes the difference."""

    key: str
    title: str
    shows: str
    sides: tuple[Side, Side]

    @property
    def same(self) -> bool:
        return self.sides[0].text == self.sides[1].text


class _PairKind(NamedTuple):
    """A pair, by the names of its two renderings; `shows` describes their difference."""

    key: str
    first: str
    second: str
    title: str
    shows: str


_KINDS = (
    _PairKind(
        "call",
        "text",
        "one call",
        "An answer, and a call in its place",
        "The difference is the call with all markers around it.",
    ),
    _PairKind(
        "calls",
        "one call",
        "two calls",
        "One call, and two",
        "Text that occurs twice belongs to each call; text that occurs once surrounds all of them.",
    ),
    _PairKind(
        "name",
        "one call",
        "another tool",
        "Another tool",
        "The difference is the name, wherever it is written.",
    ),
    _PairKind(
        "arguments",
        "one call",
        "two arguments",
        "One argument, and two",
        "The difference is one argument with its markers and the separator.",
    ),
    _PairKind(
        "empty",
        "one call",
        "no arguments",
        "An argument, and none",
        "The rest is a call without arguments.",
    ),
    _PairKind(
        "integer",
        "one call",
        "an integer",
        "A text, and an integer",
        "The difference marks a string: quotation marks or nothing.",
    ),
    _PairKind(
        "boolean",
        "an integer",
        "a boolean",
        "An integer, and true",
        "Shows how true is written: as in JSON or as in Python.",
    ),
    _PairKind("array", "one call", "an array", "A text, and a list", "Shows how lists are written."),
    _PairKind(
        "object", "one call", "an object", "A text, and an object", "Shows how nested values are written."
    ),
    _PairKind(
        "before",
        "one call",
        "text and call",
        "A call, and one after text",
        "Shows whether text next to a call is kept, and where it is.",
    ),
    _PairKind(
        "reasoning",
        "text",
        "reasoning and text",
        "An answer, and one after reasoning",
        "The difference is the reasoning with its markers.",
    ),
    _PairKind(
        "off",
        "prompt, thinking on",
        "prompt, thinking off",
        "The prompt with thinking on, and off",
        "The text after the header already belongs to the turn.",
    ),
    _PairKind(
        "undefined",
        "prompt, thinking on",
        "prompt, thinking undefined",
        "The prompt with thinking on, and not set",
        "Shows the default of the template.",
    ),
    _PairKind(
        "result",
        "one call",
        "call and result",
        "A call, and its result after it",
        "The difference is the result, and what ends the turn before it.",
    ),
    _PairKind(
        "tools",
        "prompt without tools",
        "prompt with tools",
        "The prompt without tools, and with",
        "The difference is how tools are described.",
    ),
)


def more_renderings(renderer: Renders, dialect: TemplateDialect) -> dict[str, str]:
    """The renderings that show names and values, which the pairs need in addition to `Derived.renderings`."""
    probe = Probe(renderer, dialect, tools=sample_tools())
    asked = {
        "another tool": ONE._replace(name=NAMES[1]),
        "two arguments": ONE._replace(arguments={KEYS[0]: VALUES[0], KEYS[1]: VALUES[1]}),
        **{
            f"{'an' if kind[0] in 'aio' else 'a'} {kind}": ONE._replace(arguments={KEYS[0]: SAMPLES[kind]})
            for kind in ("integer", "boolean", "array", "object")
        },
    }
    found = {name: probe.turn(calls=(call,)) for name, call in asked.items()}
    return {name: text for name, text in found.items() if text is not None and "zq_tool" in text}


def pairs_of(renderings: dict[str, str]) -> tuple[Pair, ...]:
    """All pairs of which both texts were rendered, in the order in which they explain a form."""
    return tuple(
        Pair(kind.key, kind.title, kind.shows, _sides(kind.first, kind.second, renderings))
        for kind in _KINDS
        if kind.first in renderings and kind.second in renderings
    )


def readable(text: str) -> str:
    """A rendering with everyday words in place of the probe's words."""
    return _WORDS.sub(lambda found: _READABLE[found[0]], text)


def _sides(first: str, second: str, renderings: dict[str, str]) -> tuple[Side, Side]:
    one, other = readable(renderings[first]), readable(renderings[second])
    marks = differences(one, other)
    return Side(first, one, marks[0]), Side(second, other, marks[1])


def differences(one: str, other: str) -> tuple[Marks, Marks]:
    """The spans of each text that the other does not contain, in whole tokens: tags are never split."""
    a, b = tokens(one), tokens(other)
    start = common_length(a, b)
    end = common_length(a[start:][::-1], b[start:][::-1])
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    if len(middle_a) + len(middle_b) > _MAX_TOKENS:
        blocks = [(0, len(middle_a), 0, len(middle_b))]
    else:
        matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=False)
        blocks = [(i, j, k, m) for kind, i, j, k, m in matcher.get_opcodes() if kind != "equal"]
    return (
        _stretches(a, start, [(i, j) for i, j, _, _ in blocks]),
        _stretches(b, start, [(k, m) for _, _, k, m in blocks]),
    )


def _stretches(parts: tuple[str, ...], start: int, blocks: list[tuple[int, int]]) -> Marks:
    """Spans of tokens as spans of characters, merged if they are adjacent or separated only by white space."""
    places = [0]
    for part in parts:
        places.append(places[-1] + len(part))
    whole = "".join(parts)
    out: list[tuple[int, int]] = []
    for first, last in blocks:
        begin, end = places[start + first], places[start + last]
        if begin == end:
            continue
        if out and not whole[out[-1][1] : begin].strip():
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return tuple(out)
