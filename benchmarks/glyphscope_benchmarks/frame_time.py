"""The busy slices of the window's thread while tokens stream in.

Run it with `python -m glyphscope_benchmarks.frame_time`.

A busy slice is the total time of all events between two sleeps of the event loop, which a key press would have to wait.
The run is scripted, and uses the same worker, mailbox and views as any other run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import glyphscope_gui  # noqa: F401 - first: it restores Python's import, with that of PySide6 modules take 18 MB more

# isort: split
from PySide6.QtCore import QAbstractEventDispatcher, QEvent, QEventLoop, QObject, QTimer, SignalInstance
from PySide6.QtWidgets import QApplication

from glyphscope.events import AnyEvent
from glyphscope.store import Places
from glyphscope_benchmarks.long_run import long_run, reasoning_run
from glyphscope_benchmarks.timing import private
from glyphscope_gui.app import SWITCH_SECONDS, Collector
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.services import make_services
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window
from glyphscope_gui.theme import ThemeManager
from glyphscope_gui.theme.fonts import window_points

OPEN = "open record"
SETTLE_MS = 600
"""The wait after the window is shown, before measuring."""


class BusyApplication(QApplication):
    """Adds up the time of the events between two sleeps of the loop, in milliseconds, while it is `on`."""

    def __init__(self) -> None:
        super().__init__(["glyphscope"])
        self.slices: list[float] = []
        self.on = False
        self._depth = 0
        self._busy = self._own_work = 0.0
        self.work: list[float] = []
        self.ending: list[float] = []
        self._own_thread = threading.get_ident()  # events of other threads' objects also pass through here
        QAbstractEventDispatcher.instance().aboutToBlock.connect(self._sleeps)

    def watch(self, do: Callable[[], None], ended: SignalInstance | None = None) -> float:
        """Measure from `do`, in an event like a user's action, until `ended`, if given, is emitted, and then, in
        `ending`, until the window has settled. Return the seconds until the end.
        """
        self.slices, self.work = [], []
        self.on = True
        QTimer.singleShot(0, self, do)
        begin = time.perf_counter()
        if ended is not None:
            loop = QEventLoop()
            ended.connect(loop.quit)
            loop.exec()
            ended.disconnect(loop.quit)
        seconds = time.perf_counter() - begin
        before = len(self.slices)
        _spin(SETTLE_MS)
        self._sleeps()  # a slice that was longer than the wait is the last one, and no sleep follows it
        self.on = False
        self.slices, self.ending = self.slices[:before], self.slices[before:]
        self.work = self.work[:before]
        return seconds

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        if self._depth or not self.on or threading.get_ident() != self._own_thread:
            return super().notify(receiver, event)
        self._depth = 1
        begin, work = time.perf_counter(), time.thread_time()
        try:
            return super().notify(receiver, event)
        finally:
            self._busy += (time.perf_counter() - begin) * 1000
            self._own_work += (time.thread_time() - work) * 1000
            self._depth = 0

    def _sleeps(self) -> None:
        if self.on and self._busy:
            self.slices.append(self._busy)
            self.work.append(self._own_work)
        self._busy = self._own_work = 0.0


def measure(events: tuple[AnyEvent, ...], rate: float, home: Path) -> dict[str, Any]:
    """Replay `events` at `rate` tokens per second in a real window. Returns percentiles of the busy slices in
    milliseconds of wall-clock time. `own_p99_ms` counts only the work of this thread. `longest_ms` has the longest
    slice of each of the user's other actions (`_actions`), with the run shown. `private_mb` is the private memory with
    the run's record open.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    app = BusyApplication()
    owner = QObject()
    parts = make_services(Places(home, home, home, home), owner)
    themes = ThemeManager(app, "light", parent=owner)
    window = Window(parts, themes)
    window.show()
    collector = Collector(lambda: not window.runs.is_busy, app)  # as in the program
    _spin(SETTLE_MS)
    before = private()
    seconds = app.watch(lambda: window.runs.replay(events, rate), window.runs.ended)
    grown = private() - before
    slices, work = app.slices, app.work
    longest = {"end of the run": max(app.ending)}
    tokens = len(window.runs.state.tokens)
    for name, (do, ended) in _actions(window, themes, events).items():
        app.watch(do, ended)
        longest[name] = max(*app.slices, *app.ending, 0.0)
        if name == OPEN:
            opened = private()
    collector.close()
    window.shut_down()
    window.deleteLater()
    owner.deleteLater()
    _spin(10)
    percentiles = {f"p{share}_ms": round(_percentile(slices, share), 2) for share in (50, 90, 99)}
    return {
        **percentiles,
        "max_ms": round(max(slices), 2),
        "own_p99_ms": round(_percentile(work, 99), 2),
        "own_us_per_token": round(sum(work) / tokens * 1000, 2),
        "private_mb": round(opened / 1e6, 1),
        "bytes_per_token": round(grown / tokens),
        "longest_ms": {name: round(value, 2) for name, value in longest.items()},
        "slices": len(slices),
        "tokens": tokens,
        "seconds": round(seconds, 2),
    }


def _actions(
    window: Window, themes: ThemeManager, events: tuple[AnyEvent, ...]
) -> dict[str, tuple[Callable[[], None], SignalInstance | None]]:
    """A user's actions while a run is shown, each with the signal of its end. Pages are shown for the first time, which
    a change of theme would make shorter.
    """
    actions: dict[str, tuple[Callable[[], None], SignalInstance | None]] = {
        OPEN: (lambda: window.runs.show_record(events), window.runs.ended)
    }
    actions["show steps"] = (lambda: window.findChildren(RunPage)[0].show_detail("steps"), None)
    for page in reversed(PageId):
        actions[f"show {page.value}"] = (partial(window.navigator.show, page), None)
    return actions | {
        "change theme": (lambda: themes.choose("dark"), None),
        "change text size": (lambda: themes.choose("dark", round(window_points()) + 2), None),
    }


def _percentile(values: list[float], share: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def _spin(ms: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--reasoning", action="store_true", help="a run of reasoning in place of a long call")
    parser.add_argument("--rate", type=float, default=2000, help="tokens a second")
    asked = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as home:
        made = reasoning_run if asked.reasoning else long_run
        print(json.dumps(measure(made(asked.tokens), asked.rate, Path(home))))


if __name__ == "__main__":
    main()
