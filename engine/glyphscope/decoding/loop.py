"""The loop: one evaluation a step, the tokens that were forced and the one that was chosen, with their evidence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from glyphscope.decoding.evidence import Evidence
from glyphscope.decoding.mask import Constraint
from glyphscope.decoding.sampler import Allowed, Draw, Logits, SamplerState
from glyphscope.decoding.text import TextAssembler
from glyphscope.errors import GrammarError
from glyphscope.events import Sampling, TokenStep


class Backend(Protocol):
    """What evaluates tokens."""

    pieces: list[bytes]
    """The bytes of each token of the vocabulary, special ones as they are written."""

    @property
    def room(self) -> int:
        """How many more tokens the context holds."""

    def decode(self, tokens: Sequence[int], outputs: int) -> list[Logits]:
        """Evaluates the tokens; the logits after each of the last `outputs`, good until the next evaluation."""

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""


class Decoder:
    """Decodes one generation, a step at a time.

    `prompt` is in the backend's context except for its last token: that one, and later the token that was chosen
    last, is evaluated together with the tokens that are forced after it, in one batch. The logits of every position
    in the batch are kept as evidence, which costs a tenth of the batch's time.
    """

    def __init__(
        self,
        backend: Backend,
        prompt: Sequence[int],
        *,
        constraint: Constraint | None,
        sampling: Sampling,
        max_tokens: int,
        alternatives: int,
    ) -> None:
        self._backend = backend
        self._constraint = constraint
        self._sampler = SamplerState(sampling)
        self._max_tokens = max_tokens
        self._alternatives = alternatives
        self._tokens = list(prompt)
        self._index = 0
        self._text = TextAssembler()
        self._ended = False

    @property
    def ended(self) -> bool:
        """Nothing comes any more: an end token came, or nothing else may come, or there is no room for it."""
        return self._complete or self._backend.room < 1

    @property
    def _complete(self) -> bool:
        """Nothing may come any more, whatever room there is."""
        stopped = self._constraint is not None and self._constraint.stopped
        return self._ended or stopped or self._index >= self._max_tokens

    def step(self) -> tuple[TokenStep, ...]:
        """The forced tokens, and one that was chosen; empty at the end. Raises GrammarError and ModelError."""
        if self.ended:
            return ()
        forced = self._forced()
        start = time.perf_counter()
        rows = self._backend.decode([self._tokens[-1], *forced], outputs=1 + len(forced))
        spent = (time.perf_counter() - start) * 1000
        steps: list[TokenStep] = []
        for token, row in zip(forced, rows):
            steps.append(self._forced_step(token, row, decode_ms=0.0 if steps else spent))
        if not self._complete:
            steps.append(self._chosen_step(rows[-1], decode_ms=0.0 if steps else spent))
        return tuple(steps)

    def _forced(self) -> list[int]:
        if self._constraint is None:
            return []
        # the token before the forced ones is evaluated with them, and takes its place in the context too
        fitting = min(self._max_tokens - self._index, self._backend.room - 1)
        tokens = self._constraint.forced()[:fitting]
        for token in tokens:
            self._constraint.commit(token)
        return tokens

    def _forced_step(self, token: int, row: Logits, decode_ms: float) -> TokenStep:
        start = time.perf_counter()
        allowed = np.zeros(row.size, dtype=np.bool_)
        allowed[token] = True
        draw = Draw(token, np.array([token]), np.ones(1))
        return self._step(row, draw, allowed, forced=True, mask_ms=0.0, start=start, decode_ms=decode_ms)

    def _chosen_step(self, row: Logits, decode_ms: float) -> TokenStep:
        start = time.perf_counter()
        allowed: Allowed | None = None
        if self._constraint is not None:
            allowed = self._constraint.allowed()
            if not allowed.any():
                raise GrammarError(
                    "The constraint allows no token here.",
                    where="grammar",
                    hint="The grammar asks for text that this model's tokens cannot write.",
                )
        masked = time.perf_counter()
        draw = self._sampler.draw(row, allowed, self._tokens)
        if self._constraint is not None:
            self._constraint.commit(draw.id)
        mask_ms = (masked - start) * 1000
        return self._step(
            row, draw, allowed, forced=False, mask_ms=mask_ms, start=masked, decode_ms=decode_ms
        )

    def _step(
        self,
        row: Logits,
        draw: Draw,
        allowed: Allowed | None,
        *,
        forced: bool,
        mask_ms: float,
        start: float,
        decode_ms: float,
    ) -> TokenStep:
        """The step of a token that came; `start` is when choosing it began."""
        evidence = Evidence(row)
        count = row.size if allowed is None else int(np.count_nonzero(allowed))
        end = self._backend.is_end(draw.id)
        data = b"" if end else self._backend.pieces[draw.id]
        step = TokenStep(
            index=self._index,
            id=draw.id,
            data=data,
            text=self._text.end() if end else self._text.feed(data),
            logprob=evidence.logprob(draw.id),
            rank=evidence.rank(draw.id),
            probability=draw.probability(draw.id),
            allowed=count,
            feasible=1.0 if allowed is None else evidence.feasible(allowed),
            entropy=evidence.entropy,
            forced=forced or count == 1,
            end=end,
            alternatives=evidence.alternatives(self._alternatives, draw, allowed, self._backend.pieces),
            mask_ms=mask_ms,
            sample_ms=(time.perf_counter() - start) * 1000,
            decode_ms=decode_ms,
        )
        self._index += 1
        self._tokens.append(draw.id)
        self._ended = end
        return step
