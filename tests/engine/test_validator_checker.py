"""The final check: jsonschema's verdicts, with patterns that cannot hang."""

from __future__ import annotations

import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.shorten import schema_error_words
from glyphscope.validation.checker import Checker
from glyphscope.validation.tools import code_of
from schema_strategies import schemas, values


def without_formats(schema: Any) -> bool:
    return '"format"' not in repr(schema).replace("'", '"')


@pytest.mark.slow
@at_most(300)
@given(schemas.filter(without_formats), values)
def test_the_checker_agrees_with_plain_jsonschema(schema: Any, value: Any) -> None:
    assert Checker(schema).valid(value, schema) == jsonschema.Draft202012Validator(schema).is_valid(value)


parts = st.recursive(
    st.sampled_from(
        [
            {"properties": {"a": {"type": "integer"}}},
            {"properties": {"b": True}, "required": ["b"]},
            {"patternProperties": {"^a": {"type": "integer"}}},
            {"additionalProperties": {"type": "null"}},
            {
                "if": {"required": ["a"]},
                "then": {"properties": {"b": True}},
                "else": {"properties": {"c": True}},
            },
            {"dependentSchemas": {"a": {"properties": {"key": True}}}},
            {"$ref": "#/$defs/d"},
        ]
    ),
    lambda inner: st.builds(
        lambda keyword, some: {keyword: some},
        st.sampled_from(["allOf", "anyOf", "oneOf"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)


@pytest.mark.slow
@at_most(300)
@given(
    parts,
    st.sampled_from([False, {"type": "null"}]),
    st.dictionaries(st.sampled_from(["a", "ab", "b", "c"]), values),
)
def test_unevaluated_properties_agree_with_plain_jsonschema(part: Any, rest: Any, value: Any) -> None:
    schema = {
        **part,
        "unevaluatedProperties": rest,
        "$defs": {"d": {"properties": {"c": {"type": "string"}}}},
    }
    assert Checker(schema).valid(value, schema) == jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {"^(a+)+$": True}, "unevaluatedProperties": False},
        {"patternProperties": {"^(a+)+$": True}, "additionalProperties": False},
        {"propertyNames": {"pattern": "^(a+)+$"}},
        {"additionalProperties": {"pattern": "^(?=a)(a+)+$"}},
    ],
)
def test_no_hostile_pattern_blocks_the_final_check(schema: Any) -> None:
    text = "a" * 5000 + "!"
    assert not Checker(schema).valid({text: text}, schema)


@pytest.mark.slow
def test_lookaround_that_backtracks_does_not_block_the_final_check() -> None:
    schema = {"additionalProperties": {"pattern": "^(?=a)(a|aa)+$"}}  # `regex` alone does not finish it
    start = time.process_time()
    assert not Checker(schema).valid({"x": "a" * 38 + "!"}, schema)
    assert time.process_time() - start < 1


def test_a_hostile_pattern_is_matched_by_the_linear_engine() -> None:
    schema = {"pattern": "^((a|aa)+b|a*!)$"}  # `regex` does not reach the second alternative in time
    assert Checker(schema).valid("a" * 38 + "!", schema)
    assert not Checker(schema).valid("a" * 38 + "?", schema)


