"""The settings of the chosen strategy, in a panel below its picker."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from glyphscope.events import ApprovalRule, ModelInfo, RepairSettings, RunRequest, settings_of
from glyphscope_gui.run_settings.popup import SettingsPopup
from glyphscope_gui.run_settings.strategy_forms import AnswerForm, LoopForm, RouterForm
from glyphscope_gui.run_settings.strategy_texts import approvals_text, read_approvals
from glyphscope_gui.shared.card import section_label
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.run_choices import STRATEGIES
from glyphscope_gui.shared.settings_grid import (
    FlagSetting,
    LinesSetting,
    SettingsGrid,
    StructForm,
    TextSetting,
    setting_field,
    setting_tip,
)

_THINKING = settings_of(RunRequest)["thinking"]


class StrategySettings(SettingsPopup):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("strategySettings", tr("Strategy settings"), parent)
        self.about = PlainLabel(self, role="muted", wordWrap=True)
        self.loop = LoopForm()
        self.router = RouterForm()
        self.answer = AnswerForm()
        self._make_fields()
        self._lay_out()
        self.show_model(None)
        self.loop.chosen.connect(lambda settings: self._change(loop=settings))
        self.router.chosen.connect(lambda settings: self._change(router=settings))
        self.answer.chosen.connect(lambda changes: self._change(**changes))
        self.thinking.edited.connect(lambda value: self._change(thinking=value))
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
        self.answer.show_options(options)
        self.repair.show_settings(options.repair)
        self.dispatch.show_value(options.dispatch)
        self.approvals.show_value(options.approvals)
        self.approvals.setEnabled(strategy == "loop" or options.dispatch)

    def field_of(self, name: str) -> QWidget | None:
        part, _, inner = name.rpartition(".")
        forms = {"loop": self.loop, "router": self.router, "repair": self.repair}
        field = forms[part].fields.get(inner) if part else self.answer.fields.get(name)
        return None if isinstance(field, LinesSetting | TextSetting) else field

    def show_model(self, model: ModelInfo | None) -> None:
        """Show the options that the open model supports; None while none is open."""
        why_not = _no_thinking_words(model)
        tip = " ".join(filter(None, (setting_tip(_THINKING), why_not)))
        self.thinking.setEnabled(not why_not)
        named(self.thinking, description=tip, tip=tip)

    def show_below(self, anchor: QWidget) -> None:
        """Show it below the button; a text that was invalid when it closed is reset."""
        self.show_options(self._options)
        super().show_below(anchor)

    def _make_fields(self) -> None:
        self.thinking = named(setting_field(_THINKING), "thinkingPicker")
        self.repair = StructForm(RepairSettings(), 2)
        self.repair.add_settings()
        self.attempts, self.extract = self.repair.field("attempts"), self.repair.field("extract")
        self.dispatch = FlagSetting(tr("Execute the call"))
        self.dispatch.setToolTip(tr("Off: the run ends with the call, which is not executed"))
        self.approvals = TextSetting(read_approvals, approvals_text, tr("every call needs approval"))

    def _lay_out(self) -> None:
        template = SettingsGrid(2)
        template.add_setting(_THINKING, self.thinking)
        calls = SettingsGrid(2)
        calls.add(
            tr("Approval rules"),
            self.approvals,
            tr(
                "search=allow, demo/*=deny: the first matching rule decides; a call that matches no "
                "rule needs approval"
            ),
            wide=True,
        )
        self.loop_box = _section(tr("Tool loop"), self.loop)
        self.router_box = _section(tr("Router and executor"), self.router)
        for part in (
            self.about,
            self.loop_box,
            self.router_box,
            _section(tr("Chat template"), template),
            _section(tr("Answer"), self.answer),
            _section(tr("Answer without a call"), self.repair.grid),
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


def _no_thinking_words(model: ModelInfo | None) -> str:
    """Why the open model's thinking cannot be switched; empty if it can, or if only an endpoint knows."""
    if model is None:
        return tr("No model is loaded yet.")
    if model.kind == "recorded":
        return tr("A recorded model only replays its output.")
    if model.reads_thinking or (model.reads_thinking is None and model.kind == "remote"):
        return ""
    if model.kind == "remote":
        return tr("This endpoint has no such parameter.")
    if not model.has_chat_template:
        return tr("This model has no chat template.")
    if model.reads_thinking is None:
        return tr("This model’s chat template cannot be read.")
    return tr("This model’s chat template has no such switch.")
