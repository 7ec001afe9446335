"""The running evaluation: started and stopped here, made outside of the window's thread, with its growing result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import GlyphscopeError, RecordError, StorageError
from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import publish
from glyphscope.evals.results.table import SampleTable
from glyphscope.evals.running.evaluation import evaluate
from glyphscope.evals.running.local_workers import LocalWorkers
from glyphscope.evals.running.progress import (
    Begun,
    Control,
    EvaluationEnded,
    EvaluationState,
    ModelOpened,
    Progress,
    SampleDone,
)
from glyphscope.evals.running.tool_servers import ToolServers, planned_server
from glyphscope.evals.running.worker_pool import Workers
from glyphscope.models.cores import share_cores
from glyphscope.models.interface import Model, Opening
from glyphscope.tools.mcp import ServerConfig
from glyphscope_gui.evaluate.result import EvalResult
from glyphscope_gui.evaluate.words import sample_words
from glyphscope_gui.runs.worker.model_keeper import Open, OptionsOf
from glyphscope_gui.shared.background import Background, this_task


class EvalPhase(Enum):
    """The state of an evaluation, which decides whether Evaluate, Pause and Stop are enabled."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"


class Evaluations(QObject):
    """Runs one evaluation at a time.

    `began` carries the EvalResult, and `grew` the one with more samples; `progressed` the EvaluationState;
    `phaseChanged` an EvalPhase; `ended` the folder's path (None if none was made) after its figures were written;
    `failed` the exception: a GlyphscopeError, or an internal error.
    """

    began = Signal(object)
    grew = Signal(object)
    progressed = Signal(object)
    phaseChanged = Signal(object)
    ended = Signal(object)
    failed = Signal(object)

    def __init__(self, open_model: Open, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.phase = EvalPhase.IDLE
        self.progress = EvaluationState()
        self.result: EvalResult | None = None
        self._open_model = open_model
        self._control: Control | None = None
        """Pauses and stops the running evaluation."""
        self._opening = Opening(lambda _done: None)
        self._background = Background(self, self._end)

    @property
    def is_busy(self) -> bool:
        return self._control is not None

    def begin(self, job: EvalJob, options_of: OptionsOf) -> None:
        """Start an evaluation, unless another one runs. `options_of` gives each model's load options."""
        if self._control is not None:
            return
        self.progress, self.result = EvaluationState(job.plan.cost.samples, name_of=sample_words), None
        self._opening = opening = Opening(lambda _done: None)
        workers = job.workers or partial(self._local_workers, options_of, opening, job)
        control = self._control = Control()
        self._set_phase(EvalPhase.RUNNING)
        self.progressed.emit(self.progress)
        self._background.start(
            "evaluation",
            partial(evaluate_and_publish, job, workers, control),
            lambda _none: self._finished(None),
            self._finished,
            progress=self._take,
        )

    def set_paused(self, paused: bool) -> None:
        """Pause, once the samples that are being made are complete; or resume."""
        before, after = EvalPhase.RUNNING, EvalPhase.PAUSED
        if not paused:
            before, after = after, before
        if self._control is not None and self.phase is before:
            (self._control.pause if paused else self._control.resume)()
            self._set_phase(after)

    def stop(self) -> None:
        """Stop; the samples so far are kept, and the evaluation can be resumed."""
        if self._control is not None and self.phase is not EvalPhase.STOPPING:
            self._end()
            self._set_phase(EvalPhase.STOPPING)

    def close(self) -> None:
        """Stop, and wait for the thread; complete samples are then in the folder."""
        self._end()
        self._background.wait("evaluation")
        self._control = None

    def _local_workers(self, options_of: OptionsOf, opening: Opening, job: EvalJob) -> LocalWorkers:
        matrix = job.plan.matrix

        def opened(name: str, sequences: int = 1) -> Model:
            options = share_cores(options_of(name), matrix.jobs).with_sequences(sequences)
            return self._open_model(name, options=options, progress=opening)

        return LocalWorkers(opened, partial(opened, sequences=matrix.sequences), job.tool_servers)

    def _end(self) -> None:
        if self._control is not None:
            self._control.stop()
            self._opening.cancel()

    def _take(self, news: list[Progress | EvalResult]) -> None:
        if not news:
            return
        before, progress = self.result, self.progress
        for event in news:
            if isinstance(event, EvalResult):
                if self.result is None:
                    progress.ok = event.right
                self.result = event
            else:
                progress.add(event)
        if self.result is not before:
            (self.began if before is None else self.grew).emit(self.result)
        self.progressed.emit(progress)

    def _finished(self, error: BaseException | None) -> None:
        self._control = None
        self.progress.now.clear()
        folder: Path | None = self.result.path if self.result is not None else None
        stopped = self.phase is EvalPhase.STOPPING
        self._set_phase(EvalPhase.IDLE)
        self.ended.emit(folder)
        if error is not None and not (stopped and isinstance(error, GlyphscopeError) and folder is None):
            self.failed.emit(error)

    def _set_phase(self, phase: EvalPhase) -> None:
        if phase is not self.phase:
            self.phase = phase
            self.phaseChanged.emit(phase)


GROWN_SECONDS = 0.1
"""The least time between two readings of a growing result."""


@dataclass(frozen=True)
class EvalJob:
    """`resume` is the folder of a result to complete; otherwise a new folder is made in `out`. `allow_python`: the user
    has allowed the suites' Python functions. `servers` are those that may execute calls. `workers` makes those of
    another place, in the evaluation's thread; None for those of this process.
    """

    plan: Plan
    out: Path
    resume: Path | None = None
    allow_python: bool = False
    workers: Callable[[], Workers] | None = None
    servers: Sequence[ServerConfig] = ()

    @property
    def tool_servers(self) -> ToolServers | None:
        """The servers of the plan, not started yet."""
        matrix, known = self.plan.matrix, {planned_server(each): each for each in self.servers}
        found = [known[name] for name in matrix.servers if name in known]
        return ToolServers(found, keep=matrix.keep_servers) if found else None


class Growing:
    """Reads a growing result again after samples were added, in a tenth of the time at most: a large one less often."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._table: SampleTable | None = None
        self._changed = False
        self._next = 0.0

    def after(self, event: Progress) -> EvalResult | None:
        """The result after that event, if it is time to read it."""
        self._changed |= isinstance(event, Begun | ModelOpened | SampleDone)
        began = time.monotonic()
        if not self._changed or (began < self._next and not isinstance(event, ModelOpened | EvaluationEnded)):
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
