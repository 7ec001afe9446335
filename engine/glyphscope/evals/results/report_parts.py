"""The data for the report's template: the figures as rows, cells and drawings, so that the template computes nothing.

A drawing is a small SVG, one per row of a chart: rows with the same scale, one below another, make the chart. Colours
are classes of the report's style sheet. The title of every drawing describes it; texts are escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import PurePosixPath
from typing import TypeAlias, cast
from urllib.parse import quote

from markupsafe import Markup

from glyphscope.base.figures import percent, plain_number
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import is_inside
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.measuring import CellPart
from glyphscope.evals.results.sample import NO_ANSWER, JudgeVerdict, Reason, Sample
from glyphscope.evals.results.segments import read_place
from glyphscope.evals.results.table import Key, Rows, Samples, SampleTable
from glyphscope.evals.results.words import REASON_WORDS, comparison_words, conclusion, share_words
from glyphscope.evals.statistics import Share, Spread

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
class ReportColumn:
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
class ComparedArms:
    """A comparison in words, and its conclusion."""

    measure: str
    words: str
    conclusion: str
    significant: bool


def matrix(
    manifest: Manifest, arms: Sequence[str], whole: CellPart
) -> tuple[list[ReportColumn], dict[str, list[MatrixCell]]]:
    """Columns in the order of suites, groups by name, control samples last; cells by arm."""
    suites = {suite.name: number for number, suite in enumerate(manifest.suites)}
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    groups = grouped(whole)
    places = cell_places(groups)
    for (arm, suite, group), numbers in groups.items():
        found.setdefault((suite, group), {})[arm] = numbers
    keys = sorted(found, key=lambda key: (suites.get(key[0], len(suites)), key[0], key[1] == CONTROL, key[1]))
    columns = [ReportColumn(suite, name, number) for number, (suite, name) in enumerate(keys)]
    cells = {
        arm: [_cell(whole.of(found[key].get(arm, ())), places.get((arm, *key), "")) for key in keys]
        for arm in arms
    }
    return columns, cells


def cell_places(cells: Iterable[CellKey]) -> dict[CellKey, str]:
    """The anchors of the lists of the samples, by cell; the files beside the report are named after them."""
    return {cell: f"cell-{number}" for number, cell in enumerate(cells)}


def grouped(whole: CellPart) -> dict[CellKey, list[int]]:
    """The table's cells by cell of the matrix, in the order of the scenarios."""
    found: dict[CellKey, list[int]] = {}
    for number in whole.numbers:
        cell = whole.table.cells[number]
        group = CONTROL if cell.control else cell.group or "(no group)"
        found.setdefault((cell.arm, cell.suite, group), []).append(number)
    return found


def _cell(part: CellPart, place: str) -> MatrixCell:
    share = part.figures().ok if len(part) else None
    shade = round(share.share * (SHADES - 1)) if share is not None and share.n else None
    return MatrixCell(share, shade, place, len(part))


def scenario_lines(arms: Sequence[str], whole: CellPart) -> tuple[list[ScenarioLine], int]:
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


def _counts(part: CellPart) -> tuple[int, int]:
    """The correct samples, and all that have an answer."""
    return part.total("ok"), part.total("answered")


def _marks(rows: Rows, table: SampleTable) -> Iterator[Mark]:
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


def failures_of(arms: Sequence[str], whole: CellPart) -> list[ReasonGroup]:
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


def judged_of(whole: CellPart, samples: Samples) -> tuple[list[Judged], int]:
    """The judges' verdicts, those that did not pass first, and the number of further samples that have some."""
    rows = whole.where("judged", 1)
    shown = rows.where(rows["ok"].argsort(kind="stable")[:MAX_JUDGED])
    found = [(sample, verdict) for sample in samples.at(shown.copied()) for verdict in sample.judged]
    return sorted(found, key=lambda each: each[1].passed is True), len(rows) - len(shown)


def compared(manifest: Manifest, summary: Summary, labels: Mapping[str, str]) -> list[ComparedArms]:
    """All comparisons in words, in the order of MEASURES."""
    arms = {arm.id: arm for arm in manifest.arms}
    counts = Counter(comparison.measure for comparison in summary.comparisons)
    return [
        ComparedArms(
            c.measure, comparison_words(c, arms, labels), conclusion(c, counts[c.measure]), c.p_holm < 0.05
        )
        for c in summary.comparisons
    ]


# drawings


WIDTH, HEIGHT = 360, 26
_LEFT, _RIGHT = 8, 12
_MIDDLE = HEIGHT / 2
_MAX_TEXT = 300


