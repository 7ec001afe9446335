"""The settings of a run, in the top bar and in its panel of options: each is used as chosen, shown unchanged, and
marked where the next run would reject it.
"""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from bad_answers import BAD_ANSWERS
from fake_context import scripted
from glyphscope.events import (
    CALL,
    STRATEGIES,
    Alternative,
    Answer,
    ApprovalRule,
    LoopSettings,
    ModelInfo,
    RouterSettings,
    RunRequest,
    Sampling,
    StageStarted,
    StopStringFound,
    Thinking,
    Token,
    TokenStep,
    settings_of,
)
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import compose, run
from glyphscope.runs.strategies.routing.candidates import router_preset
from glyphscope_gui.run_settings.option_fields import approvals_text, lists_text, read_approvals, read_lists
from glyphscope_gui.runs import ShownStage, StreamView
from glyphscope_gui.runs.alternatives_table import FINAL, TEXT, AlternativesModel
from glyphscope_gui.shared.page_ids import HeaderPart, PageId
from glyphscope_gui.shared.run_words import STRATEGIES as OFFERED

GOOD = '{action="search" query="AI news" max_results=10}'
WARM = Sampling(temperature=0.8, top_k=7, top_p=0.9, min_p=0.1, repeat_penalty=1.1, seed=3)
QUIET = pytest.mark.qt_log_ignore("does not support (raise|grabbing)", extend=True)  # popups, offscreen


def options(**changes):
    return RunRequest(**{"prompt": "", "registry": {}, **changes})


# -- strategies ----------------------------------------------------------------------------------------------------


def test_every_strategy_and_every_setting_of_its_panel_is_offered_and_explained(open_panel):
    assert tuple(name for name, _, _ in OFFERED) == STRATEGIES
    assert all(about.endswith(".") and about.count(".") == 1 for _, _, about in OFFERED)
    _panel, screen, said = open_panel(strategy="loop")
    titles = [setting.setting.title for setting in settings_of(LoopSettings).values()]
    titles += ["Only these", "Never these", "Transforms", "Thinking"]
    for title in (*titles, "Control tokens in texts", "Approval rules"):
        assert all(field.toolTip() for field in screen.named(title)) and screen.named(title), title
    assert said == []


def test_texts_of_control_tokens_can_be_encoded_as_text(open_panel):
    _panel, screen, said = open_panel()
    screen.choose("Control tokens in texts", "As plain text")
    assert said == [{"control_texts": "plain"}]


OF_CALLS = ("tool_choice", "most_calls", "dispatch", "approvals")
OF_VALUES = ("order", "repair.extract")


@pytest.mark.parametrize(
    ("answer", "disabled"),
    [
        (Answer(), ()),
        (Answer("schema", "{}"), OF_CALLS),
        *((Answer(kind, "a"), (*OF_CALLS, *OF_VALUES)) for kind in ("regex", "choice", "gbnf", "lark")),
    ],
)
def test_settings_without_an_effect_on_the_answer_are_disabled_with_the_reason(open_panel, answer, disabled):
    panel, screen, said = open_panel(answer=answer, dispatch=answer.is_call)
    fields = {name: panel.groups.field(name) for name in (*OF_CALLS, *OF_VALUES)}
    assert [name for name, field in fields.items() if not field.isEnabled()] == [*disabled]
    for name in disabled:
        assert fields[name].toolTip().endswith((
            "Only for tool calls, and the answer is another one.", "Only for answers with a schema."
        ))  # fmt: skip
    assert screen.can("Repairs") and said == []


LOOP = LoopSettings(
    max_turns=3, tool_use="enforced", allow=("search",), transforms=("fenced-calls",), max_seconds=12.4
)


