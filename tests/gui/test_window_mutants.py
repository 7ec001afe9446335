"""Damaged and hostile projects, suites and other files in the whole window; `tests/support/window_mutants.py` tries any
number of them.
"""

from __future__ import annotations

import pytest

from examples import rounds
from glyphscope_gui.shell import main_window, project_dialogs
from glyphscope_gui.tools import actions as tool_actions
from window_mutants import STEPS, Windows

pytestmark = pytest.mark.slow
COUNTS = {"projects": rounds(2, 1000), "suites": rounds(2, 1000)}


@pytest.fixture
def windows(qapp, monkeypatch):
    monkeypatch.setattr("glyphscope.processes.limited.SECONDS", 2.0)
    for module in (main_window, project_dialogs, tool_actions):
        monkeypatch.setattr(module, "show_error", module.show_error)  # and restored
    windows = Windows(qapp)
    yield windows
    windows.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", STEPS)
def test_each_mutant_is_shown_or_rejected_and_the_window_answers_meanwhile(windows, tmp_path, kind):
    for number in range(COUNTS.get(kind, rounds(1, 1000))):
        windows.try_mutant(kind, number, tmp_path)
    assert not windows.found, "\n".join(windows.found)
