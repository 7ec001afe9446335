"""The data for the report's template: the figures as rows and cells, so that the template computes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote

from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import is_inside
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.rows import Row, figures
from glyphscope.evals.results.sample import NO_ANSWER, JudgeVerdict, Reason, Sample
from glyphscope.evals.results.words import REASON_WORDS, comparison_words, conclusion
from glyphscope.evals.statistics import Share

MOST_OF_A_REASON = 40
"""The most samples that are listed for one reason of failure."""
MOST_JUDGED = 200
"""The most verdicts of judge models that are listed."""
MOST_MARKS = 30_000
"""The most samples with individual marks; with more, scenarios have only counts."""
SHADES = 6
"""The number of colours in the matrix, from none right to all right."""

CONTROL = "control: no call expected"


@dataclass(frozen=True)
class Cell:
    """A cell of the matrix. `shade` is from 0 (nothing right) to SHADES - 1, None without samples; `place` is the
    anchor of its runs; `asked`: there are samples at all.
    """

    share: Share
    shade: int | None
    place: str
    asked: bool


@dataclass(frozen=True)
class Column:
    """A column of the matrix: a suite's group, or its controls. `place` is its anchor, `number` is from 0 on."""

    suite: str
    name: str
    place: str
    number: int


@dataclass(frozen=True)
class Mark:
    """A trial: a sign, its meaning, and the link to its record, empty if it must not be linked."""

    sign: str
    kind: str
    words: str
    link: str


@dataclass(frozen=True)
class ScenarioLine:
    """A scenario with its trials in each arm, in the arms' order; `right` of `n` over all arms."""

    scenario: str
    level: str
    right: int
    n: int
    marks: tuple[tuple[Mark, ...], ...]


@dataclass(frozen=True)
class ReasonGroup:
    """The samples whose first failure has this reason. `more` are not listed."""

    reason: str
    words: str
    answered: bool
    by_arm: tuple[int, ...]
    samples: tuple[Sample, ...]
    more: int

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
        found.setdefault((row.suite, _group(row)), {}).setdefault(row.arm, []).append(row)
    suites = {suite.name: number for number, suite in enumerate(manifest.suites)}
    keys = sorted(found, key=lambda key: (suites.get(key[0], len(suites)), key[0], key[1] == CONTROL, key[1]))
    columns = [Column(suite, name, f"g{number}", number) for number, (suite, name) in enumerate(keys)]
    cells = {arm: [_cell(found[key].get(arm, []), f"g{n}") for n, key in enumerate(keys)] for arm in arms}
    return columns, cells


def _group(of: Row | Sample) -> str:
    return CONTROL if of.control else of.group or "(no group)"


def _cell(rows: Sequence[Row], place: str) -> Cell:
    share = figures(rows).ok
    return Cell(share, round(share.share * (SHADES - 1)) if share.n else None, place, bool(rows))


def blocks_of(
    columns: Sequence[Column], arms: Sequence[str], samples: Sequence[Sample]
) -> list[tuple[Column, list[ScenarioLine]]]:
    """The scenarios of each column of the matrix; within a group, those with the most failures first."""
    marked = len(samples) <= MOST_MARKS
    found: dict[tuple[str, str], dict[str, dict[str, list[Sample]]]] = {}
    for sample in sorted(samples, key=lambda s: s.trial):
        by_scenario = found.setdefault((sample.suite, _group(sample)), {})
        by_scenario.setdefault(sample.scenario, {}).setdefault(sample.arm, []).append(sample)
    blocks = []
    for column in columns:
        lines = [
            _line(scenario, by_arm, arms, marked)
            for scenario, by_arm in found.get((column.suite, column.name), {}).items()
        ]
        lines.sort(key=lambda line: (line.right / line.n if line.n else 0.0, line.scenario))
        blocks.append((column, lines))
    return blocks


def _line(
    scenario: str, by_arm: Mapping[str, Sequence[Sample]], arms: Sequence[str], marked: bool
) -> ScenarioLine:
    everything = [sample for samples in by_arm.values() for sample in samples]
    answered = [sample for sample in everything if sample.answered]
    marks = []
    for arm in arms:
        mine = by_arm.get(arm, ())
        if marked:
            marks.append(tuple(_mark(sample) for sample in mine))
        else:
            right = sum(sample.ok for sample in mine)
            words = f"{right} of {len(mine)}"
            marks.append((Mark(words, "count", f"{words} correct", ""),) if mine else ())
    return ScenarioLine(
        scenario, everything[0].level, sum(s.ok for s in answered), len(answered), tuple(marks)
    )


def _mark(sample: Sample) -> Mark:
    links = links_of(sample)
    if sample.ok:
        sign, kind, words = "✓", "right", "correct"
    else:
        sign, kind = ("✗", "wrong") if sample.answered else ("–", "silent")
        words = _why(sample)
    return Mark(sign, kind, f"Trial {sample.trial}: {words}", links[0] if links else "")


def _why(sample: Sample) -> str:
    if not sample.failures:
        return "incorrect"
    first = sample.failures[0]
    return REASON_WORDS[first.reason] + (f" ({first.code})" if first.code else "")


def links_of(sample: Sample) -> tuple[str, ...]:
    """Its records as links from the folder; paths that lead elsewhere are left out."""
    return tuple(link for path in sample.runs if (link := link_of(path)))


def link_of(path: str) -> str:
    """A record's path as a link from the folder; empty for one that leads elsewhere."""
    if not is_inside(path):
        return ""
    parts = PurePosixPath(path).parts
    return "./" + "/".join(quote(part.encode("utf-8", "replace"), safe="") for part in parts)


def failures_of(arms: Sequence[str], samples: Sequence[Sample]) -> list[ReasonGroup]:
    """The failures by first reason, the most frequent first; samples without an answer are last."""
    found: dict[Reason, list[Sample]] = {}
    for sample in samples:
        if sample.failures:
            found.setdefault(sample.failures[0].reason, []).append(sample)
    groups = []
    for reason, of in found.items():
        counts = Counter(sample.arm for sample in of)
        groups.append(
            ReasonGroup(
                reason=reason,
                words=REASON_WORDS[reason],
                answered=reason not in NO_ANSWER,
                by_arm=tuple(counts[arm] for arm in arms),
                samples=tuple(of[:MOST_OF_A_REASON]),
                more=max(0, len(of) - MOST_OF_A_REASON),
            )
        )
    return sorted(groups, key=lambda group: (not group.answered, -group.n, group.reason))


def judged_of(samples: Sequence[Sample]) -> tuple[list[tuple[Sample, JudgeVerdict]], int]:
    """The judge's verdicts, those that did not pass first, and the number of further ones."""
    found = [(sample, verdict) for sample in samples for verdict in sample.judged]
    found.sort(key=lambda each: each[1].passed is True)
    return found[:MOST_JUDGED], max(0, len(found) - MOST_JUDGED)


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
