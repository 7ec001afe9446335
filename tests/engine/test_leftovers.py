"""The fixture that fails a test for its leftovers, on tests with and without them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from glyphscope.store import places

TESTS = """
import subprocess, sys, threading, time
import pytest
from PySide6.QtCore import QObject, QThread, QTimer
from PySide6.QtWidgets import QWidget

kept = []

def sleeper(seconds):
    return subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])

@pytest.fixture(scope="module")
def process():
    child = sleeper(30)
    yield child
    child.kill()
    child.wait()

def test_leaves_a_daemon_thread():
    threading.Thread(target=time.sleep, args=(30,), daemon=True, name="lazy").start()

def test_leaves_a_process():
    kept.append(sleeper(5))

def test_leaves_a_timer_without_a_window(qapp):
    kept.append(QTimer())
    kept[-1].start(10)

def test_leaves_a_qt_thread(qapp):
    kept.append(QThread())
    kept[-1].setObjectName("worker")
    kept[-1].start()

def test_keeps_the_process_of_its_module(process):
    assert process.poll() is None

def test_ends_a_thread_soon():
    threading.Thread(target=time.sleep, args=(0.2,)).start()

def test_drops_its_timer_in_a_cycle_of_references(qapp):
    owner = QObject()
    owner.itself = owner
    owner.timer = QTimer(owner)
    owner.timer.start(10)

def test_deletes_its_window_later(qtbot):
    window = QWidget()
    window.timer = QTimer(window)
    window.timer.start(10)
    kept.append(window)
    window.deleteLater()
"""
LEFT = {
    "leaves_a_daemon_thread": "left behind: thread lazy",
    "leaves_a_process": r"left behind: process \d+ \(.*time.sleep\(5\)\)",
    "leaves_a_timer_without_a_window": "left behind: timer of 10 ms",
    "leaves_a_qt_thread": "left behind: Qt thread worker",
}


@pytest.mark.slow
def test_a_test_fails_only_for_what_it_leaves_behind(tmp_path: Path) -> None:
    for used in ("conftest.py", "slow.txt"):
        shutil.copy(Path(__file__).parents[1] / used, tmp_path)
    (tmp_path / "test_leaving.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        tmp_path,
        tmp_path,
    ]
    wide = {**os.environ, "COLUMNS": "300", "GLYPHSCOPE_GRACE": "1"}  # otherwise pytest shortens the reasons
    done = subprocess.run(command, env=wide, capture_output=True, text=True, check=False, timeout=240)
    for test, reason in LEFT.items():
        assert re.search(rf"ERROR .*test_{test} - Failed: {reason}", done.stdout), done.stdout
    assert f"{TESTS.count('def test_')} passed, {len(LEFT)} errors" in done.stdout, done.stdout


def test_tests_do_not_use_the_users_folders(own_home: Path) -> None:
    here = places()
    assert all(folder.is_relative_to(own_home) for folder in (here.config, here.data, here.state, here.cache))
