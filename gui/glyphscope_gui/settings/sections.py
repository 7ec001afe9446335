"""The sections of settings that are single values: each field shows a setting, and sets it at once."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QWidget

from glyphscope.sessions import Settings
from glyphscope.sessions.settings import bounds
from glyphscope_gui.models.call_shapes import SHAPES
from glyphscope_gui.settings.rows import SettingRow, SettingSection
from glyphscope_gui.settings.settings_store import SettingsStore
from glyphscope_gui.theme.fonts import MONO_FAMILIES, fixed_families
from glyphscope_gui.widgets.settings_grid import ChoiceSetting, DecimalSetting, NumberSetting

THEMES = (("system", "As the system"), ("light", "Light"), ("dark", "Dark"))
_NOTATIONS = (("glyph", "GLYPH", ""), ("json", "JSON", ""))
_CONSTRAINTS = (
    ("off", "Off", "The model writes what it wants; what is wrong is found"),
    ("mask", "Mask", "Only tokens that a valid call can go on with may be drawn"),
    ("gbnf", "GBNF", "The same by llama.cpp’s own sampler"),
)


def appearance(store: SettingsStore) -> SettingSection:
    """Colours and letters."""
    theme = ChoiceSetting([(value, words, "") for value, words in THEMES])
    size = _number("font_size")
    size.setSpecialValueText("as the system")
    size.setSuffix(" pt")
    code = ChoiceSetting([("", _own_font(), ""), *((family, family, "") for family in fixed_families())])
    return SettingSection(
        "Appearance",
        (
            _row(store, "theme", "Colours", theme),
            _row(store, "font_size", "Text size", size, "Of the whole window; 0 is the system’s."),
            _row(store, "code_font", "Font of code", code, "For prompts, calls, tokens and grammars."),
        ),
    )


def new_projects(store: SettingsStore) -> SettingSection:
    """What File > New begins with; the header changes a project that is open."""
    context = _number("context", " tokens", 512)
    return SettingSection(
        "Models and new projects",
        (
            _row(
                store,
                "context",
                "Context",
                context,
                "Tokens of prompt and answer that a model is opened for; more takes memory. A change opens it anew.",
            ),
            _row(
                store,
                "notation",
                "Notation",
                ChoiceSetting(_NOTATIONS),
                "How a new project has calls written.",
            ),
            _row(store, "shape", "Shape of a call", ChoiceSetting(SHAPES)),
            _row(
                store,
                "constraint",
                "Constraint",
                ChoiceSetting(_CONSTRAINTS),
                "What holds the model to valid calls.",
            ),
            _row(store, "seed", "Seed", _number("seed"), "The same seed draws the same tokens."),
            _row(
                store,
                "temperature",
                "Temperature",
                DecimalSetting(*bounds("temperature")),
                "0 takes the most probable token each time.",
            ),
        ),
    )


def limits(store: SettingsStore) -> SettingSection:
    """How much of something there may be."""
    return SettingSection(
        "Limits",
        (
            _row(
                store,
                "history_limit",
                "Runs kept in the history",
                _number("history_limit", " runs", 100),
                "The oldest go when the next run is kept; those that are pinned stay.",
            ),
            _row(
                store,
                "alternatives",
                "Alternatives kept of a token",
                _number("alternatives"),
                "Of new projects; more make records larger.",
            ),
            _row(
                store,
                "max_tokens",
                "Longest answer",
                _number("max_tokens", " tokens", 64),
                "Of new projects; a run ends there.",
            ),
            _row(
                store,
                "call_bytes",
                "Largest call",
                _number("call_bytes", " bytes", 10_000),
                "Of new projects; one with larger arguments is not carried out.",
            ),
            _row(
                store,
                "result_bytes",
                "Largest result of a tool",
                _number("result_bytes", " bytes", 10_000),
                "Of new projects; a larger one is told to the model as an error.",
            ),
        ),
    )


def _own_font() -> str:
    here = next((family for family in MONO_FAMILIES if family in fixed_families()), "")
    return f"Automatic: {here}" if here else "Automatic"


def _number(name: str, suffix: str = "", step: int = 1) -> NumberSetting:
    least, most = bounds(name)
    field = NumberSetting(int(least), int(most), suffix)
    field.setSingleStep(step)
    return field


def _row(store: SettingsStore, name: str, words: str, field: Any, about: str = "") -> SettingRow:
    """`field` shows the setting of that name, also when it is changed elsewhere, and sets it."""
    widget: QWidget = field
    widget.setObjectName(f"{name}Setting")

    def follow(settings: Settings) -> None:
        field.show_value(getattr(settings, name))

    follow(store.value)
    field.told.connect(lambda value: store.update(**{name: value}))
    row = SettingRow(words, widget, about)
    row.follow = follow
    return row