def shown(text: object, most: int = _MAX_TEXT) -> str:
    """An untrusted text in a form that can be shown: cut, with visible signs for invisible and direction characters."""
    whole = str(text)
    cut = shorten(whole, most, length=True)
    return visible(cut, lines=True)


def interval_row(label: str, share: Share) -> Markup:
    """A point with its interval, from 0% to 100%."""
    inside = _grid()
    if share.n:
        low, at, high = _x(share.low), _x(share.share), _x(share.high)
        inside += _line(low, _MIDDLE, high, _MIDDLE, "whisker")
        inside += _line(low, _MIDDLE - 5, low, _MIDDLE + 5, "whisker")
        inside += _line(high, _MIDDLE - 5, high, _MIDDLE + 5, "whisker")
        inside += f'<circle cx="{at:.1f}" cy="{_MIDDLE:g}" r="5" class="point"/>'
    return _svg(f"{label}: {share_words(share)}", inside)


def spread_row(label: str, spread: Spread | None, most: float, unit: str) -> Markup:
    """A bar up to the median, a line from there to the 95th percentile, a diamond at the mean; from 0 to `most`."""
    if spread is None or most <= 0:
        return _svg(f"{label}: not measured", _grid())
    inside = _grid()
    median, high, mean = (_x(value / most) for value in (spread.p50, spread.p95, spread.mean))
    inside += _bar(0, spread.p50 / most, "median")
    inside += _line(median, _MIDDLE, high, _MIDDLE, "whisker")
    inside += _line(high, _MIDDLE - 5, high, _MIDDLE + 5, "whisker")
    inside += f'<path d="M{mean:.1f} {_MIDDLE - 5:g}l5 5l-5 5l-5 -5z" class="mean"/>'
    p50, average, p95 = map(plain_number, (spread.p50, spread.mean, spread.p95))
    return _svg(f"{label}: median {p50}, mean {average}, 95th percentile {p95} {unit}", inside)


def saved_row(label: str, decoded: int, would_have: int, most: int) -> Markup:
    """The decoded tokens, and behind them the tokens without an abort."""
    inside = _grid()
    if most > 0:
        inside += _bar(0, would_have / most, "saved") + _bar(0, decoded / most, "median")
    saved = percent((would_have - decoded) / would_have, 0) if would_have else "nothing"
    return _svg(f"{label}: {decoded:,} tokens decoded of {would_have:,}, {saved} saved", inside)


def axis(labels: list[str]) -> Markup:
    """The scale above the rows, with labels from its beginning to its end."""
    inside = ""
    for index, text in enumerate(labels):
        at = index / (len(labels) - 1)
        anchor = "start" if at == 0 else "end" if at == 1 else "middle"
        x = _x(at) - 4 if at == 0 else _x(at) + 8 if at == 1 else _x(at)
        inside += f'<text x="{x:.1f}" y="17" text-anchor="{anchor}" class="scale">{escape(text)}</text>'
    return Markup(f'<svg class="row" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{inside}</svg>')


def heat_bar(share: Share) -> Markup:
    """The interval below a cell's figure: the frame is 0% to 100%."""
    low, high, at = (100 * value for value in (share.low, share.high, share.share))
    return Markup(
        '<svg class="mini" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<path d="M0 7.5H100" class="frame"/>'
        f'<path d="M{low:.1f} 4H{high:.1f}" class="range"/><path d="M{at:.1f} 0V8" class="at"/></svg>'
    )


def scale_of(values: list[float]) -> float:
    """A round number at or above all values: 1, 2, 2.5, 4, 5 or 8 times a power of ten; 1 if all are 0."""
    most = max(values, default=0.0)
    if most < 1e-9:
        return 1.0
    power = 10.0 ** (len(f"{int(most)}") - 1) if most >= 1 else 0.1
    while power > most:
        power /= 10
    return next(step * power for step in (1, 2, 2.5, 4, 5, 8, 10) if step * power >= most)


def _svg(title: str, inside: str) -> Markup:
    label = escape(shown(title))
    return Markup(
        f'<svg class="row" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{inside}</svg>"
    )


def _x(share: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(1.0, max(0.0, share))


def _grid() -> str:
    return "".join(_line(_x(at), 0, _x(at), HEIGHT, "grid") for at in (0, 0.25, 0.5, 0.75, 1))


def _bar(begin: float, end: float, name: str) -> str:
    x = _x(begin)
    return f'<rect x="{x:.1f}" y="6" width="{_x(end) - x:.1f}" height="{HEIGHT - 12}" class="{name}"/>'


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:g}" x2="{x2:.1f}" y2="{y2:g}" class="{name}"/>'
