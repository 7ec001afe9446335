"""The sections of settings that are single values: each field shows a setting, and changes it at once."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtWidgets import QWidget

from glyphscope.sessions import Settings
from glyphscope.sessions.settings import bounds
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.settings.rows import SettingRow, SettingSection
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_choices import CONSTRAINTS, NOTATIONS, SHAPES
from glyphscope_gui.shared.settings_grid import ChoiceSetting, DecimalSetting, FlagSetting, NumberSetting
from glyphscope_gui.theme.fonts import MONO_FAMILIES, fixed_families

THEMES = (("system", tr("System")), ("light", tr("Light")), ("dark", tr("Dark")))


def appearance(store: SettingsStore) -> SettingSection:
    """Colours and fonts."""
    row = partial(_row, store)
    theme = ChoiceSetting([(value, words, "") for value, words in THEMES])
    size = _number("font_size")
    size.setSpecialValueText(tr("as in the system"))
    size.setSuffix(tr(" pt"))
    code = ChoiceSetting([("", _own_font(), ""), *((family, family, "") for family in fixed_families())])
    return SettingSection(
        tr("Appearance"),
        (
            row("theme", tr("Colours"), theme),
            row(
                "font_size", tr("Text size"), size, tr("Text size of the whole window; 0 uses the system’s.")
            ),
            row("code_font", tr("Font of code"), code, tr("For prompts, calls, tokens and grammars.")),
        ),
    )


def new_projects(store: SettingsStore) -> SettingSection:
    """The defaults of File > New; the header changes an open project."""
    row = partial(_row, store)
    context = _number("context", tr(" tokens"), 512)
    return SettingSection(
        tr("Models and new projects"),
        (
            row(
                "context",
                tr("Context"),
                context,
                tr(
                    "Maximum tokens of prompt and answer; more needs more memory. A change reloads the model."
                ),
            ),
            row(
                "read_ahead",
                tr("Read ahead"),
                FlagSetting(tr("while the model is idle")),
                tr(
                    "Evaluate the next prompt before Run is pressed, so that the run begins at once, and "
                    "measure a model’s prompt batches once; not on battery."
                ),
            ),
            row(
                "notation",
                tr("Notation"),
                ChoiceSetting(NOTATIONS[:2]),
                tr("Notation of calls in new projects."),
            ),
            row("shape", tr("Shape of a call"), ChoiceSetting(SHAPES)),
            row(
                "constraint", tr("Constraint"), ChoiceSetting(CONSTRAINTS), tr("Constraint of new projects.")
            ),
            row("seed", tr("Seed"), _number("seed"), tr("The same seed samples the same tokens.")),
            row(
                "temperature",
                tr("Temperature"),
                DecimalSetting(*bounds("temperature")),
                tr("0 always takes the most likely token."),
            ),
        ),
    )


def limits(store: SettingsStore) -> SettingSection:
    """Limits on amounts."""
    row = partial(_row, store)
    prompts = _number("prompt_cache_mb", tr(" MB"), 100)
    return SettingSection(
        tr("Limits"),
        (
            row(
                "history_limit",
                tr("Runs kept in the history"),
                _number("history_limit", tr(" runs"), 100),
                tr("Older runs are deleted first; pinned runs are kept."),
            ),
            row(
                "prompt_cache_mb",
                tr("Evaluated prompts on disk"),
                prompts,
                tr(
                    "The next start does not evaluate them again. Those not used for longest are deleted first; "
                    "0 stores none."
                ),
            ),
            row(
                "alternatives",
                tr("Alternatives per token"),
                _number("alternatives"),
                tr("In new projects; more alternatives make records larger."),
            ),
            row(
                "max_tokens",
                tr("Maximum tokens"),
                _number("max_tokens", tr(" tokens"), 64),
                tr("In new projects; a run ends there."),
            ),
            row(
                "call_bytes",
                tr("Maximum size of arguments"),
                _number("call_bytes", tr(" bytes"), 10_000),
                tr("In new projects; a call with larger arguments is not executed."),
            ),
            row(
                "result_bytes",
                tr("Maximum size of a result"),
                _number("result_bytes", tr(" bytes"), 10_000),
                tr("In new projects; a larger result is sent to the model as an error."),
            ),
        ),
    )


def _own_font() -> str:
    here = next((family for family in MONO_FAMILIES if family in fixed_families()), "")
    return tr("Auto: {font}", font=here) if here else tr("Automatic")


def _number(name: str, suffix: str = "", step: int = 1) -> NumberSetting:
    least, most = bounds(name)
    field = NumberSetting(int(least), int(most), suffix)
    field.setSingleStep(step)
    return field


def _row(store: SettingsStore, name: str, words: str, field: Any, about: str = "") -> SettingRow:
    """`field` shows the setting of that name, even after changes elsewhere, and sets it."""
    widget: QWidget = field
    widget.setObjectName(f"{name}Setting")

    def follow(settings: Settings) -> None:
        field.show_value(getattr(settings, name))

    follow(store.value)
    field.edited.connect(lambda value: store.update(**{name: value}))
    row = SettingRow(words, widget, about)
    row.follow = follow
    return row
