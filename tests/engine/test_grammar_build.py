"""Grammars other than of whole calls: parts, bare schemas, white space, free text, custom grammars."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.events import NOTATIONS, SHAPES
from glyphscope.grammar import build_value_grammar
from glyphscope.notation import write_call, write_value
from glyphscope.registry import Tool, ToolRegistry, default_registry
from glyphscope.turns import TurnOptions, build_call_grammar, build_turn_grammar, own_form
from lark_reader import lark_reader


def tools_with(**properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolRegistry((Tool("tool", "", schema),))


GO_FILE = r'"\"" [a-zA-Z0-9_-]+ ".go" "\""'


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_name_alone_is_written_as_in_a_call(notation):
    accepts = lark_reader(build_turn_grammar(own_form(notation, part="name"), default_registry()))
    assert accepts(write_value("search", notation)) and accepts(write_value("send_email", notation))
    assert not accepts(write_value("searc", notation)) and not accepts("")


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_arguments_alone_are_an_object_in_every_shape(notation, shape):
    form = own_form(notation, shape, "arguments", tool="search")
    accepts = lark_reader(build_turn_grammar(form, default_registry()))
    assert accepts(write_value({"query": "a", "max_results": 10}, notation))
    assert not accepts(write_value({"query": "a", "max_results": 101}, notation))
    assert not accepts(write_value({"query": "a", "unknown": 1}, notation))


def test_one_tool_of_many_can_be_selected():
    grammar = build_call_grammar(default_registry(), "json", "flat", TurnOptions(tool="calculate"))
    accepts = lark_reader(grammar)
    assert accepts('{"action":"calculate","expression":"1"}') and not accepts(
        '{"action":"search","query":"a"}'
    )


@pytest.mark.parametrize(
    ("written", "options", "message"),
    [
        ({}, TurnOptions(tool="nothing"), "not allowed"),
        ({"white_space": "any"}, TurnOptions(free_text=True), "begin in one way"),
    ],
)
def test_impossible_options_are_an_error(written, options, message):
    with pytest.raises(GrammarError, match=message) as error:
        build_turn_grammar(own_form("json", **written), default_registry(), options)
    assert error.value.hint


SPACED = [
    '{"action":"search","query":"a","sources":["b","c"]}',
    ' { "action" : "search" ,\n\t"query" : "a" , "sources" : [ "b" , "c" ] }\r\n',
    '{"action": "search", "query": "a", "sources": ["b", "c"]}',
    '{"action":"search","query":"a","sources":[ ]}',
]


@pytest.mark.parametrize(("white_space", "taken"), [("none", [0]), ("single", [0, 2]), ("any", [0, 1, 2, 3])])
def test_white_space_is_allowed_where_the_option_says(white_space, taken):
    form = own_form("json", white_space=white_space)
    accepts = lark_reader(build_turn_grammar(form, default_registry()))
    assert [i for i, text in enumerate(SPACED) if accepts(text)] == taken


@pytest.mark.slow
@at_most(60)
@given(
    value=st.recursive(st.integers(0, 3) | st.sampled_from(["", "a"]), lambda v: st.lists(v, max_size=3), max_leaves=6),
    pads=st.lists(st.sampled_from(["", " ", "\n ", "\t\r"]), min_size=40, max_size=40),
)  # fmt: skip
def test_white_space_does_not_conflict_with_lexemes(value, pads):
    spaces = iter(pads * 20)
    text = "".join(
        f"{next(spaces)}{c}{next(spaces)}" if c in "[]," else c for c in json.dumps(value, separators=",:")
    )
    assert lark_reader(build_value_grammar({}, "json", white_space="any"))(text)


@pytest.mark.parametrize("notation", NOTATIONS)
def test_text_before_a_call_may_be_anything_but_a_call(notation):
    accepts = lark_reader(
        build_call_grammar(default_registry(), notation, "flat", TurnOptions(free_text=True))
    )
    call = write_call("search", {"query": "a"}, style=notation)
    for text in (
        "",
        "I will search. ",
        "{ {} {a} é\n",
        "{{",
        '{"',
        '{"action',
        "{act",
        "{action {",
        '{"actio{',
    ):
        assert accepts(text + call), text
    other = write_call("search", {"query": 1}, style=notation)
    assert not accepts(other + call) and not accepts("only text") and not accepts(call + " and more")


AFTER_WORDS = lark_reader(
    build_call_grammar(ToolRegistry((Tool("go"),)), "glyph", "flat", TurnOptions(free_text=True))
)


@at_most(300)
@given(
    words=st.lists(
        st.sampled_from(["{", "{action", "action", "=", "{action=", "{a", '"go"}', "é "]), max_size=6
    )
)
def test_free_text_ends_where_the_opening_is_first_written(words):
    text = "".join(words)
    call = '{action="go"}'
    assert AFTER_WORDS(text + call) == ((text + call).find("{action=") == len(text))


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_bare_schema_is_a_value_and_its_free_keys_are_free(notation):
    accepts = lark_reader(
        build_value_grammar({"type": "object", "additionalProperties": {"type": "integer"}}, notation)
    )
    assert accepts(write_value({"a": 1, "b": 2}, notation)) and not accepts(write_value({"a": "x"}, notation))
    for schema in (True, {}, {"type": "object"}):
        assert lark_reader(build_value_grammar(schema, notation))(write_value({"a": [1]}, notation))


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        (False, "schema"),
        ([], "schema"),
        ({"type": "strin"}, "schema: /type"),
        ({"properties": {"a": {"minimum": "1"}}}, "schema: /properties/a/minimum"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "schema"),
        ({"items": {"$ref": "https://example.com/x"}, "minItems": 1}, "schema: /items/$ref"),
        ({"allOf": [{"$ref": "#"}], "type": []}, "schema: /type"),
    ],
)
def test_a_schema_without_a_value_or_an_invalid_one_is_an_error_with_its_place(schema, where):
    with pytest.raises(GrammarError) as error:
        build_value_grammar(schema, "json")
    assert error.value.where.startswith(where)


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize(
    "text", [GO_FILE, f"root ::= {GO_FILE}", 'root ::= q [a-zA-Z0-9_-]+ ".go" q\nq ::= "\\""']
)
def test_a_schema_may_contain_a_custom_grammar(notation, text):
    schema = {"type": "string", "maxLength": 20, "x-grammar": text}
    grammar = build_call_grammar(tools_with(file=schema), notation, "flat")
    accepts = lark_reader(grammar)
    assert accepts(write_call("tool", {"file": "main.go"}, style=notation))
    assert not accepts(write_call("tool", {"file": "main.py"}, style=notation))
    assert {unenforced.pointer for unenforced in grammar.unenforced} == {
        "/properties/file/type",
        "/properties/file/maxLength",
    }


def test_a_custom_grammar_may_be_recursive_and_beside_others():
    nested = 'root ::= "[" (root ("," root)*)? "]" | "x"'
    grammar = build_call_grammar(
        tools_with(v={"anyOf": [{"x-grammar": nested}, {"type": "string"}]}), "json", "flat"
    )
    accepts = lark_reader(grammar)
    for value in ("x", "[]", "[x,[x,[]]]", '"a"'):
        assert accepts('{"action":"tool","v":' + value + "}")
    assert not accepts('{"action":"tool","v":[x}') and not accepts('{"action":"tool","v":y}')


def test_a_custom_grammar_does_not_conflict_with_the_text_after_it():
    grammar = build_call_grammar(
        tools_with(a={"x-grammar": "[0-9,]+"}, b={"type": "integer"}), "json", "flat"
    )
    assert lark_reader(grammar)('{"action":"tool","a":1,2,,"b":3}')


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"a" | nothing', "line 1, column 7"),
        ("root ::= [a-z\n", "line 1"),
        ("a ::= b\nb ::= a", "line"),
        (5, "not int"),
    ],
)
def test_errors_in_a_custom_grammar_name_tool_place_line_and_column(text, place):
    with pytest.raises(GrammarError, match=place) as error:
        build_call_grammar(tools_with(x={"x-grammar": text}), "json", "flat")
    assert error.value.where == "tool: /properties/x/x-grammar"
