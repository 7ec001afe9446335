"""The data for the report's template: the figures as rows and cells, so that the template computes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeAlias, cast
from urllib.parse import quote

from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import is_inside
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.rows import Key, Row, figures
from glyphscope.evals.results.sample import NO_ANSWER, JudgeVerdict, Reason, Sample
from glyphscope.evals.results.segments import read_place
from glyphscope.evals.results.words import REASON_WORDS, comparison_words, conclusion
from glyphscope.evals.statistics import Share

MOST_JUDGED = 200
"""The most verdicts of judge models that are listed."""
MOST_SCENARIOS = 300
"""The most scenarios that are listed, those with the most failures."""
MOST_SIGNS = 10
"""The most trials of a scenario in an arm that have a sign each; more of them are counted."""
SHADES = 6
"""The number of colours in the matrix, from none right to all right."""

CONTROL = "control: no call expected"

Judged: TypeAlias = tuple[Sample, JudgeVerdict]


@dataclass(frozen=True)
class Cell:
    """A cell of the matrix. `shade` is from 0 (nothing right) to SHADES - 1, None without samples; `place` is the
    anchor of the list of its samples; `n` counts them all, with those that have no answer.
    """

    share: Share
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
    """A trial, or the count of all: a sign and its meaning. `trial` is None for a count."""

    sign: str
    kind: str
    words: str
    trial: int | None = None


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

    reason: Reason
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
    manifest: Manifest, arms: Sequence[str], rows: Sequence[Row]
) -> tuple[list[Column], dict[str, list[Cell]]]:
    """Columns in the order of suites, groups by name, control samples last; cells by arm."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        found.setdefault((row.suite, group_of(row)), {}).setdefault(row.arm, []).append(row)
    suites = {suite.name: number for number, suite in enumerate(manifest.suites)}
    keys = sorted(found, key=lambda key: (suites.get(key[0], len(suites)), key[0], key[1] == CONTROL, key[1]))
    columns = [Column(suite, name, number) for number, (suite, name) in enumerate(keys)]
    cells = {
        arm: [_cell(found[key].get(arm, []), f"cell-{row}-{n}") for n, key in enumerate(keys)]
        for row, arm in enumerate(arms)
    }
    return columns, cells


def group_of(of: Row | Sample) -> str:
    """The name of its column in the matrix."""
    return CONTROL if of.control else of.group or "(no group)"


def _cell(rows: Sequence[Row], place: str) -> Cell:
    share = figures(rows).ok
    return Cell(share, round(share.share * (SHADES - 1)) if share.n else None, place, len(rows))


def scenario_lines(arms: Sequence[str], rows: Sequence[Row]) -> tuple[list[ScenarioLine], int]:
    """The scenarios with the smallest share of correct samples, and the number of further ones."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(row.key, []).append(row)

    def share(each: list[Row]) -> tuple[float, Key]:
        answered = [row for row in each if row.answered]
        return sum(row.ok for row in answered) / len(answered) if answered else 0.0, each[0].key

    shown = sorted(found.values(), key=share)[:MOST_SCENARIOS]
    return [_line(each, arms) for each in shown], len(found) - len(shown)


def _line(rows: Sequence[Row], arms: Sequence[str]) -> ScenarioLine:
    answered = [row for row in rows if row.answered]
    by_arm: dict[str, list[Row]] = {}
    for row in rows:
        by_arm.setdefault(row.arm, []).append(row)
    return ScenarioLine(
        rows[0].suite,
        group_of(rows[0]),
        rows[0].scenario,
        rows[0].level,
        sum(row.ok for row in answered),
        len(answered),
        tuple(tuple(_marks(by_arm.get(arm, ()))) for arm in arms),
    )


def _marks(rows: Sequence[Row]) -> Iterator[Mark]:
    if len(rows) > MOST_SIGNS:
        words = f"{sum(row.ok for row in rows):,} of {len(rows):,}"
        yield Mark(words, "count", f"{words} correct")
        return
    for row in sorted(rows, key=lambda row: row.trial):
        sign, kind = verdict_sign(row)
        words = reason_words(row.reason, row.code) if row.reason else "correct" if row.ok else "incorrect"
        yield Mark(sign, kind, f"Trial {row.trial}: {words}", row.trial)


def verdict_sign(of: Row | Sample) -> tuple[str, str]:
    """The sign of a verdict, and the class of its colour."""
    return ("✓", "right") if of.ok else ("✗", "wrong") if of.answered else ("–", "silent")


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


class SampleLists:
    """Collects from all samples, which pass once, the counts of the reasons of failure, and the judges' verdicts."""

    def __init__(self) -> None:
        self._failed: dict[Reason, Counter[str]] = {}
        self._judged: tuple[list[Judged], list[Judged]] = ([], [])
        self._verdicts = 0

    def add(self, sample: Sample) -> None:
        for verdict in sample.judged:
            self._verdicts += 1
            kept = self._judged[verdict.passed is True]
            if len(kept) < MOST_JUDGED:
                kept.append((sample, verdict))
        if sample.failures:
            self._failed.setdefault(sample.failures[0].reason, Counter())[sample.arm] += 1

    def failures(self, arms: Sequence[str]) -> list[ReasonGroup]:
        """The failures by first reason, the most frequent first; samples without an answer are last."""
        groups = [
            ReasonGroup(
                reason=reason,
                words=REASON_WORDS[reason],
                answered=reason not in NO_ANSWER,
                by_arm=tuple(counts[arm] for arm in arms),
            )
            for reason, counts in self._failed.items()
        ]
        return sorted(groups, key=lambda group: (not group.answered, -group.n, group.reason))

    def judged(self) -> tuple[list[Judged], int]:
        """The judges' verdicts, those that did not pass first, and the number of further ones."""
        not_passed, passed = self._judged
        shown = [*not_passed, *passed][:MOST_JUDGED]
        return shown, self._verdicts - len(shown)


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
