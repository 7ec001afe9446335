"""Chooses the stage of a run that the views show: the newest that has a text, until the user chooses one."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from glyphscope.events import AnyEvent, FieldChanged, FieldOpened, RunStarted, SegmentOpened, StageStarted
from glyphscope.runs import CallState, RunState
from glyphscope.runs.state import StageState
from glyphscope_gui.runs.run_controller import Applied


class StageChoice(QObject):
    """The stage of a run that the views show.

    `shown` carries the present StageState, with which the views start over; `grew` that stage and its new events. A
    stage without a text (a tool's) is never shown: its events are in the timeline's notes.
    """

    shown = Signal(object)
    grew = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = RunState()
        self.place = 0
        self.pinned = False

    @property
    def stage(self) -> StageState:
        """The stage that is shown."""
        return self._state.stages[self.place]

    def begin(self, state: RunState) -> None:
        self._state = state
        self.place = 0
        self.pinned = False
        self.shown.emit(self.stage)

    def apply(self, applied: Applied) -> None:
        """Take events of the run, each of which names its stage."""
        places = {stage.name: place for place, stage in enumerate(self._state.stages)}
        before, last = self.place, len(self._state.stages) - 1
        mine: list[AnyEvent] = []
        for event in applied.events:
            place = 0 if isinstance(event, RunStarted) else places.get(event.stage, last)
            if isinstance(event, StageStarted) and event.kind != "tool" and not self.pinned:
                self.place = place
            if place == self.place:
                mine.append(event)
        if self.place != before:
            self.shown.emit(self.stage)  # with all its events so far
        elif mine:
            self.grew.emit(self.stage, mine)

    def choose(self, place: int, *, pin: bool = True) -> None:
        """Show that stage, or the one before it if it has no text; `pin` keeps it while the run continues."""
        self.pinned = pin
        while place > 0 and self._state.stages[place].kind == "tool":
            place -= 1
        if place != self.place and 0 <= place < len(self._state.stages):
            self.place = place
            self.shown.emit(self.stage)

    def follow(self) -> None:
        """Show the newest stage again, and follow later ones."""
        self.choose(len(self._state.stages) - 1, pin=False)


def events_of(stage: StageState) -> list[AnyEvent]:
    """The events that rebuild an event-driven view of an existing stage; for its fields, only the opening events."""
    events: list[AnyEvent] = []
    if stage.prompt is not None:
        events.append(stage.prompt)
    events.extend(call.tool for call in stage.written.values() if call.tool is not None)
    events.extend(stage.tokens)
    events.extend(
        SegmentOpened(kind=part.kind, start=part.start, call_index=part.call_index) for part in stage.segments
    )
    for index, call in stage.written.items():
        events.extend(_opened(index, call))
    events.extend(stage.violations)
    if stage.aborted is not None:
        events.append(stage.aborted)
    return events


def _opened(index: int, call: CallState) -> Iterable[AnyEvent]:
    for field in call.fields.values():
        if field.start is None:
            yield FieldChanged(path=field.path, end=field.end, status=field.status, call_index=index)
        else:
            yield FieldOpened(path=field.path, start=field.start, call_index=index)
