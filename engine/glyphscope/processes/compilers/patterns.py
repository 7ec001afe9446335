"""Patterns on llguidance's linear-time, prefix-viable engine (measured: 0.8 µs per byte).

Patterns that it does not support (look-around, back references) are searched for with the `regex` package.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import regex
from llguidance import LLMatcher

from glyphscope.processes.compilers.masks import byte_tokenizer


class TooManyStates(Exception):
    """The engine made too many states for a string, as for one with some hundred thousand characters."""


LONG = 4096
"""From this many characters on, a string is checked for a match only at its end: each check costs the engine states."""


class StringMatcher:
    """One string being matched, piece by piece. `length` is in characters."""

    def __init__(self, template: Template, before: str = "") -> None:
        """Raises TooManyStates."""
        self._template = template
        self._matcher = template.copy()
        self._text: list[str] = []
        self.length = 0
        if before:
            self.feed(before)

    def feed(self, text: str) -> int:
        """The number of possible characters of `text`; all of them while a match is possible. Raises TooManyStates."""
        self._text.append(text)
        self.length += len(text)
        data = _escaped(text)
        taken = self._matcher.try_consume_tokens(list(data))
        if self._matcher.is_error() or (taken < len(data) and self.length > LONG):
            taken = self._again(data)
        if taken == len(data):
            return len(text)
        fed = 0
        for index, char in enumerate(text):
            fed += len(_escaped(char))
            if fed > taken:
                return index
        return len(text)

    def _again(self, last: bytes) -> int:
        """Read the whole string again with a new engine; returns the bytes of the last piece that it accepted."""
        self._template.renew()
        self._matcher = self._template.copy()
        before = _escaped("".join(self._text[:-1]))
        self._matcher.try_consume_tokens(list(before))
        taken = self._matcher.try_consume_tokens(list(last))
        if not self._matcher.is_error():
            return taken
        self._template.renew()
        raise TooManyStates

    def can_grow(self) -> bool:
        """Whether any further character is possible."""
        return not self._matcher.compute_ff_bytes().startswith(b'"')

    def matches(self) -> bool:
        """Whether the string would match if it ended now. Raises TooManyStates."""
        if self._matcher.validate_tokens([0x22]) == 1:
            return True
        if self.length > LONG:  # the engine does not report whether it only has too many states
            self._template.renew()
            raise TooManyStates
        return False


class Template:
    """The engine at a string's beginning. Copies share its states: once one exceeds a limit, all reject valid texts."""

    def __init__(self, language: dict[str, Any]) -> None:
        """Raises ValueError if the engine does not support the language, or if the language is empty."""
        self._grammar = LLMatcher.grammar_from_json_schema(_schema(language))
        self._matcher = self._made()
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())

    def copy(self) -> LLMatcher:
        return self._matcher.deep_copy()

    def renew(self) -> None:
        """Discard all states that the engine has built."""
        self._matcher = self._made()

    def _made(self) -> LLMatcher:
        matcher = LLMatcher(byte_tokenizer(), self._grammar, log_level=0)
        if not matcher.is_error():
            matcher.consume_token(0x22)  # an error if no string is possible
        return matcher


def _schema(language: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    patterns = language["patterns"]
    if len(patterns) == 1:
        schema["pattern"] = patterns[0]
    elif patterns:
        schema["allOf"] = [{"pattern": pattern} for pattern in patterns]
    if language["min_length"]:
        schema["minLength"] = language["min_length"]
    if language["max_length"] is not None:
        schema["maxLength"] = language["max_length"]
    return schema


def _escaped(text: str) -> bytes:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text.encode()
    # The engine reads the string in its JSON form, and accepts DEL only escaped.
    return (
        json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f").encode("utf-8", "surrogatepass")
    )


@lru_cache(maxsize=512)
def template_of(language: bytes) -> Template | None:
    """The engine for a language, given as in `wire.Begin`; None if it is not supported, or empty."""
    try:
        return Template(json.loads(language))
    except ValueError:
        return None


def searched(pattern: str, text: str, seconds: float) -> bool | None:
    """Whether a backtracking engine finds the pattern; None for an invalid pattern, or after a timeout."""
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    try:
        return compiled.search(text, timeout=seconds) is not None
    except TimeoutError:
        return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> regex.Pattern[str] | None:
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError):
        return None
