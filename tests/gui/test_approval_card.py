"""The card that asks for approval of a call, and the one with a question: verdicts, edits, answers, endings."""

from __future__ import annotations

import importlib
import json

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from glyphscope.events import ApprovalGiven, QuestionAnswered
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry, make_tool
from glyphscope.runs import Decision, Ending
from glyphscope_gui.calls.arguments import MAX_LENGTH, check_arguments
from glyphscope_gui.playground.asking import MAX_ARGUMENTS, ApprovalCard, QuestionCard
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.whole_text import WholeTextDialog
from made_runs import NEEDED

SEARCH = default_registry().get("search")


@pytest.fixture
def card(qtbot):
    made = ApprovalCard()
    qtbot.addWidget(made, before_close_func=end_work)
    made.resize(600, 400)
    made.said = []
    made.decided.connect(made.said.append)
    return made


def ask(qtbot, card, tool=SEARCH, **changes):
    card.ask(msgspec.structs.replace(NEEDED, **changes), tool)
    judged(qtbot, card)


def judged(qtbot, card):
    """Wait for the verdict on the current content of the fields."""
    qtbot.waitUntil(lambda: not card._background.is_busy)


# -- verdicts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "by_name", "whole"),
    [
        ({"query": "x", "max_results": 10}, set(), ""),
        ({"query": "x", "max_results": 500}, {"max_results"}, ""),
        ({"query": "", "max_results": 0}, {"query", "max_results"}, ""),
        ({"max_results": 5}, set(), "required argument 'query'"),
        ({"query": "x", "bogus": 1}, set(), "no remaining argument"),
    ],
)
def test_an_argument_error_is_reported_at_its_argument_or_for_the_whole_call(arguments, by_name, whole):
    check = check_arguments(SEARCH, arguments)
    assert set(check.by_name) == by_name
    assert whole in check.whole
    assert check.ok == (not by_name and not whole)


def test_arguments_nested_too_deep_are_an_error_of_the_check():
    value = []
    for _ in range(100_000):
        value = [value]
    assert not check_arguments(SEARCH, {"query": value}).ok


def test_the_card_shows_which_server_would_run_which_tool(qtbot, card):
    ask(qtbot, card, identity="uvx mcp-server-x --all")
    assert card.title.text() == "search of demo"
    assert card.identity.text().replace("\u200b", "") == "uvx mcp-server-x --all"
    assert "read-only" in card.claims.text()
    assert "not verified" in card.claims.text()
    assert [card.rows.by_name[name].pill.status for name in ("query", "max_results", "sources")] == [
        "holds",
        "holds",
        None,
    ]
    assert card.allow_button.isEnabled()


def test_an_argument_that_is_too_long_for_the_card_opens_whole(qtbot, card):
    long = ["x" * (2 * MAX_LENGTH) + "\u200b"]
    ask(qtbot, card, tool=None, arguments={"short": "y", "long": long})
    (button,) = card.findChildren(QPushButton, "openArgumentButton")
    warnings = [label.text() for label in card.findChildren(QLabel) if "invisible" in label.text().lower()]
    assert len(warnings) == 1 and "U+200B" in warnings[0], "also beyond the part that is shown"
    button.click()
    dialog = card.findChild(WholeTextDialog)
    qtbot.waitUntil(lambda: dialog.is_ready and not dialog.is_busy)
    assert dialog.text == json.dumps(long, ensure_ascii=False)
    dialog.close()


def test_invisible_characters_are_shown_in_the_card(qtbot, card):
    ask(
        qtbot,
        card,
        tool=None,
        arguments={"path": "a\u202etxt.exe", "more": ["\u200b\u200b"], "plain": "é\n"},
        source="de\u202emo",
        identity="npx \x1b[2Jx",
        claims={"title": "\u2066x"},
    )
    warnings = [label.text() for label in card.findChildren(QLabel) if "invisible characters" in label.text()]
    assert warnings == [
        "Contains invisible characters: U+202E\na⟨U+202E⟩txt.exe",
        'Contains invisible characters: U+200B ×2\n[ "⟨U+200B⟩⟨U+200B⟩" ]',
    ]
    assert card.title.text() == "search of de⟨U+202E⟩mo"
    assert "␛" in card.identity.text()
    assert "⟨U+2066⟩x" in card.claims.text()


