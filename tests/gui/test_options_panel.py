"""The panel of the options of a run: its groups, its search, its resets, and its use by keys."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from glyphscope.events import STRATEGIES, Answer, ApprovalRule, LoopSettings, ModelInfo, RunRequest, Sampling
from glyphscope.runs.again import NO_LIMIT
from glyphscope_gui.run_settings.options import FIRST, OPTIONS, option_words
from glyphscope_gui.run_settings.panel import OptionsPanel
from glyphscope_gui.shared import DecimalBox, WholeBox

WARM = Sampling(temperature=0.8, top_k=7, top_p=0.9, min_p=0.1, repeat_penalty=1.1, seed=3)
LOOP = LoopSettings(max_turns=3, tool_use="enforced", allow=("search",), max_seconds=12.4)
QUIET = pytest.mark.qt_log_ignore("does not support (raise|grabbing)", extend=True)  # popups, offscreen


def options(**changes):
    return RunRequest(**{"prompt": "", "registry": {}, **changes})


def words_of(**changes):
    return " · ".join(option_words(options(**{"order": "any", **changes})))


def test_the_button_of_the_options_says_what_differs_from_the_defaults():
    assert words_of() == "Direct · seed 1 · temp 0"
    loop = LoopSettings(max_turns=3, parallel_tool_calls=True, fix_empty_final=False, allow=("search",))
    assert words_of(strategy="loop", loop=loop, stop_on="never", max_tokens=99, template_vars={"x": 1}) == (
        "Tool loop · seed 1 · temp 0 · at most 99 tokens · no early stop · turns 3 · parallel calls · "
        "no retry an empty answer · only these · template variables x=1"
    )
    assert words_of(loop=loop) == words_of(), "the settings of another strategy have no effect"
    assert words_of(sampling=WARM, answer=Answer("choice", "a\nb"), order="schema", stop=("\n",)) == (
        "Direct · seed 3 · temp 0.8 · choice a|b · top-k 7 · top-p 0.9 · min-p 0.1 · repeat penalty 1.1 · "
        "the schema’s order · stop at \\n"
    )
    schema = options(answer=Answer("schema", '{"type": "object", "properties": {"a": {}}}'), order="any")
    assert option_words(schema, brief=True)[3:] == ["schema"] and "properties" in option_words(schema)[3]
    assert words_of(constraint="gbnf", order="schema") == words_of(), "it is the default there"
    assert words_of(max_tokens=NO_LIMIT) == f"{words_of()} · no token limit", "as in captured requests"


def test_every_setting_of_a_request_is_an_option_of_the_panel(open_panel):
    panel, screen, _said = open_panel(strategy="loop")
    assert len(panel.groups.names) == len(OPTIONS) > 50
    for title in ("Early stop", "Evidence", "Alternatives per token", "Free text"):
        assert screen.find(title).toolTip(), title


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_at_first_only_the_options_that_matter_for_the_strategy_are_shown(qtbot, screen_of, strategy):
    panel = OptionsPanel()
    qtbot.addWidget(panel)
    panel.setWindowFlags(Qt.WindowType.Window)
    panel.show_options(options(strategy=strategy))
    panel.show()
    shown = [name for name, field in panel.groups.fields.items() if field.isVisible()]
    assert len(shown) <= (14 if strategy == "route-execute" else 10), shown
    assert shown[:2] == list(FIRST[:2])
    assert not screen_of(panel).named("Total tokens"), "limits are folded"
    assert len(panel.groups.fields) == len(shown), "fields are made when they are first shown"


def test_words_find_every_option_of_any_strategy_and_none_is_said(open_panel):
    panel, screen, said = open_panel()
    screen.write("Find a setting", "pass turns")
    assert "No setting has these words." in screen
    screen.write("Find a setting", "turns")
    assert {name for name, field in panel.groups.fields.items() if field.isVisible()} == {
        "loop.max_turns", "loop.max_invalid_turns", "loop.max_total_tokens",
    }  # fmt: skip
    screen.write("Turns", 3)
    assert said == [{"loop": LoopSettings(max_turns=3)}]
    screen.write("Find a setting", "")
    assert not screen.named("Turns")


def test_all_options_can_be_reset_at_once_and_restored(open_panel):
    changes = {
        "strategy": "loop",
        "sampling": WARM,
        "approvals": (ApprovalRule(action="allow"),),
        "stop_on": "never",
    }
    panel, screen, said = open_panel(**changes, constraint="gbnf", order="schema")
    screen.press("Reset all")
    before, reset = options(**changes, constraint="gbnf", order="schema"), said.pop()
    assert msgspec.structs.replace(before, **reset) == options(constraint="gbnf", order="schema")
    screen.press("Undo the reset")
    assert msgspec.structs.replace(options(constraint="gbnf"), **said.pop()) == before
    panel.show_options(options(order="any"))
    panel.show_below(panel)
    assert not screen.can("Reset all")


def test_options_that_cannot_be_changed_can_be_unfolded_and_found(open_panel):
    panel, screen, _said = open_panel(strategy="loop")
    panel.set_editable(False)
    assert "they cannot be changed" in screen and not screen.can("Turns") and not screen.named("Reset all")
    screen.write("Find a setting", "seed")
    assert not screen.can("Seed")
    screen.write("Find a setting", "")
    screen.press("Execution")
    assert not screen.named("Approval rules")


def test_each_option_that_differs_has_its_reset(open_panel):
    panel, screen, said = open_panel(strategy="loop", loop=LOOP, approvals=(ApprovalRule(action="allow"),))
    for words, changes in (
        ("Reset “Turns” to 8", {"loop": msgspec.structs.replace(LOOP, max_turns=8)}),
        ("Reset “Approval rules” to every call needs approval", {"approvals": ()}),
        ("Reset “Strategy” to Direct", {"strategy": "direct"}),
    ):
        screen.press(words)
        assert said[-1] == said[-1] | changes or said[-1].keys() == changes.keys()
    panel.show_options(options(strategy="loop", order="any"))
    assert [each.accessibleName() for each in screen.named("Reset “")] == ["Reset “Strategy” to Direct"]


@QUIET
def test_the_panel_is_used_by_keys_alone(window):
    panel = window.header.panel
    window.actions_.options.trigger()
    assert panel.isVisible() and panel.focusWidget() is panel.groups.finder
    QTest.keyClicks(panel.groups.finder, "seed")
    QTest.keyClick(panel.groups.finder, Qt.Key.Key_Tab)  # Reset all is disabled
    field = panel.focusWidget()
    assert field is panel.groups.field("sampling.seed")
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert window.services.project.options.sampling.seed == 2
    QTest.keyClick(panel.focusWidget(), Qt.Key.Key_Escape)
    assert not panel.isVisible() and "seed 2" in window.header.options_button.words


@pytest.mark.slow
def test_native_is_offered_where_the_model_has_a_notation_and_says_why_not(window):
    native = window.header.notation.button("native")
    assert not native.isEnabled() and "no place for tools" in native.toolTip()
    header = window.header
    for model in (
        ModelInfo(name="m", tool_calls="hermes"), ModelInfo(name="m", kind="remote"), None,
    ):  # fmt: skip
        header.show_model(model)
        assert native.isEnabled() and "no place" not in native.toolTip()
    header.show_model(window.runs.model.info)


@pytest.mark.slow
def test_a_text_has_no_notation_and_a_value_has_no_native_one_with_the_reason_as_the_tip(window, screen_of):
    project, native = window.services.project, screen_of(window).part("Notation").named("", QPushButton)
    for answer, enabled, reason in (
        (Answer("choice", "a\nb"), [False, False, False], "The answer is a text (choice a|b)"),
        (Answer("lark", 'start: "a"'), [False, False, False], "has no notation"),
        (Answer("schema", "{}"), [True, True, False], "the answer is a schema's value"),
    ):
        project.set_options(answer=answer)
        assert [each.isEnabled() for each in native] == enabled
        for each in native:
            assert each.toolTip() == each.accessibleDescription()
            assert (reason in each.toolTip()) == (not each.isEnabled())
    project.set_options(answer=Answer())
    assert native[0].isEnabled() and native[1].isEnabled() and "answer" not in native[0].toolTip()


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ("Temperature", "0,5", 0.5),
        ("Temperature", "0.75", 0.75),
        ("Seed", "1,234", 1234),
        ("Seed", "1,234,567", 1234567),
        ("Seed", "0,0", 0),
        ("Seed", "1,5", 7),
        ("Seed", "12345,67", 1234567),
        ("Max tokens", "2,048", 2048),
    ],
)
def test_a_comma_is_read_as_it_is_shown_and_not_left_out_of_a_number(qtbot, field, typed, value):
    """A comma where none can be is not typed, and of half a group the field keeps its earlier number."""
    box = {"Temperature": DecimalBox, "Seed": WholeBox, "Max tokens": WholeBox}[field]()
    qtbot.addWidget(box)
    box.setRange(0, 10_000_000)
    box.setKeyboardTracking(False)
    box.setValue(7)
    box.show()
    box.setFocus()
    box.focusInEvent(QFocusEvent(QEvent.Type.FocusIn))
    box.selectAll()
    QTest.keyClicks(box, typed)
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert box.value() == value


def test_thousands_are_separated_while_a_number_is_not_edited(qtbot):
    box = WholeBox()
    qtbot.addWidget(box)
    box.setRange(0, 10_000_000)
    box.setValue(12_345)
    assert box.text() == "12,345"
    box.focusInEvent(QFocusEvent(QEvent.Type.FocusIn))
    assert box.text() == "12345"
    box.focusOutEvent(QFocusEvent(QEvent.Type.FocusOut))
    assert box.text() == "12,345"
