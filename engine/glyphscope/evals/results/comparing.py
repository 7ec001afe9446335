"""Comparisons of arms on the samples that both answered: the pairs, the paired tests, and the effect of the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from glyphscope.evals.matrix.arms import Arm, baseline_place, varied
from glyphscope.evals.results.figures import MEASURES, ArmComparison, Measure, Sensitivity
from glyphscope.evals.results.measuring import CellPart
from glyphscope.evals.results.table import Key, Selection
from glyphscope.evals.statistics import PairTable, holm, paired_interval, scenario_test, sum_of

if TYPE_CHECKING:
    import numpy as np

SEVERAL = "several"
_SHUFFLES, _MAX_DEALT = 2000, 20_000_000
"""The number of shuffles of a table, and the most shuffled values in total: fewer shuffles for a large table."""


class Paired(NamedTuple):
    """Pairs of answered samples: the numbers of their scenarios, and the rows of both sides."""

    scenarios: np.ndarray
    first: Selection
    second: Selection

    def tables(self, measure: Measure) -> np.ndarray:
        """The numbers of pairs of each scenario that has some by the measure, in the order of `pairs.Table`."""
        import numpy as np

        if not len(self.scenarios):
            return np.empty((0, 4), np.int64)
        first, second = self.first[measure], self.second[measure]
        known = (first >= 0) & (second >= 0)
        kinds = 2 * (1 - first[known].astype(np.int64)) + 1 - second[known]
        least, most = self.scenarios.min(), self.scenarios.max()
        codes = (self.scenarios[known] - least) * 4 + kinds
        counts = np.bincount(codes, minlength=4 * (most - least + 1)).reshape(-1, 4)
        found: np.ndarray = counts[counts.any(axis=1)]
        return found


def pairs_of(first: CellPart, second: CellPart) -> Iterator[Paired]:
    """The samples with an answer in both parts that have the same scenario and trial, in blocks of whole scenarios.
    Scenarios are numbered in the order of the first part.
    """
    import numpy as np

    keys = [key for key in first.by_key if key in second.by_key]
    sizes = [part.of_scenarios("n") for part in (first, second)]
    blocks = np.cumsum([sum(size[key] for size in sizes) for key in keys]) // first.table.BLOCK
    for numbers in np.split(np.arange(len(keys)), np.flatnonzero(np.diff(blocks)) + 1) if keys else ():
        (one, rows), (other, other_rows) = (_answered(part, keys, numbers) for part in (first, second))
        trials, places = np.unique(np.concatenate([rows["trial"], other_rows["trial"]]), return_inverse=True)
        n = max(1, len(trials))
        codes = one * n + places[: len(one)], other * n + places[len(one) :]
        shared, left, right = np.intersect1d(*codes, assume_unique=True, return_indices=True)
        yield Paired(shared // n, rows.where(left), other_rows.where(right))


def _answered(part: CellPart, keys: Sequence[Key], numbers: np.ndarray) -> tuple[np.ndarray, Selection]:
    """The scenarios and rows of the samples with an answer in the scenarios of these numbers."""
    import numpy as np

    found = [part.by_key[keys[number]] for number in numbers]
    cells = list(chain.from_iterable(found))
    rows = part.table.of_cells(cells)
    scenarios = np.repeat(np.repeat(numbers, list(map(len, found))), part.table.counts["n"][cells])
    answered = rows["answered"] == 1
    return scenarios[answered], rows.where(answered)


def tables_of(pairs: Sequence[np.ndarray]) -> list[PairTable]:
    """The tables of scenarios, of their numbers in blocks."""
    return [PairTable(*row) for block in pairs for row in block.tolist()]


def what_differs(first: Arm, second: Arm) -> str:
    """The name of the one setting that differs, or "several". A native notation has no shape."""
    names = varied((first, second))
    if "native" in (first.notation, second.notation) and "shape" in names:
        names.remove("shape")
    return names[0] if len(names) == 1 else SEVERAL


def comparisons_of(arms: Sequence[Arm]) -> int:
    """The number of pairs that `compare_arms` compares, if each of the arms has samples."""
    return sum(len(arms) == 2 or what_differs(*pair) != SEVERAL for pair in combinations(arms, 2))


def compare_arms(arms: Sequence[Arm], parts: Mapping[str, CellPart]) -> tuple[ArmComparison, ...]:
    """All pairs of arms that differ in one setting, by each measure for which they have pairs; two arms always."""
    found: list[ArmComparison] = []
    pairs = [(*pair, _tables(*(parts[arm.id] for arm in pair[:2]))) for pair in _pairs(arms, parts)]
    for measure in MEASURES:
        each = [
            compared
            for first, second, differ, tables in pairs
            if (compared := _compared(first, second, differ, measure, tables_of(tables[measure]))) is not None
        ]
        corrected = holm([compared.p for compared in each])
        found += [msgspec.structs.replace(c, p_holm=p) for c, p in zip(each, corrected)]
    return tuple(found)


def _tables(first: CellPart, second: CellPart) -> dict[Measure, list[np.ndarray]]:
    found: dict[Measure, list[np.ndarray]] = {measure: [] for measure in MEASURES}
    for paired in pairs_of(first, second):
        for measure, tables in found.items():
            tables.append(paired.tables(measure))
    return found


def _pairs(arms: Sequence[Arm], parts: Mapping[str, CellPart]) -> Iterator[tuple[Arm, Arm, str]]:
    there = [arm for arm in arms if arm.id in parts]
    for first, second in combinations(there, 2):
        differ = what_differs(first, second)
        if differ == SEVERAL and len(there) > 2:
            continue
        if _place(differ, second) < _place(differ, first):
            first, second = second, first
        yield first, second, differ


def _place(differ: str, arm: Arm) -> float:
    return 0 if differ == SEVERAL else baseline_place(differ, getattr(arm, differ))


def _compared(
    first: Arm, second: Arm, differ: str, measure: Measure, tables: Sequence[PairTable]
) -> ArmComparison | None:
    if not tables:
        return None
    total, verdict = sum_of(tables), scenario_test(tables)
    low, high, effective = paired_interval(tables)
    return ArmComparison(
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


def format_sensitivity(arms: Sequence[Arm], parts: Mapping[str, CellPart]) -> tuple[Sensitivity, ...]:
    """One result for each set of arms that differ only in notation and shape."""
    alike: dict[Arm, list[str]] = {}
    for arm in arms:
        if arm.id in parts:
            same = msgspec.structs.replace(arm, notation="glyph", shape="flat")
            alike.setdefault(same, []).append(arm.id)
    keys = dict.fromkeys(key for part in parts.values() for key in part.by_key)
    found = (_sensitivity({name: parts[name] for name in names}, keys) for names in alike.values())
    return tuple(each for each in found if each is not None)


def _sensitivity(parts: Mapping[str, CellPart], keys: Iterable[Key]) -> Sensitivity | None:
    if len(parts) < 2:
        return None
    import numpy as np

    known = [part.of_scenarios("ok known") for part in parts.values()]
    right = [part.of_scenarios("ok") for part in parts.values()]
    shared = [key for key in keys if all(of.get(key) for of in known)]
    if not shared:
        return None
    table = np.array([[ok[key] / n[key] for ok, n in zip(right, known)] for key in shared])
    means = table.mean(axis=0)
    spread = float(np.ptp(means))
    chance = _shuffled_spreads(table)
    return Sensitivity(
        arms=tuple(parts),
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
