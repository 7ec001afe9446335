"""Whether llguidance, the engine of the masks, accepts a text: on single bytes, so without any model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from glyphscope.errors import GrammarError
from glyphscope.grammar.lexemes import LIMITS

_LONGEST = 200  # characters of a reason


class MaskReader:
    """A grammar in llguidance's Lark dialect, or a JSON Schema by llguidance's own compiler, ready to read texts."""

    def __init__(self, *, lark: str | None = None, schema: dict[str, Any] | None = None) -> None:
        """Give one of them. Raises GrammarError, with llguidance's reason, for what it cannot build."""
        try:
            self._grammar = lark if lark is not None else LLMatcher.grammar_from_json_schema(schema or {})
        except ValueError as error:
            raise _refused(str(error)) from None
        self._matcher = self._fresh()

    def _fresh(self) -> LLMatcher:
        matcher = LLMatcher(_tokenizer(), self._grammar, log_level=0, limits=LIMITS)
        if matcher.is_error():
            raise _refused(matcher.get_error())
        return matcher

    def accepts(self, text: str) -> bool:
        """Whether the text is of the grammar. Raises GrammarError where llguidance gives up in the middle of it."""
        try:
            data = list(text.encode())
        except UnicodeEncodeError:  # a lone surrogate has no bytes
            return False
        said = ""
        for _ in range(2):
            matcher = self._matcher.deep_copy()
            taken = matcher.try_consume_tokens(data)
            if not matcher.is_error():
                return bool(taken == len(data) and matcher.is_accepting())
            said = matcher.get_error()
            # Copies share a lexer. Texts before this one may have used up what it may build, and once it has given
            # up it refuses texts that it should take (measured on llguidance 1.9.1).
            self._matcher = self._fresh()
        raise GrammarError(f"llguidance gave up while it read the text: {_first_line(said)}")


def _refused(reason: str) -> GrammarError:
    return GrammarError(f"llguidance refuses the grammar: {reason.strip()}", where="grammar")


def _first_line(reason: str) -> str:
    """What follows is the whole text and the state of its parser."""
    return reason.strip().partition("\n")[0][:_LONGEST]


@lru_cache(maxsize=1)
def _tokenizer() -> LLTokenizer:
    return LLTokenizer("byte")
