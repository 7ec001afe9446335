"""SIGTERM and SIGHUP end a command like Ctrl-C: it first closes the processes that it started."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit code of a command that was interrupted."""
_ASKED_TO_END = (signal.SIGTERM, signal.SIGHUP)


def collect_as_usual() -> None:
    """Collect cycles about as often as Python does, in commands that run for long; `main` has a short one in mind."""
    gc.set_threshold(2_000, 10, 10)


@contextmanager
def closing_when_ended() -> Iterator[None]:
    """A context in which SIGTERM and a closed terminal raise KeyboardInterrupt, so that open resources are closed.

    Ignored signals stay ignored: under `nohup`, a command continues when its terminal is closed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [
        (number, signal.signal(number, signal.default_int_handler))
        for number in _ASKED_TO_END
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
