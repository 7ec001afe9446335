"""Settings: choices apply at once and are saved; all can be found; data that leaves the computer is named."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QMessageBox, QPlainTextEdit, QWidget

from glyphscope.models import PromptCache
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store import LIMIT_VARIABLE, History, Places, load_settings
from glyphscope.tools.mcp import ServerConfig
from glyphscope_gui.project import SettingsStore
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.services import make_services
from glyphscope_gui.settings.dialog import SettingsDialog, SettingsPresenter, contacts, summary
from glyphscope_gui.settings.sections import FolderLine, ModelFolders
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.theme import ThemeManager, mono_font, use_font
from glyphscope_gui.theme.fonts import choose_mono, fixed_families, mono_families

CALL = '{action="search" query="AI news" max_results=10}'


@pytest.fixture
def home(tmp_path):
    return Places(tmp_path, tmp_path, tmp_path, tmp_path)


@pytest.fixture
def make(qtbot, home):
    def build(contacts=()):
        store = SettingsStore(home.settings)
        dialog = SettingsDialog(store, home, History(home.history), contacts)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(dialog)
        dialog.show()
        return store, dialog

    return build


def field(dialog, name):
    found = dialog.findChild(QWidget, f"{name}Setting")
    assert found is not None, name
    return found


def test_settings_of_the_dialog_are_saved(make, home):
    store, dialog = make()
    expected = {
        "theme": "dark", "font_size": 12, "context": 8192, "notation": "json", "shape": "tool-args",
        "constraint": "gbnf",
        "seed": 7, "temperature": 0.4, "history_limit": 50, "alternatives": 5, "max_tokens": 99, "call_bytes": 5000,
        "result_bytes": 6000, "read_ahead": False, "prompt_cache_mb": 0,
    }  # fmt: skip
    for name, value in expected.items():
        edit = field(dialog, name)
        if isinstance(value, bool):
            edit.click()
        elif hasattr(edit, "setValue"):
            edit.setValue(value)
        else:
            edit.setCurrentIndex(edit.findData(value))
            edit.activated.emit(edit.currentIndex())
    dialog.findChild(ModelFolders).add(str(home.data))
    store.close()
    found = load_settings(home.settings).settings
    assert {name: getattr(found, name) for name in expected} == expected
    assert found.model_folders == (str(home.data),)
    missing = expected.keys() ^ {field.removesuffix("Setting") for field in _names(dialog)}
    assert missing == {"code_font"}, "a field is not tested here"
    assert found.first_options()["sampling"].temperature == 0.4


def _names(dialog):
    return [w.objectName() for w in dialog.findChildren(QWidget) if w.objectName().endswith("Setting")]


@pytest.mark.slow
def test_a_setting_changed_elsewhere_is_shown(make):
    store, dialog = make()
    store.update(theme="light", context=2048)
    assert field(dialog, "theme").currentData() == "light"
    assert field(dialog, "context").value() == 2048
    assert (field(dialog, "context").minimum(), field(dialog, "context").maximum()) == (512, 131_072)


def test_a_setting_is_found_by_a_word(make, qtbot):
    _store, dialog = make()
    qtbot.keyClicks(dialog.search_edit, "temperature")
    shown = [row for section in dialog.sections for row in section.rows if row.isVisibleTo(dialog)]
    assert [row.field.objectName() for row in shown] == ["temperatureSetting"]
    dialog.search_edit.setText("privacy")
    assert [section.title for section in dialog.sections if section.isVisibleTo(dialog)] == ["Privacy"]
    dialog.search_edit.setText("xyzzy")
    assert dialog.none.isVisibleTo(dialog)
    dialog.search_edit.clear()
    assert all(row.isVisibleTo(dialog) for section in dialog.sections for row in section.rows)


def test_models_of_the_window_store_prompts_as_the_settings_say(qapp, home, monkeypatch):
    monkeypatch.delenv(LIMIT_VARIABLE)
    opened = {}
    monkeypatch.setattr("glyphscope_gui.services.open_model", lambda _name, **more: opened.update(more))
    owner = QObject()
    services = make_services(home, owner)
    services.open_model("m.gguf")
    assert opened["prompts"]() == PromptCache(str(home.prompts), 500_000_000)
    services.settings.update(prompt_cache_mb=0)
    assert opened["prompts"]() is None, "from the next generation on"
    services.close()


def test_stored_prompts_are_counted_and_cleared(make, home, qtbot):
    home.prompts.mkdir()
    for name in ("a.kv", "b.kv", "other.txt"):
        (home.prompts / name).write_bytes(b"x" * 1500)
    clearer = make()[1].prompt_clearer
    assert clearer.note.text() == "2 prompts, 3 kB"
    clearer.button.click()
    qtbot.waitUntil(lambda: clearer.note.text() == "None.")
    assert not clearer.button.isEnabled()
    assert [file.name for file in home.prompts.iterdir()] == ["other.txt"]
    end_work(clearer)


def test_an_invalid_value_in_the_file_is_reported(make, home):
    home.settings.write_text(json.dumps({"glyphscope_settings": 2, "context": 3, "theme": "dark"}))
    store, dialog = make()
    assert "context was 3" in dialog.notice.text() and dialog.notice.isVisibleTo(dialog)
    assert store.value.theme == "dark"


def test_a_folder_that_cannot_be_created_is_reported(qtbot, tmp_path):
    (tmp_path / "file").write_text("")
    line = FolderLine("Models", tmp_path / "file" / "models", tmp_path / "file" / "models")
    qtbot.addWidget(line)
    line.open()
    assert "cannot be created" in line.problem.text()


def test_settings_that_cannot_be_written_are_reported_once(qtbot, tmp_path):
    (tmp_path / "file").write_text("")
    store = SettingsStore(tmp_path / "file" / "settings.json")
    seen = []
    store.failed.connect(seen.append)
    for size in (9, 10):
        store.update(font_size=size)
        store.close()
    assert len(seen) == 1
    assert store.value.font_size == 10


# -- what leaves the computer --------------------------------------------------------------------------------------


def test_every_destination_that_receives_data_is_listed():
    found = contacts(
        [
            "embedded",
            "http://127.0.0.1:8080/v1",
            "https://host.example/v1#big",
            "https://host.example/v1",
            "/m/a.gguf",
        ],
        [
            ServerConfig(name="far", url="https://mcp.example/mcp?key=secret"),
            ServerConfig(name="off", url="https://off.example/mcp", disabled=True),
            ServerConfig(name="time", command="uvx", args=("mcp-server-time",)),
        ],
    )
    words = " ".join(f"{who} {what}" for who, what, _away in found)
    assert [who.split(" ")[0] for who, _, _ in found] == ["Endpoint", "Endpoint", "MCP", "Programs"]
    assert "https://host.example/v1, remote" in words
    assert "http://127.0.0.1:8080/v1, on this computer" in words
    assert "https://mcp.example/mcp" in words and "time" in words
    assert "secret" not in words and "off.example" not in words
    assert [away for *_, away in found] == [False, True, True, False]
    assert "2 configured destinations" in summary(found)
    assert summary([]).startswith("Runs and calls send nothing") and summary(
        contacts(["embedded"], [])
    ) == summary([])


# -- what follows them -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_settings_take_effect_at_once(open_context, qtbot, qapp, monkeypatch):
    monkeypatch.setattr("glyphscope_gui.settings.dialog.REOPEN_MS", 20)
    opened = []

    def opener(name, *, options, **_more):
        opened.append(options.context)
        return ScriptedModel(CALL)

    context = open_context(opener)
    presenter = SettingsPresenter(context)
    store, project, history = context.settings, context.project, context.services.history
    before = QFont(qapp.font())
    context.runs.open_model(project.model)
    qtbot.waitUntil(lambda: context.runs.model.phase == "ready")
    store.update(temperature=0.5, max_tokens=64, alternatives=3)
    options = project.options
    assert (options.sampling.temperature, options.max_tokens, options.alternatives) == (0.5, 64, 3)
    project.set_options(notation="json")
    store.update(temperature=0.7)
    assert project.options.sampling.temperature == 0.5, "the user's edits were lost"
    store.update(history_limit=1, context=1024)
    qtbot.waitUntil(lambda: opened[-1] == 1024)
    context.runs.ended.connect(lambda ended: context.recorder.keep(ended.events))
    for _ in range(2):
        with qtbot.waitSignal(context.recorder.runSaved):
            context.runs.run(project.next_run())
    assert len(history.rows()) == 1
    context.actions.settings.trigger()
    dialog = context.window.findChild(SettingsDialog)
    history.add(bundled_run("search-mask.jsonl"))
    history.pin(history.rows()[0].id)
    dialog.clearer.button.click()
    box = dialog.findChild(QMessageBox)
    assert box.defaultButton() is box.button(QMessageBox.StandardButton.Cancel)
    box.reject()
    assert len(history.rows()) == 2
    for keep, left in ((True, 1), (False, 0)):
        with qtbot.waitSignal(presenter.historyCleared):
            dialog.clearer.clear(keep_pinned=keep)
        assert len(history.rows()) == left
    dialog.reject()
    assert qapp.font() == before
    end_work(presenter)


@pytest.mark.slow
def test_another_code_font_is_used_at_once(qapp, qtbot):
    families = [family for family in fixed_families() if family != mono_families()[0]]
    if not families:
        pytest.skip("there is one fixed-pitch font here")
    edit = QPlainTextEdit()
    qtbot.addWidget(edit)
    use_font(edit, mono_font, -0.5)
    manager = ThemeManager(qapp, "light")
    points, base = edit.font().pointSizeF(), QApplication.font().pointSizeF()
    try:
        manager.choose("light", 0, families[0])
        manager.finish()
        assert edit.font().families()[0] == mono_font().families()[0] == families[0]
        assert edit.font().pointSizeF() == points
        manager.choose("light", round(base) + 4, families[0])
        manager.finish()
        assert edit.font().pointSizeF() == pytest.approx(points + round(base) + 4 - base)
        manager.choose("light", 0, "No Such Font")
        manager.finish()
        assert edit.font().families() == mono_families()
    finally:
        choose_mono("")
        manager.choose("light")
        manager.finish()
        manager.deleteLater()


@pytest.mark.slow
def test_a_cleared_history_is_no_longer_listed(window, qtbot):
    rows = window.panels.history.model
    window.services.history.add(bundled_run("search-mask.jsonl"))
    window.panels.history.refresh()
    qtbot.waitUntil(lambda: rows.rowCount() == 1)
    window.actions_.settings.trigger()
    dialog = window.findChild(SettingsDialog)
    dialog.clearer.clear(keep_pinned=False)
    qtbot.waitUntil(lambda: rows.rowCount() == 0)
    dialog.reject()
