"""llguidance's compilers of grammars and schemas on single bytes, so without any model."""

from __future__ import annotations

import json
from functools import lru_cache

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

LIMITS = LLParserLimits(initial_lexer_fuel=20_000_000, step_lexer_fuel=4_000_000)
"""The limits of llguidance's lexer (a million of fuel is about 7 ms): texts without any of a model's markers
need more than its defaults of 1,000,000 and 200,000."""

_LONGEST = 200  # characters of an error message


@lru_cache(maxsize=1)
def byte_tokenizer() -> LLTokenizer:
    """A tokenizer of bytes: for questions about a language, not about a model."""
    return LLTokenizer("byte")


class TextReader:
    """A grammar in llguidance's Lark dialect, or a JSON Schema by llguidance's own compiler, ready to read texts."""

    def __init__(self, grammar: str, *, is_schema: bool = False) -> None:
        """Raises ValueError, with llguidance's reason, for what it cannot build."""
        self._grammar = LLMatcher.grammar_from_json_schema(json.loads(grammar)) if is_schema else grammar
        self._matcher = self._compiled()

    def _compiled(self) -> LLMatcher:
        matcher = LLMatcher(byte_tokenizer(), self._grammar, log_level=0, limits=LIMITS)
        if matcher.is_error():
            raise ValueError(matcher.get_error().strip())
        return matcher

    def accepts(self, data: bytes) -> bool | str:
        """Whether the grammar accepts the text; llguidance's reason where it stops within the text."""
        said = ""
        for _ in range(2):
            matcher = self._matcher.deep_copy()
            taken = matcher.try_consume_tokens(list(data))
            if not matcher.is_error():
                return bool(taken == len(data) and matcher.is_accepting())
            said = matcher.get_error()
            # Copies share a lexer. Texts before this one may have used up what it may build, and once it has given
            # up it rejects texts that it should accept (measured on llguidance 1.9.1).
            self._matcher = self._compiled()
        # what follows the first line is the whole text and the state of the parser
        reason = said.strip().partition("\n")[0][:_LONGEST]
        return f"llguidance failed while it read the text: {reason}"


def has_text(lark: str) -> bool | None:
    """Whether there is any text in a grammar; None if that is too much to decide."""
    matcher = LLMatcher(byte_tokenizer(), LLMatcher.grammar_from_lark(lark), log_level=0)
    if matcher.is_error():  # the engine ran out of the steps it allows itself
        return None
    matcher.compute_bitmask()
    if matcher.is_error():
        return False if matcher.get_error().startswith("NoExtensionBias") else None
    return True
