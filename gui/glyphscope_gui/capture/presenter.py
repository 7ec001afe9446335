"""Runs a capture in a process, shows that it runs, and asks about paused requests and answers."""

from __future__ import annotations

import time
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.base.errors import GlyphscopeError
from glyphscope.capture import require_packages
from glyphscope.models.opening import EMBEDDED
from glyphscope_gui.capture.bar import CaptureBar
from glyphscope_gui.context import AppContext
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.language import tr

if TYPE_CHECKING:
    from glyphscope.capture.breakpoints import Decision, Paused
    from glyphscope.capture.process import Begin, CaptureProcess, News
    from glyphscope_gui.capture.dialog import CaptureDialog
    from glyphscope_gui.capture.paused import PausedDialog

FIRST_SERVER = "http://127.0.0.1:8080"
REFRESH_MS = 300
"""Delay after a record before the history is read again: an agent may send many requests."""


class CapturePresenter(QObject):
    """At most one capture at a time. `recorded`: there are new runs in the history."""

    recorded = Signal()

    def __init__(self, context: AppContext, bar: CaptureBar) -> None:
        super().__init__(context.window)
        self._context, self._bar = context, bar
        self._background = Background(self, cancel=self.stop)
        self._process: CaptureProcess | None = None
        self._dialog: CaptureDialog | None = None
        self._paused_dialog: PausedDialog | None = None
        self._begin: Begin | None = None
        """The settings of the running capture, or else of the last one."""
        self._is_running = False
        self._requests = self._invalid = 0
        self._waiting: dict[tuple[int, str], tuple[Paused, float]] = {}
        """The paused requests and answers, each with the time (monotonic) until which it waits."""
        self._later = QTimer(self, singleShot=True, interval=REFRESH_MS)
        self._later.timeout.connect(self._tidy)
        context.actions.capture.triggered.connect(self.ask)
        bar.stopRequested.connect(self.stop)
        bar.pausedRequested.connect(self._show_paused)

    @property
    def unfinished(self) -> str:
        """The work that closing the window would interrupt; empty without a capture."""
        if not self._is_running or self._begin is None:
            return ""
        return tr(
            "A capture is running for {server}: agents lose their connections. Its %n request(s) are kept.",
            "",
            self._requests,
            server=self._begin.to.removesuffix("/v1"),
        )

    def ask(self) -> None:
        """Ask for a capture, or end the running one."""
        if self._is_running:
            self.stop()
        elif self._dialog is None:
            self._background.start("packages", _imported, self._show_dialog, self._context.show_error)

    def _show_dialog(self, _result: object) -> None:
        from glyphscope.capture.process import Begin
        from glyphscope_gui.capture.dialog import CaptureDialog

        places = self._context.services.places
        first = Begin(to=FIRST_SERVER, folder=str(places.captures), history=str(places.history))
        known = (self._context.project.model, *self._context.settings.value.recent_models)
        models = [each for each in known if each == EMBEDDED or each.endswith(".gguf")]
        self._dialog = CaptureDialog(self._begin or first, models, self._context.window)
        self._dialog.begun.connect(self.start)
        self._dialog.finished.connect(self._forget_dialog)
        self._dialog.open()

    def start(self, begin: Begin) -> None:
        """Start a capture in the background."""
        self._begin, self._process = begin, None
        self._requests = self._invalid = 0
        self._set_running(True)

        def work() -> None:
            from glyphscope.capture.process import CaptureProcess

            task = this_task()
            process = self._process = CaptureProcess(begin)
            if task.stopped.is_set():  # before there was a process
                process.stop()
            for news in process.news():
                task.report(news)

        self._background.start("capture", work, self._ended, self._failed, progress=self._show)

    def stop(self) -> None:
        """End the capture, if one runs."""
        if self._process is not None:
            self._process.stop()
        elif self._is_running:
            self._background.stop("capture")

    def _show(self, news: list[News]) -> None:
        from glyphscope.capture.breakpoints import Paused, Released
        from glyphscope.capture.process import Begun, Came, Noted

        if not news:
            return
        for each in news:
            match each:
                case Begun(url):
                    self._begun(url)
                case Came(recorded):
                    self._requests += 1
                    self._invalid += any(not call.valid for call in recorded.calls)
                    self._later.start()
                case Paused():
                    self._waiting[each.number, each.side] = each, time.monotonic() + each.seconds
                case Released(number, side):
                    self._waiting.pop((number, side), None)
                case Noted(words):
                    self._context.status.set_note(words)
        if self._is_running:
            self._bar.show_counts(self._requests, self._invalid, len(self._waiting))
        if any(isinstance(each, Paused) for each in news) or self._paused_dialog is not None:
            self._show_paused()

    def _begun(self, url: str) -> None:
        from glyphscope.models.remote import read_address

        assert self._begin is not None
        self._bar.show_capture(read_address(self._begin.to).root, url)
        if self._dialog is not None:
            self._dialog.done(1)

    def _ended(self, _result: object = None) -> None:
        self._close()
        self._context.status.show_result(
            tr("The capture has ended: %n request(s) are in the history.", "", self._requests)
        )

    def _failed(self, error: BaseException) -> None:
        starting = self._dialog
        self._close()
        if starting is not None and isinstance(error, GlyphscopeError):
            starting.show_failure(str(error))
        else:
            self._context.show_error(error)

    def _close(self) -> None:
        self._process = None
        self._set_running(False)
        self._bar.hide()
        self._waiting.clear()
        if self._paused_dialog is not None:
            self._show_paused()

    def _set_running(self, running: bool) -> None:
        self._is_running = running
        self._context.actions.capture.setText(tr("Stop capt&ure") if running else tr("Capt&ure…"))

    def _show_paused(self) -> None:
        """Show the paused ones, in a dialog that blocks nothing."""
        from glyphscope_gui.capture.paused import PausedDialog

        if self._paused_dialog is None:
            self._paused_dialog = PausedDialog(self._context.window)
            self._paused_dialog.decided.connect(self._decide)
            self._paused_dialog.finished.connect(self._forget_paused)
            self._paused_dialog.show()
        self._paused_dialog.show_paused(list(self._waiting.values()))

    def _decide(self, decision: Decision) -> None:
        if self._process is not None:
            send = partial(self._process.decide, decision)
            self._background.start(f"decide {decision.number} {decision.side}", send, lambda _: None)

    def _forget_dialog(self, _result: int) -> None:
        self._dialog = None
        if not self._bar.isVisible():  # it was cancelled before the capture began
            self.stop()

    def _forget_paused(self, _result: int) -> None:
        self._paused_dialog = None

    def _tidy(self) -> None:
        """Keep as many runs as the settings say, and show them."""
        history, limit = self._context.services.history, self._context.settings.value.history_limit
        failed = self._context.recorder.saveFailed
        self._background.start(
            "history",
            lambda: history.prune(limit),
            lambda _: self.recorded.emit(),
            lambda error: failed.emit(str(error)),
        )


def _imported() -> None:
    """Import the parts of a capture, which takes several frames. Raises ModelError if a package is missing."""
    require_packages()
    import_module("glyphscope.capture.process")
