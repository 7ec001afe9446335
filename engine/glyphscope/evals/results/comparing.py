"""Comparisons of arms on the samples that both answered: the pairs, the paired tests, and the effect of the format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from glyphscope.evals.matrix.arms import Arm, varied
from glyphscope.evals.pairs import Table, holm, paired_interval, scenario_test, sum_of
from glyphscope.evals.results.figures import MEASURES, Comparison, Measure, Sensitivity
from glyphscope.evals.results.rows import Key, Row

if TYPE_CHECKING:
    import numpy as np

SEVERAL = "several"
_SHUFFLES, _MOST_DEALT = 2000, 20_000_000
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


class Trials(msgspec.Struct, gc=False):
    """The trials of one scenario in one arm, one bit each: those with a value, and those whose value is true."""

    known: int = 0
    true: int = 0

    def against(self, other: Trials) -> Table:
        """The table of pairs, with `self` as the first arm. Only trials that both arms have are pairs."""
        shared, first, second = self.known & other.known, self.true, other.true
        return Table(
            (shared & first & second).bit_count(),
            (shared & first & ~second).bit_count(),
            (shared & ~first & second).bit_count(),
            (shared & ~first & ~second).bit_count(),
        )


Marks = dict[Measure, dict[Key, Trials]]
"""The outcomes of one arm, by measure and scenario."""


def marks_of(rows: Sequence[Row], places: dict[int, int]) -> Marks:
    """The outcomes of one arm's answered rows, by measure and scenario. `places` are the trials' bits in all arms."""
    marks: Marks = {measure: {} for measure in MEASURES}
    for row in rows:
        if not row.answered:
            continue
        bit, key = 1 << places.setdefault(row.trial, len(places)), row.key
        for measure in MEASURES:
            value = getattr(row, measure)
            if value is not None:
                trials = marks[measure].get(key)
                if trials is None:
                    trials = marks[measure][key] = Trials()
                trials.known |= bit
                if value:
                    trials.true |= bit
    return marks


def what_differs(first: Arm, second: Arm) -> str:
    """The name of the one setting that differs, or "several". A native notation has no shape."""
    names = varied((first, second))
    if "native" in (first.notation, second.notation) and "shape" in names:
        names.remove("shape")
    return names[0] if len(names) == 1 else SEVERAL


def compare_arms(arms: Sequence[Arm], marks: Mapping[str, Marks]) -> tuple[Comparison, ...]:
    """All pairs of arms that differ in one setting, by each measure for which they have pairs; two arms always."""
    found: list[Comparison] = []
    for measure in MEASURES:
        each = [
            compared
            for first, second, differ in _pairs(arms, marks)
            if (compared := _compared(first, second, differ, measure, marks)) is not None
        ]
        corrected = holm([compared.p for compared in each])
        found += [msgspec.structs.replace(c, p_holm=p) for c, p in zip(each, corrected)]
    return tuple(found)


def _pairs(arms: Sequence[Arm], marks: Mapping[str, Marks]) -> Iterator[tuple[Arm, Arm, str]]:
    there = [arm for arm in arms if arm.id in marks]
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
    first: Arm, second: Arm, differ: str, measure: Measure, marks: Mapping[str, Marks]
) -> Comparison | None:
    one, other = marks[first.id][measure], marks[second.id][measure]
    shared = (trials.against(other[key]) for key, trials in one.items() if key in other)
    tables = [table for table in shared if table.pairs]
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


def format_sensitivity(arms: Sequence[Arm], marks: Mapping[str, Marks]) -> tuple[Sensitivity, ...]:
    """One result for each set of arms that differ only in notation and shape."""
    alike: dict[Arm, list[str]] = {}
    for arm in arms:
        if arm.id in marks:
            same = msgspec.structs.replace(arm, notation="glyph", shape="flat")
            alike.setdefault(same, []).append(arm.id)
    found = (_sensitivity(names, [marks[name]["ok"] for name in names]) for names in alike.values())
    return tuple(each for each in found if each is not None)


def _sensitivity(names: Sequence[str], marks: Sequence[dict[Key, Trials]]) -> Sensitivity | None:
    if len(names) < 2:
        return None
    shared = [key for key in marks[0] if all(key in mark for mark in marks[1:])]
    if not shared:
        return None
    import numpy as np  # imported here, as listing results does not need it

    table = np.array(
        [[mark[key].true.bit_count() / mark[key].known.bit_count() for mark in marks] for key in shared]
    )
    means = table.mean(axis=0)
    spread = float(np.ptp(means))
    chance = _shuffled_spreads(table)
    return Sensitivity(
        arms=tuple(names),
        least=float(means.min()),
        most=float(means.max()),
        spread=spread,
        scenarios=len(shared),
        by_chance=float(chance.mean()),
        p=float((np.count_nonzero(chance >= spread - 1e-9) + 1) / (len(chance) + 1)),
    )


def _shuffled_spreads(table: np.ndarray) -> np.ndarray:
    """The spreads of the columns' means after shuffling each row's values among the columns, many times."""
    import numpy as np

    random = np.random.default_rng(1)  # the same figures from the same samples
    moving = table[np.ptp(table, axis=1) > 0]  # shuffling does not change a row of equal values
    still = table.sum(axis=0) - moving.sum(axis=0)
    spreads = np.zeros(max(200, min(_SHUFFLES, _MOST_DEALT // max(1, moving.size))))
    for number in range(len(spreads)):
        spreads[number] = np.ptp(still + random.permuted(moving, axis=1).sum(axis=0)) / len(table)
    return spreads
