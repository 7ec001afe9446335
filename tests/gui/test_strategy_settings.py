"""The picker of strategies and the settings of each: the chosen ones are used, and shown unchanged."""

from __future__ import annotations

from typing import get_args

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QScrollArea

from glyphscope.events import (
    STRATEGIES,
    ApprovalRule,
    LoopSettings,
    ModelInfo,
    RouterSettings,
    RunRequest,
    Thinking,
)
from glyphscope.models import ScriptedModel
from glyphscope.runs.strategies import compose, router_preset
from glyphscope_gui.prompt import PromptDock
from glyphscope_gui.run_settings import (
    StrategySettings,
    approvals_text,
    lists_text,
    read_approvals,
    read_lists,
)
from glyphscope_gui.shared.run_words import STRATEGIES as OFFERED


@pytest.fixture
def panel(qtbot):
    made = StrategySettings()
    qtbot.addWidget(made)
    made.said = []
    made.optionsChosen.connect(made.said.append)
    return made


def options(**changes):
    return RunRequest(**{"prompt": "", "registry": {}, **changes})


def choose(field, value):
    """Choose it as the user does."""
    field.edited.emit(value)


def test_every_strategy_is_in_the_picker():
    assert tuple(name for name, _, _ in OFFERED) == STRATEGIES
    assert all(about.endswith(".") and about.count(".") == 1 for _, _, about in OFFERED)


def test_every_setting_of_the_loop_is_in_the_panel(panel):
    shown = set(panel.loop._fields) | {"transforms", "presets"}
    assert shown == set(LoopSettings.__struct_fields__) - {"prompt"}


def test_showing_options_is_not_an_edit(panel):
    settings = LoopSettings(
        max_turns=3, tool_use="enforced", allow=("search",), transforms=("fenced-calls",), max_seconds=12.4
    )
    panel.show_options(
        options(strategy="loop", loop=settings, approvals=(ApprovalRule(tool="search", action="allow"),))
    )
    panel.show_options(options(strategy="route-execute", router=router_preset("destiny"), dispatch=True))
    assert panel.said == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_only_the_settings_of_the_strategy_are_shown(panel, strategy):
    panel.show_options(options(strategy=strategy))
    assert panel.loop_box.isHidden() == (strategy != "loop")
    assert panel.router_box.isHidden() == (strategy != "route-execute")
    assert panel.dispatch.isHidden() == (strategy == "loop")


def test_an_edit_changes_only_its_field(panel):
    settings = LoopSettings(max_seconds=12.5)
    panel.show_options(options(strategy="loop", loop=settings))
    panel.loop.field("max_turns").setValue(4)
    assert panel.said == [{"loop": LoopSettings(max_seconds=12.5, max_turns=4)}]
    panel.loop.field("max_tool_calls_per_turn").setValue(3)
    panel.loop.field("max_tool_calls_per_turn").setValue(0)
    assert panel.said[-1]["loop"].max_tool_calls_per_turn is None
    choose(panel.loop.field("max_seconds"), 30)
    assert panel.said[-1]["loop"].max_seconds == 30.0
    panel.attempts.setValue(2)
    panel.extract.click()
    assert panel.said[-1]["repair"].attempts == 2
    assert not panel.said[-1]["repair"].extract


def test_presets_show_what_they_set(panel):
    panel.show_options(options(strategy="loop"))
    assert panel.loop.presets_note.text() == "Selected individually"
    actions = {a.data(): a for a in panel.loop.presets_button.menu().actions()}
    actions["small-context"].trigger()
    assert panel.said[-1] == {"loop": compose(["small-context"])}
    assert panel.loop.presets_note.text() == "small-context"
    assert panel.loop.field("max_turns").value() == compose(["small-context"]).max_turns
    panel.loop.field("max_turns").setValue(9)
    assert panel.loop.presets_note.text() == "small-context, edited"


def test_choices_about_the_answer_are_options_of_the_request(panel):
    panel.show_options(options())
    panel.answer.show_tools(["search", "auto"])
    answer = panel.answer
    assert (answer.choice.currentData(), answer.calls.value(), answer.start.currentData()) == (
        "required", 1, "reasoning",
    )  # fmt: skip
    assert answer.budget.text() == "no limit"
    choose(answer.choice, "search")
    answer.calls.setValue(0)
    choose(answer.start, "call")
    choose(answer.order, "any")
    answer.budget.setValue(0)
    answer.budget.setValue(-1)
    assert panel.said == [
        {"tool_choice": "search"},
        {"most_calls": None},
        {"constrain_from": "call"},
        {"order": "any"},
        {"reasoning_budget": 0},
        {"reasoning_budget": None},
    ]


