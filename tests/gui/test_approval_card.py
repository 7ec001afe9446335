"""The card that asks for approval of a call, and the one with a question: verdicts, edits, answers, endings."""

from __future__ import annotations

import json

import msgspec
import pytest

from glyphscope.events import QuestionAnswered
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry, make_tool
from glyphscope.runs import Decision
from glyphscope_gui.calls.arguments import MAX_LENGTH, VerdictPill, check_arguments
from glyphscope_gui.playground import MAX_ARGUMENTS, ApprovalCard, QuestionCard
from glyphscope_gui.shared import WholeTextDialog
from glyphscope_gui.shared.background import end_work, is_working
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.verdict import VERDICTS
from made_runs import NEEDED

SEARCH = default_registry().get("search")
GOOD, BAD, NONE = VERDICTS["holds"].words, VERDICTS["impossible"].words, "not checked"
ALLOW = "Allow once"


@pytest.fixture
def card(qtbot):
    made = ApprovalCard()
    qtbot.addWidget(made, before_close_func=end_work)
    made.resize(600, 400)
    made.said = []
    made.decided.connect(made.said.append)
    return made


@pytest.fixture
def asked(card, screen_of):
    """Ask about a call of the tool, changed so; return the screen once the arguments are checked."""

    def ask(tool=SEARCH, **changes):
        card.ask(msgspec.structs.replace(NEEDED, **changes), tool)
        return checked(screen_of(card))

    return ask


def checked(screen):
    screen.until(lambda: not is_working(screen.root))
    return screen


def verdicts(screen):
    return [pill.accessibleName() for pill in screen.named("", VerdictPill)]


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


def test_the_card_shows_which_server_would_run_which_tool(asked):
    screen = asked(identity="uvx mcp-server-x --all")
    for words in ("search of demo", "uvx mcp-server-x --all", "Annotations (not verified): read-only"):
        assert words in screen, words
    assert verdicts(screen) == [GOOD, GOOD, NONE] and screen.can(ALLOW)


def test_an_argument_that_is_too_long_for_the_card_opens_whole(asked):
    long = ["x" * (2 * MAX_LENGTH) + "\u200b"]
    screen = asked(tool=None, arguments={"short": "y", "long": long})
    (warning,) = [text for text in screen.texts() if "invisible" in text]
    assert "U+200B" in warning, "also beyond the part that is shown"
    screen.press("Open")
    dialog = screen.dialog(WholeTextDialog).root
    screen.until(lambda: dialog.is_ready and not dialog.is_busy)
    assert dialog.text == json.dumps(long, ensure_ascii=False)
    dialog.close()


def test_invisible_characters_are_shown_in_the_card(asked):
    screen = asked(
        tool=None,
        arguments={"path": "a\u202etxt.exe", "more": ["\u200b\u200b"], "plain": "é\n"},
        source="de\u202emo",
        identity="npx \x1b[2Jx",
        claims={"title": "\u2066x"},
    )
    assert [text for text in screen.texts() if "invisible characters" in text] == [
        "Contains invisible characters: U+202E\na⟨U+202E⟩txt.exe",
        'Contains invisible characters: U+200B ×2\n[ "⟨U+200B⟩⟨U+200B⟩" ]',
    ]
    for words in ("search of de⟨U+202E⟩mo", "␛", "⟨U+2066⟩x"):
        assert words in screen, words


def test_a_call_of_an_unknown_tool_can_be_allowed_unchecked(asked):
    screen = asked(None)
    assert "its arguments are not checked" in screen
    assert set(verdicts(screen)) == {NONE} and screen.can(ALLOW)


# -- edits and answers ---------------------------------------------------------------------------------------------

UNIT = {"unit": {"enum": ["m", "km"]}, "deep": {"type": "boolean"}}
MEASURE = make_tool("measure", "Measure.", {"type": "object", "properties": UNIT, "required": ["unit"]})
EDITS = [
    (SEARCH, {}, [], None),
    (SEARCH, {"query": "a\r\nb\u2029c"}, [], None),
    (SEARCH, {}, [("write", "max_results", "5")], {"query": "AI news", "max_results": 5}),
    (SEARCH, {}, [("write", "max_results", "")], {"query": "AI news"}),
    (SEARCH, {}, [("write", "sources", '["web"]')], {"query": "AI news", "max_results": 10, "sources": ["web"]}),
    (SEARCH, {}, [("write", "query", "other"), ("key", "query", "Escape")], None),
    (MEASURE, {"unit": "m"}, [("choose", "unit", "km"), ("choose", "deep", "false")], {"unit": "km", "deep": False}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "steps", "sent"), EDITS)
def test_a_call_is_sent_as_it_was_edited_and_otherwise_unchanged(asked, card, tool, arguments, steps, sent):
    screen = asked(tool, arguments=arguments if tool is MEASURE else NEEDED.arguments | arguments)
    for do, *words in steps:
        getattr(screen, do)(*words)
    checked(screen).press(ALLOW)
    assert card.said == [Decision(action="allow", arguments=sent, scope="once", by="person")]