@pytest.mark.slow
def test_the_buttons_stay_where_they_are_while_arguments_are_edited(qtbot, card):
    ask(qtbot, card)
    card.show()
    qtbot.wait(50)
    buttons = (card.deny_button, card.wider_button, card.allow_button)
    before = [button.mapTo(card, button.rect().topLeft()) for button in buttons]
    for text in ("500", "5\n0\n0\n0", '{"a":\n1,\n"b": 2}'):
        card.rows.by_name["max_results"].field.setPlainText(text)
        judged(qtbot, card)
        qtbot.wait(20)
        assert [button.mapTo(card, button.rect().topLeft()) for button in buttons] == before
    assert card.rows.by_name["max_results"].field.property("edited") and not card.rows.by_name[
        "query"
    ].field.property("edited")
    edited = {name: not label.isHidden() for name, label in card._edited.items()}
    assert edited["max_results"] and not edited["query"]


def test_arguments_that_were_not_edited_are_sent_unchanged(qtbot, card):
    ask(qtbot, card, arguments={"query": "a\r\nb\u2029c", "max_results": 10})
    card.allow_button.click()
    assert card.said == [Decision(action="allow", arguments=None, scope="once", by="person")]


def test_an_edit_is_checked_and_its_error_disables_allow(qtbot, card):
    ask(qtbot, card)
    field = card.rows.by_name["max_results"].field
    field.setPlainText("500")
    assert not card.allow_button.isEnabled()  # also before the verdict
    judged(qtbot, card)
    assert card.rows.by_name["max_results"].pill.status == "impossible"
    assert not card.allow_button.isEnabled()
    card.allow_button.click()
    assert card.said == []
    field.setPlainText("5")
    judged(qtbot, card)
    assert card.rows.by_name["max_results"].pill.status == "holds"
    card.allow_button.click()
    assert card.said[0].arguments == {"query": "AI news", "max_results": 5}


def test_a_field_that_is_not_json_disables_allow(qtbot, card):
    ask(qtbot, card)
    for text in ("1e", "NaN", "[1,"):
        card.rows.by_name["max_results"].field.setPlainText(text)
        judged(qtbot, card)
        assert card.rows.by_name["max_results"].pill.status == "impossible"
        assert not card.allow_button.isEnabled()
    card.rows.by_name["max_results"].field.setPlainText("")  # removed
    judged(qtbot, card)
    assert card.arguments == {"query": "AI news"}
    assert card.allow_button.isEnabled()


def test_an_optional_argument_can_be_added(qtbot, card):
    ask(qtbot, card)
    card.rows.by_name["sources"].field.setPlainText('["web"]')
    judged(qtbot, card)
    assert card.arguments["sources"] == ["web"]


def test_escape_undoes_the_edit_of_a_field(qtbot, card):
    ask(qtbot, card)
    card.show()
    field = card.rows.by_name["query"].field
    field.setFocus()
    field.setPlainText("other")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.toPlainText() == "AI news"
    assert not field.is_edited


def test_choices_are_typed_as_json(qtbot, card):
    schema = {
        "type": "object",
        "properties": {"unit": {"enum": ["m", "km"]}, "deep": {"type": "boolean"}},
        "required": ["unit"],
    }
    ask(qtbot, card, make_tool("measure", "Measure.", schema), arguments={"unit": "m"})
    card.rows.by_name["unit"].field.setCurrentIndex(1)
    card.rows.by_name["deep"].field.setCurrentIndex(2)
    judged(qtbot, card)
    assert card.arguments == {"unit": "km", "deep": False}


@pytest.mark.parametrize("scope", [0, 1, 2])
def test_a_wider_permission_has_the_scope_in_its_words(qtbot, card, scope):
    ask(qtbot, card)
    action = card.menu.actions()[scope]
    words = ("Every call of this run", "Every call of search in this run", "Every call to demo in this run")
    assert action.text() == words[scope]
    action.trigger()
    assert card.said[0].scope == ("run", "tool", "source")[scope]


def test_a_denial_has_its_reason(qtbot, card):
    ask(qtbot, card)
    card.reason.setText(" not today ")
    card.deny_button.click()
    assert card.said == [Decision(action="deny", by="person", reason="not today")]


def test_a_call_of_an_unknown_tool_can_be_allowed_unchecked(qtbot, card):
    ask(qtbot, card, None)
    assert "not checked" in card.problem.text()
    assert card.rows.by_name["query"].pill.status is None
    assert card.allow_button.isEnabled()


@pytest.mark.slow
def test_a_huge_call_shows_some_of_its_arguments_and_sends_all(qtbot, card):
    many = {f"a{n}": n for n in range(3000)} | {"query": "x" * (MAX_LENGTH * 50)}
    arguments = {"query": many.pop("query")} | many
    ask(qtbot, card, None, arguments=arguments)
    assert len(card.rows.by_name) == MAX_ARGUMENTS
    assert card.rows.by_name["query"].field.isReadOnly()
    assert card.arguments == arguments
    card.rows.by_name["a3"].field.setPlainText("7")
    judged(qtbot, card)
    card.allow_button.click()
    assert card.said[0].arguments == arguments | {"a3": 7}


