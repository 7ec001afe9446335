"""Schemas of all drafts: the same verdicts after migration to 2020-12, on generated and on real ones."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft7Validator, Draft202012Validator
from jsonschema_specifications import REGISTRY

from examples import at_most
from glyphscope.base.errors import RegistryError
from glyphscope.grammar import SafeValidator, example_arguments
from glyphscope.registry import KEYWORDS, check_schema, load_registry, normalise
from schema_test_suite import GAP, INTEGER, SELECTION, TYPE, try_folder

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "schemas" / "sample.jsonl"
OLD = {
    "http://json-schema.org/draft-04/schema#": Draft4Validator,
    "http://json-schema.org/draft-07/schema#": Draft7Validator,
}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"items": [{"type": "null"}]}, {"prefixItems": [{"type": "null"}]}),
        ({"items": [True], "additionalItems": False}, {"prefixItems": [True], "items": False}),
        ({"items": {}, "additionalItems": False}, {"items": {}}),
        ({"items": [True], "additionalItems": True}, {"prefixItems": [True], "items": True}),
        ({"items": [True]}, {"prefixItems": [True]}),
        (
            {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
        ),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"enum": ["a"], "type": "string", "nullable": True},
            {"enum": ["a", None], "type": ["string", "null"]},
        ),
        (
            {"description": "d", "$ref": "#/$defs/a", "nullable": True, "$defs": {"a": {"type": "string"}}},
            {
                "description": "d",
                "anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}],
                "$defs": {"a": {"type": "string"}},
            },
        ),
    ],
)
def test_an_old_form_becomes_the_new_one(old, new):
    assert check_schema(old) == []
    assert normalise(old) == new
    assert normalise(new) == new


def test_data_and_names_that_look_like_keywords_are_left_alone():
    names = {"properties": {"nullable": {}, "items": {}, "id": {}, "$ref": {"type": "string"}}}
    data = {"enum": [{"nullable": True}], "const": {"items": [1]}, "default": {"$ref": "#/none"}}
    assert check_schema(names) == check_schema(data) == []
    assert normalise(names) == names
    assert normalise(data) == data


def test_references_are_rewritten_when_their_target_moves():
    schema = {
        "properties": {"a": {"$ref": "#/items/0"}, "b": {"$ref": "#named"}, "c": {"$ref": "#/odd/place"}},
        "items": [{"type": "integer"}],
        "$defs": {"n": {"$anchor": "named", "type": "null"}},
        "odd": {"place": {"type": "string", "nullable": True}},
    }
    result = normalise(schema)
    assert [result["properties"][k]["$ref"] for k in "abc"] == ["#/prefixItems/0", "#/$defs/n", "#/odd/place"]
    assert result["odd"]["place"] == {"type": ["string", "null"]}


def test_inner_identifiers_become_pointers_from_the_root():
    inner = {
        "$id": "https://e.org/inner",
        "$defs": {"x": {"type": "null"}},
        "properties": {"p": {"$ref": "#/$defs/x"}},
    }
    schema = {"$id": "https://e.org/s", "$defs": {"i": inner}, "properties": {"q": {"$ref": "inner"}}}
    assert check_schema(schema) == []
    result = normalise(schema)
    assert result["properties"]["q"] == {"$ref": "#/$defs/i"}
    assert result["$defs"]["i"]["properties"]["p"] == {"$ref": "#/$defs/i/$defs/x"}
    assert "$id" not in result["$defs"]["i"]


def test_an_identifier_that_a_draft_does_not_know_has_no_effect():
    name = {"$id": "/properties/name", "$ref": "#/definitions/name"}
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "definitions": {"name": {"$id": "/definitions/name", "enum": ["a"]}},
        "properties": {"name": name},
    }
    verdict = SafeValidator(normalise(schema))
    assert verdict.is_valid({"name": "a"}) and not verdict.is_valid({"name": "b"})


def test_keywords_beside_a_reference_of_an_old_draft_are_ignored():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"type": "integer"}},
        "properties": {"x": {"$ref": "#/definitions/a", "minimum": 5, "description": "d"}},
    }
    assert normalise(schema)["properties"]["x"] == {"$ref": "#/definitions/a", "description": "d"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 6) | st.sampled_from(["", "a", "bb"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=5,
)


@cache  # Hypothesis validates a strategy when it is first used
def schemas(draft: int) -> st.SearchStrategy[dict]:
    simple: dict[str, st.SearchStrategy] = {
        "type": st.sampled_from(["string", "object", "array", "number"]),
        "minimum": st.integers(-2, 4),
        "maximum": st.integers(-2, 4),
        "const": VALUES,
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "required": st.lists(st.sampled_from("abc"), min_size=1, unique=True),
        "$ref": st.sampled_from(["#/definitions/t", "#/definitions/u"]),
    }
    if draft == 4:
        simple["exclusiveMinimum"] = simple["exclusiveMaximum"] = st.booleans()

    def larger(inner: st.SearchStrategy) -> st.SearchStrategy:
        some = st.lists(inner, min_size=1, max_size=2)
        return st.fixed_dictionaries(
            {},
            optional={
                **simple,
                "items": inner | some,
                "additionalItems": inner,
                "contains": inner,
                "dependencies": st.dictionaries(st.sampled_from("abc"), inner | st.just(["b"]), max_size=2),
                "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
                "additionalProperties": inner,
                "allOf": some,
                "not": inner,
                "if": inner,
                "then": inner,
            },
        )

    return st.recursive(st.fixed_dictionaries({}, optional=simple), larger, max_leaves=6)


@pytest.mark.parametrize(("declared", "validator"), OLD.items())
@pytest.mark.slow
@given(data=st.data())
@at_most(150)
def test_a_schema_of_an_old_draft_keeps_its_verdicts(declared, validator, data):
    schema = data.draw(schemas(4 if validator is Draft4Validator else 7))
    schema = {
        "$schema": declared,
        **schema,
        "definitions": {"t": {"type": "string"}, "u": {"items": [{"enum": [1]}]}},
    }
    if validator is Draft4Validator:  # it demands a minimum beside a true or false exclusiveMinimum
        if "exclusiveMinimum" in schema:
            schema.setdefault("minimum", 1)
        if "exclusiveMaximum" in schema:
            schema.setdefault("maximum", 1)
    assert check_schema(schema) == []
    value = data.draw(VALUES)
    new = normalise(schema)
    Draft202012Validator.check_schema(new)
    try:
        expected = validator(schema).is_valid(value)
    except KeyError:  # a lone exclusiveMinimum inside
        return
    assert Draft202012Validator(new).is_valid(value) == expected
    assert normalise(new) == new


@pytest.mark.slow
@given(schema=schemas(7), value=VALUES)
@at_most(150)
def test_nullable_adds_null_and_nothing_else(schema, value):
    definitions = {"definitions": {"t": {"type": "string"}, "u": {"items": [{"enum": [1]}]}}}
    plain, nullable = (
        normalise({**schema, **definitions}),
        normalise({**schema, **definitions, "nullable": True}),
    )
    expected = value is None or Draft202012Validator(plain).is_valid(value)
    assert Draft202012Validator(nullable).is_valid(value) == expected


INVALID_KEYWORDS = st.sampled_from(
    ["type", "minimum", "minLength", "properties", "items", "required", "enum", "anyOf", "title"]
)


@given(keyword=INVALID_KEYWORDS, value=VALUES)
@at_most(200)
def test_each_keyword_is_checked_as_by_the_metaschema(keyword, value):
    schema = {keyword: value}
    legacy = keyword == "items" and isinstance(value, list)
    repeated = keyword == "required" and isinstance(value, list) and len(set(map(str, value))) < len(value)
    accepted = check_schema(schema) == []
    if metaschema_accepts(schema):
        assert accepted
    elif accepted and not legacy and not repeated:  # it decides nothing, and is dropped
        assert normalise(schema) == {}


def test_the_table_of_keywords_has_every_keyword_of_the_metaschema():
    vocabularies = [each.contents["properties"] for uri, each in REGISTRY.items() if "2020-12/meta/" in uri]
    assert len(vocabularies) == 8
    assert set().union(*vocabularies) - KEYWORDS.keys() == set()


def metaschema_accepts(schema: dict) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample of real schemas is not here")
def test_real_schemas_load_and_validate_as_by_their_draft():
    """All 530; where a verdict differs from the label, the cause is a `format`, which draft 2020-12 only annotates."""
    by_format = set()
    for line in SAMPLE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        schema, name = row["schema"], row["name"]
        parameters = schema
        if schema.get("type") != "object":
            inner = {"$id": "https://example.com/value", **schema}
            parameters = {"type": "object", "properties": {"value": inner}, "required": ["value"]}
        (tool,) = load_registry([{"name": name, "parameters": parameters}])
        assert normalise(tool.parameters) == tool.parameters
        check = Draft202012Validator(tool.parameters)
        for test in row["tests"]:
            data = test["data"] if parameters is schema else {"value": test["data"]}
            if check.is_valid(data) != test["valid"]:
                assert '"format"' in json.dumps(schema)
                by_format.add(name)
    assert len(by_format) == 24


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample of real schemas is not here")
def test_nearly_every_real_tool_gets_a_valid_example():
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    tools = [normalise(row["schema"]) for row in rows if row["name"].startswith(("Glaive", "BFCL"))]
    assert all(example_arguments(schema) is not None for schema in tools if schema.get("type") == "object")


HARMLESS = [
    {"required": None}, {"properties": None}, {"properties": []}, {"description": None}, {"title": None},
    {"title": 5}, {"examples": "x"}, {"$comment": None}, {"deprecated": "no"}, {"$defs": []},
    {"additionalProperties": None},
    {"required": ["a", "a"], "properties": {"a": {}}}, {"anyOf": None},
    {"properties": {"a": {"type": "string", "enum": None, "minLength": None, "format": None, "description": 1}}},
    {"properties": {"a": {"type": "array", "items": {"properties": [], "required": None}}}},
]  # fmt: skip


@pytest.mark.parametrize("schema", HARMLESS, ids=str)
def test_nulls_and_annotations_that_decide_nothing_cost_no_tool(schema):
    """Programs in Go, PHP and Python write them for members that are not set."""
    assert check_schema(schema) == []
    (tool,) = load_registry([{"name": "t", "parameters": {"type": "object", **schema}}]).tools
    Draft202012Validator.check_schema(tool.parameters)
    assert tool.parameters.get("required", ["a"]) == ["a"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"required": "a"}, '"a" is not of type "array".'),
        ({"required": ["a", None]}, 'null is not of type "string".'),
        ({"minLength": True}, 'true is not of type "integer".'),
        ({"enum": {"a": None}}, '{"a": null} is not of type "array".'),
        ({"type": "STRING"}, 'Write "string" instead of "STRING".'),
        ({"type": "integer, array"}, 'Write ["integer", "array"] instead of "integer, array".'),
        ({"type": "str | None"}, 'Write ["string", "null"] instead of "str | None".'),
        ({"type": ["integer, null"]}, 'Write "integer", "null" instead of "integer, null".'),
        ({"type": "Dict"}, 'Write "object" instead of "Dict".'),
        ({"type": ["FLOAT", "null"]}, 'Write "number" instead of "FLOAT".'),
        ({"type": None}, 'Write "null" in quotes for the type of null, or leave "type" out for any value.'),
    ],
)
def test_errors_of_schemas_are_in_jsons_words(schema, words):
    assert [reason for _, reason in check_schema(schema)] == [words]


def test_the_short_form_names_the_type_that_is_meant():
    with pytest.raises(RegistryError) as caught:
        load_registry({"t": {"args": {"a": {"type": "STRING"}, "b": {"type": "dict"}, "c": {"type": "x"}}}})
    assert [one.message.partition(";")[0] for one in caught.value.problems] == [
        'Write "string" instead of "STRING"', 'Write "object" instead of "dict"', "No such type"
    ]  # fmt: skip


def test_an_identifier_beside_a_reference_has_no_effect_in_old_drafts():
    """Draft 7, section 8.3: all other members of an object with `$ref` are ignored."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "http://localhost/base/",
        "definitions": {
            "outer": {"$id": "http://localhost/base/name.json", "type": "string"},
            "inner": {
                "$id": "http://localhost/inner/",
                "definitions": {"n": {"$id": "name.json", "type": "number"}},
            },
        },
        "allOf": [{"$id": "http://localhost/inner/", "$ref": "name.json"}],
    }
    assert SafeValidator(normalise(schema)).is_valid("a")
    assert not SafeValidator(normalise(schema)).is_valid(1)


@pytest.mark.slow
def test_check_and_the_mask_differ_only_where_it_is_listed():
    """On the selection, or on the JSON Schema Test Suite in the folder that the variable names."""
    folder = Path(os.environ.get("GLYPHSCOPE_SCHEMA_SUITE", SELECTION))
    tally = try_folder(folder)
    assert tally.bad == []
    assert tally.counts["cases"] >= 100
    if folder == SELECTION:
        assert tally.counts == {
            "cases": 136,
            "the expected verdict": 136,
            "mask and check agree": 117,
            GAP: 18,
            f"not written: {TYPE}": 1,
            f"check: {INTEGER}": 1,
            "schemas without any call": 1,
        }
