"""The forms in the panel of a strategy's settings: for the tool loop, for the router, and for each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from glyphscope.events import LoopSettings, RouterSettings, RunRequest
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
from glyphscope_gui.shared.run_choices import ORDERS, STARTS
from glyphscope_gui.shared.settings_grid import (
    ChoiceSetting,
    FlagSetting,
    LinesSetting,
    NumberSetting,
    SettingsGrid,
    StructForm,
    TextSetting,
)

_MAX_INTEGER = 2**31 - 1
"""The largest number of a field without a limit: Qt's."""
_LOOP_LIMITS = (  # member of LoopSettings, title, least, most, unit, hint
    ("max_turns", tr("Turns"), 1, 10_000, "", tr("Maximum number of turns")),
    (
        "max_total_tokens",
        tr("Total tokens"),
        1,
        _MAX_INTEGER,
        "",
        tr("Maximum number of tokens in all turns"),
    ),
    ("max_seconds", tr("Time"), 1, 86_400, tr(" s"), tr("Maximum duration of the run")),
    (
        "max_tool_seconds",
        tr("Time per call"),
        1,
        86_400,
        tr(" s"),
        tr("Maximum duration of a call; then it is cancelled"),
    ),
    (
        "max_tool_args_bytes",
        tr("Arguments"),
        1,
        _MAX_INTEGER,
        tr(" bytes"),
        tr("Calls with larger arguments are not executed; the model is informed"),
    ),
    (
        "max_tool_output_bytes",
        tr("Results"),
        1,
        _MAX_INTEGER,
        tr(" bytes"),
        tr("For a larger result, the model receives only its size"),
    ),
    (
        "max_identical_calls",
        tr("Same call"),
        1,
        1000,
        tr(" times"),
        tr("Maximum executions of an identical call"),
    ),
    (
        "max_invalid_turns",
        tr("No-progress turns"),
        1,
        1000,
        "",
        tr("Consecutive turns without progress before the run stops"),
    ),
)
_TOOL_USES = (
    ("relaxed", tr("Auto"), tr("The model may call tools or answer directly")),
    ("enforced", tr("Required"), tr("An answer is rejected until a call has succeeded")),
    ("disabled", tr("None"), tr("No tools are offered or executed")),
)
_FAILURE_POLICIES = (
    ("fatal", tr("Must not fail"), tr("The last call of every tool must have succeeded")),
    ("tolerated", tr("May fail"), tr("The run continues after a failed call")),
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
        effective = calls_per_turn(settings) or 0  # 1 if parallel calls are disabled
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
        self._add(
            "tool_use",
            tr("Tool choice"),
            ChoiceSetting(_TOOL_USES),
            tr("Whether a run may, must or must not call tools"),
        )
        self._add(
            "failure_policy",
            tr("Failed calls"),
            ChoiceSetting(_FAILURE_POLICIES),
            tr("Effect of a failed call on the run"),
        )
        for name, title, least, most, suffix, tip in _LOOP_LIMITS:
            self._add(name, title, NumberSetting(least, most, suffix), tip)
        per_turn = NumberSetting(0, 1000)
        per_turn.setSpecialValueText(tr("no limit"))
        parallel = FlagSetting(tr("Parallel calls"))
        self._add_check(
            "parallel_tool_calls",
            parallel,
            tr("Off: only the first call of a turn is executed; the others are counted"),
        )
        self._add(
            "max_tool_calls_per_turn",
            tr("Calls per turn"),
            per_turn,
            tr("Maximum executed calls per turn, with parallel calls"),
        )
        empty = FlagSetting(tr("Retry an empty answer"))
        self._add_check("fix_empty_final", empty, tr("Once, with a request for an answer in text"))
        without = FlagSetting(tr("… without tools"))
        self._add_check("fix_empty_final_disable_tools", without, tr("Offer no tools in that retry"))
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

    def _set(self, name: str, value: Any) -> None:
        if name == "max_tool_calls_per_turn":
            value = value or None
        if name in ("max_seconds", "max_tool_seconds"):
            value = float(value)
        super()._set(name, value)

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
        self._add(
            "max_questions",
            tr("Questions"),
            NumberSetting(0, 100),
            tr("Maximum number of questions from the router"),
        )
        for name, title in (("router", tr("Router prompt")), ("executor", tr("Executor prompt"))):
            field = LinesSetting(
                _custom, lambda custom: custom or "", tr("the preset “{preset}”", preset=name)
            )
            field.document().setDocumentMargin(4)
            tip = tr(
                "A custom template that replaces the preset:\n\n{template}",
                template=strategy_preset(name),
            )
            self._add(f"{name}_system", title, field, tip)


def _custom(text: str) -> str | None:
    """The custom template; None for the preset's."""
    return text if text.strip() else None


MAX_TOOLS, MAX_NAME = 300, 100
"""The first tools that are offered by name, and the characters of a name."""
_TOOL_CHOICES = (
    ("required", tr("Required"), tr("The answer must call a tool")),
    ("auto", tr("Auto"), tr("The model decides whether to call a tool or answer in text")),
    ("none", tr("None"), tr("The answer is text without calls")),
)
_MAX_CALLS, _MAX_TOKENS = 1000, 100_000
_NO_LIMIT = -1


class AnswerForm(SettingsGrid):
    """Tool choice, number of calls, start of the constraint, order of arguments, budget of reasoning.

    `chosen` carries a dict of the fields of RunRequest that the user changed.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(2, parent)
        self._tools: tuple[str, ...] = ()
        self.choice = named(ChoiceSetting(_TOOL_CHOICES), "toolChoicePicker")
        tip = tr(
            "Tool choice: whether the answer must, may or must not call a tool, or must call one "
            "tool by name. Strategy Direct only."
        )
        self.add(tr("Tool choice"), self.choice, tip)
        self.calls = named(NumberSetting(0, _MAX_CALLS), "mostCallsSpin")
        self.calls.setSpecialValueText(tr("no limit"))
        tip = tr(
            "Maximum number of calls in one answer. Strategy Direct only; the tool loop has a separate setting."
        )
        self.add(tr("Calls per answer"), self.calls, tip)
        self.start = named(ChoiceSetting(STARTS), "constrainFromPicker")
        tip = tr("Where the constraint begins. A later start leaves the model more freedom.")
        self.add(tr("Constrain from"), self.start, tip)
        self.order = named(ChoiceSetting(ORDERS), "argumentOrderPicker")
        tip = tr(
            "The order of arguments that the constraint allows. GBNF has to list every order, so "
            "with more than four properties it uses the schema’s."
        )
        self.add(tr("Order of arguments"), self.order, tip)
        self.budget = named(NumberSetting(_NO_LIMIT, _MAX_TOKENS, tr(" tokens")), "reasoningBudgetSpin")
        self.budget.setSpecialValueText(tr("no limit"))
        tip = tr("Maximum tokens of reasoning; then the mask ends it. Needs the constraint Mask.")
        self.add(tr("Reasoning budget"), self.budget, tip)
        self.choice.edited.connect(lambda value: self.chosen.emit({"tool_choice": value}))
        self.calls.edited.connect(lambda value: self.chosen.emit({"most_calls": value or None}))
        self.start.edited.connect(lambda value: self.chosen.emit({"constrain_from": value}))
        self.order.edited.connect(lambda value: self.chosen.emit({"order": value}))
        self.budget.edited.connect(
            lambda value: self.chosen.emit({"reasoning_budget": None if value == _NO_LIMIT else value})
        )

    def show_tools(self, names: Iterable[str]) -> None:
        """Show the tools that can be required by name; the chosen one stays, even if it is not among them."""
        shown = tuple(islice(names, MAX_TOOLS))
        if shown == self._tools:
            return
        self._tools = shown
        chosen = self.choice.currentData()
        while self.choice.count() > len(_TOOL_CHOICES):
            self.choice.removeItem(self.choice.count() - 1)
        own = {value for value, *_ in _TOOL_CHOICES}
        for name in shown:
            if name not in own:
                self.choice.addItem(tr("Only {tool}", tool=shorten(name, MAX_NAME)), name)
        self.choice.show_value(chosen)

    def show_options(self, options: RunRequest) -> None:
        """Show the options without a signal; options without effect are disabled."""
        self.choice.show_value(options.tool_choice)
        self.calls.show_value(options.most_calls or 0)
        self.start.show_value(options.constrain_from)
        self.order.show_value(options.order)
        self.budget.show_value(_NO_LIMIT if options.reasoning_budget is None else options.reasoning_budget)
        direct = options.strategy == "direct"
        in_one_stage = options.strategy in ("direct", "loop")  # the other strategies split a call into stages
        self.choice.setEnabled(direct)
        self.calls.setEnabled(direct and options.tool_choice != "none")
        self.start.setEnabled(in_one_stage and options.constraint != "off")
        self.order.setEnabled(options.constraint != "off")
        self.budget.setEnabled(in_one_stage and options.constraint == "mask" and options.thinking != "off")
