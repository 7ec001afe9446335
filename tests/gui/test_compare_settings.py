"""Columns of the compare page with a tool loop, or with settings for endpoints."""

from __future__ import annotations

import pytest

from comparing import NOTATIONS, Answers, Columns, opens
from glyphscope.events import ApprovalRule, LoopSettings, ToolResult, ToolsSearched
from glyphscope_gui.shared.page_ids import PageId
from talks import Talker

pytestmark = pytest.mark.slow


@pytest.fixture
def make(open_page, qtbot):
    """Make the compare page with a model, and its first columns without a constraint."""

    def build(model):
        page = open_page(PageId.COMPARE, opens(model))
        page.context.project.set_options(constraint="off", model="scripted:a")
        qtbot.waitUntil(lambda: not page.context.runs.is_busy)
        return page, Columns(qtbot, page.widget)

    return build


def test_columns_can_differ_in_the_extra_fields_of_an_endpoint(make):
    model = Answers()
    page, screen = make(model)
    screen.ask(NOTATIONS, 2)
    screen.vary("Extra fields")
    screen.write("Extra fields of column 2", "top_a=0.5")
    assert page.comparison.variants[1]["extra_body"] == {"top_a": 0.5}
    screen.run_all()
    assert page.comparison.columns[1].request.request.extra_body == {"top_a": 0.5}
    assert not page.comparison.columns[0].request.request.extra_body


def test_columns_with_a_tool_loop_find_tools_in_other_ways_and_execute_what_the_rules_allow(make):
    find, search = '{action="search_tools" query="search"}', '{action="search" query="x"}'
    page, screen = make(Talker(search, "Done.", find, search, "Done."))
    page.context.project.set_options(
        approvals=(ApprovalRule(tool="search", action="allow"),), loop=LoopSettings(defer_tools=0.0)
    )
    screen.ask("How should the model find tools?", 2)
    screen.vary("Turns")
    screen.run_all()
    runs = [column.events for column in page.comparison.columns]
    assert [sum(isinstance(each, ToolsSearched) for each in events) for events in runs] == [0, 1]
    assert [[each.ok for each in events if isinstance(each, ToolResult)] for events in runs] == [
        [True],
        [True],
    ]
    assert [column.state.answer.text for column in page.comparison.columns] == ["Done.", "Done."]
    assert screen.ends == ["✓ answered", "✓ answered"]
    screen.vary("Strategy")
    screen.choose("Strategy of column 2", "Direct")
    assert "Only in the tool loop" in screen.find("Tool search of column 2").toolTip()


@pytest.mark.parametrize(
    ("recent", "words"), [((), "No model was found"), (("scripted:a",), "Only one model was found")]
)
def test_a_comparison_of_models_says_how_many_were_found(make, monkeypatch, qtbot, recent, words):
    monkeypatch.setattr("glyphscope_gui.compare.presenter.find_models", lambda _folders: [])
    page, screen = make(Answers())
    page.context.settings.update(recent_models=recent)
    screen.ask("Which model?")
    screen.until(words)