def test_the_tools_of_the_project_can_be_asked_for_and_a_missing_one_stays_chosen(panel):
    panel.show_options(options(tool_choice="gone"))
    panel.answer.show_tools(["search", "auto", "browse"])
    choice = panel.answer.choice
    assert choice.currentData() == "gone"
    assert [choice.itemData(n) for n in range(choice.count())] == [
        "required", "auto", "none", "search", "browse", "gone",
    ]  # fmt: skip
    panel.answer.show_tools([])
    panel.show_options(options())
    assert choice.currentData() == "required"
    assert panel.said == []


@pytest.mark.parametrize(
    ("changes", "enabled"),
    [
        ({}, "choice calls start order budget"),
        ({"tool_choice": "none"}, "choice start order budget"),
        ({"constraint": "off"}, "choice calls"),
        ({"constraint": "gbnf"}, "choice calls start order"),
        ({"thinking": "off"}, "choice calls start order"),
        ({"strategy": "loop"}, "start order budget"),
        ({"strategy": "two-stage"}, "order"),
    ],
)
def test_a_choice_about_the_answer_is_enabled_only_where_it_has_an_effect(panel, changes, enabled):
    panel.show_options(options(**changes))
    fields = ("choice", "calls", "start", "order", "budget")
    assert [name for name in fields if getattr(panel.answer, name).isEnabled()] == enabled.split()


def test_each_choice_about_the_answer_explains_itself(panel):
    answer = panel.answer
    for field in (answer.choice, answer.calls, answer.start, answer.order, answer.budget):
        assert field.accessibleName() and field.toolTip()


def test_transforms_stay_in_their_order(panel):
    panel.show_options(
        options(strategy="loop", loop=LoopSettings(transforms=("blank-values", "content-tags")))
    )
    actions = {a.data(): a for a in panel.loop.transforms_button.menu().actions()}
    actions["fenced-calls"].trigger()
    assert panel.said[-1]["loop"].transforms == ("blank-values", "content-tags", "fenced-calls")
    actions["blank-values"].trigger()
    assert panel.said[-1]["loop"].transforms == ("content-tags", "fenced-calls")


def test_tools_are_listed_once_in_the_order_they_were_written(panel, qtbot):
    panel.show_options(options(strategy="loop"))
    field = panel.loop.field("allow")
    field.setText("search,  browse, search")
    field.editingFinished.emit()
    assert panel.said[-1]["loop"].allow == ("search", "browse")
    field.setText("")
    field.editingFinished.emit()
    assert panel.said[-1]["loop"].allow is None


def test_a_line_without_a_name_is_rejected(panel):
    panel.show_options(options(strategy="route-execute"))
    field = panel.router.field("synonyms")
    field.setPlainText("search: look up, find\n\nbrowse: open")
    expected = {"search": ("look up", "find"), "browse": ("open",)}
    assert panel.said[-1]["router"] == RouterSettings(synonyms=expected)
    said = len(panel.said)
    field.setPlainText("search: look up\nno name here")
    assert len(panel.said) == said
    assert field.property("refused")
    assert "Line 2" in field.toolTip()
    assert read_lists(lists_text(expected)) == expected


def test_an_emptied_prompt_restores_the_default(panel):
    panel.show_options(options(strategy="route-execute"))
    field = panel.router.field("router_system")
    field.setPlainText("Choose: {{ tools }}")
    assert panel.said[-1]["router"].router_system == "Choose: {{ tools }}"
    field.setPlainText(" ")
    assert panel.said[-1]["router"].router_system is None


def test_an_edit_of_the_rules_preserves_a_bound_one(panel):
    bound = ApprovalRule(tool="*", source="files", identity="npx files /home", action="allow")
    panel.show_options(options(strategy="loop", approvals=(bound,)))
    assert panel.approvals.text() == "files/*=allow"
    panel.approvals.setText("files/*=allow, search=deny")
    panel.approvals.editingFinished.emit()
    assert panel.said[-1]["approvals"] == (bound, ApprovalRule(tool="search", action="deny"))


def test_an_invalid_rule_is_rejected(panel):
    panel.show_options(options(strategy="loop"))
    panel.approvals.setText("search=perhaps")
    panel.approvals.editingFinished.emit()
    assert panel.said == []
    assert panel.approvals.property("refused")
    assert "perhaps" in panel.approvals.toolTip() and "allow" in panel.approvals.toolTip()


@pytest.mark.parametrize("text", ["allow", "search=allow", "demo/search=deny", "demo/*=ask, search=allow"])
def test_rules_are_read_as_they_are_shown(text):
    assert approvals_text(read_approvals(text)) == text


def test_thinking_is_shown_and_chosen(panel):
    panel.show_model(ModelInfo(name="m", reads_thinking=True))
    picker = panel.findChild(QComboBox, "thinkingPicker")
    assert picker.accessibleName() == "Thinking" and picker.isEnabled()
    words = {picker.itemData(place): picker.itemText(place) for place in range(picker.count())}
    assert words == {"auto": "Template default", "on": "On", "off": "Off"}
    assert tuple(words) == get_args(Thinking)
    panel.show_options(options(thinking="on"))
    assert picker.currentData() == "on" and panel.said == []
    picker.activated.emit(picker.findData("off"))
    assert panel.said == [{"thinking": "off"}]


