"""Patterns of JSON Schema on a linear-time, prefix-viable engine, so that no schema can hang anything.

`PatternMatcher` decides at each character whether a string can still match; it uses llguidance's regular expression
engine, which runs in the compilers' process. Patterns that it does not support (look-around, back references) are
checked on the whole string by a backtracking engine, within a time limit. Both get the same reading of the pattern
(`regex`); one that engines read differently is not checked (`unreadable`).
JSON Schema patterns are searched for, not anchored (draft 2020-12, validation §6.3.3).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from glyphscope.grammar.regular.regex import PatternNotEnforced, linear_text, search_text
from glyphscope.processes.compilers import service
from glyphscope.processes.compilers.child import State

DEFERRED_SECONDS = 0.25
"""The time limit of the backtracking engine for one string."""


@dataclass(frozen=True)
class StringLanguage:
    """The constraints on a string: all `patterns`, which must be found in it, and its length in characters."""

    patterns: tuple[str, ...]
    min_length: int = 0
    max_length: int | None = None


_NUMBERS = count()


class PatternMatcher:
    """One string being matched against a `StringLanguage`, piece by piece.

    The engine overflows with strings of some hundred thousand characters, which need too many states. From there on,
    every character counts as possible, and the match is decided at the end of the string.
    """

    __slots__ = ("_language", "_number", "_overflowed", "_state", "_text")

    def __init__(self, language: StringLanguage, state: State) -> None:
        self._language = language
        self._state = state
        self._number = next(_NUMBERS)
        self._text: list[str] = []
        self._overflowed = False

    def feed(self, text: str) -> int:
        """The number of characters of `text` after which a match was still possible; all of them if it still is."""
        if text and not self._overflowed:
            self._ask(text)
        self._text.append(text)
        return len(text) if self._overflowed or not text else self._state.fed

    def _ask(self, text: str, *, ends: bool = False) -> None:
        encoded = _encoded(self._language)
        assert encoded is not None, "the string was begun with it"
        state = service.feed(encoded, self._number, self._text, text, ends=ends)
        self._overflowed = state is None
        self._state = state or self._state

    def can_grow(self) -> bool:
        """Whether any further character is possible."""
        return self._at_end().can_grow or self._overflowed

    def matches(self) -> bool:
        """Whether the string would match if it ended now."""
        matches = self._at_end().matches
        if self._overflowed:
            return _matches_whole(self._language, "".join(self._text))
        return bool(matches)

    def _at_end(self) -> State:
        if self._state.matches is None and not self._overflowed:
            self._ask("", ends=True)
        return self._state


def _matches_whole(language: StringLanguage, text: str) -> bool:
    if len(text) < language.min_length or (
        language.max_length is not None and len(text) > language.max_length
    ):
        return False
    return all(_searched(pattern, text) for pattern in language.patterns)


@lru_cache(maxsize=512)
def _encoded(language: StringLanguage) -> bytes | None:
    """The language for the compilers' process; None if a pattern is not regular."""
    try:
        patterns = list(map(linear_text, language.patterns))
    except PatternNotEnforced:
        return None
    lengths = {"min_length": language.min_length, "max_length": language.max_length}
    return json.dumps({"patterns": patterns, **lengths}).encode()


def linear(pattern: str) -> bool:
    """Whether the linear-time engine supports the pattern."""
    return start(StringLanguage((pattern,))) is not None


def why_late(pattern: str) -> str:
    """Why the linear-time engine does not support a pattern."""
    try:
        linear_text(pattern)
    except PatternNotEnforced as reason:
        return str(reason)
    return "it is too large to be matched while the text streams in"


def start(language: StringLanguage) -> PatternMatcher | None:
    """A matcher at the string's beginning; None if the language is empty or the engine does not support it."""
    encoded = _encoded(language)
    state = None if encoded is None else service.begin(encoded)
    return None if state is None else PatternMatcher(language, state)


_MAX_CACHED = 200  # characters


def found(pattern: str, text: str) -> bool | None:
    """Whether a JSON Schema pattern matches anywhere in `text`.

    None if it is `regex.unreadable`, or undecided after `DEFERRED_SECONDS`.
    """
    return _cached_search(pattern, text) if len(text) <= _MAX_CACHED else _found(pattern, text)


def _found(pattern: str, text: str) -> bool | None:
    matcher = start(StringLanguage((pattern,)))
    if matcher is not None:
        return matcher.feed(text) == len(text) and matcher.matches()
    return _searched(pattern, text)


_cached_search = lru_cache(maxsize=4096)(_found)


def _searched(pattern: str, text: str) -> bool | None:
    try:
        return service.searched(search_text(pattern), text, DEFERRED_SECONDS)
    except PatternNotEnforced:
        return None
