"""Work over the network that any thread can end at once: an event loop in the calling thread.

A thread that waits for a socket cannot be woken; a task of an event loop can.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """Somebody ended the work. What was loaded is kept."""


class Cancellable:
    """Runs coroutines one after the other; `cancel`, from any thread, ends the one under way and all later ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. Raises Stopped after `cancel`, and what the coroutine raises."""
        loop = asyncio.new_event_loop()
        with self._lock:
            if self._cancelled:
                work.close()
                loop.close()
                raise Stopped
            task = loop.create_task(work)
            self._loop, self._task = loop, task
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise Stopped from None
        finally:
            with self._lock:
                self._loop = self._task = None
            _end(loop, task)


def _end(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    """All that is left ends: of a task that Ctrl-C interrupted, its files and sockets are closed.

    The executor that looks names up is not waited for: that can take as long as the network likes.
    """
    try:
        left = asyncio.all_tasks(loop)
        for other in left:
            other.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=2.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        if task.done() and not task.cancelled():
            task.exception()  # it was looked at
        loop.close()
