"""Long work in slices: input comes in between, newer work replaces older, and what was begun is put back."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QTimer

from glyphscope_gui.slices import Slices


@pytest.fixture
def work(qapp, monkeypatch):
    """Slices of one step each."""
    monkeypatch.setattr("glyphscope_gui.slices.SLICE_MS", 0)
    made = Slices()
    yield made
    made.stop()


def steps(log, name, count=3):
    try:
        for number in range(count):
            log.append((name, number))
            yield
    finally:
        log.append((name, "end"))


def test_other_events_come_between_two_slices(work, qtbot):
    log = []

    def with_event():
        yield from steps(log, "before", 1)
        QTimer.singleShot(0, lambda: log.append("event"))
        yield
        log.append("after")

    work.start(with_event())
    assert not log
    qtbot.waitUntil(lambda: not work.is_busy)
    assert log == [("before", 0), ("before", "end"), "event", "after"]


def test_newer_work_replaces_older_which_puts_back_what_it_changed(work, qtbot):
    log = []
    work.start(steps(log, "a"))
    qtbot.waitUntil(lambda: bool(log))
    work.start(steps(log, "b"))
    qtbot.waitUntil(lambda: not work.is_busy)
    assert log[-4:] == [("b", 0), ("b", 1), ("b", 2), ("b", "end")]
    assert [each for each in log if each[0] == "a"][-1] == ("a", "end")


def test_all_that_is_left_can_be_done_at_once_but_not_by_the_work_itself(work):
    log = []

    def itself():
        yield
        work.finish()
        yield from steps(log, "a")

    work.start(itself())
    work.finish()
    assert log[-1] == ("a", "end")
    assert not work.is_busy


def test_work_that_fails_is_over(work):
    def failing():
        yield
        raise ValueError

    work.start(failing())
    with pytest.raises(ValueError):
        work.finish()
    assert not work.is_busy
