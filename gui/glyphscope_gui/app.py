"""The composition root: the only place that makes the parts, and the only way into the window."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from glyphscope.compilers import service as compilers
from glyphscope.models.opening import prepare_model
from glyphscope.sessions import places
from glyphscope_gui.services import make_services
from glyphscope_gui.shared.errors import CrashLog, ErrorReporter, install_excepthooks, offer_crash_report
from glyphscope_gui.shared.language import translate_qt
from glyphscope_gui.shell import Window
from glyphscope_gui.shell.gc_scheduler import Collector
from glyphscope_gui.theme import ThemeManager

SWITCH_SECONDS = 0.0001
"""Seconds that another thread's Python code may delay the window, at most; the default, 5 ms, is a third of a frame."""
_SIGNALS_MS = 300
"""The interval at which Python checks for Ctrl+C while Qt waits for events."""


def main(arguments: Sequence[str] = ()) -> int:
    """Open the window; `arguments` may name a file: a project, run, grammar or model. Returns the exit code."""
    sys.setswitchinterval(SWITCH_SECONDS)
    compilers.start()  # in the background; otherwise the window would wait for it at its first pattern
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
        QTimer.singleShot(0, window.start)
    if not arguments and not earlier:
        QTimer.singleShot(0, window.models.welcome)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
