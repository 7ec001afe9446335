"""Reads the prompt of the next run while the model is idle, so that Run begins at once."""

from __future__ import annotations

import psutil
from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.runs import PreparedRequest, RunState
from glyphscope.strategies.read_ahead import ReadAhead, can_read_ahead
from glyphscope_gui.context import AppContext
from glyphscope_gui.runs.worker.jobs import ModelStatus

PAUSE_MS = 400
"""Delay after the last change before the prompt is read, as a pause in typing may be short."""


class ReadAheadPresenter(QObject):
    """`begun` is emitted when reading begins, `ended` with a ReadAhead when it is over, complete or not."""

    begun = Signal()
    ended = Signal(object)

    def __init__(self, context: AppContext) -> None:
        super().__init__(context.window)
        self._context = context
        self._evaluated: PreparedRequest | None = None
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._read)
        project, runs = context.project, context.runs
        for signal in (
            project.optionsChanged,
            project.prompt.changed,
            project.tools.changed,
            project.grammar.changed,
            runs.phaseChanged,
            context.settings.changed,
        ):
            signal.connect(lambda _change=None: self._pause.start())
        runs.modelStatusChanged.connect(self._model_changed)
        runs.began.connect(self._run_began)
        runs.background.connect(self._forget)

    def _model_changed(self, status: ModelStatus) -> None:
        self._forget()
        if status.phase == "ready":
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
            return
        self.begun.emit()
        runs.queries.read_ahead(request, lambda result: self._ended(request, result))

    def _ended(self, request: PreparedRequest, result: ReadAhead) -> None:
        if result.complete:
            self._evaluated = request
        elif result.events and not result.failed:  # interrupted by other work
            self._pause.start()
        self.ended.emit(result)


def on_battery() -> bool:
    """Whether reading ahead would use up a battery. False if the system does not report that, as in a container."""
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError, ValueError):
        return False
    return battery is not None and battery.power_plugged is False
