"""The worker: one job at a time, on a thread of its own, with the model that stays open between them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Event

import msgspec
from PySide6.QtCore import QObject, QThread, Signal, Slot

from glyphscope.calling import CONTINUATION, RunState, fold, run
from glyphscope.calling.continuation import continue_aborted
from glyphscope.calling.failures import failed
from glyphscope.calling.host import Decision
from glyphscope.calling.own_tokens import same_model
from glyphscope.calling.request import first_prompt
from glyphscope.errors import GlyphscopeError
from glyphscope.events import NOTATIONS, AnyEvent, RunRequest, Token
from glyphscope.models import Vocabulary
from glyphscope.notation import call_sizes
from glyphscope.prompting import render_messages
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope_gui.runs.worker.interaction import Sources, WindowHost
from glyphscope_gui.runs.worker.jobs import (
    Asked,
    ContinueJob,
    Ended,
    Job,
    Measured,
    ModelStatus,
    Priced,
    ReplayJob,
    RunJob,
)
from glyphscope_gui.runs.worker.mailbox import Mailbox
from glyphscope_gui.runs.worker.model_keeper import ModelKeeper, Open
from glyphscope_gui.runs.worker.step_gate import Gate, GatedModel
from glyphscope_gui.runs.worker.token_boundaries import Answered, cut_of
from glyphscope_gui.runs.worker.tokenize_typed import Typed, pieces_of

DEFAULT_CONTEXT = 4096
_AHEAD = 0.001
"""Seconds a replay may be ahead of its time before it waits: waking up for less costs more than it is worth."""


class RunWorker(QObject):
    """Events go to the mailbox. `modelTold` carries a ModelStatus, `vocabularyTold` a Vocabulary, `piecesTold` Pieces,
    `cutTold` a Cut.
    The slots run in its thread.

    `stop`, `reply` and `step` are called from the window's thread and take effect at once: a queued slot would wait
    for the job to end.
    """

    modelTold = Signal(object)
    vocabularyTold = Signal(object)
    pricedTold = Signal(object)
    piecesTold = Signal(object)
    cutTold = Signal(object)

    def __init__(self, open_model: Open, mailbox: Mailbox, sources: Sources = dict) -> None:
        super().__init__()
        self._mailbox = mailbox
        self._sources = sources
        self._host: WindowHost | None = None
        self._keeper = ModelKeeper(open_model, self.modelTold.emit)
        self._gate = Gate()
        self._stopped_to = 0
        self._nudge = Event()
        self.newest_price = 0
        """The number of the request whose prompt is wanted; the window sets it."""
        self.context = DEFAULT_CONTEXT
        """Tokens of context that a model is opened with; the window sets it from the settings."""

    # -- from the window's thread ------------------------------------------------------------------------------

    def stop(self, job: int) -> None:
        """End this job and all before it, whether they run or wait."""
        self._stopped_to = max(self._stopped_to, job)
        self._nudge.set()
        self._gate.open()
        host = self._host
        if host is not None and host.job <= job:
            host.end()
        self._keeper.cancel()

    def reply(self, asked: Asked, reply: Decision | str | None) -> None:
        """What the user says to what the run asked; too late, it is dropped."""
        host = self._host
        if host is not None and host.job == asked.job:
            host.reply(asked.number, reply)

    def step(self) -> None:
        """Let one step through."""
        self._gate.admit()

    def go_on(self) -> None:
        """Let all steps through."""
        self._gate.open()

    # -- in the worker's thread --------------------------------------------------------------------------------

    @Slot(object)
    def run(self, job: Job) -> None:
        if self._is_stopped(job):
            self._mailbox.post(job.id, Ended(job.id))
            return
        self._nudge.clear()
        if job.stepping:
            self._gate.shut()
        else:
            self._gate.open()
        try:
            self._work(job)
        except GlyphscopeError as error:  # the model could not be opened: the run's own errors are its events
            posts = () if self._is_stopped(job) else (failed(error),)
            self._mailbox.post(job.id, *posts, Ended(job.id))
        except Exception as error:  # a mistake of ours is told as one, and the worker lives on
            self._mailbox.post(job.id, Ended(job.id, error))
        else:
            self._mailbox.post(job.id, Ended(job.id))

    @Slot(object)
    def open(self, wanted: tuple[str, int]) -> None:
        """Open a model before it is needed; what is wrong with it is told by its status."""
        try:
            self._keeper.get(*wanted)
        except GlyphscopeError:
            return
        except Exception as error:
            self.modelTold.emit(ModelStatus("failed", wanted[0], str(error)))

    @Slot(object)
    def price(self, wanted: tuple[int, RunRequest, ToolRegistry]) -> None:
        """What the request would send, unless another one was asked about since. No model is opened for it."""
        number, request, registry = wanted
        model = self._keeper.model
        if number != self.newest_price or model is None:
            return
        if model.info.kind == "recorded":  # it knows its own prompts alone
            return
        try:
            self.pricedTold.emit(Priced(first_prompt(request, model, registry)))
        except GlyphscopeError as error:
            self.pricedTold.emit(Priced(None, str(error)))

    @Slot()
    def tell_vocabulary(self) -> None:
        """What the open model's tokens spell; an empty one where that is not known."""
        model = self._keeper.model
        try:
            vocabulary = model.vocabulary() if model is not None else Vocabulary()
        except GlyphscopeError:  # a model that died is told of by the next run
            vocabulary = Vocabulary()
        self.vocabularyTold.emit(vocabulary)

    @Slot(object)
    def tell_pieces(self, typed: Typed) -> None:
        """How the open model cuts a text that somebody types."""
        self.piecesTold.emit(pieces_of(self._keeper.model, typed))

    @Slot(object)
    def tell_cut(self, answered: Answered) -> None:
        """How the open model itself would cut an answer that is shown."""
        self.cutTold.emit(cut_of(self._keeper.model, answered))

    @Slot()
    def close(self) -> None:
        """Close the model and end the thread."""
        self._keeper.close()
        QThread.currentThread().quit()

    # -- inside ------------------------------------------------------------------------------------------------

    def _is_stopped(self, job: Job) -> bool:
        return job.id <= self._stopped_to

    def _work(self, job: Job) -> None:
        state = RunState()
        for event in self._events(job):
            fold(state, event)
            self._mailbox.post(job.id, event)
            if self._is_stopped(job):
                if isinstance(job, ReplayJob):
                    return
                self._keeper.cancel()  # again: a generation that began after the first one did not see it
        is_aside = isinstance(job, RunJob) and job.aside
        measured = None if is_aside else self._measure(job, state)
        if measured is not None:
            self._mailbox.post(job.id, measured)

    def _events(self, job: Job) -> Iterator[AnyEvent]:
        match job:
            case RunJob():
                return self._run(job)
            case ContinueJob():
                return continue_aborted(job.request, job.events, self._model(job.request))
            case ReplayJob():
                return self._replay(job)

    def _run(self, job: RunJob) -> Iterator[AnyEvent]:
        model = self._model(job.request)
        host = WindowHost(job.id, self._sources, lambda asked: self._mailbox.post(job.id, asked))
        self._host = host
        if self._is_stopped(job):  # by somebody who saw no host yet
            host.end()
        try:
            yield from run(job.request, model, host)
        finally:
            self._host = None

    def _model(self, request: RunRequest) -> GatedModel:
        return GatedModel(self._keeper.get(request.model, self.context), self._gate)

    def _replay(self, job: ReplayJob) -> Iterator[AnyEvent]:
        """The events again, each at its time, and never faster than the gate lets through."""
        begin, tokens = time.perf_counter(), 0
        for event in job.events:
            if job.rate is None:
                due = event.t
            else:
                due = tokens / job.rate if job.rate else 0.0
            ahead = due - (time.perf_counter() - begin)
            if ahead > _AHEAD and not job.stepping:
                self._nudge.wait(ahead)
            if isinstance(event, Token):
                if tokens:
                    self._gate.pass_through()
                tokens += 1
            yield event

    def _measure(self, job: Job, state: RunState) -> Measured | None:
        """The sizes of the call; in tokens only by the tokenizer of the model that wrote it."""
        if state.call is None or state.started is None or state.stage == CONTINUATION:
            return None
        request, model = state.started.request, self._keeper.model
        count = None
        if (
            model is not None
            and model.info.kind == "llama.cpp"
            and same_model(model.info, state.started.model)
        ):
            count = model.count_tokens
        try:
            sizes = call_sizes(state.call.tool, state.call.arguments, request.shape, count)
            if count is None:
                return Measured(job.id, tuple(sizes))
            registry = parse_document(request.registry)
            instructions = {}
            for notation in NOTATIONS:
                rendered = render_messages(msgspec.structs.replace(request, notation=notation), registry)
                system = "\n".join(m.content for m in rendered.messages if m.role == "system")
                instructions[notation] = count(system)
        except GlyphscopeError:  # the run itself was well; only its sizes are not known
            return None
        return Measured(job.id, tuple(sizes), instructions)
