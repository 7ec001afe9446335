"""The data for the report's template: the figures as rows and cells, so that the template computes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeAlias, cast
from urllib.parse import quote

from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import is_inside
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.measuring import Part
from glyphscope.evals.results.sample import NO_ANSWER, JudgeVerdict, Reason, Sample
from glyphscope.evals.results.segments import read_place
from glyphscope.evals.results.table import Key, Rows, Samples, Table
from glyphscope.evals.results.words import REASON_WORDS, comparison_words, conclusion
from glyphscope.evals.statistics import Share

MAX_JUDGED = 200
"""Verdicts of judge models that are listed."""
MAX_SCENARIOS = 300
"""Scenarios that are listed, those with the most failures."""
MAX_SIGNS = 10
"""Trials of a scenario in an arm that have a sign each; more of them are counted."""
SHADES = 6
"""The number of colours in the matrix, from none right to all right."""

CONTROL = "control: no call expected"

CellKey: TypeAlias = tuple[str, str, str]
"""Arm, suite, and group."""
Judged: TypeAlias = tuple[Sample, JudgeVerdict]


@dataclass(frozen=True)
class MatrixCell:
    """A cell of the matrix. `shade` is from 0 (nothing right) to SHADES - 1, None without answers; `place` is the
    anchor of the list of its samples; `n` counts them all, with those that have no answer. `share` is None without any.
    """

    share: Share | None
    shade: int | None
    place: str
    n: int


@dataclass(frozen=True)
class Column:
    """A column of the matrix: a suite's group, or its controls. `number` is from 0 on."""

    suite: str
    name: str
    number: int


@dataclass(frozen=True)
class Mark:
    """A trial, or the count of all: a sign, its kind, and its meaning."""

    sign: str
    kind: str
    words: str


@dataclass(frozen=True)
class ScenarioLine:
    """A scenario with its trials in each arm, in the arms' order; `right` of `n` over all arms."""

    suite: str
    group: str
    scenario: str
    level: str
    right: int
    n: int
    marks: tuple[tuple[Mark, ...], ...]


@dataclass(frozen=True)
class ReasonGroup:
    """The number of samples by arm whose first failure has this reason."""

    reason: str
    words: str
    answered: bool
    by_arm: tuple[int, ...]

    @property
    def n(self) -> int:
        return sum(self.by_arm)


@dataclass(frozen=True)
class Compared:
    """A comparison in words, and its conclusion."""

    measure: str
    words: str
    conclusion: str
    significant: bool


def matrix(
    manifest: Manifest, arms: Sequence[str], whole: Part
) -> tuple[list[Column], dict[str, list[MatrixCell]]]:
    """Columns in the order of suites, groups by name, control samples last; cells by arm."""
    suites = {suite.name: number for number, suite in enumerate(manifest.suites)}
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    groups = grouped(whole)
    places = cell_places(groups)
    for (arm, suite, group), numbers in groups.items():
        found.setdefault((suite, group), {})[arm] = numbers
    keys = sorted(found, key=lambda key: (suites.get(key[0], len(suites)), key[0], key[1] == CONTROL, key[1]))
    columns = [Column(suite, name, number) for number, (suite, name) in enumerate(keys)]
    cells = {
        arm: [_cell(whole.of(found[key].get(arm, ())), places.get((arm, *key), "")) for key in keys]
        for arm in arms
    }
    return columns, cells


def cell_places(cells: Iterable[CellKey]) -> dict[CellKey, str]:
    """The anchors of the lists of the samples, by cell; the files beside the report are named after them."""
    return {cell: f"cell-{number}" for number, cell in enumerate(cells)}


def grouped(whole: Part) -> dict[CellKey, list[int]]:
    """The table's cells by cell of the matrix, in the order of the scenarios."""
    found: dict[CellKey, list[int]] = {}
    for number in whole.numbers:
        cell = whole.table.cells[number]
        group = CONTROL if cell.control else cell.group or "(no group)"
        found.setdefault((cell.arm, cell.suite, group), []).append(number)
    return found


def _cell(part: Part, place: str) -> MatrixCell:
    share = part.figures().ok if len(part) else None
    shade = round(share.share * (SHADES - 1)) if share is not None and share.n else None
    return MatrixCell(share, shade, place, len(part))


