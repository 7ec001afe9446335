"""Runs Python's cycle collector only in the window's thread, between two events.

By default it runs in whichever thread allocates. It may delete Qt objects there: a timer or a scene that is deleted
outside its thread, or while Qt iterates over a list with it, crashes the program (tested with PySide6 6.11).
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

EVERY_MS = 100
"""At 2,000 tokens a second, some thousand objects are made in that time, which take a millisecond to collect."""
THRESHOLDS = (700, 10, 10)
"""Python's default: with those of the command line, which starts the window, each collection would block longer."""


class Collector(QObject):
    """Collects at Python's default thresholds; the oldest generation, which takes longest, only while `is_quiet`."""

    def __init__(self, is_quiet: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_quiet = is_quiet
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
        if old and self._is_quiet():
            gc.collect()
        elif middle:
            gc.collect(1)
        elif young:
            gc.collect(0)
