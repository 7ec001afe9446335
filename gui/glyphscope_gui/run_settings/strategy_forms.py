"""The forms in the panel of a strategy's settings: for the tool loop, for the router, and for each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from glyphscope.events import TOOL_CHOICES, LoopSettings, RouterSettings, RunRequest, settings_of
from glyphscope.prompting.strategies import strategy_preset
from glyphscope.runs.transforms.registry import TRANSFORMS
from glyphscope.strategies.loop.guards import calls_per_turn
from glyphscope.strategies.loop.presets import compose, loop_presets
from glyphscope.strategies.routing.candidates import router_preset, router_presets
from glyphscope.text.shorten import shorten
from glyphscope_gui.run_settings.strategy_texts import (
    lists_text,
    names_text,
    read_lines,
    read_lists,
    read_names,
)
from glyphscope_gui.shared.labels import PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.settings_grid import (
    LinesSetting,
    SettingsGrid,
    StructForm,
    TextSetting,
    setting_field,
)


class LoopForm(StructForm):
    """A field for each of LoopSettings, and the presets that set several of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(LoopSettings(), 2, parent)
        self.presets_button = self._menu_button(
            tr("Presets"), ((each.name, each.about) for each in loop_presets()), self._compose
        )
        self.transforms_button = self._menu_button(
            tr("None"),
            ((each.name, f"{each.about} ({each.surface})") for each in TRANSFORMS.values()),
            self._transform,
        )
        self.presets_note = PlainLabel(self, role="hint")
        line = hbox(self.presets_button, (self.presets_note, 1), spacing=10)
        self._fill()
        vbox(line, self.grid, parent=self, spacing=8)

    def show_settings(self, settings: LoopSettings) -> None:
        effective = calls_per_turn(settings)  # 1 if parallel calls are disabled
        super().show_settings(msgspec.structs.replace(settings, max_tool_calls_per_turn=effective))
        self._settings = settings
        self._fields["max_tool_calls_per_turn"].setEnabled(settings.parallel_tool_calls)
        self._fields["fix_empty_final_disable_tools"].setEnabled(settings.fix_empty_final)
        self.transforms_button.setText(shorten(names_text(settings.transforms), 60) or tr("None"))
        for button, chosen in (
            (self.transforms_button, settings.transforms),
            (self.presets_button, settings.presets),
        ):
            for action in button.menu().actions():
                action.setChecked(action.data() in chosen)
        if not settings.presets:
            note = tr("Selected individually")
        else:
            note = names_text(settings.presets)
            if settings != compose(settings.presets):
                note = tr("{presets}, edited", presets=note)
        self.presets_note.setText(note)

    def _fill(self) -> None:
        self.add_settings()
        allow = TextSetting(lambda text: read_names(text) or None, names_text, tr("all tools"))
        self._add(
            "allow",
            tr("Only these"),
            allow,
            tr("Tool names separated by commas: only these are offered and executed"),
        )
        deny = TextSetting(read_names, names_text, tr("none"))
        self._add(
            "deny",
            tr("Never these"),
            deny,
            tr("Tool names separated by commas: these are neither offered nor executed"),
        )
        self.grid.add(
            tr("Transforms"),
            self.transforms_button,
            tr("Workarounds for models with unusual calls; each use is reported"),
            wide=True,
        )

    def _menu_button(
        self, words: str, choices: Iterable[tuple[str, str]], slot: Callable[[], None]
    ) -> QPushButton:
        """A button with a menu of checkable names with hints; `slot` is called after a change."""
        button = push_button(words, self)
        menu = QMenu(button, toolTipsVisible=True)
        button.setMenu(menu)
        for name, about in choices:
            action = QAction(name, menu, checkable=True, toolTip=about)
            action.setData(name)
            action.triggered.connect(slot)
            menu.addAction(action)
        return button

    def _compose(self) -> None:
        """Apply the checked presets in order."""
        self._notify(compose(_checked(self.presets_button)))

    def _transform(self) -> None:
        """Apply the checked transforms: earlier ones keep their order, a new one is last."""
        on = _checked(self.transforms_button)
        kept = [name for name in self._settings.transforms if name in on]
        self._set("transforms", (*kept, *(name for name in on if name not in kept)))


def _checked(button: QPushButton) -> list[str]:
    """The checked names of its menu."""
    return [action.data() for action in button.menu().actions() if action.isChecked()]


