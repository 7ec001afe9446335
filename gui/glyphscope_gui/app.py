"""The composition root: the only place that makes the parts, and the only way into the window."""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from glyphscope.models.opening import prepare_model
from glyphscope.store import places
from glyphscope_gui.services import make_services
from glyphscope_gui.shared.errors import CrashLog, ErrorReporter, install_excepthooks, offer_crash_report
from glyphscope_gui.shared.language import translate_qt
from glyphscope_gui.shell import Window
from glyphscope_gui.theme import ThemeManager

SWITCH_SECONDS = 0.0001
"""Seconds that another thread's Python code may delay the window, at most; the default, 5 ms, is a third of a frame."""
_SIGNALS_MS = 300
"""The interval at which Python checks for Ctrl+C while Qt waits for events."""


def main(arguments: Sequence[str] = ()) -> int:
    """Open the window; `arguments` may name a file: a project, run, grammar or model. Returns the exit code."""
    sys.setswitchinterval(SWITCH_SECONDS)
    app = QApplication.instance() or QApplication(["glyphscope"])
    assert isinstance(app, QApplication)
    app.setApplicationName("Glyphscope")
    app.setDesktopFileName("glyphscope")
    translate_qt(app)
    home = places()
    log = CrashLog(home.logs / "crash.log")
    earlier = log.take()
    reporter = ErrorReporter(log, app)
    undo_hooks = install_excepthooks(reporter)
    log.watch_native()
    services = make_services(home, app)
    prepare_model(services.project.model)  # in the background; the window opens the model once it is shown
    settings = services.settings.value
    themes = ThemeManager(app, settings.theme, settings.font_size, app, code_font=settings.code_font)
    window = Window(services, themes)
    reporter.reported.connect(window.show_error)
    window.show()
    if earlier:
        offer_crash_report(window, earlier)
    if arguments:
        window.files.open_first(Path(arguments[0]))
    else:
        QTimer.singleShot(0, window.resume)
    if not arguments and not earlier:
        QTimer.singleShot(0, window.help.welcome)
    collector = Collector(lambda: not window.runs.is_busy, app)
    ticking = _let_python_see_signals(app, window)
    try:
        return app.exec()
    finally:
        ticking.stop()
        collector.close()
        window.shut_down()
        undo_hooks()
        log.close()


def _let_python_see_signals(app: QApplication, window: Window) -> QTimer:
    """Close the window on Ctrl+C in the terminal, on SIGTERM and when the terminal is closed (not under `nohup`), as
    its close button does, keeping unsaved edits.

    Only once Qt handles events: a signal may come in the middle of anything, or before `window.start`.
    """

    def close() -> None:
        window.services.project.keep_unsaved()
        app.exit()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: QTimer.singleShot(0, app, close))
    timer = QTimer(app, interval=_SIGNALS_MS)
    timer.timeout.connect(lambda: None)
    timer.start()
    return timer


EVERY_MS = 100
"""At 2,000 tokens a second, some thousand objects are made in that time, which take a millisecond to collect."""
THRESHOLDS = (700, 10, 10)
"""Python's default: with those of the command line, which starts the window, each collection would block longer."""


MANY = 20_000
"""Young objects, such as of work in the background, that are to leave the younger generations at once: a later
collection would visit all of them together."""
REST = 100
"""A full collection, which takes as long as there are objects, rests for so many times its duration."""


class Collector(QObject):
    """Runs Python's cycle collector only in the window's thread, between two events: at Python's default thresholds;
    the oldest generation, which takes longest, only while `is_quiet`, and for at most a hundredth of the time.

    By default it runs in whichever thread allocates. It may delete Qt objects there: a timer or a scene that is deleted
    outside its thread, or while Qt iterates over a list with it, crashes the program (tested with PySide6 6.11).
    """

    def __init__(self, is_quiet: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_quiet = is_quiet
        self._next_full = 0.0
        gc.freeze()  # imported objects stay: they need no collection, not even once before the first picture
        gc.disable()
        self._timer = QTimer(self, interval=EVERY_MS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    def close(self) -> None:
        """Let the collector run automatically again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    def _look(self) -> None:
        young, middle, old = (count > most for count, most in zip(gc.get_count(), THRESHOLDS))
        if old and self._is_quiet() and (began := time.monotonic()) >= self._next_full:
            gc.collect()
            self._next_full = time.monotonic() + REST * (time.monotonic() - began)
        elif middle or gc.get_count()[0] > MANY:
            gc.collect(1)
        elif young:
            gc.collect(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
