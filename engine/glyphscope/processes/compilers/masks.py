"""llguidance's compilers of grammars and schemas, on single bytes and so without a model."""

from __future__ import annotations

import json
from functools import lru_cache

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

LIMITS = LLParserLimits(initial_lexer_fuel=20_000_000, step_lexer_fuel=4_000_000)
"""The limits of llguidance's lexer (a million units of fuel take about 7 ms): texts without any of a model's markers
need more than its defaults of 1,000,000 and 200,000."""

_MAX_LENGTH = 200  # characters of an error message


@lru_cache(maxsize=1)
def byte_tokenizer() -> LLTokenizer:
    """A tokenizer of bytes, for questions about a language, not about a model."""
    return LLTokenizer("byte")


class TextReader:
    """Reads texts with a grammar in llguidance's Lark dialect, or a JSON Schema compiled by llguidance."""

    def __init__(self, grammar: str, *, is_schema: bool = False) -> None:
        """Raises ValueError, with llguidance's reason, if it cannot build the grammar."""
        self._grammar = LLMatcher.grammar_from_json_schema(json.loads(grammar)) if is_schema else grammar
        self._matcher = self._compiled()

    def _compiled(self) -> LLMatcher:
        matcher = LLMatcher(byte_tokenizer(), self._grammar, log_level=0, limits=LIMITS)
        if matcher.is_error():
            raise ValueError(matcher.get_error().strip())
        return matcher

    def accepts(self, data: bytes) -> bool | str:
        """Whether the grammar accepts the text; llguidance's reason if it stops within the text."""
        said = ""
        for _ in range(2):
            matcher = self._matcher.deep_copy()
            taken = matcher.try_consume_tokens(list(data))
            if not matcher.is_error():
                return bool(taken == len(data) and matcher.is_accepting())
            said = matcher.get_error()
            # Copies share a lexer. Earlier texts may have exhausted its limits, after which it rejects texts that
            # it should accept (measured on llguidance 1.9.1).
            self._matcher = self._compiled()
        # the lines after the first are the whole text and the parser's state
        reason = said.strip().partition("\n")[0][:_MAX_LENGTH]
        return f"llguidance failed while it read the text: {reason}"
