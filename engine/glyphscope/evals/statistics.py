"""Statistics over few samples: percentiles, and shares with the interval that so few of them leave open.

The trials of one scenario are not independent of each other: asked again, a model that draws greedily says the same
again, and that is not further evidence. So intervals are those of the *effective* number of samples. Comparisons of two
arms are in `pairs.py`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence

import msgspec

Z = 1.959963984540054
"""Of a 95 % interval."""


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
    """Of at least one sample."""
    ordered = sorted(samples)
    return Spread(sum(ordered) / len(ordered), percentile(ordered, 0.5), percentile(ordered, 0.95))


def percentile(ordered: Sequence[float], share: float) -> float:
    """Of samples in rising order, by linear interpolation."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def share(correct: int, n: int, effective: float | None = None) -> Share:
    """Wilson, E. B. (1927): holds for few samples and for shares near 0 and 1 too. Nothing is known of n 0.

    `effective` is the number of independent samples that the `n` are worth (`effective_n`): all, where it is None.
    """
    if n == 0:
        return Share(0, 0, 0.0, 0.0, 1.0, 0.0)
    worth = float(n) if effective is None else effective
    low, high = wilson(correct / n, worth)
    return Share(correct, n, correct / n, low, high, worth)


def share_of(values: Iterable[tuple[Hashable, bool]]) -> Share:
    """Of samples that are right or not, each with the cluster that it belongs to (`effective_n`)."""
    counts: dict[Hashable, tuple[int, int]] = {}
    for cluster, value in values:
        correct, of = counts.get(cluster, (0, 0))
        counts[cluster] = correct + value, of + 1
    return share_of_counts([*counts.values()])


def share_of_counts(counts: Sequence[tuple[int, int]]) -> Share:
    """As `share_of`; of each cluster how many samples are right, and of how many."""
    worth = effective_n(Cluster.of(correct, of) for correct, of in counts)
    return share(sum(correct for correct, _ in counts), sum(of for _, of in counts), worth)


def wilson(p: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share `p` over `n` > 0 samples, which may be a fraction."""
    z2 = Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    # the ends are exact where they are known to be: the root leaves them off by the last digit
    return (0.0 if p == 0 else max(0.0, middle - half)), (1.0 if p == 1 else min(1.0, middle + half))


class Cluster(msgspec.Struct, frozen=True, gc=False):
    """The trials of one scenario: how many, the sum of their values, and the sum of the squares of these."""

    n: int
    total: float
    squares: float

    @classmethod
    def of(cls, correct: int, n: int) -> Cluster:
        """Of trials that are right (1) or not (0)."""
        return cls(n, correct, correct)


def effective_n(clusters: Iterable[Cluster]) -> float:
    """The number of independent samples that these trials are worth: n / deff, with Kish's design effect.

    deff = 1 + (m' - 1) ICC, where m' = sum of squared cluster sizes / n (Kish 1965, Survey Sampling, 8.2; 1987 for
    clusters of several sizes). ICC is the intracluster correlation by the analysis of variance:
    (MSB - MSW) / (MSB + (m0 - 1) MSW), with m0 = (n - m') / (clusters - 1) (Donner 1986, Int Stat Rev 54:67), and no
    less than 0. Trials that repeat each other have an ICC of 1, and are worth one sample a scenario; trials that
    scatter within a scenario as they do between scenarios are worth as many samples as they are.

    Where nothing varies (all right, or all wrong), the data cannot distinguish the two cases, and a single scenario
    says nothing about others: then it is the cautious number, that of the scenarios.

    The same holds of values other than 0 and 1, as the differences between two arms are. 0 without any trials.
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

    The unbiased estimate of p to the k-th; its mean over scenarios is tau-bench's pass^k (Yao et al. 2024,
    arXiv 2406.12045). Needs k <= n.
    """
    return math.comb(correct, k) / math.comb(n, k)
