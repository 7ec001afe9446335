"""The settings of one column that differ from the playground's: model, sampling, prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope.events import RunRequest
from glyphscope.runs.sampling import stop_lines
from glyphscope_gui.compare.variants import MOST_TEMPERATURE, Variant
from glyphscope_gui.run_settings.popup import SettingsPopup
from glyphscope_gui.run_settings.sampling_settings import read_stops
from glyphscope_gui.shared.labels import PlainLabel, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.model_names import model_name
from glyphscope_gui.shared.settings_grid import (
    ChoiceSetting,
    DecimalSetting,
    LinesSetting,
    NumberSetting,
    SettingsGrid,
)

_MOST = 1_000_000
_MOST_SEED = 2**31 - 1


class VariantSettings(SettingsPopup):
    """A popup. `changed` carries the name and value of a setting that the user changed."""

    changed = Signal(str, object)

    WIDTH = 520

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("compareSettings", tr("Settings of a column"), parent)
        self.title = PlainLabel(self, role="title")
        self.reset_button = push_button(
            tr("Use the playground’s settings"), self, name="compareResetButton", role="link"
        )
        self._make_fields()
        self._lay_out()

    def show_variant(self, title: str, variant: Variant, base: RunRequest, models: Sequence[str]) -> None:
        """The settings of the column as they would be sent; no signal is emitted."""
        self.title.setText(title)
        self.reset_button.setEnabled(bool(variant.changes))
        self.model.clear()
        for name in dict.fromkeys((variant.value("model", base), base.model, *models)):
            self.model.addItem(" ".join(model_name(name)).strip(), name)
        for name, field in self.fields.items():
            field.show_value(variant.value(name, base))

    # -- inside ------------------------------------------------------------------------------------------------

    def _make_fields(self) -> None:
        self.model = ChoiceSetting((), self)
        self.fields: dict[str, Any] = {
            "model": self.model,
            "temperature": DecimalSetting(0, MOST_TEMPERATURE),
            "seed": NumberSetting(0, _MOST_SEED),
            "top_k": NumberSetting(0, _MOST),
            "top_p": DecimalSetting(0, 1, 0.05),
            "min_p": DecimalSetting(0, 1, 0.01),
            "repeat_penalty": DecimalSetting(0.01, 10, 0.05),
            "repeat_last_n": NumberSetting(-1, _MOST, tr(" tokens")),
            "max_tokens": NumberSetting(1, _MOST),
            "stop": LinesSetting(
                read_stops, lambda stops: "\n".join(stop_lines(stops)), tr("none; one per line")
            ),
            "system_prompt": LinesSetting(str, str, tr("none")),
            "prompt": LinesSetting(str, str),
        }
        for name, field in self.fields.items():
            field.setObjectName(f"compareSetting_{name}")
            field.edited.connect(lambda value, name=name: self.changed.emit(name, value))

    def _lay_out(self) -> None:
        fields, grid = self.fields, SettingsGrid(2)
        grid.add(
            tr("Model"),
            self.model,
            tr(
                "A model used or found on this computer. To use a file from another folder, open it "
                "at the top first."
            ),
            wide=True,
        )
        grid.add(tr("Temperature"), fields["temperature"], tr("0 always takes the most likely token"))
        grid.add(tr("Seed"), fields["seed"], tr("The same seed samples the same tokens"))
        grid.add(tr("Top-k"), fields["top_k"], tr("Keeps the k most likely tokens; 0 is off"))
        grid.add(
            tr("Top-p"),
            fields["top_p"],
            tr("Keeps the most likely tokens up to this total probability; 1 is off"),
        )
        grid.add(
            tr("Min-p"),
            fields["min_p"],
            tr("Removes tokens below this share of the highest probability; 0 is off"),
        )
        grid.add(tr("Max tokens"), fields["max_tokens"], tr("Maximum number of tokens in one answer"))
        grid.add(
            tr("Repeat penalty"), fields["repeat_penalty"], tr("Makes recent tokens less likely; 1 is off")
        )
        grid.add(
            tr("Penalty window"),
            fields["repeat_last_n"],
            tr("Number of recent tokens, prompt included, that the penalty covers; -1 is all"),
        )
        grid.add(
            tr("Stop strings"),
            fields["stop"],
            tr("The answer ends before the first of these strings"),
            wide=True,
        )
        grid.add(
            tr("System prompt"),
            fields["system_prompt"],
            tr("Plain text, sent before the instructions for calls"),
            wide=True,
        )
        grid.add(tr("Prompt"), fields["prompt"], tr("The user’s message of this column"), wide=True)
        top = hbox((self.title, 1), self.reset_button)
        self.column.addLayout(top)
        self.column.addWidget(grid)
        self.column.addStretch(1)