@pytest.mark.parametrize(
    ("changes", "sections"),
    [
        ({"strategy": "loop", "loop": LOOP, "approvals": (ApprovalRule(action="allow"),)},
         ["Turns", "Limits", "Approval rules"]),
        ({"strategy": "route-execute", "router": router_preset("destiny"), "dispatch": True},
         ["Router and executor", "Execute the call", "Approval rules"]),
        ({"strategy": "direct"}, ["Execute the call"]),
        ({"strategy": "two-stage"}, ["Execute the call"]),
    ],
)  # fmt: skip
def test_only_the_settings_of_the_strategy_are_shown_and_showing_them_is_no_edit(
    open_panel, changes, sections
):
    _panel, screen, said = open_panel(**changes)
    every = ("Turns", "Limits", "Router and executor", "Execute the call", "Approval rules")
    assert [words for words in every if screen.named(words)] == sections
    assert said == []


CHOSEN = [
    ({"strategy": "loop"}, ("write", "Turns", 4), {"loop": LoopSettings(max_turns=4)}),
    ({"strategy": "loop"}, ("write", "Time", 30), {"loop": LoopSettings(max_seconds=30.0)}),
    ({"strategy": "loop"}, ("write", "Only these", "search,  browse, search"),
     {"loop": LoopSettings(allow=("search", "browse"))}),
    ({"strategy": "loop", "loop": LoopSettings(allow=("a",))}, ("write", "Only these", ""), {"loop": LoopSettings()}),
    ({"strategy": "loop", "loop": LoopSettings(parallel_tool_calls=True, max_tool_calls_per_turn=3)},
     ("write", "Calls per turn", 0), {"loop": LoopSettings(parallel_tool_calls=True)}),
    ({"strategy": "loop"}, ("choose", "Presets", "small-context"), {"loop": compose(["small-context"])}),
    ({"strategy": "loop", "loop": LoopSettings(transforms=("blank-values", "content-tags"))},
     ("choose", "Transforms", "fenced-calls"),
     {"loop": LoopSettings(transforms=("blank-values", "content-tags", "fenced-calls"))}),
    ({"strategy": "loop", "loop": LoopSettings(transforms=("blank-values", "content-tags"))},
     ("choose", "Transforms", "blank-values"), {"loop": LoopSettings(transforms=("content-tags",))}),
    ({"strategy": "loop"}, ("write", "Approval rules", "files/*=allow, search=deny"),
     {"approvals": (ApprovalRule(source="files", action="allow"), ApprovalRule(tool="search", action="deny"))}),
    ({"strategy": "route-execute"}, ("write", "Synonyms", "search: look up, find\n\nbrowse: open"),
     {"router": RouterSettings(synonyms={"search": ("look up", "find"), "browse": ("open",)})}),
    ({"strategy": "route-execute"}, ("write", "Router prompt", "Choose: {{ tools }}"),
     {"router": RouterSettings(router_system="Choose: {{ tools }}")}),
    ({"strategy": "route-execute", "router": RouterSettings(router_system="x")}, ("write", "Router prompt", " "),
     {"router": RouterSettings()}),
    ({}, ("choose", "Tool choice", "Only search"), {"tool_choice": "search"}),
    ({}, ("write", "Calls per answer", 0), {"most_calls": None}),
    ({}, ("choose", "Constrain from", "From the call"), {"constrain_from": "call"}),
    ({}, ("choose", "Order of arguments", "Any"), {"order": "any"}),
    ({}, ("write", "Reasoning budget", 0), {"reasoning_budget": 0}),
    ({"reasoning_budget": 0}, ("write", "Reasoning budget", -1), {"reasoning_budget": None}),
    ({}, ("choose", "Thinking", "Off"), {"thinking": "off"}),
    ({}, ("choose", "Reasoning effort", "High"), {"reasoning_effort": "high"}),
    ({}, ("write", "Template variables", 'x=1; y="a;b"; z=some words'),
     {"template_vars": {"x": 1, "y": "a;b", "z": "some words"}}),
    ({"template_vars": {"x": 1}}, ("write", "Template variables", ""), {"template_vars": {}}),
    ({"chat_template": "{{ messages }}"}, ("press", "Use the model’s own"), {"chat_template": ""}),
    ({}, ("choose", "Answer", "Pattern"), {"answer": Answer("regex")}),
    ({"answer": Answer("choice", "a")}, ("write", "Text of the answer", "a\nb"), {"answer": Answer("choice", "a\nb")}),
    ({"answer": Answer("choice", "a")}, ("choose", "Answer", "Tool call"), {"answer": CALL}),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "step", "chosen"), CHOSEN)
