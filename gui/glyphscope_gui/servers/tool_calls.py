"""A manual call: its arguments are checked while the user types; it runs in the background, with progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.registry import Tool
from glyphscope.tools import Outcome, Progress
from glyphscope_gui.calls.argument_check import check_arguments
from glyphscope_gui.servers.call_form import CallForm
from glyphscope_gui.servers.call_outcome import CallView, call_view
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.language import tr

SECONDS = 120.0
"""The timeout of a manual call."""
CHECK_MS = 120
"""Delay after the last edit before the arguments are checked."""


Work: TypeAlias = Callable[[threading.Event, Progress], Outcome]
"""A request, which ends early if the event is set, and reports its progress."""

_Report: TypeAlias = tuple[float | None, float | None, str]


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
        self._background = Background(self)
        self._last_report: _Report = (None, None, "")
        self._since = 0.0
        self.is_busy = False
        """Whether a call is running."""
        self._requested: tuple[Tool, dict[str, Any]] | None = None
        self._check_later = QTimer(self, singleShot=True, interval=CHECK_MS)
        self._check_later.timeout.connect(self._check)

    def check(self, tool: Tool | None, form: CallForm) -> None:
        """Check the arguments in the form soon; replaces an earlier request, None drops it."""
        self._requested = None
        self._check_later.stop()
        self._background.drop("check")
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
        self.is_busy = True
        self._last_report, self._since = (None, None, ""), time.monotonic()
        timed = partial(_timed_call, work, self._view)
        self._background.start("call", timed, self._done, self._failed, progress=self._show_progress)
        self.began.emit()
        self._show_progress(())

    def cancel(self) -> None:
        self._background.stop("call")

    def _show_progress(self, reports: Sequence[_Report]) -> None:
        """Show the latest report, and the time."""
        self._last_report = (self._last_report, *reports)[-1]
        self.progressed.emit(Progressed(*self._last_report, time.monotonic() - self._since))

    def _check(self) -> None:
        if self._requested is None:
            return
        work = partial(check_arguments, *self._requested)
        self._background.start("check", work, self.checked.emit, self.crashed.emit)

    def _done(self, view: CallView) -> None:
        self.is_busy = False
        self.ended.emit(view)

    def _failed(self, error: BaseException) -> None:
        self.is_busy = False
        self.ended.emit(CallView(tr("internal error"), "impossible", str(error), "", ()))
        self.crashed.emit(error)


def _timed_call(work: Work, view: Callable[[Outcome, float], CallView]) -> CallView:
    task, since = this_task(), time.monotonic()
    outcome = work(task.stopped, lambda done, total, message: task.report((done, total, message)))
    return view(outcome, time.monotonic() - since)