@pytest.mark.parametrize(
    ("model", "why_not"),
    [
        (None, "No model is loaded"),
        (ModelInfo(name="m", reads_thinking=False), "no such switch"),
        (ModelInfo(name="m"), "cannot be read"),
        (ModelInfo(name="m", reads_thinking=False, has_chat_template=False), "no chat template"),
        (ModelInfo(name="m", kind="recorded", reads_thinking=True), "recorded"),
        (ModelInfo(name="m", kind="remote", reads_thinking=False), "no such parameter"),
        (ModelInfo(name="m", kind="remote"), ""),
        (ModelInfo(name="m", reads_thinking=True), ""),
    ],
)
def test_thinking_that_cannot_be_chosen_says_why(panel, model, why_not):
    panel.show_model(ModelInfo(name="m", reads_thinking=True))
    panel.show_model(model)
    assert panel.thinking.isEnabled() == (not why_not)
    assert why_not in panel.thinking.toolTip() == panel.thinking.accessibleDescription()
    panel.show_options(options(thinking="off"))  # of a project that was made with another model
    assert panel.thinking.currentData() == "off" and panel.said == []


@pytest.mark.slow
def test_the_order_of_arguments_follows_the_constraint_until_it_is_chosen(open_window):
    window = open_window(lambda _name, **_options: ScriptedModel(""))
    project, order = window.services.project, window.header.settings.answer.order
    assert (project.options.constraint, order.currentData()) == ("mask", "any")
    for constraint, usual in (("gbnf", "schema"), ("off", "schema"), ("mask", "any")):
        window.header.constraint.chosen.emit(constraint)
        assert (project.next_run().request.order, order.currentData()) == (usual, usual)
    choose(order, "schema")
    assert project.next_run().request.order == "schema"
    window.header.constraint.chosen.emit("gbnf")
    assert project.next_run().request.order == "schema"


@pytest.mark.slow
def test_the_thinking_setting_reaches_the_next_prompt(open_window, qtbot):
    template = (
        "{{ messages[-1].content }}{% if enable_thinking is defined %}[{{ enable_thinking }}]{% endif %}"
    )
    window = open_window(lambda _name, **_options: ScriptedModel("", template=template))
    picker, project = window.header.settings.thinking, window.services.project
    qtbot.waitUntil(picker.isEnabled)
    view = window.findChild(PromptDock).rendered_view
    for state, written in (("off", "[False]"), ("on", "[True]"), ("auto", "")):
        picker.activated.emit(picker.findData(state))
        assert project.request.thinking == project.next_run().request.thinking == state
        end = f"{project.request.prompt}{written}"
        qtbot.waitUntil(lambda end=end: view.toPlainText().endswith(end))


@pytest.mark.slow
@pytest.mark.qt_log_ignore(
    "does not support (raise|grabbing)", extend=True
)  # of the offscreen platform: popups
def test_the_panel_and_the_project_agree(open_window, qtbot):
    window = open_window(lambda _name, **_options: ScriptedModel(""), size=(1024, 700))
    header, project = window.header, window.services.project
    place = header.strategy.findData("loop")
    header.strategy.setCurrentIndex(place)
    header.strategy.activated.emit(place)
    assert project.options.strategy == "loop"
    qtbot.mouseClick(header.settings_button, Qt.MouseButton.LeftButton)
    assert header.settings.isVisible()
    header.settings.loop.field("max_turns").setValue(5)
    assert project.request.loop.max_turns == 5
    header.settings.hide()
    project.set_options(strategy="two-stage", loop=LoopSettings(max_turns=2))
    qtbot.mouseClick(header.settings_button, Qt.MouseButton.LeftButton)
    area = header.settings.findChild(QScrollArea)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)  # a few settings need no scrolling
    header.settings.hide()
    assert header.strategy.currentData() == "two-stage"
    assert header.settings.loop.field("max_turns").value() == 2
    for button in header.constraint.findChildren(type(header.run_button)):
        assert button.width() >= button.sizeHint().width() - 1  # nothing is cut off in a small window


@pytest.mark.parametrize(
    ("several", "most", "words"), [(False, None, "1"), (True, None, "no limit"), (True, 3, "3")]
)
def test_the_limit_of_calls_in_a_turn_is_shown(panel, several, most, words):
    loop = LoopSettings(parallel_tool_calls=several, max_tool_calls_per_turn=most)
    panel.show_options(options(strategy="loop", loop=loop))
    assert panel.loop._fields["max_tool_calls_per_turn"].text() == words
    assert panel.said == []
