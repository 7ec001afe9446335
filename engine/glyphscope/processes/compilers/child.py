"""The functions of the compilers' process; llguidance is imported there only, and `regex` when it is needed.

Compiled grammars are cached: many texts are read with the same grammar.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

    from glyphscope.processes.compilers.masks import TextReader

_READERS = 4
"""The maximum number of cached compiled grammars."""


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


def searched(pattern: str, text: str, seconds: float) -> bool | None:
    """Whether the package `regex`, which backtracks, finds the pattern; None if it is invalid, or after a timeout."""
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    try:
        return compiled.search(text, timeout=seconds) is not None
    except TimeoutError:
        return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> regex.Pattern[str] | None:
    import regex

    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError):
        return None
