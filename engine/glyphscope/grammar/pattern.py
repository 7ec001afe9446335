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
    """One string being matched against a `StringLanguage`, piece by piece.

    The engine gives up over strings of some hundred thousand characters, for which it makes too many states. From
    there on every further character is possible, and whether the whole matches is decided at its end.
    """

    __slots__ = ("_gave_up", "_matcher", "_template", "_text")

    def __init__(self, template: _Template) -> None:
        self._template = template
        self._matcher = template.copy()
        self._text: list[str] = []
        self._gave_up = False

    def feed(self, text: str) -> int:
        """The number of characters of `text` after which a match was still possible; all of them while it is."""
        self._text.append(text)
        if self._gave_up:
            return len(text)
        data = _escaped(text)
        taken = self._matcher.try_consume_tokens(list(data))
        if self._matcher.is_error():
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
        """Reads all once more with an engine that has read nothing else; how much of the last piece it took."""
        self._template.renew()
        self._matcher = self._template.copy()
        before = _escaped("".join(self._text[:-1]))
        self._matcher.try_consume_tokens(list(before))
        taken = self._matcher.try_consume_tokens(list(last))
        if not self._matcher.is_error():
            return taken
        self._template.renew()
        self._gave_up = True
        return len(last)

    def can_grow(self) -> bool:
        """Whether some further character is possible."""
        return self._gave_up or not self._matcher.compute_ff_bytes().startswith(b'"')

    def matches(self) -> bool:
        """Whether the string, if it ended now, matches."""
        if self._gave_up:
            return _matches_whole(self._template.language, "".join(self._text))
        return bool(self._matcher.validate_tokens([0x22]) == 1)


class _Template:
    """The engine at a string's beginning. Copies share what it builds: after one gave up, all refuse what is right."""

    def __init__(self, language: StringLanguage, grammar: str) -> None:
        self.language = language
        self._grammar = grammar
        self._matcher = self._made()

    def is_possible(self) -> bool:
        """Whether the engine takes the language, and there is a string in it."""
        return not self._matcher.is_error()

    def copy(self) -> LLMatcher:
        return self._matcher.deep_copy()

    def renew(self) -> None:
        """Forgets all that the engine has built."""
        self._matcher = self._made()

    def _made(self) -> LLMatcher:
        matcher = LLMatcher(_byte_tokenizer(), self._grammar, log_level=0)
        if not matcher.is_error():
            matcher.consume_token(0x22)  # an error where no string is possible
        return matcher


def _matches_whole(language: StringLanguage, text: str) -> bool:
    if len(text) < language.min_length or (
        language.max_length is not None and len(text) > language.max_length
    ):
        return False
    return all(_searched(pattern, text) for pattern in language.patterns)


def _escaped(text: str) -> bytes:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text.encode()
    # The engine reads the string as JSON writes it; it takes DEL only escaped.
    return (
        json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f").encode("utf-8", "surrogatepass")
    )


@lru_cache(maxsize=512)
def _template(language: StringLanguage) -> _Template | None:
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
    template = _Template(language, grammar)
    return template if template.is_possible() else None


def linear(pattern: str) -> bool:
    """Whether the linear-time engine takes the pattern."""
    return _template(StringLanguage((pattern,))) is not None


def start(language: StringLanguage) -> PatternMatcher | None:
    """A matcher at the string's beginning; None if the engine does not take the language (or it is empty)."""
    template = _template(language)
    return None if template is None else PatternMatcher(template)


def found(pattern: str, text: str) -> bool | None:
    """Whether a JSON Schema pattern is found in the whole `text`; None if that took longer than the limit allows."""
    matcher = start(StringLanguage((pattern,)))
    if matcher is not None:
        return matcher.feed(text) == len(text) and matcher.matches()
    return _searched(pattern, text)


def _searched(pattern: str, text: str) -> bool | None:
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
