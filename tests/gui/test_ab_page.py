"""Two prompts on the same seeds in the window: run, counted, opened; the text claims no more than the pairs show."""

from __future__ import annotations

import json

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import RunRequest
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.store import save_project
from glyphscope_gui.compare import earlier_words, planned_results, result_lines
from glyphscope_gui.context import PromptsPlace
from glyphscope_gui.shared.page_ids import PageId

GOOD = '{action="search" query="AI news" max_results=10}'
OTHER = '{action="search" query="AI"}'
BASE = RunRequest(prompt="p", registry=default_registry().to_document(), constraint="off")


class Obedient(ScriptedModel):
    """Says the text that its prompt asks for."""

    def generate(self, request):
        self._turns = [[OTHER.encode()] if "briefly" in request.prompt else [GOOD.encode()]]
        return super().generate(request)


@pytest.fixture
def page(open_page):
    """The compare page, which shows the two prompts."""
    page = open_page(PageId.COMPARE, lambda _name, **_options: Obedient(GOOD))
    page.context.project.set_options(constraint="off")
    page.go_to(PromptsPlace())
    return page


def run_playground(qtbot, page):
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.run(page.context.project.next_run())


@pytest.mark.slow
def test_two_prompts_are_run_counted_and_opened(page, qtbot):
    view, ab, context = page.ab_view, page.ab.experiment, page.context
    run_playground(qtbot, page)
    view.run_button.click()
    assert "the same prompt" in view.turn.text() and not ab.is_running
    context.project.prompt.set_system("Call briefly.")
    view.seeds.setText("3-")
    view.run_button.click()
    assert "not a seed" in view.turn.text()
    view.seeds.setText("1-3")
    view.expect_button.click()
    assert json.loads(view.expect.text()) == {
        "tool": "search",
        "arguments": {"query": "AI news", "max_results": 10},
    }
    page.run()
    assert ab.is_running and not view.run_button.isEnabled() and view.stop_button.isEnabled()
    qtbot.waitUntil(lambda: not ab.is_running)
    words = view.words.text()
    assert "Differences: system template" in words
    assert "A: 3 of 3" in words and "B: 0 of 3" in words and "needs at least 6 seeds" in words
    assert [view.model.index(row, 0).data() for row in range(3)] == ["1", "2", "3"]
    assert view.model.index(0, 1).data().startswith("✓ search")
    assert view.model.index(0, 2).data() == '✕ query is "AI", not "AI news"'
    assert "A wrote query" in view.model.index(0, 3).data()
    assert {state.started.request.sampling.seed for state in ab.results.states.values()} == {1, 2, 3}
    qtbot.waitUntil(lambda: len(context.services.history.rows()) == 6)  # every run of both is saved
    view.table.selectRow(1)
    with qtbot.waitSignal(context.runs.ended):
        view.open_buttons[1].click()
    assert context.runs.state.started.request.sampling.seed == 2 and context.runs.state.text == OTHER
    assert context.navigator.visits == [(PageId.PLAYGROUND, None)]
    assert context.project.options.sampling.temperature == 0, "the playground's settings stay"