def test_an_edit_of_a_setting_changes_it_alone(open_panel, changes, step, chosen):
    panel, screen, said = open_panel(**changes)
    panel.show_tools(["search", "auto", "browse"])
    panel.show_model(ModelInfo(name="m", reads_thinking=True, reads_effort=True))
    do, *words = step
    getattr(screen, do)(*words)
    assert said == [chosen]


@pytest.mark.parametrize(
    ("changes", "name", "text", "reason"),
    [
        ({"strategy": "route-execute"}, "Synonyms", "search: look up\nno name here", "Line 2"),
        ({"strategy": "loop"}, "Approval rules", "search=perhaps", "perhaps"),
        ({}, "Template variables", "x=1; y", "'y' is not NAME=VALUE"),
    ],
)
def test_a_text_that_cannot_be_read_is_marked_with_its_reason(open_panel, changes, name, text, reason):
    _panel, screen, said = open_panel(**changes)
    screen.write(name, text)
    field = screen.find(name)
    assert said == [] and field.property("refused") and reason in field.toolTip()


@pytest.mark.parametrize("text", ["allow", "search=allow", "demo/search=deny", "demo/*=ask, search=allow"])
def test_rules_and_lists_are_read_as_they_are_shown(text):
    assert approvals_text(read_approvals(text)) == text
    lists = {"search": ("look up", "find"), "browse": ("open",)}
    assert read_lists(lists_text(lists)) == lists


def test_an_edit_of_the_rules_preserves_a_bound_one(open_panel):
    bound = ApprovalRule(tool="*", source="files", identity="npx files /home", action="allow")
    _panel, screen, said = open_panel(strategy="loop", approvals=(bound,))
    assert screen.read("Approval rules") == "files/*=allow"
    screen.write("Approval rules", "files/*=allow, search=deny")
    assert said[-1]["approvals"] == (bound, ApprovalRule(tool="search", action="deny"))


def test_presets_say_whether_they_were_edited(open_panel):
    _panel, screen, _said = open_panel(strategy="loop")
    assert screen.read("Presets") == "None"
    screen.choose("Presets", "small-context")
    assert screen.read("Presets") == "small-context"
    screen.write("Turns", 9)
    assert screen.read("Presets") == "small-context, edited"


@pytest.mark.parametrize(
    ("several", "most", "words"), [(False, None, "1"), (True, None, "no limit"), (True, 3, "3")]
)
def test_the_limit_of_calls_in_a_turn_is_shown(open_panel, several, most, words):
    _panel, screen, _said = open_panel(
        strategy="loop", loop=LoopSettings(parallel_tool_calls=several, max_tool_calls_per_turn=most)
    )
    assert screen.read("Calls per turn") == words


def test_a_tool_that_is_missing_stays_chosen(open_panel):
    panel, screen, said = open_panel(tool_choice="gone")
    choice = panel.groups.field("tool_choice")
    panel.show_tools(["search", "auto", "browse"])
    assert [choice.itemData(n) for n in range(choice.count())] == [
        "required", "auto", "none", "search", "browse", "gone",
    ]  # fmt: skip
    assert screen.read("Tool choice") == choice.itemText(5)
    panel.show_tools([])
    panel.show_options(options())
    assert choice.currentData() == "required" and said == []


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
        ({"answer": Answer("choice", "a\nb")}, "start budget"),
    ],
)
def test_a_choice_about_the_answer_is_enabled_only_where_it_has_an_effect(open_panel, changes, enabled):
    panel, _screen, _said = open_panel(**changes)
    fields = {"choice": "tool_choice", "calls": "most_calls", "start": "constrain_from", "order": "order"}
    fields["budget"] = "reasoning_budget"
    assert [
        short for short, name in fields.items() if panel.groups.field(name).isEnabled()
    ] == enabled.split()
    for name in fields.values():
        field = panel.groups.field(name)
        assert field.isEnabled() or field.toolTip().endswith("."), "a disabled option says why"


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
def test_thinking_that_cannot_be_chosen_says_why_and_is_shown_anyway(open_panel, model, why_not):
    panel, screen, said = open_panel(thinking="off")  # of a project that was made with another model
    panel.show_model(ModelInfo(name="m", reads_thinking=True))
    panel.show_model(model)
    picker = screen.find("Thinking")
    assert picker.isEnabled() == (not why_not) and picker.currentText() == "Off"
    assert why_not in picker.toolTip() == picker.accessibleDescription() and said == []
    assert tuple(picker.itemData(place) for place in range(picker.count())) == get_args(Thinking)


