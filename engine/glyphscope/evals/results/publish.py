"""From a result's folder to its summaries and its report, as often as one likes."""

from __future__ import annotations

from pathlib import Path

from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.files import REPORT, write_summaries
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.suites.reading import parse_suite

__all__ = ["REPORT", "publish"]


def publish(path: Path) -> Summary:
    """Counts the samples and writes everything that is made from them.

    Raises StorageError, RecordError where this is no result, SuiteError where a kept suite was damaged.
    """
    folder = ResultFolder.open(path)
    suites = [parse_suite(folder.suite(used.name), where=used.name) for used in folder.manifest.suites]
    return write_summaries(folder, folder.samples(), suites)
