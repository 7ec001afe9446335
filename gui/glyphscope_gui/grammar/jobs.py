"""Background work of which only the newest counts, one job at a time, so that typing never queues up work.

Every thread that computes in Python takes turns with the window's: ten at once delayed each of its frames by a quarter
of a second (measured on two cores). So there are two lanes, each of which runs one job after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QObject

from glyphscope_gui.shared.background import Background

Lane: TypeAlias = Literal["quick", "slow"]
"""Quick jobs respond to the user's typing; slow ones may take longer."""


class _Task(NamedTuple):
    work: Callable[[], Any]
    done: Callable[[Any], None]
    failed: Callable[[BaseException], None]


class LatestJobs(QObject):
    """Like Background, but a lane's jobs wait for each other, and only the newest waiting job of each slot is started.

    If a newer job of its slot is waiting, a job's outcome is dropped.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = Background(self, self._stop)
        self._running: dict[Lane, str] = {}
        self._waiting: dict[Lane, dict[str, _Task]] = {"quick": {}, "slow": {}}
        self._dropped: set[str] = set()
        self.is_closed = False
        """Whether no further jobs are started."""

    def start(
        self,
        slot: str,
        work: Callable[[], Any],
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
        lane: Lane = "quick",
    ) -> None:
        """A slot always belongs to the same lane."""
        if self.is_closed:
            return
        self._dropped.discard(slot)
        self._waiting[lane][slot] = _Task(work, done, failed)
        self._next(lane)

    def drop(self, slot: str) -> None:
        """Remove the waiting job, and drop the result of a running one."""
        for waiting in self._waiting.values():
            waiting.pop(slot, None)
        if slot in self._running.values():
            self._dropped.add(slot)

    def _stop(self) -> None:
        self.is_closed = True
        for waiting in self._waiting.values():
            waiting.clear()

    def _next(self, lane: Lane) -> None:
        if lane in self._running or not self._waiting[lane] or self.is_closed:
            return
        slot = next(iter(self._waiting[lane]))
        task = self._waiting[lane].pop(slot)
        self._running[lane] = slot
        self._background.start(
            slot,
            task.work,
            lambda value: self._ended(lane, slot, lambda: task.done(value)),
            lambda error: self._ended(lane, slot, lambda: task.failed(error)),
        )

    def _ended(self, lane: Lane, slot: str, report: Callable[[], None]) -> None:
        del self._running[lane]
        outdated = slot in self._waiting[lane] or slot in self._dropped
        self._dropped.discard(slot)
        if not outdated:
            report()
        self._next(lane)
