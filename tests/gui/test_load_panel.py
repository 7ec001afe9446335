"""The dialog of models: facts, load options, memory, loading progress and Unload."""

from __future__ import annotations

import threading

import pytest
from msgspec import UNSET
from PySide6.QtCore import Qt

from fake_hub import gguf
from glyphscope.events import LoadOptions, ModelInfo
from glyphscope.models import BatchFile, BatchTimes, FoundModel, ModelFacts, ScriptedModel
from glyphscope_gui.model_picker import LoadPanel, ModelPicker, ModelPresenter, OpenModelLine, status_words
from glyphscope_gui.runs import ModelStatus
from glyphscope_gui.settings.dialog import SettingsPresenter
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shell.window_presenter import model_words

CALL = '{action="search" query="AI news" max_results=10}'
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


class Closing(ScriptedModel):
    """Counts how often it is closed, which takes until `may_close`."""

    closed = 0
    may_close = threading.Event()

    def close(self):
        assert Closing.may_close.wait(30)
        Closing.closed += 1


@pytest.mark.slow
def test_options_reload_the_open_model_and_unload_frees_it_until_the_next_run(
    open_context, qtbot, monkeypatch, tmp_path
):
    monkeypatch.setattr("glyphscope_gui.settings.dialog.REOPEN_MS", 20)
    monkeypatch.setattr(Closing, "closed", 0)
    Closing.may_close.set()
    file = tmp_path / "a.gguf"
    file.write_bytes(gguf())
    found = [FoundModel(name="a", path=str(file), source="folder", bytes=4096)]
    monkeypatch.setattr("glyphscope_gui.model_picker.presenter.find_models", lambda _folders: found)
    opened = []

    def opener(name, *, options, progress):
        opened.append((name, options))
        return Closing(CALL)

    context = open_context(opener)
    settings = SettingsPresenter(context)
    picker = ModelPicker(context.settings, context.window)
    presenter = ModelPresenter(context, picker)
    try:
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
    finally:
        end_work(presenter)
        end_work(settings)


def test_a_file_that_cannot_be_used_has_no_options(open_context, qtbot, monkeypatch):
    found = [FoundModel(name="", path="/m/a.gguf", source="folder", problem="The file is cut off.")]
    monkeypatch.setattr("glyphscope_gui.model_picker.presenter.find_models", lambda _folders: found)
    context = open_context(lambda _name, **_options: ScriptedModel(CALL))
    presenter = ModelPresenter(context, ModelPicker(context.settings, context.window))
    try:
        dialog = presenter.show()
        qtbot.waitUntil(lambda: dialog.found.rowCount() == 1)
        assert not dialog.loading.isVisible() and dialog.selected_path == ""
    finally:
        end_work(presenter)


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


def test_measure_again_forgets_the_times_of_the_selected_model(open_context, qtbot, monkeypatch, tmp_path):
    file = tmp_path / "a.gguf"
    file.write_bytes(gguf())
    found = [FoundModel(name="a", path=str(file), source="folder", bytes=4096)]
    monkeypatch.setattr("glyphscope_gui.model_picker.presenter.find_models", lambda _folders: found)
    context = open_context(lambda _name, **_options: ScriptedModel(CALL))
    times = BatchFile(context.services.places.batches, file, LoadOptions())
    times.write(BatchTimes({64: 142.0, 32: 75.0}, True))
    presenter = ModelPresenter(context, ModelPicker(context.settings, context.window))
    try:
        dialog = presenter.show()
        qtbot.waitUntil(lambda: "32 tokens, measured" in dialog.loading.batches.text())
        dialog.loading.again.click()
        assert times.read() is None and not dialog.loading.batches.text()
    finally:
        end_work(presenter)
