"""The run controller: it makes a job from a request, and reduces the job's events to the one state of all views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import cast

import msgspec
from PySide6.QtCore import QObject, Qt, Signal

from glyphscope.events import (
    AnyEvent,
    CandidatesFound,
    ExpectedAnswer,
    PromptEvaluated,
    PromptRendered,
    RunEvent,
    RunFailed,
    RunFinished,
    RunRequest,
    RunStarted,
    StageStarted,
    ToolsDeferred,
    TransformActed,
)
from glyphscope.runs import PreparedRequest, RunState, reduce_event
from glyphscope.runs.interaction import Decision
from glyphscope_gui.runs.model_queries import ModelQueries
from glyphscope_gui.runs.stage_choice import Kind, ShownRun
from glyphscope_gui.runs.worker.interaction import Sources
from glyphscope_gui.runs.worker.jobs import (
    Asked,
    Batch,
    ContinueJob,
    Job,
    JobEnded,
    Measured,
    ModelStatus,
    ReplayJob,
    RunJob,
    TokenPlace,
    is_stepping,
)
from glyphscope_gui.runs.worker.mailbox import Mailbox
from glyphscope_gui.runs.worker.model_keeper import Open, OptionsOf, usual_options
from glyphscope_gui.runs.worker.run_worker import RunWorker
from glyphscope_gui.shared.background import WorkLine, end_work

_BEFORE = (
    RunStarted, StageStarted, CandidatesFound, ToolsDeferred, TransformActed, PromptRendered, RunFailed, RunFinished
)  # fmt: skip
"""The events of a run before the model begins to work, and the events that can end the run at that point."""


class Phase(Enum):
    """The phase of the controller, which decides what Run, Stop and Step do."""

    IDLE = "idle"
    RUNNING = "running"
    STEPPING = "stepping"
    STOPPING = "stopping"


@dataclass(frozen=True)
class EndedRun(ShownRun):
    """A run that has ended, with all its events. `at` is the token to select once all of a record is shown."""

    events: tuple[AnyEvent, ...] = ()
    at: TokenPlace | None = None


@dataclass(frozen=True)
class NotStarted:
    """A run that ended before the model began to work: `events` has all its events; `failed` is None if stopped."""

    events: tuple[AnyEvent, ...]

    @property
    def failed(self) -> RunFailed | None:
        last = self.events[-1] if self.events else None
        return last if isinstance(last, RunFailed) else None


@dataclass(frozen=True)
class BackgroundEvents:
    """Events of a background run; `ended` after the last, `stopped` if another run needed the model."""

    job: int
    events: tuple[AnyEvent, ...]
    ended: bool = False
    stopped: bool = False

    @property
    def prompt(self) -> PromptRendered | None:
        """The last prompt among the events."""
        return next((event for event in reversed(self.events) if isinstance(event, PromptRendered)), None)


@dataclass(frozen=True)
class Saving:
    """The saving of an early stop: `decoded` tokens against the `whole` that the continuation decoded."""

    code: str
    decoded: int
    whole: int


def _begins(event: AnyEvent) -> bool:
    """Whether the event shows that the model works for the run."""
    if isinstance(event, PromptEvaluated):
        return event.total > 0  # 0: the endpoint has not answered yet
    return not isinstance(event, _BEFORE)


def _reduce(state: RunState, events: tuple[AnyEvent, ...]) -> None:
    for event in events:
        reduce_event(state, event)


def _kind_of(job: Job | None) -> Kind:
    return "replay" if isinstance(job, ReplayJob) else "run"


class RunController(QObject):
    """Owns the worker and its thread. Every signal carries a frozen value, in the window's thread.

    The shown run stays until the model begins to work for the next one; if it never does, `notStarted` carries a
    NotStarted, and no other signal but `phaseChanged` is emitted.

    `began` carries a fresh RunState, `shown` a ShownRun: another one, then whenever it has grown, and once it is over.
    `ended` carries its EndedRun (also of a stopped run), `measured` a Measured, `modelStatusChanged` a ModelStatus,
    `phaseChanged` a Phase, `crashed` an exception that is a bug, `asked` the Asked that the run waits for, then None.

    The continuation of an aborted run does not change the shown one: `continued` carries its RunState so far, and at
    its end `saved` its Saving, or None if it was stopped. For a background run, which the playground does not show,
    only `phaseChanged` and `background` (with `BackgroundEvents`) are emitted.
    """

    began = Signal(object)
    shown = Signal(object)
    ended = Signal(object)
    measured = Signal(object)
    continued = Signal(object)
    saved = Signal(object)
    modelStatusChanged = Signal(object)
    phaseChanged = Signal(object)
    crashed = Signal(object)
    asked = Signal(object)
    background = Signal(object)
    notStarted = Signal(object)

    def __init__(
        self,
        open_model: Open,
        parent: QObject | None = None,
        sources: Sources = dict,
        options_of: OptionsOf = usual_options,
    ) -> None:
        super().__init__(parent)
        self.state = RunState()
        self.events: list[AnyEvent] = []
        self.model = ModelStatus("none")
        self.phase = Phase.IDLE
        self._job: Job | None = None
        self._next_id = 1
        self._kind: Kind = "run"
        """The kind of the shown run."""
        self._waiting: Callable[[], None] | None = None
        """Starts the next job once the present one has stopped."""
        self._continuation: RunState | None = None
        """The continuation of the shown run."""
        self._pending: list[AnyEvent] | None = None
        """The events of a run for which the model has not begun to work, while another is shown; else None."""
        self._asked: Asked | None = None
        """The question to the user that the run waits for."""
        self._closed = False
        self._mailbox = Mailbox(self)
        self._mailbox.batch.connect(self._take)
        self._line = WorkLine("glyphscope-run")
        """The model's thread: runs, queries, opening and closing, one after the other."""
        self._worker = RunWorker(open_model, self._mailbox, sources, options_of)
        self._worker.modelStatusChanged.connect(self._model_changed, Qt.ConnectionType.QueuedConnection)
        self.queries = ModelQueries(self._worker, self._line, self)
        self.queries.crashed.connect(self.crashed)

    # -- actions -----------------------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        return self._job is not None

    @property
    def can_continue(self) -> bool:
        """Whether the shown run aborted, was not continued yet, and used the direct strategy in one stage."""
        started = self.state.started
        if (
            self.is_busy
            or self._continuation is not None
            or started is None
            or started.request.strategy != "direct"
        ):
            return False
        return self.state.aborted is not None and len(self.state.stages) == 1

    @property
    def is_in_background(self) -> bool:
        """Whether the present job is a background run."""
        return isinstance(self._job, RunJob) and self._job.background

    @property
    def is_asking(self) -> bool:
        """Whether the run waits for the user."""
        return self._asked is not None

    def run(self, request: PreparedRequest | RunRequest, *, stepping: bool = False) -> None:
        """Run the request; the present run is stopped first."""
        self._after_stop(lambda: self._start(RunJob(self._id(), request, stepping)))

    def run_in_background(self, request: PreparedRequest | RunRequest) -> int:
        """Run the request in the background: the playground keeps the run that it shows. Returns the job's id.

        If called in a slot of `background` at the end of another run, it follows without a pause.
        """
        job = RunJob(self._id(), request, background=True)
        self._after_stop(lambda: self._start(job))
        return job.id

    def replay(
        self,
        events: tuple[AnyEvent, ...],
        rate: float | None = None,
        *,
        at: TokenPlace | None = None,
    ) -> None:
        """Show a recorded run, whose events take the same path as a live run's. `rate` and `at` as in ReplayJob."""
        self._after_stop(lambda: self._start(ReplayJob(self._id(), events, rate, at=at)))

    def show_record(self, events: Sequence[AnyEvent], at: TokenPlace | None = None) -> None:
        """Show all of a recorded run at once; `ended` then carries `at`, the token to select."""
        self.replay(tuple(events), rate=0.0, at=at)

    def continue_aborted(self) -> None:
        """Continue the aborted run where it stopped, and measure the saving of the stop."""
        if self.can_continue and self.state.started is not None:
            request = self.state.prepared or self.state.started.request
            self._start(ContinueJob(self._id(), request, tuple(self.events)))

    def expect(self, expected: ExpectedAnswer | None) -> bool:
        """Judge the shown run and its record by another expected answer from now on. False if a run is in progress."""
        started = self.state.started
        if started is None or self.is_busy:
            return False
        changed = msgspec.structs.replace(started.request, expected=expected)
        self.state.started = msgspec.structs.replace(started, request=changed)
        if (prepared := self.state.prepared) is not None:
            self.state.prepared = prepared.changed(expected=expected)
        self.events[:] = [self.state.started if event is started else event for event in self.events]
        self.shown.emit(ShownRun(self.state, kind=self._kind, over=True))
        return True

    def step(self) -> None:
        """Decode one step, while stepping."""
        if self.phase is Phase.STEPPING:
            self._worker.step()

    def resume(self) -> None:
        """Continue a stepped run without pauses."""
        if self.phase is Phase.STEPPING and self._job is not None:
            self._worker.resume(self._job.id)
            self._set_phase(Phase.RUNNING)

    def stop(self) -> None:
        if self._job is not None:
            self._set_phase(Phase.STOPPING)
            self._worker.stop(self._job.id)
            self._no_longer_asked()

    def reply(self, reply: Decision | str | None) -> None:
        """Send the user's reply to the last question of the run; with None, the run continues without one."""
        asked = self._asked
        if asked is not None:
            self._no_longer_asked()
            self._worker.reply(asked, reply)

    def open_model(self, name: str) -> None:
        """Open a model now, so that the first run does not wait for it; open it again if its options changed."""
        self.queries.interrupt()
        self._line.put(partial(self._worker.open, name))

    def unload_model(self) -> None:
        """End the open model's process, which frees its memory; the next run loads it again."""
        if not self.is_busy:
            self.queries.interrupt()
            self._model_changed(ModelStatus("unloading", self.model.name))
            self._line.put(partial(self._worker.unload, self.model.name))

    @property
    def unfinished(self) -> tuple[AnyEvent, ...]:
        """The events so far of the shown run, if it is made now and has begun."""
        made = isinstance(self._job, RunJob) and not self.is_in_background and self._pending is None
        return tuple(self.events) if made else ()

    def close(self) -> None:
        """Stop, close the model's process, and join the thread."""
        if self._closed:
            return
        self._closed = True
        self._waiting = None
        end_work(self.queries)
        self._worker.stop(self._next_id)
        self._mailbox.close()
        self._line.put(self._worker.close)
        self._line.end()
        self._line.wait()

    def _id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _after_stop(self, then: Callable[[], None]) -> None:
        if self._job is None:
            then()
        else:
            self._waiting = then
            self.stop()

    def _start(self, job: Job) -> None:
        self.queries.interrupt()
        self._job = job
        if not self.is_in_background:
            self._continuation = RunState() if isinstance(job, ContinueJob) else None
            if isinstance(job, RunJob) and any(map(_begins, self.events)):
                self._pending = []
            elif not isinstance(job, ContinueJob):
                self._begin(job)
        self._mailbox.open_for(job.id)
        self._set_phase(Phase.STEPPING if is_stepping(job) else Phase.RUNNING)
        self._line.put(partial(self._worker.run, job))

    def _begin(self, job: Job) -> None:
        given = job.request if isinstance(job, RunJob) else None
        prepared = given if isinstance(given, PreparedRequest) else None
        self.state, self.events, self._pending = RunState(prepared=prepared), [], None
        self._kind = _kind_of(job)
        self.began.emit(self.state)
        self.shown.emit(ShownRun(self.state, kind=self._kind))

    def _set_phase(self, phase: Phase) -> None:
        if phase is not self.phase:
            self.phase = phase
            self.phaseChanged.emit(phase)

    def _take(self, batch: Batch) -> None:
        if self._job is None or batch.job != self._job.id:
            return
        match batch.posts[0]:
            case Measured() as measured:
                self.measured.emit(measured)
            case Asked() as asked:
                self._ask(asked)
            case JobEnded() as ended:
                self._end(ended)
            case RunEvent():
                self._apply(cast(tuple[AnyEvent, ...], batch.posts))

    def _apply(self, events: tuple[AnyEvent, ...]) -> None:
        if self.is_in_background and self._job is not None:
            self.background.emit(BackgroundEvents(self._job.id, events))
            return
        if self._continuation is not None:
            _reduce(self._continuation, events)
            self.continued.emit(self._continuation)
            return
        if self._pending is not None and self._job is not None:
            self._pending.extend(events)
            if not any(map(_begins, events)):
                return
            events = tuple(self._pending)
            self._begin(self._job)
        self.events.extend(events)
        _reduce(self.state, events)
        self.shown.emit(ShownRun(self.state, kind=self._kind))

    def _ask(self, asked: Asked) -> None:
        if self.is_in_background:
            self._worker.reply(asked, None)
        elif self.phase is not Phase.STOPPING:
            self._asked = asked
            self.asked.emit(asked)

    def _no_longer_asked(self) -> None:
        if self._asked is not None:
            self._asked = None
            self.asked.emit(None)

    def _end(self, ended: JobEnded) -> None:
        self._no_longer_asked()
        if self.is_in_background:
            self._end_in_background(ended)
            return
        job, self._job = self._job, None
        waiting, self._waiting = self._waiting, None
        saving = self._measured_saving() if isinstance(job, ContinueJob) else None
        self._set_phase(Phase.IDLE)
        if ended.error is not None:
            self.crashed.emit(ended.error)
        if isinstance(job, ContinueJob):
            self.saved.emit(saving)
        elif self._pending is not None:
            outcome, self._pending = NotStarted(tuple(self._pending)), None
            self.notStarted.emit(outcome)
        else:
            events = tuple(self.events)
            at = job.at if isinstance(job, ReplayJob) and events == job.events else None
            self.shown.emit(ShownRun(self.state, kind=self._kind, over=True))
            self.ended.emit(EndedRun(self.state, events, at, kind=self._kind, over=True))
        if waiting is not None:
            waiting()

    def _end_in_background(self, ended: JobEnded) -> None:
        """Emit the end before the phase changes, so that the next job may follow at once."""
        self._job = None
        stopped = self.phase is Phase.STOPPING
        waiting, self._waiting = self._waiting, None
        if ended.error is not None:
            self.crashed.emit(ended.error)
        self.background.emit(BackgroundEvents(ended.job, (), ended=True, stopped=stopped))
        if self._job is None:
            self._set_phase(Phase.IDLE)
            if waiting is not None:
                waiting()

    def _measured_saving(self) -> Saving | None:
        """The saving that the continuation measured; None if it was stopped, after which it can be repeated."""
        aborted, continuation = self.state.aborted, self._continuation
        finished = continuation.finished if continuation is not None else None
        if aborted is None or finished is None or finished.reason == "cancelled":
            self._continuation = None
            return None
        return Saving(aborted.code, aborted.tokens_decoded, finished.tokens)

    def _model_changed(self, status: ModelStatus) -> None:
        self.model = status
        self.modelStatusChanged.emit(status)
