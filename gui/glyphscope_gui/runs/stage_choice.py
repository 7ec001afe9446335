"""The stage of a run that the views show: the newest that has a text, until the user chooses one."""

from __future__ import annotations

from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from glyphscope.events import RunRequest
from glyphscope.runs import RunState
from glyphscope.runs.state import StageState


@dataclass(frozen=True)
class ShownStage:
    """A stage of a run so far; `over`: no more events of the run follow.

    Both states grow in place. A view gets the shown stage whenever something changed (`show_stage`), and remembers how
    much of it is shown; for another stage, it starts over.
    """

    run: RunState = field(default_factory=RunState)
    stage: StageState = field(default_factory=StageState)
    over: bool = False

    @property
    def request(self) -> RunRequest | None:
        """The request of the run, once it has started."""
        return self.run.started.request if self.run.started is not None else None

    @property
    def is_growing(self) -> bool:
        """Whether more of the stage may follow."""
        return not self.over and self.stage.finished is None and self.stage is self.run.present


class StageChoice(QObject):
    """`shown` carries a ShownStage. A stage without a text (a tool's) is never shown: its events are in the timeline's
    notes.
    """

    shown = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = RunState()
        self._over = False
        self.place = 0
        self.pinned = False

    @property
    def stage(self) -> StageState:
        """The stage that is shown."""
        return self._run.stages[self.place]

    def show(self, run: RunState, *, over: bool = False) -> None:
        """Show the run so far: another one, or one that has grown."""
        if run is not self._run:
            self._run, self.place, self.pinned = run, 0, False
        self._over = over
        if not self.pinned:
            self.place = self._with_text(len(run.stages) - 1)
        self._emit()

    def choose(self, place: int, *, pin: bool = True) -> None:
        """Show that stage, or the one before it if it has no text; `pin` keeps it while the run continues."""
        self.pinned = pin
        if 0 <= place < len(self._run.stages) and (place := self._with_text(place)) != self.place:
            self.place = place
            self._emit()

    def follow(self) -> None:
        """Show the newest stage again, and follow later ones."""
        self.choose(len(self._run.stages) - 1, pin=False)

    def _with_text(self, place: int) -> int:
        """The last stage up to that one with a text."""
        while place > 0 and self._run.stages[place].kind == "tool":
            place -= 1
        return place

    def _emit(self) -> None:
        self.shown.emit(ShownStage(self._run, self.stage, self._over))
