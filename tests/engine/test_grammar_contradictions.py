"""Parts of a schema that other constraints exclude: named, never dropped silently."""

import json

import pytest

import keyword_rows
from cli_command import command
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import contradictions, match_text, registry_contradictions, uncallable
from glyphscope.registry import bundled_registries, bundled_registry, load_registry, to_json
from glyphscope.turns import build_call_grammar
from keyword_rows import EVERY, IDS


def registry(argument, **more):
    parameters = {"type": "object", "properties": {"a": argument, "b": {"type": "string"}}, **more}
    return load_registry(
        {"glyphscope": 1, "tools": [{"name": "t", "description": "", "parameters": parameters}]}
    )


SHORT = {"type": "string", "enum": ["ab", "abc", "abcd"], "maxLength": 2}
E = {"$defs": {"e": {"enum": ["xxx", "x"]}}}


@pytest.mark.parametrize(
    ("argument", "pointer", "words"),
    [
        (SHORT, "/enum", 'exclude 2 of 3 values: "abc" (maxLength 2), "abcd" (maxLength 2)'),
        ({**SHORT, "maxLength": 1}, "/enum", "No value is possible"),
        ({"type": "string", "enum": ["a", 1, None]}, "/enum", "1 (type string), null (type string)"),
        ({"const": 5, "type": "string"}, "/const", "5 (type string)"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "", "minimum 5, maximum 3"),
        ({"type": "integer", "multipleOf": 10, "minimum": 1, "maximum": 9}, "", "multipleOf 10"),
        ({"type": "string", "minLength": 5, "maxLength": 3}, "", "minLength 5, maxLength 3"),
        ({"type": "string", "pattern": "^abc$", "maxLength": 2}, "", 'pattern "^abc$", maxLength 2'),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "", "minItems 3, maxItems 2"),
        ({"type": ["string", "integer"], "minLength": 5, "maxLength": 3}, "/type", "1 of 2 types: string"),
        (
            {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 4, "maximum": 2}]},
            "/anyOf/1",
            "minimum 4",
        ),
        (
            {"type": "array", "items": {"enum": ["x", "yy"], "minLength": 2}},
            "/items/enum",
            '"x" (minLength 2)',
        ),
        ({"$ref": "#/$defs/e", "maxLength": 2}, "", '"xxx" (maxLength 2)'),
    ],
)
def test_a_part_of_a_schema_that_other_constraints_exclude_is_named_at_its_place(argument, pointer, words):
    (found,) = contradictions(registry(argument, **E).tools[0])
    assert (found.tool, found.pointer) == ("t", f"/properties/a{pointer}")
    assert words in found.message


@pytest.mark.parametrize(
    ("argument", "more"),
    [
        ({"type": "string", "pattern": "^abc$", "minLength": 2}, {}),
        ({"enum": ["a", "b"]}, {"anyOf": [{"properties": {"a": {"const": value}}} for value in ("a", "b")]}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}], "allOf": [{"type": "string"}]}, {}),
        ({"type": ["integer", "number"], "minimum": 1}, {}),
        (False, {}),
        ({"enum": ["x", "x"]}, {}),
    ],
)
def test_a_possible_schema_has_no_contradiction(argument, more):
    assert contradictions(registry(argument, **more).tools[0]) == ()


def test_the_bundled_registries_have_no_contradiction():
    for name in bundled_registries():
        assert registry_contradictions(bundled_registry(name)) == ()


def test_the_values_reported_as_excluded_are_those_that_the_grammar_excludes():
    tools = registry(SHORT)
    grammar = build_call_grammar(tools, "json", "flat")
    (found,) = contradictions(tools.tools[0])
    for value in SHORT["enum"]:
        taken = match_text(grammar, f'{{"action":"t","a":"{value}"}}').accepted
        assert taken is not (f'"{value}"' in found.message)


@pytest.mark.parametrize("options", [(), ("--json",), ("--to", "gbnf")])
def test_grammar_build_warns_of_a_contradiction_on_stderr(tmp_path, options):
    file = tmp_path / "tools.json"
    file.write_text(to_json(registry(SHORT)))
    result = command("grammar", "build", "--registry", file, *options)
    assert result.exit_code == 0
    assert "! t: /properties/a/enum: Other constraints exclude 2 of 3 values" in result.stderr
    assert "Other constraints" not in result.stdout


def test_grammar_build_warns_of_a_contradiction_in_a_bare_schema(tmp_path):
    file = tmp_path / "schema.json"
    file.write_text('{"enum": ["a", "bb"], "maxLength": 1}')
    result = command("grammar", "build", "--schema", file, "--notation", "json")
    assert result.exit_code == 0 and 'exclude 1 of 2 values: "bb" (maxLength 1)' in result.stderr


DEAD_LIST = {"type": "string", "enum": ["aaa", "bbbb"], "maxLength": 2}
DEAD_RANGE = {"type": "integer", "minimum": 5, "maximum": 3}


