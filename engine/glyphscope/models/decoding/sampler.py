"""Sampling a token from logits: penalty, top-k, top-p, min-p, temperature, in llama.cpp's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glyphscope.events import Filter, Sampling

Logits = NDArray[np.float32]
"""Shape (vocabulary,)."""
Allowed = NDArray[np.bool_]
"""Shape (vocabulary,): the tokens that the constraint allows next."""

_BLOCK = 64
"""Logits in a block; only the maximum of each block is compared first."""
_LEAST = float(np.finfo(np.float32).min)
_MANY = 4096
"""From this number of tokens on, sorting by integers and selecting the reported ones is faster."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The chosen token and the final distribution: `ids` by descending probability; all other tokens have 0.

    The token was sampled from it, or put in place of a sampled one (a prefix). `candidates` are the tokens that top-k
    left, in the same order; top-p left the first `top_p` of them, and min-p the first of those, which are `ids`. None
    if nothing was filtered: a greedy token, or the only allowed one.
    """

    id: int
    ids: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    candidates: NDArray[np.int64] | None = None
    top_p: int = 0

    @property
    def left(self) -> tuple[int, ...]:
        """The number of tokens that top-k, top-p and min-p each left; empty if nothing was filtered."""
        return () if self.candidates is None else (self.candidates.size, self.top_p, self.ids.size)

    def removed_by(self, tokens: Sequence[int]) -> list[Filter]:
        """The filter that removed each of these tokens, all of them allowed; "" if none did."""
        candidates = self.candidates
        if candidates is None:
            return [""] * len(tokens)
        places = np.flatnonzero(np.isin(candidates, tokens)).tolist()
        place_of = dict(zip(candidates[places].tolist(), places))
        return [self._removed(place_of.get(token)) for token in tokens]

    def _removed(self, place: int | None) -> Filter:
        if place is None:
            return "top-k"
        if place < self.ids.size:
            return ""
        return "min-p" if place < self.top_p else "top-p"

    def probability(self, token: int) -> float:
        """The token's final probability."""
        return self.probability_of([token])[0]

    def probability_of(self, tokens: Sequence[int]) -> list[float]:
        """The tokens' final probabilities."""
        if self.ids.size == 1:
            only = int(self.ids[0])
            return [1.0 if token == only else 0.0 for token in tokens]
        ids, probabilities = self.ids, self.probabilities
        if ids.size > _MANY:
            reported = np.isin(ids, tokens)
            ids, probabilities = ids[reported], probabilities[reported]
        same = ids == np.asarray(tokens)[:, np.newaxis]
        return (same @ probabilities).tolist()  # type: ignore[no-any-return]


def top(logits: Logits, k: int) -> NDArray[np.int64]:
    """The ids of the `k` largest logits in descending order, lower ids first among equals, without logits of -inf.

    The k-th largest of the maxima of blocks is a lower bound of the k-th largest logit, so only the few logits above
    it need sorting: 30 µs for 49,152 logits, where `argpartition` takes 500.
    """
    if 0 < k < logits.size // _BLOCK:
        whole = logits.size - logits.size % _BLOCK
        maxima = logits[:whole].reshape(_BLOCK, -1).max(axis=0)
        bound = max(np.partition(maxima, -k)[-k], _LEAST)
        ids = np.flatnonzero(logits >= bound)
    else:
        ids = np.flatnonzero(logits > -np.inf)
    falling = -logits[ids]
    if ids.size > _MANY:
        return _by_number(falling, ids)[: k if k > 0 else None]
    order = np.argsort(falling, kind="stable")
    return ids[order[:k] if k > 0 else order]


def _by_number(numbers: Logits, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ids by ascending numbers, lower ids first among equals: 5 ms for 262,144, where a stable sort takes 25.

    The bits of floats sort like integers if the bits below the sign are inverted in negative numbers.
    """
    bits = (numbers + np.float32(0.0)).view(np.int32)  # changes -0.0 to 0.0
    keys = (bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))).astype(np.int64) << 32 | ids
    keys.sort()
    return keys & 0xFFFFFFFF


class SamplerState:
    """Samples the tokens of one generation. The lower 64 bits of the seed determine all samples (numpy's PCG64).

    Each sampled token uses one random number, a greedy or forced token none. A token that was written in place of a
    sampled one uses up its number (`skip`): later samples depend on the position of a token, not on its origin.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._random = np.random.Generator(np.random.PCG64(sampling.seed & (2**64 - 1)))

    def draw(
        self, logits: Logits, allowed: Allowed | None, recent: Sequence[int], best: int | None = None
    ) -> Draw:
        """Sample one of the allowed tokens; there must be at least one.

        `recent` are the text's tokens so far, `best` is the first token with the largest logit, if known.
        """
        if best is not None and self._sampling.takes_best and (allowed is None or allowed[best]):
            return Draw(best, np.array([best]), np.ones(1))
        draw = self.put(-1, logits, allowed, recent)
        ids, final = draw.ids, draw.probabilities
        place = 0
        if self._sampling.temperature > 0:
            place = int(np.searchsorted(np.cumsum(final), self._random.random() * final.sum(), side="right"))
        return replace(draw, id=int(ids[min(place, ids.size - 1)]))

    def put(self, token: int, logits: Logits, allowed: Allowed | None, recent: Sequence[int]) -> Draw:
        """Put that token in place of a sampled one; uses no random number."""
        sampling = self._sampling
        logits = self._penalise(logits, recent)
        if allowed is not None:
            logits = np.where(allowed, logits, np.float32(-np.inf))
        if sampling.temperature <= 0:
            return Draw(token, np.array([int(logits.argmax())]), np.ones(1))
        candidates = top(logits, max(sampling.top_k, 0))
        weights = _softmax(logits[candidates].astype(np.float64))
        top_p, min_p = _cutoffs(weights, sampling)
        ids = candidates[:min_p]
        if min_p < candidates.size or sampling.temperature != 1.0:
            weights = _softmax(logits[ids].astype(np.float64) / sampling.temperature)
        return Draw(token, ids, weights, candidates, top_p)

    def skip(self) -> None:
        """Use up the random number of a token that was put in place of a sampled one."""
        if self._sampling.temperature > 0:
            self._random.random()

    def _penalise(self, logits: Logits, recent: Sequence[int]) -> Logits:
        """The repetition penalty of CTRL (arXiv:1909.05858), once for each token among the last `repeat_last_n`."""
        penalty, last = self._sampling.repeat_penalty, self._sampling.repeat_last_n
        if penalty == 1.0 or last == 0 or not recent:
            return logits
        ids = np.unique(recent if last < 0 else recent[-last:])
        logits = logits.copy()
        seen = logits[ids]
        logits[ids] = np.where(seen > 0, seen / penalty, seen * penalty)
        return logits


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()  # type: ignore[no-any-return]


def _cutoffs(weights: NDArray[np.float64], sampling: Sampling) -> tuple[int, int]:
    """The number of the descending weights that top-p keeps, and the number that min-p keeps of those; at least one."""
    remaining = weights.size
    if sampling.top_p < 1.0:
        remaining = min(remaining, int(np.searchsorted(np.cumsum(weights), sampling.top_p, side="left")) + 1)
    remaining = top_p = max(remaining, 1)
    if sampling.min_p > 0.0:
        # min-p is relative to the best, so the share of the weights that top-p removed does not matter
        remaining = min(remaining, int(np.count_nonzero(weights >= sampling.min_p * weights[0])))
    return top_p, max(remaining, 1)
