"""The runs of an experiment, one after the other on the one model, in the background: the playground keeps its run.

Each is a `RequestPlan`: the arms of a comparison are its columns, those of an A/B the prompts, each on all seeds, and
several seeds have one arm. The model writes one text at a time, so the runs take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from PySide6.QtCore import QObject, Signal

from glyphscope.evals.matrix.plan import Planned
from glyphscope.evals.matrix.seeds import RequestPlan, RunResults, run_key
from glyphscope.events import AnyEvent, RunFailed
from glyphscope.runs import PreparedRequest, RunState, reduce_event
from glyphscope_gui.runs.run_controller import BackgroundEvents, RunController
from glyphscope_gui.shared.language import tr

_HOPELESS = ("BAD_REQUEST", "PROMPT_FAILED", "CONTEXT_OVERFLOW", "CONSTRAINT_FAILED")
"""Codes of failures that do not depend on the seed."""


class RunPhase(Enum):
    """The phase of a run; a STOPPED one has its output so far, a NOT_RUN one has none."""

    NEW = "new"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    NOT_RUN = "not-run"


@dataclass
class ExperimentRun:
    """A run and its state. `why` is the reason why it did not run. Only its experiment changes it, in place."""

    planned: Planned | None = None
    phase: RunPhase = RunPhase.NEW
    why: str = ""
    state: RunState = field(default_factory=RunState)
    events: list[AnyEvent] = field(default_factory=list)

    @property
    def request(self) -> PreparedRequest:
        """The request of a planned run."""
        assert self.planned is not None and self.planned.request is not None
        return self.planned.request

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, complete or stopped."""
        return self.phase in (RunPhase.DONE, RunPhase.STOPPED)

    @property
    def is_without_model(self) -> bool:
        """Whether the model could not be opened."""
        return self.state.started is None and self.state.failed is not None

    @property
    def is_hopeless(self) -> bool:
        """Whether the same request would fail with any other seed."""
        failed = self.state.failed
        return failed is not None and (self.is_without_model or failed.code in _HOPELESS)


class RunExperiment(QObject):
    """The runs of a `plan` by their keys, and the `results` to which each is added when it ends. `changed` carries the
    key of a run whose phase changed, None for several; `grew` the key of a run with new events; `ended` the events of a
    run that ended or was stopped; `runningChanged` whether any runs.

    `why` says why no further run begins. If one fails in a way that does not depend on the seed, those that
    `_fail_alike` are not run.
    """

    changed = Signal(object)
    grew = Signal(object)
    ended = Signal(object)
    runningChanged = Signal(bool)

    def __init__(self, runs: RunController, stopped_words: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._controller = runs
        self._stopped_words = stopped_words
        self.plan: RequestPlan | None = None
        self.results: RunResults | None = None
        self.runs: Mapping[Any, ExperimentRun] = {}
        self.job = 0
        """The run controller's id of the current run."""
        self.key: Any = None
        """The key of the current run; None if there is none."""
        self.is_running = False
        self.why = ""
        runs.background.connect(self._take)

    @property
    def progress_words(self) -> str:
        """The progress of the current run in words."""
        tokens = len(self.runs[self.key].state.tokens) if self.key is not None else 0
        return tr("%n token(s)", "", tokens) if tokens else tr("reading the prompt…")

    @property
    def turn(self) -> tuple[int, int]:
        """The number of the current run, from 1, and that of all runs."""
        return sum(run.has_ended for run in self.runs.values()) + 1, len(self.runs)

    def begin(self, plan: RequestPlan, results: RunResults | None = None) -> bool:
        """Begin the first run of a plan. Return False while the model is in use: the other run continues, and the
        results so far are kept. Raises RegistryError.
        """
        if self._controller.is_busy:
            return False
        self.plan, self.results, self.runs, self.why = plan, results, self._planned(plan), ""
        for run in self.runs.values():
            run.phase, run.why, run.state, run.events = RunPhase.WAITING, "", RunState(), []
        self.changed.emit(None)
        self._set_running(True)
        self._next()
        return True

    def stop(self) -> None:
        """Stop the current run, and begin no other; the results so far stay."""
        if self.is_running:
            self._controller.stop()

    def _planned(self, plan: RequestPlan) -> Mapping[Any, ExperimentRun]:
        return {run_key(planned): ExperimentRun(planned) for planned in plan.samples}

    def _fail_alike(self, one: ExperimentRun, other: ExperimentRun) -> bool:
        """Whether the hopeless failure of a run says that another one fails too."""
        return True

    def _reason(self, failed: RunFailed) -> str:
        """Why the runs that fail alike are not run."""
        return f"{failed.message} {failed.hint}".strip()

    def _next(self) -> None:
        waiting = (key for key, run in self.runs.items() if run.phase is RunPhase.WAITING)
        self.key = next(waiting, None)
        if self.key is None:
            self._set_running(False)
            return
        run = self.runs[self.key]
        run.phase, run.state = RunPhase.RUNNING, RunState(prepared=run.request)
        self.changed.emit(self.key)
        self.job = self._controller.run_in_background(run.request)

    def _take(self, background: BackgroundEvents) -> None:
        if not self.is_running or background.job != self.job:
            return  # late events of an older experiment
        run = self.runs[self.key]
        if background.events:
            run.events.extend(background.events)
            for event in background.events:
                reduce_event(run.state, event)
            self.grew.emit(self.key)
        if background.ended:
            self._end(run, stopped=background.stopped)

    def _end(self, run: ExperimentRun, *, stopped: bool) -> None:
        key, failed = self.key, run.state.failed
        cut = stopped and run.state.outcome in ("running", "cancelled")
        run.phase = RunPhase.STOPPED if cut else RunPhase.DONE
        if self.results is not None and run.planned is not None:
            self.results.add(run.planned, run.state)
        if stopped:
            self._skip(self._stopped_words, lambda _other: True)
        elif failed is not None and run.is_hopeless:
            self._skip(self._reason(failed), lambda other: self._fail_alike(run, other))
        self.changed.emit(key)
        if run.events:
            self.ended.emit(tuple(run.events))
        self._next()

    def _skip(self, why: str, which: Callable[[ExperimentRun], bool]) -> None:
        """Do not run those of the waiting runs, for the reason `why`."""
        self.why = why
        for key, run in self.runs.items():
            if run.phase is RunPhase.WAITING and which(run):
                run.phase, run.why = RunPhase.NOT_RUN, why
                self.changed.emit(key)

    def _set_running(self, running: bool) -> None:
        if running != self.is_running:
            self.is_running = running
            self.runningChanged.emit(running)
