"""Edits of an argument, and their summaries."""

from __future__ import annotations

import pytest

from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.project import RegistryDocument
from glyphscope_gui.project import argument_schema as schema
from glyphscope_gui.tools.form import ArgumentForm
from glyphscope_gui.tools.tree import Item

PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string", "minLength": 1, "pattern": "a"}, "n": {"type": "integer"}},
    "required": ["query"],
}


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 100}, "int 1–100"),
        ({"type": "string", "minLength": 1}, "string ≥1"),
        ({"type": "string", "maxLength": 9}, "string ≤9"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": "string"}}, "array of string"),
        ({"type": "number"}, "number"),
        ({"type": ["integer", "null"]}, "int or null"),
        ({"enum": ["a", "b"]}, "one of 2"),
        ({"anyOf": [{}, {}]}, "any of 2"),
        ({"$ref": "#/$defs/a"}, "reference"),
        ({}, "any"),
        (True, "any"),
        (False, "nothing"),
    ],
)
def test_an_argument_is_summarized(argument, words):
    assert schema.summary(argument, {}) == words


def test_another_type_removes_keywords_without_a_meaning_for_it():
    changed = schema.with_type(PARAMETERS, "query", "integer")
    assert changed["properties"]["query"] == {"type": "integer"}
    assert PARAMETERS["properties"]["query"]["type"] == "string"


def test_a_renamed_argument_stays_in_its_place_and_required():
    changed = schema.renamed(PARAMETERS, "query", "text")
    assert list(changed["properties"]) == ["text", "n"]
    assert changed["required"] == ["text"]


def test_a_removed_argument_is_no_longer_required():
    changed = schema.removed(PARAMETERS, "query")
    assert list(changed["properties"]) == ["n"]
    assert "required" not in changed


def test_required_names_are_in_the_order_of_the_arguments():
    changed = schema.with_required(schema.moved(PARAMETERS, "n", 0), "n", True)
    assert list(changed["properties"]) == ["n", "query"]
    assert changed["required"] == ["n", "query"]


def test_an_argument_can_be_added_to_a_schema_without_properties():
    assert schema.added({}, "a", {"type": "string"}) == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }


def test_a_name_in_use_gets_the_next_free_number():
    assert schema.free_name("a", {"a", "a_2"}) == "a_3"


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
        ({"type": "array", "items": {"$ref": "#/$defs/edit"}, "minItems": 1}, "array of object ≥1"),
        ({"type": "array", "items": {"type": "object", "properties": {}}}, "array of object"),
        ({"type": "array", "items": {"$ref": "#/$defs/mood"}}, "array of one of 2"),
        (
            {"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/size"}}},
            "array of array of int",
        ),
        ({"type": "array", "items": {"anyOf": [{}, {}]}}, "array of any of 2"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "array of string or null"),
        ({"type": "array", "items": {"$ref": "#/nowhere"}}, "array of reference"),
        ({"type": "array", "items": {"$ref": "#/$defs/again"}}, "array of reference"),
        ({"type": "array", "items": {}}, "array"),
        ({"type": "array", "items": True, "maxItems": 2}, "array ≤2"),
        ({"$ref": "#/$defs/size"}, "int 1–9"),
        ({"$ref": "#/$defs/size", "maximum": 5}, "int 1–5"),
        ({"$ref": "#/$defs/edit"}, "object"),
        ({"$ref": "#/nowhere"}, "reference"),
    ],
)
def test_a_reference_is_described_by_what_it_refers_to(argument, words):
    assert schema.summary(argument, {**ROOT, "properties": {"a": argument}}) == words


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ({"$ref": "#/$defs/edit"}, "object"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "object"),
        ({"type": "string", "maxLength": 3}, "string ≤3"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "any of 2"),
        ({"type": "string"}, "string"),
        (True, "any"),
    ],
)
def test_the_form_names_the_items_and_keeps_them_when_they_are_chosen_again(qtbot, items, words):
    argument = {"type": "array", "items": items}
    parameters = {**ROOT, "type": "object", "properties": {"a": argument, "b": {"$ref": "#/$defs/mood"}}}
    document = RegistryDocument(ToolRegistry((Tool("t", "", parameters),)))
    form = ArgumentForm(document)
    qtbot.addWidget(form)
    form.show_item(Item("t", "a"))
    rows = {keyword.name: row for keyword, row in form.keyword_rows.items()}
    field = rows["items"].field
    assert field.currentText() == words
    field.activated.emit(field.currentIndex())
    kept = document.shown_parameters("t")["properties"]["a"].get("items", True)
    assert kept == items
    form.show_item(Item("t", "b"))
    assert rows["enum"].field.isHidden(), "its values are those of the reference"
