"""One request with several seeds, run in the background, and the distribution of its answers so far."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject

from glyphscope.evals.distribution import Distribution, Drawn, distribution, drawn_of
from glyphscope.evals.matrix.seeds import seed_samples
from glyphscope.events import AnyEvent
from glyphscope.runs import PreparedRequest
from glyphscope_gui.compare.aside_queue import AsideRun, AsideRuns
from glyphscope_gui.runs.run_controller import RunController
from glyphscope_gui.shared.language import tr


class SeedRuns(AsideRuns):
    """`result` is the distribution of the answers that are there."""

    def __init__(self, runs: RunController, parent: QObject | None = None) -> None:
        super().__init__(runs, tr("Stopped: the figures cover the finished runs."), parent)
        self._drawn: list[Drawn] = []
        self.seeds: tuple[int, ...] = ()
        self.events: dict[int, tuple[AnyEvent, ...]] = {}
        self.result: Distribution = distribution(())

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

    def _count(self, run: AsideRun) -> None:
        self._drawn.append(drawn_of(run.key, run.state))
        self.events[run.key] = run.events
        self.result = distribution(self._drawn)
