"""The settings of one column that differ from the playground's: model, sampling, prompts."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope.events import RunRequest
from glyphscope_gui.compare.variants import MOST_TEMPERATURE, Variant
from glyphscope_gui.run_settings.popup import SettingsPopup
from glyphscope_gui.run_settings.sampling_settings import FormRow, sampling_fields
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

    def _lay_out(self) -> None:
        self.model = ChoiceSetting((), self)
        rows = {
            "model": FormRow(
                tr("Model"),
                self.model,
                tr(
                    "A model used or found on this computer. To use a file from another folder, open it "
                    "at the top first."
                ),
            ),
            "temperature": FormRow(
                tr("Temperature"),
                DecimalSetting(0, MOST_TEMPERATURE),
                tr("0 always takes the most likely token"),
            ),
            "seed": FormRow(
                tr("Seed"), NumberSetting(0, _MOST_SEED), tr("The same seed samples the same tokens")
            ),
            **sampling_fields(),
            "system_prompt": FormRow(
                tr("System prompt"),
                LinesSetting(str, str, tr("none")),
                tr("Plain text, sent before the instructions for calls"),
            ),
            "prompt": FormRow(tr("Prompt"), LinesSetting(str, str), tr("The user’s message of this column")),
        }
        self.fields = {name: row.field for name, row in rows.items()}
        grid = SettingsGrid(2)
        for name, (title, field, tip) in rows.items():
            field.setObjectName(f"compareSetting_{name}")
            field.edited.connect(lambda value, name=name: self.changed.emit(name, value))
            grid.add(title, field, tip, wide=isinstance(field, ChoiceSetting | LinesSetting))
        top = hbox((self.title, 1), self.reset_button)
        self.column.addLayout(top)
        self.column.addWidget(grid)
        self.column.addStretch(1)
