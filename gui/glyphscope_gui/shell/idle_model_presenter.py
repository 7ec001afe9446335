"""The work of an idle model: reading the prompt of the next run, so that Run begins at once, and timing batches."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.base.errors import ModelError
from glyphscope.models.batch_sizes import MAX_OTHERS, BatchTimes
from glyphscope.runs import PreparedRequest, RunState
from glyphscope.runs.strategies.reading_ahead import ReadAhead, can_read_ahead
from glyphscope_gui.context import AppContext
from glyphscope_gui.runs.model_queries import is_unmeasured
from glyphscope_gui.runs.worker.jobs import ModelStatus

PAUSE_MS = 400
"""Delay after the last change before the prompt is read, as a pause in typing may be short."""
IDLE_MS = 10_000
"""Time without a change before batches are timed; the machine must be idle in it, too."""
_MAX_FAILURES = 3


class IdleModelPresenter(QObject):
    """`begun` is emitted when reading begins, `ended` with a ReadAhead when it is over, complete or not.

    `measuring` is emitted when the model's batch size is measured, which is done once, and `measured` at the end: with
    BatchTimes, None if it was interrupted, or an exception.
    """

    begun = Signal()
    ended = Signal(object)
    measuring = Signal()
    measured = Signal(object)

    def __init__(self, context: AppContext) -> None:
        super().__init__(context.window)
        self._context = context
        self._evaluated: PreparedRequest | None = None
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._read)
        self._idle = QTimer(self, singleShot=True, interval=IDLE_MS)
        self._idle.timeout.connect(self._ask_for_batches)
        self._failures = 0
        project, runs = context.project, context.runs
        for signal in (
            project.optionsChanged,
            project.prompt.changed,
            project.tools.changed,
            project.grammar.changed,
            runs.phaseChanged,
            context.settings.changed,
        ):
            signal.connect(lambda _change=None: self._wait())
        runs.modelStatusChanged.connect(self._model_changed)
        runs.began.connect(self._run_began)
        runs.background.connect(self._forget)

    def _model_changed(self, status: ModelStatus) -> None:
        self._forget()
        self._failures = 0
        self._idle.stop()
        if status.phase == "ready":
            self._wait()

    def _wait(self) -> None:
        self._idle.stop()
        self._pause.start()

    def _run_began(self, state: RunState) -> None:
        """The run evaluates its prompt itself; reading it again afterwards would discard the answer's tokens."""
        self._evaluated = state.prepared

    def _forget(self, _other: object = None) -> None:
        """Forget the evaluated prompt: another one replaces it in the model's memory."""
        self._evaluated = None

    def _read(self) -> None:
        runs, info = self._context.runs, self._context.runs.model.info
        if runs.is_busy or info is None or not can_read_ahead(info) or self._context.project.prompt.problem:
            return
        if not self._context.settings.value.read_ahead or on_battery():
            return
        request = self._context.project.next_run()
        if request == self._evaluated:
            self._wait_for_idle()
            return
        self.begun.emit()
        runs.queries.read_ahead(request, lambda result: self._ended(request, result))

    def _ended(self, request: PreparedRequest, result: ReadAhead) -> None:
        if result.complete:
            self._evaluated = request
            self._wait_for_idle()
        elif (result.events or result.stopped) and not result.failed:  # interrupted by other work
            self._wait()
        self.ended.emit(result)

    def _wait_for_idle(self) -> None:
        _load()  # the next call returns the load since this one
        self._idle.start()

    def _ask_for_batches(self) -> None:
        runs = self._context.runs
        if runs.is_busy or not self._context.settings.value.read_ahead or on_battery():
            return
        if _load() > MAX_OTHERS * 100:
            self._wait_for_idle()
        else:
            runs.queries.ask("unmeasured", is_unmeasured, self._measure)

    def _measure(self, unmeasured: bool) -> None:
        if unmeasured and not self._context.runs.is_busy:
            self.measuring.emit()
            self._context.runs.queries.measure_batches(self._measured, self._not_measured)

    def _measured(self, times: BatchTimes | None) -> None:
        if times is None:  # interrupted by other work
            self._wait()
        self.measured.emit(times)

    def _not_measured(self, error: BaseException) -> None:
        self._failures += 1
        if isinstance(error, ModelError) and self._failures < _MAX_FAILURES:
            self._wait_for_idle()
        self.measured.emit(error)


def _load() -> float:
    """The processors' load in percent since the last call."""
    import psutil  # here and below, as a window without a model does without it

    load: float = psutil.cpu_percent()
    return load


def on_battery() -> bool:
    """Whether work ahead of a run would use a battery. False if the system does not report that, as in a container."""
    import psutil

    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError, ValueError):
        return False
    return battery is not None and battery.power_plugged is False
