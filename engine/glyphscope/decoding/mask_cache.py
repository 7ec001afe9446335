"""A cache of compiled grammars: a registry's grammars are compiled once for a model, and its second run begins at once.

The key is grammar and tokenizer; the least recently used goes first. 64 of them are enough for a registry of 60 tools
in two stages. Their number alone bounds no memory, so their texts are bounded too: what llguidance makes of one grows
with it (measured: 0.8 MB for the 267 kB of a thousand tools, 0.1 s to compile; some kB and 1 ms for one tool).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from llguidance import LLMatcher, LLTokenizer

from glyphscope.compilers.masks import LIMITS

MOST_GRAMMARS = 64
MOST_BYTES = 16_000_000
"""Of all the texts together; the last one stays however large it is."""


@dataclass(frozen=True)
class CompiledMask:
    """A copy of its own of a grammar's matcher, at its beginning; `ms` is what compiling took, 0 for a `hit`."""

    matcher: LLMatcher
    hit: bool
    ms: float


class MaskCache:
    """The matchers of grammars at their beginning; their lexers stay warm between runs. From any thread."""

    def __init__(self, *, grammars: int = MOST_GRAMMARS, most_bytes: int = MOST_BYTES) -> None:
        self._most_grammars, self._most_bytes = grammars, most_bytes
        self._matchers: OrderedDict[tuple[LLTokenizer, str], LLMatcher] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._matchers)

    @property
    def bytes(self) -> int:
        """The size of the texts whose matchers are cached."""
        return self._bytes

    def compiled(self, tokenizer: LLTokenizer, grammar: str) -> CompiledMask:
        """The grammar's matcher, to be used up. One that llguidance refuses is in error, and is not cached."""
        key = (tokenizer, grammar)
        with self._lock:
            matcher = self._matchers.get(key)
            if matcher is not None:
                self._matchers.move_to_end(key)
                return CompiledMask(matcher.deep_copy(), True, 0.0)
        start = time.perf_counter()
        matcher = LLMatcher(tokenizer, grammar, log_level=0, limits=LIMITS)
        spent = (time.perf_counter() - start) * 1000
        if not matcher.is_error():
            self._keep(key, matcher)
        return CompiledMask(matcher.deep_copy(), False, spent)

    def forget(self, tokenizer: LLTokenizer, grammar: str) -> None:
        """A copy of its matcher ended in an error: the lexer, which all copies share, may refuse valid text since."""
        key = (tokenizer, grammar)
        with self._lock:
            if self._matchers.pop(key, None) is not None:
                self._bytes -= _size(key)

    def _keep(self, key: tuple[LLTokenizer, str], matcher: LLMatcher) -> None:
        with self._lock:
            if key not in self._matchers:
                self._bytes += _size(key)
            self._matchers[key] = matcher
            while len(self._matchers) > self._most_grammars or (
                self._bytes > self._most_bytes and len(self._matchers) > 1
            ):
                oldest, _ = self._matchers.popitem(last=False)
                self._bytes -= _size(oldest)


def _size(key: tuple[LLTokenizer, str]) -> int:
    return len(key[1].encode("utf-8", "surrogatepass"))
