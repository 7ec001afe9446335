"""Patterns of JSON Schema in linear time, each character judged when it comes, so that no schema can hang anything.

`PatternMatcher` decides at each character whether a string can still match, with the automaton of the patterns' nodes.
Patterns that are not regular (look-around, back references) are checked on the whole string by a backtracking engine,
within a time limit. Both get the same reading of the pattern (`regex`); one that engines read differently is not
checked (`unreadable`).
JSON Schema patterns are searched for, not anchored (draft 2020-12, validation §6.3.3).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from time import thread_time

from glyphscope.base.errors import GrammarError
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState
from glyphscope.grammar.regular.regex import PatternNotEnforced, found_node, search_text
from glyphscope.grammar.regular.strings import CHARACTER
from glyphscope.grammar.time_limit import limited
from glyphscope.grammar.tree import NEVER, intersect, repeat
from glyphscope.processes.compilers import service

DEFERRED_SECONDS = 0.25
"""The time limit of the backtracking engine for one string."""
SECONDS = 1.0
"""The CPU time that the states of one string may take; each one is made once for all strings of its language."""


@dataclass(frozen=True)
class StringLanguage:
    """The constraints on a string: all `patterns`, which must be found in it, and its length in characters."""

    patterns: tuple[str, ...]
    min_length: int = 0
    max_length: int | None = None


class _Automata(threading.local):
    """Per thread: one automaton with the states of all languages, so that its limits hold for their sum."""

    def __init__(self) -> None:
        self.automaton = Automaton()
        self.start = lru_cache(maxsize=512)(self._start)

    def _start(self, language: StringLanguage) -> DfaState | None:
        try:
            nodes = list(map(found_node, language.patterns))
        except PatternNotEnforced:
            return None
        if language.min_length or language.max_length is not None:
            nodes.append(repeat(CHARACTER, language.min_length, language.max_length))
        try:
            with limited(seconds=SECONDS):
                state = self.automaton.state_of(intersect(nodes))
                self.automaton.steps(state)
        except GrammarError:
            return None
        return state if state.terms else None


_AUTOMATA = _Automata()


class PatternMatcher:
    """One string being matched against a `StringLanguage`, piece by piece.

    A string may need states that are too many or too large. From there on, every character counts as possible, and the
    match is decided at the end of the string.
    """

    __slots__ = ("_automaton", "_language", "_seconds", "_state", "_text")

    def __init__(self, language: StringLanguage, start: DfaState) -> None:
        self._automaton = _AUTOMATA.automaton
        self._language = language
        self._seconds = SECONDS
        self._state: DfaState | None = start  # None once the limits were exceeded
        self._text: list[str] = []

    def feed(self, text: str) -> int:
        """The number of characters of `text` after which a match was still possible; all of them if it still is."""
        self._text.append(text)
        state = self._state
        for index, char in enumerate(text):
            if state is None:
                break
            following = state.targets.get(char)
            if following is None:
                try:
                    following = self._after(state, char)
                except GrammarError:
                    self._state = None
                    break
                if following is None:
                    self._state = self._automaton.state(())  # no text follows
                    return index
            self._state = state = following
        return len(text)

    def _after(self, state: DfaState, char: str) -> DfaState | None:
        """As the automaton's. Raises GrammarError if the string's time is over, or a state is too large."""
        started = thread_time()
        with limited(seconds=self._seconds):
            following = self._automaton.after(state, char)
            if following is not None:
                self._automaton.steps(following)  # `can_grow` needs them as well
        self._seconds -= thread_time() - started
        return following

    def can_grow(self) -> bool:
        """Whether any further character is possible."""
        return self._state is None or bool(self._automaton.steps(self._state).moves)

    def matches(self) -> bool:
        """Whether the string would match if it ended now."""
        if self._state is None:
            return _matches_whole(self._language, "".join(self._text))
        return self._state.final


def _matches_whole(language: StringLanguage, text: str) -> bool:
    if len(text) < language.min_length or (
        language.max_length is not None and len(text) > language.max_length
    ):
        return False
    return all(_searched(pattern, text) for pattern in language.patterns)


def linear(pattern: str) -> bool:
    """Whether the pattern is matched while the string is read."""
    return start(StringLanguage((pattern,))) is not None


def why_late(pattern: str) -> str:
    """Why a pattern is not matched while the string is read."""
    try:
        node = found_node(pattern)
    except PatternNotEnforced as reason:
        return str(reason)
    return (
        "it matches no text" if node == NEVER else "it is too large to be matched while the text streams in"
    )


def start(language: StringLanguage) -> PatternMatcher | None:
    """A matcher at the string's beginning; None if the language is empty, too large, or not regular."""
    state = _AUTOMATA.start(language)
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
