"""An idle model measures its batch size once, in the background; everything else comes first."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import msgspec
import psutil
import pytest

from glyphscope.base.errors import ModelError, StorageError
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store import Settings, places, save_settings
from glyphscope_gui.shared.background import this_task

pytestmark = pytest.mark.slow  # whole windows

CALL = '{action="search" query="AI news" max_results=10}'
TIMES = BatchTimes({64: 142.0, 32: 75.0}, True)


class LocalModel(ScriptedModel):
    def __init__(self):
        super().__init__(CALL)
        self.info = msgspec.structs.replace(self.info, kind="llama.cpp")


class Measuring:
    """A model's measuring: it ends with `results`, one each time, once `ready` is set, or with None when stopped."""

    def __init__(self, *results):
        self.results, self.ready, self.begun, self.known = list(results), threading.Event(), 0, False

    def measure(self, _model):
        self.begun += 1
        stopped = this_task().stopped
        while not stopped.is_set():
            if self.ready.wait(0.01):
                result = self.results.pop(0)
                if isinstance(result, Exception):
                    raise result
                self.known = True
                return result
        return None


@pytest.fixture
def measuring(monkeypatch):
    """A function that makes the Measuring of the open model, on a machine with that load."""

    def begin(*results, load=3.0):
        fake = Measuring(*results)
        monkeypatch.setattr("glyphscope_gui.shell.idle_model_presenter.PAUSE_MS", 5)
        monkeypatch.setattr("glyphscope_gui.shell.idle_model_presenter.IDLE_MS", 20)
        monkeypatch.setattr(psutil, "cpu_percent", lambda: load)
        monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)
        monkeypatch.setattr(
            "glyphscope_gui.shell.idle_model_presenter.is_unmeasured", lambda _model: not fake.known
        )
        monkeypatch.setattr("glyphscope_gui.runs.model_queries.batches_measured", fake.measure)
        return fake

    return begin


@pytest.fixture
def window(open_window):
    return lambda: open_window(lambda _name, *, options, progress: LocalModel())


def test_an_idle_model_is_measured_once_and_the_status_line_says_so(window, measuring, qtbot):
    fake = measuring(TIMES)
    window = window()
    qtbot.waitUntil(lambda: fake.begun > 0)
    qtbot.waitUntil(lambda: "Measuring prompt batches" in window.status.message.text())
    with qtbot.waitSignal(window.idle_model.measured) as measured:
        fake.ready.set()
    assert measured.args == [TIMES]
    begun = fake.begun  # more than once, if a query of the window's start ended the first
    assert "Prompt batches measured: 32 tokens" in window.status.note.text()
    assert "Measuring" not in window.status.message.text()
    with qtbot.waitSignal(window.idle_model.ended):
        window.services.project.prompt.set_user("Another prompt")
    qtbot.wait(100)
    assert fake.begun == begun


@pytest.mark.parametrize(("what", "again"), [("run", 1), ("edit", 1), ("another model", 1), ("unload", 0)])
def test_what_a_user_does_ends_the_measuring_which_continues_when_the_model_is_idle_again(
    window, measuring, qtbot, what, again
):
    fake = measuring(TIMES)
    window = window()
    runs, project = window.runs, window.services.project
    ends, do = {
        "run": (runs.ended, lambda: runs.run(project.next_run())),
        "edit": (window.idle_model.ended, lambda: project.prompt.set_user("Another prompt")),
        "another model": (runs.modelStatusChanged, lambda: runs.open_model("other")),
        "unload": (runs.modelStatusChanged, runs.unload_model),
    }[what]
    qtbot.waitUntil(lambda: fake.begun > 0)
    with qtbot.waitSignal(ends):
        do()
    begun = fake.begun
    if not again:
        qtbot.wait(100)
        assert fake.begun == begun
        return
    assert what != "run" or runs.state.call is not None
    with qtbot.waitSignal(window.idle_model.measured):
        fake.ready.set()


def test_the_window_closes_while_a_model_is_measured(window, measuring, qtbot):
    fake = measuring(TIMES)
    window = window()
    qtbot.waitUntil(lambda: fake.begun > 0)
    window.shut_down()


@pytest.mark.parametrize("why", ["busy machine", "battery", "setting"])
def test_a_busy_machine_a_battery_and_the_setting_prevent_it(window, measuring, qtbot, monkeypatch, why):
    fake = measuring(TIMES, load=90.0 if why == "busy machine" else 3.0)
    if why == "battery":
        battery = SimpleNamespace(power_plugged=False)
        monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    elif why == "setting":
        save_settings(places().settings, Settings(read_ahead=False))
    window()
    qtbot.wait(150)
    assert fake.begun == 0


def test_a_failed_measuring_is_repeated_twice_and_a_full_disk_is_reported(window, measuring, qtbot):
    fake = measuring(*[ModelError("busy")] * 3)
    fake.ready.set()
    first = window()
    qtbot.waitUntil(lambda: not fake.results)
    begun = fake.begun
    qtbot.wait(100)
    assert fake.begun == begun and "Measuring" not in first.status.message.text()
    fake = measuring(StorageError("The disk is full."))
    fake.ready.set()
    second = window()
    qtbot.waitUntil(lambda: "The disk is full." in second.status.note.text())
