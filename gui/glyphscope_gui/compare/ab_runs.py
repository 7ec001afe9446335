"""An A/B: all seeds of the first prompt, then all of the second, one run after the other on the one model."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from glyphscope.calling import RunState, fold
from glyphscope.evals.ab import AbReport, Pair, Trial, ab_report, pair_of, seeded, trial_of
from glyphscope.events import AnyEvent
from glyphscope_gui.compare.ab_prompts import NAMES, AbPlan
from glyphscope_gui.compare.ab_table_model import AbRow
from glyphscope_gui.runs.run_controller import Aside, RunController
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
        self._runs = runs
        self._job = 0
        self._now = RunState()
        self._events: list[AnyEvent] = []
        self._queue: list[Place] = []
        self.plan: AbPlan | None = None
        self.is_running = False
        self.states: dict[Place, RunState] = {}
        self.events: dict[Place, tuple[AnyEvent, ...]] = {}
        self.pairs: dict[int, Pair] = {}
        self.report: AbReport | None = None
        self.why = ""
        runs.aside.connect(self._take)

    @property
    def at(self) -> Place | None:
        """What runs now."""
        return self._queue[0] if self.is_running and self._queue else None

    def begin(self, plan: AbPlan) -> bool:
        """False while somebody else has the model."""
        if self._runs.is_busy:
            return False
        self.plan, self.report, self.why = plan, None, ""
        self.states, self.events, self.pairs = {}, {}, {}
        self._queue = [(which, place) for which in (0, 1) for place in range(len(plan.seeds))]
        self._set_running(True)
        self.changed.emit()
        self._start()
        return True

    def stop(self) -> None:
        """Stop the current run, and begin no other; the results so far stay."""
        if self.is_running:
            self._runs.stop()

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

    def _start(self) -> None:
        assert self.plan is not None, "begin was called"
        which, place = self._queue[0]
        self._now, self._events = RunState(), []
        self._job = self._runs.run_aside(seeded(self.plan.requests[which], self.plan.seeds[place]))

    def _take(self, aside: Aside) -> None:
        if not self.is_running or aside.job != self._job:
            return
        self._events.extend(aside.events)
        for event in aside.events:
            fold(self._now, event)
        if aside.ended:
            self._end(aside.stopped)

    def _end(self, stopped: bool) -> None:
        at = self._queue.pop(0)
        self.states[at], self.events[at] = self._now, tuple(self._events)
        self._judge(at[1])
        if self._events:
            self.ended.emit(self.events[at])
        failed = self._now.failed
        if stopped:
            self.why = tr("Stopped: the figures are those of the pairs that ended.")
        elif failed is not None and (self._now.started is None or failed.code in _HOPELESS):
            self.why = f"{failed.message} {failed.hint}".strip()
        elif self._queue:
            self.changed.emit()
            self._start()
            return
        self._queue = []
        self._set_running(False)
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

    def _set_running(self, running: bool) -> None:
        if running != self.is_running:
            self.is_running = running
            self.runningChanged.emit(running)


_HOPELESS = ("BAD_REQUEST", "PROMPT_FAILED", "CONTEXT_OVERFLOW", "CONSTRAINT_FAILED")
"""What fails with any seed."""
