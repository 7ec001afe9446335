"""Statistics over few samples: percentiles, and shares with their confidence intervals.

The trials of one scenario are not independent of each other: a model that samples greedily repeats its answer, which is
no further evidence. So intervals are computed for the *effective* number of samples. Comparisons of two arms are in
`pairs.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

Z = 1.959963984540054
"""The normal quantile of a 95 % interval."""


class Spread(msgspec.Struct, frozen=True):
    """`p50` and `p95` are interpolated between the two nearest samples."""

    mean: float
    p50: float
    p95: float


class Share(msgspec.Struct, frozen=True):
    """`correct` of `n`, with Wilson's 95 % interval over the `effective` number of independent samples."""

    correct: int
    n: int
    share: float
    low: float
    high: float
    effective: float = 0.0


def spread(samples: Sequence[float]) -> Spread:
    """The spread of at least one sample."""
    return spread_of(sorted(samples))


def spread_of(ordered: Sequence[float]) -> Spread:
    """The spread of at least one sample, in ascending order."""
    return Spread(sum(ordered) / len(ordered), percentile(ordered, 0.5), percentile(ordered, 0.95))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The percentile of samples in ascending order, by linear interpolation."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def share(correct: int, n: int, effective: float | None = None) -> Share:
    """The share with the interval of Wilson, E. B. (1927), which also suits few samples and shares near 0 and 1.

    `effective` is the effective number of independent samples (`effective_n`), by default `n`. n 0 gives 0 to 1.
    """
    if n == 0:
        return Share(0, 0, 0.0, 0.0, 1.0, 0.0)
    worth = float(n) if effective is None else effective
    low, high = wilson(correct / n, worth)
    return Share(correct, n, correct / n, low, high, worth)


def share_of_counts(counts: Sequence[tuple[int, int]]) -> Share:
    """The share of right samples, from the numbers of right samples and of all samples of each cluster."""
    worth = effective_n(Cluster.of(correct, of) for correct, of in counts)
    return share(sum(correct for correct, _ in counts), sum(of for _, of in counts), worth)


def wilson(p: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share `p` over `n` > 0 samples, which may be a fraction."""
    z2 = Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    # 0 and 1 are exact at these ends; the root would miss them by the last digit
    return (0.0 if p == 0 else max(0.0, middle - half)), (1.0 if p == 1 else min(1.0, middle + half))


class Cluster(msgspec.Struct, frozen=True, gc=False):
    """The trials of one scenario: their number, the sum of their values, and the sum of the squares."""

    n: int
    total: float
    squares: float

    @classmethod
    def of(cls, correct: int, n: int) -> Cluster:
        """The cluster of trials that are right (1) or not (0)."""
        return cls(n, correct, correct)


def effective_n(clusters: Iterable[Cluster]) -> float:
    """The effective number of independent samples in these trials: n / deff, with Kish's design effect.

    deff = 1 + (m' - 1) ICC, where m' = sum of squared cluster sizes / n (Kish 1965, Survey Sampling, 8.2; 1987 for
    clusters of several sizes). ICC is the intracluster correlation by the analysis of variance:
    (MSB - MSW) / (MSB + (m0 - 1) MSW), with m0 = (n - m') / (clusters - 1) (Donner 1986, Int Stat Rev 54:67), and at
    least 0. Trials that repeat each other have an ICC of 1 and count as one sample per scenario; trials that vary
    within a scenario as much as between scenarios count in full.

    If nothing varies (all right, or all wrong), the data cannot distinguish the two cases, and a single scenario says
    nothing about others: then the result is the conservative number, the number of scenarios.

    Also for values other than 0 and 1, such as the differences between two arms. 0 without any trials.
    """
    filled = [cluster for cluster in clusters if cluster.n]
    k, n = len(filled), sum(cluster.n for cluster in filled)
    if n == k:
        return float(n)
    size = sum(cluster.n * cluster.n for cluster in filled) / n
    if k == 1:
        return 1.0
    mean = sum(cluster.total for cluster in filled) / n
    within = sum(cluster.squares - cluster.total * cluster.total / cluster.n for cluster in filled)
    between = sum(cluster.n * (cluster.total / cluster.n - mean) ** 2 for cluster in filled)
    if between + within < 1e-9:
        return n / size
    msb, msw = between / (k - 1), max(within, 0.0) / (n - k)
    even = (n - size) / (k - 1)
    icc = min(1.0, max(0.0, (msb - msw) / (msb + (even - 1) * msw)))
    return n / (1 + (size - 1) * icc)


def pass_hat(correct: int, n: int, k: int) -> float:
    """The probability that `k` of `n` trials, sampled without replacement, are all right: C(c, k) / C(n, k).

    The unbiased estimate of p to the power of k; its mean over scenarios is tau-bench's pass^k (Yao et al. 2024,
    arXiv 2406.12045). Needs k <= n.
    """
    return math.comb(correct, k) / math.comb(n, k)
