"""Plays a run token by token, forwards or backwards, at a set pace; its events are shown like any run's.

Going back reduces the events again from the first one instead of undoing them, as a lesson's run is short.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.events import AnyEvent, StageStarted, Token
from glyphscope.runs import RunState, reduce_event

SLOWEST, FASTEST = 0.2, 50.0
"""Tokens a second."""


class LessonPlayer(QObject):
    """`reduced` carries the RunState, a fresh one at each beginning; `playingChanged` whether it plays.
    A place is the number of shown tokens of all stages, between `first` and `last`.
    """

    reduced = Signal(object)
    moved = Signal()
    playingChanged = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = RunState()
        self.first = self.last = self.place = 0
        self.is_playing = self.is_live = False
        self._events: list[AnyEvent] = []
        self._tokens: list[int] = []  # the index of each token among the events
        self._done = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._tick)
        self.set_pace(3.0)

    # -- what it shows -----------------------------------------------------------------------------------------

    def show(
        self, events: Sequence[AnyEvent], first: int = 0, last: int | None = None, *, at: int | None = None
    ) -> None:
        """Show a recorded run, tokens `first` to `last`, at the place `at` (by default `first`)."""
        self.pause()
        self.is_live = False
        self._events = list(events)
        self._tokens = [index for index, event in enumerate(events) if isinstance(event, Token)]
        self.last = len(self._tokens) if last is None else min(last, len(self._tokens))
        self.first = min(first, self.last)
        self._begin()
        self._reduce_to(self.first if at is None else min(max(at, self.first), self.last))
        self.moved.emit()

    def begin_live(self) -> None:
        """Show a live run that has no events yet."""
        self.show(())
        self.is_live = True

    def grow(self, events: Sequence[AnyEvent]) -> None:
        """Add new events of a live run; they are shown at once, or later if an earlier place is shown."""
        at_end = self.place == self.last
        begin = len(self._events)
        self._events.extend(events)
        self._tokens += [begin + index for index, event in enumerate(events) if isinstance(event, Token)]
        self.last = len(self._tokens)
        if at_end:
            self._reduce_to(self.last)
        self.moved.emit()

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        """All events of the run, independent of the place."""
        return tuple(self._events)

    @property
    def at_end(self) -> bool:
        return self.place >= self.last

    # -- moving ------------------------------------------------------------------------------------------------

    def go(self, index: int) -> None:
        """Show that many tokens, and pause."""
        self.pause()
        self._go(index)

    def step(self, tokens: int) -> None:
        self.go(self.place + tokens)

    def play(self) -> None:
        """Play from here, or from the beginning if this is the end."""
        if self.last <= self.first or self.is_playing:
            return
        if self.at_end:
            self._go(self.first)
        self.is_playing = True
        self._timer.start()
        self.playingChanged.emit(True)

    def pause(self) -> None:
        if self.is_playing:
            self.is_playing = False
            self._timer.stop()
            self.playingChanged.emit(False)

    def set_pace(self, tokens_a_second: float) -> None:
        pace = min(max(tokens_a_second, SLOWEST), FASTEST)
        self._timer.setInterval(round(1000 / pace))

    def _tick(self) -> None:
        self._go(self.place + 1)
        if self.at_end:
            self.pause()

    def _go(self, place: int) -> None:
        place = min(max(place, self.first), self.last)
        if place == self.place:
            return
        if place < self.place:
            self._begin()
        self._reduce_to(place)
        self.moved.emit()

    def _begin(self) -> None:
        self.state, self._done, self.place = RunState(), 0, 0
        self.reduced.emit(self.state)

    def _reduce_to(self, index: int) -> None:
        """Reduce the events of the first `index` tokens; at the end, all events."""
        stop = self._after(index)
        mine = tuple(self._events[self._done : stop])
        self._done, self.place = max(stop, self._done), index
        for event in mine:
            reduce_event(self.state, event)
        if mine:
            self.reduced.emit(self.state)

    def _after(self, index: int) -> int:
        """The end of the first `index` tokens' events: before the next token, or before the stage that it begins."""
        if index >= len(self._tokens):
            return len(self._events)
        stop = self._tokens[index]
        if index == 0:
            return stop
        begin = self._tokens[index - 1] + 1
        stages = [n for n in range(begin, stop) if isinstance(self._events[n], StageStarted)]
        return stages[0] if stages else stop


def first_of_stage(events: Sequence[AnyEvent], stage: str) -> tuple[int, int]:
    """The range of a stage's tokens among all tokens: the first, and the one after the last."""
    names = [event.stage for event in events if isinstance(event, Token)]
    mine = [index for index, name in enumerate(names) if name == stage]
    return (mine[0], mine[-1] + 1) if mine else (0, len(names))
