"""An A/B: all seeds of the first prompt, then all of the second, one run after the other on the one model."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from glyphscope.evals.ab import AbReport, Pair, Trial, ab_report, pair_of, seeded, trial_of
from glyphscope.events import AnyEvent
from glyphscope.runs import RunState
from glyphscope_gui.compare.ab_prompts import NAMES, AbPlan
from glyphscope_gui.compare.ab_table_model import AbRow
from glyphscope_gui.compare.aside_queue import AsideQueue, AsideRun, is_hopeless
from glyphscope_gui.runs.run_controller import RunController
from glyphscope_gui.shared.language import tr

Place = tuple[int, int]
"""Which prompt, 0 or 1, and the place of the seed."""


class AbRuns(QObject):
    """`changed` is emitted when a run ended, or all were cleared; `ended` carries the events of a run that ended.

    `report` counts the pairs that are there; None before the first of them.
    """

    changed = Signal()
    ended = Signal(object)
    runningChanged = Signal(bool)

    def __init__(self, runs: RunController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = AsideQueue(runs, self)
        self._queue.ended.connect(self._end)
        self._queue.runningChanged.connect(self.runningChanged)
        self.plan: AbPlan | None = None
        self.states: dict[Place, RunState] = {}
        self.events: dict[Place, tuple[AnyEvent, ...]] = {}
        self.pairs: dict[int, Pair] = {}
        self.report: AbReport | None = None
        self.why = ""

    @property
    def is_running(self) -> bool:
        return self._queue.is_running

    @property
    def at(self) -> Place | None:
        """The run that is running."""
        place: Place | None = self._queue.key
        return place

    def begin(self, plan: AbPlan) -> bool:
        """False while somebody else has the model."""
        jobs = [
            ((which, place), seeded(request, seed))
            for which, request in enumerate(plan.requests)
            for place, seed in enumerate(plan.seeds)
        ]
        before = self.plan, self.report, self.why, self.states, self.events, self.pairs
        self.plan, self.report, self.why = plan, None, ""
        self.states, self.events, self.pairs = {}, {}, {}
        if not self._queue.begin(jobs):
            self.plan, self.report, self.why, self.states, self.events, self.pairs = before
            return False
        self.changed.emit()
        return True

    def stop(self) -> None:
        """Stop the current run, and begin no other; the results so far stay."""
        self._queue.stop()

    def rows(self) -> list[AbRow]:
        """A row for each seed, as far as it has run."""
        plan = self.plan
        if plan is None:
            return []
        rows = []
        for place, seed in enumerate(plan.seeds):
            pair = self.pairs.get(place)
            if pair is not None:
                rows.append(AbRow(seed, pair.first, pair.second, pair.difference))
            else:
                rows.append(AbRow(seed, self._trial((0, place)), self._trial((1, place))))
        return rows

    # -- inside ------------------------------------------------------------------------------------------------

    def _trial(self, at: Place) -> Trial | None:
        state = self.states.get(at)
        return trial_of(state, self.plan.judge) if self.plan is not None and state is not None else None

    def _end(self, run: AsideRun) -> None:
        at: Place = run.key
        self.states[at], self.events[at] = run.state, run.events
        self._judge(at[1])
        if run.events:
            self.ended.emit(run.events)
        failed = run.state.failed
        if run.stopped:
            self.why = tr("Stopped: the figures cover the finished pairs.")
        elif failed is not None and is_hopeless(run):
            self.why = f"{failed.message} {failed.hint}".strip()
            self._queue.drop(lambda _key: True)
        self.changed.emit()

    def _judge(self, place: int) -> None:
        """The pair of a seed, once both prompts have run with it."""
        plan, both = self.plan, (self.states.get((0, place)), self.states.get((1, place)))
        if plan is None or both[0] is None or both[1] is None:
            return
        self.pairs[place] = pair_of(plan.seeds[place], (both[0], both[1]), NAMES, plan.judge)
        tokens = [
            state.prompt.tokens or None if state.prompt is not None else None for state in both if state
        ]
        self.report = ab_report(
            [self.pairs[at] for at in sorted(self.pairs)],
            NAMES,
            measure=plan.measure,
            prompt_tokens=(tokens[0], tokens[1]),
            differ=plan.differ,
        )
