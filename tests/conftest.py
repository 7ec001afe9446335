"""What every test gets: a home of its own, no screen, and a look at what it left behind."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# `make check` uses quick, `make test` full; deep is for a night.
for name, examples in (("quick", 50), ("full", 2000), ("deep", 50_000)):
    settings.register_profile(
        name, max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
settings.load_profile(os.environ.get("GLYPHSCOPE_EXAMPLES", "quick"))

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings, history and journals of a test are its own."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("GLYPHSCOPE_HOME", str(home))
    return home


@pytest.fixture
def shared_data() -> Path:
    """Golden cases and real schemas that lie beside a checkout of the developers; skipped elsewhere."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the developers' shared data is not here")
    return SHARED_DATA


def _threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.is_alive() and not thread.daemon}


def _children() -> set[int]:
    """The running child processes of this one (Linux; empty elsewhere)."""
    found: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            found.update(int(pid) for pid in task.read_text().split())
        except OSError:  # a thread that just ended
            continue
    return found


def _timers_and_threads() -> set[str]:
    """Qt timers that still run and threads that were not joined, among the objects that Python can see."""
    core = sys.modules.get("PySide6.QtCore")
    widgets = sys.modules.get("PySide6.QtWidgets")
    if core is None or widgets is None or widgets.QApplication.instance() is None:
        return set()
    left: set[str] = set()
    for window in widgets.QApplication.topLevelWidgets():
        if not window.isVisible():
            continue
        left |= {
            f"timer of {window.objectName() or window}"
            for t in window.findChildren(core.QTimer)
            if t.isActive()
        }
        left |= {
            f"thread of {window.objectName() or window}"
            for t in window.findChildren(core.QThread)
            if t.isRunning()
        }
    return left


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread, a running Qt timer or thread, or a child process behind.

    A fixture of wider scope may keep a model's process: it was there before the test.
    """
    threads, children = _threads(), _children()
    yield
    left: set[str] = set()
    for _ in range(40):
        left = {f"thread {thread.name}" for thread in _threads() - threads}
        left |= {f"process {pid}" for pid in _children() - children}
        left |= _timers_and_threads()
        if not left:
            return
        time.sleep(0.05)
    pytest.fail(f"left behind: {', '.join(sorted(left))}")
