"""A tool at work in a thread of its own, so that the run reports its progress, limits its time, and can end it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Generator
from typing import Any

from glyphscope.errors import ServerError, ToolError
from glyphscope.events import ToolProgressed
from glyphscope.text.figures import duration
from glyphscope.tools import Outcome, ToolSource
from glyphscope.tools.source import is_asking

POLL_SECONDS = 0.05
"""How long a stop may wait until it is seen."""
GRACE_SECONDS = 2.0
"""What a source may take to come back after it was asked to stop, or after its time."""
PROGRESS_SECONDS = 0.1
"""Progress is reported this often at most: a tool may report a million steps."""


class RunningCall:
    """One call under way; `events` waits for it."""

    def __init__(self, source: ToolSource, tool: str, arguments: dict[str, Any], seconds: float) -> None:
        self._call = (source, tool, arguments, seconds)
        self._seconds = seconds
        self.waited = 0.0
        """Seconds in which the source waited for a person: no limit counts them."""
        self._cancel = threading.Event()
        self._changed = threading.Condition()
        self._progress: tuple[float, float | None, str] | None = None
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=f"tool {tool}", daemon=True)

    def events(self, cancelled: threading.Event) -> Generator[ToolProgressed, None, Outcome]:
        """Progress, not stamped and without the call's name; then the outcome. `cancelled` ends the call.

        A source that does not come back is left behind, and the outcome says so. Raises what the source raised, which
        is a mistake of ours, unless it is a ToolError or a ServerError. Closing the iterator ends the call as well.
        """
        self._thread.start()
        deadline = time.monotonic() + self._seconds + GRACE_SECONDS
        reported, now = -math.inf, time.monotonic()
        try:
            while not self._done():
                before, now = now, time.monotonic()
                if is_asking(self._call[0]):
                    deadline += now - before
                    self.waited += now - before
                if cancelled.is_set():
                    return self._stopped("cancelled", "The call was stopped.")
                if now >= deadline:
                    return self._stopped(
                        "timeout", f"The tool did not answer within {duration(self._seconds)}."
                    )
                if now - reported >= PROGRESS_SECONDS and (progress := self._taken()):
                    reported = now
                    yield progress
            if progress := self._taken():
                yield progress
            return self._result()
        finally:
            self._cancel.set()

    def _done(self) -> bool:
        with self._changed:
            if not self._ended:
                self._changed.wait(POLL_SECONDS)
            return self._ended

    @property
    def _ended(self) -> bool:
        return self._outcome is not None or self._error is not None

    def _stopped(self, fault: Any, message: str) -> Outcome:
        """Asks the source to stop; an outcome that it still gives is the better one."""
        self._cancel.set()
        self._thread.join(GRACE_SECONDS)
        if self._ended:
            outcome = self._result()
            if fault == "timeout" and outcome.fault == "cancelled":
                return Outcome(fault=fault, message=message)
            return outcome
        return Outcome(fault=fault, message=f"{message} It did not stop when asked to, and was abandoned.")

    def _result(self) -> Outcome:
        if self._error is not None:
            raise self._error
        assert self._outcome is not None
        return self._outcome

    def _taken(self) -> ToolProgressed | None:
        with self._changed:
            progress, self._progress = self._progress, None
        if progress is None:
            return None
        done, total, message = progress
        known = total is not None and math.isfinite(total)
        return ToolProgressed(call="", done=done, total=total if known else None, message=message)

    def _report(self, done: float, total: float | None, message: str) -> None:
        if not math.isfinite(done):
            return
        with self._changed:
            self._progress = (
                done,
                total,
                message,
            )  # nobody is woken up: the newest is reported when it is due

    def _work(self) -> None:
        source, tool, arguments, seconds = self._call
        outcome: Outcome | None = None
        error: BaseException | None = None
        try:
            outcome = source.call(
                tool, arguments, seconds=seconds, cancel=self._cancel, progress=self._report
            )
        except ToolError as failure:
            outcome = Outcome(fault="tool", message=str(failure))
        except ServerError as failure:
            outcome = Outcome(fault="protocol", message=str(failure))
        except BaseException as failure:  # raised in the run's thread
            error = failure
        with self._changed:
            self._outcome, self._error = outcome, error
            self._changed.notify_all()
