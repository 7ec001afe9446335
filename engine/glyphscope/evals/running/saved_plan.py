"""The plan of a result as its folder keeps it: to go on with one without the command that it was begun by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from glyphscope.errors import RecordError
from glyphscope.evals.matrix.plan import LoadedSuite, Matrix, Plan
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.suites.reading import parse_suite


@dataclass(frozen=True)
class SavedPlan(Plan):
    """The same arms, suites, trials and seeds, and so the same samples; `kept` is the digest of the first plan."""

    kept: str = ""

    @property
    def digest(self) -> str:
        return self.kept


def saved_plan(folder: ResultFolder) -> SavedPlan:
    """Raises StorageError for a suite that is gone, SuiteError and RecordError for one that is not as it was asked."""
    manifest = folder.manifest
    suites = tuple(_suites(folder))
    matrix = Matrix(
        suites=tuple(suite.name for suite in manifest.suites),
        models=tuple(dict.fromkeys(arm.model for arm in manifest.arms)),
        trials=manifest.trials,
        seed=manifest.seed,
        jobs=manifest.jobs,
        savings=manifest.savings,
        judge=manifest.judge,
    )
    return SavedPlan(matrix, suites, manifest.arms, manifest.digest)


def _suites(folder: ResultFolder) -> Iterator[LoadedSuite]:
    for used in folder.manifest.suites:
        data = folder.suite(used.name)
        if hashlib.sha256(data).hexdigest() != used.digest:
            raise RecordError(
                f'The suite "{used.name}" was changed since it was asked.',
                where=str(folder.path),
                hint="Start a new evaluation: samples of two suites cannot share a result.",
            )
        yield LoadedSuite(parse_suite(data, where=used.name), data)
