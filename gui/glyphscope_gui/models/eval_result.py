"""A result as the window shows it: samples by arm and scenario, rows, and the figure of each cell. Knows no Qt.

Samples are indexed once; a cell's figure is made when it is looked at, and kept until a sample comes to it.
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
from glyphscope.evals.statistics import share_of
from glyphscope_gui.models.eval_words import BY_NAME, MeasureName

RowKind = Literal["all", "suite", "group", "scenario"]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the heat map: all scenarios but the control ones, a suite, a group of one, or a scenario."""

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
    """`of` samples were measured, of `n` that there are. `value` is a share (0 to 1, with Wilson's 95 % interval `low`
    to `high`), or the median of a quantity with its least and its greatest value; None over no samples.
    """

    n: int
    of: int
    value: float | None = None
    low: float = 0.0
    high: float = 0.0
    correct: int = 0


class EvalResult:
    """`samples` in the order they were made. Grown by `add`, in the window's thread only."""

    def __init__(
        self, path: Path, manifest: Manifest, samples: Iterable[Sample] = (), summary: Summary | None = None
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.summary = summary
        self.samples: list[Sample] = []
        self._index: dict[tuple[str, str], dict[str, list[Sample]]] = {}
        self._figures: dict[tuple[Row, str, str], CellFigure] = {}
        self._order: dict[str, dict[str, dict[str, bool]]] = {suite.name: {} for suite in manifest.suites}
        self._rows: list[Row] | None = None
        self.add(samples)

    @property
    def arms(self) -> list[str]:
        """The arms' ids, as the manifest orders them; those that it does not know last."""
        known = [arm.id for arm in self.manifest.arms]
        return known or list(dict.fromkeys(sample.arm for sample in self.samples))

    def add(self, samples: Iterable[Sample]) -> bool:
        """Take samples in. Returns whether there are new rows."""
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
        self._figures.clear()
        if grown:
            self._rows = None
        return grown

    def know(self, manifest: Manifest) -> None:
        """More is known of the models, and of how their arms draw tokens."""
        self.manifest = manifest
        self._figures.clear()

    def rows(self) -> list[Row]:
        """All rows in their order: everything, then suite by suite, its groups where it has several, its scenarios."""
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
            greedy = is_greedy(self.manifest, arm) if row.kind == "scenario" else None
            found = figure_of(list(self.samples_of(row, arm)), measure, greedy=greedy)
            self._figures[key] = found
        return found

    # -- inside ------------------------------------------------------------------------------------------------

    def _make_rows(self) -> Iterator[Row]:
        yield Row("all", "All scenarios")
        for suite, groups in self._order.items():
            if not groups:
                continue
            yield Row("suite", suite, suite)
            several = len(groups) > 1
            for group, members in groups.items():
                if several:
                    yield Row("group", group or "other", suite, group, 1)
                for scenario, control in members.items():
                    yield Row("scenario", scenario, suite, group, 1 + several, control)

    def _scenarios(self, row: Row) -> Iterable[tuple[str, str]]:
        if row.kind == "scenario":
            return ((row.suite, row.name),)
        return (
            (suite, scenario)
            for suite, groups in self._order.items()
            if row.kind == "all" or suite == row.suite
            for group, members in groups.items()
            if row.kind != "group" or group == row.group
            for scenario, control in members.items()
            if not (control and row.kind == "all")
        )


def figure_of(samples: Sequence[Sample], measure: MeasureName, *, greedy: bool | None = None) -> CellFigure:
    """The figure of some samples of one arm: of those that the model had its say in, and the measure is known of.

    Intervals are as in the summary (`results/rows.py`): over scenarios like these, the trials of each a cluster; with
    `greedy` given, of one scenario alone, where greedy trials are one case together.
    """
    known = [(s, v) for s in samples if s.answered and (v := getattr(s, measure)) is not None]
    if not known:
        return CellFigure(len(samples), 0)
    values = [value for _sample, value in known]
    if not BY_NAME[measure].is_share:
        return CellFigure(len(samples), len(values), float(median(values)), min(values), max(values))
    made = share_of(
        ((sample.suite, sample.scenario) if greedy is None else 0 if greedy else number, value)
        for number, (sample, value) in enumerate(known)
    )
    return CellFigure(len(samples), made.n, made.share, made.low, made.high, made.correct)
