"""The expected answer of a prompt, set in the window: a valid answer that differs is marked from then on."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from glyphscope.evals.suites.reading import load_suite
from glyphscope.events import ExpectedAnswer, ExpectedCall
from glyphscope_gui.history.presenter import SuiteDialog
from glyphscope_gui.playground.expected import ExpectedDialog
from glyphscope_gui.playground.stage_rows import MARKS
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId

FIVE = ExpectedAnswer(
    calls=(ExpectedCall(tools=("search",), arguments={"query": "AI news", "max_results": 5}),)
)
TEN = ExpectedAnswer(
    calls=(ExpectedCall(tools=("search",), arguments={"query": "AI news", "max_results": 10}),)
)
OTHER = "not the expected one: max_results is 10, not 5"


@pytest.fixture
def page(open_page, qtbot):
    page = open_page(PageId.PLAYGROUND)
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    return page


@pytest.fixture
def screen(page, screen_of):
    return screen_of(page)


def history_of(page):
    return page.context.services.history.rows()


def write(screen, text):
    """Expect the call in the text."""
    screen.press("Expected answer")
    dialog = screen.dialog(ExpectedDialog)
    edit = dialog.root.findChild(QPlainTextEdit)
    edit.setPlainText(text)
    return dialog


def test_the_expected_call_marks_the_shown_run_and_its_row_of_the_history(page, screen, qtbot):
    qtbot.waitUntil(lambda: len(history_of(page)) == 1)
    assert "A valid call of search" in page.view.verdict.title.text()
    dialog = write(screen, 'search{query="AI news" max_results=5}')
    dialog.until_can("Expect this")
    with qtbot.waitSignal(page.context.recorder.described):
        dialog.press("Expect this")
    assert page.view.verdict.title.text().endswith(OTHER)
    assert page.view.verdict.property("verdict") == "differs"
    assert page.view.stream.rows.rows[0].mark == "differs" and MARKS["differs"].role == "differs"
    assert page.context.project.request.expected == FIVE
    assert history_of(page)[0].outcome == "valid unexpected"
    assert page.context.runs.events[0].request.expected == FIVE


def test_the_next_run_of_the_prompt_is_judged_too_until_nothing_is_expected(page, screen, qtbot):
    page.context.project.prompt.set_expected(FIVE)
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    assert page.view.verdict.title.text().endswith(OTHER)
    screen.press("Expected answer")
    screen.dialog(ExpectedDialog).press("Expect nothing")
    assert page.context.project.request.expected is None
    assert page.view.verdict.title.text().endswith("A valid call of search")
    assert page.view.stream.rows.rows[0].mark == "holds"


def test_an_error_is_shown_at_its_place_and_cannot_be_expected(page, screen, qtbot):
    dialog = write(screen, '{"tool": "search",\n "args": {"query": "AI", "max_results": 500}}')
    dialog.until("Line 2, column", "the maximum of 100")
    assert not dialog.can("Expect this")


def test_the_call_of_the_run_is_picked_and_then_as_expected(page, screen, qtbot):
    screen.press("Expected answer")
    dialog = screen.dialog(ExpectedDialog)
    dialog.until_can("Expect this")
    dialog.press("Expect this")
    assert page.view.verdict.title.text().endswith("A valid call of search, as expected")


def test_a_value_that_is_copied_from_the_example_is_marked_in_the_fields_and_the_verdict(page, screen, qtbot):
    page.context.project.prompt.set_user("Find something")
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    rows = {row.path: row.constraint for row in page.view.fields_model.rows}
    assert rows["/query"].startswith("the example’s value") and "example" not in rows["/action"]
    assert 'query="AI news" is the example’s value' in page.view.verdict.details.text()


def test_another_message_to_answer_has_another_expected_answer(page):
    prompt = page.context.project.prompt
    prompt.set_expected(FIVE)
    prompt.set_user("Search for AI news, 5 results")
    assert prompt.state.expected == FIVE
    prompt.set_conversation((), "What time is it?")
    assert prompt.state.expected is None


def test_a_record_is_judged_without_changing_the_project(page, screen, qtbot):
    page.context.project.prompt.set_user("Something else")
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.show_record(bundled_run("search-mask.jsonl"))
    rows = history_of(page)
    dialog = write(screen, 'search{query="AI news" max_results=5}')
    dialog.until_can("Expect this")
    with qtbot.waitSignal(page.context.recorder.described):
        dialog.press("Expect this")
    assert OTHER.rpartition(":")[0] in page.view.verdict.title.text()
    assert page.context.project.request.expected is None and history_of(page) == rows


@pytest.mark.parametrize(
    ("expected", "end"), [(FIVE, OTHER), (TEN, "as expected")], ids=["another answer", "as expected"]
)
def test_a_run_that_was_compared_becomes_a_scenario_with_the_expected_answer(
    page, screen, qtbot, expected, end
):
    most = expected.calls[0].arguments["max_results"]
    dialog = write(screen, f'search{{query="AI news" max_results={most}}}')
    dialog.until_can("Expect this")
    dialog.press("Expect this")
    assert page.view.verdict.title.text().endswith(end)
    screen.press("Add to a suite…")
    suites = screen.dialog(SuiteDialog)
    suites.write("Suite", "Mine")
    suites.press("Add")
    qtbot.waitUntil(lambda: bool(page.context.offers))
    path = page.context.services.places.suites / "Mine.json"
    assert [each.expect.calls for each in load_suite(path).scenarios] == [expected.calls]
    assert page.context.offers[0][1] == "Evaluate this suite"


def test_the_expected_answer_is_set_by_keys(page, screen, qtbot):
    dialog = write(screen, "")
    edit = dialog.root.findChild(QPlainTextEdit)
    QTest.keyClicks(edit, 'search{query="AI news" max_results=5}')
    dialog.until_can("Expect this")
    QTest.keyClick(edit, Qt.Key.Key_Escape)
    assert dialog.root.isVisible(), "Tab moves now: the next Esc closes the dialog"
    QTest.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert page.view.verdict.title.text().endswith(OTHER)
