"""A result for the window: samples by arm and scenario, rows, and the figure of each cell; and pairs of samples of two
arms. Without Qt.

Samples are indexed once; a cell's figure is computed when it is shown, from the known values of each scenario, so that
a new sample does not require reading the others again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.notes import is_greedy
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.statistics import share_of_counts
from glyphscope_gui.evaluate.words import BY_NAME, MeasureName, why_words
from glyphscope_gui.shared.language import tr

RowKind = Literal["all", "suite", "group", "scenario"]


@dataclass(frozen=True, slots=True)
class Row:
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


class EvalResult:
    """`samples` in the order they were made. `add` extends it, only in the window's thread."""

    def __init__(
        self, path: Path, manifest: Manifest, samples: Iterable[Sample] = (), summary: Summary | None = None
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.summary = summary
        self.samples: list[Sample] = []
        self._index: dict[tuple[str, str], dict[str, list[Sample]]] = {}
        """The samples, by suite and scenario, then by arm."""
        self._known: dict[tuple[str, str, str], dict[MeasureName, list[float]]] = {}
        """The known values by suite, scenario and arm, then by measure."""
        self._figures: dict[tuple[Row, str, str], CellFigure] = {}
        """The figures by row, arm and measure that were shown since the last sample."""
        self._order: dict[str, dict[str, dict[str, bool]]] = {suite.name: {} for suite in manifest.suites}
        """By suite, then group, the scenarios in order, with whether each is a control."""
        self._rows: list[Row] | None = None
        self.add(samples)

    @property
    def arms(self) -> list[str]:
        """The arms' ids in the order of the manifest, then those that it does not contain."""
        known = [arm.id for arm in self.manifest.arms]
        return known or list(dict.fromkeys(sample.arm for sample in self.samples))

    def add(self, samples: Iterable[Sample]) -> bool:
        """Add samples. Returns whether there are new rows."""
        grown = False
        for sample in samples:
            self.samples.append(sample)
            groups = self._order.setdefault(sample.suite, {})
            members = groups.setdefault(sample.group, {})
            if sample.scenario not in members:
                members[sample.scenario] = sample.control
                grown = True
            cell = self._index.setdefault((sample.suite, sample.scenario), {})
            cell.setdefault(sample.arm, []).append(sample)
            self._known.pop((sample.suite, sample.scenario, sample.arm), None)
        self._figures.clear()
        if grown:
            self._rows = None
        return grown

    def update(self, manifest: Manifest) -> None:
        """Update the facts on the models and on how their arms sample tokens."""
        self.manifest = manifest
        self._figures.clear()

    @property
    def controls(self) -> int:
        """The number of controls, which the figures omit; 0 if all scenarios are controls."""
        kinds = list(self._kinds())
        return 0 if all(kinds) else sum(kinds)

    @property
    def scenarios(self) -> int:
        """The number of scenarios that the figures cover."""
        return sum(1 for _kind in self._kinds()) - self.controls

    @property
    def counted(self) -> list[Sample]:
        """The samples that the figures cover: the first row's."""
        left_out = self.controls > 0
        return [sample for sample in self.samples if not (left_out and sample.control)]

    def rows(self) -> list[Row]:
        """All rows in order: everything, then each suite with its groups, if there are several, and its scenarios."""
        if self._rows is None:
            self._rows = list(self._make_rows())
        return self._rows

    def samples_of(self, row: Row, arm: str | None = None) -> Iterator[Sample]:
        """The samples of a cell, or of a row in all arms."""
        for key in self._scenarios(row):
            by_arm = self._index.get(key, {})
            for name in self.arms if arm is None else (arm,):
                yield from by_arm.get(name, ())

    def figure(self, row: Row, arm: str, measure: MeasureName) -> CellFigure:
        """The figure of a cell."""
        key = (row, arm, measure)
        found = self._figures.get(key)
        if found is None:
            cells = list(self._scenarios(row))
            clusters = [self._values(suite, scenario, arm, measure) for suite, scenario in cells]
            if row.kind == "scenario" and not is_greedy(self.manifest, arm):
                clusters = [[value] for values in clusters for value in values]
            n = sum(len(self._index.get(cell, {}).get(arm, ())) for cell in cells)
            found = self._figures[key] = figure_of(n, clusters, measure)
        return found

    def _values(self, suite: str, scenario: str, arm: str, measure: MeasureName) -> list[float]:
        """The known values of a scenario's samples that have an answer from the model."""
        known = self._known.setdefault((suite, scenario, arm), {})
        if measure not in known:
            samples = self._index.get((suite, scenario), {}).get(arm, ())
            read = [_value(sample, measure) for sample in samples]
            known[measure] = [value for value in read if value is not None]
        return known[measure]

    def _kinds(self) -> Iterator[bool]:
        """Yield whether each scenario is a control."""
        for groups in self._order.values():
            for members in groups.values():
                yield from members.values()

    def _make_rows(self) -> Iterator[Row]:
        only_controls = not self.controls and any(self._kinds())
        name = tr("All scenarios except controls") if self.controls else tr("All scenarios")
        yield Row("all", name, control=only_controls)
        for suite, groups in self._order.items():
            if groups:
                yield from self._rows_of_suite(suite, groups)

    def _rows_of_suite(self, suite: str, groups: dict[str, dict[str, bool]]) -> Iterator[Row]:
        controls = [name for members in groups.values() for name, control in members.items() if control]
        others = {
            group: names
            for group, members in groups.items()
            if (names := [name for name, control in members.items() if not control])
        }
        yield Row("suite", suite, suite, control=not others)
        several = len(others) > 1
        for group, names in others.items():
            if several:
                yield Row("group", group or tr("other"), suite, group, 1)
            for name in names:
                yield Row("scenario", name, suite, group, 1 + several)
        if controls and others:
            yield Row("group", tr("controls"), suite, "", 1, control=True)
        for name in controls:
            yield Row("scenario", name, suite, "", 1 + bool(others), control=True)

    def _scenarios(self, row: Row) -> Iterable[tuple[str, str]]:
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


def _value(sample: Sample, measure: MeasureName) -> float | None:
    return getattr(sample, measure) if sample.answered else None


def figure_of(n: int, clusters: Sequence[Sequence[float]], measure: MeasureName) -> CellFigure:
    """Return the figure of `n` samples of one arm, from their known values.

    Intervals are as in the summary (`results/rows.py`): over scenarios like these, with each scenario's trials as a
    cluster. In a single scenario each trial is a cluster, and all greedy trials are one.
    """
    values = [value for cluster in clusters for value in cluster]
    if not values:
        return CellFigure(n, 0)
    if not BY_NAME[measure].is_share:
        return CellFigure(n, len(values), float(median(values)), min(values), max(values))
    made = share_of_counts([(int(sum(cluster)), len(cluster)) for cluster in clusters if cluster])
    return CellFigure(n, made.n, made.share, made.low, made.high, made.correct)


class Pair(NamedTuple):
    """The same scenario, trial and seed in two arms."""

    first: Sample
    second: Sample

    @property
    def is_discordant(self) -> bool:
        """Whether one of them is right and the other is not."""
        return self.first.ok != self.second.ok


def pairs_that_differ(result: EvalResult, first: str, second: str) -> tuple[list[Pair], int]:
    """Pairs in which one arm is right and the other wrong, then pairs with equal verdicts and different calls or texts;
    and the number of all pairs. As in the comparisons, a pair has an answer in both arms and is not a control.
    """
    counted = [sample for sample in result.counted if sample.answered]
    by_key = {(s.suite, s.scenario, s.trial): s for s in counted if s.arm == first}
    discordant, other, count = [], [], 0
    for sample in counted:
        if sample.arm != second:
            continue
        beside = by_key.get((sample.suite, sample.scenario, sample.trial))
        if beside is None:
            continue
        count += 1
        pair = Pair(beside, sample)
        if pair.is_discordant:
            discordant.append(pair)
        elif beside.calls != sample.calls or (not beside.ok and why_words(beside) != why_words(sample)):
            other.append(pair)
    return [*discordant, *other], count