def test_the_effort_is_offered_where_the_template_has_a_variable_for_it_or_another_template_is_used(
    open_panel,
):
    panel, screen, _said = open_panel(reasoning_effort="low")
    for model, own, another in (
        (ModelInfo(name="m", reads_effort=True), True, True),
        (ModelInfo(name="m", reads_effort=False), False, True),
        (ModelInfo(name="m", kind="remote", reads_effort=False), False, False),
        (None, False, False),
    ):
        panel.show_model(model)
        panel.show_options(options(reasoning_effort="low"))
        assert screen.find("Reasoning effort").isEnabled() == own and screen.read("Reasoning effort") == "Low"
        panel.show_options(options(reasoning_effort="low", chat_template="{{ messages }}"))
        assert screen.find("Reasoning effort").isEnabled() == another


# -- sampling ------------------------------------------------------------------------------------------------------


def test_each_value_of_the_sampling_is_shown_and_edited_alone(open_panel):
    panel, screen, said = open_panel(sampling=WARM, max_tokens=99, stop=("\n\n", "END"))
    values = {
        "Top-k": "7",
        "Top-p": "0.90",
        "Min-p": "0.10",
        "Repeat penalty": "1.10",
        "Stop strings": "\\n\\n\nEND",
    }
    assert {name: screen.read(name) for name in values} == values and screen.find("Max tokens").value() == 99
    assert said == [] and "At temperature 0" not in screen
    for name, value, chosen in (
        ("Min-p", 0.25, {"sampling": msgspec.structs.replace(WARM, min_p=0.25)}),
        ("Max tokens", 7, {"max_tokens": 7}),
        ("Stop strings", "\\n\nEND\n", {"stop": ("\n", "END")}),
    ):
        screen.write(name, value)
        assert said.pop() == chosen
    screen.write("Stop strings", "x" * 201)
    assert said == [] and screen.find("Stop strings").property("refused")
    panel.show_options(options())
    assert said == [] and panel.greedy_note.isVisible(), "at temperature 0 filters have no effect"
    assert not screen.can("Penalty window")


@pytest.mark.parametrize("value", [10**20, -(10**20), 1e300, float("inf")])
def test_a_number_of_a_file_beyond_a_fields_range_changes_nothing_in_the_project(open_panel, value):
    whole = value if isinstance(value, int) else 1
    odd = Sampling(
        temperature=value, top_k=whole, top_p=value, min_p=value, repeat_penalty=value, repeat_last_n=whole, seed=whole
    )  # fmt: skip
    panel, screen, said = open_panel(sampling=odd, max_tokens=whole)
    panel.show_options(options())
    assert said == [] and screen.find("Top-k").value() == Sampling().top_k


def test_a_preset_keeps_the_seed_and_knows_what_is_recommended_for_the_model(open_panel):
    panel, screen, said = open_panel(sampling=WARM)
    panel.show_model(ModelInfo(name="Qwen3-8B"))
    assert "Custom" in screen.texts()
    screen.choose("Sampling presets", "Recommended for the model")
    chosen = said.pop()["sampling"]
    assert (chosen.temperature, chosen.top_k, chosen.top_p, chosen.seed) == (0.7, 20, 0.8, 3)
    assert "Qwen3" in screen
    screen.choose("Sampling presets", "Creative")
    assert "Creative" in screen.texts()


