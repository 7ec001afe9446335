"""Large, deep and hostile schemas: built in bounded time, or rejected with an error that names the reason."""

import json
import time

import pytest

from glyphscope.base.errors import GrammarError, Stopped
from glyphscope.events import NOTATIONS
from glyphscope.grammar import build_value_grammar, contradictions, to_lark
from glyphscope.grammar.gbnf import check_gbnf, emit_gbnf
from glyphscope.notation import write_call, write_value
from glyphscope.processes import stopped_by
from glyphscope.registry import Tool, ToolRegistry, make_tool
from glyphscope.turns import build_call_grammar
from glyphscope.validation import CallValidator
from lark_reader import lark_reader


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("size", [100, 101, 300, 100_000])
def test_a_long_name_is_distinguished_from_others_or_rejected_with_its_name(notation, size):
    schema = {"type": "object", "properties": {"x" * size: {}}, "additionalProperties": {"type": "string"}}
    registry = ToolRegistry((make_tool("t", "", schema),))
    if size <= 100:
        assert "xxx" in to_lark(build_call_grammar(registry, notation, "flat"))
        return
    with pytest.raises(GrammarError, match="more than 100 characters") as caught:
        build_call_grammar(registry, notation, "flat")
    assert caught.value.where.startswith('"xxx') and "additionalProperties" in caught.value.hint


@pytest.mark.slow
@pytest.mark.parametrize("notation", NOTATIONS)
def test_two_thousand_tools_are_built_in_seconds_and_each_can_be_called(notation):
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "n": {"type": "integer", "maximum": 9}},
    }
    tools = ToolRegistry(tuple(Tool(f"tool_{i}", "", schema | {"required": ["q"]}) for i in range(2000)))
    start = time.process_time()
    lark = to_lark(build_call_grammar(tools, notation, "flat"))
    assert time.process_time() - start < 10  # most machines need 2
    accepts = lark_reader(lark)
    for i in (0, 1, 19, 199, 1999):
        document = {"action": f"tool_{i}", "q": "", "n": 9}
        assert accepts(write_value(document, notation))
    assert not accepts(write_value({"action": "tool_2000", "q": ""}, notation))


def nested(levels, wrap):
    schema = {"type": "integer"}
    for _ in range(levels):
        schema = wrap(schema)
    return schema


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrap", "wrap_value"),
    [
        (lambda s: {"type": "object", "properties": {"a": s}, "required": ["a"]}, lambda value: {"a": value}),
        (lambda s: {"type": "array", "items": s}, lambda value: [value]),
        (lambda s: {"anyOf": [s, {"type": "null"}]}, lambda value: value),
        (lambda s: {"allOf": [s]}, lambda value: value),
    ],
    ids=["properties", "items", "anyOf", "allOf"],
)
def test_a_schema_200_levels_deep_is_enforced(wrap, wrap_value):
    schema = {"type": "object", "properties": {"x": nested(200, wrap)}, "required": ["x"]}
    tools = ToolRegistry((Tool("tool", "", schema),))
    for notation in NOTATIONS:
        accepts = lark_reader(build_call_grammar(tools, notation, "tool-args"))
        for innermost, valid in ((7, True), ("seven", False)):
            value = innermost
            for _ in range(200):
                value = wrap_value(value)
            call = write_value({"tool": "tool", "args": {"x": value}}, notation)
            assert accepts(call) == valid


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_hostile_pattern_is_enforced_in_linear_time(notation):
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}
    tools = ToolRegistry((Tool("tool", "", schema | {"required": ["x"]}),))
    grammar = build_call_grammar(tools, notation, "flat")
    assert not grammar.unenforced
    accepts = lark_reader(grammar)
    begin = {"glyph": '{action="tool" x="', "json": '{"action":"tool","x":"'}[notation]
    start = time.process_time()
    assert accepts(begin + "a" * 20_000 + '"}')
    assert not accepts(begin + "a" * 20_000 + '!"}')
    assert time.process_time() - start < 1


