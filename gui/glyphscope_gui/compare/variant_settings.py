"""The settings of a column: fields for those that differ between the columns, or were added to compare them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from glyphscope.evals.running.requests import changed_request
from glyphscope.events import (
    Field,
    LoopSettings,
    RunRequest,
    Sampling,
    pairs_line,
    read_pairs_line,
    settings_of,
)
from glyphscope_gui.compare.variants import LOOP, PICKED, Variant, value_of
from glyphscope_gui.run_settings.options import FEW, SAMPLERS, SAMPLING, Group, obstacle
from glyphscope_gui.shared.labels import named, show_obstacle
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.run_words import model_name, typed_answer
from glyphscope_gui.shared.settings_grid import (
    ChoiceSetting,
    FormRow,
    LinesSetting,
    SettingsGrid,
    TextSetting,
    reset_of,
    setting_row,
    translated,
)

_UNANSWERED = tr("Its questions are not answered here.")
_UNAPPROVED = tr("Calls that the playground’s approval rules allow are executed, others are denied.")
_MODEL = tr(
    "A model used or found on this computer. To use a file from another folder, open it at the top first."
)


def _picked(field: Field) -> FormRow:
    """A choice, with what columns do differently."""
    notes = {"route-execute": _UNANSWERED, "loop": _UNAPPROVED}
    choices = [
        (value, title, f"{hint} {notes[value]}" if value in notes else hint)
        for value, title, hint in translated(field.setting.choices)
    ]
    return FormRow(
        in_language(field.setting.title), partial(ChoiceSetting, choices), in_language(field.setting.about)
    )


def _pairs() -> TextSetting:
    return TextSetting(read_pairs_line, pairs_line, tr("NAME=VALUE; NAME=VALUE"))


_SAMPLING = settings_of(Sampling)
_FIELDS = {**_SAMPLING, **settings_of(LoopSettings), **settings_of(RunRequest)}
_OTHERS = (
    "thinking",
    "reasoning_effort",
    "template_vars",
    "control_texts",
    "system_prompt",
    "answer",
    "stop",
    "extra_body",
)
_FIRST = (*PICKED, "model", "temperature", "seed", "max_tokens", "prompt")
GROUPS = (
    Group("", _FIRST),
    Group(tr("Prompt and answer"), _OTHERS),
    Group(tr("Tool loop"), LOOP),
    Group(SAMPLING, FEW),
    Group(SAMPLERS, tuple(name for name in _SAMPLING if name not in (*_FIRST, *FEW))),
)
"""The settings that columns can vary."""
ROWS: dict[str, FormRow] = {
    "template_vars": FormRow(
        tr("Template variables"),
        _pairs,
        tr("Variables of the chat template; the page Model and chat template lists them"),
    ),
    "extra_body": FormRow(
        tr("Extra fields"), _pairs, tr("Fields that an endpoint’s request has in addition")
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
    "model": FormRow(tr("Model"), lambda: ChoiceSetting(()), _MODEL),
    **{name: _picked(_FIELDS[name]) for name in PICKED},
}
ROWS |= {name: setting_row(_FIELDS[name]) for group in GROUPS for name in group.names if name not in ROWS}


class VariedMenu(QPushButton):
    """Chooses the settings that the columns vary; `toggled_` carries the name of one to add or to remove."""

    toggled_ = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Vary"), parent)
        tip = tr("Settings that differ between the columns: add one, or remove it from all")
        named(self, "compareVary", tip=tip, description=tip)
        self._shown: frozenset[str] = frozenset()
        menu = QMenu(self)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)

    def show_names(self, names: Iterable[str]) -> None:
        """Set the settings that are shown in the columns."""
        self._shown = frozenset(names)

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        for group in GROUPS:
            place = menu.addMenu(group.title) if group.title else menu
            for name in group.names:
                action = place.addAction(ROWS[name].title)
                action.setCheckable(True)
                action.setChecked(name in self._shown)
                action.triggered.connect(lambda _on=False, chosen=name: self.toggled_.emit(chosen))


class VariantPicker(SettingsGrid):
    """The fields of one column. `chosen` carries the Variant after the user's change."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(1, parent)
        self._variant: Variant = {}
        self._base = RunRequest(prompt="", registry={})
        self._fields: dict[str, Any] = {}

    def show_variant(
        self, variant: Variant, names: Sequence[str], base: RunRequest, models: Sequence[str], column: str
    ) -> None:
        """Show these settings of a variant, without a signal; `column` names the column."""
        self._variant, self._base = variant, base
        for name in names:
            if name not in self._fields:
                self._make(name)
        self.show_only([self._fields[name] for name in names])
        for name in names:
            field = self._fields[name]
            field.setAccessibleName(tr("{setting} of {column}", setting=ROWS[name].title, column=column))
            self._show_field(name, models)
        self.setVisible(bool(names))

    def _make(self, name: str) -> None:
        title, make, tip = ROWS[name]
        field = self._fields[name] = named(make(), f"compareSetting_{name}")
        field.setProperty("small", True)
        self.add_field(title, field, tip)
        field.edited.connect(lambda value: self._edited(name, value))

    def _show_field(self, name: str, models: Sequence[str]) -> None:
        variant, base, field = self._variant, self._base, self._fields[name]
        if name == "model":
            field.clear()
            for model in dict.fromkeys((value_of(variant, "model", base), base.model, *models)):
                field.addItem(" ".join(model_name(model)).strip(), model)
        if reset_of(field):
            field.set_usual(value_of({}, name, base))
        field.show_value(value_of(variant, name, base))
        option = f"sampling.{name}" if name in _SAMPLING else f"loop.{name}" if name in LOOP else name
        if option != name or name in PICKED:
            request = changed_request(base, variant)
            apart = name in LOOP and request.strategy != "loop"
            why_not = tr("Only in the tool loop.") if apart else obstacle(request, None, option)
            show_obstacle(field, ROWS[name].tip, why_not)

    def _edited(self, name: str, value: Any) -> None:
        variant = {**self._variant, name: value}
        if name not in PICKED and value == value_of({}, name, self._base):
            del variant[name]  # the playground's again
        if variant != self._variant:
            self._variant = variant
            self.chosen.emit(variant)
