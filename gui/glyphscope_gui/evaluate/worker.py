"""An evaluation outside of the window's thread, with its growing result."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from glyphscope.errors import RecordError, StorageError
from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import publish
from glyphscope.evals.results.table import Table
from glyphscope.evals.running.evaluate import evaluate
from glyphscope.evals.running.progress import Begun, Control, Ended, ModelOpened, Progress, SampleDone
from glyphscope.evals.running.worker_pool import Workers
from glyphscope_gui.evaluate.result import EvalResult
from glyphscope_gui.shared.background import this_task

GROWN_SECONDS = 0.1
"""The least time between two readings of a growing result."""


@dataclass(frozen=True)
class EvalJob:
    """`resume` is the folder of a result to complete; otherwise a new folder is made in `out`. `allow_python`: the user
    has allowed the suites' Python functions. `workers` makes those of another place, in the evaluation's thread; None
    for those of this process.
    """

    plan: Plan
    out: Path
    resume: Path | None = None
    allow_python: bool = False
    workers: Callable[[], Workers] | None = None


class Growing:
    """Reads a growing result again after samples were added, in a tenth of the time at most: a large one less often."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._table: Table | None = None
        self._changed = False
        self._next = 0.0

    def after(self, event: Progress) -> EvalResult | None:
        """The result after that event, if it is time to read it."""
        self._changed |= isinstance(event, Begun | ModelOpened | SampleDone)
        began = time.monotonic()
        if not self._changed or (began < self._next and not isinstance(event, ModelOpened | Ended)):
            return None
        result = None
        with suppress(StorageError, RecordError):  # the evaluation continues; its end reads the result again
            folder = ResultFolder.open(self._path)
            self._table = folder.table(self._table)
            result = EvalResult(self._path, folder.manifest, self._table).prepared()
            self._changed = False
        now = time.monotonic()
        self._next = now + max(GROWN_SECONDS, 9 * (now - began))
        return result


def evaluate_and_publish(job: EvalJob, workers: Callable[[], Workers], control: Control) -> None:
    """Run an evaluation to its end, or until `control` stops it, and write its figures. In a job's thread.

    Reports its events, and the result with the samples so far. Raises the exception of the evaluation.
    """
    folder: Path | None = None
    growing: Growing | None = None
    with ExitStack() as at_end:
        for event in evaluate(
            job.plan,
            job.out,
            resume=job.resume,
            workers=workers(),
            control=control,
            allow_python=job.allow_python,
        ):
            if isinstance(event, Begun):
                folder = event.folder
                growing = Growing(folder)
                at_end.callback(publish, folder)
            this_task().report(event)
            if growing is not None and (result := growing.after(event)) is not None:
                this_task().report(result)
