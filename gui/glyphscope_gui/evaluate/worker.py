"""An evaluation in a separate thread: its events are collected, and passed on in batches.

A scripted model may make thousands of samples a second; the window reads them a few times a second.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QThread

from glyphscope.errors import RecordError, StorageError
from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import publish
from glyphscope.evals.results.table import Table
from glyphscope.evals.running.evaluate import evaluate
from glyphscope.evals.running.progress import Begun, Control, Ended, ModelOpened, Progress, SampleDone
from glyphscope.evals.running.worker_pool import Workers
from glyphscope_gui.evaluate.result import EvalResult

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


class EvalThread(QThread):
    """Runs one evaluation to its end, or until `control` stops it. Call `take` in the window's thread; read `error`
    once the thread has finished.

    No signal carries the thread object, which its creator already has.
    """

    def __init__(self, job: EvalJob, workers: Callable[[], Workers]) -> None:
        super().__init__()
        self.setObjectName("glyphscope-evaluation")
        self.control = Control()
        self.error: Exception | None = None
        self._job = job
        self._workers = workers
        self._lock = threading.Lock()
        self._reported: deque[Progress | EvalResult] = deque()

    def take(self) -> list[Progress | EvalResult]:
        """Take the events since the last call, and the result with the samples so far."""
        with self._lock:
            reported = list(self._reported)
            self._reported.clear()
        return reported

    def run(self) -> None:
        folder: Path | None = None
        growing: Growing | None = None
        try:
            job = self._job
            for event in evaluate(
                job.plan,
                job.out,
                resume=job.resume,
                workers=self._workers(),
                control=self.control,
                allow_python=job.allow_python,
            ):
                if isinstance(event, Begun):
                    folder = event.folder
                    growing = Growing(folder)
                result = growing.after(event) if growing is not None else None
                with self._lock:
                    self._reported.append(event)
                    if result is not None:
                        self._reported.append(result)
        except Exception as error:  # reported by the controller, in the window's thread
            self.error = error
        if folder is not None:
            try:
                publish(folder)
            except Exception as error:
                self.error = self.error or error
