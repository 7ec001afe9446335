"""Patterns on a linear-time, prefix-viable engine, so that no schema can hang anything.

`PatternMatcher` tells at each character whether a string can still come to match; it is llguidance's regular
expression engine on its byte tokenizer (0.8 µs a byte measured). What that engine cannot take (look-around, back
references) is a `DeferredPattern`: checked on the whole string, by the `regex` package within a time limit.
JSON Schema patterns are searched for, not anchored (draft 2020-12, validation §6.3.3).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

import regex
from llguidance import LLMatcher, LLTokenizer

DEFERRED_SECONDS = 0.25


@lru_cache(maxsize=1)
def _byte_tokenizer() -> LLTokenizer:
    return LLTokenizer("byte")


@dataclass(frozen=True)
class StringLanguage:
    """What a string must be: all `patterns` found in it, and its length in characters."""

    patterns: tuple[str, ...]
    min_length: int = 0
    max_length: int | None = None


class PatternMatcher:
    """One string being matched against a `StringLanguage`, piece by piece."""

    __slots__ = ("_matcher",)

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    def feed(self, text: str) -> int:
        """The number of characters of `text` after which a match was still possible; all of them while it is."""
        data = _escaped(text)
        taken = self._matcher.try_consume_tokens(list(data))
        if taken == len(data):
            return len(text)
        fed = 0
        for index, char in enumerate(text):
            fed += len(_escaped(char))
            if fed > taken:
                return index
        return len(text)

    def can_grow(self) -> bool:
        """Whether some further character is possible."""
        return not self._matcher.compute_ff_bytes().startswith(b'"')

    def matches(self) -> bool:
        """Whether the string, if it ended now, matches."""
        return bool(self._matcher.validate_tokens([0x22]) == 1)


def _escaped(text: str) -> bytes:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text.encode()
    # The engine reads the string as JSON writes it; it takes DEL only escaped.
    return (
        json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f").encode("utf-8", "surrogatepass")
    )


@lru_cache(maxsize=512)
def _template(language: StringLanguage) -> LLMatcher | None:
    schema: dict[str, object] = {"type": "string"}
    if len(language.patterns) == 1:
        schema["pattern"] = language.patterns[0]
    elif language.patterns:
        schema["allOf"] = [{"pattern": pattern} for pattern in language.patterns]
    if language.min_length:
        schema["minLength"] = language.min_length
    if language.max_length is not None:
        schema["maxLength"] = language.max_length
    try:
        grammar = LLMatcher.grammar_from_json_schema(schema)
    except ValueError:
        return None
    matcher = LLMatcher(_byte_tokenizer(), grammar, log_level=0)
    if matcher.is_error() or matcher.try_consume_tokens([0x22]) != 1:
        return None
    return matcher


def linear(pattern: str) -> bool:
    """Whether the linear-time engine takes the pattern."""
    return _template(StringLanguage((pattern,))) is not None


def start(language: StringLanguage) -> PatternMatcher | None:
    """A matcher at the string's beginning; None if the engine does not take the language (or it is empty)."""
    template = _template(language)
    return None if template is None else PatternMatcher(template.deep_copy())


def found(pattern: str, text: str) -> bool | None:
    """Whether a JSON Schema pattern is found in the whole `text`; None if that took longer than the limit allows."""
    matcher = start(StringLanguage((pattern,)))
    if matcher is not None:
        return matcher.feed(text) == len(text) and matcher.matches()
    compiled = compiled_regex(pattern)
    if compiled is None:
        return None
    try:
        return compiled.search(text, timeout=DEFERRED_SECONDS) is not None
    except TimeoutError:
        return None


@lru_cache(maxsize=512)
def compiled_regex(pattern: str) -> regex.Pattern[str] | None:
    """The pattern for the `regex` package; None if it is no regular expression there either."""
    try:
        return regex.compile(pattern)
    except regex.error:
        return None
