"""Choosing a model: by menu, by file, by drop; and the names of models."""

from __future__ import annotations

import threading
import time

import pytest
from PySide6.QtWidgets import QFileDialog, QLineEdit

from glyphscope.events import ModelInfo
from glyphscope.models import FoundModel
from glyphscope_gui.model_picker import EndpointDialog, ModelPicker, ModelPresenter
from glyphscope_gui.runs import ModelStatus
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.run_words import model_name
from memory_keyring import memory_keyring

FOUND = [
    FoundModel(
        name="Qwen3-4B-Q4_K_M",
        path="/m/Qwen3-4B-Q4_K_M.gguf",
        source="LM Studio",
        bytes=2_500_000_000,
        quantisation="Q4_K_M",
    ),
    FoundModel(name="", path="/m/broken.gguf", source="folder", problem="The file is cut off."),
]


@pytest.fixture
def picker(context, monkeypatch):
    monkeypatch.setattr("glyphscope_gui.model_picker.presenter.find_models", lambda folders: FOUND)
    context.settings.update(recent_models=("/r/SmolLM2-135M-Instruct-Q4_1.gguf",))
    picker = ModelPicker(context.settings, context.window)
    presenter = ModelPresenter(context, picker)
    yield picker
    end_work(presenter)


def actions(picker):
    picker._fill()
    return {a.text().replace("\t", " ").strip(): a for a in picker.menu().actions() if a.text()}


@pytest.mark.parametrize(
    ("model", "name", "quantisation"),
    [
        ("/a/SmolLM2-135M-Instruct-Q4_1.gguf", "SmolLM2-135M-Instruct", "Q4_1"),
        ("qwen3-4b.Q4_K_M.gguf", "qwen3-4b", "Q4_K_M"),
        ("Llama-3.1-8B-UD-IQ2_XXS.gguf", "Llama-3.1-8B", "UD-IQ2_XXS"),
        ("big-f16-00001-of-00003.gguf", "big", "F16"),
        ("model.gguf", "model", ""),
        ("embedded", "SmolLM2-135M-Instruct", "Q4_1"),
        ("recorded:/runs/first.jsonl", "Recorded: first", ""),
        ("http://127.0.0.1:8080/v1", "127.0.0.1:8080", ""),
        ("https://host/v1?dialect=vllm#Qwen/Qwen3-8B", "Qwen3-8B", "host"),
    ],
)
def test_a_model_has_a_readable_name(model, name, quantisation):
    assert model_name(model) == (name, quantisation)


def test_a_found_model_can_be_chosen(picker, qtbot):
    assert "Looking for models…" in actions(picker)
    qtbot.waitUntil(lambda: picker._found is not None)
    entries = actions(picker)
    with qtbot.waitSignal(picker.modelChosen) as chosen:
        entries["Qwen3-4B Q4_K_M"].trigger()
    assert chosen.args == ["/m/Qwen3-4B-Q4_K_M.gguf"]
    assert "2.5 GB" in entries["Qwen3-4B Q4_K_M"].toolTip()


def test_models_that_are_found_late_move_no_action_under_the_pointer(picker, qtbot):
    before = list(actions(picker))
    qtbot.waitUntil(lambda: picker._found is not None)
    after = list(actions(picker))
    fixed = before.index("Refresh list") + 1
    assert after[:fixed] == before[:fixed] and len(after) > fixed


def test_an_invalid_model_file_is_shown_and_cannot_be_chosen(picker, qtbot):
    picker.searchRequested.emit()
    qtbot.waitUntil(lambda: picker._found is not None)
    broken = actions(picker)["broken"]
    assert not broken.isEnabled()
    assert "cut off" in broken.toolTip()


def test_recent_models_are_offered(picker, qtbot):
    with qtbot.waitSignal(picker.modelChosen) as chosen:
        actions(picker)["SmolLM2-135M-Instruct Q4_1"].trigger()
    assert chosen.args == ["/r/SmolLM2-135M-Instruct-Q4_1.gguf"]


def test_the_model_in_use_and_its_loading_are_shown(picker):
    picker.set_model("/m/Qwen3-4B-Q4_K_M.gguf", "Qwen3-4B", "Q4_K_M")
    assert picker.accessibleName() == "Model: Qwen3-4B Q4_K_M"
    picker.set_loading(0.4, "Loading Qwen3 4B")
    assert "Loading" in picker.accessibleName()
    picker.grab()
    picker.set_loading(None)
    assert picker.accessibleName() == "Model: Qwen3-4B Q4_K_M"


