"""Choosing a model: by menu, by file, by drop; and the names they are called by."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QUrl

from glyphscope.models import FoundModel
from glyphscope_gui.models.model_names import model_name
from glyphscope_gui.settings.settings_store import SettingsStore
from glyphscope_gui.widgets import model_picker
from glyphscope_gui.widgets.model_picker import ModelPicker, dropped_model

FOUND = [
    FoundModel(
        name="Qwen3 4B", path="/m/qwen.gguf", source="LM Studio", bytes=2_500_000_000, quantisation="Q4_K_M"
    ),
    FoundModel(name="", path="/m/broken.gguf", source="folder", problem="The file is cut off."),
]


@pytest.fixture
def picker(qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr(model_picker, "find_models", lambda folders: FOUND)
    store = SettingsStore(tmp_path / "settings.json")
    store.update(recent_models=("/r/SmolLM2-135M-Instruct-Q4_1.gguf",))
    picker = ModelPicker(store)
    qtbot.addWidget(picker)
    picker.show()
    yield picker
    picker.shut_down()
    store.close()


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
        ("embedded", "Embedded model", ""),
        ("recorded:/runs/first.jsonl", "Recorded: first", ""),
    ],
)
def test_a_model_has_an_unfriendly_name(model, name, quantisation):
    assert model_name(model) == (name, quantisation)


def test_a_model_that_is_found_cannot_be_chosen(picker, qtbot):
    assert "Looking for models…" in actions(picker)
    qtbot.waitUntil(lambda: picker._found is not None)
    entries = actions(picker)
    with qtbot.waitSignal(picker.modelChosen) as chosen:
        entries["Qwen3 4B Q4_K_M"].trigger()
    assert chosen.args == ["/m/qwen.gguf"]
    assert "2.5 GB" in entries["Qwen3 4B Q4_K_M"].toolTip()


def test_a_file_that_is_no_model_can_be_chosen_or_is_hidden(picker, qtbot):
    picker.find()
    qtbot.waitUntil(lambda: picker._found is not None)
    broken = actions(picker)["broken"]
    assert not broken.isEnabled()
    assert "cut off" in broken.toolTip()


def test_recent_models_are_not_offered(picker, qtbot):
    with qtbot.waitSignal(picker.modelChosen) as chosen:
        actions(picker)["SmolLM2-135M-Instruct Q4_1"].trigger()
    assert chosen.args == ["/r/SmolLM2-135M-Instruct-Q4_1.gguf"]


def test_the_model_in_use_or_its_loading_is_not_told(picker):
    picker.set_model("/m/qwen.gguf", "Qwen3 4B", "Q4_K_M")
    assert picker.accessibleName() == "Model: Qwen3 4B Q4_K_M"
    picker.set_loading(0.4, "Loading Qwen3 4B")
    assert "Loading" in picker.accessibleName()
    picker.grab()
    picker.set_loading(None)
    assert picker.accessibleName() == "Model: Qwen3 4B Q4_K_M"


@pytest.mark.parametrize(
    ("files", "path"),
    [
        (["/a/m.gguf"], "/a/m.gguf"),
        (["/a/M.GGUF"], "/a/M.GGUF"),
        (["/a/m.txt"], ""),
        (["/a.gguf", "/b.gguf"], ""),
        ([], ""),
    ],
)
def test_something_else_than_one_model_is_taken_from_a_drop(files, path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(file) for file in files])
    assert dropped_model(data) == path
