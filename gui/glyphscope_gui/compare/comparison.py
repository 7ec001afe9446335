"""A comparison: the same request in a few variants, one after the other on the one model, each with its own state.

The model writes one text at a time, so the columns take turns. A column that fails says so and the next one runs: a
model whose process died is started anew. Without a model there is nothing to go on with, and the others are not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from glyphscope.calling import PreparedRequest, fold
from glyphscope_gui.compare.column_state import Column, ColumnPhase
from glyphscope_gui.compare.variants import FEWEST, MOST, Variant, next_variant, variant_names
from glyphscope_gui.runs.run_controller import Applied, Aside, RunController
from glyphscope_gui.shared.language import tr


@dataclass(frozen=True)
class Grown:
    """What the column at `place` grew by."""

    place: int
    applied: Applied


class Comparison(QObject):
    """`arranged` is emitted when there are other columns; `changed` carries the place of a column whose phase is
    another or whose run is gone, `grew` a Grown, `ended` the events of a column's run that came to its end or was
    stopped, `runningChanged` whether a comparison runs.
    """

    arranged = Signal()
    changed = Signal(object)
    grew = Signal(object)
    ended = Signal(object)
    runningChanged = Signal(bool)

    def __init__(
        self, runs: RunController, variants: Sequence[Variant], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._runs = runs
        self._base: PreparedRequest | None = None
        self._job = 0
        self._at = 0
        self.is_running = False
        self.columns: list[Column] = []
        self.arrange(variants)
        runs.aside.connect(self._take)

    # -- the columns -------------------------------------------------------------------------------------------

    @property
    def variants(self) -> list[Variant]:
        return [column.variant for column in self.columns]

    @property
    def running_place(self) -> int | None:
        """The column that runs now."""
        return self._at if self.is_running else None

    def arrange(self, variants: Sequence[Variant]) -> None:
        """Other columns, without runs. Not while a comparison runs."""
        if not self.is_running:
            self.columns = [Column(variant) for variant in variants[:MOST]]
            self._renamed()

    def change(self, place: int, variant: Variant) -> None:
        """Another variant in a column; what ran there was another one's."""
        if not self.is_running and self.columns[place].variant != variant:
            self.columns[place] = Column(variant)
            self._renamed()

    def add(self) -> None:
        """One more column, which differs from those that are there."""
        if not self.is_running and len(self.columns) < MOST:
            self.columns.append(Column(next_variant(self.variants)))
            self._renamed()

    def remove(self, place: int) -> None:
        if not self.is_running and len(self.columns) > FEWEST:
            del self.columns[place]
            self._renamed()

    def _renamed(self) -> None:
        for column, name in zip(self.columns, variant_names(self.variants), strict=True):
            column.name = name
        self.arranged.emit()

    # -- the run -----------------------------------------------------------------------------------------------

    def begin(self, base: PreparedRequest) -> bool:
        """Run all columns on `base`. False while somebody else has the model: nobody's run is disturbed."""
        if self._runs.is_busy and not self.is_running:
            return False
        self._base, self._at = base, 0
        for place, column in enumerate(self.columns):
            column.clear(ColumnPhase.WAITING)
            self.changed.emit(place)
        self._set_running(True)
        self._start(0)
        return True

    def stop(self) -> None:
        """Stop the current run, and do not begin the others; the results so far stay."""
        if self.is_running:
            self._runs.stop()

    # -- inside ------------------------------------------------------------------------------------------------

    def _start(self, place: int) -> None:
        assert self._base is not None, "begin was called"
        self._at = place
        column = self.columns[place]
        column.phase = ColumnPhase.RUNNING
        self.changed.emit(place)
        self._job = self._runs.run_aside(column.variant.request(self._base))

    def _take(self, aside: Aside) -> None:
        if not self.is_running or aside.job != self._job:
            return  # late news of an older comparison
        column = self.columns[self._at]
        if aside.events:
            column.events.extend(aside.events)
            for event in aside.events:
                fold(column.state, event)
            self.grew.emit(Grown(self._at, Applied(column.state, aside.events, "run")))
        if aside.ended:
            self._end(column, aside.stopped)

    def _end(self, column: Column, stopped: bool) -> None:
        place = self._at
        cut = stopped and column.state.outcome in ("running", "cancelled")
        column.phase = ColumnPhase.STOPPED if cut else ColumnPhase.DONE
        self.changed.emit(place)
        if column.events:
            self.ended.emit(tuple(column.events))
        failed = column.state.failed
        if stopped:
            self._give_up(tr("Stopped before its turn."))
        elif column.state.started is None and failed is not None:
            self._give_up(tr("There is no model to run it: {message}", message=failed.message))
        elif place + 1 < len(self.columns):
            self._start(place + 1)
        else:
            self._set_running(False)

    def _give_up(self, why: str) -> None:
        """The columns that have not had their turn do not get one."""
        for place in range(self._at + 1, len(self.columns)):
            self.columns[place].phase, self.columns[place].why = ColumnPhase.NOT_RUN, why
            self.changed.emit(place)
        self._set_running(False)

    def _set_running(self, running: bool) -> None:
        if running != self.is_running:
            self.is_running = running
            self.runningChanged.emit(running)