@pytest.mark.slow
def test_the_prompts_panel_and_the_run_keys_reach_the_two_prompts(open_window, qtbot):
    window = open_window(lambda _name, **_options: Obedient(GOOD))
    window.context.project.set_options(constraint="off")
    page = window.page(PageId.COMPARE)
    view, ab = page.ab_view, page.ab.experiment
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    window.context.project.prompt.set_system("Call briefly.")
    changes = window.panels.prompt.changes
    qtbot.waitUntil(lambda: not changes.link.isHidden())
    changes.link.click()
    assert window.navigator.current is PageId.COMPARE and page.tabs.shown is page.ab_view
    view.seeds.setText("1-3")
    window.activateWindow()
    view.seeds.setFocus()
    QTest.keyClick(view.seeds, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert ab.is_running and not view.run_button.isEnabled() and view.stop_button.isEnabled()
    qtbot.waitUntil(lambda: not ab.is_running)


@pytest.mark.slow
def test_a_stored_prompt_ignores_later_edits_and_stop_stops(page, qtbot):
    view, ab = page.ab_view, page.ab.experiment
    view.run_button.click()
    assert "no prompt for A yet" in view.turn.text()
    view.keep_button.click()
    assert view.sources[0].currentData() == "kept" and "default, 7 tools" in view.about[0].text()
    page.context.project.tools.set_description("search", "Look it up, briefly.")
    view.temperature.setValue(0.0)
    view.seeds.setText("1-9")
    view.run_button.click()
    qtbot.waitUntil(lambda: not ab.is_running)
    assert len(ab.results.pairs) == 1 and "One pair" in view.words.text() and "tools" in view.words.text()
    first, second = (state.prompt.text for state in ab.results.states.values())
    assert "briefly" not in first and "briefly" in second
    view.temperature.setValue(0.5)
    view.run_button.click()
    ab.stop()
    qtbot.waitUntil(lambda: not ab.is_running)
    assert "Stopped" in view.words.text() and len(ab.results.states) < 18


@pytest.mark.parametrize(
    ("seeds", "expected", "said"),
    [
        ("1-200", "", "100 seeds"),
        ("1", "{", "not JSON"),
        ("1", "[]", "needs a tool"),
        ("1", '{"tool": "x", "arguments": 3}', "needs a tool"),
    ],
)
def test_a_plan_that_cannot_run_is_rejected_with_the_reason(seeds, expected, said):
    other = RunRequest(prompt="q", registry=BASE.registry)
    with pytest.raises(GlyphscopeError, match=said):
        planned_results(BASE, BASE, other, seeds, 0.7, expected)


def test_only_the_prompt_differs_between_the_two():
    other = RunRequest(prompt="q", registry=BASE.registry, constraint="gbnf", notation="json", max_tokens=3)
    made = planned_results(BASE, BASE, other, "1-2", 0.7, "")
    assert (
        made.differ == ("prompt",) and made.plan.arms["b"].constraint == "off" and made.plan.seeds == (1, 2)
    )


def test_the_message_names_the_side_without_a_prompt(page):
    view = page.ab_view
    view.run_button.click()
    assert "no prompt for A" in view.turn.text()
    view.sourceChosen.emit(0, "now")
    view.sourceChosen.emit(1, "last")
    view.run_button.click()
    assert "no prompt for B" in view.turn.text() and not page.ab.experiment.is_running


@pytest.mark.slow
def test_a_project_file_supplies_a_prompt_and_an_unreadable_one_changes_nothing(page, qtbot, tmp_path):
    view, project = page.ab_view, page.context.project
    project.prompt.set_system("Call briefly.")
    path = tmp_path / "brief.glyphscope"
    save_project(path, project.project(), None)
    project.prompt.set_system("Call.")
    page.ab._read(0, path)
    qtbot.waitUntil(lambda: view.sources[0].currentData() == "project")
    assert "brief" in view.sources[0].currentText() and "custom template" in view.about[0].text()
    page.ab._read(1, tmp_path / "none")
    qtbot.waitUntil(lambda: bool(page.context.errors))
    assert view.sources[1].currentData() == "now"


@pytest.mark.slow
def test_results_of_prompts_that_are_no_longer_chosen_are_marked(page, qtbot):
    view, project = page.ab_view, page.context.project
    run_playground(qtbot, page)
    project.prompt.set_system("Call briefly.")
    view.temperature.setValue(0.0)
    view.run_button.click()
    qtbot.waitUntil(lambda: not page.ab.experiment.is_running)
    assert "earlier" not in view.turn.text()
    project.prompt.set_user("Another prompt")
    assert "B: These results are of an earlier request" in view.turn.text()


@pytest.mark.parametrize("tools", [None, 7, "x", [None, {"enabled": None}, {"name": "a"}]])
def test_a_prompt_of_a_damaged_record_is_described(page, tools):
    damaged = msgspec.structs.replace(page.context.project.next_request().request, registry={"tools": tools})
    page.ab._last = damaged  # a record that was opened
    page.ab._choose(0, "last")
    assert f"{1 if isinstance(tools, list) else 0} tool" in page.ab_view.about[0].text()
    assert earlier_words(damaged, page.context.project.next_request().request)


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [(None, None), (None, 5), (5, None)])
def test_an_unknown_number_of_prompt_tokens_is_left_out(page, qtbot, tokens):
    view, ab = page.ab_view, page.ab.experiment
    run_playground(qtbot, page)
    page.context.project.prompt.set_system("Call briefly.")
    view.seeds.setText("1")
    view.run_button.click()
    qtbot.waitUntil(lambda: not ab.is_running)
    assert "Prompt tokens: A " in view.words.text()
    for state, count in zip(ab.results.states.values(), tokens):
        state.stages[0].prompt = msgspec.structs.replace(state.stages[0].prompt, tokens=count or 0)
    words = "\n".join(result_lines(ab.results))
    assert "Differences" in words and "tokens" not in words
