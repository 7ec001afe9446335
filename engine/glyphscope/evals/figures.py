"""Figures over few samples: percentiles, and shares with the interval that so few of them leave open."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

_Z = 1.959963984540054
"""Of a 95 % interval."""


class Spread(msgspec.Struct, frozen=True):
    """`p50` and `p95` are interpolated between the two nearest samples."""

    mean: float
    p50: float
    p95: float


class Share(msgspec.Struct, frozen=True):
    """`correct` of `n`, with Wilson's 95 % interval."""

    correct: int
    n: int
    share: float
    low: float
    high: float


def spread(samples: Sequence[float]) -> Spread:
    """Of at least one sample."""
    ordered = sorted(samples)
    return Spread(sum(ordered) / len(ordered), percentile(ordered, 0.5), percentile(ordered, 0.95))


def percentile(ordered: Sequence[float], share: float) -> float:
    """Of samples in rising order, by linear interpolation."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def share(correct: int, n: int) -> Share:
    """Wilson, E. B. (1927): holds for few samples and for shares near 0 and 1 too. Nothing is known of n 0."""
    if n == 0:
        return Share(0, 0, 0.0, 0.0, 1.0)
    p, z2 = correct / n, _Z * _Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return Share(correct, n, p, max(0.0, middle - half), min(1.0, middle + half))
