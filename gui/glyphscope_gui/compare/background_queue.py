"""Requests that run one after the other on the one model, in the background: the playground keeps its run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Signal

from glyphscope.events import AnyEvent, RunRequest
from glyphscope.runs import PreparedRequest, RunState, reduce_event
from glyphscope_gui.runs.run_controller import Applied, BackgroundEvents, RunController
from glyphscope_gui.shared.language import tr

BackgroundJob: TypeAlias = tuple[Any, PreparedRequest | RunRequest]
"""The owner's key, and the request."""
_HOPELESS = ("BAD_REQUEST", "PROMPT_FAILED", "CONTEXT_OVERFLOW", "CONSTRAINT_FAILED")
"""Codes of failures that do not depend on the seed."""


@dataclass(frozen=True)
class BackgroundRun:
    """A run that ended; `stopped` if it or the whole queue was stopped."""

    key: Any
    state: RunState
    events: tuple[AnyEvent, ...]
    stopped: bool

    @property
    def is_without_model(self) -> bool:
        """Whether the model could not be opened."""
        return self.state.started is None and self.state.failed is not None


class BackgroundQueue(QObject):
    """`began` carries the key of the run that begins, `grew` an Applied, `ended` a BackgroundRun, `runningChanged`
    whether anything runs. A slot of `ended` may `drop` runs that have not begun.
    """

    began = Signal(object)
    grew = Signal(object)
    ended = Signal(object)
    runningChanged = Signal(bool)

    def __init__(self, runs: RunController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self._waiting: list[BackgroundJob] = []
        self.job = 0
        """The run controller's id of the current run."""
        self.key: Any = None
        """The owner's key of the current run; None if there is none."""
        self.state = RunState()
        self.events: list[AnyEvent] = []
        self.is_running = False
        runs.background.connect(self._take)

    @property
    def can_begin(self) -> bool:
        """Whether the model is free for a run."""
        return not self._runs.is_busy

    def begin(self, jobs: Sequence[BackgroundJob]) -> bool:
        """Begin the first of these runs. Return False while the model is in use: the other run continues."""
        if not self.can_begin or not jobs:
            return False
        self._waiting = list(jobs)
        self._set_running(True)
        self._start()
        return True

    def drop(self, which: Callable[[Any], bool]) -> None:
        """Remove the waiting runs with these keys."""
        self._waiting = [job for job in self._waiting if not which(job[0])]

    def stop(self) -> None:
        """Stop the current run, and begin no other."""
        if self.is_running:
            self._runs.stop()

    def _start(self) -> None:
        self.key, request = self._waiting.pop(0)
        prepared = request if isinstance(request, PreparedRequest) else None
        self.state, self.events = RunState(prepared=prepared), []
        self.began.emit(self.key)
        self.job = self._runs.run_in_background(request)

    def _take(self, background: BackgroundEvents) -> None:
        if not self.is_running or background.job != self.job:
            return  # late events of an older queue
        if background.events:
            self.events.extend(background.events)
            for event in background.events:
                reduce_event(self.state, event)
            self.grew.emit(Applied(self.state, background.events, "run"))
        if background.ended:
            self._end(background.stopped)

    def _end(self, stopped: bool) -> None:
        if stopped:
            self._waiting = []
        self.ended.emit(BackgroundRun(self.key, self.state, tuple(self.events), stopped))
        if self._waiting:
            self._start()
            return
        self.key = None
        self._set_running(False)

    def _set_running(self, running: bool) -> None:
        if running != self.is_running:
            self.is_running = running
            self.runningChanged.emit(running)


class BackgroundRuns(QObject):
    """The outcome of the runs of a queue. `changed` is emitted when a run begins or ends, or all are cleared, `grew`
    when the text of a run grows; `ended` carries the events of a run that ended. `why` says why no further run begins.
    """

    changed = Signal()
    grew = Signal()
    ended = Signal(object)
    runningChanged = Signal(bool)

    def __init__(self, runs: RunController, stopped_words: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stopped_words = stopped_words
        self._queue = BackgroundQueue(runs, self)
        self._queue.began.connect(lambda _key: self.changed.emit())
        self._queue.grew.connect(lambda _applied: self.grew.emit())
        self._queue.ended.connect(self._end)
        self._queue.runningChanged.connect(self.runningChanged)
        self.why = ""

    @property
    def is_running(self) -> bool:
        return self._queue.is_running

    @property
    def progress_words(self) -> str:
        """The progress of the current run in words."""
        tokens = len(self._queue.state.tokens)
        return tr("%n token(s)", "", tokens) if tokens else tr("reading the prompt…")

    def stop(self) -> None:
        """Stop the current run, and begin no other; the results so far stay."""
        self._queue.stop()

    def _count(self, run: BackgroundRun) -> None:
        """Add an ended run to the outcome."""
        raise NotImplementedError

    def _end(self, run: BackgroundRun) -> None:
        self._count(run)
        if run.events:
            self.ended.emit(run.events)
        failed = run.state.failed
        if run.stopped:
            self.why = self._stopped_words
        elif failed is not None and is_hopeless(run):
            self.why = f"{failed.message} {failed.hint}".strip()
            self._queue.drop(lambda _key: True)
        self.changed.emit()


def is_hopeless(run: BackgroundRun) -> bool:
    """Whether the same request would fail with any other seed."""
    failed = run.state.failed
    return failed is not None and (run.is_without_model or failed.code in _HOPELESS)
