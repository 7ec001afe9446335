"""One request with several seeds, run in the background, and the distribution of its answers so far."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from glyphscope.evals.distribution import Distribution, Drawn, distribution, drawn_of
from glyphscope.evals.matrix.seeds import seed_samples
from glyphscope.events import AnyEvent
from glyphscope.runs import PreparedRequest
from glyphscope_gui.compare.aside_queue import AsideQueue, AsideRun, is_hopeless
from glyphscope_gui.runs.run_controller import RunController
from glyphscope_gui.shared.language import tr


class SeedRuns(QObject):
    """`changed` is emitted when a run ended, or all were cleared; `ended` carries the events of a run that ended."""

    changed = Signal()
    ended = Signal(object)
    runningChanged = Signal(bool)

    def __init__(self, runs: RunController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = AsideQueue(runs, self)
        self._queue.ended.connect(self._end)
        self._queue.runningChanged.connect(self.runningChanged)
        self._drawn: list[Drawn] = []
        self.seeds: tuple[int, ...] = ()
        self.events: dict[int, tuple[AnyEvent, ...]] = {}
        self.result: Distribution = distribution(())
        self.why = ""

    @property
    def is_running(self) -> bool:
        return self._queue.is_running

    @property
    def seed(self) -> int | None:
        """That of the run that is running."""
        seed: int | None = self._queue.key
        return seed

    def begin(self, request: PreparedRequest, seeds: Sequence[int]) -> bool:
        """Run it with each of the seeds. False while the model is in use: what there is stays."""
        samples = seed_samples({"seed": request}, seeds)
        jobs = [(each.seed, each.request) for each in samples if each.request is not None]
        if not self._queue.begin(jobs):
            return False
        self._drawn, self.events, self.why = [], {}, ""
        self.seeds, self.result = tuple(seeds), distribution(())
        self.changed.emit()
        return True

    def stop(self) -> None:
        """Stop the current run, and begin no other; the results so far stay."""
        self._queue.stop()

    def add(self, seed: int, run: AsideRun) -> None:
        """Count a run that ended."""
        self._drawn.append(drawn_of(seed, run.state))
        self.events[seed] = run.events
        self.result = distribution(self._drawn)

    # -- inside ------------------------------------------------------------------------------------------------

    def _end(self, run: AsideRun) -> None:
        self.add(run.key, run)
        if run.events:
            self.ended.emit(run.events)
        failed = run.state.failed
        if run.stopped:
            self.why = tr("Stopped: the figures cover the finished runs.")
        elif failed is not None and is_hopeless(run):
            self.why = f"{failed.message} {failed.hint}".strip()
            self._queue.drop(lambda _key: True)
        self.changed.emit()
