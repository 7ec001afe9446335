"""The project's tools behind the panel: any edits are shown in the tree, undone and redone; the words for a schema."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPersistentModelIndex, Qt

from glyphscope.base.errors import RegistryError
from glyphscope.base.pointer import to_pointer
from glyphscope.registry import Tool, ToolRegistry, find_places
from glyphscope_gui.project import RegistryDocument, argument_schema, draft_state
from glyphscope_gui.shared import TextProblem, located, parse_object
from glyphscope_gui.shared.table_model import NOTE_ROLE
from glyphscope_gui.tools.form import ArgumentForm
from glyphscope_gui.tools.tree import Item, RegistryTreeModel


def tool(name, *arguments):
    return Tool(name, "", {"type": "object", "properties": {a: {"type": "string"} for a in arguments}})


FIRST = ToolRegistry((tool("a", "x", "y"), tool("b", "z"), tool("c")))


@pytest.fixture
def document(qapp):
    return RegistryDocument(FIRST)


@pytest.fixture
def model(document, qtmodeltester):
    model = RegistryTreeModel(document)
    qtmodeltester.check(model)
    return model


def rows(model):
    return [(model.index(r, 0).data(), model.rowCount(model.index(r, 0))) for r in range(model.rowCount())]


# -- edits ---------------------------------------------------------------------------------------------------------

NAMES, TEXTS = "abcde", ('{"type": "object",', "{}", '{"type": "object", "properties": {"q": {"type": "strng"}}}',
                         '{"type":"object","properties":{"q":{"type":"string"}}}')  # fmt: skip
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("set_enabled"), st.sampled_from(NAMES), st.booleans()),
        st.tuples(st.just("set_all_enabled"), st.booleans()),
        st.tuples(st.just("set_description"), st.sampled_from(NAMES), st.sampled_from(["one", "two"])),
        st.tuples(st.just("set_schema_text"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
        st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
        st.tuples(
            st.just("add"), st.sampled_from(NAMES).map(lambda name: tool(name, "q")), st.integers(0, 3)
        ),
        st.tuples(st.just("move"), st.sampled_from(NAMES), st.integers(-1, 4)),
        st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    ),
    max_size=8,
)


@pytest.mark.slow
@given(EDITS)
def test_any_edits_are_shown_in_the_tree_and_undone_and_redone(qapp, edits):
    """Also texts of schemas that are not valid yet; a tool is the same one to the tree when it is moved or renamed."""
    document = RegistryDocument(FIRST)
    model, resets = RegistryTreeModel(document), []
    model.modelReset.connect(lambda: resets.append(1))
    followed, known = QPersistentModelIndex(model.index(1, 0)), FIRST.tools[1].name
    first = document.state
    for name, *arguments in edits:
        before = document.state
        try:
            getattr(document, name)(*arguments)
        except RegistryError:  # the name is another tool's
            assert name == "rename" and document.state == before
        else:
            if name == "rename" and arguments[0] == known:
                known = arguments[1]
        known = known if name != "remove" or arguments[0] != known else None
        assert followed.data() == known
        shown = [
            (each.name, len(argument_schema.arguments(each.parameters))) for each in document.shown_tools()
        ]
        assert rows(model) == shown and not resets
        assert document.problems.keys() <= document.state.texts.keys()
    last = document.state
    while document.undo_stack.canUndo():
        document.undo_stack.undo()
    assert document.state == first and rows(model) == [("a", 2), ("b", 1), ("c", 0)]
    while document.undo_stack.canRedo():
        document.undo_stack.redo()
    assert document.state == last


def test_a_text_is_used_as_soon_as_it_is_valid_and_left_as_it_was_written(document):
    text = '{\n  "type": "object",\n  "properties": {\n    "url": {"type": "strng"}\n  }\n}'
    changed = []
    document.changed.connect(changed.append)
    document.set_schema_text("b", text)
    (problem,) = document.problems["b"]
    assert (problem.pointer, problem.line, problem.column) == ("/properties/url/type", 4, 21)
    assert text[problem.start : problem.end] == '"strng"'
    assert document.registry == FIRST and document.schema_text("b") == text and not changed
    document.rename("b", "look_up")
    assert document.schema_text("look_up") == text and "look_up" in document.problems
    document.set_schema_text("look_up", text.replace("strng", "string"))
    assert document.schema_text("look_up") == text.replace("strng", "string") and not document.problems
    assert document.registry.get("look_up").parameters == json.loads(text.replace("strng", "string"))
    document.reset(draft_state(document.registry, {"c": "{"}))  # from a journal
    assert document.schema_text("c") == "{" and document.problems["c"] and not document.undo_stack.canUndo()


def test_quick_typing_in_one_field_is_one_undo_step(document, monkeypatch):
    for value in (1, 10, 100):
        parameters = document.shown_parameters("a")
        document.set_parameters(
            "a", argument_schema.with_keyword(parameters, "x", "minLength", value), "x/minLength"
        )
    assert document.undo_stack.count() == 1
    document.undo_stack.undo()
    assert document.registry == FIRST
    document.set_description("a", "a")
    document.set_description("b", "b")
    assert document.undo_stack.count() == 2
    monkeypatch.setattr("glyphscope_gui.project.registry_document.MERGE_MS", -1)
    document.set_description("b", "bc")
    assert document.undo_stack.count() == 3, "after a pause"


def test_a_row_says_what_there_is_to_know_about_its_tool_and_its_tick_is_the_allow_list(model, document):
    assert model.index(0, 0).data(NOTE_ROLE) == ("2 args", "text-faint")
    assert model.index_of(Item("a", "y")).data(NOTE_ROLE)[0] == "string"
    document.set_schema_text("c", "{")
    assert model.index(2, 0).data(NOTE_ROLE) == ("has errors", "impossible")
    assert model.setData(model.index(1, 0), Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    assert [each.name for each in document.registry.allowed] == ["a", "c"]
    assert model.index(1, 0).data(NOTE_ROLE)[0] == "not allowed"


def test_an_edit_among_two_thousand_tools_is_fast(qapp):
    document = RegistryDocument(ToolRegistry(tuple(tool(f"tool_{n}", "a", "b") for n in range(2000))))
    model = RegistryTreeModel(document)
    start = time.process_time()
    document.set_enabled("tool_1999", False)
    document.move("tool_1000", 3)
    document.rename("tool_7", "seven")
    assert model.rowCount() == 2000
    assert time.process_time() - start < 0.25


# -- a schema in words, and edits of one ---------------------------------------------------------------------------

ROOT = {
    "$defs": {
        "edit": {"type": "object", "properties": {"path": {"type": "string"}}},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "mood": {"enum": ["a", "b"]},
        "again": {"$ref": "#/$defs/again"},
    }
}


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 100}, "int 1..100"),
        ({"type": "string", "minLength": 1}, "string >= 1"),
        ({"type": "string", "maxLength": 9}, "string <= 9"),
        ({"type": "number"}, "number"),
        ({"type": ["integer", "null"]}, "int or null"),
        ({"enum": ["a", "b"]}, "enum of 2"),
        ({"oneOf": [{}, {}]}, "one of 2"),
        ({"anyOf": [{}, {}]}, "any of 2"),
        ({}, "any"),
        (True, "any"),
        (False, "nothing"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": "string"}}, "array of string"),
        ({"type": "array", "items": {"$ref": "#/$defs/edit"}, "minItems": 1}, "array of object >= 1"),
        ({"type": "array", "items": {"$ref": "#/$defs/mood"}}, "array of enum of 2"),
        ({"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/size"}}}, "array of array of int"),
        ({"type": "array", "items": {"anyOf": [{}, {}]}}, "array of any of 2"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "array of string or null"),
        ({"type": "array", "items": {"$ref": "#/nowhere"}}, "array of reference"),
        ({"type": "array", "items": {"$ref": "#/$defs/again"}}, "array of reference"),
        ({"type": "array", "items": {}}, "array"),
        ({"type": "array", "items": True, "maxItems": 2}, "array <= 2"),
        ({"$ref": "#/$defs/size"}, "int 1..9"),
        ({"$ref": "#/$defs/size", "maximum": 5}, "int 1..5"),
        ({"$ref": "#/$defs/edit"}, "object"),
        ({"$ref": "#/nowhere"}, "reference"),
    ],
)  # fmt: skip
def test_a_reference_is_described_by_what_it_refers_to(argument, words):
    assert argument_schema.summary(argument, {**ROOT, "properties": {"a": argument}}) == words


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ({"$ref": "#/$defs/edit"}, "object"),
        ({"type": "string", "maxLength": 3}, "string <= 3"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "any of 2"),
        ({"type": "string"}, "string"),
        (True, "any"),
    ],
)
def test_the_form_names_the_items_and_keeps_them_when_they_are_chosen_again(qtbot, screen_of, items, words):
    properties = {"a": {"type": "array", "items": items}, "b": {"$ref": "#/$defs/mood"}}
    document = RegistryDocument(
        ToolRegistry((Tool("t", "", {**ROOT, "type": "object", "properties": properties}),))
    )
    form = ArgumentForm(document)
    qtbot.addWidget(form)
    form.show()
    screen = screen_of(form)
    form.show_item(Item("t", "a"))
    assert screen.read("Items") == words
    screen.choose("Items", words)
    assert document.shown_parameters("t")["properties"]["a"].get("items", True) == items
    form.show_item(Item("t", "b"))
    assert not screen.named("Enum"), "its values are those of the reference"


def test_an_argument_can_be_added_to_a_schema_without_properties():
    added = argument_schema.added({}, "a", {"type": "string"})
    assert added == {"type": "object", "properties": {"a": {"type": "string"}}}
    assert argument_schema.free_name("a", {"a", "a_2"}) == "a_3"


# -- the place of an error in a schema's text ----------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def values_of(value, pointer=""):
    yield pointer, value
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, inner in members:
        yield from values_of(inner, pointer + to_pointer([name]))


@pytest.mark.slow
@settings(max_examples=150)
@given(JSON, st.sampled_from([None, 2]))
def test_a_pointer_leads_to_its_value_in_the_text(document, indent):
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    pointers, values = zip(*values_of(document), strict=True)
    assert [json.loads(text[each.start : each.end]) for each in find_places(text, pointers)] == [*values]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{\n  'a': 1\n}", 2, 3),
        ('{"a": 1,\n "b" 2}', 2, 6),
        ("[1]", 1, 1),
        ('{"a": NaN}', 1, 1),
        ('{"a": {"b": 1},\n "b": 2,\n "a": 3}', 3, 2),
        ('{"a":' * 5000 + "1" + "}" * 5000, None, None),
    ],
)
def test_a_text_that_is_not_an_object_is_reported_with_its_place(text, line, column):
    problem = parse_object(text)
    assert isinstance(problem, TextProblem)
    assert line is None or (problem.line, problem.column) == (line, column)


def test_a_problem_at_a_missing_place_is_shown_at_the_nearest_one():
    text = '{\n "properties": {}\n}'
    (problem,) = located(text, [("/properties/url/type", "wrong")])
    assert (problem.line, problem.column, problem.message) == (2, 16, "wrong")
    (place,) = find_places('{"a":' * 300 + "1" + "}" * 300, ["/a" * 300])
    assert (place.start, place.end) == (1500, 1501)
