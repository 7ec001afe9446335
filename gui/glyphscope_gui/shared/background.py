"""Work outside the window's thread, with callbacks for its result and its error. Every thread is started here."""

from __future__ import annotations

import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from glyphscope.processes.stopping import stopped_by

REPORT_MS = 120
"""Interval at which the reports of running tasks are delivered, however many there are."""


def _raise(error: BaseException) -> None:
    raise error


class TaskOutcome(NamedTuple):
    """The outcome of a task by its number; without the thread, which a queued event must not keep alive."""

    number: int
    value: Any = None
    error: BaseException | None = None


class Task:
    """A task as its own thread sees it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.number = next(_numbers)
        self.work: Callable[[], Any] | None = work
        """None once the outcome was received: the window's thread shall be the last to release what it refers to."""
        self.stopped = threading.Event()
        """Set when the task shall end early; it then also ends where it waits for a child process."""
        self.is_unwanted = False
        """Whether it is no longer to begin."""
        self._reports: deque[Any] = deque()

    def report(self, value: Any) -> None:
        """Report progress; reports are delivered together, a few times a second."""
        self._reports.append(value)

    def reports(self) -> list[Any]:
        """Take the reports since the last call."""
        return [self._reports.popleft() for _ in range(len(self._reports))]

    def run(self) -> TaskOutcome:
        if self.is_unwanted or self.work is None:
            return TaskOutcome(self.number)
        token = _TASK.set(self)
        try:
            with stopped_by(self.stopped.is_set):
                return TaskOutcome(self.number, self.work())
        except Exception as error:  # passed to `failed` in the window's thread, where it can be shown
            return TaskOutcome(self.number, error=error)
        finally:
            _TASK.reset(token)


_numbers = itertools.count()
_TASK: ContextVar[Task] = ContextVar("task")


def this_task() -> Task:
    """The task of this thread; outside of tasks, one that is never stopped."""
    return _TASK.get(None) or Task(lambda: None)


class WorkLine(QThread):
    """A thread that makes calls one after the other. It starts with the first.

    It has no Qt parent, but is referenced by `_started` until it has ended: with a parent and deleteLater, garbage
    collection of the parent crashed (PySide6 6.11.3). It always has a name: for one without, Qt asks PySide for the
    name of its class when the thread starts, which crashed while another thread made a type of Qt.
    """

    outcome = Signal(object)

    def __init__(self, name: str = "glyphscope-work") -> None:
        super().__init__()
        self.setObjectName(name)
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self.is_ending = False
        """Whether it makes no further calls."""

    def put(self, call: Callable[[], object]) -> None:
        """Make this call after those before it, unless the line is ending."""
        if self.is_ending:
            return
        self._calls.put(call)
        if not self.isRunning():
            _started.difference_update([old for old in _started if old.isFinished()])
            _started.add(self)
            self.start()

    def do(self, task: Task) -> None:
        """Do a task after the calls before it; `outcome` carries its TaskOutcome."""
        self.put(lambda: self.outcome.emit(task.run()))

    def end(self) -> None:
        """End the thread after the calls so far."""
        self.is_ending = True
        self._calls.put(None)

    def run(self) -> None:
        for call in iter(self._calls.get, None):
            try:
                call()
            except Exception:  # reported as one of the program; the calls after it are made
                sys.excepthook(*sys.exc_info())


_started: set[WorkLine] = set()
"""Threads that may still run: Qt aborts the program if one is destroyed before its end."""


class _Entry(NamedTuple):
    key: str
    task: Task
    thread: WorkLine | None
    """The task's own thread; None if it shares one."""
    done: Callable[[Any], object]
    failed: Callable[[BaseException], object]
    progress: Callable[[list[Any]], object] | None


