"""Background work of which only the newest counts: one at a time of a kind, so that typing never piles work up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from PySide6.QtCore import QObject

from glyphscope_gui.controllers.background import Background


class _Task(NamedTuple):
    work: Callable[[], Any]
    done: Callable[[Any], None]
    failed: Callable[[BaseException], None]


class LatestJobs(QObject):
    """Like Background, but a newer job of a slot waits until the older has ended, and only the newest of them.

    The outcome of a job that a newer one waits behind is dropped.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = Background(self)
        self._busy: set[str] = set()
        self._waiting: dict[str, _Task] = {}
        self._closed = False

    def start(
        self,
        slot: str,
        work: Callable[[], Any],
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        if self._closed:
            return
        task = _Task(work, done, failed)
        if slot in self._busy:
            self._waiting[slot] = task
        else:
            self._begin(slot, task)

    @property
    def is_busy(self) -> bool:
        """Whether any work is under way."""
        return bool(self._busy)

    def drop(self, slot: str) -> None:
        """What waits is not begun, and what runs is not told."""
        self._waiting[slot] = _Task(lambda: None, lambda _value: None, lambda _error: None)
        if slot not in self._busy:
            del self._waiting[slot]

    def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._background.close()

    def _begin(self, slot: str, task: _Task) -> None:
        self._busy.add(slot)
        self._background.start(
            slot,
            task.work,
            lambda value: self._ended(slot, lambda: task.done(value)),
            lambda error: self._ended(slot, lambda: task.failed(error)),
        )

    def _ended(self, slot: str, tell: Callable[[], None]) -> None:
        self._busy.discard(slot)
        newer = self._waiting.pop(slot, None)
        if newer is not None and not self._closed:
            self._begin(slot, newer)
        else:
            tell()
