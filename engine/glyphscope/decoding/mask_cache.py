"""A cache of compiled grammars: a registry's grammars are compiled once for a model, and its second run begins at once.

The key is grammar and tokenizer; the least recently used goes first. 64 of them are enough for a registry of 60 tools
in two stages. Their number alone bounds no memory, so their texts are bounded too: what llguidance makes of one grows
with it (measured: 0.8 MB for the 267 kB of a thousand tools, 0.1 s to compile; some kB and 1 ms for one tool).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from llguidance import LLMatcher, LLTokenizer

from glyphscope.bounded_cache import BoundedCache
from glyphscope.compilers.masks import LIMITS

MOST_GRAMMARS = 64
MOST_BYTES = 16_000_000
"""Of all the texts together; the last one stays however large it is."""


@dataclass(frozen=True)
class CompiledMask:
    """A separate copy of a grammar's matcher at its beginning; `ms` is the time of compiling, 0 for a `hit`."""

    matcher: LLMatcher
    hit: bool
    ms: float


class MaskCache:
    """The matchers of grammars at their beginning; their lexers stay warm between runs. From any thread."""

    def __init__(self, *, grammars: int = MOST_GRAMMARS, most_bytes: int = MOST_BYTES) -> None:
        self._matchers = BoundedCache[tuple[LLTokenizer, str], LLMatcher](grammars, most_bytes, _size)

    def __len__(self) -> int:
        return len(self._matchers)

    @property
    def bytes(self) -> int:
        """The size of the texts whose matchers are cached."""
        return self._matchers.size

    def compiled(self, tokenizer: LLTokenizer, grammar: str) -> CompiledMask:
        """The grammar's matcher, for one use. One that llguidance rejects has an error, and is not cached."""
        key = (tokenizer, grammar)
        if (cached := self._matchers.get(key)) is not None:
            return CompiledMask(cached.deep_copy(), True, 0.0)
        start = time.perf_counter()
        matcher = LLMatcher(tokenizer, grammar, log_level=0, limits=LIMITS)
        spent = (time.perf_counter() - start) * 1000
        if not matcher.is_error():
            self._matchers.put(key, matcher)
        return CompiledMask(matcher.deep_copy(), False, spent)

    def forget(self, tokenizer: LLTokenizer, grammar: str) -> None:
        """Drop a matcher of which a copy failed: the lexer, shared by all copies, may reject valid text since."""
        self._matchers.forget((tokenizer, grammar))


def _size(key: tuple[LLTokenizer, str], _: LLMatcher) -> int:
    return len(key[1].encode("utf-8", "surrogatepass"))