def test_a_stop_ends_the_building_of_a_grammar():
    many = {"anyOf": [{"minimum": i} for i in range(12)]}
    schema = {"type": "object", "properties": {"x": {"type": "integer", "allOf": [many] * 6}}}
    start = time.process_time()
    with stopped_by(lambda: True), pytest.raises(Stopped):
        build_call_grammar(ToolRegistry((Tool("stopped", "", schema),)), "json", "flat")
    assert time.process_time() - start < 1


@pytest.mark.slow
def test_alternatives_that_multiply_are_an_error():
    many = {"anyOf": [{"minimum": i} for i in range(12)]}
    schema = {"type": "object", "properties": {"x": {"type": "integer", "allOf": [many] * 6}}}
    with pytest.raises(GrammarError, match="more than"):
        build_call_grammar(ToolRegistry((Tool("tool", "", schema),)), "json", "flat")


def _of_constants(keyword, count):
    return {keyword: [{"const": f"value-{i}"} for i in range(count)]}, "value-3", "value-x"


def _chain(keyword, links):
    """Each link refers twice to the next one."""
    defs = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(links)}
    return {"$ref": "#/$defs/d0", "$defs": defs | {f"d{links}": {"type": "string"}}}, "a", 5


COSTLY = {
    "anyOf-constants": _of_constants("anyOf", 4000),
    "oneOf-constants": _of_constants("oneOf", 4000),
    "allOf-chain": _chain("allOf", 200),
    "anyOf-chain": _chain("anyOf", 200),
    "unevaluated-chain": (
        {"$ref": "#/$defs/d0", "unevaluatedProperties": False}
        | {"$defs": _chain("allOf", 24)[0]["$defs"] | {"d24": {"type": "object", "properties": {"a": {}}}}},
        {"a": 1}, {"b": 1},
    ),
    "discriminated": (
        {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": f"k{i}"}, "v": {"type": "integer"}},
             "required": ["kind", "v"]} for i in range(1000)
        ]},
        {"kind": "k7", "v": 1}, {"kind": "k7", "v": "x"},
    ),
    "prefixes": ({"enum": ["a" * i for i in range(1, 3000)]}, "aaa", "b"),
    "huge-bounds": ({"type": "integer", "minimum": -(10**400), "maximum": 10**401}, 7, "a"),
    "huge-length": ({"type": "string", "maxLength": 10**400}, "a", 5),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_schema_is_built_and_judged_in_a_second_or_two(name):
    schema, good, bad = COSTLY[name]
    start = time.process_time()
    tool = make_tool("tool", "", {"type": "object", "properties": {"x": _local(schema)}, "required": ["x"]})
    grammar = build_call_grammar(ToolRegistry((tool,)), "json", "tool-args")
    accepts = lark_reader(grammar)
    assert check_gbnf(emit_gbnf(grammar).text).ok
    assert not contradictions(tool)
    for value, valid in ((good, True), (bad, False)):
        text = write_call("tool", {"x": value}, style="json", shape="tool-args")
        assert accepts(text) == valid
        judge = CallValidator(ToolRegistry((tool,)), "json", "tool-args")
        judge.feed(text)
        judge.finish()
        assert judge.valid == valid
    assert time.process_time() - start < 5


def _local(schema):
    """The schema as that of an argument."""
    return json.loads(json.dumps(schema).replace("#/$defs", "#/properties/x/$defs"))


@pytest.mark.parametrize(
    "schema",
    [{"type": "string", "minLength": 10**400}, {"type": "array", "minItems": 10**400},
     {"type": "object", "minProperties": 10**400}, {"type": "integer", "minimum": 10**400}],
    ids=["text", "array", "object", "integer"],
)  # fmt: skip
def test_a_size_that_no_value_has_is_an_error(schema):
    with pytest.raises(GrammarError, match="No value can be valid"):
        build_value_grammar(schema, "json")


def test_constants_of_many_alternatives_are_judged_while_they_are_written():
    tools = ToolRegistry(
        (make_tool("tool", "", {"type": "object", "properties": {"x": COSTLY["anyOf-constants"][0]}}),)
    )
    judge = CallValidator(tools, "json", "flat")
    judge.feed('{"action":"tool","x":"valut')
    assert [found.char for found in judge.violations] == [26]