def test_a_dismissed_card_decides_nothing(qtbot, card):
    ask(qtbot, card)
    card.dismiss()
    card.deny_button.click()
    card.allow_button.click()
    assert card.said == []
    assert card.isHidden()


# -- questions -----------------------------------------------------------------------------------------------------


def test_an_empty_answer_is_not_sent(qtbot):
    card = QuestionCard()
    qtbot.addWidget(card)
    said = []
    card.answered.connect(said.append)
    card.ask("Which <b>one</b>?")
    assert card.question.text() == "Which <b>one</b>?"
    qtbot.keyClick(card.edit, Qt.Key.Key_Return)
    assert said == []
    card.edit.setText(" the first ")
    qtbot.keyClick(card.edit, Qt.Key.Key_Return)
    card.skip_button.click()
    assert said == ["the first", None]


# -- on the playground ----------------------------------------------------------------------------------------------


def asking(context):
    emitter, interaction = context.emitter, context.interaction
    yield emitter.enter("tool", "search", "tool")
    yield emitter.stamp(NEEDED)
    decision = interaction.decide(NEEDED)
    yield emitter.stamp(
        ApprovalGiven(
            call="call-1", action=decision.action, arguments=decision.arguments or {}, by=decision.by
        )
    )
    yield emitter.stamp(QuestionAnswered(answer=interaction.answer("Which one?")))
    return Ending("answered", True)


@pytest.fixture
def loop(monkeypatch):
    monkeypatch.setitem(
        importlib.import_module("glyphscope.runs.strategies.running")._STRATEGIES, "loop", asking
    )


@pytest.fixture
def playground(loop, open_page):
    made = open_page(PageId.PLAYGROUND, lambda _name, **_options: ScriptedModel(""), size=(760, 700))
    made.context.project.set_options(strategy="loop")
    return made


@pytest.mark.slow
def test_a_run_that_asks_continues_when_answered(playground, qtbot):
    page, runs = playground.view, playground.context.runs
    playground.run()
    qtbot.waitUntil(page.approval.isVisible)
    assert page.field_card.isHidden()
    assert page.timeline.isVisible()
    qtbot.waitUntil(page.approval.allow_button.isEnabled)
    page.approval.allow_button.click()
    qtbot.waitUntil(page.question.isVisible)
    assert page.approval.isHidden()
    page.question.edit.setText("this")
    with qtbot.waitSignal(runs.ended):
        page.question.answer_button.click()
    assert page.question.isHidden()
    assert page.field_card.isVisible()
    assert page.prompt_card.isVisible()
    answers = [e.answer for e in runs.events if isinstance(e, QuestionAnswered)]
    assert answers == ["this"]


@pytest.mark.slow
def test_a_pinned_stage_stays_until_it_is_unpinned(playground, qtbot):
    page, table, runs = playground.view, playground.view.timeline.table, playground.context.runs
    playground.run()
    qtbot.waitUntil(page.approval.isVisible)
    playground.context.actions.focus_timeline.trigger()
    table.setCurrentIndex(page.timeline.model.index(1, 0))
    assert page.timeline.follow_link.isVisible()
    assert page.notes.isVisible()
    assert "search of demo" in page.notes.toPlainText()
    qtbot.waitUntil(page.approval.allow_button.isEnabled)
    page.approval.allow_button.click()
    qtbot.waitUntil(page.question.isVisible)
    assert "Allowed by a person" in page.notes.toPlainText()
    page.timeline.follow_link.click()
    assert not page.timeline.follow_link.isVisible()
    assert not page.notes.isVisible()
    with qtbot.waitSignal(runs.ended):
        page.question.skip_button.click()


@pytest.mark.slow
def test_a_run_that_waits_on_another_page_is_shown_in_the_status_line(loop, open_window, qtbot):
    window = open_window(lambda _name, **_options: ScriptedModel(""), size=(1024, 700))
    window.services.project.set_options(strategy="loop")
    window.actions_.run.trigger()
    window.navigator.show(PageId.GRAMMAR)
    qtbot.waitUntil(lambda: window.runs.is_asking)
    assert "waiting for you on the playground" in window.status.note.text()
    window.presenter._show_figures()
    assert window.status.message.text() == "Waiting for you"
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.stop.trigger()
    assert not window.runs.is_asking
    assert "waits" not in window.status.note.text()


@pytest.mark.slow
def test_stop_and_closing_the_window_close_an_open_card(playground, qtbot):
    page, runs = playground.view, playground.context.runs
    playground.run()
    qtbot.waitUntil(page.approval.isVisible)
    with qtbot.waitSignal(runs.ended):
        runs.stop()
    assert page.approval.isHidden()
    playground.run()
    qtbot.waitUntil(page.approval.isVisible)
    playground.close()
    runs.close()
