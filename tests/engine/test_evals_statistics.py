"""Intervals and paired tests: against SciPy, against published examples, and with repeated samples."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest

from glyphscope.evals.statistics import (
    Cluster,
    PairTable,
    effective_n,
    holm,
    mcnemar,
    newcombe,
    paired_interval,
    pass_hat,
    scenario_test,
    share,
    sign_flip,
    sum_of,
    wilson,
)


@pytest.fixture(scope="module")
def scipy_stats() -> Any:
    return pytest.importorskip("scipy.stats", reason="SciPy is in the dev group")


def _tables(count: int, most: int) -> list[tuple[int, int, int, int]]:
    draw = random.Random(5)
    return [tuple(draw.randint(0, draw.choice((3, 20, most))) for _ in range(4)) for _ in range(count)]  # type: ignore[misc]


@pytest.mark.slow
def test_wilson_equals_scipy_on_many_tables(scipy_stats: Any) -> None:
    for correct, wrong, _, _ in _tables(300, 400):
        if correct + wrong == 0:
            continue
        ours = share(correct, correct + wrong)
        theirs = scipy_stats.binomtest(correct, correct + wrong).proportion_ci(method="wilson")
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.slow
def test_mcnemar_equals_scipy_on_many_tables(scipy_stats: Any) -> None:
    exact = 0
    for _, first, second, _ in _tables(300, 400):
        ours = mcnemar(first, second)
        n = first + second
        if n == 0:
            assert ours.p == 1
        elif n < 25:
            exact += 1
            assert ours.exact
            assert ours.p == pytest.approx(scipy_stats.binomtest(first, n).pvalue, rel=1e-9)
        else:
            assert not ours.exact
            statistic = max(0, abs(first - second) - 1) ** 2 / n
            assert ours.p == pytest.approx(scipy_stats.chi2.sf(statistic, 1), rel=1e-9)
    assert 60 < exact < 270


def test_newcombe_equals_the_published_values() -> None:
    # Altman, Machin, Bryant, Gardner (2000), Statistics with Confidence, table 6.2: 14, 5, 0, 22, first minus second
    low, high = newcombe(14, 0, 5, 22)
    assert (low, high) == pytest.approx((0.011, 0.226), abs=0.0006)
    assert newcombe(14, 5, 0, 22) == pytest.approx((-high, -low))


@pytest.mark.slow
def test_newcombe_follows_from_scipys_wilson_limits_on_many_tables(scipy_stats: Any) -> None:
    for both, first, second, neither in _tables(300, 60):
        n = both + first + second + neither
        margins = (both + first, n - both - first, both + second, n - both - second)
        if n == 0:
            continue
        tables = [scipy_stats.binomtest(right, n) for right in (both + first, both + second)]
        (l1, u1), (l2, u2) = (table.proportion_ci(method="wilson") for table in tables)
        p1, p2 = (table.statistic for table in tables)
        phi = 0.0
        if all(margins):
            cross = both * neither - first * second
            phi = (max(cross - n / 2, 0) if cross > 0 else cross) / math.sqrt(math.prod(margins))
        down = (p2 - l2) ** 2 - 2 * phi * (p2 - l2) * (u1 - p1) + (u1 - p1) ** 2
        up = (u2 - p2) ** 2 - 2 * phi * (u2 - p2) * (p1 - l1) + (p1 - l1) ** 2
        expected = (p2 - p1 - math.sqrt(max(0.0, down)), p2 - p1 + math.sqrt(max(0.0, up)))
        assert newcombe(both, first, second, neither) == pytest.approx(expected, abs=1e-6)


def test_an_interval_is_possible_and_contains_its_difference() -> None:
    for both, first, second, neither in _tables(1000, 60):
        n = both + first + second + neither
        low, high = newcombe(both, first, second, neither)
        if n:
            assert -1 <= low <= (second - first) / n + 1e-12
            assert (second - first) / n - 1e-12 <= high <= 1
        else:
            assert (low, high) == (-1, 1)


def test_greedy_repeats_add_no_evidence() -> None:
    draw = random.Random(3)
    for trials in (2, 5, 10):
        right = [draw.random() < 0.7 for _ in range(50)]
        worth = effective_n([Cluster.of(trials * ok, trials) for ok in right])
        assert worth == pytest.approx(50)
        reported = share(trials * sum(right), trials * 50, worth)
        once = share(sum(right), 50)
        assert (reported.low, reported.high, reported.share) == pytest.approx(
            (once.low, once.high, once.share)
        )


def test_repeating_greedily_changes_neither_the_paired_test_nor_its_interval() -> None:
    draw = random.Random(4)
    for n in (12, 60, 200):
        cells = [draw.randrange(4) for _ in range(n)]
        once = [PairTable(*(int(cell == at) for at in range(4))) for cell in cells]
        often = [PairTable(*(7 * int(cell == at) for at in range(4))) for cell in cells]
        assert scenario_test(often) == scenario_test(once)
        total = sum_of(once)
        assert scenario_test(once) == mcnemar(total.only_first, total.only_second)
        assert paired_interval(often) == pytest.approx(paired_interval(once))


def test_the_effective_number_of_varying_trials_is_estimated() -> None:
    assert effective_n([Cluster.of(1, 2) for _ in range(20)]) == 40  # as much variance within as between
    assert effective_n([Cluster.of(int(ok), 1) for ok in (1, 0, 1)]) == 3
    assert (
        20
        < effective_n(
            [Cluster.of(c, 4) for c in (4, 3, 2, 0, 1, 4, 3, 3, 0, 2, 4, 1, 0, 2, 4, 3, 1, 2, 4, 0)]
        )
        < 80
    )
    assert effective_n([]) == 0


def test_without_variation_the_number_of_scenarios_counts() -> None:
    assert effective_n([Cluster.of(5, 5) for _ in range(10)]) == 10
    assert effective_n([Cluster.of(0, 5) for _ in range(10)]) == 10
    assert effective_n([Cluster.of(3, 5)]) == 1
    assert share(50, 50, 10).low == pytest.approx(share(10, 10).low)


def test_the_intraclass_correlation_equals_an_analysis_of_variance_by_hand() -> None:
    counts = [(3, 4), (1, 2), (0, 3), (5, 5)]
    values = [[1] * right + [0] * (n - right) for right, n in counts]
    n = sum(map(len, values))
    mean = sum(map(sum, values)) / n
    msb = sum(len(v) * (sum(v) / len(v) - mean) ** 2 for v in values) / (len(values) - 1)
    msw = sum((x - sum(v) / len(v)) ** 2 for v in values for x in v) / (n - len(values))
    m0 = (n - sum(len(v) ** 2 for v in values) / n) / (len(values) - 1)
    icc = (msb - msw) / (msb + (m0 - 1) * msw)
    expected = n / (1 + (sum(len(v) ** 2 for v in values) / n - 1) * icc)
    assert effective_n([Cluster.of(right, of) for right, of in counts]) == pytest.approx(expected)


@pytest.mark.slow
def test_intervals_of_clustered_trials_have_their_nominal_coverage() -> None:
    numpy = pytest.importorskip("numpy")
    draw = numpy.random.default_rng(1)
    covered = taken = naive = 0
    for p, hold in ((0.5, 0.4), (0.85, 0.4), (0.5, 0.9), (0.85, 0.9)):
        size = (1 - hold) / hold
        for _ in range(500):
            right = draw.binomial(5, draw.beta(p * size, (1 - p) * size, 30))
            reported = share(int(right.sum()), 150, effective_n([Cluster.of(int(c), 5) for c in right]))
            low, high = wilson(reported.share, 150)
            taken += 1
            covered += reported.low <= p <= reported.high
            naive += low <= p <= high
    assert covered / taken > 0.93
    assert naive / taken < 0.8  # the result of treating the trials as independent


@pytest.mark.slow
def test_equal_arms_are_significant_no_more_often_than_the_test_says() -> None:
    numpy = pytest.importorskip("numpy")
    draw = numpy.random.default_rng(2)
    alarms = {"ours": 0, "pairs as independent": 0}
    intervals = 0
    for _ in range(1500):
        shared = draw.beta(0.6, 0.4, 40)  # a common difficulty of a scenario for both
        arms = [draw.random((40, 5)) < ((shared + draw.beta(0.6, 0.4, 40)) / 2)[:, None] for _ in range(2)]
        tables = [
            PairTable(int((x & y).sum()), int((x & ~y).sum()), int((~x & y).sum()), int((~x & ~y).sum()))
            for x, y in zip(*arms)
        ]
        total = sum_of(tables)
        alarms["ours"] += scenario_test(tables).p < 0.05
        alarms["pairs as independent"] += mcnemar(total.only_first, total.only_second).p < 0.05
        low, high, _ = paired_interval(tables)
        intervals += low <= 0 <= high
    assert alarms["ours"] / 1500 < 0.06
    assert alarms["pairs as independent"] / 1500 > 0.07  # 133 of 1,500, where 75 are allowed
    assert intervals / 1500 > 0.93


def test_signs_are_flipped_exactly_for_differences_of_several_sizes() -> None:
    differences = [Fraction(1, 3), Fraction(2, 3), Fraction(-1, 3), Fraction(1), Fraction(1, 2)]
    total = abs(sum(differences))
    far = sum(
        abs(sum(d if bits >> place & 1 else -d for place, d in enumerate(differences))) >= total
        for bits in range(1 << len(differences))
    )
    assert sign_flip(differences).p == pytest.approx(far / 32)
    assert sign_flip([]).p == 1


def test_odd_numbers_of_trials_are_tested_in_time() -> None:
    draw = random.Random(1)
    tables = [PairTable(0, draw.randint(0, 50), draw.randint(0, 50), draw.randint(1, 997)) for _ in range(24)]
    reported = scenario_test(tables)
    assert 0 <= reported.p <= 1
    assert not reported.exact


def test_pass_hat_k_is_the_share_of_all_choices_of_k_trials() -> None:
    assert pass_hat(3, 5, 1) == pytest.approx(0.6)
    assert pass_hat(3, 5, 2) == pytest.approx(3 / 10)
    assert pass_hat(3, 5, 4) == 0
    assert pass_hat(5, 5, 5) == 1


def test_holm_equals_a_calculation_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    assert not math.isnan(holm([0.5])[0])
