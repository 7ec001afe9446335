"""The dialog of models: facts, load options, memory, loading progress and Unload."""

from __future__ import annotations

import struct
import threading
import time

import msgspec
import pytest
from msgspec import UNSET
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit

from fake_context import CALL, scripted
from fake_hub import gguf
from gguf_values import pair
from glyphscope.events import LoadOptions, ModelInfo
from glyphscope.models import FoundModel
from glyphscope.models.batch_sizes import BatchFile, BatchTimes
from glyphscope.models.memory import ModelFacts
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.model_picker import (
    EndpointDialog,
    LoadPanel,
    ModelPicker,
    ModelPresenter,
    OpenModelLine,
    status_words,
)
from glyphscope_gui.runs import ModelStatus
from glyphscope_gui.settings.dialog import SettingsPresenter
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.run_words import model_name
from glyphscope_gui.shell.window_presenter import model_words
from memory_keyring import memory_keyring

FACTS = ModelFacts(
    name="m",
    path="/m.gguf",
    architecture="qwen3",
    quantisation="Q4_K_M",
    parameters=600_000_000,
    vocabulary=151_936,
    context=40_960,
    layers=28,
    has_chat_template=True,
    bytes=400_000_000,
    kv_values=57_344,
)


@pytest.fixture
def panel(qtbot, monkeypatch):
    monkeypatch.setattr("glyphscope.models.memory.available_memory", lambda: 1_000_000_000)
    panel = LoadPanel()
    qtbot.addWidget(panel)
    panel.show_model(FACTS, LoadOptions())
    return panel


def choose(panel, name, value):
    field = panel._fields[name]
    field.show_value(value)
    field.activated.emit(field.currentIndex())


def test_facts_and_memory_of_a_model_are_shown(panel):
    facts = panel.facts.text()
    for words in ("qwen3", "600M parameters", "28 layers", "Q4_K_M", "151,936", "40,960", "chat template"):
        assert words in facts
    assert "870 MB (400 MB weights, 470 MB KV cache)" in panel.memory.text()
    assert "Fits: 1 GB free." in panel.memory.text()
    panel._fields["context"].setValue(8192)
    assert "Does not fit" in panel.memory.text() and panel.memory.property("role") == "problem"
    choose(panel, "kv_type", "q8_0")
    assert "Fits" in panel.memory.text() and panel.memory.property("role") == "muted"


def test_options_that_exclude_each_other_are_explained_and_not_applied(panel, qtbot):
    chosen = []
    panel.optionsChosen.connect(chosen.append)
    choose(panel, "flash_attention", "off")
    choose(panel, "kv_type", "q4_0")
    assert chosen == [LoadOptions(flash_attention="off")]
    assert "needs flash attention" in panel.memory.text() and panel.memory.property("role") == "problem"
    choose(panel, "flash_attention", "auto")
    assert chosen[-1] == LoadOptions(kv_type="q4_0")


def test_an_adapter_that_does_not_fit_is_explained_and_not_applied(panel, qtbot, tmp_path):
    chosen = []
    panel.optionsChosen.connect(chosen.append)
    model, adapter = tmp_path / "m.gguf", tmp_path / "a.gguf"
    heads = ({"general.architecture": "qwen3"}, {"general.type": "adapter", "general.architecture": "llama"})
    for path, head in zip((model, adapter), (heads[0], heads[1] | {"adapter.type": "lora"})):
        pairs = b"".join(pair(key, value) for key, value in head.items())
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(head)) + pairs + bytes(64))
    panel.show_model(msgspec.structs.replace(FACTS, path=str(model)), LoadOptions())
    field = panel._fields["lora"]
    for typed, said in (
        (str(tmp_path / "none.gguf"), "no such file"),
        (f"{adapter}:0.5", "is llama, not qwen3"),
    ):
        field.setPlainText(typed)
        qtbot.waitUntil(lambda said=said: said in panel.memory.text())
        assert panel.memory.property("role") == "problem" and not chosen
    field.setPlainText("a.gguf:1000")
    assert field.property("refused")
    field.setPlainText("")
    assert panel.memory.property("role") == "muted"


def test_adapters_count_as_memory_and_are_read_in_the_background(panel, qtbot, tmp_path, monkeypatch):
    read_in = []
    monkeypatch.setattr(
        "glyphscope_gui.model_picker.dialog.require_adapters",
        lambda *_: read_in.append(threading.current_thread()),
    )
    (tmp_path / "a.gguf").write_bytes(bytes(100_000_000))
    chosen = []
    panel.optionsChosen.connect(chosen.append)
    panel._fields["lora"].setPlainText(str(tmp_path / "a.gguf"))
    qtbot.waitUntil(lambda: bool(chosen))
    assert "970 MB (400 MB weights, 470 MB KV cache, 100 MB adapters)" in panel.memory.text()
    assert chosen == [panel.options] and threading.main_thread() not in read_in


def test_a_loading_model_shows_its_progress_and_a_loaded_one_its_options(qtbot):
    line = OpenModelLine()
    qtbot.addWidget(line)
    line.show()
    line.show_status(ModelStatus("opening", "/m/a-Q8_0.gguf", progress=0.4), can_unload=False)
    assert line.bar.isVisible() and line.bar.value() == 400 and "40%" in line.words.text()
    assert not line.unload.isEnabled()
    load = LoadOptions(context=2048, threads=2, gpu_layers=0, kv_type="q8_0", flash_attention="on")
    info = ModelInfo(name="a", load=load)
    line.show_status(ModelStatus("ready", "/m/a-Q8_0.gguf", info=info), can_unload=True)
    assert "context 2,048, 2 threads, 0 GPU layers, KV cache q8_0" in line.words.text()
    assert line.unload.isEnabled() and not line.bar.isVisible()


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("opening", "Connecting to m…"),
        ("ready", "Connected: m"),
        ("failed", "Not connected: refused"),
    ],
)
def test_an_endpoint_is_connected_not_loaded(phase, words):
    assert status_words(ModelStatus(phase, "http://localhost:8080/v1#m", "refused")) == words


