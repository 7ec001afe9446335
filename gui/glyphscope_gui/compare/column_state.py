"""A column of a comparison: its variant, where it is, and the run it has by now."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from glyphscope.events import AnyEvent
from glyphscope.runs import RunState
from glyphscope_gui.compare.variants import Variant


class ColumnPhase(Enum):
    """Where a column is; STOPPED has what it wrote until then, NOT_RUN nothing."""

    NEW = "new"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    NOT_RUN = "not-run"


@dataclass
class Column:
    """`why` is the reason why it did not run. Changed in place, by `Comparison` alone."""

    variant: Variant
    name: str = ""
    phase: ColumnPhase = ColumnPhase.NEW
    why: str = ""
    state: RunState = field(default_factory=RunState)
    events: list[AnyEvent] = field(default_factory=list)

    def clear(self, phase: ColumnPhase = ColumnPhase.NEW) -> None:
        """Without a run."""
        self.phase, self.why, self.state, self.events = phase, "", RunState(), []


def has_turn(column: Column) -> bool:
    """Whether it ran, runs, or is about to: what it has written, or may still write, can be compared."""
    if column.phase in (ColumnPhase.NEW, ColumnPhase.NOT_RUN):
        return False
    return column.phase is not ColumnPhase.STOPPED or column.state.started is not None
