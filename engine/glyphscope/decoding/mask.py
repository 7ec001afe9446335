"""The constraint on tokens: which of the vocabulary may come next, and which must."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from glyphscope.decoding.mask_cache import MaskCache
from glyphscope.decoding.sampler import Allowed
from glyphscope.errors import GrammarError

MaskTokenizer: TypeAlias = LLTokenizer
"""A vocabulary made ready for masks."""

_HINT = "Fix the grammar, or turn the constraint off. No run continues without the constraint it requested."


_SLICE = r"""[^"'\\<\[{\x00-\x1F\x7F]{1,30}"""
"""Tokens with which most texts can continue, in strings, tags and prose: where all of them are allowed, none is looked
at.

llguidance's own slices are for strings in JSON: four of them, which take as long to make as all the rest, and in other
texts of a limited length a mask of 262,144 tokens takes 4 ms with them. With this one it takes 0.05 ms in either.
"""


class Constraint(Protocol):
    """The tokens allowed next in one generation."""

    @property
    def stopped(self) -> bool:
        """Whether the text is complete: only an end token is allowed."""

    def forced(self) -> list[int]:
        """The tokens that must come next, before anything is to be chosen."""

    def allowed(self) -> Allowed:
        """The tokens allowed next; with an end token where the text may end here."""

    def takes(self, token: int) -> bool:
        """Whether the text may continue with it, allowed or not: of a forced text, one way to spell it is allowed."""

    def commit(self, token: int) -> None:
        """The token came. Raises GrammarError for one with which the text may not continue."""


def mask_tokenizer(pieces: Sequence[bytes], vocab: int, tokenize: int, ends: Sequence[int]) -> MaskTokenizer:
    """A vocabulary made ready for masks: the bytes of each token, special ones marked by a first byte 0xFF.

    `vocab` and `tokenize` are the addresses of llama.cpp's vocabulary and of its function `llama_tokenize`. Takes
    0.6 s for 262,144 tokens, and holds for every grammar.
    """
    return LLTokenizer.from_llamacpp(  # type: ignore[attr-defined,no-any-return]
        tokens=list(pieces), vocab_ptr=vocab, tokenize_fptr=tokenize, eos_token=list(ends), slices=[_SLICE]
    )


def schema_grammar(schema: dict[str, Any]) -> str:
    """llguidance's own grammar of a JSON Schema, without white space: what ours are measured against."""
    options = {"whitespace_flexible": False, "coerce_one_of": True}
    return LLMatcher.grammar_from_json_schema({**schema, "x-guidance": options})


_MASKS = MaskCache()


class TokenMask:
    """A constraint by llguidance, from a grammar in its Lark dialect, or one that `schema_grammar` made.

    `hit`: the grammar was compiled for this tokenizer before; if not, `compile_ms` is what that took.
    """

    def __init__(self, tokenizer: MaskTokenizer, lark: str) -> None:
        """Raises GrammarError for a grammar that is wrong, or too large."""
        self._key = (tokenizer, lark)
        compiled = _MASKS.compiled(tokenizer, lark)
        self._matcher, self.hit, self.compile_ms = compiled.matcher, compiled.hit, compiled.ms
        self._check()
        self._size = tokenizer.vocab_size
        self._bits = np.zeros((self._size + 31) // 32, dtype=np.uint32)

    @property
    def stopped(self) -> bool:
        return self._matcher.is_stopped()

    @property
    def accepting(self) -> bool:
        """Whether the text is complete as it is, whatever may come."""
        return bool(self._matcher.is_accepting())

    def forced(self) -> list[int]:
        return list(self._matcher.compute_ff_tokens())

    def allowed(self) -> Allowed:
        self._matcher.unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
        self._check()
        return np.unpackbits(self._bits.view(np.uint8), count=self._size, bitorder="little").view(np.bool_)

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