@pytest.mark.parametrize(
    ("left", "shown"),
    [
        ([(900, (40, 6, 1)), (900, (40, 8, 4)), (1000, (40, 10, 5)), (1, ())],
         ["40 of 900 left", "8 left", "4 left", "4 in the run shown", "Median of 3 tokens",
          "1 of them had a single", "top-k 7"]),
        ([(1, ())], ["1 in the run shown", "No token of the run shown was sampled"]),
    ],
)  # fmt: skip
def test_each_filter_shows_how_many_tokens_it_left_in_the_run(open_panel, left, shown):
    events = list(run(options(registry=default_registry().to_document(), sampling=WARM), ScriptedModel("")))
    state = run_state([events[0], StageStarted(stage="call", title="Call", kind="call")])
    for index, (allowed, figures) in enumerate(left):
        step = TokenStep(index=index, id=1, data=b"a", text="a", allowed=allowed, left=figures)
        state.present.tokens.append(Token(step=step, start=index, end=index + 1))
    panel, screen, _said = open_panel()
    panel.show_run(state)
    panel.show_below(panel)
    for words in shown:
        assert words in screen, words


def test_an_alternative_names_the_filter_that_removed_it(qtbot):
    model = AlternativesModel()
    rows = (
        Alternative(1, b"a", "a", 0.6, 1.0, True),
        Alternative(2, b"b", "b", 0.3, 0.0, True, "top-p"),
        Alternative(3, b"c", "c", 0.1, 0.0, False),
        Alternative(4, b"d", "d", 0.1, 0.0, True),  # at temperature 0
        Alternative(5, b"e", "e", 0.1, None, True),
    )
    model.show(rows, [""] * 5, 1)
    finals = [model.index(row, FINAL).data() for row in range(5)]
    assert finals == ["100.0%", "top-p", "–", "0.0%", "–"]
    for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
        assert "removed by top-p" in model.index(1, TEXT).data(role)


def test_a_stop_string_is_crossed_out_behind_the_answer(qtbot):
    asked = options(registry=default_registry().to_document(), constraint="off", stop=(" max",))
    events = list(run(asked, ScriptedModel([GOOD])))
    state, view = run_state(events), StreamView()
    qtbot.addWidget(view)
    view.show_stage(ShownStage(state, state.present))
    crossed = [each for each in view.extraSelections() if each.format.fontStrikeOut()]
    assert any(isinstance(event, StopStringFound) for event in events)
    assert [each.cursor.selectedText() for each in crossed] == [" max_results=10}"]
    assert view.decided_characters == (), "the end of the answer is not a character of the stop string"


# -- in the window -------------------------------------------------------------------------------------------------

PARTS = {
    "Model": HeaderPart.MODEL,
    "Notation": HeaderPart.CALL,
    "Constraint on tokens": HeaderPart.CALL,
    "Options": HeaderPart.OPTIONS,
    "Run": HeaderPart.RUN,
    "Step": HeaderPart.RUN,
}
SHOWN = {
    PageId.PLAYGROUND: set(HeaderPart),
    PageId.GRAMMAR: {HeaderPart.MODEL, HeaderPart.CALL, HeaderPart.RUN},
    PageId.SERVERS: set(),
    PageId.EVALUATE: {HeaderPart.MODEL},
    PageId.COMPARE: {HeaderPart.MODEL, HeaderPart.OPTIONS},
    PageId.TEMPLATE: {HeaderPart.MODEL},
    PageId.LESSONS: {HeaderPart.MODEL},
}


@pytest.mark.slow
def test_the_thinking_setting_reaches_the_next_prompt(open_window, screen_of):
    template = (
        "{{ messages[-1].content }}{% if enable_thinking is defined %}[{{ enable_thinking }}]{% endif %}"
    )
    window = open_window(lambda _name, **_options: ScriptedModel("", template=template))
    project, screen = window.services.project, screen_of(window)
    window.panels.reveal_rendered_prompt()
    for state, written in (("off", "[False]"), ("on", "[True]"), ("auto", "")):
        project.set_options(thinking=state)
        end = f"{project.request.prompt}{written}"
        screen.until(lambda end=end: screen.read("The prompt as sent to the model").endswith(end))


