"""An A/B: all seeds of the first prompt, then all of the second, one run after the other on the one model."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QObject

from glyphscope.evals.ab import AbPlan, AbReport, AbResults, Place, Trial, place_of
from glyphscope.events import AnyEvent
from glyphscope.runs import RunState
from glyphscope_gui.compare.background_queue import BackgroundRun, BackgroundRuns
from glyphscope_gui.runs.run_controller import RunController
from glyphscope_gui.shared.language import tr


class AbRow(NamedTuple):
    """A trial is None until it has run."""

    seed: int
    first: Trial | None
    second: Trial | None
    difference: str = ""


class AbRuns(BackgroundRuns):
    """`report` counts the finished pairs; None before the first one."""

    def __init__(self, runs: RunController, parent: QObject | None = None) -> None:
        super().__init__(runs, tr("Stopped: the figures cover the finished pairs."), parent)
        self.results: AbResults | None = None
        self.events: dict[Place, tuple[AnyEvent, ...]] = {}
        self.report: AbReport | None = None

    @property
    def plan(self) -> AbPlan | None:
        return None if self.results is None else self.results.plan

    @property
    def states(self) -> dict[Place, RunState]:
        return {} if self.results is None else self.results.states

    @property
    def at(self) -> Place | None:
        """The current run."""
        place: Place | None = self._queue.key
        return place

    def begin(self, plan: AbPlan) -> bool:
        """Begin the runs of a plan. Return False while the model is in use. Raises RegistryError."""
        jobs = [(place_of(each), each.request) for each in plan.samples if each.request is not None]
        if not self._queue.can_begin:
            return False
        self.results, self.events, self.report, self.why = AbResults(plan), {}, None, ""
        return self._queue.begin(jobs)

    def rows(self) -> list[AbRow]:
        """A row for each seed, with its results so far."""
        results = self.results
        if results is None:
            return []
        rows = []
        for place, seed in enumerate(results.plan.seeds):
            pair = results.pairs.get(place)
            if pair is not None:
                rows.append(AbRow(seed, pair.first, pair.second, pair.difference))
            else:
                rows.append(AbRow(seed, results.trial((0, place)), results.trial((1, place))))
        return rows

    def _count(self, run: BackgroundRun) -> None:
        at: Place = run.key
        assert self.results is not None
        self.results.add(at, run.state)
        self.events[at] = run.events
        self.report = self.results.report() if self.results.pairs else None
