"""A manual call: its arguments are checked while the user types; it runs in the background, with progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.registry import Tool
from glyphscope.tools import Outcome, Progress
from glyphscope_gui.calls.argument_check import ArgumentCheck, check_arguments
from glyphscope_gui.servers.call_form import CallForm
from glyphscope_gui.servers.call_outcome import CallView, call_view
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr

SECONDS = 120.0
"""The timeout of a manual call."""
LOOK_MS = 120
"""Interval at which progress is shown, however often a server reports it."""
CHECK_MS = 120
"""Delay after the last edit before the arguments are checked."""


Work: TypeAlias = Callable[[threading.Event, Progress], Outcome]
"""A request, which ends early if the event is set, and reports its progress."""


class Progressed(NamedTuple):
    """The progress of a call: `total` is None if the tool does not know it, both are None before the first report."""

    done: float | None
    total: float | None
    message: str
    seconds: float


class ToolCalls(QObject):
    """One call at a time. `checked` carries an ArgumentCheck, `unreadable` why arguments cannot be parsed, `progressed`
    a Progressed, `ended` a CallView.
    """

    checked = Signal(object)
    unreadable = Signal(str)
    began = Signal()
    progressed = Signal(object)
    ended = Signal(object)
    crashed = Signal(object)

    def __init__(
        self, parent: QObject | None = None, view: Callable[[Outcome, float], CallView] = call_view
    ) -> None:
        super().__init__(parent)
        self._view = view
        self._background = Background(self, self.cancel)
        self._cancel: threading.Event | None = None
        self._last_report: tuple[float, float | None, str] | None = None
        self._since = 0.0
        self._requested: tuple[Tool, dict[str, Any]] | None = None
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self._show_progress)
        self._check_later = QTimer(self, singleShot=True, interval=CHECK_MS)
        self._check_later.timeout.connect(self._check)

    @property
    def is_busy(self) -> bool:
        return self._cancel is not None

    def check(self, tool: Tool | None, form: CallForm) -> None:
        """Check the arguments in the form soon; replaces an earlier request, None drops it."""
        self._requested = None
        self._check_later.stop()
        if tool is None:
            return
        try:
            self._requested = (tool, form.arguments())
        except ValueError as error:
            self.unreadable.emit(str(error))
        else:
            self._check_later.start()

    def call(self, work: Work) -> None:
        """Run a request in the background; does nothing while another one is running."""
        if self.is_busy:
            return
        cancel = self._cancel = threading.Event()
        self._last_report, self._since = None, time.monotonic()
        self._look.start()
        self._background.start(
            "call", _timed_call(work, cancel, self._report, self._view), self._done, self._failed
        )
        self.began.emit()
        self._show_progress()

    def cancel(self) -> None:
        if self._cancel is not None:
            self._cancel.set()

    def _report(self, done: float, total: float | None, message: str) -> None:
        """Store the progress, in the call's thread; only the latest counts, and the window reads it at intervals."""
        self._last_report = (done, total, message)

    def _show_progress(self) -> None:
        done, total, message = self._last_report or (None, None, "")
        self.progressed.emit(Progressed(done, total, message, time.monotonic() - self._since))

    def _check(self) -> None:
        if self._requested is None:
            return
        tool, arguments = requested = self._requested

        def done(check: ArgumentCheck) -> None:
            if self._requested is requested:
                self.checked.emit(check)

        self._background.start("check", lambda: check_arguments(tool, arguments), done, self.crashed.emit)

    def _done(self, view: CallView) -> None:
        self._over()
        self.ended.emit(view)

    def _failed(self, error: BaseException) -> None:
        self._over()
        self.ended.emit(CallView(tr("internal error"), "impossible", str(error), "", ()))
        self.crashed.emit(error)

    def _over(self) -> None:
        self._cancel = None
        self._look.stop()


def _timed_call(
    work: Work, cancel: threading.Event, report: Progress, view: Callable[[Outcome, float], CallView]
) -> Callable[[], CallView]:
    def timed() -> CallView:
        since = time.monotonic()
        return view(work(cancel, report), time.monotonic() - since)

    return timed
