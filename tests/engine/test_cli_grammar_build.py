"""`glyphscope grammar build`: each language, each part, and its notes on unenforced constraints."""

import json

import jsonschema
import pytest

from cli_command import command
from glyphscope.grammar import call_schema, example_arguments
from glyphscope.notation import call_document
from glyphscope.registry import Tool, ToolRegistry, default_registry


def test_grammar_build_prints_gbnf_with_the_places_of_the_schema():
    result = command(
        "grammar", "build", "--to", "gbnf", "--comments", "--notation", "json", "--tool", "search"
    )
    assert result.exit_code == 0 and result.stdout.startswith("root ::= ")
    assert "# search /properties/max_results: type integer, minimum 1, maximum 100\n" in result.stdout
    assert "calculate" not in result.stdout


def test_grammar_build_of_a_schema_reports_unenforced_constraints(tmp_path):
    schema = tmp_path / "s.json"
    schema.write_text('{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}')
    result = command("grammar", "build", "--schema", str(schema), "--to", "gbnf", "--json")
    answer = json.loads(result.stdout)
    assert [left["keyword"] for left in answer["unheld"]] == ["uniqueItems"]
    assert answer["language"] == "gbnf" and answer["grammar"].startswith("root ::= ")
    reported = command("grammar", "build", "--schema", str(schema), "--to", "lark")
    assert "/uniqueItems" in reported.stderr and "uniqueItems" not in reported.stdout
    report = command("grammar", "build", "--schema", str(schema), "--report", "--json")
    assert json.loads(report.stdout)["unheld"] == answer["unheld"]


@pytest.mark.parametrize("shape", ["flat", "tool-args", "name-arguments"])
def test_the_schema_of_all_calls_accepts_exactly_the_valid_calls(shape):
    registry = default_registry()
    result = command("grammar", "build", "--to", "json-schema", "--shape", shape)
    validator = jsonschema.Draft202012Validator(json.loads(result.stdout))
    for tool in registry.allowed:
        arguments = example_arguments(tool.parameters)
        call = call_document(tool.name, arguments, shape)
        assert validator.is_valid(call)
        assert not validator.is_valid(call_document("nobody", arguments, shape))
        assert not validator.is_valid(call_document(tool.name, arguments | {"unknown": 1}, shape))


def test_references_of_a_tool_lead_to_the_same_places():
    node = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/properties/x"}}}
    tools = ToolRegistry((Tool("other"), Tool("tool", "", {"type": "object", "properties": {"x": node}})))
    for shape in ("flat", "tool-args"):
        validator = jsonschema.Draft202012Validator(call_schema(tools, shape))
        assert validator.is_valid(call_document("tool", {"x": {"next": {"v": 1}}}, shape))
        assert not validator.is_valid(call_document("tool", {"x": {"next": {"v": "a"}}}, shape))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--schema", "/nowhere.json"], ["--schema", "S", "--tool", "x"], ["--schema", "S", "--registry", "S"],
        ["--schema", "BAD"], ["--tool", "nobody"], ["--part", "arguments"], ["--to", "ebnf"],
        ["--free-text", "--white-space", "any", "--notation", "json"],
    ],
)  # fmt: skip
def test_an_impossible_grammar_build_is_exit_code_2_with_the_reason(tmp_path, arguments):
    files = {"S": tmp_path / "s.json", "BAD": tmp_path / "bad.json"}
    files["S"].write_text("{}")
    files["BAD"].write_text("{")
    result = command("grammar", "build", *(str(files.get(word, word)) for word in arguments))
    assert result.exit_code == 2 and result.stderr.strip() and not result.stdout
