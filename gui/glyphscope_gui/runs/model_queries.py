"""Queries to the open model, answered in the worker's thread between its jobs, and the work of some queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, TypeVar

import msgspec
from PySide6.QtCore import QObject, Qt, Signal, Slot

from glyphscope.errors import GlyphscopeError
from glyphscope.events import ModelInfo, TokenStep
from glyphscope.explain.retokenization import Boundaries, boundaries_of
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.models.interface import Model, Vocabulary, same_model
from glyphscope.models.llama import LlamaModel
from glyphscope.runs import PreparedRequest
from glyphscope.strategies.read_ahead import ReadAhead, read_ahead
from glyphscope.strategies.request import first_prompt
from glyphscope_gui.runs.worker.jobs import Answer, Priced, Query
from glyphscope_gui.runs.worker.run_worker import RunWorker

T = TypeVar("T")
FIRST_PROMPT_KNOWN = ("direct", "two-stage")
"""The strategies whose first prompt is independent of the model's output."""
_IDLE = "idle"
"""The key of the work that ends when the model is needed."""


@dataclass(frozen=True)
class Answered:
    """The answer of a run's stage: its prompt, its tokens, and the model that wrote it."""

    run: str
    stage: str
    prompt: str
    steps: tuple[TokenStep, ...]
    model: ModelInfo


def token_boundaries(model: Model | None, answered: Answered) -> Boundaries:
    """The boundaries of an answer's tokens, or why they are unknown. In the worker's thread."""
    own = model if model is not None and same_model(model.info, answered.model) else None
    if (kind := answered.model.kind) != "llama.cpp":
        return Boundaries(unknown=f"a {kind} model reports no tokens")
    return boundaries_of(answered.prompt, answered.steps, own)


@dataclass(frozen=True)
class _Pending:
    query: Query
    done: Callable[[Any], None]
    failed: Callable[[BaseException], None] | None


class ModelQueries(QObject):
    """Queries to the open model. `crashed` carries an unhandled exception, `promptRead` a ReadAhead, `promptPriced` the
    PromptRendered of the next run, or None if it cannot be counted. Lives in the window's thread.

    Reading ahead and measuring have the lowest priority: any other query, and any run, ends them.
    """

    crashed = Signal(object)
    promptRead = Signal(object)
    promptPriced = Signal(object)
    _requested = Signal(object)

    def __init__(self, worker: RunWorker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._worker = worker
        self._pending: dict[str, _Pending] = {}
        self._closed = False
        self._requested.connect(worker.answer, Qt.ConnectionType.QueuedConnection)
        worker.answered.connect(self._answered, Qt.ConnectionType.QueuedConnection)

    def ask(
        self,
        key: str,
        work: Callable[[Model | None], T],
        done: Callable[[T], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Call `work` in the worker's thread with the open model, or None, and then `done` with the result.

        `done` and `failed` are called in the window's thread. Only the newest query of a key is answered.
        `work` must not refer to a QObject: the worker may be the last to release it.
        """
        self.interrupt()
        self._send(_Pending(Query(key, work), done, failed))

    def price(self, request: PreparedRequest, done: Callable[[Priced | None], None]) -> None:
        """Count the prompt of the request; `done` gets None without a model that can. `promptPriced` is emitted for a
        strategy with which it is the first prompt of a run.
        """
        direct = msgspec.structs.replace(request.request, strategy="direct")
        is_first = request.request.strategy in FIRST_PROMPT_KNOWN

        def priced(result: Priced | None) -> None:
            done(result)
            self.promptPriced.emit(result.prompt if result is not None and is_first else None)

        work = partial(
            priced_prompt_of, prepared=request if is_first else PreparedRequest(direct, request.registry)
        )
        self.ask("next prompt", work, priced)

    def read_ahead(self, request: PreparedRequest, done: Callable[[ReadAhead], None]) -> None:
        """Evaluate the prompt of the next run; `done` is called even if something else interrupted that."""

        def read(result: ReadAhead) -> None:
            done(result)
            self.promptRead.emit(result)

        self.interrupt()
        stop = Event()
        work = partial(prompt_read, request=request, stop=stop.is_set)
        self._send(_Pending(Query(_IDLE, work, stop=stop), read, None))

    def measure_batches(
        self, done: Callable[[BatchTimes | None], None], failed: Callable[[BaseException], None]
    ) -> None:
        """Measure the model's batch size; `done` is called with None if something else interrupted that."""
        self.interrupt()
        stop = Event()
        work = partial(batches_measured, stop=stop.is_set)
        self._send(_Pending(Query(_IDLE, work, stop=stop), done, failed))

    def interrupt(self) -> None:
        """Stop reading ahead and measuring, as something else needs the model."""
        idle = self._pending.get(_IDLE)
        if idle is not None:
            self._worker.interrupt(idle.query)

    def close(self) -> None:
        """Drop all queries; no callback is called from now on."""
        self._closed = True
        self.interrupt()
        for key in tuple(self._pending):
            self._drop(key)

    def _send(self, pending: _Pending) -> None:
        if self._closed:
            return
        key = pending.query.key
        self._drop(key)
        self._pending[key] = pending
        self._requested.emit(pending.query)

    def _drop(self, key: str) -> None:
        older = self._pending.pop(key, None)
        if older is not None:
            older.query.dropped.set()

    @Slot(object)
    def _answered(self, answer: Answer) -> None:
        pending = self._pending.get(answer.query.key)
        if pending is None or pending.query is not answer.query:
            return
        del self._pending[answer.query.key]
        if answer.error is None:
            pending.done(answer.result)
        else:
            (pending.failed or self.crashed.emit)(answer.error)


def vocabulary_of(model: Model | None) -> Vocabulary:
    """The text of the model's tokens; an empty vocabulary if it is unknown."""
    try:
        return Vocabulary() if model is None else model.vocabulary()
    except GlyphscopeError:  # the next run reports the crash of the model's process
        return Vocabulary()


def prompt_read(model: Model | None, request: PreparedRequest, stop: Callable[[], bool]) -> ReadAhead:
    """Evaluate the prompt of the next run in the open model; does nothing if none is open."""
    return ReadAhead() if model is None else read_ahead(request, model, stop)


def is_unmeasured(model: Model | None) -> bool:
    """Whether the batch size of the open model is to be measured."""
    return isinstance(model, LlamaModel) and model.is_unmeasured


def batches_measured(model: Model | None, stop: Callable[[], bool]) -> BatchTimes | None:
    """Measure the batch size of the open model. Raises ModelError and StorageError."""
    if not isinstance(model, LlamaModel) or stop():
        return None
    return model.measure_batches(lambda: model.cancel() if stop() else None)


def priced_prompt_of(model: Model | None, prepared: PreparedRequest) -> Priced | None:
    """The prompt of the request with the cost of each part; None without a model, or with a recorded model, which has
    only its own prompts.
    """
    if model is None or model.info.kind == "recorded":
        return None
    try:
        return Priced(first_prompt(prepared, model))
    except GlyphscopeError as error:
        return Priced(None, str(error))
