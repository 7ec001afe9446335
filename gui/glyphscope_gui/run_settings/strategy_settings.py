"""The settings of the chosen strategy, in a panel below its picker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.base.shorten import shorten
from glyphscope.events import (
    ANSWER_CHOICES,
    CALL,
    TOOL_CHOICES,
    Answer,
    AnswerKind,
    ApprovalRule,
    LoopSettings,
    ModelInfo,
    RepairSettings,
    RouterSettings,
    RunRequest,
    default_order,
    pairs_line,
    read_pairs_line,
    settings_of,
)
from glyphscope.prompting.strategies import strategy_preset
from glyphscope.runs.strategies.loop.guards import calls_per_turn
from glyphscope.runs.strategies.loop.presets import compose, loop_presets
from glyphscope.runs.strategies.routing.candidates import router_preset, router_presets
from glyphscope.runs.transforming import TRANSFORMS
from glyphscope.tools.approval import ApprovalError, parse_approvals
from glyphscope_gui.run_settings.popup import SettingsPopup
from glyphscope_gui.shared.card import section_label
from glyphscope_gui.shared.dialogs import ask_for_file
from glyphscope_gui.shared.labels import PlainLabel, link, named, push_button
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.layouts import hbox, holder, vbox
from glyphscope_gui.shared.run_words import STRATEGIES
from glyphscope_gui.shared.settings_grid import (
    ChoiceSetting,
    FlagSetting,
    LinesSetting,
    SettingsGrid,
    StructForm,
    TextSetting,
    mark_refused,
    setting_field,
    setting_tip,
    translated,
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
        self._answers = {CALL.kind: CALL}  # the last of each kind
        self._add_answer()
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

    def _add_answer(self) -> None:
        about = in_language(settings_of(RunRequest)["answer"].setting.about)
        self.kind = named(ChoiceSetting(translated(ANSWER_CHOICES)), "answerKindPicker")
        self.add(tr("Answer"), self.kind, about)
        tip = tr("Read the schema, the pattern, the texts or the grammar from a file")
        self.open_button = push_button(
            tr("Open file…"), self, name="answerFileButton", tip=tip, clicked=self._ask_for_file
        )
        self.add(tr("From a file"), self.open_button, tip)
        self.text = named(LinesSetting(str, str), "answerText")
        self.add(tr("Text of the answer"), self.text, about, wide=True)
        self.kind.edited.connect(self.choose_kind)
        self.text.edited.connect(lambda text: self._choose(Answer(self.kind.currentData(), text)))

    def choose_kind(self, kind: AnswerKind) -> None:
        """Choose that kind of answer, with the text that it had before."""
        self._choose(self._answers.get(kind, Answer(kind)))

    def _choose(self, answer: Answer) -> None:
        self._answers[answer.kind] = answer
        self.chosen.emit({"answer": answer})

    def _ask_for_file(self) -> None:
        filters = tr("Schemas, grammars and texts (*.json *.gbnf *.lark *.txt);;All files (*)")
        ask_for_file(self, tr("Open the text of an answer"), self._read_file, filters=filters)

    def _read_file(self, path: Path) -> None:
        try:
            text = utf8_text(read_file(path), str(path), hint=tr("Give a text file in UTF-8."))
        except GlyphscopeError as error:
            mark_refused(self.text, error.words)
            return
        kinds: dict[str, AnswerKind] = {".json": "schema", ".gbnf": "gbnf", ".lark": "lark"}
        kind = kinds.get(path.suffix, self.kind.currentData())
        self._choose(Answer(kind if kind != "call" else "choice", text.strip("\n")))

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
        self.order.set_usual(default_order(options.constraint))
        answer = options.answer
        self._answers[answer.kind] = answer
        self.kind.show_value(answer.kind)
        self.text.show_value(answer.text)
        self.text.setPlaceholderText(_EXAMPLES.get(answer.kind, ""))
        self.text.setEnabled(not answer.is_call)
        in_one_stage = options.strategy in ("direct", "loop")  # the other strategies split a call into stages
        not_a_call = _not_a_call(options) or ("" if options.strategy == "direct" else _DIRECT_ONLY)
        no_calls = tr("Tool choice allows none.") if options.tool_choice == "none" else ""
        unordered = _without_schema(options) or (_UNCONSTRAINED if options.constraint == "off" else "")
        for field, name, why_not in (
            (self.choice, "tool_choice", not_a_call),
            (self.calls, "most_calls", not_a_call or no_calls),
            (self.order, "order", unordered),
        ):
            _enable(field, setting_tip(settings_of(RunRequest)[name]), why_not)
        self.start.setEnabled(in_one_stage and options.constraint != "off")
        self.budget.setEnabled(in_one_stage and options.constraint == "mask" and options.thinking != "off")


_DIRECT_ONLY = tr("Only for the strategy Direct.")
_UNCONSTRAINED = tr("Only under a constraint.")


def _not_a_call(options: RunRequest) -> str:
    """Why a setting of calls has no effect; empty if it may have one."""
    return "" if options.answer.is_call else tr("Only for tool calls, and the answer is another one.")


def _without_schema(options: RunRequest) -> str:
    """Why a setting of values has no effect; empty if it may have one."""
    return "" if options.answer.has_schema else tr("Only for answers with a schema.")


def _enable(field: QWidget, about: str, why_not: str) -> None:
    """Enable a field, or disable it with the reason in its hint."""
    tip = " ".join(filter(None, (about, why_not)))
    field.setEnabled(not why_not)
    named(field, description=tip, tip=tip)


_EXAMPLES: dict[AnswerKind, str] = {
    "schema": '{"type": "object", "properties": {"name": {"type": "string"}}}',
    "regex": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "choice": "positive\nnegative",
    "gbnf": 'root ::= "a" | "b"',
    "lark": 'start: "a" | "b"',
}
"""An example of the text of each answer."""
_DISPATCH = tr("Off: the run ends with the call, which is not executed")
_APPROVALS = tr(
    "search=allow, demo/*=deny: the first matching rule decides; a call that matches no rule needs approval"
)
_NOT_EXECUTED = tr("No call is executed.")
_THINKING, _EFFORT, _VARIABLES, _CONTROL_TEXTS = (
    settings_of(RunRequest)[name]
    for name in ("thinking", "reasoning_effort", "template_vars", "control_texts")
)


class StrategySettings(SettingsPopup):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("strategySettings", tr("Strategy settings"), parent)
        self.about = PlainLabel(self, role="muted", wordWrap=True)
        self.loop = LoopForm()
        self.router = RouterForm()
        self.answer = AnswerForm()
        self._model: ModelInfo | None = None
        self._make_fields()
        self._lay_out()
        self.show_model(None)
        self.loop.chosen.connect(lambda settings: self._change(loop=settings))
        self.router.chosen.connect(lambda settings: self._change(router=settings))
        self.answer.chosen.connect(lambda changes: self._change(**changes))
        self.thinking.edited.connect(lambda value: self._change(thinking=value))
        self.control_texts.edited.connect(lambda value: self._change(control_texts=value))
        self.effort.edited.connect(lambda value: self._change(reasoning_effort=value))
        self.variables.edited.connect(lambda values: self._change(template_vars=values))
        self.own_link.clicked.connect(lambda: self._change(chat_template=""))
        self.repair.chosen.connect(lambda settings: self._change(repair=settings))
        self.dispatch.edited.connect(lambda value: self._change(dispatch=value))
        self.approvals.edited.connect(self._approve)

    def show_options(self, options: RunRequest) -> None:
        self._options = options
        strategy = options.strategy
        self.about.setText(next((about for name, _, about in STRATEGIES if name == strategy), ""))
        self.loop_box.setVisible(strategy == "loop")
        self.router_box.setVisible(strategy == "route-execute")
        self.dispatch.setVisible(strategy != "loop")
        self.loop.show_settings(options.loop)
        self.router.show_settings(options.router)
        self.thinking.show_value(options.thinking)
        self.control_texts.show_value(options.control_texts)
        self.effort.show_value(options.reasoning_effort)
        self.variables.show_value(options.template_vars)
        self.chosen.setVisible(bool(options.chat_template))
        self._show_switches()
        self.answer.show_options(options)
        self.repair.show_settings(options.repair)
        self.dispatch.show_value(options.dispatch)
        self.approvals.show_value(options.approvals)
        runs_no_calls = _not_a_call(options)
        executed = strategy == "loop" or options.dispatch
        _enable(self.dispatch, _DISPATCH, runs_no_calls)
        _enable(self.approvals, _APPROVALS, runs_no_calls or ("" if executed else _NOT_EXECUTED))
        _enable(self.extract, setting_tip(settings_of(RepairSettings)["extract"]), _without_schema(options))

    def field_of(self, name: str) -> QWidget | None:
        part, _, inner = name.rpartition(".")
        forms = {"loop": self.loop, "router": self.router, "repair": self.repair}
        named_here = {
            "control_texts": self.control_texts,
            "template_vars": self.variables,
            **self.answer.fields,
        }
        field = forms[part].fields.get(inner) if part else named_here.get(name)
        return None if isinstance(field, LinesSetting | TextSetting) else field

    def show_model(self, model: ModelInfo | None) -> None:
        """Show the options that the open model supports; None while none is open."""
        self._model = model
        self._show_switches()

    def _show_switches(self) -> None:
        """Enable what the template can be set to; one that was chosen for the project is not known before a run."""
        model = self._model
        chosen = bool(self._options.chat_template) and (model is None or model.kind != "remote")
        for field, setting, reads in (
            (self.thinking, _THINKING, None if model is None else model.reads_thinking),
            (self.effort, _EFFORT, None if model is None else model.reads_effort),
        ):
            why_not = _no_switch_words(model, None if chosen else reads, chosen=chosen)
            _enable(field, setting_tip(setting), why_not)

    def show_below(self, anchor: QWidget) -> None:
        """Show it below the button; a text that was invalid when it closed is reset."""
        self.show_options(self._options)
        super().show_below(anchor)

    def _make_fields(self) -> None:
        self.thinking = named(setting_field(_THINKING), "thinkingPicker")
        self.control_texts = named(setting_field(_CONTROL_TEXTS), "controlTextsPicker")
        self.effort = named(setting_field(_EFFORT), "effortPicker")
        self.variables = TextSetting(read_pairs_line, pairs_line, tr("NAME=VALUE; NAME=VALUE"))
        self.own_link = link(tr("Use the model’s own"), tr("Use the template in the model’s file"))
        words = PlainLabel(tr("Another template than the model’s own is used."), role="muted")
        self.chosen = holder(hbox((words, 1), self.own_link))
        self.repair = StructForm(RepairSettings(), 2)
        self.repair.add_settings()
        self.attempts, self.extract = self.repair.field("attempts"), self.repair.field("extract")
        self.dispatch = FlagSetting(tr("Execute the call"))
        self.approvals = TextSetting(read_approvals, approvals_text, tr("every call needs approval"))

    def _lay_out(self) -> None:
        template = SettingsGrid(2)
        template.add_setting(_THINKING, self.thinking)
        template.add_setting(_EFFORT, self.effort)
        template.add_setting(_CONTROL_TEXTS, self.control_texts)
        tip = tr("The Template page lists those of the chat template, with what they change")
        template.add(in_language(_VARIABLES.setting.title), self.variables, tip, wide=True)
        calls = SettingsGrid(2)
        calls.add(
            tr("Approval rules"),
            self.approvals,
            _APPROVALS,
            wide=True,
        )
        self.loop_box = _section(tr("Tool loop"), self.loop)
        self.router_box = _section(tr("Router and executor"), self.router)
        for part in (
            self.about,
            self.loop_box,
            self.router_box,
            _section(tr("Chat template"), self.chosen, template),
            _section(tr("Answer"), self.answer),
            _section(tr("Invalid answer"), self.repair.grid),
            _section(tr("Calls"), self.dispatch, calls),
        ):
            self.column.addWidget(part)
        self.column.addStretch(1)

    def _approve(self, rules: tuple[ApprovalRule, ...]) -> None:
        """Keep the identity to which a rule is bound, which is not in the text, when another rule is edited."""
        bound = {(r.tool, r.source, r.action): r for r in self._options.approvals}
        self._change(approvals=tuple(bound.get((r.tool, r.source, r.action), r) for r in rules))


def _section(title: str, *widgets: QWidget) -> QWidget:
    box = QWidget()
    vbox(section_label(title, box), *widgets, parent=box, spacing=7)
    return box


def _no_switch_words(model: ModelInfo | None, reads: bool | None, *, chosen: bool) -> str:
    """Why the open model's template has no such setting, by what it `reads`; empty if it has, or if only an endpoint or
    another template, which was `chosen`, decides.
    """
    if model is None:
        return tr("No model is loaded yet.")
    if model.kind == "recorded":
        return tr("A recorded model only replays its output.")
    if reads or (reads is None and (chosen or model.kind == "remote")):
        return ""
    if model.kind == "remote":
        return tr("This endpoint has no such parameter.")
    if not model.has_chat_template:
        return tr("This model has no chat template.")
    if reads is None:
        return tr("This model’s chat template cannot be read.")
    return tr("This model’s chat template has no such switch.")


def read_lines(text: str) -> tuple[str, ...]:
    """The lines of a text that are not empty."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def lists_text(named: Mapping[str, Iterable[str]]) -> str:
    """`tool: phrase, phrase`, a line for each name."""
    return "\n".join(f"{name}: {', '.join(values)}" for name, values in named.items())


def read_lists(text: str) -> dict[str, tuple[str, ...]]:
    """The lists by name. Raises ValueError for a line without a name."""
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, values = line.partition(":")
        if not colon or not name.strip():
            raise ValueError(tr("Line {number} has no name before a colon.", number=number))
        parts = tuple(part.strip() for part in values.split(",") if part.strip())
        found[name.strip()] = (*found.get(name.strip(), ()), *parts)
    return found


def names_text(values: Iterable[str] | None) -> str:
    """`search, browse`."""
    return ", ".join(values or ())


def read_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, without duplicates."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def approvals_text(rules: Iterable[ApprovalRule]) -> str:
    """The rules in the form of `--approve`: `search=allow, demo/*=ask`, without the identities they are bound to."""
    texts = []
    for rule in rules:
        place = rule.tool if rule.source == "*" else f"{rule.source}/{rule.tool}"
        texts.append(rule.action if place == "*" else f"{place}={rule.action}")
    return ", ".join(texts)


def read_approvals(text: str) -> tuple[ApprovalRule, ...]:
    """The rules. Raises ValueError with the reason in words."""
    try:
        return parse_approvals(read_names(text))
    except ApprovalError as error:
        raise ValueError(str(error)) from error