def test_a_pattern_of_only_the_linear_engine_is_accepted() -> None:
    schema = {"patternProperties": {r"^\p{L}+$": {"type": "integer"}}, "unevaluatedProperties": False}
    assert Checker(schema).valid({"é": 1}, schema)
    assert not Checker(schema).valid({"1": 1}, schema)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"multipleOf": 0.01}, [19.99, 0.3, 1.1, 5, 0, -8.7, 10**400, 1e308], [0.001, 19.995, 1e-7]),
        ({"multipleOf": 0.1}, [0.3, 0.7, 1e22, 10**22], [0.35]),
        ({"multipleOf": 1e-8}, [0.07, 12391239123, 1.5], [1e-9]),
        ({"multipleOf": 10**22}, [1e23, 10**23, 3e22], [1e21]),
        ({"maximum": 1e23}, [10**23, 1e23], [10**23 + 1]),
        ({"minimum": 1e23}, [10**23, 1e24], [10**23 - 1, 9.9e22]),
        ({"exclusiveMaximum": 1e23}, [10**23 - 1], [10**23, 1e23]),
        ({"exclusiveMinimum": 0.1}, [0.2], [0.1, 0]),
        ({"const": 1e23}, [10**23], [10**23 - 2**23, True]),
        ({"enum": [0.1, 1e23, [1e23]]}, [0.1, 10**23, [10**23]], [0.3, 99999999999999991611392]),
        (
            {"uniqueItems": True},
            [[1, True, 2.5], [1e23, 99999999999999991611392]],
            [[1e23, 10**23], [1, 1.0]],
        ),
    ],
    ids=lambda each: repr(each)[:40] if isinstance(each, dict) else "",
)
def test_numbers_are_compared_as_the_decimals_that_are_written(schema: Any, good: Any, bad: Any) -> None:
    checker = Checker(schema)
    assert [checker.valid(value, schema) for value in good] == [True] * len(good)
    assert [checker.valid(value, schema) for value in bad] == [False] * len(bad)


@pytest.mark.parametrize(
    ("schema", "value", "rule"),
    [  # jsonschema's path of an error leaves out references
        ({"$ref": "#/$defs/d", "if": True}, {"a": 1}, "/$defs/d/properties/a/const"),
        ({"properties": {"b": {"$ref": "#/$defs/d/properties/a"}}}, {"b": 1}, "/$defs/d/properties/a/const"),
        ({"$ref": "#/$defs/d", "maxProperties": 2}, {"b": 1, "c": 2}, "/$defs/d/maxProperties"),
        ({"$ref": "#/$defs/d", "maxProperties": 1}, {"b": 1, "c": 2}, "/maxProperties"),
        ({"allOf": [True, {"$ref": "#/$defs/d"}]}, {"a": 1}, "/$defs/d/properties/a/const"),
        ({"$ref": "#/$defs/e"}, {"a": 1}, "/$defs/d/properties/a/const"),
        ({"allOf": [{"required": ["x"]}]}, {}, "/allOf/0/required"),
        ({"properties": {"b": {"$ref": "#/$defs/f"}}}, {"b": {"c": 1}}, "/$defs/f/properties/c"),
        ({"properties": {"$ref": {"type": "string"}, "b": {"const": 1}}}, {"b": 2}, "/properties/b/const"),
    ],
)
def test_the_rule_of_an_error_is_a_place_of_the_schema(schema: Any, value: Any, rule: str) -> None:
    one = {"properties": {"a": {"const": 2}}, "maxProperties": 1}
    none = {"properties": {"c": False}}
    checker = Checker({**schema, "$defs": {"d": one, "e": {"$ref": "#/$defs/d"}, "f": none}})
    error = checker.best_error(value)
    assert error is not None
    assert checker.rule_of(error) == rule


@pytest.mark.parametrize(
    ("schema", "value", "path", "code"),
    [
        ({"properties": {"a": False}}, {"a": 1}, ["a"], "UNKNOWN_ARGUMENT"),
        ({"properties": {"o": {"$ref": "#/$defs/n"}}}, {"o": {"z": 1}}, ["o", "z"], "UNKNOWN_ARGUMENT"),
        ({"patternProperties": {"^x": False}}, {"x1": 1}, ["x1"], "UNKNOWN_ARGUMENT"),
        ({"properties": {"a": {"prefixItems": [False]}}}, {"a": [1]}, ["a", 0], "CONSTRAINT_OTHER"),
        ({"allOf": [False]}, {}, [], "CONSTRAINT_OTHER"),
    ],
)
def test_a_value_whose_schema_is_false_is_named_itself(
    schema: Any, value: Any, path: list[object], code: str
) -> None:
    """By jsonschema's own paths, what contains it is wrong."""
    error = Checker({**schema, "$defs": {"n": {"properties": {"z": False}}}}).best_error(value)
    assert error is not None and list(error.absolute_path) == path and code_of(error) == code
    assert schema_error_words(error).endswith("is not allowed, as no value is")
