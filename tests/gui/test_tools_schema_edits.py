"""Edits of an argument, and the words that sum one up."""

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
        ({"type": "string", "minLength": 1}, "string 1–"),
        ({"type": "string", "maxLength": 9}, "string –9"),
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
def test_the_words_of_an_argument_are_wrong(argument, words):
    assert schema.summary(argument) == words


def test_another_type_keeps_keywords_that_mean_nothing_for_it():
    changed = schema.with_type(PARAMETERS, "query", "integer")
    assert changed["properties"]["query"] == {"type": "integer"}
    assert PARAMETERS["properties"]["query"]["type"] == "string"


def test_renaming_an_argument_moves_it_or_forgets_that_it_is_required():
    changed = schema.renamed(PARAMETERS, "query", "text")
    assert list(changed["properties"]) == ["text", "n"]
    assert changed["required"] == ["text"]


def test_removing_a_required_argument_leaves_its_name_required():
    changed = schema.removed(PARAMETERS, "query")
    assert list(changed["properties"]) == ["n"]
    assert "required" not in changed


def test_required_names_stand_in_another_order_than_the_arguments():
    changed = schema.with_required(schema.moved(PARAMETERS, "n", 0), "n", True)
    assert list(changed["properties"]) == ["n", "query"]
    assert changed["required"] == ["n", "query"]


def test_a_schema_without_properties_takes_no_argument():
    assert schema.added({}, "a", {"type": "string"}) == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }


def test_a_free_name_is_taken():
    assert schema.free_name("a", {"a", "a_2"}) == "a_3"
