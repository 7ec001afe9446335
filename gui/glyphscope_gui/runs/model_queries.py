"""Queries to the open model, answered in its thread between runs, and the work of some queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec
from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import GlyphscopeError, RequestProblem
from glyphscope.events import ModelInfo, Token
from glyphscope.explain.retokenization import TokenBoundaries, boundaries_of
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.models.interface import Model, Vocabulary, same_model
from glyphscope.models.llama import LlamaModel
from glyphscope.models.response_prefix import ModelTokenizer, tokenize_after
from glyphscope.runs import PreparedRequest
from glyphscope.runs.settling import settle
from glyphscope.runs.strategies.reading_ahead import ReadAhead, read_ahead
from glyphscope.runs.strategies.running import first_prompt
from glyphscope_gui.runs.worker.jobs import PricedPrompt
from glyphscope_gui.runs.worker.run_worker import RunWorker
from glyphscope_gui.shared.background import Background, WorkLine, this_task

T = TypeVar("T")
FIRST_PROMPT_KNOWN = ("direct", "two-stage", "loop")
"""The strategies whose first prompt is independent of the model's output."""
_IDLE = "idle"
"""The key of the work that ends when the model is needed."""
_SCORING = "scoring"
"""The key of the work that ends when a run needs the model; other queries wait for it."""


@dataclass(frozen=True)
class Answered:
    """The answer of a run's stage: its prompt, its tokens, and the model that wrote it."""

    run: str
    stage: str
    prompt: str
    tokens: Sequence[Token]
    model: ModelInfo


def token_boundaries(model: Model | None, answered: Answered) -> TokenBoundaries:
    """The boundaries of an answer's tokens, or why they are unknown. In the worker's thread."""
    own = model if model is not None and same_model(model.info, answered.model) else None
    if (kind := answered.model.kind) != "llama.cpp":
        return TokenBoundaries(unknown=f"a {kind} model reports no tokens")
    return boundaries_of(answered.prompt, [token.step for token in answered.tokens], own)


