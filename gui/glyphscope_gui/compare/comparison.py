"""A comparison: the same request in a few variants, one after the other on the one model, each with its own state.

The model writes one text at a time, so the columns take turns. If a column fails, it says so and the next one runs: a
model whose process crashed is restarted. If a model cannot be opened, its other columns are not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from PySide6.QtCore import QObject, Signal

from glyphscope.events import AnyEvent
from glyphscope.runs import PreparedRequest, RunState
from glyphscope_gui.compare.background_queue import BackgroundQueue, BackgroundRun
from glyphscope_gui.compare.variants import MAX_COLUMNS, MIN_COLUMNS, Variant, next_variant, variant_names
from glyphscope_gui.runs.run_controller import Applied, RunController
from glyphscope_gui.shared.language import tr


class ColumnPhase(Enum):
    """The phase of a column; a STOPPED column has its output so far, a NOT_RUN one has none."""

    NEW = "new"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    NOT_RUN = "not-run"


@dataclass
class Column:
    """`why` is the reason why it did not run. Only `Comparison` changes columns, in place."""

    variant: Variant
    name: str = ""
    phase: ColumnPhase = ColumnPhase.NEW
    why: str = ""
    state: RunState = field(default_factory=RunState)
    events: list[AnyEvent] = field(default_factory=list)

    @property
    def has_ended(self) -> bool:
        """Whether its run has ended, complete or stopped."""
        return self.phase in (ColumnPhase.DONE, ColumnPhase.STOPPED)

    def clear(self, phase: ColumnPhase = ColumnPhase.NEW) -> None:
        """Remove the run."""
        self.phase, self.why, self.state, self.events = phase, "", RunState(), []


def has_turn(column: Column) -> bool:
    """Whether the column ran, runs or waits for its turn, so that its output can be compared."""
    if column.phase in (ColumnPhase.NEW, ColumnPhase.NOT_RUN):
        return False
    return column.phase is not ColumnPhase.STOPPED or column.state.started is not None


@dataclass(frozen=True)
class Grown:
    """New events of the run of the column at `place`."""

    place: int
    applied: Applied


class Comparison(QObject):
    """`arranged` is emitted when the columns change; `changed` carries the place of a column whose phase changed or
    whose run was removed, `grew` a Grown, `ended` the events of a column's run that ended or was stopped. `queue` says
    whether a comparison runs.
    """

    arranged = Signal()
    changed = Signal(object)
    grew = Signal(object)
    ended = Signal(object)

    def __init__(
        self, runs: RunController, variants: Sequence[Variant], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._runs = runs
        self._models: list[str] = []
        """The model of each column in the last comparison."""
        self.base: PreparedRequest | None = None
        """The request of the last comparison."""
        self.columns: list[Column] = []
        self.queue = BackgroundQueue(runs, self)
        self.queue.began.connect(self._begin)
        self.queue.grew.connect(lambda applied: self.grew.emit(Grown(self.queue.key, applied)))
        self.queue.ended.connect(self._end)
        self.arrange(variants)

    # -- the columns -------------------------------------------------------------------------------------------

    @property
    def variants(self) -> list[Variant]:
        return [column.variant for column in self.columns]

    @property
    def running_place(self) -> int | None:
        """The place of the running column."""
        place: int | None = self.queue.key
        return place

    @property
    def is_running(self) -> bool:
        return self.queue.is_running

    def arrange(self, variants: Sequence[Variant]) -> None:
        """Replace the columns, without runs. Does nothing while a comparison runs."""
        if not self.is_running:
            self.columns = [Column(variant) for variant in variants[:MAX_COLUMNS]]
            self._renamed()

    def change(self, place: int, variant: Variant) -> None:
        """Set another variant in a column, and remove its run."""
        if not self.is_running and self.columns[place].variant != variant:
            self.columns[place] = Column(variant)
            self._renamed()

    def add(self) -> None:
        """Add a column that differs from the others."""
        if not self.is_running and len(self.columns) < MAX_COLUMNS:
            self.columns.append(Column(next_variant(self.variants)))
            self._renamed()

    def remove(self, place: int) -> None:
        if not self.is_running and len(self.columns) > MIN_COLUMNS:
            del self.columns[place]
            self._renamed()

    def _renamed(self) -> None:
        for column, name in zip(self.columns, variant_names(self.variants), strict=True):
            column.name = name
        self.arranged.emit()

    # -- the run -----------------------------------------------------------------------------------------------

    def begin(self, base: PreparedRequest) -> bool:
        """Run all columns on `base`. Return False if the model is in use: the other run continues.

        Columns of the same model run one after the other, so that each model is opened once.
        """
        requests = [column.variant.request(base) for column in self.columns]
        models = list(dict.fromkeys(request.request.model for request in requests))
        order = sorted(range(len(requests)), key=lambda place: models.index(requests[place].request.model))
        self._models = [request.request.model for request in requests]
        if self.queue.is_running or self._runs.is_busy:
            return False
        self.base = base
        for place, column in enumerate(self.columns):
            column.clear(ColumnPhase.WAITING)
            self.changed.emit(place)
        return self.queue.begin([(place, requests[place]) for place in order])

    def stop(self) -> None:
        """Stop the current run and begin no other; the results so far are kept."""
        self.queue.stop()

    def _begin(self, place: int) -> None:
        column = self.columns[place]
        column.phase, column.state, column.events = ColumnPhase.RUNNING, self.queue.state, self.queue.events
        self.changed.emit(place)

    def _end(self, run: BackgroundRun) -> None:
        place: int = run.key
        column = self.columns[place]
        cut = run.stopped and run.state.outcome in ("running", "cancelled")
        column.phase = ColumnPhase.STOPPED if cut else ColumnPhase.DONE
        self.changed.emit(place)
        if run.events:
            self.ended.emit(run.events)
        failed = run.state.failed
        if run.stopped:
            self._skip_waiting(tr("Stopped before this column ran."), lambda _place: True)
        elif failed is not None and run.is_without_model:
            model = self._models[place]
            self._skip_waiting(
                tr("No model for this column: {message}", message=failed.message),
                lambda other: self._models[other] == model,
            )

    def _skip_waiting(self, why: str, which: Callable[[int], bool]) -> None:
        """Skip the waiting columns that `which` selects, with the reason `why`."""
        for place, column in enumerate(self.columns):
            if column.phase is ColumnPhase.WAITING and which(place):
                column.phase, column.why = ColumnPhase.NOT_RUN, why
                self.changed.emit(place)
        self.queue.drop(which)
