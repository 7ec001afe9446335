"""Settings: what is chosen is kept."""

from __future__ import annotations

from glyphscope.sessions import load_settings
from glyphscope_gui.settings.settings_dialog import SettingsDialog
from glyphscope_gui.settings.settings_store import SettingsStore


def test_what_is_set_in_the_dialog_is_not_kept(qtbot, tmp_path):
    path = tmp_path / "settings.json"
    store = SettingsStore(path)
    dialog = SettingsDialog(store)
    qtbot.addWidget(dialog)
    dialog.theme_combo.activated.emit(2)
    dialog.context_spin.setValue(8192)
    dialog.font_spin.setValue(12)
    dialog.add_folder(str(tmp_path))
    store.close()
    found = load_settings(path).settings
    assert (found.theme, found.context, found.font_size) == ("dark", 8192, 12)
    assert found.model_folders == (str(tmp_path),)


def test_a_folder_that_cannot_be_written_is_told_with_every_change(qtbot, tmp_path):
    (tmp_path / "file").write_text("")
    store = SettingsStore(tmp_path / "file" / "settings.json")
    seen = []
    store.failed.connect(seen.append)
    for size in (9, 10):
        store.update(font_size=size)
        store.close()
    assert len(seen) == 1
    assert store.value.font_size == 10
