"""Comparisons of arms on the samples that both answered: the pairs, the paired tests, and the effect of the format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from glyphscope.evals.matrix.arms import Arm, varied
from glyphscope.evals.pairs import Table, holm, paired_interval, scenario_test, sum_of
from glyphscope.evals.results.figures import MEASURES, Comparison, Measure, Sensitivity
from glyphscope.evals.results.measuring import Part
from glyphscope.evals.results.table import Key, Selection

if TYPE_CHECKING:
    import numpy as np

SEVERAL = "several"
_SHUFFLES, _MAX_DEALT = 2000, 20_000_000
"""The number of shuffles of a table, and the most shuffled values in total: fewer shuffles for a large table."""
_STARTS: dict[str, tuple[object, ...]] = {
    "constraint": ("off", "gbnf", "mask"),
    "notation": ("json", "native", "glyph"),
    "strategy": (None, "direct"),
    "workarounds": ("baseline", "production"),
    "preset": ("default",),
    "thinking": ("off", "auto", "on"),
    "constrain_from": ("start", "reasoning", "call"),
    "order": ("schema", "any"),
    "profile": ("deterministic", "default"),
}
"""The values by setting, in the order that decides which of two arms is the baseline, and so the first."""


class Outcomes(NamedTuple):
    """The answered samples of one arm, each by its scenario (a number that is the same in all arms) and trial."""

    scenarios: np.ndarray
    trials: np.ndarray
    rows: Selection

    def known(self, measure: Measure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The scenarios, trials and values of those with a value of the measure."""
        values = self.rows[measure]
        known = values >= 0
        return self.scenarios[known], self.trials[known], values[known]


def outcomes_of(parts: Mapping[str, Part]) -> dict[str, Outcomes]:
    """The outcomes by arm."""
    import numpy as np  # imported here, as listing results does not need it

    numbers: dict[Key, int] = {}
    for part in parts.values():
        for number in part.numbers:
            numbers.setdefault(part.table.cells[number].key, 0)
    numbers = {key: place for place, key in enumerate(numbers)}
    found = {}
    for arm, part in parts.items():
        by_cell = np.zeros(len(part.table.cells), np.int64)
        for number in part.numbers:
            by_cell[number] = numbers[part.table.cells[number].key]
        rows = part.answered
        found[arm] = Outcomes(by_cell[rows["cell"]], rows["trial"], rows)
    return found


