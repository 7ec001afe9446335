"""What an answer may be: whether it calls a tool, how many calls, in which order, where the constraint begins."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope.events import RunRequest
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.settings_grid import ChoiceSetting, NumberSetting, SettingsGrid

_CHOICES = (
    ("required", tr("Call a tool"), tr("The answer has to call a tool")),
    ("auto", tr("Call or text"), tr("The model decides whether it calls a tool or answers in words")),
    ("none", tr("Text only"), tr("The answer is text, without any call")),
)
_BEGINNINGS = (
    (
        "start",
        tr("At the first token"),
        tr("The call comes at once: reasoning that the prompt opened is closed first"),
    ),
    (
        "reasoning",
        tr("After the reasoning"),
        tr("The model reasons freely; then the call comes, under the constraint"),
    ),
    ("call", tr("Where a call begins"), tr("Everything is free until the model begins a call by itself")),
)
_ORDERS = (
    ("any", tr("Any"), tr("The model writes arguments in its own order")),
    ("schema", tr("As in the schema"), tr("Arguments come in the order in which the schema lists them")),
)
_MOST_CALLS, _MOST_TOKENS = 1000, 100_000
_NO_LIMIT = -1
CHOICE_TIP = tr(
    "Whether the answer calls a tool, may be text instead, or calls one tool by name. Strategy Direct only."
)
CALLS_TIP = tr(
    "Maximum number of calls in one answer. For the strategy Direct; the tool loop has a separate setting."
)
BEGIN_TIP = tr(
    "Where the constraint begins. Later leaves the model more freedom; without a constraint it has no effect."
)
ORDER_TIP = tr(
    "In which order the constraint lets arguments come. GBNF lists every order, so with more than four properties it "
    "keeps the schema’s; another constraint brings its usual order."
)
BUDGET_TIP = tr("After so many tokens the mask closes the reasoning. Only a mask can do that.")


class AnswerForm(SettingsGrid):
    """`chosen` carries a dict of the fields of RunRequest that the user changed."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(2, parent)
        self.choice = ChoiceSetting(_CHOICES)
        self.calls = NumberSetting(0, _MOST_CALLS)
        self.calls.setSpecialValueText(tr("no limit"))
        self.begin = ChoiceSetting(_BEGINNINGS)
        self.order = ChoiceSetting(_ORDERS)
        self.budget = NumberSetting(_NO_LIMIT, _MOST_TOKENS, tr(" tokens"))
        self.budget.setSpecialValueText(tr("no limit"))
        for name, words, field, tip in (
            ("toolChoicePicker", tr("Tool choice"), self.choice, CHOICE_TIP),
            ("mostCallsSpin", tr("Calls per answer"), self.calls, CALLS_TIP),
            ("constrainFromPicker", tr("Constrain from"), self.begin, BEGIN_TIP),
            ("argumentOrderPicker", tr("Order of arguments"), self.order, ORDER_TIP),
            ("reasoningBudgetSpin", tr("Reasoning budget"), self.budget, BUDGET_TIP),
        ):
            field.setObjectName(name)
            self.add(words, field, tip)
        self.choice.told.connect(lambda value: self.chosen.emit({"tool_choice": value}))
        self.calls.told.connect(lambda value: self.chosen.emit({"most_calls": value or None}))
        self.begin.told.connect(lambda value: self.chosen.emit({"constrain_from": value}))
        self.order.told.connect(lambda value: self.chosen.emit({"order": value}))
        self.budget.told.connect(
            lambda value: self.chosen.emit({"reasoning_budget": None if value == _NO_LIMIT else value})
        )

    def show_tools(self, names: Iterable[str]) -> None:
        """The tools that can be asked for by name; the one that is chosen stays, even if it is none of them."""
        chosen = self.choice.currentData()
        while self.choice.count() > len(_CHOICES):
            self.choice.removeItem(self.choice.count() - 1)
        for name in names:
            if self.choice.findData(name) < 0:
                self.choice.addItem(tr("Only {tool}", tool=name), name)
        self.choice.show_value(chosen)

    def show_options(self, options: RunRequest) -> None:
        """Show them without telling; what has no effect with the others cannot be set."""
        self.choice.show_value(options.tool_choice)
        self.calls.show_value(options.most_calls or 0)
        self.begin.show_value(options.constrain_from)
        self.order.show_value(options.order)
        self.budget.show_value(_NO_LIMIT if options.reasoning_budget is None else options.reasoning_budget)
        direct, whole = options.strategy == "direct", options.strategy in ("direct", "loop")
        self.choice.setEnabled(direct)
        self.calls.setEnabled(direct and options.tool_choice != "none")
        self.begin.setEnabled(whole and options.constraint != "off")
        self.order.setEnabled(options.constraint != "off")
        self.budget.setEnabled(whole and options.constraint == "mask" and options.thinking != "off")
