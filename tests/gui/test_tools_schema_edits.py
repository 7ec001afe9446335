"""Edits of an argument, and their summaries."""

from __future__ import annotations

import pytest

from glyphscope_gui.project import argument_schema as schema

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
    assert schema.summary(argument) == words


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
