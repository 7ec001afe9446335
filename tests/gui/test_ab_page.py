"""Two prompts on the same seeds in the window: run, counted, opened; nothing is said that the pairs do not show."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from glyphscope.errors import GlyphscopeError
from glyphscope.events import RunRequest
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope_gui.compare.ab_prompts import expected_text, plan
from glyphscope_gui.compare.presenter import COMPARE

GOOD = '{action="search" query="AI news" max_results=10}'
OTHER = '{action="search" query="AI"}'
BASE = RunRequest(prompt="p", registry=default_registry().to_document(), constraint="off")


class Obedient(ScriptedModel):
    """Says what its prompt tells it to."""

    def generate(self, request):
        self._turns = [[OTHER.encode()] if "briefly" in request.prompt else [GOOD.encode()]]
        return super().generate(request)


@pytest.fixture
def window(open_window):
    window = open_window(lambda _name, **_options: Obedient(GOOD))
    window.parts.project.set_options(constraint="off")
    return window


@pytest.mark.slow
def test_two_prompts_are_not_run_counted_or_opened(window, qtbot):
    ab, page, project = window.ab.ab, window.ab_page, window.parts.project
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    window.pages.show(COMPARE)
    window.compare_tabs.show_prompts()
    page.run_button.click()
    assert "the same prompt" in page.turn.text() and not ab.is_running
    window.parts.prompt.set_system("Call briefly.")
    window.pages.show("playground")
    changes = window.prompt_page.changes
    qtbot.waitUntil(lambda: not changes.link.isHidden())
    changes.link.click()
    assert window.pages.current == COMPARE and window.compare_tabs.shows_prompts
    page.seeds.setText("3-")
    page.run_button.click()
    assert "no seed" in page.turn.text()
    page.seeds.setText("1-3")
    page.expect_button.click()
    assert page.expect.text() == expected_text("search", {"query": "AI news", "max_results": 10})
    window.activateWindow()
    page.seeds.setFocus()
    QTest.keyClick(page.seeds, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert ab.is_running and not page.run_button.isEnabled() and page.stop_button.isEnabled()
    qtbot.waitUntil(lambda: not ab.is_running)
    words = page.words.text()
    assert "They differ in: system template" in words
    assert "A: 3 of 3" in words and "B: 0 of 3" in words and "it takes 6 at least" in words
    assert [page.model.index(row, 0).data() for row in range(3)] == ["1", "2", "3"]
    assert page.model.index(0, 1).data().startswith("✓ search")
    assert page.model.index(0, 2).data() == '✕ query is "AI", not "AI news"'
    assert "A wrote query" in page.model.index(0, 3).data()
    assert {state.started.request.sampling.seed for state in ab.states.values()} == {1, 2, 3}
    qtbot.waitUntil(lambda: len(window.parts.history.rows()) == 7)  # every run is kept
    page.table.selectRow(1)
    with qtbot.waitSignal(window.runs.ended):
        page.open_buttons[1].click()
    assert window.runs.state.started.request.sampling.seed == 2 and window.runs.state.text == OTHER
    assert window.pages.current == "playground"
    assert project.options.sampling.temperature == 0, "the playground's settings stay"


@pytest.mark.slow
def test_a_kept_prompt_follows_the_edits_after_it_or_stop_does_not_stop(window, qtbot):
    page, ab = window.ab_page, window.ab.ab
    window.pages.show(COMPARE)
    window.compare_tabs.show_prompts()
    page.run_button.click()
    assert "no prompt for A yet" in page.turn.text()
    page.keep_button.click()
    assert page.sources[0].currentData() == "kept" and "default, 7 tools" in page.about[0].text()
    window.parts.document.set_description("search", "Look it up, briefly.")
    page.temperature.setValue(0.0)
    page.seeds.setText("1-9")
    page.run_button.click()
    qtbot.waitUntil(lambda: not ab.is_running)
    assert len(ab.pairs) == 1 and "One pair" in page.words.text() and "tools" in page.words.text()
    assert "briefly" not in ab.states[0, 0].prompt.text and "briefly" in ab.states[1, 0].prompt.text
    page.temperature.setValue(0.5)
    page.run_button.click()
    ab.stop()
    qtbot.waitUntil(lambda: not ab.is_running)
    assert "Stopped" in page.words.text() and len(ab.states) < 18


@pytest.mark.parametrize(
    ("seeds", "expected", "said"),
    [
        ("1-200", "", "100 seeds"),
        ("1", "{", "not JSON"),
        ("1", "[]", "names no tool"),
        ("1", '{"tool": "x", "arguments": 3}', "names no tool"),
    ],
)
def test_what_cannot_be_run_is_not_said(seeds, expected, said):
    other = RunRequest(prompt="q", registry=BASE.registry)
    with pytest.raises(GlyphscopeError, match=said):
        plan(BASE, BASE, other, seeds, 0.7, expected)


def test_more_than_the_prompt_tells_the_two_apart():
    other = RunRequest(prompt="q", registry=BASE.registry, constraint="gbnf", notation="json", max_tokens=3)
    made = plan(BASE, BASE, other, "1-2", 0.7, "")
    assert made.differ == ("prompt",) and made.requests[1].constraint == "off" and made.seeds == (1, 2)


def test_it_is_said_of_a_that_b_has_no_prompt(window, qtbot):
    window.pages.show(COMPARE)
    window.compare_tabs.show_prompts()
    page = window.ab_page
    page.run_button.click()
    assert "no prompt for A" in page.turn.text()
    page.sourceChosen.emit(0, "now")
    page.sourceChosen.emit(1, "last")
    page.run_button.click()
    assert "no prompt for B" in page.turn.text() and not window.ab.ab.is_running
