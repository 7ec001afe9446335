"""The constraint on tokens: the allowed and the forced tokens of the vocabulary."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from glyphscope.base.bounded_cache import BoundedCache
from glyphscope.base.errors import GrammarError
from glyphscope.models.decoding.rows import Allowed
from glyphscope.processes.compilers.masks import LIMITS

MaskTokenizer: TypeAlias = LLTokenizer
"""A vocabulary prepared for masks."""

_HINT = "Fix the grammar, or turn the constraint off. No run continues without the constraint it requested."


SLICE = r"""[^"'\\<\[{\x00-\x1F\x7F]{1,30}"""
"""Tokens with which most texts can continue, in strings, tags and prose: if all of them are allowed, none is checked.

llguidance's own four slices are for JSON strings. Making them takes as long as all the rest, and in other texts of
limited length, a mask of 262,144 tokens takes 4 ms with them. With this one, it takes 0.05 ms in both.
"""


class Constraint(Protocol):
    """The tokens allowed next in one generation."""

    @property
    def stopped(self) -> bool:
        """Whether the text is complete: only an end token is allowed."""

    def forced(self) -> list[int]:
        """The tokens that must come next, before one is chosen."""

    def allowed(self) -> Allowed:
        """The tokens allowed next, including an end token if the text may end here."""

    def takes(self, token: int) -> bool:
        """Whether the text may continue with it, even if masked: only one tokenization of forced text is allowed."""

    def commit(self, token: int) -> None:
        """Advance by the token. Raises GrammarError if the text may not continue with it."""


def mask_tokenizer(pieces: Sequence[bytes], vocab: int, tokenize: int, ends: Sequence[int]) -> MaskTokenizer:
    """A vocabulary prepared for masks. `pieces` are the bytes of each token, special ones marked by a first byte 0xFF.

    `vocab` and `tokenize` are the addresses of llama.cpp's vocabulary and of its function `llama_tokenize`. Takes
    0.6 s for 262,144 tokens; the result works for every grammar.
    """
    return LLTokenizer.from_llamacpp(  # type: ignore[attr-defined,no-any-return]
        tokens=list(pieces), vocab_ptr=vocab, tokenize_fptr=tokenize, eos_token=list(ends), slices=[SLICE]
    )


def schema_grammar(schema: dict[str, Any]) -> str:
    """llguidance's own grammar for a JSON Schema, without white space: the baseline for Glyphscope's grammars."""
    options = {"whitespace_flexible": False, "coerce_one_of": True}
    return LLMatcher.grammar_from_json_schema({**schema, "x-guidance": options})


MAX_GRAMMARS = 64
MAX_BYTES = 16_000_000
"""Bytes of all cached texts together; the last text is kept whatever its size."""


@dataclass(frozen=True)
class CompiledMask:
    """A separate copy of a grammar's matcher in its initial state; `ms` is the compile time, 0 for a `hit`."""

    matcher: LLMatcher
    hit: bool
    ms: float


class MaskCache:
    """The matchers of grammars in their initial state, so that a model's second run begins at once. From any thread.

    The least recently used one is dropped first. 64 are enough for a registry of 60 tools in two stages. The number
    alone does not bound the memory, so their texts are bounded too: a matcher grows with its text (measured: 0.8 MB for
    the 267 kB of a thousand tools, 0.1 s to compile; a few kB and 1 ms for one tool). Lexers stay warm between runs.
    """

    def __init__(self, *, grammars: int = MAX_GRAMMARS, most_bytes: int = MAX_BYTES) -> None:
        self._matchers = BoundedCache[tuple[LLTokenizer, str], LLMatcher](grammars, most_bytes, _size)

    def __len__(self) -> int:
        return len(self._matchers)

    def compiled(self, tokenizer: LLTokenizer, grammar: str) -> CompiledMask:
        """The grammar's matcher, for one use. If llguidance rejects the grammar, it has an error and is not cached."""
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
        """Drop a matcher after a copy failed: the lexer, which all copies share, may reject valid text from then on."""
        self._matchers.forget((tokenizer, grammar))


def _size(key: tuple[LLTokenizer, str], _: LLMatcher) -> int:
    return len(key[1].encode("utf-8", "surrogatepass"))


_MASKS = MaskCache()


class TokenMask:
    """A constraint by llguidance, from a grammar in its Lark dialect or one made by `schema_grammar`.

    `hit`: the grammar was compiled for this tokenizer before; if not, `compile_ms` is the time that it took.
    """

    def __init__(self, tokenizer: MaskTokenizer, lark: str) -> None:
        """Raises GrammarError for a grammar that is invalid or too large."""
        self._key = (tokenizer, lark)
        compiled = _MASKS.compiled(tokenizer, lark)
        self._matcher, self.hit, self.compile_ms = compiled.matcher, compiled.hit, compiled.ms
        self._check()
        self._size = tokenizer.vocab_size
        self._bits = np.zeros((self._size + 31) // 32, dtype=np.uint32)
        self._address = self._bits.ctypes.data
        self._last = np.uint32(0xFFFFFFFF >> -self._size % 32)  # the bits of the last word that are tokens

    @property
    def stopped(self) -> bool:
        return self._matcher.is_stopped()

    def forced(self) -> list[int]:
        return list(self._matcher.compute_ff_tokens())

    def allowed(self) -> Allowed:
        self._matcher.unsafe_compute_mask_ptr(self._address, self._bits.nbytes)
        self._check()
        bits = self._bits.copy()
        bits[-1] &= self._last
        return Allowed(bits, self._size)

    def takes(self, token: int) -> bool:
        return self._matcher.validate_tokens([token]) == 1

    def commit(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            self._check()
            raise GrammarError(f"The constraint does not allow the token {token}.", hint=_HINT)

    def _check(self) -> None:
        if self._matcher.is_error():
            _MASKS.forget(*self._key)
            raise GrammarError(
                f"The constraint cannot be built: {self._matcher.get_error().strip()}",
                where="grammar",
                hint=_HINT,
            )
