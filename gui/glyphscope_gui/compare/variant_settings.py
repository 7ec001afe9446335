"""The settings of one column: pickers in the column, and a popup for model, sampling and prompts, which are the
playground's until they are changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget

from glyphscope.evals.running.requests import changed_request
from glyphscope.events import Field, RunRequest, Sampling, is_needed, pairs_line, read_pairs_line, settings_of
from glyphscope_gui.compare.variants import PICKED, Variant, changes_of, value_of
from glyphscope_gui.run_settings.groups import SettingGroups, heading
from glyphscope_gui.run_settings.options import FEW, SAMPLERS, SAMPLING, Group
from glyphscope_gui.run_settings.popup import SettingsPopup
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import PlainLabel, push_button
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.layouts import grid_layout
from glyphscope_gui.shared.run_words import Choices, model_name, typed_answer
from glyphscope_gui.shared.settings_grid import (
    ChoiceSetting,
    FormRow,
    LinesSetting,
    TextSetting,
    reset_of,
    setting_row,
    translated,
)

_UNANSWERED = tr("Its questions are not answered here.")


_FIELDS = {name: settings_of(RunRequest)[name] for name in PICKED}


def _choices(field: Field) -> Choices:
    """The values of a picker. A column has one call, so the tool loop is not offered."""
    return [
        (value, title, f"{hint} {_UNANSWERED}" if value == "route-execute" else hint)
        for value, title, hint in translated(field.setting.choices)
        if value != "loop"
    ]


class VariantPicker(QWidget):
    """Notation, shape, constraint, its start and strategy of one column; each picker is as small as its words.

    `chosen` carries the Variant after the user's change.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._variant: Variant = {}
        self.boxes: dict[str, QComboBox] = {}
        self._shows_start = False
        self._grid = grid_layout(self, spacing=(6, 6))
        for index, (name, field) in enumerate(_FIELDS.items()):
            box = choice_box(self, words=in_language(field.setting.title), choices=_choices(field))
            box.setProperty("small", True)
            box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            box.activated.connect(self._choose)
            self.boxes[name] = box
            self._grid.addWidget(box, index // 2, index % 2)

    def name_for(self, column: str) -> None:
        """Add the column's name to the accessible names."""
        for name, field in _FIELDS.items():
            setting = in_language(field.setting.title)
            self.boxes[name].setAccessibleName(tr("{setting} of {column}", setting=setting, column=column))

    def show_variant(self, variant: Variant) -> None:
        """Show the variant, without a signal."""
        self._variant = variant
        for name, box in self.boxes.items():
            box.setCurrentIndex(box.findData(variant[name]))
            box.setToolTip(str(box.currentData(Qt.ItemDataRole.ToolTipRole) or ""))
        self.boxes["shape"].setEnabled(variant["notation"] != "native")
        self._place_start()
        constrained = variant["constraint"] != "off" and variant["strategy"] == "direct"
        self.boxes["constrain_from"].setEnabled(constrained)

    def show_start(self, shown: bool) -> None:
        """Show or hide the constraint's start, which takes room: columns with equal ones do not need it."""
        self._shows_start = shown
        self._place_start()

    def _place_start(self) -> None:
        """Place it instead of the shape, which a native notation defines, or else in a separate line."""
        box, shape = self.boxes["constrain_from"], self.boxes["shape"]
        instead = self._shows_start and self._variant.get("notation") == "native"
        self._grid.addWidget(box, *((0, 1) if instead else (2, 0)))
        shape.setVisible(not instead)
        box.setVisible(self._shows_start)

    def _choose(self, _place: int) -> None:
        variant = {**self._variant, **{name: box.currentData() for name, box in self.boxes.items()}}
        if variant != self._variant:
            self.show_variant(variant)
            self.chosen.emit(variant)


_PROMPTS = {
    "template_vars": FormRow(
        tr("Template variables"),
        lambda: TextSetting(read_pairs_line, pairs_line, tr("NAME=VALUE; NAME=VALUE")),
        tr("Variables of the chat template; the Template page lists them"),
    ),
    "answer": FormRow(
        tr("Answer"),
        lambda: LinesSetting(typed_answer, lambda answer: answer.description),
        tr("call, or another answer: choice:yes|no, regex:PATTERN, schema:{…}, gbnf:…, lark:…"),
    ),
    "system_prompt": FormRow(
        tr("System prompt"),
        lambda: LinesSetting(str, str, tr("none")),
        tr("Plain text, sent before the instructions for calls"),
    ),
    "prompt": FormRow(tr("Prompt"), lambda: LinesSetting(str, str), tr("The user’s message of this column")),
}
_MODEL = tr(
    "A model used or found on this computer. To use a file from another folder, open it at the top first."
)


def _groups() -> tuple[Group, ...]:
    first = Group("", ("model", "temperature", "seed", "max_tokens", "prompt"))
    samplers = tuple(name for name in settings_of(Sampling) if name not in (*first.names, *FEW))
    thinking = (
        "thinking",
        "reasoning_effort",
        "template_vars",
        "control_texts",
        "system_prompt",
        "answer",
        "stop",
    )
    others = Group(tr("Prompt and answer"), thinking)
    return first, Group(SAMPLING, FEW), Group(SAMPLERS, samplers), others


class VariantSettings(SettingsPopup):
    """A popup. `changed` carries the name and value of a setting that the user changed."""

    changed = Signal(str, object)

    WIDTH = 520

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("compareSettings", tr("Settings of a column"), parent)
        self._variant: Variant = {}
        self._models: Sequence[str] = ()
        self.title = PlainLabel(self, role="title")
        self.reset_button = push_button(
            tr("Use the playground’s settings"), self, name="compareResetButton", role="link"
        )
        fields = {**settings_of(Sampling), **settings_of(RunRequest)}
        rows = _PROMPTS | {"model": FormRow(tr("Model"), lambda: ChoiceSetting(()), _MODEL)}
        groups = _groups()
        for name in (name for group in groups for name in group.names):
            if name not in rows:
                rows[name] = setting_row(fields[name])
        self.groups = SettingGroups(groups, rows, parent=self)
        self.groups.made.connect(self._begin)
        self.groups.resized.connect(self._fit)
        self.column.setSpacing(10)
        self.head.addWidget(heading(self.groups, self.reset_button))
        self.column.addWidget(self.title)
        self.column.addWidget(self.groups)
        self.column.addStretch(1)

    def show_variant(self, title: str, variant: Variant, base: RunRequest, models: Sequence[str]) -> None:
        """Show the settings of the column as they would be sent, without a signal."""
        self.title.setText(title)
        self._variant, self._options, self._models = variant, base, models
        self.reset_button.setEnabled(bool(changes_of(variant)))
        self.groups.show_names(self.groups.names)
        for name in self.groups.fields:
            self._show_field(name)

    def _begin(self, name: str) -> None:
        field: Any = self.groups.fields[name]
        field.setObjectName(f"compareSetting_{name}")
        field.edited.connect(lambda value: self.changed.emit(name, value))
        self._show_field(name)

    def _show_field(self, name: str) -> None:
        variant, base, field = self._variant, self._options, self.groups.fields[name]
        shown: Any = field
        if name == "model":
            shown.clear()
            for model in dict.fromkeys((value_of(variant, "model", base), base.model, *self._models)):
                shown.addItem(" ".join(model_name(model)).strip(), model)
        if reset_of(field):
            shown.set_usual(value_of({}, name, base))
        shown.show_value(value_of(variant, name, base))
        if (setting := settings_of(Sampling).get(name)) is not None:
            field.setEnabled(is_needed(changed_request(base, variant).sampling, setting))
