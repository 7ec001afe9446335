"""Markers in a turn's grammar, as tokens if the vocabulary has them, and the texts between them.

A text contains none of the markers at which the reader of turns would stop, whether the vocabulary has a token for them
or not, so that the reader reads it as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.strings import ANYTHING, StringStyle, first_end
from glyphscope.turns.form import CallForm, TurnForm
from glyphscope.turns.markup import is_tag, loose_tokens, tokens
from glyphscope.turns.starts import CALL_KEYS, closing_tags, marker_like, starts

MAX_WHITE = 4
"""The maximum white space before a marker where no text is allowed, in characters: more could continue forever."""
MAX_MENTIONED = 100
"""The maximum number of tools whose names are searched for in texts with objects."""

_GAP = tree.repeat(tree.CharClass(chars.of(" \t\r\n")), 0, MAX_WHITE)
_MARK = tree.CharClass(chars.of("\"'"))
_NAME = chars.union(chars.WORD, chars.of(".-"))
_MIN_TAG = 4
"""The minimum length of a tag that stops a text by itself, whatever follows it in the marker."""
_MAX_BRACKET = 3
"""The maximum length of an opening that consists only of brackets, which texts may also contain."""
SPACE = tree.terminal(tree.repeat(tree.CharClass(chars.of(" \t\r\n")), 1, MAX_WHITE))


@lru_cache(maxsize=1)
def _space() -> Ranges:
    return chars.union((code, code) for code in range(0x3001) if chr(code).isspace())


_INK = tree.CharClass(chars.complement(_space()))
SOME_TEXT = tree.seq(ANYTHING, _INK, ANYTHING)
"""A text that is not just white space, and so is an answer."""


@dataclass(frozen=True)
class Markers:
    """The special tokens of a vocabulary by their texts."""

    names: Mapping[str, int]

    def split(self, text: str) -> list[tree.Literal | tree.TokenMatch]:
        """A marker split into tokens and the text between them."""
        known = sorted((name for name in self.names if name and name in text), key=len, reverse=True)
        if not known:
            return [tree.Literal(text)] if text else []
        parts = re.split(f"({'|'.join(map(re.escape, known))})", text)
        return [tree.TokenMatch(self.names[p]) if p in self.names else tree.Literal(p) for p in parts if p]

    def written(self, text: str) -> tree.Node:
        """The marker."""
        return tree.seq(*self.split(text))

    def after_text(self, without: tree.Node, marker: str, text: tree.Node = ANYTHING) -> tree.Node:
        """Any text that contains none of `without`, then the marker."""
        own, rest = self.begun(without, marker)
        return tree.seq(StringStyle(chars.ALL, closing=own, without=without).written(text), rest)

    def after_space(self, without: tree.Node, marker: str) -> tree.Node:
        """The marker after a little white space, split as after a text, because other markers may begin alike."""
        own, rest = self.begun(without, marker)
        return tree.seq(tree.terminal(tree.seq(_GAP, own)), rest)

    def begun(self, without: tree.Node, marker: str) -> tuple[str, tree.Node]:
        """The part of a marker that is one lexeme with the text before it, and the rest."""
        literal, rest = self.first(marker)
        end = first_end(without, literal) if without != tree.NEVER else None
        own = literal if end is None else literal[:end]
        return own, tree.seq(literal[len(own) :], *rest)

    def first(self, marker: str) -> tuple[str, list[tree.Literal | tree.TokenMatch]]:
        """The part of a marker before its first token, and the rest."""
        parts = self.split(marker)
        if parts and isinstance(parts[0], tree.Literal):
            return parts[0].text, parts[1:]
        return "", parts

    def string_style(self, closing: str, without: tree.Node, raw: Ranges = chars.ALL) -> StringStyle:
        """Raw strings up to a closing, without any of `without`."""
        own, rest = self.begun(without, closing)
        return StringStyle(raw, closing=own, after=rest, without=without)


def text_to_end(without: tree.Node, halves: tree.Node = tree.NEVER) -> tree.Node:
    """Any text for the user that contains none of `without` and ends with none of `halves`."""
    bad = tree.alt(tree.seq(without, ANYTHING) if without != tree.NEVER else tree.NEVER, halves)
    return tree.terminal(SOME_TEXT if bad == tree.NEVER else tree.all_but(SOME_TEXT, tree.seq(ANYTHING, bad)))


def loose_node(literal: str) -> tree.Node:
    """A marker as the reader accepts it: with any white space between its tokens."""
    some = tree.CharClass(chars.union(_space(), chars.of("Ġ")))
    other = {"▁": tree.alt("▁", "\\_", "_", " "), '"': tree.alt('"', "'")}
    parts: list[tree.Node] = []
    for gap, token in loose_tokens(literal):
        parts.append(tree.repeat(some, int(gap == "+")) if gap else tree.EMPTY)
        parts += (
            other.get(piece, tree.Literal(piece))
            for piece in ([token] if token == '"' else re.split("(▁)", token))
        )
    return tree.seq(*parts)


def stops_of(literals: Iterable[str]) -> tree.Node:
    """The prefixes of the markers that the reader treats as markers themselves."""
    cores = dict.fromkeys(_core(literal.strip()) for literal in literals if literal.strip())
    shortest = [core for core in cores if not any(other in core and other != core for other in cores)]
    return tree.alt(*map(loose_node, shortest))


def _core(marker: str) -> str:
    first = tokens(marker)[0]
    return first if is_tag(first) and len(first) >= _MIN_TAG else marker


def call_stops(calls: Sequence[CallForm], tools: Sequence[str]) -> tree.Node:
    """The beginnings of calls in these forms, as the reader recognises them."""
    marked: list[str] = []
    bare: list[tree.Node] = []
    named: list[tree.Node] = []
    for call in calls:
        opening = call.opening.strip()
        fenced = any(sign in opening for sign in "<`") or len(opening) > _MAX_BRACKET
        if call.unmarked and call.object is not None:
            start = tree.seq(loose_node(opening), _some(), "{") if fenced else _bare_object()
            # it must contain a tool's name, unless the form itself is of that kind
            (bare if call.strict or len(tools) > MAX_MENTIONED else named).append(start)
        elif call.unmarked and call.arguments.encoding == "pythonic" and not marker_like(call.opening):
            name = tree.alt(*tools) if len(tools) <= MAX_MENTIONED else tree.repeat(tree.CharClass(_NAME), 1)
            bare.append(tree.seq("[", _some(), name, _some(), "("))
        else:
            marked += [text for text, _ in starts(call)]
    if named:
        bare.append(tree.seq(tree.alt(*named), ANYTHING, _MARK, tree.alt(*tools), _MARK))
    return tree.alt(stops_of(marked), *bare)


def _bare_object() -> tree.Node:
    return tree.seq("{", _some(), _MARK, tree.alt(*CALL_KEYS), _MARK, _some(), ":")


def _some() -> tree.Node:
    return tree.repeat(tree.CharClass(_space()))


def text_stops(form: TurnForm, tools: Sequence[str]) -> tree.Node:
    """Everything at which the reader would stop inside a text for the user."""
    used = "".join([*(call.opening for call in form.calls), *form.wrap_markers])
    strays = [tag for call in form.calls for tag in closing_tags(call) if tag not in used]
    marked = [text for call in form.calls if not call.unmarked for text, _ in starts(call)]
    others = call_stops([call for call in form.calls if call.unmarked], tools)
    own = [*form.wrap_markers, *form.reasoning_markers, *form.ends, *form.skips]
    return tree.alt(stops_of([*own, *strays, *marked]), others)


def half_markers(form: TurnForm) -> tree.Node:
    """The beginnings of markers with which a text must not end."""
    whole = [text for call in form.calls for text, complete in starts(call) if complete]
    whole += [*form.wrap_markers, *form.ends, *form.reasoning_markers]
    texts = dict.fromkeys(text.strip() for text in whole)
    return tree.alt(*(_beginnings(text) for text in texts if len(text) > 2 and not text[0].isalnum()))


def _beginnings(text: str) -> tree.Node:
    """The proper prefixes of a text with at least two characters."""
    more: tree.Node = tree.EMPTY
    for char in reversed(text[2:-1]):
        more = tree.optional(tree.seq(char, more))
    return tree.seq(text[:2], more)