@pytest.mark.parametrize("text", ["500", "1e", "NaN", "[1,"])
def test_an_edit_that_is_not_valid_is_marked_and_disables_allow(asked, card, text):
    screen = asked()
    screen.write("max_results", text)
    assert not screen.can(ALLOW)  # also before the verdict
    assert verdicts(checked(screen)) == [GOOD, BAD, NONE] or text != "500"
    assert not screen.can(ALLOW) and not screen.can("Allow for…") and "edited" in screen.texts()
    screen.write("max_results", "5")
    assert verdicts(checked(screen)) == [GOOD, GOOD, NONE] and screen.can(ALLOW) and card.said == []


@pytest.mark.slow
def test_the_buttons_stay_where_they_are_while_arguments_are_edited(asked, qtbot):
    screen = asked()
    qtbot.wait(50)
    buttons = [screen.find(name) for name in ("Deny", "Allow for…", ALLOW)]
    before = [button.mapTo(screen.root, button.rect().topLeft()) for button in buttons]
    for text in ("500", "5\n0\n0\n0", '{"a":\n1,\n"b": 2}'):
        screen.write("max_results", text)
        checked(screen)
        qtbot.wait(20)
        assert [button.mapTo(screen.root, button.rect().topLeft()) for button in buttons] == before


@pytest.mark.parametrize(
    ("words", "scope"),
    [
        ("Every call of this run", "run"),
        ("Every call of search in this run", "tool"),
        ("Every call to demo in this run", "source"),
    ],
)
def test_a_wider_permission_has_the_scope_in_its_words(asked, card, words, scope):
    asked().choose("Allow for…", words)
    assert card.said[0].scope == scope


def test_a_denial_has_its_reason_and_a_dismissed_card_decides_nothing(asked, card):
    screen = asked()
    screen.write("Reason for the denial…", " not today ")
    screen.press("Deny")
    assert card.said == [Decision(action="deny", by="person", reason="not today")]
    card.dismiss()
    for button in (card.deny_button, card.allow_button):
        button.click()
    assert len(card.said) == 1 and card.isHidden()


@pytest.mark.slow
def test_a_huge_call_shows_some_of_its_arguments_and_sends_all(asked, card):
    arguments = {"query": "x" * (MAX_LENGTH * 50)} | {f"a{n}": n for n in range(3000)}
    screen = asked(None, arguments=arguments)
    assert len(verdicts(screen)) == MAX_ARGUMENTS and screen.find("query").isReadOnly()
    screen.write("a3", "7")
    checked(screen).press(ALLOW)
    assert card.said[0].arguments == arguments | {"a3": 7}


def test_an_empty_answer_to_a_question_is_not_sent(qtbot, screen_of):
    card, said = QuestionCard(), []
    qtbot.addWidget(card)
    card.answered.connect(said.append)
    card.ask("Which <b>one</b>?")
    screen = screen_of(card)
    assert "Which <b>one</b>?" in screen
    screen.key("Your answer…", "Return")
    assert said == []
    screen.write("Your answer…", " the first ")
    screen.key("Your answer…", "Return")
    screen.press("Skip")
    assert said == ["the first", None]


# -- on the playground ----------------------------------------------------------------------------------------------


@pytest.fixture
def playground(asking_runs, open_page):
    made = open_page(PageId.PLAYGROUND, lambda _name, **_options: ScriptedModel(""), size=(760, 700))
    made.context.project.set_options(strategy="loop")
    return made


TRANSCRIPT, QUESTION = "Transcript of the run", "Your answer to: Which one?"


@pytest.mark.slow
def test_a_run_that_asks_continues_when_answered_and_its_transcript_says_how(playground, screen_of, qtbot):
    screen, runs = screen_of(playground), playground.context.runs
    playground.run()
    screen.until_can(ALLOW)
    assert not screen.named("Fields of the answer…")
    assert "search of demo" in screen.read(TRANSCRIPT)
    screen.press(ALLOW)
    screen.until(lambda: screen.named(QUESTION))
    assert not screen.named(ALLOW) and "Allowed by a person" in screen.read(TRANSCRIPT)
    screen.write(QUESTION, "this")
    with qtbot.waitSignal(runs.ended):
        screen.press("Answer")
    assert (
        not screen.named(QUESTION) and screen.named("Fields of the answer…") and screen.named("Your prompt")
    )
    assert [event.answer for event in runs.events if isinstance(event, QuestionAnswered)] == ["this"]


@pytest.mark.slow
def test_stop_and_closing_the_window_close_an_open_card(playground, screen_of, qtbot):
    screen, runs = screen_of(playground), playground.context.runs
    for end in (runs.stop, runs.close):
        playground.run()
        screen.until(lambda: screen.named(ALLOW))
        end()
        if end == runs.stop:
            screen.until(lambda: not screen.named(ALLOW) and not runs.is_busy)


@pytest.mark.slow
def test_a_run_that_waits_on_another_page_is_shown_in_the_status_line(asking_runs, window, qtbot):
    window.services.project.set_options(strategy="loop")
    window.actions_.run.trigger()
    window.navigator.show(PageId.GRAMMAR)
    qtbot.waitUntil(lambda: "waiting for you on the playground" in window.status.note.text())
    qtbot.waitUntil(lambda: window.status.message.text() == "Waiting for you")
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.stop.trigger()
    assert "waiting" not in window.status.note.text().casefold()