@pytest.mark.parametrize(
    ("schema", "place", "why"),
    [
        (
            DEAD_LIST,
            "/enum",
            'other constraints exclude every one: "aaa" (maxLength 2), "bbbb" (maxLength 2)',
        ),
        (DEAD_RANGE, "the whole", "these constraints contradict each other: minimum 5, maximum 3"),
        (
            {"type": "object", "properties": {"a": DEAD_LIST, "b": DEAD_RANGE}, "required": ["a"]},
            "/properties/a/enum",
            "other constraints exclude every one",
        ),
        (
            {"type": "object", "properties": {"a": DEAD_LIST, "b": DEAD_RANGE}, "required": ["b"]},
            "/properties/b",
            "minimum 5, maximum 3",
        ),
        (
            {"type": "object", "properties": {"a": False, "b": DEAD_RANGE}, "required": ["a"]},
            "/properties/a",
            "the schema is false",
        ),
        ({"type": "array", "items": DEAD_LIST, "minItems": 1}, "/items/enum", "other constraints exclude"),
    ],
)
@pytest.mark.parametrize("order", ["schema", "any"])
def test_a_schema_without_a_value_is_one_error_at_its_cause(tmp_path, schema, place, why, order):
    """Another dead part, of an optional member, is not the reason; there is no warning beside the error."""
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(schema))
    result = command("grammar", "build", "--schema", file, "--notation", "json", "--order", order)
    assert result.exit_code == 2 and result.stdout == ""
    first, where, *_ = result.stderr.splitlines()
    assert first.startswith("error: No value can be valid: ") and why in first
    assert where.strip() == f"in: schema: {place}"
    assert "!" not in result.stderr


def test_a_tool_that_cannot_be_called_is_one_error_at_its_cause(tmp_path):
    file = tmp_path / "tools.json"
    file.write_text(to_json(registry(DEAD_LIST, required=["a"])))
    result = command("grammar", "build", "--registry", file)
    assert result.exit_code == 2 and "!" not in result.stderr
    assert 'No call of this tool can be valid: other constraints exclude every one: "aaa"' in result.stderr
    assert "in: t: /properties/a/enum" in result.stderr


CLOSED = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("parameters", "where", "words"),
    [
        (
            {**CLOSED, "required": ["b"]},
            "/required",
            '"b" is required, and /additionalProperties does not allow it',
        ),
        (
            {"allOf": [CLOSED, {"properties": {"b": {}}, "required": ["b"]}]},
            "/allOf/1/required",
            '"b" is required, and /allOf/0/additionalProperties does not allow it',
        ),
        (
            {"oneOf": [{**CLOSED, "required": ["x"]}, {**CLOSED, "required": ["y"]}]},
            "/oneOf/0/required",
            '"x" is required, and /oneOf/0/additionalProperties does not allow it',
        ),
        (
            {"properties": {"o": {**CLOSED, "required": ["b"]}}, "required": ["o"]},
            "/properties/o/required",
            '"b" is required, and /properties/o/additionalProperties does not allow it',
        ),
    ],
)
def test_a_required_name_that_a_closed_schema_does_not_have_is_named(parameters, where, words):
    tools = load_registry([{"name": "t", "parameters": {"type": "object", **parameters}}])
    with pytest.raises(GrammarError, match=f"No call of this tool can be valid: {words}") as caught:
        build_call_grammar(tools, "json", "flat")
    assert caught.value.where == f"t: {where}"


UNCALLABLE = (
    {"type": "integer", "minimum": 5, "maximum": 3}, {"type": "string", "minLength": 5, "maxLength": 3}, False,
    {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, {"type": "integer", "enum": ["a"]},
    {"type": "array", "minItems": 3, "maxItems": 2}, {"type": "array", "items": False, "minItems": 1},
    {"type": "array", "minItems": 1, "items": {"type": "boolean", "enum": [1]}}, {"$ref": "#/$defs/endless"},
    {"type": "object", "properties": {"x": False}, "required": ["x"]}, {"anyOf": [False, {"enum": []}]},
    {"allOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "string", "pattern": "^a{5}$", "maxLength": 3},
    {"type": "object", "required": ["x"], "additionalProperties": False},
    {"type": "integer", "minimum": 0.4, "maximum": 0.6}, {"type": "string", "pattern": "^[a-z]{4,}$", "maxLength": 3},
    {"type": "string", "pattern": "[^\\s\\S]"},
    {"type": "string", "pattern": "^ab$", "minLength": 3}, {"type": "string", "format": "date", "maxLength": 9},
)  # fmt: skip
ENDLESS = {"type": "object", "properties": {"left": {"$ref": "#/$defs/endless"}}, "required": ["left"]}


@pytest.mark.parametrize("argument", UNCALLABLE, ids=json.dumps)
def test_the_tools_of_which_no_call_can_be_written_are_those_that_the_grammar_leaves_out(argument):
    required, optional = (
        registry(argument, required=names, **{"$defs": {"endless": ENDLESS}}) for names in (["a"], [])
    )
    (found,) = uncallable(required)
    with pytest.raises(GrammarError) as caught:
        build_call_grammar(required, "glyph", "flat")
    assert found.why in caught.value.message and found.pointer in caught.value.where
    assert not uncallable(optional) and not is_left_out(optional)


@pytest.mark.parametrize("schema", [row[0] for row in EVERY], ids=IDS)
def test_a_tool_that_can_be_called_is_not_left_out(schema):
    tools = keyword_rows.registry(("x", schema))
    assert not uncallable(tools) and not is_left_out(tools)


def is_left_out(tools):
    return any("left out" in each.why for each in build_call_grammar(tools, "glyph", "flat").unenforced)


@pytest.mark.parametrize(
    "parameters",
    [
        {"required": ["gone"], "properties": {}, "additionalProperties": False},
        {"required": ["x"], "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"anyOf": [False]}}},
        {"minProperties": 1},
        {
            "anyOf": [{"required": ["gone"]}],
            "properties": {"a": {"type": "string"}},
            "additionalProperties": False,
        },
    ],
)
def test_a_tool_whose_arguments_as_a_whole_contradict_each_other_is_uncallable(parameters):
    tools = load_registry([{"name": "t", "parameters": {"type": "object", **parameters}}])
    assert [each.tool for each in uncallable(tools)] == ["t"]
