"""A result for the window: samples by arm and scenario, rows, and the figure of each cell; and pairs of samples of two
arms. Without Qt.

A result has a table of numbers (`results/table.py`): figures are made of it when they are shown, and a sample is read
from the folder when a view needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.results.comparing import pairs_of
from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.measuring import CellPart
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.summary import is_greedy
from glyphscope.evals.results.table import (
    NO_NUMBER,
    Cell,
    FirstFailure,
    ReadList,
    Rows,
    SampleTable,
    table_of,
)
from glyphscope.evals.statistics import share, share_of_counts
from glyphscope_gui.evaluate.words import BY_NAME, MeasureName
from glyphscope_gui.shared.language import tr

if TYPE_CHECKING:
    import numpy as np

NEWEST = 200
"""The number of newest samples that are listed while a result grows."""
AT_ONCE = 1_000
"""The number of samples up to which figures are computed when they are shown."""
RowKind = Literal["all", "suite", "group", "scenario"]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the heat map: all scenarios, a suite, a group of one, or a scenario.

    Controls have separate rows: a row, like its parents, counts either only controls (`control`) or none.
    """

    kind: RowKind
    name: str
    suite: str = ""
    group: str = ""
    depth: int = 0
    control: bool = False

    @property
    def is_foldable(self) -> bool:
        return self.kind in ("suite", "group")


class CellFigure(NamedTuple):
    """`of` of the `n` samples were measured. `value` is a share (0 to 1, with Wilson's 95% interval `low` to `high`),
    or the median of a quantity with its least and greatest value; None without samples.
    """

    n: int
    of: int
    value: float | None = None
    low: float = 0.0
    high: float = 0.0
    correct: int = 0


class CellSamples(ReadList[Sample]):
    """Samples of a result; `numbers` are their cells in the table, found when they are used if not given."""

    def __init__(self, places: np.ndarray, result: EvalResult, numbers: Sequence[int] | None = None) -> None:
        super().__init__(places, result.read)
        self.result = result
        self._numbers = numbers

    @property
    def first_judged(self) -> Sample | None:
        """The first of them on which a judge has a verdict."""
        if not self.result.is_judged:
            return None
        judged = self.result.values(self.places, "judged")
        return self[int(judged.argmax())] if judged.any() else None

    @property
    def cells(self) -> list[Cell]:
        """The scenarios and arms of these samples."""
        import numpy as np

        cells, numbers = self.result.table.cells, self._numbers
        if numbers is None:
            found = np.bincount(self.result.values(self.places, "cell"), minlength=len(cells))
            numbers = np.flatnonzero(found).tolist()
        return [cells[number] for number in numbers]


