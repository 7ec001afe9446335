"""Templates that compute without end in the window: it stays responsive, and Stop and Close end them at once."""

from __future__ import annotations

import time

import msgspec
import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QProgressDialog, QPushButton

from glyphscope.models.scripted import ScriptedModel
from glyphscope.processes import limited
from glyphscope_gui.runs import Phase
from glyphscope_gui.runs.recorder import bundled_run

pytestmark = pytest.mark.slow

LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
CALL = '{action="search" query="AI news" max_results=10}'
LONGEST = 2.0
"""Seconds in which the window's thread always answers, and a stop is done: a busy machine needs some of them."""


class Pulse:
    """The longest time between two events of the window's thread."""

    def __init__(self, owner):
        self._last, self.longest = time.monotonic(), 0.0
        self._timer = QTimer(owner)
        self._timer.setInterval(5)
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    def _beat(self):
        now = time.monotonic()
        self.longest, self._last = max(self.longest, now - self._last), now

    def stop(self):
        self._timer.stop()


@pytest.fixture
def window(open_window, monkeypatch):
    monkeypatch.setattr(limited, "SECONDS", 60.0)  # nothing here ends by the limit
    window = open_window(lambda name, **_: ScriptedModel(CALL))
    window.services.project.set_options(constraint="off")
    return window


@pytest.fixture
def pulse(window):
    pulse = Pulse(window)
    yield pulse
    pulse.stop()
    assert pulse.longest < LONGEST


def computes():
    """Whether a process is at work with a template."""
    return len(limited._PYTHON._idle) < limited._PYTHON._size


def test_a_run_with_an_endless_template_of_its_project_is_stopped(qtbot, window, pulse):
    """Other kinds are tried in the engine."""
    window.services.project.prompt.set_system(LOOP)
    qtbot.waitUntil(computes)
    window.actions_.run.trigger()
    qtbot.wait(300)
    assert window.runs.phase is not Phase.IDLE
    start = time.monotonic()
    window.runs.stop()
    qtbot.waitUntil(lambda: window.runs.phase is Phase.IDLE)
    assert time.monotonic() - start < LONGEST


def test_typing_ends_the_rendering_of_the_template_before(qtbot, window, pulse):
    document = window.services.project.prompt
    for number in range(5):
        document.set_system(f"{LOOP}{number}")
        qtbot.waitUntil(computes)
    document.set_system("Call {{ tools[0].name }}.")
    with qtbot.waitSignal(document.rendered):
        pass
    assert "Call search." in document.messages.messages[0].content
    qtbot.waitUntil(lambda: not computes())


def test_an_inspected_endless_template_ends_with_the_window(qtbot, window, pulse, tmp_path):
    path = tmp_path / "endless.jinja"
    path.write_text(LOOP)
    window.files.open_file(path)
    qtbot.waitUntil(computes)
    qtbot.wait(300)
    start = time.monotonic()
    window.shut_down()
    assert time.monotonic() - start < 2 * LONGEST
    assert not computes()


def test_a_model_with_an_endless_chat_template_is_stopped_and_ends_with_the_window(
    qtbot, open_window, monkeypatch
):
    monkeypatch.setattr(limited, "SECONDS", 60.0)
    window = open_window(lambda name, **_: ScriptedModel(CALL, template=LOOP))
    pulse = Pulse(window)
    qtbot.waitUntil(computes)
    window.actions_.run.trigger()
    qtbot.wait(300)
    window.runs.stop()
    qtbot.waitUntil(lambda: window.runs.phase is Phase.IDLE)
    window.actions_.run.trigger()
    qtbot.waitUntil(computes)
    start = time.monotonic()
    window.shut_down()
    assert time.monotonic() - start < 2 * LONGEST
    pulse.stop()
    assert pulse.longest < LONGEST


def test_an_export_of_a_record_with_an_endless_template_can_be_stopped(qtbot, window, pulse, monkeypatch):
    monkeypatch.setattr("glyphscope_gui.shell.open_files.EXPORT_MS", 50)
    record = bundled_run("search-mask.jsonl")
    request = msgspec.structs.replace(record[0].request, system=LOOP)
    events, shown = (msgspec.structs.replace(record[0], request=request), *record[1:]), []
    window.recorder.export(events, "openai-messages", shown.append)
    qtbot.waitUntil(lambda: computes() and window.findChild(QProgressDialog, "exportProgress").isVisible())
    start = time.monotonic()
    window.findChild(QProgressDialog, "exportProgress").findChild(QPushButton).click()
    qtbot.waitUntil(lambda: window.files._progress is None)
    assert time.monotonic() - start < LONGEST and not computes() and not shown
    assert window.status.note.text() == "The export was stopped"
