"""The worker: runs one job at a time in the model's thread, with the model that stays open between them.

While stepping, the model waits at a gate between two decoding steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from threading import Event, Lock
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import NOTATIONS, AnyEvent, CallReady, FinalAnswer, RunRequest, RunStarted, Token
from glyphscope.models.interface import ForwardingModel, GenerateRequest, Model, Output, same_model
from glyphscope.notation.read import parse_value
from glyphscope.notation.write import call_sizes, sum_of, value_sizes
from glyphscope.processes.stopping import stopped_by
from glyphscope.runs import CONTINUATION, PreparedRequest, prepare
from glyphscope.runs.endings import failed
from glyphscope.runs.interaction import Decision
from glyphscope.runs.prepared import request_of
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.continuation import continue_aborted
from glyphscope.runs.strategies.running import instructions
from glyphscope_gui.runs.worker.interaction import Sources, WindowInteraction
from glyphscope_gui.runs.worker.jobs import (
    Asked,
    ContinueJob,
    Job,
    JobEnded,
    Measured,
    ModelStatus,
    ReplayJob,
    RunJob,
    is_stepping,
)
from glyphscope_gui.runs.worker.mailbox import Mailbox
from glyphscope_gui.runs.worker.model_keeper import ModelKeeper, Open, OptionsOf, usual_options
from glyphscope_gui.shared.background import Task, this_task

T = TypeVar("T")
_AHEAD = 0.001
"""Seconds that a replay may run ahead before it waits; shorter waits are not worth waking up for."""


class Gate:
    """Lets every step through while open, and one for each `admit` while shut."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._open = True
        self._permits = 0
        self._waited = 0.0

    def clock(self) -> float:
        """Seconds without the waits at the gate, as time limits do not count the user's pauses."""
        return time.perf_counter() - self._waited

    def shut(self) -> None:
        with self._condition:
            self._open, self._permits = False, 0

    def open(self) -> None:
        with self._condition:
            self._open = True
            self._condition.notify_all()

    def admit(self) -> None:
        with self._condition:
            self._permits += 1
            self._condition.notify_all()

    def pass_through(self) -> None:
        """Wait for a permit and use it; while the gate is open, return at once."""
        with self._condition:
            before = time.perf_counter()
            self._condition.wait_for(lambda: self._open or self._permits > 0)
            self._waited += time.perf_counter() - before
            if not self._open:
                self._permits -= 1


class GatedModel(ForwardingModel):
    """A model that waits at a gate before it decodes the next step, so that everything decoded is shown."""

    def __init__(self, model: Model, gate: Gate) -> None:
        super().__init__(model)
        self._gate = gate

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        with closing(self._model.generate(request)) as outputs:
            for output in outputs:
                yield output
                if isinstance(output, tuple):
                    self._gate.pass_through()

    def cancel(self) -> None:
        super().cancel()
        self._gate.open()


