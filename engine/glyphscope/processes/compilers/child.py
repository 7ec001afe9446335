"""The functions of the compilers' process; llguidance is imported there only.

Compiled grammars and states are cached: many texts are read with the same grammar, and strings arrive in pieces.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from glyphscope.processes.compilers.masks import TextReader
    from glyphscope.processes.compilers.patterns import StringMatcher

ENGINES = "glyphscope.processes.compilers.patterns"
"""The module whose import takes the time of the process's start."""
_READERS, _STRINGS = 4, 512
"""The maximum number of cached compiled grammars and states of strings."""
_strings: OrderedDict[int, StringMatcher] = OrderedDict()
"""The most recently used ones, by number."""


class State(msgspec.Struct, frozen=True, array_like=True):
    """The state of matching at a place in a string; `fed` is the number of possible characters of the last text.

    `can_grow` and `matches` are both unknown if `matches` is None, until `ends` requests them.
    """

    fed: int
    can_grow: bool = True
    matches: bool | None = None


@lru_cache(maxsize=_READERS)
def _reader(grammar: str, is_schema: bool) -> TextReader:
    from glyphscope.processes.compilers.masks import TextReader

    return TextReader(grammar, is_schema=is_schema)


def compile_grammar(grammar: str, is_schema: bool) -> None:
    """Raises the compiler's errors for an invalid grammar: one in Lark, or a JSON Schema for llguidance's compiler."""
    _reader(grammar, is_schema)


def read_texts(grammar: str, is_schema: bool, texts: list[str]) -> list[bool | str]:
    """For each text, whether the grammar accepts it, or the reason why it stopped. Raises the compiler's errors."""
    reader = _reader(grammar, is_schema)
    return [reader.accepts(text.encode("utf-8", "surrogatepass")) for text in texts]


def has_text(lark: str) -> bool | None:
    """As `masks.has_text`."""
    from glyphscope.processes.compilers.masks import has_text

    return has_text(lark)


def begin(language: bytes) -> State | None:
    """The state at the beginning of a string; None if the linear-time engine does not support the language.

    `language` is JSON: `patterns`, `min_length`, `max_length`.
    """
    from glyphscope.processes.compilers.patterns import StringMatcher, template_of

    template = template_of(language)
    return None if template is None else _state(StringMatcher(template), 0)


def feed(language: bytes, number: int, text: str, before: str | None, ends: bool) -> State | None:
    """The state after `text` in the string with that number; None if the string must be sent from its beginning.

    `before` is all text before it, if requested. Raises TooManyStates.
    """
    from glyphscope.processes.compilers.patterns import StringMatcher, TooManyStates, template_of

    string = _strings.get(number)
    if string is None:
        template = template_of(language)
        if before is None or template is None:
            return None
        string = _strings[number] = StringMatcher(template, before)
        if len(_strings) > _STRINGS:
            _strings.popitem(last=False)
    _strings.move_to_end(number)
    try:
        return _state(string, string.feed(text) if text else 0, ends)
    except TooManyStates:
        del _strings[number]
        raise


def searched(pattern: str, text: str, seconds: float) -> bool | None:
    """As `patterns.searched`."""
    from glyphscope.processes.compilers.patterns import searched

    return searched(pattern, text, seconds)


def _state(string: StringMatcher, fed: int, ends: bool = False) -> State:
    from glyphscope.processes.compilers.patterns import LONG

    if string.length > LONG and not ends:
        return State(fed)
    return State(fed, string.can_grow(), string.matches())
