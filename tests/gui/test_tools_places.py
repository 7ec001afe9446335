"""From JSON Pointers to lines: the place of an error in a schema's text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glyphscope_gui.shared.json_places import TextProblem, located, parse_object, places

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def at_pointer(document, pointer):
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        document = document[int(step) if isinstance(document, list) else step]
    return document


@pytest.mark.slow
@settings(max_examples=150)
@given(JSON, st.sampled_from([None, 2]))
def test_a_pointer_leads_to_its_value_in_the_text(document, indent):
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    found = places(text)
    for pointer, place in found.items():
        assert json.loads(text[place.start : place.end]) == at_pointer(document, pointer)
    assert "" in found


def test_a_deep_schema_is_located_or_is_a_text_problem():
    text = '{"a":' * 300 + "1" + "}" * 300
    assert len(places(text)) == 301
    assert isinstance(parse_object('{"a":' * 5000 + "1" + "}" * 5000), TextProblem)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{\n  'a': 1\n}", 2, 3),
        ('{"a": 1,\n "b" 2}', 2, 6),
        ("[1]", 1, 1),
        ('{"a": NaN}', 1, 1),
        ('{"a": {"b": 1},\n "b": 2,\n "a": 3}', 3, 2),
    ],
)
def test_a_text_that_is_not_an_object_is_reported_with_its_place(text, line, column):
    problem = parse_object(text)
    assert isinstance(problem, TextProblem)
    assert (problem.line, problem.column) == (line, column)


def test_a_problem_at_a_missing_place_is_shown_at_the_nearest_one():
    text = '{\n "properties": {}\n}'
    assert located(text, places(text), "/properties/url/type", "wrong").line == 2
