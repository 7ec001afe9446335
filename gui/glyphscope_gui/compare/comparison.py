"""A comparison: the same request in a few variants, one after the other on the one model, each with its own state.

If a column fails, it says so and the next one runs: a model whose process crashed is restarted. If a model cannot be
opened, its other columns are not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from glyphscope.evals.matrix.seeds import RequestPlan
from glyphscope.events import AnyEvent, RunFailed
from glyphscope.runs import PreparedRequest, run_state
from glyphscope_gui.compare.experiment import ExperimentRun, RunExperiment, RunPhase
from glyphscope_gui.compare.variants import (
    MAX_COLUMNS,
    MIN_COLUMNS,
    Variant,
    column_request,
    next_variant,
    variant_names,
)
from glyphscope_gui.runs.run_controller import RunController
from glyphscope_gui.shared.language import tr


@dataclass
class Column(ExperimentRun):
    """A variant and its run."""

    variant: Variant = field(default_factory=dict)
    name: str = ""


def has_turn(column: Column) -> bool:
    """Whether the column ran, runs or waits for its turn, so that its output can be compared."""
    if column.phase in (RunPhase.NEW, RunPhase.NOT_RUN):
        return False
    return column.phase is not RunPhase.STOPPED or column.state.started is not None


class Comparison(RunExperiment):
    """`arranged` is emitted when the columns change. The keys of the runs are the columns' places."""

    arranged = Signal()

    def __init__(
        self, runs: RunController, variants: Sequence[Variant], parent: QObject | None = None
    ) -> None:
        super().__init__(runs, tr("Stopped before this column ran."), parent)
        self.base: PreparedRequest | None = None
        """The request of the last comparison."""
        self.columns: list[Column] = []
        self.arrange(variants)

    # -- the columns -------------------------------------------------------------------------------------------

    @property
    def variants(self) -> list[Variant]:
        return [column.variant for column in self.columns]

    def arrange(self, variants: Sequence[Variant]) -> None:
        """Replace the columns, without runs. Does nothing while a comparison runs."""
        if not self.is_running:
            self.columns = [Column(variant=variant) for variant in variants[:MAX_COLUMNS]]
            self._renamed()

    def show_runs(self, variants: Sequence[Variant], runs: Sequence[Sequence[AnyEvent]]) -> None:
        """Show ended runs in the columns, each with its settings, instead of running anything."""
        if not self.is_running:
            self.base = None
            self.columns = [
                Column(variant=variant, phase=RunPhase.DONE, state=run_state(events), events=list(events))
                for variant, events in zip(variants, runs[:MAX_COLUMNS])
            ]
            self._renamed()

    @property
    def is_recorded(self) -> bool:
        """Whether columns show runs that it did not make."""
        return any(column.planned is None and column.has_ended for column in self.columns)

    def change(self, place: int, variant: Variant) -> None:
        """Set another variant in a column, and remove its run."""
        if not self.is_running and self.columns[place].variant != variant:
            self.columns[place] = Column(variant=variant)
            self._renamed()

    def add(self) -> None:
        """Add a column that differs from the others."""
        if not self.is_running and len(self.columns) < MAX_COLUMNS:
            self.columns.append(Column(variant=next_variant(self.variants)))
            self._renamed()

    def remove(self, index: int) -> None:
        if not self.is_running and len(self.columns) > MIN_COLUMNS:
            del self.columns[index]
            self._renamed()

    def _renamed(self) -> None:
        for column, name in zip(self.columns, variant_names(self.variants), strict=True):
            column.name = name
        self.arranged.emit()

    # -- the run -----------------------------------------------------------------------------------------------

    def run(self, base: PreparedRequest) -> bool:
        """Run all columns on `base`. Return False if the model is in use: the other run continues.

        Columns of the same model run one after the other, so that each model is opened once.
        """
        requests = [column_request(variant, base) for variant in self.variants]
        models = list(dict.fromkeys(request.request.model for request in requests))
        order = sorted(range(len(requests)), key=lambda place: models.index(requests[place].request.model))
        if not self.begin(RequestPlan({str(place): requests[place] for place in order})):
            return False
        self.base = base
        return True

    def _planned(self, plan: RequestPlan) -> dict[int, Column]:
        columns = {int(planned.scenario.id): planned for planned in plan.samples}
        for place, planned in columns.items():
            self.columns[place].planned = planned
        return {place: self.columns[place] for place in columns}

    def _fail_alike(self, one: ExperimentRun, other: ExperimentRun) -> bool:
        return one.is_without_model and one.request.request.model == other.request.request.model

    def _reason(self, failed: RunFailed) -> str:
        return tr("No model for this column: {message}", message=failed.message)
