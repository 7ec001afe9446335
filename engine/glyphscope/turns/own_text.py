"""Free text around calls: any text up to the beginning of a call.

A call begins with its opening: its first characters, up to the tool's name (`{"action":`, `{action=`). The text before
the first opening is free; from there on, the call must be valid. So the text may contain a brace, JSON or code, and no
position is both text and call: engines need not follow both, and a reader finds the call by the same rule. Other
choices (text without braces, a marker between text and call) would forbid texts that models write, or require a marker
that they were not trained on.

`up_to` is the text before a single call, which has one opening; `words_to_call`, `next_call` and `words_only` are for
the turns of a conversation, in which an opening has several spellings. `Openings` finds these in a text that is being
written, and `SectionMarkers` the markers of a form known by name around a call.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from glyphscope.base.lines import common_length
from glyphscope.events import Notation, Shape
from glyphscope.grammar import chars
from glyphscope.grammar.tree import CharClass, Node, alt, intersect, optional, repeat, seq, terminal
from glyphscope.notation.shapes import shape_keys
from glyphscope.notation.write import glyph_key, write_value
from glyphscope.turns.form import TurnOptions
from glyphscope.turns.own import OwnCall


def call_opening(notation: Notation, shape: Shape) -> str:
    """The characters with which every call begins: `{"action":`, `{action=`."""
    name, _ = shape_keys(shape)
    return "{" + (f"{glyph_key(name)}=" if notation == "glyph" else f"{write_value(name, 'json')}:")


def up_to(opening: str) -> Node:
    """One lexeme: any text without `opening`, then `opening`, whose first character must not occur again in it."""
    first, rest = opening[0], opening[1:]
    assert rest and first not in rest
    return _lexeme(seq(_words((tuple(Sign(char, False) for char in rest),), first), opening))


WHITE_SPACE = " \t\n\r"
MAX_WHITE = 2  # characters between two calls; more could repeat for ever

_WHITE = repeat(CharClass(chars.of(WHITE_SPACE)))


class Sign(NamedTuple):
    """A character of a marker or an opening; `spaced` if white space may precede it."""

    char: str
    spaced: bool


Signs: TypeAlias = tuple[Sign, ...]
"""The signs of an opening after its brace."""


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
    """One lexeme: words, then the opening of a call."""
    openings = call_spellings(notation, shape)
    after_brace = (seq(*(seq(_WHITE, s.char) if s.spaced else s.char for s in signs)) for signs in openings)
    return _lexeme(seq(_words(openings), "{", alt(*after_brace)))


def words_only(notation: Notation, shape: Shape) -> Node:
    """One lexeme: words, possibly none."""
    return _lexeme(_words(call_spellings(notation, shape)))


def next_call(notation: Notation, shape: Shape) -> Node:
    """One lexeme: the text between a call and the next one's name."""
    white = repeat(CharClass(chars.of(WHITE_SPACE)), 0, MAX_WHITE)
    return terminal(seq(white, call_opening(notation, shape)))


def _words(openings: tuple[Signs, ...], first: str = "{") -> Node:
    """Any text in which no opening follows `first`; its last characters may be the beginning of one."""
    after_first = _incomplete(openings, first)
    attempt = seq(first, after_first.prefix)  # ended by another `first` or the end of the text
    others = CharClass(chars.complement(chars.of(first)))
    return seq(repeat(alt(seq(repeat(attempt), first, after_first.mismatch), others)), repeat(attempt))


class _Incomplete(NamedTuple):
    """The texts that follow some signs of an opening and do not complete it."""

    mismatch: Node
    """Texts whose last character is not the next sign, nor the first of an opening."""
    prefix: Node
    """Texts of further signs, possibly none, but not all."""


def _incomplete(openings: tuple[Signs, ...], first: str) -> _Incomplete:
    """The texts that may follow the signs read so far, given the signs that are left of each opening."""
    by_next: dict[str, list[Signs]] = {}
    for signs in openings:
        by_next.setdefault(signs[0].char, []).append(signs[1:])
    spaced = any(signs[0].spaced for signs in openings)
    other = chars.complement(chars.of(first + "".join(by_next) + (WHITE_SPACE if spaced else "")))
    mismatches: list[Node] = [CharClass(other)]
    prefixes: list[Node] = []
    for char, rest in by_next.items():
        if all(rest):  # otherwise the opening is complete, and the text is no longer free
            after = _incomplete(tuple(rest), first)
            mismatches.append(seq(char, after.mismatch))
            prefixes.append(seq(char, after.prefix))
    prefix = optional(alt(*prefixes)) if prefixes else seq()
    white = (_WHITE,) if spaced else ()
    return _Incomplete(seq(*white, alt(*mismatches)), seq(*white, prefix))


