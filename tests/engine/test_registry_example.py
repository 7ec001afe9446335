"""Examples are valid, small and made from the schema, for any schema."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from glyphscope.grammar import example_arguments
from glyphscope.grammar.generate import sample
from glyphscope.validation.checker import Checker
from keyword_rows import EVERY, registry

LONG = "The report is ready, and the next meeting is on Friday morning. The re"


def example_of(schema: dict):
    arguments = example_arguments({"type": "object", "properties": {"v": schema}, "required": ["v"]})
    return None if arguments is None else arguments["v"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "default": "d", "examples": ["e"]}, "e"),
        ({"enum": ["x", "y"]}, "x"),
        ({"const": 5}, 5),
        ({"type": "integer", "minimum": 7}, 7),
        ({"type": "integer", "exclusiveMaximum": -2}, -3),
        ({"type": "integer", "minimum": 10, "multipleOf": 7}, 14),
        ({"type": "number", "multipleOf": 0.1, "minimum": 0.25, "maximum": 0.35}, 0.3),
        ({"type": "boolean"}, True),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "string", "format": "date"}, "2025-01-31"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "array", "items": {"enum": [3, 4]}, "minItems": 2, "uniqueItems": True}, [3, 4]),
        ({"type": "object", "properties": {"a": {}, "b": {"type": "null"}}, "required": ["b"]}, {"b": None}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}], "minimum": 3}, 3),
        ({"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 4}]}, 3),
        ({"type": "string", "pattern": "^[A-Z]{3}-\\d+$"}, "AAA-0"),
        ({"x-grammar": r'"\"" [a-z]+ "\""'}, "tea"),
        ({"x-grammar": r'"\"" [0-9] ".go" "\""', "type": "string"}, "0.go"),
        ({"x-grammar": r'root ::= "[" [7] ("," [7])* "]"', "type": "array", "minItems": 3}, [7, 7, 7]),
        ({"x-grammar": r'"\"" [a-z]'}, "green tea"),  # never a value: what is usual
        ({"x-grammar": r'no ::= "grammar'}, "green tea"),
    ],
)
def test_an_example_follows_the_schema(schema, value):
    assert example_of(schema) == value


def test_random_texts_of_a_custom_grammar_are_made_only_if_its_shortest_one_is_no_example(monkeypatch):
    nested = {"type": "grammar", "syntax": "lark", "definition": 'start: "7" | "(" start ")" start*'}
    seen = []
    monkeypatch.setattr(sample, "sample_texts", lambda *_, **__: seen.append(1) or ["(7)"])
    assert example_of({"x-grammar": nested}) == "7"
    assert not seen
    assert example_of({"x-grammar": nested, "minLength": 2}) == "(7)"
    assert seen


def test_the_examples_of_nearly_all_keywords_are_valid():
    """Others have none: the search does not solve `not`, `if`, an exclusive `oneOf` and look-around."""
    tools = [registry(("x", schema)).tools[0] for schema, *_ in EVERY]
    examples = [(example_arguments(tool.parameters), tool.parameters) for tool in tools]
    found = [(example, parameters) for example, parameters in examples if example is not None]
    assert all(Checker(parameters).valid(example, parameters) for example, parameters in found)
    assert len(found) >= len(EVERY) - 11


def test_an_example_that_no_longer_fits_the_edited_schema_is_not_used():
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "examples": [{"query": "old"}]}
    assert example_arguments(schema) == {}
    assert example_arguments({**schema, "required": ["q"]}) == {"q": "AI news"}


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("title", {"type": "string"}, "Weekly report"),
        ("ticket_title", {"type": "string", "maxLength": 8}, "Lunch"),
        ("imageUrl", {"type": "string"}, "https://example.com"),
        ("labels", {"items": {"type": "string"}, "minItems": 2, "uniqueItems": True}, ["travel", "garden"]),
        ("xyzzy", True, "green tea"),
        ("tea", {"type": "string", "maxLength": 3}, "a"),
        ("note", {"type": "string", "minLength": 70}, LONG),
        ("user_id", {"type": "integer", "minimum": 1}, 1042),
        ("id", {"type": "integer", "maximum": 99}, 1),
        ("place", {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}, "San Francisco, CA"),
        ("unit", {"type": "string", "description": "Such as 'stone', or another"}, "km"),
        ("unit", {"type": "string", "description": "A unit, such as 'stone', or another"}, "stone"),
        ("unit", {"type": "string", "description": "For what, e.g. the name of a unit"}, "km"),
        ("unit", {"type": "string", "description": "e.g. 'stone'", "maxLength": 2}, "km"),
    ],
)  # fmt: skip
def test_an_example_has_a_value_that_a_person_would_write(name, schema, value):
    found = example_arguments({"type": "object", "properties": {name: schema}, "required": [name]})
    assert found == {name: value}


def test_no_text_of_an_example_is_the_name_of_its_argument_or_is_there_twice():
    names = [
        "title",
        "query",
        "from_city",
        "to_city",
        "old_text",
        "new_text",
        "value",
        "text",
        "argument",
        "a",
    ]
    properties = {name: {"type": "string"} for name in names}
    found = example_arguments({"type": "object", "properties": properties, "required": names})
    assert not [name for name, text in found.items() if text.casefold() in (name, "value", "text", "string")]
    assert found["from_city"] != found["to_city"] and found["old_text"] != found["new_text"]


def test_an_impossible_schema_has_no_example():
    assert example_of({"type": "integer", "minimum": 2, "maximum": 1}) is None
    assert example_of({"not": {}}) is None
    loop = {"type": "object", "properties": {"v": {"$ref": "#"}}, "required": ["v"]}
    assert example_arguments(loop) is None


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(?=x)y", "(?P<n>a)b", "[^abc]\\.\\w{2,3}", "a{3}|b", "\\p{L}"]
)
def test_a_text_for_a_pattern_matches_it_or_there_is_none(pattern):
    text = example_of({"type": "string", "pattern": pattern})
    assert text is None or regex.search(pattern, text)


@pytest.mark.slow
@given(st.text(alphabet="ab01[]()|*+?{},^$\\dw.-", max_size=12), st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_no_pattern_breaks_the_search_for_a_text(pattern, least):
    text = example_of({"type": "string", "pattern": pattern, "minLength": least})
    assert text is None or len(text) >= least


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$"])  # the second one is too slow for `regex` too
def test_a_pattern_that_backtracks_endlessly_does_not_delay_an_example(pattern):
    hostile = {"type": "string", "pattern": pattern, "examples": ["a" * 38 + "!"]}
    start = time.perf_counter()
    assert example_of(hostile) is None or example_of(hostile).strip("a") == ""
    names = {"type": "object", "patternProperties": {pattern: {}}, "examples": [{"a" * 38 + "!": 1}]}
    example_of(names)
    assert time.perf_counter() - start < 1