class EvalResult:
    """A result at some moment, with the `table` of its samples then; while it grows, another one takes its place."""

    def __init__(
        self, path: Path, manifest: Manifest, table: SampleTable | None = None, summary: Summary | None = None
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.table = table_of(()) if table is None else table
        self.summary = summary
        self._order: dict[str, dict[str, dict[str, bool]]] = {suite.name: {} for suite in manifest.suites}
        """By suite, then group, the scenarios in order, with whether each is a control."""
        self._numbers: dict[tuple[str, str], dict[str, list[int]]] = {}
        """The numbers of the cells, by suite and scenario, then by arm."""
        for number, cell in enumerate(self.table.cells):
            members = self._order.setdefault(cell.suite, {}).setdefault(cell.group, {})
            members.setdefault(cell.scenario, cell.control)
            self._numbers.setdefault(cell.key, {}).setdefault(cell.arm, []).append(number)
        self._figures: dict[tuple[RunRow, str, str], CellFigure] = {}
        """The figures that were shown, by row, arm and measure."""
        self._counts: dict[str, list[int]] = {}
        self._greatest: dict[MeasureName, float] = {}
        self._prepared: set[MeasureName] = set()

    def prepared(self, measure: MeasureName = "ok") -> Self:
        """This result, after computing what a view shows of it first, with that measure: not in the window's thread, as
        that takes longer the more samples there are.
        """
        for row in self.rows():
            if row.kind != "scenario":
                for arm in self.arms:
                    self.figure(row, arm, measure)
        _ = self.is_judged, self.by_failure, self.newest, self.greatest(measure)
        self._prepared.add(measure)
        return self

    def is_prepared(self, measure: MeasureName) -> bool:
        """Whether the figures of a measure can be shown at once."""
        return len(self) <= AT_ONCE or measure in self._prepared

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.table)

    @cached_property
    def arms(self) -> list[str]:
        """The arms' ids in the order of the manifest, then those that it does not contain."""
        known = [arm.id for arm in self.manifest.arms]
        return known or list(dict.fromkeys(cell.arm for cell in self.table.cells))

    @cached_property
    def controls(self) -> int:
        """The number of controls, which the figures omit; 0 if all scenarios are controls."""
        kinds = list(self._kinds())
        return 0 if all(kinds) else sum(kinds)

    @property
    def scenarios(self) -> int:
        """The number of scenarios that the figures cover."""
        return sum(1 for _kind in self._kinds()) - self.controls

    @property
    def samples(self) -> CellSamples:
        """All samples."""
        import numpy as np

        return CellSamples(np.arange(len(self), dtype=np.uint32), self)

    @cached_property
    def newest(self) -> CellSamples:
        """The last samples that were made, the newest first."""
        import numpy as np

        places = np.empty(0, np.uint32)
        for rows in self.table.blocks(range(len(self.table.cells))):
            places = np.concatenate([places, rows.places])
            places = places[self.values(places, "start").argsort()[-NEWEST:]]
        return CellSamples(places[::-1], self)

    @property
    def right(self) -> int:
        """The number of samples that are ok."""
        return sum(self._count("ok"))

    @cached_property
    def counted(self) -> CellPart:
        """The samples that the figures cover: the first row's."""
        cells = self.table.cells
        return CellPart(
            self.table, [n for n, cell in enumerate(cells) if not (self.controls and cell.control)]
        )

    @cached_property
    def by_failure(self) -> list[tuple[FirstFailure, str, CellSamples]]:
        """The failed samples that the figures cover, by their first failure and arm."""
        import numpy as np

        cells = self.table.cells
        arms = {arm: number for number, arm in enumerate(dict.fromkeys(cell.arm for cell in cells))}
        by_cell = np.array([arms[cell.arm] for cell in cells], np.int64)
        found: dict[int, list[np.ndarray]] = {}
        for rows in self.counted.blocks():
            rows = rows.where(rows["failure"] > 0)
            codes = rows["failure"] * np.int64(len(arms)) + by_cell[rows["cell"]]
            order = np.argsort(codes, kind="stable")
            kinds, starts = np.unique(codes[order], return_index=True)
            for kind, places in zip(kinds.tolist(), np.split(rows.places[order], starts[1:])):
                found.setdefault(kind, []).append(places)
        names = list(arms)
        return [
            (
                self.table.failures[kind // len(arms)],
                names[kind % len(arms)],
                CellSamples(np.concatenate(found[kind]), self),
            )
            for kind in sorted(found)
        ]

    @cached_property
    def is_judged(self) -> bool:
        """Whether a judge decided anything."""
        return bool(self.table.rows["judged"].any())

    def values(self, places: np.ndarray, member: str) -> np.ndarray:
        """A member of the samples at these places of the table."""
        found: np.ndarray = self.table.rows[member][places]
        return found

    def known(self, measure: MeasureName, numbers: Iterable[int] | None = None) -> np.ndarray:
        """The known values of a quantity in the samples with an answer: all of them, or those of these cells."""
        import numpy as np

        values = [np.empty(0, self.table.rows[measure].dtype)]
        for rows in self.table.blocks(range(len(self.table.cells)) if numbers is None else numbers):
            of_rows = rows[measure]
            values.append(of_rows[(rows["answered"] == 1) & (of_rows != NO_NUMBER)])
        return np.concatenate(values)

    def greatest(self, measure: MeasureName) -> float:
        """The value at the end of every bar: 1 of a share; of a quantity the 95th percentile, so that single large
        values do not flatten the others.
        """
        import numpy as np

        if BY_NAME[measure].is_share:
            return 1.0
        if measure not in self._greatest:
            known = self.known(measure)
            self._greatest[measure] = (
                float(np.percentile(known, 95, overwrite_input=True)) if len(known) else 1.0
            ) or 1.0
        return self._greatest[measure]

    @property
    def folder(self) -> ResultFolder:
        return ResultFolder(self.path, self.manifest)

    def read(self, places: np.ndarray) -> list[Sample]:
        """The samples at these places; the error in place of the texts of those that cannot be read."""
        return read_samples(self.folder, self.table.cells, self.table.rows[places])

    def rows(self) -> list[RunRow]:
        """All rows in order: everything, then each suite with its groups, if there are several, and its scenarios."""
        return self._rows

    @cached_property
    def _rows(self) -> list[RunRow]:
        return list(self._make_rows())

    def samples_of(self, row: RunRow, arm: str | None = None, *, wrong_first: bool = False) -> CellSamples:
        """The samples of a cell, or of a row in all arms."""
        import numpy as np

        arms = self.arms if arm is None else [arm]
        numbers = [
            number
            for key in self._scenarios(row)
            for name in arms
            for number in self._numbers.get(key, {}).get(name, ())
        ]
        places = self.table.places_of(numbers)
        if wrong_first:
            right = self.values(places, "ok") == 1
            places = np.concatenate([places[~right], places[right]])
        return CellSamples(places, self, numbers)

    def figure(self, row: RunRow, arm: str, measure: MeasureName) -> CellFigure:
        """The figure of a cell.

        Intervals are as in the summary: over scenarios like these, with each scenario's trials as a cluster. In a
        single scenario each trial is a cluster, and all greedy trials are one.
        """
        key = (row, arm, measure)
        if key not in self._figures:
            self._figures[key] = self._figure(row, arm, measure)
        return self._figures[key]

    def _figure(self, row: RunRow, arm: str, measure: MeasureName) -> CellFigure:
        scenarios = [self._numbers.get(each, {}).get(arm, []) for each in self._scenarios(row)]
        counts = self._count("n")
        n = sum(counts[number] for numbers in scenarios for number in numbers)
        if not BY_NAME[measure].is_share:
            values = self.known(measure, chain.from_iterable(scenarios))
            return CellFigure(n, len(values), *_median(values)) if len(values) else CellFigure(n, 0)
        right, known = self._count(measure), self._count(f"{measure} known")
        clusters = [
            (sum(right[number] for number in each), of)
            for each in scenarios
            if (of := sum(known[number] for number in each))
        ]
        if not clusters:
            return CellFigure(n, 0)
        if row.kind == "scenario" and not is_greedy(self.manifest, arm):
            ((correct, of),) = clusters
            made = share(correct, of, float(of))
        else:
            made = share_of_counts(clusters)
        return CellFigure(n, made.n, made.share, made.low, made.high, made.correct)

    def pairs(self, first: str, second: str) -> tuple[Pairs, int]:
        """Pairs in which one arm is right and the other wrong, then pairs with equal verdicts and different calls or
        reasons; and the number of all pairs. As in the comparisons, a pair has an answer in both arms and is not a
        control.
        """
        import numpy as np

        count, no_places = 0, np.empty((0, 2), np.uint32)
        discordant, other = [no_places], [no_places]
        for paired in pairs_of(self._of_arm(first), self._of_arm(second)):
            one, two = paired.first, paired.second
            count += len(one)
            pair = np.stack([one.places, two.places], axis=1)
            differ = {member: one[member] != two[member] for member in ("ok", "calls", "failure")}
            discordant.append(pair[differ["ok"]])
            calls_or_reasons = differ["calls"] | ((one["ok"] == 0) & differ["failure"])
            other.append(pair[~differ["ok"] & calls_or_reasons])
        n = sum(map(len, discordant))
        return Pairs(np.concatenate([*discordant, *other]), self, n), count

    def _of_arm(self, arm: str) -> CellPart:
        numbers = (number for arms in self._numbers.values() for number in arms.get(arm, ()))
        cells = self.table.cells
        return CellPart(self.table, [n for n in numbers if not (self.controls and cells[n].control)])

    def _count(self, what: str) -> list[int]:
        """A column of `SampleTable.counts`, by cell."""
        if what not in self._counts:
            self._counts[what] = self.table.counts[what].tolist()
        return self._counts[what]

    def _kinds(self) -> Iterator[bool]:
        """Yield whether each scenario is a control."""
        for groups in self._order.values():
            for members in groups.values():
                yield from members.values()

    def _make_rows(self) -> Iterator[RunRow]:
        only_controls = not self.controls and any(self._kinds())
        name = tr("All scenarios except controls") if self.controls else tr("All scenarios")
        yield RunRow("all", name, control=only_controls)
        for suite, groups in self._order.items():
            if groups:
                yield from self._rows_of_suite(suite, groups)

    def _rows_of_suite(self, suite: str, groups: dict[str, dict[str, bool]]) -> Iterator[RunRow]:
        controls = [name for members in groups.values() for name, control in members.items() if control]
        others = {
            group: names
            for group, members in groups.items()
            if (names := [name for name, control in members.items() if not control])
        }
        yield RunRow("suite", suite, suite, control=not others)
        several = len(others) > 1
        for group, names in others.items():
            if several:
                yield RunRow("group", group or tr("other"), suite, group, 1)
            for name in names:
                yield RunRow("scenario", name, suite, group, 1 + several)
        if controls and others:
            yield RunRow("group", tr("controls"), suite, "", 1, control=True)
        for name in controls:
            yield RunRow("scenario", name, suite, "", 1 + bool(others), control=True)

    def _scenarios(self, row: RunRow) -> Iterable[tuple[str, str]]:
        if row.kind == "scenario":
            return ((row.suite, row.name),)
        return (
            (suite, scenario)
            for suite, groups in self._order.items()
            if row.kind == "all" or suite == row.suite
            for group, members in groups.items()
            if row.kind != "group" or row.control or group == row.group
            for scenario, control in members.items()
            if control == row.control
        )


def read_samples(folder: ResultFolder, cells: Sequence[Cell], rows: Rows) -> list[Sample]:
    """The samples of these rows of a table; if they cannot be read, samples with the error as their text."""
    try:
        return folder.samples_at(rows)
    except GlyphscopeError as error:
        return [_unread(cells[cell], trial, str(error)) for cell, trial in rows[["cell", "trial"]].tolist()]


def _unread(cell: Cell, trial: int, why: str) -> Sample:
    """Stands for a sample that cannot be read."""
    return Sample(
        id="", arm=cell.arm, suite=cell.suite, scenario=cell.scenario, trial=trial, seed=0, text=why
    )


def _median(values: np.ndarray) -> tuple[float, float, float]:
    """The median, the least and the greatest value."""
    import numpy as np

    least, greatest = float(values.min()), float(values.max())
    return float(np.median(values, overwrite_input=True)), least, greatest


class ComparedPair(NamedTuple):
    """The same scenario, trial and seed in two arms."""

    first: Sample
    second: Sample


class Pairs(ReadList[ComparedPair]):
    """Pairs of samples; `places` are those of both, and `discordant` of them are right in one arm only."""

    def __init__(self, places: np.ndarray, result: EvalResult, discordant: int) -> None:
        super().__init__(places, partial(_read_pairs, result))
        self.discordant = discordant


def _read_pairs(result: EvalResult, places: np.ndarray) -> list[ComparedPair]:
    samples = iter(result.read(places.reshape(-1)))
    return [ComparedPair(first, next(samples)) for first in samples]