class Background(QObject):
    """Starts tasks, and calls back in the thread of this object. Only the newest task of each `key` is reported.

    Each task has its own thread, or shares a line's with others, where it waits for its turn. A newer task of its key,
    `stop`, `drop` and `close` set `this_task().stopped`, and end the task where it waits for a child process. `cancel`
    makes other tasks end early; `close` calls it before it waits for them.
    """

    def __init__(self, parent: QObject | None = None, cancel: Callable[[], object] = lambda: None) -> None:
        super().__init__(parent)
        self.cancel = cancel
        self._entries: dict[int, _Entry] = {}
        self._newest: dict[str, int] = {}
        self._lines: list[WorkLine] = []
        self._look = QTimer(self, interval=REPORT_MS)
        self._look.timeout.connect(self._report)

    def line(self) -> WorkLine:
        """Make a thread for tasks that wait for each other, which ends with `close`."""
        line = self.join(WorkLine())
        self._lines.append(line)
        return line

    def join(self, line: WorkLine) -> WorkLine:
        """Use a line whose owner ends it, for tasks of this object too."""
        line.outcome.connect(self._deliver)
        return line

    def start(
        self,
        key: str,
        work: Callable[[], Any],
        done: Callable[[Any], object],
        failed: Callable[[BaseException], object] = _raise,
        *,
        progress: Callable[[list[Any]], object] | None = None,
        line: WorkLine | None = None,
    ) -> None:
        """Call `work` in a thread, where it must not touch widgets; then `done` or `failed` with its outcome.

        `progress` is called a few times a second with the new reports of the work, if any, as long as it runs.
        Without `failed`, an error is reported as one of the program. In a line that has ended, nothing is started.
        """
        if line is not None and line.is_ending:
            return
        self.drop(key)
        task = Task(work)
        thread = self.join(WorkLine()) if line is None else None
        self._entries[task.number] = _Entry(key, task, thread, done, failed, progress)
        self._newest[key] = task.number
        if progress is not None:
            self._look.start()
        (thread or line).do(task)  # type: ignore[union-attr]  # one of them is a line
        if thread is not None:
            thread.end()

    @property
    def is_busy(self) -> bool:
        """Whether a task runs or waits."""
        return bool(self._entries)

    def stop(self, key: str | None = None) -> None:
        """Make all tasks end early, or those of a key; their outcomes are still reported."""
        if key is None:
            self.cancel()
        for entry in self._entries.values():
            if key in (None, entry.key):
                entry.task.stopped.set()

    def drop(self, key: str) -> None:
        """Make the tasks of a key end early, without reporting it; those that wait in a line never begin."""
        self._newest.pop(key, None)
        for entry in self._entries.values():
            if entry.key == key:
                entry.task.is_unwanted = entry.thread is None
                entry.task.stopped.set()

    def wait(self, key: str) -> None:
        """Wait for the tasks of `key` that have their own threads, without reporting their outcomes."""
        self._newest.pop(key, None)
        for number, entry in list(self._entries.items()):
            if entry.key == key and entry.thread is not None:
                self._end(number)

    def close(self) -> None:
        """Stop all tasks and wait for those with threads of this object, without reporting their outcomes."""
        self.stop()
        self._newest.clear()
        self._look.stop()
        for entry in self._entries.values():
            entry.task.is_unwanted = entry.thread is None
        for line in self._lines:
            line.end()
            line.wait()
        for number in list(self._entries):
            self._end(number)

    def _end(self, number: int) -> _Entry | None:
        entry = self._entries.pop(number, None)
        if entry is not None and entry.thread is not None:
            entry.thread.wait()
        return entry

    def _deliver(self, outcome: TaskOutcome) -> None:
        entry = self._end(outcome.number)
        if entry is None:
            return  # of another object, or closed
        entry.task.work = None
        if self._newest.get(entry.key) != outcome.number:
            return
        if entry.progress is not None and (reports := entry.task.reports()):
            entry.progress(reports)
        if outcome.error is not None:
            entry.failed(outcome.error)
        else:
            entry.done(outcome.value)

    def _report(self) -> None:
        watched = [entry for entry in self._entries.values() if entry.progress is not None]
        if not watched:
            self._look.stop()
        for entry in watched:
            if entry.progress is not None and self._newest.get(entry.key) == entry.task.number:
                entry.progress(entry.task.reports())


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
