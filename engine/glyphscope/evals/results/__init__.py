"""A result as a folder: samples, figures, report; written so that a kill loses nothing and counts nothing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.evals.results.changes import changes_between
    from glyphscope.evals.results.comparing import what_differs
    from glyphscope.evals.results.export import COLUMNS, export_samples
    from glyphscope.evals.results.figures import ScenarioSummary, Summary
    from glyphscope.evals.results.manifest import IN_SEGMENTS, Machine, Manifest, WorkerFacts
    from glyphscope.evals.results.summary import by_scenario, by_scenario_and_strategy, csv_text, summarise
    from glyphscope.evals.results.table import INDEX, Samples, SampleTable, table_of
    from glyphscope.evals.results.tables import CheckResult, SizeResult, SuiteTables, suite_tables
    from glyphscope.evals.results.wrong_token import bad_token, bad_turn
else:
    __getattr__ = interface(__name__)
