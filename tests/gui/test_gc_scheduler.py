"""The cycle collector: it runs in the window's thread, or the program crashes."""

from __future__ import annotations

import gc
import threading
import time

import pytest
from PySide6.QtCore import QTimer

from glyphscope_gui.app import Collector


@pytest.fixture
def collector(qapp):
    made = []

    def make(is_quiet):
        made.append(Collector(is_quiet))
        return made[0]

    yield make
    for one in made:
        one.close()
    assert gc.isenabled()
    gc.freeze()  # as it was before


def drop_timer(ended):
    timer = QTimer()
    timer.myself = timer  # only the collector can delete it
    timer.destroyed.connect(lambda: ended.append(threading.current_thread()))


def allocate():
    """Trigger the collector, in whichever thread it may run."""
    return [[] for _ in range(100_000)]


@pytest.mark.slow
def test_qt_objects_are_collected_in_the_main_thread(collector, qtbot):
    collector(lambda: True)
    ended = []
    drop_timer(ended)
    allocated = []
    thread = threading.Thread(target=lambda: allocated.append(allocate()))
    thread.start()
    thread.join()
    assert not ended
    qtbot.waitUntil(lambda: bool(ended))
    assert ended == [threading.main_thread()]


def test_a_full_collection_waits_for_the_end_of_a_run(collector, monkeypatch):
    quiet = False
    one = collector(lambda: quiet)
    asked = []
    monkeypatch.setattr(gc, "collect", lambda generation=2: asked.append(generation))
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, 100))
    one._look()
    assert asked == []
    quiet = True
    one._look()
    assert asked == [2]
    monkeypatch.setattr(gc, "get_count", lambda: (10_000, 100, 0))
    one._look()
    monkeypatch.setattr(gc, "get_count", lambda: (10_000, 0, 0))
    one._look()
    assert asked == [2, 1, 0]


def test_long_full_collections_are_rare_and_many_young_objects_leave_the_younger_generations_at_once(
    collector, monkeypatch
):
    one = collector(lambda: True)
    asked, clock = [], [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def collect(generation=2):
        asked.append(generation)
        clock[0] += 0.3 if generation == 2 else 0.0

    monkeypatch.setattr(gc, "collect", collect)
    monkeypatch.setattr(gc, "get_count", lambda: (1_000, 0, 100))
    for _ in range(4):
        one._look()
        clock[0] += 10
    assert asked == [2, 0, 0, 2]
    monkeypatch.setattr(gc, "get_count", lambda: (100_000, 1, 0))
    one._look()
    assert asked[4:] == [1]