def test_measured_batches_are_shown_until_an_option_changes_that_they_depend_on(panel, qtbot):
    times = BatchTimes({64: 142.0, 32: 75.0}, True)
    panel.show_batches(times)
    assert panel.batches.text() == "Prompt batches: 32 tokens, measured (32: 427 tokens/s, 64: 451 tokens/s)."
    with qtbot.waitSignal(panel.measureRequested):
        panel.again.click()
    panel._fields["context"].setValue(8192)
    assert panel.batches.text()
    panel._fields["threads"].setValue(1)
    assert not panel.batches.text() and panel.again.isHidden()


def test_the_size_of_batches_can_be_chosen(panel):
    chosen = []
    panel.optionsChosen.connect(chosen.append)
    choose(panel, "batch", 128)
    assert chosen[-1] == LoadOptions(batch=128)
    choose(panel, "batch", UNSET)
    assert chosen[-1] == LoadOptions(), "as measured"


# -- the dialog ----------------------------------------------------------------------------------------------------


@pytest.fixture
def open_dialog(open_context, monkeypatch, tmp_path):
    """Open the dialog where one model was found, which `opener` opens; return it, its context and the model's file."""
    made = []

    def build(opener=scripted, problem=""):
        file = tmp_path / "a.gguf"
        file.write_bytes(gguf())
        found = [FoundModel(name="a", path=str(file), source="folder", bytes=4096, problem=problem)]
        monkeypatch.setattr("glyphscope_gui.model_picker.presenter.find_models", lambda _folders: found)
        context = open_context(opener)
        picker = ModelPicker(context.settings, context.window)
        presenter = ModelPresenter(context, picker)
        made.extend((presenter, SettingsPresenter(context)))
        return presenter, picker, context, file

    yield build
    for presenter in made:
        end_work(presenter)


class Closing(ScriptedModel):
    """Counts how often it is closed, which takes until `may_close`."""

    closed = 0
    may_close = threading.Event()

    def close(self):
        assert Closing.may_close.wait(30)
        Closing.closed += 1


@pytest.mark.slow
def test_options_reload_the_open_model_and_unload_frees_it_until_the_next_run(
    open_dialog, qtbot, monkeypatch
):
    monkeypatch.setattr("glyphscope_gui.settings.dialog.REOPEN_MS", 20)
    monkeypatch.setattr(Closing, "closed", 0)
    Closing.may_close.set()
    opened = []

    def opener(name, *, options, progress):
        opened.append((name, options))
        return Closing(CALL)

    presenter, picker, context, file = open_dialog(opener)
    context.project.choose_model(str(file))
    context.runs.open_model(str(file))
    dialog = presenter.show()
    qtbot.waitUntil(dialog.loading.isVisible)
    assert "llama" in dialog.loading.facts.text() and "KV cache unknown" in dialog.loading.memory.text()
    choose(dialog.loading, "kv_type", "q8_0")
    qtbot.waitUntil(lambda: opened[-1] == (str(file), LoadOptions(kv_type="q8_0")))
    assert context.settings.value.load_options == {str(file): LoadOptions(kv_type="q8_0")}
    qtbot.waitUntil(context.actions.unload_model.isEnabled)
    closed = Closing.closed
    Closing.may_close.clear()
    qtbot.mouseClick(dialog.open_line.unload, Qt.MouseButton.LeftButton)
    assert dialog.table.hasFocus()
    assert dialog.open_line.words.text() == "Unloading a…" and not dialog.open_line.unload.isEnabled()
    assert "Unloading…" in picker.accessibleName()
    assert model_words(context.runs.model) == "Unloading the model…"
    Closing.may_close.set()
    qtbot.waitUntil(lambda: context.runs.model.phase == "none")
    assert Closing.closed == closed + 1 and "next run loads it" in dialog.open_line.words.text()
    assert not context.actions.unload_model.isEnabled()
    with qtbot.waitSignal(context.runs.ended):
        context.runs.run(context.project.next_run())
    assert context.runs.state.call is not None and context.runs.model.phase == "ready"
    assert opened[-1] == (str(file), LoadOptions(kv_type="q8_0"))


def test_a_file_that_cannot_be_used_has_no_options(open_dialog, qtbot):
    dialog = open_dialog(problem="The file is cut off.")[0].show()
    qtbot.waitUntil(lambda: dialog.found.rowCount() == 1)
    assert not dialog.loading.isVisible() and dialog.selected_path == ""


def test_measure_again_forgets_the_times_of_the_selected_model(open_dialog, qtbot):
    presenter, _picker, context, file = open_dialog()
    times = BatchFile(context.services.places.batches, file, LoadOptions())
    times.write(BatchTimes({64: 142.0, 32: 75.0}, True))
    dialog = presenter.show()
    qtbot.waitUntil(lambda: "32 tokens, measured" in dialog.loading.batches.text())
    dialog.loading.again.click()
    assert times.read() is None and not dialog.loading.batches.text()


# -- the picker -----------------------------------------------------------------------------------------------------


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
