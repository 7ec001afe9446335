"""The files of a result: written from its samples, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import report_html
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.summary import by_scenario, by_scenario_and_strategy, csv_text, summarise
from glyphscope.evals.results.tables import SuiteTables, suite_tables
from glyphscope.evals.suites.reading import parse_suite, suite_registry
from glyphscope.evals.suites.suite import Suite
from glyphscope.events.encoding import encode_json
from glyphscope.sessions import atomic_write

SUMMARY = "summary.json"
BY_SCENARIO = "summary_by_scenario.json"
BY_STRATEGY = "summary_by_scenario_and_strategy.json"
TABLE = "summary.csv"
REPORT = "report.html"


def write_summaries(folder: ResultFolder, samples: Iterable[Sample], suites: Sequence[Suite] = ()) -> Summary:
    """Writes all of them into the result's folder; the report comes last.

    The report shows the tables that the folder keeps, and of a suite that it keeps none of, new ones without tokens: no
    model need be open for a report. Raises StorageError (what was there before is untouched), and RecordError where the
    kept tables are damaged.
    """
    kept, manifest, path = list(samples), folder.manifest, folder.path
    shown = _tables(folder.tables(), suites)
    summary, scenarios = summarise(manifest, kept), by_scenario(manifest, kept)
    atomic_write(path / SUMMARY, _json(summary))
    atomic_write(path / BY_SCENARIO, _json(scenarios))
    atomic_write(path / BY_STRATEGY, _json(by_scenario_and_strategy(manifest, kept)))
    atomic_write(path / TABLE, csv_text(manifest, scenarios))
    page = report_html(manifest, summary, kept, suites, shown)
    atomic_write(path / REPORT, page.encode("utf-8", "replace"))
    return summary


def _tables(kept: list[SuiteTables], suites: Sequence[Suite]) -> list[SuiteTables]:
    there = {table.suite for table in kept}
    missing = [s for s in suites if s.name not in there and (s.checks or s.sizes)]
    return [*kept, *(suite_tables(suite, suite_registry(suite, None)) for suite in missing)]


def _json(value: Any) -> bytes:
    """Indented."""
    return msgspec.json.format(encode_json(value), indent=1) + b"\n"


def publish(path: Path) -> Summary:
    """Counts the samples and writes everything that is made from them.

    Raises StorageError, RecordError where this is no result, SuiteError where a kept suite was damaged.
    """
    folder = ResultFolder.open(path)
    suites = [parse_suite(folder.suite(used.name), where=used.name) for used in folder.manifest.suites]
    return write_summaries(folder, folder.samples(), suites)