@pytest.mark.slow
@QUIET
def test_the_top_bar_has_what_the_page_uses_at_one_height(open_window, screen_of, qtbot):
    window = open_window(scripted, size=(1024, 700))
    bar, actions, heights = screen_of(window.header), window.actions_, set()
    for page, parts in SHOWN.items():
        window.navigator.show(page)
        for name, part in PARTS.items():
            assert bool(bar.named(name)) == (part in parts), (page, name)
        assert actions.step.isEnabled() == (HeaderPart.RUN in parts), page
        qtbot.waitUntil(lambda: window.header.height() == window.header.sizeHint().height())
        heights.add(window.header.height())
    assert len(heights) == 1, "nothing moves from page to page"
    compare = window.page(PageId.COMPARE)
    compare.tabs.show_view(compare.ab_view)
    window.navigator.show(PageId.COMPARE)
    assert bar.named("Notation") and bar.named("Options") and not bar.named("Run") and actions.run.isEnabled()
    window.navigator.show(PageId.SERVERS)
    assert not actions.run.isEnabled()


FAULTS = {"strategy": "two-stage", "free_text": True, "tool_choice": "sreach", "stop": ("x" * 300,)}
WORDS = ("exclude each other", "not one of the registry's", "at most 200 characters")


@pytest.mark.slow
@QUIET
def test_the_panel_the_top_bar_and_the_project_agree(window, screen_of, qtbot):
    window.resize(1024, 700)
    project, screen, panel = window.services.project, screen_of(window), window.header.panel
    screen.press("Options")
    screen.choose("Strategy", "Tool loop")
    screen.write("Turns", 5)
    assert (project.request.strategy, project.request.loop.max_turns) == ("loop", 5)
    project.set_options(strategy="two-stage", loop=LoopSettings(max_turns=2))
    assert screen.read("Strategy") == "Two-stage"
    qtbot.waitUntil(lambda: panel._scroll.verticalScrollBar().maximum() == 0)  # a few need no scrolling
    panel.groups.open("sampling.top_k")
    screen.write("Top-k", 5)
    screen.write("Temperature", 0.15)
    assert project.options.sampling == Sampling(temperature=0.15, top_k=5)
    words = "Two-stage · seed 1 · temp 0.15 · top-k 5"
    qtbot.waitUntil(lambda: window.header.options_button.text().startswith(words))
    panel.hide()
    buttons = window.header.constraint.findChildren(QPushButton)
    screen.until(
        lambda: all(each.width() >= each.sizeHint().width() - 1 for each in buttons)
    )  # none is cut off


@pytest.mark.slow
def test_the_order_of_arguments_follows_the_constraint_until_it_is_chosen(window, screen_of):
    project, screen = window.services.project, screen_of(window)
    order = window.header.panel.groups.field("order")
    assert (project.options.constraint, order.currentData()) == ("mask", "any")
    for words, usual in (("GBNF", "schema"), ("Off", "schema"), ("Mask", "any")):
        screen.choose("Constraint on tokens", words)
        assert (project.next_run().request.order, order.currentData()) == (usual, usual)
    order.edited.emit("schema")
    screen.choose("Constraint on tokens", "GBNF")
    assert project.next_run().request.order == "schema"


@pytest.mark.slow
@QUIET
def test_another_answer_than_a_call_is_chosen_in_the_options_and_needs_no_tools(window, screen_of):
    project, screen = window.services.project, screen_of(window)
    panel = window.header.panel
    screen.press("Options")
    screen.choose("Answer", "Choice")
    assert project.options.answer == Answer("choice")
    screen.write("Text of the answer", "yes\nno")
    assert project.next_run().request.answer == Answer("choice", "yes\nno")
    screen.until(
        lambda: "yes" in str(project.prompt.messages)
    )  # the prompt describes the answer, not the tools
    assert "search" not in project.prompt.messages.messages[0].content
    screen.choose("Answer", "Tool call")
    panel.groups.open("shape")
    screen.choose("Shape of a call", "tool/args")
    assert (project.options.answer, project.options.shape) == (CALL, "tool-args")
    window.header.panel.hide()


