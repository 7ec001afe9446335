"""A tool running in a separate thread, so that the run can report its progress, limit its time and end it."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, wait

from glyphscope.errors import ServerError, ToolError
from glyphscope.events import ToolProgressed, ToolStarted
from glyphscope.text.figures import duration
from glyphscope.tools import Outcome, ToolSource
from glyphscope.tools.source import Fault, is_asking

POLL_SECONDS = 0.05
"""Seconds between two checks for an outcome, a stop or the time limit."""
GRACE_SECONDS = 2.0
"""Seconds that a source has to return after a request to stop, or after its time limit."""
PROGRESS_SECONDS = 0.1
"""Seconds between two reports of progress: a tool may report a million steps."""


class RunningCall:
    """One running call; `events` waits for it."""

    def __init__(self, source: ToolSource, started: ToolStarted, seconds: float) -> None:
        self._source, self._started, self._seconds = source, started, seconds
        self.waited = 0.0
        """Seconds in which the source waited for a person; no limit counts them."""
        self._cancel = threading.Event()
        self._progress: deque[ToolProgressed] = deque(maxlen=1)  # the newest is reported when it is due
        self._outcome: Future[Outcome] = Future()

    def events(
        self, cancelled: threading.Event, stamp: Callable[[ToolProgressed], ToolProgressed]
    ) -> Generator[ToolProgressed, None, Outcome]:
        """Yield timestamped progress, then the outcome. `cancelled` ends the call.

        A source that does not return is abandoned, and the outcome says so. Raises exceptions of the source other than
        ToolError and ServerError, which are bugs. Closing the iterator also ends the call.
        """
        threading.Thread(target=self._work, name=f"tool {self._started.tool}", daemon=True).start()
        deadline = time.monotonic() + self._seconds + GRACE_SECONDS
        reported, now = -math.inf, time.monotonic()
        try:
            while not self._ends_within(POLL_SECONDS):
                before, now = now, time.monotonic()
                if is_asking(self._source):
                    deadline += now - before
                    self.waited += now - before
                if cancelled.is_set():
                    return self._stopped("cancelled", "The call was stopped.")
                if now >= deadline:
                    words = f"The tool did not answer within {duration(self._seconds)}."
                    return self._stopped("timeout", words)
                if now - reported >= PROGRESS_SECONDS and self._progress:
                    reported = now
                    yield stamp(self._progress.pop())
            if self._progress:
                yield stamp(self._progress.pop())
            return self._outcome.result()
        finally:
            self._cancel.set()

    def _ends_within(self, seconds: float) -> bool:
        wait((self._outcome,), seconds)
        return self._outcome.done()

    def _stopped(self, fault: Fault, message: str) -> Outcome:
        """Ask the source to stop. Its own outcome is preferred if it still returns one."""
        self._cancel.set()
        if not self._ends_within(GRACE_SECONDS):
            return Outcome(
                fault=fault, message=f"{message} It did not stop when asked to, and was abandoned."
            )
        outcome = self._outcome.result()
        if fault == "timeout" and outcome.fault == "cancelled":
            return Outcome(fault=fault, message=message)
        return outcome

    def _report(self, done: float, total: float | None, message: str) -> None:
        if math.isfinite(done):
            total = total if total is not None and math.isfinite(total) else None
            self._progress.append(
                ToolProgressed(call=self._started.call, done=done, total=total, message=message)
            )

    def _work(self) -> None:
        started = self._started
        try:
            outcome = self._source.call(
                started.tool,
                started.arguments,
                seconds=self._seconds,
                cancel=self._cancel,
                progress=self._report,
            )
        except ToolError as failure:
            outcome = Outcome(fault="tool", message=str(failure))
        except ServerError as failure:
            outcome = Outcome(fault="protocol", message=str(failure))
        except BaseException as failure:  # raised in the run's thread
            self._outcome.set_exception(failure)
            return
        self._outcome.set_result(outcome)