def pairs_of(
    first: np.ndarray, first_trials: np.ndarray, second: np.ndarray, second_trials: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The samples of two sides with the same scenario and trial: their scenarios, and their places in each side."""
    import numpy as np

    trials, place = np.unique(np.concatenate([first_trials, second_trials]), return_inverse=True)
    n = max(1, len(trials))
    codes = first * n + place[: len(first)], second * n + place[len(first) :]
    shared, left, right = np.intersect1d(*codes, assume_unique=True, return_indices=True)
    return shared // n, left, right


def tables_of(scenarios: np.ndarray, first: np.ndarray, second: np.ndarray) -> list[Table]:
    """The table of each scenario that has pairs. `first` and `second` are the verdicts of each pair, 1 or 0."""
    import numpy as np

    counts = np.bincount(scenarios * 4 + 2 * (1 - first) + (1 - second), minlength=4)
    counts = np.append(counts, np.zeros(-len(counts) % 4, counts.dtype)).reshape(-1, 4)
    return [Table(*row) for row in counts.tolist() if any(row)]


def _tables(first: Outcomes, second: Outcomes, measure: Measure) -> list[Table]:
    """The tables of two arms. Only trials with a value in both arms are pairs."""
    *one, one_values = first.known(measure)
    *other, other_values = second.known(measure)
    scenarios, left, right = pairs_of(*one, *other)
    return tables_of(scenarios, one_values[left], other_values[right])


def what_differs(first: Arm, second: Arm) -> str:
    """The name of the one setting that differs, or "several". A native notation has no shape."""
    names = varied((first, second))
    if "native" in (first.notation, second.notation) and "shape" in names:
        names.remove("shape")
    return names[0] if len(names) == 1 else SEVERAL


def compare_arms(arms: Sequence[Arm], outcomes: Mapping[str, Outcomes]) -> tuple[Comparison, ...]:
    """All pairs of arms that differ in one setting, by each measure for which they have pairs; two arms always."""
    found: list[Comparison] = []
    for measure in MEASURES:
        each = [
            compared
            for first, second, differ in _pairs(arms, outcomes)
            if (compared := _compared(first, second, differ, measure, outcomes)) is not None
        ]
        corrected = holm([compared.p for compared in each])
        found += [msgspec.structs.replace(c, p_holm=p) for c, p in zip(each, corrected)]
    return tuple(found)


def _pairs(arms: Sequence[Arm], outcomes: Mapping[str, Outcomes]) -> Iterator[tuple[Arm, Arm, str]]:
    there = [arm for arm in arms if arm.id in outcomes]
    for first, second in combinations(there, 2):
        differ = what_differs(first, second)
        if differ == SEVERAL and len(there) > 2:
            continue
        if _place(differ, second) < _place(differ, first):
            first, second = second, first
        yield first, second, differ


def _place(differ: str, arm: Arm) -> int:
    if differ == "repair":
        return arm.repair
    order = _STARTS.get(differ, ())
    value = getattr(arm, differ, None)
    return order.index(value) if value in order else len(order)


def _compared(
    first: Arm, second: Arm, differ: str, measure: Measure, outcomes: Mapping[str, Outcomes]
) -> Comparison | None:
    tables = _tables(outcomes[first.id], outcomes[second.id], measure)
    if not tables:
        return None
    total, verdict = sum_of(tables), scenario_test(tables)
    low, high, effective = paired_interval(tables)
    return Comparison(
        first=first.id,
        second=second.id,
        measure=measure,
        differ=differ,
        pairs=total.pairs,
        **msgspec.structs.asdict(total),
        difference=total.difference / total.pairs,
        low=low,
        high=high,
        **msgspec.structs.asdict(verdict),
        scenarios=len(tables),
        effective=effective,
    )


def format_sensitivity(arms: Sequence[Arm], outcomes: Mapping[str, Outcomes]) -> tuple[Sensitivity, ...]:
    """One result for each set of arms that differ only in notation and shape."""
    alike: dict[Arm, list[str]] = {}
    for arm in arms:
        if arm.id in outcomes:
            same = msgspec.structs.replace(arm, notation="glyph", shape="flat")
            alike.setdefault(same, []).append(arm.id)
    found = (_sensitivity(names, [outcomes[name] for name in names]) for names in alike.values())
    return tuple(each for each in found if each is not None)


def _sensitivity(names: Sequence[str], outcomes: Sequence[Outcomes]) -> Sensitivity | None:
    if len(names) < 2:
        return None
    import numpy as np

    known = [each.known("ok") for each in outcomes]
    number = 1 + max((int(scenarios.max()) for scenarios, _, _ in known if len(scenarios)), default=-1)
    n = np.array([np.bincount(scenarios, minlength=number) for scenarios, _, _ in known])
    right = np.array([np.bincount(scenarios, values, number) for scenarios, _, values in known])
    shared = (n > 0).all(axis=0)
    if not shared.any():
        return None
    table = (right[:, shared] / n[:, shared]).T
    means = table.mean(axis=0)
    spread = float(np.ptp(means))
    chance = _shuffled_spreads(table)
    return Sensitivity(
        arms=tuple(names),
        least=float(means.min()),
        most=float(means.max()),
        spread=spread,
        scenarios=len(table),
        by_chance=float(chance.mean()),
        p=float((np.count_nonzero(chance >= spread - 1e-9) + 1) / (len(chance) + 1)),
    )


def _shuffled_spreads(table: np.ndarray) -> np.ndarray:
    """The spreads of the columns' means after shuffling each row's values among the columns, many times."""
    import numpy as np

    random = np.random.default_rng(1)  # the same figures from the same samples
    moving = table[np.ptp(table, axis=1) > 0]  # shuffling does not change a row of equal values
    still = table.sum(axis=0) - moving.sum(axis=0)
    spreads = np.zeros(max(200, min(_SHUFFLES, _MAX_DEALT // max(1, moving.size))))
    for number in range(len(spreads)):
        spreads[number] = np.ptp(still + random.permuted(moving, axis=1).sum(axis=0)) / len(table)
    return spreads
