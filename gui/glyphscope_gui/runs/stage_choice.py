"""The run that the views show, and its stage in sight: the newest that has a text, until the user chooses one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Signal

from glyphscope.events import RunRequest
from glyphscope.runs import RunState
from glyphscope.runs.state import StageState

Kind: TypeAlias = Literal["run", "replay"]


@dataclass(frozen=True)
class ShownRun:
    """A run so far, or a record (`replay`); `over`: no more events of the run follow.

    The state grows in place. A view gets the run whenever something changed, and remembers how much of it is shown; for
    another one, it starts over.
    """

    run: RunState = field(default_factory=RunState)
    kind: Kind = field(default="run", kw_only=True)
    over: bool = field(default=False, kw_only=True)

    @property
    def request(self) -> RunRequest | None:
        """The request of the run, once it has started."""
        return self.run.started.request if self.run.started is not None else None


@dataclass(frozen=True)
class ShownStage(ShownRun):
    """A stage of a run so far, which views get as the run (`show_stage`)."""

    stage: StageState = field(default_factory=StageState)

    @property
    def is_growing(self) -> bool:
        """Whether more of the stage may follow."""
        return not self.over and self.stage.finished is None and self.stage is self.run.present


class StageChoice(QObject):
    """`shown` carries a ShownStage. A stage without a text (a tool's) is never shown: its events are in the
    transcript.
    """

    shown = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shown = ShownRun()
        self.place = 0
        self.pinned = False

    @property
    def stage(self) -> StageState:
        """The stage that is shown."""
        return self._stages[self.place]

    @property
    def _stages(self) -> list[StageState]:
        return self._shown.run.stages

    def show_run(self, shown: ShownRun) -> None:
        """Show the run so far: another one, or one that has grown."""
        if shown.run is not self._shown.run:
            self.place, self.pinned = 0, False
        self._shown = shown
        if not self.pinned:
            self.place = self._with_text(len(self._stages) - 1)
        self._emit()

    def choose(self, place: int, *, pin: bool = True) -> None:
        """Show that stage, or the one before it if it has no text; `pin` keeps it while the run continues."""
        self.pinned = pin
        if 0 <= place < len(self._stages) and (place := self._with_text(place)) != self.place:
            self.place = place
            self._emit()

    def follow(self) -> None:
        """Show the newest stage again, and follow later ones."""
        self.choose(len(self._stages) - 1, pin=False)

    def _with_text(self, index: int) -> int:
        """The last stage up to that one with a text."""
        while index > 0 and self._stages[index].kind == "tool":
            index -= 1
        return index

    def _emit(self) -> None:
        shown = self._shown
        self.shown.emit(ShownStage(shown.run, self.stage, kind=shown.kind, over=shown.over))
