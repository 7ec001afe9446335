"""Suite files: their structure, reading them, the bundled ones, and making and importing suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.evals.suites.call_form import ArgumentCheck, CallChecks, call_of, form_of
    from glyphscope.evals.suites.from_runs import scenario_of_run, suite_of_runs
    from glyphscope.evals.suites.imported import IMPORTERS, ImportedSuite, endings
    from glyphscope.evals.suites.own import add_scenario, keep_suite, own_suites, suite_path
else:
    __getattr__ = interface(__name__)
