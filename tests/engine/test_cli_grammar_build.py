"""`glyphscope grammar build`: each language, each part, and its notes on unenforced constraints."""

import json

import jsonschema
import pytest

from cli_command import command
from glyphscope.grammar import call_schema, example_arguments
from glyphscope.notation import call_document
from glyphscope.registry import Tool, ToolRegistry, default_registry


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


def built(*arguments):
    result = command("grammar", "build", *arguments)
    assert result.exit_code == 0, result.stderr
    return result


def test_the_members_of_requests_contain_the_schema_or_for_other_notations_the_grammar():
    schema = json.loads(built("--to", "json-schema", "--notation", "json").stdout)
    response = json.loads(built("--to", "response-format", "--notation", "json").stdout)
    described = {"name": "call", "schema": schema, "strict": True}
    assert response == {"response_format": {"type": "json_schema", "json_schema": described}}
    outputs = built("--to", "structured-outputs", "--notation", "json")
    assert json.loads(outputs.stdout) == {"structured_outputs": {"json": schema}}
    gbnf = built("--to", "gbnf")
    assert json.loads(built("--to", "structured-outputs").stdout) == {
        "structured_outputs": {"grammar": gbnf.stdout}
    }


@pytest.mark.parametrize("shape", ["tool-args", "name-arguments"])
def test_a_structural_tag_has_for_each_tool_the_text_of_its_call_around_its_arguments(shape):
    made = json.loads(built("--to", "structural-tag", "--notation", "json", "--shape", shape).stdout)
    form, registry = made["format"], default_registry()
    assert made["type"] == "structural_tag" and form["at_least_one"] and form["stop_after_first"]
    for tag, tool in zip(form["tags"], registry.allowed, strict=True):
        arguments = example_arguments(tool.parameters)
        assert tag["begin"].startswith(form["triggers"][0])
        assert tag["begin"] + json.dumps(arguments) + tag["end"] == json.dumps(
            call_document(tool.name, arguments, shape)
        )
        validator = jsonschema.Draft202012Validator(tag["content"]["json_schema"])
        assert validator.is_valid(arguments) and not validator.is_valid(arguments | {"unknown": 1})
    free = json.loads(
        built("--to", "structural-tag", "--notation", "json", "--shape", shape, "--free-text").stdout
    )
    assert "at_least_one" not in free["format"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("structural-tag", "--notation", "json"), "the shape flat"),
        (("structural-tag",), "constrains JSON only"),
        (("response-format",), "constrains JSON only"),
        (("structural-tag", "--schema", "schema.json"), "made of tools"),
    ],
)
def test_a_member_that_cannot_have_the_constraint_is_an_error_with_another_way(
    tmp_path, monkeypatch, arguments, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text('{"type": "integer"}')
    result = command("grammar", "build", "--to", *arguments)
    assert result.exit_code == 2 and words in result.stderr and "do:" in result.stderr


def test_references_of_a_tool_lead_to_the_same_places():
    node = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/properties/x"}}}
    tools = ToolRegistry((Tool("other"), Tool("tool", "", {"type": "object", "properties": {"x": node}})))
    for shape in ("flat", "tool-args"):
        validator = jsonschema.Draft202012Validator(call_schema(tools, shape))
        assert validator.is_valid(call_document("tool", {"x": {"next": {"v": 1}}}, shape))
        assert not validator.is_valid(call_document("tool", {"x": {"next": {"v": "a"}}}, shape))


def test_the_schema_of_calls_allows_the_arguments_that_a_part_of_a_tools_schema_names():
    part = {"properties": {"x": {"type": "integer"}}, "required": ["x"]}
    tools = ToolRegistry((Tool("tool", "", {"type": "object", "allOf": [part]}),))
    for shape in ("flat", "tool-args"):
        validator = jsonschema.Draft202012Validator(call_schema(tools, shape))
        assert validator.is_valid(call_document("tool", {"x": 1}, shape))
        assert not validator.is_valid(call_document("tool", {"x": 1, "y": 1}, shape))