def test_a_chosen_model_is_the_projects_and_the_pickers(context, qtbot):
    picker = ModelPicker(context.settings)
    qtbot.addWidget(picker)
    presenter = ModelPresenter(context, picker)
    assert picker.accessibleName() == "Model: SmolLM2-135M-Instruct Q4_1"
    with qtbot.waitSignal(context.project.modelChosen) as chosen:
        picker.modelChosen.emit("/m/qwen3-4b.Q4_K_M.gguf")
    assert chosen.args == [context.project.model] and picker.accessibleName() == "Model: qwen3-4b Q4_K_M"
    context.runs.modelStatusChanged.emit(ModelStatus("opening", "/m/qwen3-4b.Q4_K_M.gguf"))
    assert "Loading…" in picker.accessibleName()
    context.runs.modelStatusChanged.emit(ModelStatus("opening", "/m/qwen3-4b.Q4_K_M.gguf", progress=0.5))
    assert "loading" in picker.accessibleName()
    info = ModelInfo(name="Qwen3", path="/m/qwen3-4b.Q4_K_M.gguf", quantisation="Q5_K")
    context.runs.modelStatusChanged.emit(ModelStatus("ready", "/m/qwen3-4b.Q4_K_M.gguf", info=info))
    assert picker.accessibleName() == "Model: qwen3-4b Q5_K"
    end_work(presenter)


def test_the_menu_opens_one_file_dialog(context, qtbot):
    picker = ModelPicker(context.settings, context.window)
    presenter = ModelPresenter(context, picker)
    context.actions.open_model.trigger()
    dialogs = context.window.findChildren(QFileDialog)
    assert len(dialogs) == 1
    dialogs[0].reject()
    end_work(presenter)


@pytest.fixture
def ring():
    with memory_keyring() as ring:
        yield ring


def test_an_endpoint_is_opened_after_its_key_is_stored_and_the_key_stays_hidden(context, picker, qtbot, ring):
    actions(picker)["Endpoint…"].trigger()
    dialog = picker.window().findChild(EndpointDialog)
    assert not dialog.open_button.isEnabled() and dialog.key_edit.echoMode() == QLineEdit.EchoMode.Password
    dialog.address_edit.setText("http://me:secret@host/v1")
    assert not dialog.open_button.isEnabled() and "secret" not in dialog.problem.text()
    dialog.address_edit.setText("http://127.0.0.1:9/v1#tiny")
    dialog.key_edit.setText("sk-1")
    with qtbot.waitSignal(context.project.modelChosen) as chosen:
        dialog.open_button.click()
    assert chosen.args == ["http://127.0.0.1:9/v1#tiny"]
    assert ring.passwords["http://127.0.0.1:9"] == "sk-1" and dialog.key_edit.text() == ""


def test_a_locked_keyring_is_reported_and_its_endpoint_is_not_opened(context, picker, qtbot, ring):
    ring.locked = True
    picker.endpointRequested.emit()
    dialog = picker.window().findChild(EndpointDialog)
    dialog.address_edit.setText("http://127.0.0.1:9")
    dialog.key_edit.setText("sk-1")
    with qtbot.assertNotEmitted(context.project.modelChosen):
        dialog.open_button.click()
        qtbot.waitUntil(lambda: "cannot be used" in dialog.problem.text())
    dialog.reject()


def test_a_waiting_keyring_does_not_block_the_window(context, picker, qtbot, ring, monkeypatch):
    let_go = threading.Event()
    monkeypatch.setattr(ring, "set_password", lambda *_: let_go.wait(60))
    picker.endpointRequested.emit()
    dialog = picker.window().findChild(EndpointDialog)
    dialog.address_edit.setText("http://127.0.0.1:9")
    dialog.key_edit.setText("sk-1")
    with qtbot.assertNotEmitted(context.project.modelChosen):
        dialog.open_button.click()
        began = time.monotonic()
        dialog.reject()
        assert time.monotonic() - began < 20 and not dialog.isVisible()
        with qtbot.waitSignal(dialog.finished):
            let_go.set()
