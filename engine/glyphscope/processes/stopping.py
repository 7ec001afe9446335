"""Stop: how whoever waits for a child process learns that its answer is no longer wanted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from glyphscope.base.errors import Stopped

LOOK = 0.05
"""Seconds between two looks at whether the work was stopped."""

_STOPPED: ContextVar[Callable[[], bool]] = ContextVar("stopped", default=lambda: False)


@contextmanager
def stopped_by(stopped: Callable[[], bool]) -> Iterator[None]:
    """A context in which waiting for a child process ends with `Stopped`, within 50 ms, once `stopped` returns True.

    For this thread only; an outer context remains valid.
    """
    outer = _STOPPED.get()
    token = _STOPPED.set(lambda: stopped() or outer())
    try:
        yield
    finally:
        with suppress(ValueError):  # a generator that another thread closes
            _STOPPED.reset(token)


def check_stopped() -> None:
    """Raises Stopped if the work of this thread was stopped."""
    if _STOPPED.get()():
        raise Stopped("The work was stopped.")


def wait_for(ready: Callable[[float], object], seconds: float) -> bool:
    """Call `ready` with the seconds that it may wait, until it returns a true value; False once the time is over.

    Raises Stopped.
    """
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if ready(min(LOOK, max(0.0, left))):
            return True
        if left <= 0:
            return False
        check_stopped()


def acquire(lock: threading.Lock | threading.Semaphore) -> None:
    """Wait for the lock. Raises Stopped."""
    while not lock.acquire(timeout=LOOK):
        check_stopped()
