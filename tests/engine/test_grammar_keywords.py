"""Every keyword of JSON Schema in grammars and validators, on one table of schemas with values."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.events import NOTATIONS, SHAPES
from glyphscope.grammar import (
    SafeValidator,
    build_value_grammar,
    call_schema,
    fitting_shape,
    match_text,
    shape_note,
)
from glyphscope.grammar.gbnf import check_gbnf, emit_gbnf
from glyphscope.notation import write_call, write_value
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.turns import TurnOptions, build_call_grammar
from glyphscope.validation import CallValidator
from glyphscope.validation.checker import Checker
from keyword_rows import EVERY, IDS, INT, NUM, ROWS, STR, UNENFORCED, registry
from lark_reader import lark_reader
from orders import in_some_order


@pytest.mark.parametrize("notation", ["glyph", pytest.param("json", marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", ["flat", pytest.param("tool-args", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("schema", "good", "bad"), ROWS, ids=IDS[: len(ROWS)])
def test_no_keyword_leaks_and_none_rejects_a_valid_value(schema, good, bad, notation, shape):
    accepts = lark_reader(build_call_grammar(registry(("x", schema)), notation, shape))
    for value, expected in [(value, True) for value in good] + [(value, False) for value in bad]:
        text = write_call("tool", {"x": value}, style=notation, shape=shape)
        assert accepts(text) == expected, text


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize(("schema", "good", "bad"), ROWS, ids=IDS[: len(ROWS)])
def test_members_may_come_in_any_order(schema, good, bad, notation):
    grammar = build_call_grammar(registry(("x", schema)), notation, "tool-args", TurnOptions(order="any"))
    accepts = lark_reader(grammar)
    for value, expected in [(value, True) for value in good] + [(value, False) for value in bad]:
        for seed in range(3):
            arguments = {"x": in_some_order(value, Random(seed))}
            text = write_call("tool", arguments, style=notation, shape="tool-args")
            assert accepts(text) == match_text(grammar, text).accepted == expected, text


@pytest.mark.parametrize(("schema", "good", "bad"), EVERY, ids=IDS)
def test_the_validator_and_its_final_check_agree_about_every_keyword(schema, good, bad):
    tools = registry(("x", schema))
    checker = Checker(tools.tools[0].parameters)
    for value, expected in [(value, True) for value in good] + [(value, False) for value in bad]:
        assert checker.valid({"x": value}, tools.tools[0].parameters) == expected, value
        for notation in NOTATIONS:
            validator = CallValidator(tools, notation, "flat")
            validator.feed(write_call("tool", {"x": value}, style=notation))
            validator.finish()
            assert validator.valid == expected, (value, notation)


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize(("schema", "good", "bad", "keyword"), UNENFORCED, ids=IDS[len(ROWS) :])
def test_an_unenforced_keyword_is_named_with_its_place(schema, good, bad, keyword, notation):
    grammar = build_call_grammar(registry(("x", schema)), notation, "flat")
    assert [(left.tool, left.pointer, left.keyword) for left in grammar.unenforced if left.keyword] == [
        ("tool", f"/properties/x/{keyword}", keyword)
    ]
    assert all(left.why for left in grammar.unenforced)
    accepts = lark_reader(grammar)
    assert all(accepts(write_call("tool", {"x": value}, style=notation)) for value in good)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("notation", NOTATIONS)
def test_optional_arguments_may_be_left_out_but_not_swapped_or_repeated(notation, shape):
    tools = registry(("a", INT), ("x", STR), ("b", INT), ("c", INT))
    accepts = lark_reader(build_call_grammar(tools, notation, shape))

    def call(arguments):
        return accepts(write_call("tool", arguments, style=notation, shape=shape))

    assert (
        call({"x": ""})
        and call({"a": 1, "x": ""})
        and call({"x": "", "c": 1})
        and call({"a": 1, "x": "", "b": 2, "c": 3})
    )
    assert not call({"a": 1}) and not call({"x": "", "a": 1}) and not call({"c": 1, "x": ""})
    assert not call({"x": "", "unknown": 1})


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_only_allowed_tools_can_be_named(notation, shape):
    names = ["search", "search_web", "send", "t", "_x", "größe", 'a"b', "delete"]
    tools = ToolRegistry(tuple(Tool(name, "", enabled=name != "delete") for name in names))
    accepts = lark_reader(build_call_grammar(tools, notation, shape))
    for name in names:
        assert accepts(write_call(name, {}, style=notation, shape=shape)) == (name != "delete")
    for name in ("sear", "search_", "sends", ""):
        assert not accepts(write_call(name, {}, style=notation, shape=shape))


@pytest.mark.parametrize("notation", NOTATIONS)
def test_the_top_level_accepts_no_argument_outside_the_schema(notation):
    tools = ToolRegistry((Tool("tool", "", {"type": "object"}),))
    accepts = lark_reader(build_call_grammar(tools, notation, "tool-args"))
    assert accepts(write_call("tool", {}, style=notation, shape="tool-args"))
    assert not accepts(write_call("tool", {"a": 1}, style=notation, shape="tool-args"))


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ('{tool="tool" args={x="a"}}', True),
        ('{tool="tool" args={x="\\u00e9\\n\\t\\""}}', True),
        ('{tool="tool" args={x="\\ud83d\\ude00"}}', False),  # glyph-py reads two halves
        ('{tool="tool" args={x="\\b"}}', False),
        ('{tool="tool" args={x="\\/"}}', False),
        ('{tool="tool" args={x="a\nb"}}', False),
        ('{tool="tool" args={x=a}}', False),
        ('{tool="tool" args={x="a"} }', False),
        ('{tool="tool" args={x="a"}} ', False),
        (' {tool="tool" args={x="a"}}', False),
    ],
)
def test_glyph_strings_have_no_ambiguous_escape(text, accepted):
    assert lark_reader(build_call_grammar(registry(("x", STR)), "glyph", "tool-args"))(text) == accepted


@pytest.mark.parametrize(
    ("schema", "text", "accepted"),
    [
        (STR, '"\\ud83d\\ude00\\u00e9\\/\\b"', True),
        (STR, '"\\ud83d"', False),
        (STR | {"maxLength": 1}, '"\\ud83d\\ude00"', True),
        (STR | {"maxLength": 1}, '"\\u00e9\\u00e9"', False),
        (INT, "01", False),
        (INT, "-0", False),
        (INT, "1.0", False),
        (INT, "1e2", False),
        (NUM, "1e2", True),
        (NUM, "1e999", False),
        (NUM, "1.", False),
        (NUM | {"maximum": 100}, "500e-1", False),
    ],
)
def test_json_values_are_spelled_as_the_language_of_calls_says(schema, text, accepted):
    accepts = lark_reader(build_call_grammar(registry(("x", schema)), "json", "flat"))
    assert accepts(f'{{"action":"tool","x":{text}}}') == accepted


PATTERNS = ["^a", "b$", "^a$", "^(a|b)$", "^[^a]", "^(?!a)", r"^\w$"]
KEYS = ["a", "b", "ab", "ba", "c", "é", 'q"']


@st.composite
def key_schemas(draw):
    """Objects with any of the keywords that limit keys."""
    limits = {
        "properties": st.dictionaries(st.sampled_from(KEYS), SIMPLE, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), SIMPLE, min_size=1, max_size=4),
        "additionalProperties": SIMPLE,
        "unevaluatedProperties": SIMPLE,
        "propertyNames": st.sampled_from(
            [True, False, STR, {"maxLength": 1}, {"pattern": "b"}, {"enum": ["a", "b"]}, {"const": "ab"}, INT,
             {"not": {"const": "a"}}, {"anyOf": [{"const": "a"}, {"const": "c"}]}, {"$ref": "#/$defs/name"}]
        ),
        "required": st.lists(st.sampled_from(KEYS), max_size=1),
    }  # fmt: skip
    chosen = draw(st.lists(st.sampled_from(sorted(limits)), unique=True, max_size=4))
    return {"type": "object"} | {keyword: draw(limits[keyword]) for keyword in chosen}


SIMPLE = st.sampled_from([INT, STR, True, False, {"type": ["integer", "null"]}])


@pytest.mark.slow
@at_most(150)
@given(
    outer=key_schemas(),
    inner=key_schemas(),
    place=st.sampled_from(["", "allOf", "$ref", "anyOf"]),
    instances=st.lists(
        st.dictionaries(st.sampled_from(KEYS), st.sampled_from([1, "x", None]), max_size=2),
        min_size=4, max_size=8,
    ),
    order=st.sampled_from(["schema", "any"]),
    notation=st.sampled_from(NOTATIONS),
)  # fmt: skip
def test_keys_are_enforced_or_listed_and_the_gbnf_has_a_body_for_each_rule(
    outer, inner, place, instances, order, notation
):
    schema = outer | {"$defs": {"name": {"enum": ["b", "c"]}, "inner": inner}}
    if place:
        schema[place] = "#/$defs/inner" if place == "$ref" else [inner]
    validator = SafeValidator(schema)
    try:
        grammar = build_value_grammar(schema, notation, order=order)
    except GrammarError as error:
        assert "No value can be valid" in str(error) or "satisfies" in str(error)
        assert not any(map(validator.is_valid, instances)) or place
        return
    assert check_gbnf(emit_gbnf(grammar).text).ok
    listed = any(left.keyword for left in grammar.unenforced)
    accepts = lark_reader(grammar)
    for instance in instances:
        if accepts(write_value(instance, notation)):
            assert listed or validator.is_valid(instance), (schema, instance)
        elif validator.is_valid(instance):
            exact = order == "any" and not place and outer.get("additionalProperties") is not None
            plain = all(key.isascii() and key.isalpha() for key in instance)
            assert not exact or not plain or _left_out(outer) or listed, (schema, instance)


def _left_out(schema):
    """Whether a key may match several of too many patterns, or perhaps one that no grammar can decide."""
    patterns = schema.get("patternProperties", {})
    return len(patterns) > 3 or "^(?!a)" in patterns


@pytest.mark.parametrize("names", [True, {"type": "string"}, {}])
def test_names_that_nothing_excludes_are_not_listed_and_exclude_no_alternative(names):
    free = {"type": "object", "propertyNames": names, "additionalProperties": INT}
    for schema in (free, {"oneOf": [free, {"type": "null"}]}):
        grammar = build_call_grammar(registry(("x", schema)), "json", "flat")
        assert not [left for left in grammar.unenforced if left.keyword]
        assert lark_reader(grammar)('{"action":"tool","x":{"any":1}}')


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "not": False},
        {"type": "string", "if": {"minLength": 3}},
        {"type": "array", "items": INT, "contains": {"const": 1}, "minContains": 0},
        {
            "type": "array",
            "items": INT,
            "contains": {"const": 1},
            "unevaluatedItems": False,
            "minContains": 0,
        },
        {"type": "object", "properties": {"a": INT}, "dependentRequired": {}},
    ],
    ids=str,
)
def test_a_keyword_that_rejects_nothing_is_not_listed(schema):
    assert not build_call_grammar(registry(("x", schema)), "json", "flat").unenforced


@pytest.mark.parametrize("notation", NOTATIONS)
def test_each_step_of_a_common_multiple_that_is_too_large_is_named(notation):
    schema = INT | {
        "multipleOf": 7,
        "anyOf": [{"multipleOf": 11}],
        "allOf": [{"multipleOf": 13}, {"multipleOf": 1}],
    }
    grammar = build_call_grammar(registry(("x", schema)), notation, "flat")
    steps = {f"/properties/x/{place}multipleOf" for place in ("", "anyOf/0/", "allOf/0/")}
    assert {left.pointer for left in grammar.unenforced} == steps | {"/properties/x/anyOf"}
    assert lark_reader(grammar)(write_call("tool", {"x": 5}, style=notation, shape="flat"))


def test_alternatives_that_cannot_overlap_are_enforced():
    kinds = [
        {"type": "object", "properties": {"kind": {"const": kind}, "v": value}, "required": ["kind", "v"]}
        for kind, value in (("a", INT), ("b", STR))
    ]
    grammar = build_call_grammar(registry(("x", {"oneOf": kinds})), "json", "flat")
    assert not grammar.unenforced
    assert lark_reader(grammar)('{"action":"tool","x":{"kind":"b","v":"1"}}')
    assert not lark_reader(grammar)('{"action":"tool","x":{"kind":"a","v":"1"}}')


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        (INT | {"minimum": 5, "maximum": 4}, "/properties/x"),
        (STR | {"minLength": 5, "maxLength": 4}, "/properties/x"),
        (STR | {"pattern": "^[a-z]+$", "format": "date"}, "/properties/x"),
        ({"enum": ["a"], "type": "integer"}, "/properties/x/enum"),
        (False, "/properties/x"),
        (
            {"type": "object", "properties": {"y": {"$ref": "#/properties/x"}}, "required": ["y"]},
            "parameters",
        ),
        ({"$ref": "https://example.com/schema.json"}, "/properties/x/$ref"),
    ],
)
def test_a_tool_that_cannot_be_called_is_an_error_with_tool_and_place(schema, where):
    tools = ToolRegistry(
        (Tool("tool", "", {"type": "object", "properties": {"x": schema}, "required": ["x"]}),)
    )
    with pytest.raises(GrammarError) as error:
        build_call_grammar(tools, "json", "flat")
    assert error.value.where == f"tool: {where}" and error.value.hint


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tool_that_cannot_be_called_is_left_out_and_listed_and_the_others_can_be_called(shape):
    impossible = {
        "type": "object",
        "properties": {"x": INT | {"minimum": 5, "maximum": 4}},
        "required": ["x"],
    }
    tools = ToolRegistry((Tool("good"), Tool("bad", "", impossible)))
    grammar = build_call_grammar(tools, "json", shape)
    assert [(left.tool, left.pointer) for left in grammar.unenforced] == [("bad", "/properties/x")]
    assert lark_reader(grammar)(write_call("good", {}, style="json", shape=shape))
    assert not lark_reader(grammar)(write_call("bad", {"x": 5}, style="json", shape=shape))
    assert check_gbnf(emit_gbnf(grammar).text).ok


@pytest.mark.parametrize("notation", NOTATIONS)
def test_an_optional_argument_that_cannot_have_a_value_is_never_written(notation):
    grammar = build_call_grammar(
        registry(("x", STR), ("y", INT | {"minimum": 5, "maximum": 4})), notation, "flat"
    )
    accepts = lark_reader(grammar)
    assert accepts(write_call("tool", {"x": "a"}, style=notation))
    assert not accepts(write_call("tool", {"x": "a", "y": 5}, style=notation))


@pytest.mark.parametrize(
    "parameters",
    [{"properties": {"action": STR}}, {"anyOf": [{"properties": {"b": STR}}, {"properties": {"action": STR}}]},
     {"allOf": [{"$ref": "#/$defs/d"}], "$defs": {"d": {"properties": {"action": STR}}}}],
    ids=["properties", "anyOf", "$ref"],
)  # fmt: skip
def test_calls_with_an_argument_named_action_have_the_shape_tool_args_instead_of_flat(parameters):
    tools = ToolRegistry((Tool("other"), Tool("tool", "", {"type": "object"} | parameters)))
    text = '{"tool":"tool","args":{"action":"a"}}'
    assert fitting_shape(tools, "flat") == "tool-args" and "tool" in shape_note(tools, "flat")
    assert lark_reader(build_call_grammar(tools, "json", "flat"))(text)
    assert "tool" in call_schema(tools, "flat")["oneOf"][1]["properties"]
    judge = CallValidator(tools, "json", "flat")
    judge.feed(text)
    judge.finish()
    assert judge.valid and not judge.violations


def test_a_disabled_tool_with_an_argument_named_action_leaves_the_shape_flat():
    tools = ToolRegistry((Tool("a"), Tool("b", "", {"type": "object", "properties": {"action": STR}}, False)))
    assert fitting_shape(tools, "flat") == "flat" and not shape_note(tools, "flat")


def test_an_empty_allow_list_is_an_error():
    with pytest.raises(GrammarError, match="No tool is allowed"):
        build_call_grammar(ToolRegistry((Tool("tool", enabled=False),)), "json", "flat")


def test_a_registry_without_tools_asks_for_one():
    with pytest.raises(GrammarError, match="There is no tool") as caught:
        build_call_grammar(ToolRegistry(()), "json", "flat")
    assert "Add" in caught.value.hint


def test_rules_know_the_place_they_come_from():
    grammar = build_call_grammar(registry(("x", {"type": "array", "items": STR})), "json", "flat")
    origins = {rule.origin.pointer for rule in grammar.rules.values() if rule.origin}
    assert origins == {"", "/properties/x", "/properties/x/items"}
    assert {rule.origin.tool for rule in grammar.rules.values() if rule.origin} == {"tool"}


def test_equal_registries_share_a_grammar_and_edits_make_a_new_one():
    first = build_call_grammar(registry(("x", STR)), "json", "flat")
    assert build_call_grammar(registry(("x", STR)), "json", "flat") is first
    assert build_call_grammar(registry(("x", INT)), "json", "flat") is not first


def test_infinite_bounds_do_not_stop_the_build():
    grammar = build_call_grammar(registry(("x", INT | {"maximum": math.inf, "minimum": 1})), "json", "flat")
    assert lark_reader(grammar)('{"action":"tool","x":12}')
