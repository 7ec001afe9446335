"""llama.cpp's own grammar sampler as a constraint, for comparison with the mask. Only in the model's process."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from glyphscope.decoding.sampler import Allowed
from glyphscope.errors import GrammarError
from glyphscope.models.llama_engine import LlamaEngine

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class GbnfConstraint:
    """A constraint in GBNF. It reports no forced tokens, and checks the whole vocabulary at each step.

    It has no token budget: an answer may be cut off.

    A grammar that llama.cpp's parser rejects is a GrammarError; an invalid one that it accepts can crash the process
    (measured: left recursion), which is why this runs in a separate process.
    """

    def __init__(self, engine: LlamaEngine, grammar: str, patterns: Sequence[bytes] = ()) -> None:
        """With `patterns` (ECMAScript, matching the whole text), the grammar is enforced from the first match on.

        Raises GrammarError with llama.cpp's reason.
        """
        self._sampler: Any = None
        self._sampler, said = _listening(lambda: _sampler(engine, grammar, patterns))
        if not self._sampler:
            raise GrammarError(
                f"llama.cpp rejects the grammar: {said or 'no reason was given'}.",
                where="grammar",
                hint="Check that every rule is defined, that one is called root, and that quotes and brackets close.",
            )
        self._engine = engine
        self._ids = np.arange(engine.vocabulary, dtype=np.int32)
        self._candidates = np.zeros(engine.vocabulary, dtype=_CANDIDATE)
        self._allowed: Allowed | None = None
        self._ended = False

    def __del__(self) -> None:
        if self._sampler:
            llama.llama_sampler_free(self._sampler)

    @property
    def stopped(self) -> bool:
        return self._ended

    def forced(self) -> list[int]:
        return []

    def allowed(self) -> Allowed:
        if self._allowed is None:
            self._allowed = self._walk()
        return self._allowed

    def takes(self, token: int) -> bool:
        return bool(self.allowed()[token])

    def commit(self, token: int) -> None:
        # accepting a token that the grammar does not allow aborts the process, so check first
        if not self.allowed()[token]:
            raise GrammarError(f"The constraint does not allow the token {token}.", where="grammar")
        if self._engine.is_end(token):
            self._ended = True
            return
        self.accept([token])

    def accept(self, tokens: Sequence[int]) -> None:
        """Accept tokens that are known to be allowed."""
        for token in tokens:
            llama.llama_sampler_accept(self._sampler, token)
        self._allowed = None

    def _walk(self) -> NDArray[np.bool_]:
        """The allowed tokens: the sampler sets the logits of the others to -inf, and keeps the order of tokens."""
        self._candidates["id"] = self._ids
        self._candidates["logit"] = 0.0
        data = self._candidates.ctypes.data_as(llama.llama_token_data_p)
        array = llama.llama_token_data_array(data, self._candidates.size, -1, False)
        llama.llama_sampler_apply(self._sampler, ctypes.byref(array))
        return self._candidates["logit"] > -np.inf


def _sampler(engine: LlamaEngine, grammar: str, patterns: Sequence[bytes]) -> Any:
    if not patterns:
        return llama.llama_sampler_init_grammar(engine.vocab, grammar.encode(), b"root")
    given, none = (ctypes.c_char_p * len(patterns))(*patterns), (llama.llama_token * 0)()
    return llama.llama_sampler_init_grammar_lazy_patterns(
        engine.vocab, grammar.encode(), b"root", given, len(patterns), none, 0
    )


def _listening(call: Callable[[], Any]) -> tuple[Any, str]:
    """The result of `call`, and the first line that C code in it wrote to stderr.

    llama.cpp's parser reports its reason nowhere else.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            result = call()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        said = file.read().decode("utf-8", errors="replace")
    sys.stderr.write(said)
    # the lines after the first one repeat the grammar
    reason = said.strip().partition("\n")[0]
    return result, reason.removeprefix("parse: error parsing grammar: ")
