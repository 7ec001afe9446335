"""Passes over a whole row of logits: the allowed tokens, the weights of all, and the largest.

`rows.c` has the pass that takes longest in C. It is compiled where the program is installed from its source and there
is a compiler (`packaging/compiled_rows.py`); elsewhere numpy does the same, in four times the time.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
"""Shape (vocabulary,)."""
_FEW = 64
"""Up to this number of tokens, the largest are kept sorted while the row is read."""
_BLOCK = 64
"""Logits in a block; only the maximum of each block is compared first."""
_LEAST = float(np.finfo(np.float32).min)
_MANY = 4096
"""From this number of tokens on, sorting by integers is faster."""
FEW = 2000
"""Up to this number of tokens, listing them is faster than a pass over the vocabulary."""


class Allowed:
    """The tokens that the constraint allows next, a bit for each, as llguidance writes them.

    Of 262,144 tokens, they are counted in 3 µs and a few of them listed in 10: a fifth of the time with booleans.
    """

    __slots__ = ("_bools", "bits", "count", "size")

    def __init__(self, bits: NDArray[np.uint32], size: int) -> None:
        """`bits` of the first `size` tokens, the lowest bit first; those after them are 0."""
        self.bits, self.size = bits, size
        self.count = int(np.bitwise_count(bits).sum())
        self._bools: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, bools: NDArray[np.bool_]) -> Allowed:
        """Those that are true, shape (vocabulary,)."""
        size = bools.size
        bits = np.zeros((size + 31) // 32, np.uint32)
        bits.view(np.uint8)[: (size + 7) // 8] = np.packbits(bools, bitorder="little")
        return cls(bits, size)

    @classmethod
    def listing(cls, ids: Sequence[int], size: int) -> Allowed:
        """These tokens of a vocabulary of that size."""
        return cls(np.zeros((size + 31) // 32, np.uint32), size).with_tokens(ids)

    def with_tokens(self, ids: Sequence[int]) -> Allowed:
        """These tokens too."""
        bits = self.bits.copy()
        for token in ids:
            bits[token >> 5] |= np.uint32(1 << (token & 31))
        return Allowed(bits, self.size)

    @property
    def bools(self) -> NDArray[np.bool_]:
        """Whether each token is allowed, shape (vocabulary,)."""
        if self._bools is None:
            self._bools = _bits(self.bits, self.size)
        return self._bools

    def __contains__(self, token: int) -> bool:
        return token < self.size and bool(self.bits.item(token >> 5) >> (token & 31) & 1)

    def ids(self) -> NDArray[np.int64]:
        """The allowed tokens, ascending."""
        return _listed(self.bits) if self.count <= FEW else np.flatnonzero(self.bools)

    def others(self) -> NDArray[np.int64] | None:
        """The tokens that are not allowed, ascending, if they are few."""
        if self.size - self.count > FEW:
            return None
        found = _listed(~self.bits)
        return found[: self.size - self.count]


def _bits(words: NDArray[np.uint32], count: int | None = None) -> NDArray[np.bool_]:
    return np.unpackbits(words.view(np.uint8), count=count, bitorder="little").view(np.bool_)


def _listed(words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The places of the bits that are set, few of them."""
    used = np.flatnonzero(words != 0)  # of booleans: ten times as fast
    places: NDArray[np.int64] = np.flatnonzero(_bits(words[used]))
    places += (used[places >> 5] << 5) - (places & ~31)
    return places


class Weights(NamedTuple):
    """Sums over the weights e^(x - best): of all, of each times x - best, and of the allowed tokens."""

    total: float
    mean: float
    feasible: float


COMPILED = Path(__file__).with_name("rows-c.so")
"""The compiled `rows.c`; Python would import `rows.so` as this module."""
_FLOOR = np.float32(-87.0)
"""Logits this far below the best are practically impossible (e^-87), and count as that."""
_PIECE = 1 << 15
"""The logits in a piece, whose weights stay in the caches."""


@cache
def compiled() -> Any:
    """The functions of `rows.c`; None if it is not compiled, or GLYPHSCOPE_COMPILED is 0."""
    if os.environ.get("GLYPHSCOPE_COMPILED") == "0" or sys.byteorder != "little":
        return None
    try:
        found = ctypes.CDLL(str(COMPILED))
    except OSError:  # none, or for another system
        return None
    address, size = ctypes.c_void_p, ctypes.c_size_t
    found.weigh.argtypes, found.weigh.restype = (address, size, address, size, address, address), None
    found.largest.argtypes, found.largest.restype = (address, size, size, address, address), size
    found.copy_allowed.argtypes, found.copy_allowed.restype = (address, size, address, address), None
    return found


