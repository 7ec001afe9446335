"""Sampling a token from logits: biases, penalties, DRY, the filters and the temperature, in llama.cpp's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from glyphscope.events import Filter, Sampling
from glyphscope.models.decoding.adjustments import adjustments
from glyphscope.models.decoding.rows import FEW, Allowed, Logits, copy_allowed, top

_FEW = 200
"""Up to this number of candidates, a dictionary of all is faster than looking for those asked for."""
_MANY = 4096
"""From this number of tokens on, selecting the reported ones first is faster."""
Places: TypeAlias = range | NDArray[np.intp]
"""Indices of candidates."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The chosen token and the final distribution: `ids` by descending probability; all other tokens have 0.

    The token was sampled from it, or put in place of a sampled one (a prefix). `candidates` are allowed tokens in the
    order of their logits: without top-n-sigma, those that top-k left. `kept` are the places in it that each of the
    `filters` left, the last of them those of `ids`. There are none if nothing was filtered: a greedy token, or the only
    allowed one.
    """

    id: int
    ids: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    candidates: NDArray[np.int64] | None = None
    filters: tuple[Filter, ...] = ()
    kept: tuple[Places, ...] = ()

    @property
    def left(self) -> tuple[int, ...]:
        """The number of tokens that each filter left; empty if nothing was filtered."""
        return tuple(map(len, self.kept))

    def removed_by(self, tokens: Sequence[int]) -> list[Filter]:
        """The filter that removed each of these tokens, all of them allowed; "" if none did."""
        candidates = self.candidates
        if candidates is None:
            return [""] * len(tokens)
        if candidates.size <= _FEW:
            place_of = {token: place for place, token in enumerate(candidates.tolist())}
        else:
            places = np.flatnonzero(np.isin(candidates, tokens)).tolist()
            place_of = dict(zip(candidates[places].tolist(), places))
        return [self._removed(place_of.get(token)) for token in tokens]

    def _removed(self, place: int | None) -> Filter:
        if place is None:
            return self.filters[0]
        return next((by for by, kept in zip(self.filters, self.kept) if place not in kept), "")

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


class SamplerState:
    """Samples the tokens of one generation. The lower 64 bits of the seed determine all samples (numpy's PCG64).

    Each sampled token uses one random number, and one more with XTC; a greedy or forced token none. A token that was
    written in place of a sampled one uses up its numbers (`skip`): later samples depend on the position of a token, not
    on its origin.
    """

    def __init__(self, sampling: Sampling, pieces: Sequence[bytes] = ()) -> None:
        """`pieces` are the bytes of each token, for logit biases and DRY. Raises PromptError for a bias of no token."""
        self._sampling = sampling
        self._takes_best = sampling.takes_best
        self._random = np.random.Generator(np.random.PCG64(sampling.seed & (2**64 - 1)))
        self._filters = sampling.filters
        self._adjustments = adjustments(sampling, pieces)
        self._copy: Logits = np.empty(0, np.float32)
        self._excludes = False
        """Whether XTC acts at this token."""

    def draw(
        self, logits: Logits, allowed: Allowed | None, recent: Sequence[int], best: int | None = None
    ) -> Draw:
        """Sample one of the allowed tokens; there must be at least one.

        `recent` are the text's tokens so far, `best` is the first token with the largest logit, if known.
        """
        if best is not None and self._takes_best and (allowed is None or best in allowed):
            return Draw(best, np.array([best]), np.ones(1))
        number = self._next_number()
        draw = self.put(-1, logits, allowed, recent)
        ids, final = draw.ids, draw.probabilities
        place = int(np.searchsorted(np.cumsum(final), number * final.sum(), side="right"))
        return replace(draw, id=int(ids[min(place, ids.size - 1)]))

    def put(self, token: int, logits: Logits, allowed: Allowed | None, recent: Sequence[int]) -> Draw:
        """Put that token in place of a sampled one; uses no random number."""
        sampling = self._sampling
        ids = allowed.ids() if allowed is not None and allowed.count <= FEW else None
        if self._adjustments or (allowed is not None and ids is None):
            logits = self._copied(logits, allowed if ids is None else None)
        for adjust in self._adjustments:
            adjust(logits, recent)
        if ids is not None:
            logits = logits[ids]
        if sampling.temperature <= 0:
            best = int(logits.argmax())
            return Draw(token, np.array([best if ids is None else int(ids[best])]), np.ones(1))
        places = top(logits, 0 if sampling.top_n_sigma > 0 else sampling.top_k)
        chosen = logits[places].astype(np.float64)
        candidates = places if ids is None else ids[places]
        kept, weights = self._filtered(chosen)
        last = kept[-1]
        if len(last) < candidates.size or sampling.temperature != 1.0:
            weights = _softmax(_at(chosen, last) / sampling.temperature)
        return Draw(token, _at(candidates, last), weights, candidates, self._filters, kept)

    def _copied(self, logits: Logits, allowed: Allowed | None) -> Logits:
        """The logits in memory that is used again: new memory of this size takes as long as the rest."""
        if self._copy.size != logits.size:
            self._copy = np.empty_like(logits)
        if allowed is None:
            np.copyto(self._copy, logits)
        else:
            copy_allowed(logits, allowed, self._copy)
        return self._copy

    def skip(self) -> None:
        """Use up the random numbers of a token that was put in place of a sampled one."""
        self._next_number()

    def _next_number(self) -> float:
        """The number from 0 to 1 that chooses the next token; 0 for a greedy one."""
        if self._sampling.temperature <= 0:
            return 0.0
        if self._sampling.xtc_probability > 0:
            self._excludes = self._random.random() < self._sampling.xtc_probability
        return self._random.random()

    def _filtered(self, logits: NDArray[np.float64]) -> tuple[tuple[Places, ...], NDArray[np.float64]]:
        """The places that each filter leaves of descending logits, at least one, and the weights after the last."""
        sampling = self._sampling
        kept: list[Places] = []
        places: Places = range(logits.size)
        if sampling.top_n_sigma > 0:
            least = logits[0] - sampling.top_n_sigma * logits.std()
            places = places[: np.count_nonzero(logits >= least)]
            kept.append(places)
        if sampling.top_k > 0:
            places = places[: sampling.top_k]
        kept.append(places)
        weights = _softmax(_at(logits, places))
        for name in self._filters[len(kept) :]:
            if name != "XTC" or self._excludes:
                left = _CUTS[name](weights, sampling)
                places = places[left] if isinstance(left, slice) else np.asarray(places)[left]
                weights = weights[left]
            kept.append(places)
        return tuple(kept), weights


def _at(values: NDArray[Any], places: Places) -> NDArray[Any]:
    return values[places.start : places.stop] if isinstance(places, range) else values[places]


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()  # type: ignore[no-any-return]


def _typical_p(weights: NDArray[np.float64], sampling: Sampling) -> NDArray[np.intp]:
    """Locally typical sampling (arXiv:2202.00666)."""
    shares = weights / weights.sum()
    information = -np.log(np.maximum(shares, np.finfo(np.float64).tiny))
    order = np.argsort(np.abs(information - (shares * information).sum()), kind="stable")
    count = int(np.searchsorted(np.cumsum(shares[order]), sampling.typical_p, side="right")) + 1
    return np.sort(order[:count])


def _top_p(weights: NDArray[np.float64], sampling: Sampling) -> slice:
    if sampling.top_p >= 1.0:
        return slice(None)
    total = 1.0 if sampling.typical_p >= 1.0 else weights.sum()
    return slice(int(np.searchsorted(np.cumsum(weights), sampling.top_p * total, side="left")) + 1)


def _min_p(weights: NDArray[np.float64], sampling: Sampling) -> slice:
    if sampling.min_p <= 0.0:
        return slice(None)
    # relative to the best, so the share of the weights that other filters removed does not matter
    return slice(max(1, int(np.count_nonzero(weights >= sampling.min_p * weights[0]))))


def _xtc(weights: NDArray[np.float64], sampling: Sampling) -> slice:
    """Exclude Top Choices: all but the last of those from the threshold on."""
    likely = int(np.count_nonzero(weights >= sampling.xtc_threshold * weights.sum()))
    return slice(max(0, likely - 1), None)


_CUTS: dict[Filter, Callable[[NDArray[np.float64], Sampling], slice | NDArray[np.intp]]] = {
    "typical-p": _typical_p, "top-p": _top_p, "min-p": _min_p, "XTC": _xtc,
}  # fmt: skip
"""The weights, in descending order, that each filter after top-k keeps."""
