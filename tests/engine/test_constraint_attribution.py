"""The constraint that masks a token: the right one for every kind of keyword, and none where several do together."""

import pytest

import keyword_rows
from glyphscope.events import RunRequest
from glyphscope.explain.constraint_attribution import Attribution, Attributor
from glyphscope.explain.proof import boundary_examples
from glyphscope.grammar import compile_grammar, match_text
from glyphscope.notation import write_call
from glyphscope.registry import default_registry, parse_document
from glyphscope.runs.relaxation import parts_of, relaxed
from glyphscope.runs.strategies.turns import expected_answer
from keyword_rows import IDS, ROWS, one_of_each


def request(registry, **changes):
    return RunRequest(**{"prompt": "x", "registry": registry.to_document(), **changes})


def one_tool(parameters):
    tools = [{"name": "t", "description": "", "parameters": {"type": "object", **parameters}}]
    return parse_document({"glyphscope": 1, "tools": tools})


@pytest.mark.slow
@pytest.mark.parametrize("schema", [row[0] for row in ROWS], ids=IDS[: len(ROWS)])
def test_a_masked_token_is_attributed_to_its_constraint(schema):
    """Proved by relaxing that very pointer: then the grammar accepts the token, and did not before."""
    registry = keyword_rows.registry(("x", schema))
    asked = request(registry, notation="json" if len(str(schema)) % 2 else "glyph")
    whole = expected_answer(asked).grammar(registry)
    for example in one_of_each(boundary_examples(registry.tools[0])):
        text = write_call("tool", example.arguments, style=asked.notation)
        place = match_text(whole, text).failed_at
        assert place is not None and place < len(text), (example, text)
        found = Attributor(asked, registry).find(text[:place], text[place:])
        if found is None:  # no single constraint, as the schema is `false`, applies twice, or lists a 5.0
            assert example.keyword == "false" or "#/properties/x" in str(schema) or schema == {"enum": [5.0]}
            continue
        free = expected_answer(asked).grammar(relaxed(registry, "tool", found.pointer))
        assert compile_grammar(free).start().feed(text).accepted
        pointer = found.pointer if found.keyword != "required" else found.pointer.rpartition("/")[0]
        choice = found.keyword in (
            "anyOf",
            "oneOf",
            "propertyNames",
            "unevaluatedProperties",
            "unevaluatedItems",
        )
        assert pointer == example.pointer or choice, found


def test_a_syntax_error_is_attributed_to_no_constraint():
    registry = default_registry()
    refusals = Attributor(request(registry), registry)
    assert refusals.find('{action="sea', "x") is None  # the tool is not known yet
    assert refusals.find("", "x") is None
    assert refusals.find('{action="search" query="a"', "x") is None
    assert refusals.find('{action="search" query="a" max_results=', "10") is None  # the token is allowed
    assert refusals.find("no call at all", "x") is None
    assert refusals.find('{action="search" query="', "<|im_end|>") is None  # a control token
    own = Attributor(request(registry, grammar='root ::= "a"'), registry)
    assert own.find("", "b") is None


@pytest.mark.parametrize(
    ("before", "text", "pointer"),
    [
        ('query="a" max_results=', "0", "/properties/max_results/minimum"),
        ('query="a" max_results=10', "1", "/properties/max_results/maximum"),
        ('query="a" max_results=10', "1}", "/properties/max_results/maximum"),
        ('query="a" max_results=', '"', "/properties/max_results/type"),
        ('query="a" ', "other=1", "/additionalProperties"),
        ("", "max_results=", "/required/query"),
        ('query="', '"}', "/properties/query/minLength"),
    ],
)
def test_a_token_of_several_characters_is_attributed_to_the_constraint_it_violates(before, text, pointer):
    registry = default_registry()
    found = Attributor(request(registry), registry).find(f'{{action="search" {before}', text)
    assert found is not None and (found.tool, found.pointer) == ("search", pointer)


def test_a_shared_definition_is_named_at_the_place_where_it_can_be_relaxed():
    registry = one_tool(
        {
            "properties": {"a": {"$ref": "#/$defs/size"}, "b": {"$ref": "#/$defs/size"}},
            "$defs": {"size": {"type": "integer", "maximum": 9}},
        }
    )
    found = Attributor(request(registry), registry).find('{action="t" b=1', "0")
    assert found == Attribution("t", "/properties/b/$ref/maximum", "maximum")
    assert relaxed(registry, "t", found.pointer)


def test_a_token_that_several_alternatives_mask_is_attributed_to_the_right_one():
    either = {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "string", "maxLength": 3}]}
    registry = one_tool({"properties": {"a": either}})
    refusals = Attributor(request(registry), registry)
    assert refusals.find('{action="t" a=', "[").pointer == "/properties/a/anyOf"
    assert refusals.find('{action="t" a=1', "0").pointer == "/properties/a/anyOf/0/maximum"
    assert refusals.find('{action="t" a="abc', "d").pointer == "/properties/a/anyOf/1/maxLength"


def test_a_token_that_two_constraints_mask_is_attributed_to_none():
    registry = one_tool({"properties": {"a": {"type": "string", "maxLength": 2, "pattern": "^[a-z]*$"}}})
    refusals = Attributor(request(registry), registry)
    assert refusals.find('{action="t" a="ab', "7") is None
    assert refusals.find('{action="t" a="ab', "c").keyword == "maxLength"
    assert refusals.find('{action="t" a="a', "7").keyword == "pattern"


def test_a_pointer_is_split_into_place_keyword_and_member():
    for pointer, parts in {
        "/required/0": ((), "required", "0"),
        "/properties/a/required/b~1c": (("properties", "a"), "required", "b/c"),
        "/properties/a/required/type": (("properties", "a"), "required", "type"),
        "/properties/required/enum": (("properties", "required"), "enum", ""),
        "/$defs/required/required/required": (("$defs", "required"), "required", "required"),
        "/required": ((), "required", ""),
        "": ((), "", ""),
    }.items():
        assert parts_of(pointer) == parts


@pytest.mark.parametrize(
    ("notation", "before", "text"),
    [
        ("glyph", '{action="search" query="x"', " query"),
        ("glyph", '{action="search" query="x" max_results=3', " max"),
        ("json", '{"action":"search","query":"x",', '"query'),
    ],
)
def test_a_duplicate_key_is_attributed_to_no_constraint(notation, before, text):
    """Without additionalProperties the token could only continue another key."""
    registry = default_registry()
    refusals = Attributor(request(registry, notation=notation), registry)
    assert refusals.unrelated(before, text) == "duplicate"
    assert refusals.find(before, text) is None
    other = refusals.find(before, text.replace("max", "zmax").replace("query", "zquery"))
    assert other is not None and other.keyword == "additionalProperties"
