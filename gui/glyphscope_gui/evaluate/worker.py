"""An evaluation in a separate thread: its events are collected, and passed on in batches.

A scripted model may make thousands of samples a second; the window reads them a few times a second.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QThread

from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.report import publish
from glyphscope.evals.results.table import Table
from glyphscope.evals.running.evaluate import evaluate
from glyphscope.evals.running.progress import Begun, Control, ModelOpened, Progress
from glyphscope.evals.running.worker_pool import Workers
from glyphscope.models.interface import Model


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


@dataclass(frozen=True)
class EarlierSamples:
    """The samples of a result before it was resumed."""

    table: Table


@dataclass(frozen=True)
class ManifestChanged:
    """The manifest once a model is open, which it then describes."""

    manifest: Manifest


class EvalThread(QThread):
    """Runs one evaluation to its end, or until `control` stops it. Call `take` in the window's thread; read `error`
    once the thread has finished.

    No signal carries the thread object, which its creator already has.
    """

    def __init__(self, job: EvalJob, opener: Callable[[str], Model]) -> None:
        super().__init__()
        self.setObjectName("glyphscope-evaluation")
        self.control = Control()
        self.error: Exception | None = None
        self._job = job
        self._opener = opener
        self._lock = threading.Lock()
        self._reported: deque[Progress | EarlierSamples | ManifestChanged] = deque()

    def take(self) -> list[Progress | EarlierSamples | ManifestChanged]:
        """Take the events since the last call."""
        with self._lock:
            reported = list(self._reported)
            self._reported.clear()
        return reported

    def run(self) -> None:
        folder: Path | None = None
        try:
            job = self._job
            for event in evaluate(
                job.plan,
                job.out,
                resume=job.resume,
                opener=self._opener,
                workers=job.workers() if job.workers is not None else None,
                control=self.control,
                allow_python=job.allow_python,
            ):
                more: EarlierSamples | ManifestChanged | None = None
                if isinstance(event, Begun):
                    folder = event.folder
                    if event.done:
                        more = EarlierSamples(ResultFolder.open(folder).table())
                elif isinstance(event, ModelOpened) and folder is not None:
                    more = ManifestChanged(ResultFolder.open(folder).manifest)
                with self._lock:
                    self._reported.append(event)
                    if more is not None:
                        self._reported.append(more)
        except Exception as error:  # reported by the controller, in the window's thread
            self.error = error
        if folder is not None:
            try:
                publish(folder)
            except Exception as error:
                self.error = self.error or error