class ModelQueries(QObject):
    """Queries to the open model. `crashed` carries an unhandled exception, `promptRead` a ReadAhead, `promptPriced` the
    PromptRendered of the next run, or None if it cannot be counted. Lives in the window's thread.

    Reading ahead and measuring have the lowest priority: any other query, and any run, ends them.
    """

    crashed = Signal(object)
    promptRead = Signal(object)
    promptPriced = Signal(object)

    def __init__(self, worker: RunWorker, line: WorkLine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._worker = worker
        self._background = Background(self)
        self._line = self._background.join(line)

    def ask(
        self,
        key: str,
        work: Callable[[Model | None], T],
        done: Callable[[T], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Call `work` in the model's thread with the open model, or None, and then `done` with the result.

        `done` and `failed` are called in the window's thread. Only the newest query of a key is answered.
        """
        self._interrupt(_IDLE)
        stopped_to = self._worker.stopped_to
        work_with_model = partial(self._worker.answer, work, stopped_to=stopped_to, generates=key == _IDLE)
        self._background.start(key, work_with_model, done, failed or self.crashed.emit, line=self._line)

    def score(
        self,
        work: Callable[[Model | None], T],
        done: Callable[[T], None],
        failed: Callable[[BaseException], None],
        progress: Callable[[list[Any]], None],
    ) -> None:
        """Call `work`, which evaluates prompts for seconds and more, as `ask` does. `this_task().stopped` is set by a
        run that needs the model, and by `stop_scoring`; `progress` is called with what it reports.
        """
        self.interrupt()
        scoring = partial(self._worker.answer, work, stopped_to=self._worker.stopped_to, generates=True)
        self._background.start(_SCORING, scoring, done, failed, progress=progress, line=self._line)

    def stop_scoring(self) -> None:
        """End `score`, which may still have a result."""
        self._interrupt(_SCORING)

    def price(self, request: PreparedRequest, done: Callable[[PricedPrompt | None], None]) -> None:
        """Count the prompt of the request; `done` gets None without a model that can. `promptPriced` is emitted for a
        strategy with which it is the first prompt of a run.
        """
        direct = msgspec.structs.replace(request.request, strategy="direct")
        is_first = request.request.strategy in FIRST_PROMPT_KNOWN

        def priced(result: PricedPrompt | None) -> None:
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

        self.ask(_IDLE, partial(prompt_read, request=request), read)

    def measure_batches(
        self, done: Callable[[BatchTimes | None], None], failed: Callable[[BaseException], None]
    ) -> None:
        """Measure the model's batch size; `done` is called with None if something else interrupted that."""
        self.ask(_IDLE, batches_measured, done, failed)

    def interrupt(self) -> None:
        """Stop reading ahead, measuring and scoring, as a run needs the model."""
        self._interrupt(_IDLE, _SCORING)

    def _interrupt(self, *keys: str) -> None:
        for key in keys:
            self._background.stop(key)
        self._worker.interrupt()


def vocabulary_of(model: Model | None) -> Vocabulary:
    """The text of the model's tokens; an empty vocabulary if it is unknown."""
    try:
        return Vocabulary() if model is None else model.vocabulary()
    except GlyphscopeError:  # the next run reports the crash of the model's process
        return Vocabulary()


def problems_of(model: Model | None, request: PreparedRequest) -> tuple[RequestProblem, ...]:
    """The problems for which the request cannot be run with the open model; without one, those with any model."""
    return settle(request, model).problems


def prompt_read(model: Model | None, request: PreparedRequest) -> ReadAhead:
    """Evaluate the prompt of the next run in the open model; does nothing if none is open."""
    return ReadAhead() if model is None else read_ahead(request, model, this_task().stopped.is_set)


def is_unmeasured(model: Model | None) -> bool:
    """Whether the batch size of the open model is to be measured."""
    return isinstance(model, LlamaModel) and model.is_unmeasured


def batches_measured(model: Model | None) -> BatchTimes | None:
    """Measure the batch size of the open model. Raises ModelError and StorageError."""
    stop = this_task().stopped.is_set
    if not isinstance(model, LlamaModel) or stop():
        return None
    return model.measure_batches(lambda: model.cancel() if stop() else None)


def priced_prompt_of(model: Model | None, prepared: PreparedRequest) -> PricedPrompt | None:
    """The prompt of the request with the cost of each part; None without a model, or with a recorded model, which has
    only its own prompts.
    """
    if model is None or model.info.kind == "recorded":
        return None
    try:
        return PricedPrompt(first_prompt(prepared, model))
    except GlyphscopeError as error:
        return PricedPrompt(None, str(error))


@dataclass(frozen=True)
class Typed:
    """A text that is typed after `before`, which ends the answer so far."""

    before: bytes
    text: str


@dataclass(frozen=True)
class Pieces:
    """The tokens of a typed text. `count` is None where only a run can show it. `spelled` are the special tokens whose
    names the text contains (as plain text), `special` the ids of all special tokens.
    """

    typed: Typed
    count: int | None = None
    pieces: tuple[bytes, ...] = ()
    spelled: tuple[str, ...] = ()
    special: frozenset[int] = frozenset()


def pieces_of(model: Model | None, typed: Typed) -> Pieces:
    """The tokens of a typed text, without a count if the model cannot tokenize it. In the worker's thread."""
    if model is None or model.info.kind == "remote":
        return Pieces(typed)  # an endpoint would get a request at every key press
    try:
        vocabulary = model.vocabulary()
        special = frozenset(vocabulary.names.values())
        spelled = tuple(name for name in vocabulary.names if name in typed.text)
        if spelled or not typed.text:
            return Pieces(typed, spelled=spelled, special=special)
        if not vocabulary.tokens:
            return Pieces(typed, model.count_tokens(typed.text))
        data, tokenizer = typed.text.encode("utf-8", "replace"), ModelTokenizer(model, vocabulary.tokens)
        ids = tokenize_after(typed.before, data, tokenizer)
        pieces = tuple(vocabulary.tokens[each] for each in ids)
        return Pieces(typed, len(ids), pieces, special=special)
    except GlyphscopeError:
        return Pieces(typed)
