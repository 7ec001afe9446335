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