def _lexeme(text: Node) -> Node:
    # The same language as `text`; the intersection makes it an automaton if it is written as rules.
    return terminal(intersect((text, repeat(CharClass(chars.ALL)))))


# the beginnings of calls


class _Opening(NamedTuple):
    """Where the opening of a call starts in the whole text, where the call starts, and the text from there on."""

    start: int
    call: int
    text: str


class _SpellingRead(NamedTuple):
    """A spelling that still matches the text since its first character, and how many of its signs were read."""

    signs: Signs
    read: int


class Openings:
    """Finds the first occurrence of one of the spellings; `pending` is text that may become one.

    All begin with the character `first`. A `marker` is before the call, any other opening is its beginning.
    """

    def __init__(self, spellings: tuple[Signs, ...], first: str = "{", *, marker: bool = False) -> None:
        self.pending = ""
        self._spellings, self._first, self._marker = spellings, first, marker
        self._alive: list[_SpellingRead] = []
        self._start = 0  # the position of the last first character

    def feed(self, text: str, start: int) -> _Opening | None:
        """The first opening that `text` completes; `start` is the position of `text` in the whole text."""
        at = 0
        while at < len(text):
            if not self._alive and (at := text.find(self._first, at)) < 0:
                break
            self._step(text[at], start + at)
            at += 1
            if any(read == len(signs) for signs, read in self._alive):
                begin = self._start
                opening = (
                    _Opening(begin, start + at, text[at:])
                    if self._marker
                    else _Opening(begin, begin, self._since_start(text, start))
                )
                self.reset()
                return opening
        self.pending = self._since_start(text, start) if self._alive else ""
        return None

    def reset(self) -> None:
        """Discard a beginning that did not become a call."""
        self.pending, self._alive = "", []

    def _step(self, char: str, at: int) -> None:
        if char == self._first:
            self._start = at
            self._alive = [_SpellingRead(signs, 0) for signs in self._spellings]
            return
        before, self._alive = self._alive, []
        for signs, read in before:
            if char == signs[read].char:
                self._alive.append(_SpellingRead(signs, read + 1))
            elif signs[read].spaced and char in WHITE_SPACE:
                self._alive.append(_SpellingRead(signs, read))

    def _since_start(self, text: str, start: int) -> str:
        return text[self._start - start :] if self._start >= start else self.pending + text


def openings_of(call: OwnCall, options: TurnOptions, *, constrained: bool) -> Openings:
    """The beginnings of calls among other text."""
    if options.free_text and options.choice == "required":
        return Openings((_exact(call_opening(call.notation, call.shape)[1:]),))
    if constrained:
        return Openings(call_spellings(call.notation, call.shape))
    keys = (key for key in shape_keys(call.shape) if key)
    return Openings(tuple(signs for key in keys for signs in spellings(key)))


def lone_opening(call: OwnCall) -> Openings:
    """The beginning of a lone call after text."""
    text = call.marker or call_opening(call.notation, call.shape)
    return Openings((_exact(text[1:]),), text[0], marker=bool(call.marker))


def _exact(text: str) -> Signs:
    return tuple(Sign(char, False) for char in text)


class SectionMarkers:
    """The markers around a lone call in a form known by name, which are not a part of it.

    Between the first marker and the call, the rest of the section's opening may be; after the call, its closing.
    """

    def __init__(self, call: OwnCall, *, opened: bool) -> None:
        """`opened`: the section's opening was written before the text."""
        self._opener = "" if opened else call.section_open.strip()[len(call.marker) :].strip()
        self._closing = call.section_close.strip()
        self._after = ""  # the text after the call

    def blanked(self, piece: str, *, complete: bool) -> str:
        """The piece with white space in place of markers; `complete`: it is after the call."""
        if not complete:
            if begun := self._opener and piece.lstrip():
                if begun.startswith(self._opener):
                    piece = piece.replace(self._opener, " " * len(self._opener), 1)
                self._opener = ""
            return piece
        before = len(self._after)
        self._after += piece
        rest = self._after.lstrip()
        blank = max(0, len(self._after) - len(rest) + common_length(rest, self._closing) - before)
        return " " * blank + piece[blank:]