class RunWorker(QObject):
    """Posts the events of jobs to the mailbox. `modelStatusChanged` carries a ModelStatus.

    `stop`, `reply`, `step`, `resume` and `interrupt` are called in the window's thread and take effect at once, the
    other methods in the model's, one after the other.
    """

    modelStatusChanged = Signal(object)

    def __init__(
        self,
        open_model: Open,
        mailbox: Mailbox,
        sources: Sources = dict,
        options_of: OptionsOf = usual_options,
    ) -> None:
        super().__init__()
        self._mailbox = mailbox
        self._sources = sources
        self._interaction: WindowInteraction | None = None
        self._keeper = ModelKeeper(open_model, self.modelStatusChanged.emit)
        self._gate = Gate()
        self.stopped_to = 0
        """The newest stopped job."""
        self._resumed_to = 0  # the last resumed job
        self._generating: Task | None = None
        """The query that generates with the model."""
        self._query_lock = Lock()
        self._wake_replay = Event()
        self._options_of = options_of

    # -- from the window's thread ------------------------------------------------------------------------------

    def stop(self, job: int) -> None:
        """End this job and all before it, running or waiting."""
        self.stopped_to = max(self.stopped_to, job)
        self._wake_replay.set()
        self._gate.open()
        interaction = self._interaction
        if interaction is not None and interaction.job <= job:
            interaction.end()
        self._keeper.cancel()

    def reply(self, asked: Asked, reply: Decision | str | None) -> None:
        """Pass the user's reply to the run; a late reply is dropped."""
        interaction = self._interaction
        if interaction is not None and interaction.job == asked.job:
            interaction.reply(asked.number, reply)

    def step(self) -> None:
        """Let one step through."""
        self._gate.admit()

    def interrupt(self) -> None:
        """End the running query that generates, if it was stopped."""
        with self._query_lock:
            if self._generating is not None and self._generating.stopped.is_set():
                self._keeper.cancel()

    def resume(self, job: int) -> None:
        """Let all steps of this job through, also before it begins."""
        self._resumed_to = job
        self._gate.open()

    # -- in the worker's thread --------------------------------------------------------------------------------

    def run(self, job: Job) -> None:
        if self._is_stopped(job):
            self._mailbox.post(job.id, JobEnded(job.id))
            return
        self._wake_replay.clear()
        self._gate.shut()
        if not is_stepping(job) or job.id <= self._resumed_to or self._is_stopped(job):
            self._gate.open()  # also for a stop or resume that arrived before the gate was shut
        try:
            with stopped_by(lambda: self._is_stopped(job)):
                self._work(job)
        except GlyphscopeError as error:  # from opening the model; errors of the run itself are events
            posts = () if self._is_stopped(job) else (failed(error),)
            self._mailbox.post(job.id, *posts, JobEnded(job.id))
        except Exception as error:  # a bug is reported as one, and the worker continues
            self._mailbox.post(job.id, JobEnded(job.id, error))
        else:
            self._mailbox.post(job.id, JobEnded(job.id))

    def open(self, name: str) -> None:
        """Open a model before it is needed; its status reports errors."""
        try:
            self._keeper.get(name, self._options_of(name))
        except GlyphscopeError:
            return
        except Exception as error:
            self.modelStatusChanged.emit(ModelStatus("failed", name, str(error)))

    def unload(self, name: str) -> None:
        """End the model's process; the next run starts it again."""
        self._keeper.close()
        self.modelStatusChanged.emit(ModelStatus("none", name))

    def answer(self, work: Callable[[Model | None], T], *, stopped_to: int, generates: bool) -> T:
        """Ask the open model; the query does not open one. `generates`: `interrupt` cancels the model.

        `stopped_to` is that of the moment at which it was asked: it ends if a job is stopped after it, also while the
        query waits, as the job waits for it.
        """
        self._set_generating(this_task() if generates else None)
        try:
            with stopped_by(lambda: self.stopped_to > stopped_to):
                return work(self._keeper.model)
        finally:
            self._set_generating(None)

    def close(self) -> None:
        """Close the model."""
        self._keeper.close()

    def _set_generating(self, query: Task | None) -> None:
        """Under the lock, so that `interrupt` cannot cancel the run that follows."""
        with self._query_lock:
            self._generating = query

    def _is_stopped(self, job: Job) -> bool:
        return job.id <= self.stopped_to

    def _work(self, job: Job) -> None:
        started: RunStarted | None = None
        calls: list[CallReady | FinalAnswer] = []  # or the value of a schema
        for event in self._events(job):
            if isinstance(event, RunStarted):
                started = event
            elif isinstance(event, CallReady):
                calls = [*(call for call in calls if call.stage == event.stage and event.call_index), event]
            elif isinstance(event, FinalAnswer) and started and started.request.answer.kind == "schema":
                calls = [event]
            self._mailbox.post(job.id, event)
            if self._is_stopped(job):
                if isinstance(job, ReplayJob):
                    return
                self._keeper.cancel()  # again, for a generation that began after the first cancellation
        is_in_background = isinstance(job, RunJob) and job.background
        if started is None or not calls or calls[-1].stage == CONTINUATION or is_in_background:
            return
        prepared = job.request if isinstance(job, RunJob) else started.request
        measured = self._measure(job.id, started, calls, prepared)
        if measured is not None:
            self._mailbox.post(job.id, measured)

    def _events(self, job: Job) -> Iterator[AnyEvent]:
        match job:
            case RunJob():
                return self._run(job)
            case ContinueJob():
                model = self._model(job)
                return continue_aborted(job.request, job.events, model, clock=self._gate.clock)
            case ReplayJob():
                return self._replay(job)

    def _run(self, job: RunJob) -> Iterator[AnyEvent]:
        model = self._model(job)
        interaction = WindowInteraction(
            job.id, self._sources, lambda asked: self._mailbox.post(job.id, asked)
        )
        self._interaction = interaction
        if self._is_stopped(job):  # before `self._interaction` was set
            interaction.end()
        try:
            yield from run(job.request, model, interaction, clock=self._gate.clock)
        finally:
            self._interaction = None

    def _model(self, job: RunJob | ContinueJob) -> GatedModel:
        name = request_of(job.request).model
        return GatedModel(self._keeper.get(name, self._options_of(name)), self._gate)

    def _replay(self, job: ReplayJob) -> Iterator[AnyEvent]:
        """Yield the recorded events, each at its time."""
        for started in job.events[:1]:
            if isinstance(started, RunStarted):
                with suppress(GlyphscopeError):
                    prepare(started.request)  # of thousands of tools, the window finds the parsed ones
        begin, tokens = time.perf_counter(), 0
        for event in job.events:
            due = event.t if job.rate is None else tokens / job.rate if job.rate else 0.0
            ahead = due - (time.perf_counter() - begin)
            if ahead > _AHEAD:
                self._wake_replay.wait(ahead)
            tokens += isinstance(event, Token)
            yield event

    def _measure(
        self,
        job: int,
        started: RunStarted,
        calls: list[CallReady | FinalAnswer],
        prepared: RunRequest | PreparedRequest,
    ) -> Measured | None:
        """The sizes of the answer's calls, or of its value; in tokens only with the tokenizer of the model that wrote
        it.
        """
        request, model = started.request, self._keeper.model
        count = None
        if model is not None and model.info.kind == "llama.cpp" and same_model(model.info, started.model):
            count = model.count_tokens
        try:
            last = calls[-1]
            if isinstance(last, FinalAnswer):
                sizes = tuple(value_sizes(parse_value(last.text, request.notation), count))
                tool, number = "", 0
            else:
                made = [call for call in calls if isinstance(call, CallReady)]
                sizes = sum_of(call_sizes(call.tool, call.arguments, request.shape, count) for call in made)
                tool, number = last.tool, len(made)
            if count is None:
                return Measured(job, sizes, calls=number)
            ready = replace(prepare(prepared), request=request)
            texts = {notation: instructions(ready, notation, tool) for notation in NOTATIONS}
            costs = {notation: count(text) for notation, text in texts.items() if text is not None}
        except GlyphscopeError:  # the run itself succeeded; only its sizes are unknown
            return None
        return Measured(job, sizes, costs, number)
