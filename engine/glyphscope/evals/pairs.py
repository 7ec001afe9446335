"""Two arms on the same scenarios: is the difference more than chance, and what are its bounds?

A scenario is one case, however many trials it has. Its difference is the mean over its trials; if the arms were the
same, the sign of each such difference would be random. This gives a test whose p is McNemar's if there is one trial,
or if trials repeat each other, and which uses all of the trials if they differ. Majorities would not: they discard
how clear a scenario is, and an even number of trials has ties.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from glyphscope.evals.statistics import Cluster, effective_n, wilson

EXACT_BELOW = 25
"""From this number of discordant cases on, the normal approximation is used."""
_MAX_SUMS = 200_000


class PairedTest(msgspec.Struct, frozen=True):
    """A two-sided p value, `exact` or by the normal approximation, over the `discordant` cases."""

    p: float
    exact: bool
    discordant: int


class Table(msgspec.Struct, frozen=True):
    """The numbers of pairs in one scenario, or in all: right in both arms, only in the first or second, in neither."""

    both: int = 0
    only_first: int = 0
    only_second: int = 0
    neither: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Table:
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


def scenario_test(tables: Iterable[Table]) -> PairedTest:
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


def paired_interval(tables: Sequence[Table]) -> tuple[float, float, float]:
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


def sum_of(tables: Iterable[Table]) -> Table:
    """All pairs of several tables."""
    return Table(*map(sum, zip(*map(msgspec.structs.astuple, tables))))


def holm(values: Sequence[float]) -> list[float]:
    """p values corrected for their number (Holm 1979), which keeps the chance of a false positive among all of them."""
    corrected = [1.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = highest
    return corrected