def scenario_lines(arms: Sequence[str], whole: Part) -> tuple[list[ScenarioLine], int]:
    """The scenarios with the smallest share of correct samples, and the number of further ones."""
    found = whole.by_key
    counts = {key: _counts(whole.of(numbers)) for key, numbers in found.items()}

    def share(key: Key) -> tuple[float, Key]:
        right, n = counts[key]
        return right / n if n else 0.0, key

    shown = sorted(found, key=share)[:MAX_SCENARIOS]
    lines = []
    for key in shown:
        by_arm = {whole.table.cells[number].arm: whole.table.of_cell(number) for number in found[key]}
        first = whole.table.cells[found[key][0]]
        marks = tuple(tuple(_marks(by_arm[arm], whole.table)) if arm in by_arm else () for arm in arms)
        group = CONTROL if first.control else first.group
        lines.append(ScenarioLine(first.suite, group, first.scenario, first.level, *counts[key], marks))
    return lines, len(found) - len(shown)


def _counts(part: Part) -> tuple[int, int]:
    """The correct samples, and all that have an answer."""
    return part.total("ok"), part.total("answered")


def _marks(rows: Rows, table: Table) -> Iterator[Mark]:
    if len(rows) > MAX_SIGNS:
        words = f"{int(rows['ok'].sum()):,} of {len(rows):,}"
        yield Mark(words, "count", f"{words} correct")
        return
    for trial, failed, ok, answered in rows[["trial", "failure", "ok", "answered"]].tolist():
        failure = table.failures[failed]
        words = reason_words(failure.reason, failure.code) if failed else "correct" if ok else "incorrect"
        yield Mark(*verdict_sign(ok, answered), f"Trial {trial}: {words}")


def verdict_sign(ok: bool, answered: bool) -> tuple[str, str]:
    """The sign of a verdict, and the class of its colour."""
    return ("✓", "right") if ok else ("✗", "wrong") if answered else ("–", "silent")


def reason_words(reason: str, code: str = "") -> str:
    """The reason of a failure, with the validator's code."""
    return REASON_WORDS.get(cast("Reason", reason), reason) + (f" ({code})" if code else "")


def link_of(path: str) -> str:
    """A record's path as a link from the folder, a place in a segment as a link to the segment with the fragment
    `#START+LENGTH`; empty for one that leads elsewhere.
    """
    if not is_inside(path):
        return ""
    place = read_place(path)
    if place is not None:
        return f"./{place}"
    parts = PurePosixPath(path).parts
    return "./" + "/".join(quote(part.encode("utf-8", "replace"), safe="") for part in parts)


def failures_of(arms: Sequence[str], whole: Part) -> list[ReasonGroup]:
    """The failures by first reason, the most frequent first; samples without an answer are last."""
    by_arm: dict[str, list[int]] = {arm: [] for arm in arms}
    for number in whole.numbers:
        by_arm.setdefault(whole.table.cells[number].arm, []).append(number)
    counts = {arm: whole.of(numbers).counts("reason") for arm, numbers in by_arm.items()}
    groups = [
        ReasonGroup(
            reason=reason,
            words=reason_words(reason),
            answered=reason not in NO_ANSWER,
            by_arm=tuple(counts[arm].get(reason, 0) for arm in arms),
        )
        for reason in dict.fromkeys(reason for found in counts.values() for reason in found)
    ]
    return sorted(groups, key=lambda group: (not group.answered, -group.n, group.reason))


def judged_of(whole: Part, samples: Samples) -> tuple[list[Judged], int]:
    """The judges' verdicts, those that did not pass first, and the number of further samples that have some."""
    rows = whole.where("judged", 1)
    shown = rows.where(rows["ok"].argsort(kind="stable")[:MAX_JUDGED])
    found = [(sample, verdict) for sample in samples.at(shown.copied()) for verdict in sample.judged]
    return sorted(found, key=lambda each: each[1].passed is True), len(rows) - len(shown)


def compared(manifest: Manifest, summary: Summary, labels: Mapping[str, str]) -> list[Compared]:
    """All comparisons in words, in the order of MEASURES."""
    arms = {arm.id: arm for arm in manifest.arms}
    counts = Counter(comparison.measure for comparison in summary.comparisons)
    return [
        Compared(
            c.measure, comparison_words(c, arms, labels), conclusion(c, counts[c.measure]), c.p_holm < 0.05
        )
        for c in summary.comparisons
    ]
