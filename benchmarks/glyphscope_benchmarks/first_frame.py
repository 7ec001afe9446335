"""The time until the window can be used.

Run it with `python -m glyphscope_benchmarks.first_frame BEGUN`: `time.monotonic()` at the start of the process.

The window opens as with `glyphscope`, and closes once it has painted itself and waits for input.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

from glyphscope.cli import gui
from glyphscope.cli import main as run_program

Main = Callable[[list[str]], int]


def main() -> None:
    begun = float(sys.argv[1])
    sys.argv = ["glyphscope"]
    load = gui._window

    def load_and_watch() -> Main:
        window_main = load()
        _watch(begun)
        return window_main

    gui._window = load_and_watch
    run_program()


def _watch(begun: float) -> None:
    """Print the times and close the window when its thread first sleeps after the first painting."""
    from PySide6.QtCore import QAbstractEventDispatcher
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QApplication

    from glyphscope_gui import app
    from glyphscope_gui.shell import Window

    class WatchedWindow(Window):
        is_painted = False

        def paintEvent(self, event: QPaintEvent) -> None:
            super().paintEvent(event)
            if self.isEnabled() and not self.is_painted:
                self.is_painted = True
                QAbstractEventDispatcher.instance().aboutToBlock.connect(self.say_usable)

        def say_usable(self) -> None:
            QAbstractEventDispatcher.instance().aboutToBlock.disconnect(self.say_usable)
            used = resource.getrusage(resource.RUSAGE_SELF)
            found = {"usable_s": time.monotonic() - begun, "cpu_s": used.ru_utime + used.ru_stime}
            print(json.dumps(found), flush=True)
            QApplication.quit()

    app.Window = WatchedWindow  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
