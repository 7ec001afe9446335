"""The files that are made from a result's samples: its summaries, and `report.html`.

The report has all findings of a result in one file that needs no network, font or script to be read: a page of the same
parts as an exported run (packaging/page/), whose script also opens the listed runs at the token where they went wrong.
Texts from models, suites and file names are escaped, and the page forbids all scripts but its own: a text that was not
escaped would still not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

from glyphscope.base.figures import byte_size, percent, plain_number
from glyphscope.base.pointer import readable
from glyphscope.evals.results import report_parts, report_runs
from glyphscope.evals.results.figures import MEASURES, ArmFigures, Summary
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.measuring import CellPart
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.summary import by_scenario, by_scenario_and_strategy, csv_text, summarise
from glyphscope.evals.results.table import Samples
from glyphscope.evals.results.tables import STYLE_WORDS, SuiteTables, suite_tables
from glyphscope.evals.results.words import (
    MEASURE_WORDS,
    arm_labels,
    interval_words,
    rate_words,
    sensitivity_words,
)
from glyphscope.evals.statistics import Spread
from glyphscope.evals.suites.reading import parse_suite, suite_registry
from glyphscope.evals.suites.suite import Suite
from glyphscope.events.encoding import encode_json
from glyphscope.runs.sampling import sampling_words
from glyphscope.store import atomic_write
from glyphscope.store.exports.run_page import filled_page, page_templates
from glyphscope.store.files import own_file, replace_folder

SUMMARY = "summary.json"
BY_SCENARIO = "summary_by_scenario.json"
BY_STRATEGY = "summary_by_scenario_and_strategy.json"
TABLE = "summary.csv"
REPORT = "report.html"
BESIDE = "report-data"
"""The folder of the files that the report reads where a server sends it."""
MAX_PER_REASON = 20
"""Samples that are listed for one reason of failure."""
_SHOWN_K = frozenset({"1", "2", "3", "5", "10"})
"""The k of pass^k that are shown, beside the last one; `summary.json` has all."""
MAX_RECORD = 20_000_000
"""Bytes of a record that the report looks into."""


def report_html(
    manifest: Manifest,
    summary: Summary,
    samples: Samples | Iterable[Sample],
    suites: Sequence[Suite] = (),
    tables: Sequence[SuiteTables] = (),
    runs: report_runs.ReportRuns | None = None,
) -> str:
    """The page. Links to run records are relative to the result's folder, in which it is saved; without `runs`, it has
    no run inside.
    """
    if not isinstance(samples, Samples):
        samples = Samples.of(samples)
    whole = CellPart.whole(samples.table, manifest)
    runs = runs or report_runs.runs_of(whole, samples)
    names = [arm.arm for arm in summary.arms]
    labels = {**{name: name for name in names}, **arm_labels(manifest.arms)}
    columns, cells = report_parts.matrix(manifest, names, whole)
    judged, judged_more = report_parts.judged_of(whole, samples)
    lines, lines_more = report_parts.scenario_lines(names, whole)
    suite_names = ", ".join(suite.name for suite in manifest.suites) or "no suite"
    return filled_page(
        "report.jinja",
        templates=_templates(),
        title=f"Evaluation: {suite_names}",
        data={"report": {"shared": runs.shared, "beside": BESIDE, "portion": report_runs.PORTION}},
        manifest=manifest,
        summary=summary,
        labels=labels,
        arms=[_arm(manifest, arm, labels) for arm in summary.arms],
        measures=[MEASURE_WORDS[measure] for measure in MEASURES],
        columns=columns,
        by_suite=[(suite, list(of)) for suite, of in groupby(columns, key=lambda column: column.suite)],
        cells=cells,
        runs=runs,
        limits={
            "cell": report_runs.MAX_PER_CELL,
            "listed": report_runs.MAX_LISTED,
            "runs": report_runs.MAX_EMBEDDED,
            "bytes": report_runs.MAX_BYTES,
        },
        failed=_by_reason(runs.listed),
        lines=lines,
        lines_more=lines_more,
        shades=report_parts.SHADES,
        failures=report_parts.failures_of(names, whole),
        judged=judged,
        judged_more=judged_more,
        comparisons=report_parts.compared(manifest, summary, labels),
        sensitivity=[sensitivity_words(each, labels) for each in summary.sensitivity],
        drawn=_charts(summary, labels),
        suite_notes=[(suite.name, note) for suite in suites for note in suite.notes],
        tables=[
            (table, table.suite not in {each.suite for each in tables[:n]}) for n, table in enumerate(tables)
        ],
        styles=STYLE_WORDS,
    )


def _by_reason(listed: Iterable[report_runs.ListedRuns]) -> dict[str, list[report_runs.ListedRuns]]:
    """The first listed samples of each reason of failure."""
    found: dict[str, list[report_runs.ListedRuns]] = {}
    for each in listed:
        if each.sample.failures:
            found.setdefault(each.sample.failures[0].reason, []).append(each)
    return {reason: group[:MAX_PER_REASON] for reason, group in found.items()}


def _arm(manifest: Manifest, arm: ArmFigures, labels: dict[str, str]) -> dict[str, Any]:
    found = next((each for each in manifest.arms if each.id == arm.arm), None)
    sampling, passes = manifest.profiles.get(arm.arm), arm.tools.pass_k
    return {
        "id": arm.arm,
        "label": labels[arm.arm],
        "axes": msgspec.to_builtins(found) if found is not None else None,
        "sampling": "unknown" if sampling is None else sampling_words(sampling),
        "figures": arm.tools,
        "control": arm.control,
        "shares": [getattr(arm.tools, measure) for measure in MEASURES],
        "passes": [(k, percent(passes[k], 0)) for k in passes if k in _SHOWN_K or int(k) == len(passes)],
    }


def _charts(summary: Summary, labels: dict[str, str]) -> dict[str, Any]:
    """The charts, each as an axis and rows of (name, drawing, words)."""
    arms = [arm for arm in summary.arms if arm.tools.n]
    saved = [(arm, arm.tools.saving) for arm in arms if arm.tools.saving.measured]
    most = report_parts.scale_of([float(saving.would_have) for _, saving in saved])
    success = [
        (arm, report_parts.interval_row(labels[arm.arm], arm.tools.ok), _success_words(arm)) for arm in arms
    ]
    return {
        "success": {"axis": report_parts.axis(["0", "25", "50", "75", "100%"]), "rows": success},
        "tokens": _spreads([(arm, arm.tools.decoded) for arm in arms], labels, "tokens"),
        "times": _spreads([(arm, arm.tools.total_ms) for arm in arms], labels, "ms", " ms"),
        "savings": {
            "axis": _axis(most, ""),
            "rows": [
                (
                    arm,
                    report_parts.saved_row(labels[arm.arm], saving.decoded, saving.would_have, int(most)),
                    f"{saving.would_have - saving.decoded:,} of {saving.would_have:,} tokens, "
                    f"{percent(1 - saving.decoded / saving.would_have if saving.would_have else 0, 0)}; "
                    f"{saving.measured:,} of {saving.aborted:,} aborts measured",
                )
                for arm, saving in saved
            ],
        },
    }


def _success_words(arm: ArmFigures) -> str:
    ok = arm.tools.ok
    return f"{rate_words(ok)}, {ok.correct:,} of {ok.n:,}" if ok.n else "–"


def _spreads(
    rows: Sequence[tuple[ArmFigures, Spread | None]], labels: dict[str, str], unit: str, on_axis: str = ""
) -> dict[str, Any]:
    """One chart of spreads; its axis shows the unit `on_axis`, if given."""
    most = report_parts.scale_of([spread.p95 for _, spread in rows if spread])
    return {
        "axis": _axis(most, on_axis),
        "rows": [
            (arm, report_parts.spread_row(labels[arm.arm], spread, most, unit), _spread_words(spread))
            for arm, spread in rows
        ],
    }


def _spread_words(spread: Spread | None) -> str:
    """Median, mean and 95th percentile."""
    if spread is None:
        return "–"
    return f"{plain_number(spread.p50)} · {plain_number(spread.mean)} · {plain_number(spread.p95)}"


def _axis(most: float, unit: str) -> Markup:
    return report_parts.axis(
        [plain_number(most * step / 4) + (unit if step == 4 else "") for step in range(5)]
    )


@cache
def _templates() -> jinja2.Environment:
    environment = page_templates(_visible_text)
    environment.filters |= {
        "number": plain_number,
        "size": byte_size,
        "percent": partial(percent, decimals=0),
        "interval": interval_words,
        "link": report_parts.link_of,
        "readable": readable,
        "time": _time,
        "brief": partial(report_parts.shown, most=300),
    }
    environment.globals["heat_bar"] = report_parts.heat_bar
    return environment


def _time(text: str) -> str:
    """A time of the manifest, to the minute: `2026-11-21 16:47 UTC`."""
    return f"{text[:16].replace('T', ' ')} UTC" if text.endswith("+00:00") else text


def _visible_text(value: Any) -> Any:
    """Every text that is put into the page, except markup."""
    return (
        value if isinstance(value, Markup) or not isinstance(value, str) else report_parts.shown(value, 2000)
    )


def write_summaries(
    folder: ResultFolder, samples: Samples | Iterable[Sample], suites: Sequence[Suite] = ()
) -> Summary:
    """Write the summaries, the table and, last, the report and the files beside it into the result's folder.

    The report shows the tables in the folder; for a suite without any there, it makes new ones without tokens, as no
    model need be open for a report. Raises StorageError (existing files are unchanged), and RecordError if the saved
    tables are damaged.
    """
    manifest, path = folder.manifest, folder.path
    samples = samples if isinstance(samples, Samples) else Samples.of(samples)
    tables, table = _tables(folder.tables(), suites), samples.table
    summary, scenarios = summarise(manifest, table), by_scenario(manifest, table)
    atomic_write(own_file(path, SUMMARY), _json(summary))
    atomic_write(own_file(path, BY_SCENARIO), _json(scenarios))
    atomic_write(own_file(path, BY_STRATEGY), _json(by_scenario_and_strategy(manifest, table)))
    atomic_write(own_file(path, TABLE), csv_text(manifest, scenarios))
    whole = CellPart.whole(table, manifest)
    runs = report_runs.runs_of(whole, samples, partial(folder.record_bytes, most=MAX_RECORD))
    page = report_html(manifest, summary, samples, suites, tables, runs)
    replace_folder(path / BESIDE, report_runs.files_beside(runs, samples))
    atomic_write(own_file(path, REPORT), page.encode("utf-8", "replace"))
    return summary


def _tables(kept: list[SuiteTables], suites: Sequence[Suite]) -> list[SuiteTables]:
    there = {table.suite for table in kept}
    missing = [s for s in suites if s.name not in there and (s.checks or s.sizes)]
    return [*kept, *(suite_tables(suite, suite_registry(suite, None)) for suite in missing)]


def _json(value: Any) -> bytes:
    """The value as indented JSON."""
    return msgspec.json.format(encode_json(value), indent=1) + b"\n"


def publish(path: Path) -> Summary:
    """Count the samples and write everything that is made from them.

    Raises StorageError, RecordError if this is not a result, SuiteError if a saved suite is damaged.
    """
    folder = ResultFolder.open(path)
    suites = [parse_suite(folder.suite(used.name), where=used.name) for used in folder.manifest.suites]
    return write_summaries(folder, folder.samples(), suites)
