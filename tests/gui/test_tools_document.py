"""The registry document: the valid tools, undo and redo, and the journal."""

from __future__ import annotations

import json

import pytest

from glyphscope.base.errors import RegistryError
from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.project import RegistryDocument, argument_schema, draft_state

SEARCH = Tool(
    "search",
    "Search the web",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "max_results": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["query"],
    },
)
BROWSE = Tool("browse", "", {"type": "object", "properties": {"url": {"type": "string"}}})


@pytest.fixture
def document(qapp):
    return RegistryDocument(ToolRegistry((SEARCH, BROWSE)))


def test_an_invalid_schema_text_leaves_the_last_valid_tool(document):
    seen = []
    document.changed.connect(seen.append)
    document.set_schema_text("search", '{"type": "object",')
    assert document.registry.get("search") == SEARCH
    assert seen == []
    assert document.schema_text("search") == '{"type": "object",'
    (problem,) = document.problems["search"]
    assert (problem.line, problem.column) == (1, 19)


def test_a_schema_error_is_marked_at_its_line(document):
    text = '{\n  "type": "object",\n  "properties": {\n    "url": {"type": "strng"}\n  }\n}'
    document.set_schema_text("browse", text)
    (problem,) = document.problems["browse"]
    assert problem.pointer == "/properties/url/type"
    assert (problem.line, problem.column) == (4, 21)
    assert text[problem.start : problem.end] == '"strng"'


def test_a_valid_text_is_left_as_the_user_wrote_it(document):
    text = '{"type":"object","properties":{"url":{"type":"string","maxLength":9}}}'
    document.set_schema_text("browse", text)
    assert document.schema_text("browse") == text
    assert document.registry.get("browse").parameters == json.loads(text)
    assert not document.problems


def test_undo_and_redo_preserve_an_invalid_text(document):
    document.set_schema_text("search", "{")
    document.undo_stack.undo()
    assert document.problems == {}
    assert json.loads(document.schema_text("search")) == SEARCH.parameters
    document.undo_stack.redo()
    assert document.schema_text("search") == "{"


def test_quick_typing_in_one_field_is_one_undo_step(document):
    for value in (1, 10, 100):
        parameters = argument_schema.with_keyword(
            document.shown_parameters("search"), "max_results", "minimum", value
        )
        document.set_parameters("search", parameters, "max_results/minimum")
    assert document.undo_stack.count() == 1
    document.undo_stack.undo()
    assert document.registry.get("search") == SEARCH


def test_typing_in_two_fields_or_after_a_pause_is_two_undo_steps(document, monkeypatch):
    document.set_description("search", "a")
    document.set_description("browse", "b")
    assert document.undo_stack.count() == 2
    monkeypatch.setattr("glyphscope_gui.project.registry_document.MERGE_MS", -1)
    document.set_description("browse", "bc")
    assert document.undo_stack.count() == 3


def test_an_invalid_pattern_of_a_form_does_not_reach_the_mask(document):
    bad = argument_schema.with_keyword(SEARCH.parameters, "query", "pattern", "(")
    document.set_parameters("search", bad, "query/pattern")
    assert document.registry.get("search") == SEARCH
    assert document.shown_parameters("search") == bad
    assert document.problems["search"]
    document.set_parameters(
        "search", argument_schema.with_keyword(bad, "query", "pattern", "a+"), "query/pattern"
    )
    assert not document.problems
    assert document.registry.get("search").parameters["properties"]["query"]["pattern"] == "a+"


@pytest.mark.parametrize("name", ["", "browse"])
def test_an_empty_or_used_tool_name_is_rejected(document, name):
    assert document.name_problem("search", name)
    with pytest.raises(RegistryError):
        document.rename("search", name)
    assert document.registry.get("search") is not None


def test_a_renamed_tool_keeps_the_text_of_its_schema(document):
    document.set_schema_text("search", "{ not json")
    document.rename("search", "look_up")
    assert document.schema_text("look_up") == "{ not json"
    assert "look_up" in document.problems
    document.undo_stack.undo()
    assert document.schema_text("search") == "{ not json"


def test_adding_moving_and_removing_tools_can_be_undone(document):
    start = document.state
    assert document.add(Tool("search"), at=1) == "search_2"
    document.move("search_2", 0)
    document.set_enabled("browse", False)
    document.remove("search")
    document.set_all_enabled(False)
    assert [t.name for t in document.registry] == ["search_2", "browse"]
    assert document.registry.allowed == ()
    for _ in range(5):
        document.undo_stack.undo()
    assert document.state.registry == start.registry


def test_a_journal_restores_an_invalid_text(document):
    document.reset(draft_state(document.registry, {"search": "{"}))
    assert document.schema_text("search") == "{"
    assert document.problems["search"]
    assert not document.undo_stack.canUndo()
