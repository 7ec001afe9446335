"""The evidence in one row of logits: for the chosen token and for its alternatives."""

from __future__ import annotations

import math

import numpy as np

from glyphscope.decoding.sampler import Allowed, Draw, Logits, top
from glyphscope.decoding.text import shown
from glyphscope.errors import ModelError
from glyphscope.events import Alternative

_FLOOR = np.float32(-100.0)
"""Logits this far below the best are practically impossible (e^-100)."""


def best_token(logits: Logits) -> int:
    """The first token with the largest logit. Raises ModelError for logits that are not numbers, as with damaged
    weights.
    """
    best = int(logits.argmax())  # the first NaN, if there is one
    if not math.isfinite(logits[best]):
        raise ModelError(
            "The model's output is not a number.", hint="Its file may be damaged: load it again."
        )
    return best


class Evidence:
    """The raw distribution of one step: natural logarithms, probabilities, and the entropy in bits.

    `logits` have the shape (vocabulary,). One pass of exp over them; 0.2 ms for 49,152.
    """

    def __init__(self, logits: Logits, best: int | None = None) -> None:
        """`best` is the result of `best_token`, if known. Raises the same ModelError."""
        self._logits = logits
        self._best = float(logits[best_token(logits) if best is None else best])
        self._weights = logits - np.float32(self._best)
        np.exp(self._weights, out=self._weights)  # in place: new memory of this size costs more than the exp
        self._total = float(self._weights.sum())
        self._log_total = math.log(self._total)

    def logprob(self, token: int) -> float:
        """The token's raw log-probability."""
        return float(self._logits[token]) - self._best - self._log_total

    def rank(self, token: int) -> int:
        """The number of tokens with a larger logit."""
        logit = self._logits[token]
        return 0 if logit == self._best else int(np.count_nonzero(self._logits > logit))

    @property
    def entropy(self) -> float:
        """The entropy of the raw distribution, in bits."""
        logits = self._logits
        if math.isinf(logits.min()):  # tokens that the model itself rules out; 0 times -inf is NaN
            logits = np.maximum(logits, np.float32(self._best) + _FLOOR)
        mean = float(np.dot(self._weights, logits)) / self._total - self._best
        return max(0.0, (self._log_total - mean) / math.log(2))

    def feasible(self, allowed: Allowed) -> float:
        """The share of raw probability on allowed tokens."""
        return min(1.0, float(np.dot(self._weights, allowed.astype(np.float32))) / self._total)

    def alternatives(
        self, count: int, draw: Draw, allowed: Allowed | None, pieces: list[bytes]
    ) -> tuple[Alternative, ...]:
        """The `count` most probable tokens and the chosen one, masked ones included; empty for a count of 0."""
        if count <= 0:
            return ()
        ids = top(self._logits, count).tolist()
        if draw.id not in ids:
            ids.append(draw.id)
        raw = (self._weights[ids] / self._total).tolist()
        final = draw.probability_of(ids)
        free = [True] * len(ids) if allowed is None else allowed[ids].tolist()
        removed = [by if ok and share else "" for by, ok, share in zip(draw.removed_by(ids), free, raw)]
        data = [pieces[token] for token in ids]
        return tuple(map(Alternative, ids, data, map(shown, data), raw, final, free, removed))