class RouterForm(StructForm):
    """The router's information besides the tools' names, and both prompts: a field for each of RouterSettings, and the
    bundled settings that fill them in.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(RouterSettings(), 1, parent)
        menu = QMenu(self)
        for name in router_presets():
            menu.addAction(name).triggered.connect(
                lambda _on=False, name=name: self._notify(router_preset(name))
            )
        tip = tr("Bundled settings for the registry of that name")
        self.presets_button = push_button(tr("Fill in"), self, tip=tip)
        self.presets_button.setMenu(menu)
        note = PlainLabel(tr("The router sees the names of the tools, not their arguments."), self, "hint")
        line = hbox(self.presets_button, (note, 1), spacing=10)
        self._fill()
        vbox(line, self.grid, parent=self, spacing=8)

    def _fill(self) -> None:
        rules = LinesSetting(read_lines, "\n".join, tr("For general questions, choose no tool."))
        self._add("rules", tr("Rules"), rules, tr("Rules for the router, one per line"))
        synonyms = LinesSetting(read_lists, lists_text, tr("search: look up, find on the web"))
        self._add(
            "synonyms",
            tr("Synonyms"),
            synonyms,
            tr("Phrases for each tool, one tool per line: `tool: phrase, phrase`"),
        )
        names = LinesSetting(read_lists, lists_text, tr("city: Paris, London"))
        self._add(
            "names",
            tr("Known names"),
            names,
            tr("Names to find in the prompt before routing: `kind: name, name`"),
        )
        answers = LinesSetting(read_lines, "\n".join, tr("ask me during the run"))
        self._add(
            "answers", tr("Answers"), answers, tr("Answers to the router’s questions, in order, one per line")
        )
        self.add_settings("max_questions")
        for name, title in (("router", tr("Router prompt")), ("executor", tr("Executor prompt"))):
            field = LinesSetting(
                _custom, lambda custom: custom or "", tr("the preset “{preset}”", preset=name)
            )
            field.document().setDocumentMargin(4)
            tip = tr(
                "A custom template that replaces the preset:\n\n{template}", template=strategy_preset(name)
            )
            self._add(f"{name}_system", title, field, tip)


def _custom(text: str) -> str | None:
    """The custom template; None for the preset's."""
    return text if text.strip() else None


MAX_TOOLS, MAX_NAME = 300, 100
"""The first tools that are offered by name, and the characters of a name."""
_ANSWER = {
    "tool_choice": "toolChoicePicker",
    "most_calls": "mostCallsSpin",
    "constrain_from": "constrainFromPicker",
    "order": "argumentOrderPicker",
    "reasoning_budget": "reasoningBudgetSpin",
}
"""The settings of the form, with the names of their fields."""


class AnswerForm(SettingsGrid):
    """The settings of an answer.

    `chosen` carries a dict of the fields of RunRequest that the user changed.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(2, parent)
        self._tools: tuple[str, ...] = ()
        self._fields: dict[str, Any] = {}
        for name, object_name in _ANSWER.items():
            setting = settings_of(RunRequest)[name]
            field = named(setting_field(setting), object_name)
            self.add_setting(setting, field)
            self._fields[name] = field
            field.edited.connect(lambda value, name=name: self.chosen.emit({name: value}))
        self.choice, self.calls, self.start, self.order, self.budget = self._fields.values()

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields by the names of their settings."""
        return self._fields

    def show_tools(self, names: Iterable[str]) -> None:
        """Show the tools that can be required by name; the chosen one stays, even if it is not among them."""
        shown = tuple(islice(names, MAX_TOOLS))
        if shown == self._tools:
            return
        self._tools = shown
        chosen = self.choice.currentData()
        while self.choice.count() > len(TOOL_CHOICES):
            self.choice.removeItem(self.choice.count() - 1)
        for name in shown:
            if name not in TOOL_CHOICES:
                self.choice.addItem(tr("Only {tool}", tool=shorten(name, MAX_NAME)), name)
        self.choice.show_value(chosen)

    def show_options(self, options: RunRequest) -> None:
        """Show the options without a signal; options without effect are disabled."""
        for name, field in self._fields.items():
            field.show_value(getattr(options, name))
        direct = options.strategy == "direct"
        in_one_stage = options.strategy in ("direct", "loop")  # the other strategies split a call into stages
        self.choice.setEnabled(direct)
        self.calls.setEnabled(direct and options.tool_choice != "none")
        self.start.setEnabled(in_one_stage and options.constraint != "off")
        self.order.setEnabled(options.constraint != "off")
        self.budget.setEnabled(in_one_stage and options.constraint == "mask" and options.thinking != "off")
