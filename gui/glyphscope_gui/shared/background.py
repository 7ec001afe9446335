"""Runs work that would block the window in separate threads, with callbacks for the result and the error."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from glyphscope.processes.stopping import stopped_by


def _raise(error: BaseException) -> None:
    raise error


class _Outcome(NamedTuple):
    """The outcome of a job by its number; without the thread, which a queued event must not keep alive."""

    number: int
    value: Any
    error: BaseException | None


class _Work(QThread):
    """One call of `work`; its outcome is reported once.

    It has no Qt parent, but is referenced by `_started` until it has ended: with a parent and deleteLater, garbage
    collection of the parent crashed (PySide6 6.11.3).
    """

    outcome = Signal(object)

    def __init__(self, number: int, work: Callable[[], Any]) -> None:
        super().__init__()
        self._number = number
        self._work = work
        self.stopped = threading.Event()
        """Set when the outcome is no longer needed: the work then ends where it waits for a child process."""

    def run(self) -> None:
        try:
            with stopped_by(self.stopped.is_set):
                outcome = _Outcome(self._number, self._work(), None)
        except Exception as error:  # passed to `failed` in the GUI thread, where it can be shown
            outcome = _Outcome(self._number, None, error)
        self.outcome.emit(outcome)


_started: set[_Work] = set()
"""Threads that may still run: Qt aborts the program if one is destroyed before its end."""


class _Job(NamedTuple):
    slot: str
    thread: _Work
    done: Callable[[Any], object]
    failed: Callable[[BaseException], object]


class Background(QObject):
    """Starts jobs, and calls back in the thread of this object. Only the newest job of each `slot` is reported.

    A job that waits for a child process ends as soon as its outcome is not needed. `cancel` makes other jobs end early;
    `close` calls it before it waits for them.
    """

    def __init__(self, parent: QObject | None = None, cancel: Callable[[], object] = lambda: None) -> None:
        super().__init__(parent)
        self.cancel = cancel
        self._numbers = itertools.count()
        self._jobs: dict[int, _Job] = {}
        self._newest: dict[str, int] = {}

    def start(
        self,
        slot: str,
        work: Callable[[], Any],
        done: Callable[[Any], object],
        failed: Callable[[BaseException], object] = _raise,
    ) -> None:
        """Call `work` in a thread, where it must not touch widgets; then `done` or `failed` with its outcome.

        Without `failed`, an error is reported as one of the program.
        """
        self.stop(slot)
        number = next(self._numbers)
        thread = _Work(number, work)
        _started.difference_update([old for old in _started if old.isFinished()])
        _started.add(thread)
        self._jobs[number] = _Job(slot, thread, done, failed)
        self._newest[slot] = number
        thread.outcome.connect(self._deliver)
        thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether a job runs."""
        return bool(self._jobs)

    def wait(self, slot: str) -> None:
        """Wait for the jobs of `slot`, without reporting their outcomes."""
        self._newest.pop(slot, None)
        for number, job in list(self._jobs.items()):
            if job.slot == slot:
                self._end(number)

    def stop(self, slot: str | None = None) -> None:
        """Make all running jobs end early; those of a slot only where they wait for a child process."""
        if slot is None:
            self.cancel()
        for job in self._jobs.values():
            if slot in (None, job.slot):
                job.thread.stopped.set()

    def close(self) -> None:
        """Cancel all running jobs and wait for them, without reporting their outcomes."""
        self.stop()
        self._newest.clear()
        for number in list(self._jobs):
            self._end(number)

    def _end(self, number: int) -> _Job | None:
        job = self._jobs.pop(number, None)
        if job is not None:
            job.thread.wait()
        return job

    def _deliver(self, outcome: _Outcome) -> None:
        job = self._end(outcome.number)
        if job is None or self._newest.get(job.slot) != outcome.number:
            return
        if outcome.error is not None:
            job.failed(outcome.error)
        else:
            job.done(outcome.value)


def is_working(*owners: QObject) -> bool:
    """Whether these or any of their children have work in the background, or a timer that will start some."""
    return any(
        any(work.is_busy for work in owner.findChildren(Background))
        or any(timer.isSingleShot() and timer.isActive() for timer in owner.findChildren(QTimer))
        for owner in owners
    )


def end_work(*owners: QObject) -> None:
    """Stop the timers of these and all their children, cancel their work in the background, and wait for it."""
    works = [work for owner in owners for work in owner.findChildren(Background)]
    for timer in (timer for owner in owners for timer in owner.findChildren(QTimer)):
        timer.stop()
    for work in works:
        work.stop()
    for work in works:
        work.close()