@pytest.mark.slow
def test_the_value_of_a_schema_has_its_fields_and_its_sizes_in_both_notations(window, screen_of):
    project, screen = window.services.project, screen_of(window)
    project.set_options(answer=Answer("schema", '{"type": "object"}'), constraint="off")
    window.header.run_button.click()
    screen.until(lambda: bool(window.runs.state.outcome) and not window.runs.is_busy)
    screen.press("Sizes")
    screen.until("Size of this answer", "GLYPH")


@pytest.mark.slow
def test_the_text_of_an_answer_is_read_from_a_file_which_names_its_kind(open_panel, tmp_path):
    panel, _screen, said = open_panel()
    (tmp_path / "sums.gbnf").write_text('root ::= "a"\n')
    panel.read_answer(tmp_path / "sums.gbnf")
    assert said == [{"answer": Answer("gbnf", 'root ::= "a"')}]


@pytest.mark.slow
def test_a_record_with_any_seed_is_shown_whole_in_the_top_bar(window, qtbot):
    for seed in (10**20, 7, -5, 1234567890):
        window.header.show_options(options(sampling=Sampling(seed=seed)))
        qtbot.waitUntil(lambda seed=seed: f"seed {seed} ·" in window.header.options_button.text())


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_rare_sampling_settings_are_folded_and_their_changes_are_beside_the_heading(window, screen_of):
    panel, screen = window.header.panel, screen_of(window)
    panel.show_options(options(sampling=Sampling(dry_multiplier=0.8)))
    screen.press("Options")
    assert screen.find("More samplers").accessibleDescription() == "DRY 0.8"
    panel.groups.open("sampling.top_k", "sampling.dry_base")
    assert screen.can("DRY base") and not screen.can("Penalty window")
    assert "It needs: Repeat penalty" in screen.find("Penalty window").toolTip()
    bias, chosen = panel.groups.field("sampling.logit_bias"), []
    panel.optionsChosen.connect(chosen.append)
    bias.setPlainText("42")
    assert bias.property("refused") and "TOKEN=BIAS" in bias.toolTip() and not chosen
    bias.setPlainText("42=-5\n yes=2")
    assert chosen[-1]["sampling"].logit_bias == ("42=-5", " yes=2") and not bias.property("refused")
    panel.hide()


@pytest.mark.slow
def test_an_answer_that_no_text_can_be_is_reported_at_run_and_beside_its_field(window, screen_of):
    project, screen = window.services.project, screen_of(window)
    button = screen.find("Run", QPushButton)
    for answer, said in BAD_ANSWERS:
        project.set_options(answer=answer)
        screen.until(lambda: said in button.accessibleDescription())  # noqa: B023 - waited for at once
        assert said in window.header.options_button.toolTip()
        assert said in window.header.panel.groups.field("answer.kind").toolTip()
    screen.press("Run")
    screen.until(BAD_ANSWERS[-1][1])


@pytest.mark.slow
@QUIET
def test_three_problems_are_beside_their_fields_and_at_run_and_vanish_with_their_causes(window, screen_of):
    project, screen = window.services.project, screen_of(window)
    button, opens = screen.find("Run", QPushButton), window.header.options_button
    usual = button.toolTip()
    project.set_options(**FAULTS)
    screen.until(lambda: all(words in button.accessibleDescription() for words in WORDS), "3 problem")
    assert all(words in button.toolTip() for words in WORDS)
    assert all(words in opens.toolTip() for words in WORDS) and opens.property("refused")
    screen.press("Options")
    assert WORDS[1] in screen.find("Tool choice").toolTip(), "its group is open"
    assert all(words in window.header.panel.problems.text() for words in WORDS)
    window.header.panel.hide()
    screen.press("Run")
    screen.until(*WORDS)
    project.set_options(strategy="direct", free_text=False, tool_choice="required", stop=())
    screen.until(lambda: "problem" not in window.status.message.text())
    assert button.toolTip() == usual
    assert not opens.property("refused") and WORDS[2] not in opens.toolTip()
    project.set_options(native="auto")
    native = screen.part("Notation")
    screen.until(lambda: any("native notation" in each.toolTip() for each in native.named("", QPushButton)))