def weigh(logits: Logits, largest: NDArray[np.int64], allowed: Allowed | None) -> Weights:
    """The sums of a row with these largest logits, the best first (`top`).

    Their weights, often nearly all of the sums, are exact unless they equal the last of them; the others are summed as
    float32 in pieces, which are added in float64.
    """
    functions = compiled()
    if functions is None or not logits.flags.c_contiguous:
        total, mean, feasible = _weigh(logits, largest, allowed)
    else:
        sums = (ctypes.c_double * 3)()
        bits = None if allowed is None else _address(allowed.bits)
        functions.weigh(_address(logits), logits.size, _address(largest), largest.size, bits, sums)
        total, mean, feasible = sums
    return Weights(total, mean, total if allowed is None else feasible)


def copy_allowed(logits: Logits, allowed: Allowed, out: Logits) -> None:
    """Copy the logits of allowed tokens, and -inf for the others."""
    functions = compiled()
    if functions is not None and logits.flags.c_contiguous:
        functions.copy_allowed(_address(logits), logits.size, _address(allowed.bits), _address(out))
    elif (others := allowed.others()) is not None:
        np.copyto(out, logits)
        out[others] = -np.inf
    else:  # no branch for each token, which takes 0.6 ms if allowed ones are anywhere
        np.minimum(logits, (allowed.bools - np.float32(0.5)) * np.float32(np.inf), out=out)


def _address(array: NDArray[Any]) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _weigh(logits: Logits, largest: NDArray[np.int64], allowed: Allowed | None) -> Weights:
    """The same with numpy."""
    best, bound = logits[largest[0]], logits[largest[-1]]
    exact = [token for token, logit in zip(largest.tolist(), logits[largest]) if logit > bound]
    total, mean, feasible = _inexact(logits, exact, best, allowed)
    for token in exact:
        over = logits.item(token) - float(best)
        weight = math.exp(over)
        total += weight
        mean += weight * over
        feasible += weight if allowed is not None and token in allowed else 0.0
    return Weights(total, mean, feasible)


def _inexact(logits: Logits, exact: list[int], best: np.float32, allowed: Allowed | None) -> Weights:
    """The sums without the tokens whose weights are exact."""
    many = allowed is not None and FEW < allowed.count < allowed.size - FEW
    sums = _in_pieces(logits, exact, best, allowed if many else None)
    if math.isnan(sums.mean):  # tokens that the model itself rules out: 0 times -inf
        return _inexact(np.maximum(logits, best + _FLOOR), exact, best, allowed)
    if allowed is None or many:
        return sums
    if allowed.count <= FEW:
        return sums._replace(feasible=_weights_of(allowed.ids(), logits, exact, best))
    others = allowed.others()
    assert others is not None
    excluded = _weights_of(others, logits, exact, best)
    if excluded < 0.9 * sums.total:
        return sums._replace(feasible=sums.total - excluded)
    return _in_pieces(logits, exact, best, allowed)  # as little would be left of the digits


def _weights_of(ids: NDArray[np.int64], logits: Logits, exact: list[int], best: np.float32) -> float:
    ids = ids[~np.isin(ids, exact)]
    return float(np.exp(logits[ids] - best).sum(dtype=np.float64))


def _in_pieces(logits: Logits, exact: list[int], best: np.float32, allowed: Allowed | None) -> Weights:
    total = mean = feasible = 0.0
    weights, other = np.empty((2, min(_PIECE, logits.size)), np.float32)
    with np.errstate(invalid="ignore"):
        for start in range(0, logits.size, _PIECE):
            piece = logits[start : start + _PIECE]
            weights, other = weights[: piece.size], other[: piece.size]
            np.subtract(piece, best, out=other)
            np.exp(other, out=weights)
            for token in exact:
                if start <= token < start + piece.size:
                    weights[token - start] = 0.0
            total += float(weights.sum())  # in pairs: dot with ones is faster, with errors of 3e-6
            mean += float(np.dot(weights, other))
            if allowed is not None:
                np.copyto(other, allowed.bools[start : start + _PIECE])
                feasible += float(np.dot(weights, other))
    return Weights(total, mean, feasible)


def top(logits: Logits, k: int) -> NDArray[np.int64]:
    """The ids of the `k` largest logits in descending order, lower ids first among equals, without logits of -inf.

    The k-th largest of the maxima of blocks is a lower bound of the k-th largest logit, so only the few logits above
    it need sorting, and only their blocks are read again: 30 µs for 262,144 logits.
    """
    functions = compiled()
    if functions is not None and 0 < k <= _FEW and logits.flags.c_contiguous:
        ids, values = np.empty(k, np.int64), np.empty(k, np.float32)
        return ids[: functions.largest(_address(logits), logits.size, k, _address(ids), _address(values))]
    if 0 < k < logits.size // _BLOCK:
        whole = logits.size - logits.size % _BLOCK
        blocks = logits[:whole].reshape(_BLOCK, -1)
        maxima = blocks.max(axis=0)
        bound = max(np.partition(maxima, -k)[-k], _LEAST)
        large = np.flatnonzero(maxima >= bound)
        rows, places = np.nonzero(blocks[:, large] >= bound)
        last = np.flatnonzero(logits[whole:] >= bound) + whole
        ids = np.concatenate((rows * blocks.shape[1] + large[places], last))
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
