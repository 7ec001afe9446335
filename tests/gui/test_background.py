"""Work outside of the window's thread: its outcome, its reports, its turn in a line, and its end."""

from __future__ import annotations

import gc
import threading

import pytest

from glyphscope.base.errors import Stopped
from glyphscope.processes import check_stopped
from glyphscope_gui.shared.background import Background, WorkLine, this_task


@pytest.fixture
def tasks(qapp):
    background = Background()
    yield background
    background.close()


@pytest.fixture
def gate():
    """Opens at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


def test_in_a_line_only_the_newest_waiting_task_of_a_key_begins(tasks, gate, qtbot):
    line, ran, reported = tasks.line(), [], []

    def work(number):
        ran.append(number)
        gate.wait(60)
        return number

    tasks.start("check", lambda: work(0), reported.append, line=line)
    qtbot.waitUntil(lambda: ran == [0])
    for number in range(1, 5):
        tasks.start("check", lambda number=number: work(number), reported.append, line=line)
    tasks.start("other", lambda: ran.append("other"), reported.append, line=line)
    gate.set()
    qtbot.waitUntil(lambda: len(reported) == 2)
    assert ran == [0, 4, "other"] and reported == [4, None]


def test_a_newer_task_stops_the_one_before_and_gets_the_only_report(tasks, qtbot):
    begun, ended, reported = threading.Event(), [], []

    def endless():
        begun.set()
        try:
            while this_task().stopped.wait(60):
                check_stopped()
        except Stopped:
            ended.append(True)
            raise

    tasks.start("look", endless, reported.append, reported.append)
    assert begun.wait(60)
    tasks.start("look", lambda: "new", reported.append, reported.append)
    qtbot.waitUntil(lambda: bool(ended) and not tasks.is_busy)
    assert reported == ["new"]


def test_a_stopped_task_reports_its_outcome_and_a_dropped_one_does_not(tasks, qtbot):
    reported = []
    for key in "ab":
        tasks.start(key, lambda key=key: this_task().stopped.wait(60) and key, reported.append)
    tasks.stop("a")
    tasks.drop("b")
    qtbot.waitUntil(lambda: not tasks.is_busy)
    assert reported == ["a"]
    tasks.start("b", lambda: 1 / 0, reported.append, reported.append)
    qtbot.waitUntil(lambda: len(reported) == 2)
    assert isinstance(reported[1], ZeroDivisionError)


def test_reports_arrive_together_in_their_order_and_before_the_outcome(tasks, gate, qtbot):
    heard = []

    def work():
        for number in range(3):
            this_task().report(number)
        gate.wait(60)
        this_task().report("last")

    tasks.start("run", work, lambda _none: heard.append("done"), progress=heard.extend)
    qtbot.waitUntil(lambda: len(heard) == 3)
    gate.set()
    qtbot.waitUntil(lambda: "done" in heard)
    assert heard == [0, 1, 2, "last", "done"]


def test_an_error_that_is_not_expected_is_one_of_the_program(tasks, qtbot):
    with qtbot.captureExceptions() as caught:
        tasks.start("bug", lambda: 1 / 0, print)
        qtbot.waitUntil(lambda: bool(caught))
    assert caught[0][0] is ZeroDivisionError


def test_closing_ends_tasks_without_reports_and_a_closed_line_starts_none(tasks, qtbot):
    line, begun, ran, reported = tasks.line(), threading.Event(), [], []
    tasks.start("a", lambda: (begun.set(), this_task().stopped.wait(60)), reported.append, line=line)
    tasks.start("b", lambda: ran.append("waiting"), reported.append, line=line)
    tasks.start("own", lambda: ran.append("own"), reported.append)
    assert begun.wait(60)
    tasks.close()
    tasks.start("c", lambda: ran.append("late"), reported.append, line=line)
    qtbot.wait(20)
    assert ran == ["own"] and not reported and not tasks.is_busy


def test_every_thread_has_a_name_when_it_starts(tasks, monkeypatch):
    """For one without, Qt asks PySide for its class in the new thread: 14 of 66 runs that made types crashed."""
    names = []
    monkeypatch.setattr(WorkLine, "start", lambda line: names.append(line.objectName()))
    tasks.start("own", list, list)
    tasks.start("in a line", list, list, line=tasks.line())
    assert len(names) == 2 and all(names)


def test_work_ends_without_its_owner(qapp):
    """Qt aborts the program if a thread is deleted before its end."""
    begun, may_end = threading.Event(), threading.Event()
    background = Background()
    background.start("slot", lambda: (begun.set(), may_end.wait(5)), print, print)
    assert begun.wait(5)
    del background
    gc.collect()
    may_end.set()
