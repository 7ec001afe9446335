"""Answers that were written elsewhere, judged as a run in the notation that fits them best."""

import json

import pytest

from cli_command import command
from glyphscope.base import resources
from glyphscope.events import RunRequest
from glyphscope.registry import default_registry
from glyphscope.runs import end_of, prepare, run_state
from glyphscope.runs.strategies.elsewhere import read_elsewhere

ASKED = prepare(
    RunRequest(prompt="AI news", registry=default_registry().to_document(), constraint="mask", native="auto")
)
TEMPLATE = resources.read_bytes("forms/example.jinja").decode()
TAGGED = '<call tool="search">\n<arg name="query">\nAI news\n</arg>\n</call>'
MARKED = '<tool_call>\n{"name": "search", "arguments": {"query": "AI news"}}\n</tool_call>'


def read(text, template=None):
    events, request = read_elsewhere(text, ASKED, template)
    return run_state(events), request


@pytest.mark.parametrize(
    ("text", "notation", "shape"),
    [
        ('{action="search" query="AI news"}', "glyph", "flat"),
        ('search{query="AI news"}', "glyph", "flat"),
        ('{tool="search" args={query="AI news"}}', "glyph", "tool-args"),
        ('{"action": "search", "query": "AI news"}', "json", "flat"),
        ('{"tool": "search", "args": {"query": "AI news"}}', "json", "tool-args"),
        ('{"name": "search", "arguments": {"query": "AI news"}}', "json", "name-arguments"),
        ('{"name": "search", "parameters": {"query": "AI news"}}', "json", "name-parameters"),
        ('Sure:\n```json\n{"name": "search", "arguments": {"query": "AI news"}}', "json", "name-arguments"),
    ],
)
def test_a_call_from_elsewhere_is_read_in_its_notation_and_shape(text, notation, shape):
    state, request = read(text)
    assert (request.notation, request.shape) == (notation, shape)
    assert state.text == text and state.call.tool == "search" and state.call.arguments == {"query": "AI news"}
    assert end_of(state).status == "holds"
    assert all(token.step.raw is None and not token.step.alternatives for token in state.tokens)


@pytest.mark.parametrize(("text", "native"), [(MARKED, "hermes"), (TAGGED, "auto")])
def test_a_call_in_the_notation_of_a_model_is_read_with_its_template(text, native):
    state, request = read(text, TEMPLATE)
    assert request.native == native and state.call.tool == "search" and end_of(state).status == "holds"


@pytest.mark.parametrize(
    "wrapped",
    [
        {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": 3}'}},
        {"tool_calls": [{"function": {"name": "search", "arguments": '{"query": 3}'}}]},
        {"type": "function_call", "name": "search", "arguments": '{"query": 3}'},
        {"type": "tool_use", "name": "search", "input": {"query": 3}},
    ],
)
def test_of_a_call_as_an_api_gives_it_the_call_in_it_is_read(wrapped):
    text = json.dumps(wrapped)
    state, request = read(text)
    assert state.text == '{"name": "search", "arguments": {"query": 3}}' and request.shape == "name-arguments"
    (found,) = state.present.violations
    assert found.code == "TYPE_MISMATCH" and found.path == "/arguments/query"
    right = text.replace('"query": 3', '"query": "AI"').replace('\\"query\\": 3', '\\"query\\": \\"AI\\"')
    state, request = read(right)
    assert end_of(state).status == "holds" and state.call.arguments == {"query": "AI"}
    assert (request.notation, request.shape) == ("json", "name-arguments")


def test_an_invalid_call_is_read_to_its_end_with_the_deciding_character():
    text = '{"name": "search", "arguments": {"max_results": 500, "query": "AI news"}}'
    state, _ = read(text)
    (found,) = state.present.violations
    assert (found.code, found.char) == ("CONSTRAINT_MAX", text.index("500") + 2)
    assert state.text == text and end_of(state).status == "impossible"


def test_a_text_without_a_call_says_so():
    state, _ = read("I cannot search.")
    assert state.present.violations[0].code == "NO_TOOL_CALL"


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ('{"name": "search", "arguments": {"query": "AI news"}}', ("json", "name-arguments")),
        (
            '{"name": "search", "arguments": {"query": "AI news", "max_results": 500}}',
            ("json", "name-arguments"),
        ),
        ('{tool="search" args={query="AI news"}}', ("glyph", "tool-args")),
        ('{action="search" query="AI news"}', None),
        ("I cannot search.", None),
    ],
)
def test_a_check_finds_the_notation_of_its_file_and_names_another_one(text, way):
    checked = command("check", "-", text=text)
    report = json.loads(command("check", "--json", "-", text=text).stdout)
    assert (way and f"in {way[0].upper()}, shape {way[1]}" in checked.stdout) or way is None
    assert (report.get("notation"), report.get("shape")) == (way or (None, None))
    assert report["valid"] == ("500" not in text and "cannot" not in text)
    stated = json.loads(command("check", "--json", "--notation", "glyph", "-", text=text).stdout)
    assert "notation" not in stated and (way is None or not stated["valid"])
