"""The sections of settings that are single values: each field shows a setting, and changes it at once."""

from __future__ import annotations

from typing import Any

from glyphscope.events import settings_of
from glyphscope.sessions import Settings
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.settings.rows import SettingRow, SettingSection
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.settings_grid import ChoiceSetting, FlagSetting, setting_row
from glyphscope_gui.theme.fonts import MONO_FAMILIES, fixed_families


def appearance(store: SettingsStore) -> SettingSection:
    """Colours and fonts."""
    code = ChoiceSetting([("", _own_font(), ""), *((family, family, "") for family in fixed_families())])
    font = _followed(
        store, "code_font", tr("Font of code"), code, tr("For prompts, calls, tokens and grammars.")
    )
    return SettingSection(tr("Appearance"), (*_rows(store, "theme", "font_size"), font))


def new_projects(store: SettingsStore) -> SettingSection:
    """The defaults of File > New; the header changes an open project."""
    names = ("context", "read_ahead", "notation", "shape", "constraint", "seed", "temperature")
    return SettingSection(tr("Models and new projects"), _rows(store, *names))


def limits(store: SettingsStore) -> SettingSection:
    """Limits on amounts."""
    names = ("history_limit", "prompt_cache_mb", "alternatives", "max_tokens", "call_bytes", "result_bytes")
    return SettingSection(tr("Limits"), _rows(store, *names))


def _own_font() -> str:
    here = next((family for family in MONO_FAMILIES if family in fixed_families()), "")
    return tr("Auto: {font}", font=here) if here else tr("Automatic")


def _rows(store: SettingsStore, *names: str) -> tuple[SettingRow, ...]:
    """The rows of these settings."""
    rows = []
    for name in names:
        title, field, tip = setting_row(settings_of(Settings)[name])
        if isinstance(field, FlagSetting):  # the title is beside it
            field.setText(tr("On"))
        rows.append(_followed(store, name, title, field, f"{tip}." if tip else ""))
    return tuple(rows)


def _followed(store: SettingsStore, name: str, words: str, field: Any, about: str) -> SettingRow:
    """`field` shows the setting of that name, even after changes elsewhere, and sets it."""
    field.setObjectName(f"{name}Setting")

    def follow(settings: Settings) -> None:
        field.show_value(getattr(settings, name))

    follow(store.value)
    field.edited.connect(lambda value: store.update(**{name: value}))
    row = SettingRow(words, field, about)
    row.follow = follow
    return row
