"""Statistics over few samples: percentiles, shares with their confidence intervals, and comparisons of two arms.

The trials of one scenario are not independent of each other: a model that samples greedily repeats its answer, which is
no further evidence. So intervals are computed for the *effective* number of samples.

Two arms are compared on the same scenarios: is the difference more than chance, and what are its bounds? A scenario is
one case, however many trials it has. Its difference is the mean over its trials; if the arms were the same, the sign of
each such difference would be random. This gives a test whose p is McNemar's if there is one trial, or if trials repeat
each other, and which uses all of the trials if they differ. Majorities would not: they discard how clear a scenario is,
and an even number of trials has ties.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

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


NO_SHARE = Share(0, 0, 0.0, 0.0, 1.0)
"""Of nothing, as in results of versions without a measure."""


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


EXACT_BELOW = 25
"""From this number of discordant cases on, the normal approximation is used."""
_MAX_SUMS = 200_000


class PairedTest(msgspec.Struct, frozen=True):
    """A two-sided p value, `exact` or by the normal approximation, over the `discordant` cases."""

    p: float
    exact: bool
    discordant: int


class PairTable(msgspec.Struct, frozen=True):
    """The numbers of pairs in one scenario, or in all: right in both arms, only in the first or second, in neither."""

    both: int = 0
    only_first: int = 0
    only_second: int = 0
    neither: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> PairTable:
        """The table of pairs of verdicts: whether each arm is right."""
        counts = Counter(pairs)
        cells = ((True, True), (True, False), (False, True), (False, False))
        return cls(*(counts[cell] for cell in cells))

    @property
    def pairs(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> int:
        """The number right in the second, minus the number right in the first."""
        return self.only_second - self.only_first


def mcnemar(only_first: int, only_second: int) -> PairedTest:
    """McNemar's test over independent pairs: the exact binomial one for fewer than 25 discordant pairs.

    Otherwise chi-square with one degree of freedom and Edwards' continuity correction.
    """
    return sign_flip([1] * only_second + [-1] * only_first)


def fewest_cases(level: float = 0.05) -> int:
    """The fewest independent cases (scenarios), all better in the same arm, with which a difference is significant."""
    return next(n for n in itertools.count(1) if mcnemar(0, n).p < level)


def scenario_test(tables: Iterable[PairTable]) -> PairedTest:
    """McNemar's test over scenarios, each with all of its trials: see the module. One table per scenario."""
    filled = [table for table in tables if table.pairs]
    if len({table.pairs for table in filled}) == 1:  # the same test, without fractions
        return sign_flip([table.difference for table in filled])
    return sign_flip([Fraction(table.difference, table.pairs) for table in filled])


def sign_flip(differences: Sequence[Fraction | int]) -> PairedTest:
    """Test whether the sum of independent differences is further from 0 than random signs would make it.

    Exact over all signs for fewer than 25 differences that are not 0, which for differences of one size is the
    binomial test. Otherwise (|sum| - g)^2 / sum of squares as chi-square with one degree of freedom (Durkalski et al.
    2003, Stat Med 22:2417, for clustered pairs), where g, the greatest common divisor, is half the sum's step: for
    differences of one size it is McNemar's test with Edwards' correction.
    """
    fractions = [Fraction(each) for each in differences if each]
    if not fractions:
        return PairedTest(1.0, True, 0)
    common = math.lcm(*(each.denominator for each in fractions))
    whole = [int(each * common) for each in fractions]
    step = math.gcd(*whole)
    whole = [each // step for each in whole]
    n, total = len(whole), abs(sum(whole))
    if n < EXACT_BELOW and n * sum(map(abs, whole)) <= _MAX_SUMS:
        return PairedTest(_exact(whole, total), True, n)
    squares = sum(each * each for each in whole)
    statistic = max(0, total - 1) ** 2 / squares
    return PairedTest(math.erfc(math.sqrt(statistic / 2)), False, n)


def _exact(whole: Sequence[int], total: int) -> float:
    """The share of all choices of signs with a sum at least as far from 0, computed in integers until the end."""
    ways = {0: 1}
    for size in map(abs, whole):
        grown: dict[int, int] = {}
        for reached, count in ways.items():
            for there in (reached + size, reached - size):
                grown[there] = grown.get(there, 0) + count
        ways = grown
    far = sum(count for reached, count in ways.items() if abs(reached) >= total)
    return float(Fraction(far, 1 << len(whole)))


def newcombe(both: float, only_first: float, only_second: float, neither: float) -> tuple[float, float]:
    """The 95 % interval of a difference of paired shares, second minus first.

    Newcombe 1998, Stat Med 17:2635, method 10: Wilson's intervals of both shares, squared and added, with the
    correlation of the pairs, which is corrected for continuity. Cells may be fractions: pairs that are not independent
    are scaled to their effective number. (-1, 1) without any.
    """
    n = both + only_first + only_second + neither
    if n <= 0:
        return -1.0, 1.0
    first, second = both + only_first, both + only_second
    p1, p2 = min(1.0, first / n), min(1.0, second / n)
    (low1, high1), (low2, high2) = wilson(p1, n), wilson(p2, n)
    product = first * (n - first) * second * (n - second)
    cross = both * neither - only_first * only_second
    if cross > 0:
        cross = max(0.0, cross - n / 2)
    phi = cross / math.sqrt(product) if product > 1e-12 else 0.0
    down = _square_and_add(p2 - low2, high1 - p1, phi)
    up = _square_and_add(high2 - p2, p1 - low1, phi)
    return max(-1.0, p2 - p1 - down), min(1.0, p2 - p1 + up)


def _square_and_add(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def paired_interval(tables: Sequence[PairTable]) -> tuple[float, float, float]:
    """Newcombe's interval over scenarios with several trials, and the number of independent pairs behind it.

    The effective number of pairs comes from the design effect of their differences (`effective_n`): the difficulty of a
    scenario for both arms alike cancels out.
    """
    filled = [table for table in tables if table.pairs]
    total = sum_of(filled)
    if not filled:
        return -1.0, 1.0, 0.0
    worth = effective_n(Cluster(t.pairs, t.difference, t.only_first + t.only_second) for t in filled)
    scale = worth / total.pairs
    cells = (total.both, total.only_first, total.only_second, total.neither)
    low, high = newcombe(*(scale * cell for cell in cells))
    return low, high, worth


def sum_of(tables: Iterable[PairTable]) -> PairTable:
    """All pairs of several tables."""
    return PairTable(*map(sum, zip(*map(msgspec.structs.astuple, tables))))


def holm(values: Sequence[float]) -> list[float]:
    """p values corrected for their number (Holm 1979), which keeps the chance of a false positive among all of them."""
    corrected = [1.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = highest
    return corrected
