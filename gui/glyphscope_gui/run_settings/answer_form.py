"""The form of an answer: tool choice, number of calls, order of arguments, start of the constraint."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope.events import RunRequest
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_choices import ORDERS, STARTS
from glyphscope_gui.shared.settings_grid import ChoiceSetting, NumberSetting, SettingsGrid

_CHOICES = (
    ("required", tr("Required"), tr("The answer must call a tool")),
    ("auto", tr("Auto"), tr("The model decides whether to call a tool or answer in text")),
    ("none", tr("None"), tr("The answer is text without calls")),
)
_MOST_CALLS, _MOST_TOKENS = 1000, 100_000
_NO_LIMIT = -1
CHOICE_TIP = tr(
    "Tool choice: whether the answer must, may or must not call a tool, or must call one "
    "tool by name. Strategy Direct only."
)
CALLS_TIP = tr(
    "Maximum number of calls in one answer. Strategy Direct only; the tool loop has a separate setting."
)
BEGIN_TIP = tr("Where the constraint begins. A later start leaves the model more freedom.")
ORDER_TIP = tr(
    "The order of arguments that the constraint allows. GBNF has to list every order, so "
    "with more than four properties it uses the schema’s."
)
BUDGET_TIP = tr("Maximum tokens of reasoning; then the mask ends it. Needs the constraint Mask.")


class AnswerForm(SettingsGrid):
    """`chosen` carries a dict of the fields of RunRequest that the user changed."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(2, parent)
        self.choice = ChoiceSetting(_CHOICES)
        self.calls = NumberSetting(0, _MOST_CALLS)
        self.calls.setSpecialValueText(tr("no limit"))
        self.begin = ChoiceSetting(STARTS)
        self.order = ChoiceSetting(ORDERS)
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
        self.choice.edited.connect(lambda value: self.chosen.emit({"tool_choice": value}))
        self.calls.edited.connect(lambda value: self.chosen.emit({"most_calls": value or None}))
        self.begin.edited.connect(lambda value: self.chosen.emit({"constrain_from": value}))
        self.order.edited.connect(lambda value: self.chosen.emit({"order": value}))
        self.budget.edited.connect(
            lambda value: self.chosen.emit({"reasoning_budget": None if value == _NO_LIMIT else value})
        )

    def show_tools(self, names: Iterable[str]) -> None:
        """Show the tools that can be required by name; the chosen one stays, even if it is not among them."""
        chosen = self.choice.currentData()
        while self.choice.count() > len(_CHOICES):
            self.choice.removeItem(self.choice.count() - 1)
        for name in names:
            if self.choice.findData(name) < 0:
                self.choice.addItem(tr("Only {tool}", tool=name), name)
        self.choice.show_value(chosen)

    def show_options(self, options: RunRequest) -> None:
        """Show the options without a signal; options without effect are disabled."""
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
