"""Arguments in any order: every order of a valid call is read, nothing comes twice, nothing required is missing."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.events import NOTATIONS, SHAPES, Notation, Shape
from glyphscope.grammar import build_value_grammar, match_text, shortest_differences
from glyphscope.grammar.gbnf import emit_gbnf, load_gbnf
from glyphscope.grammar.tree import Grammar
from glyphscope.notation import write_call, write_value
from glyphscope.registry import ToolRegistry, load_registry
from glyphscope.turns import TurnOptions, build_call_grammar, build_turn_grammar, own_form
from glyphscope.validation import CallValidator
from lark_reader import lark_reader
from orders import in_some_order


def one_tool(schema: dict[str, Any]) -> ToolRegistry:
    return load_registry({"glyphscope": 1, "tools": [{"name": "f", "parameters": schema}]})


def grammar_of(
    schema: dict[str, Any],
    notation: Notation = "json",
    shape: Shape = "flat",
    white_space: Any = "none",
    **options: Any,
) -> Grammar:
    form = own_form(notation, shape, white_space=white_space)
    return build_turn_grammar(form, one_tool(schema), TurnOptions(order="any", **options))


# Calls

NESTED = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "ab": {"type": "string", "pattern": "^[a-z]*$"},
        "o": {
            "type": "object",
            "properties": {"x": {"type": "boolean"}, "y": {"enum": ["p", "q"]}, "z": {"type": "null"}},
            "required": ["y"],
            "additionalProperties": False,
        },
        "l": {
            "type": "array",
            "items": {"type": "object", "properties": {"m": {}, "n": {"type": "integer"}}},
        },
    },
    "required": ["a", "o"],
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "a": st.integers(-99, 99),
    "ab": st.text("abz", max_size=3),
    "o": st.fixed_dictionaries(
        {"y": st.sampled_from("pq")}, optional={"x": st.booleans(), "z": st.none()}
    ),
    "l": st.lists(st.fixed_dictionaries({}, optional={"m": st.integers(0, 9), "n": st.integers(0, 9)}), max_size=2),
}  # fmt: skip
CALLS = st.fixed_dictionaries(
    {key: VALUES[key] for key in ("a", "o")}, optional={key: VALUES[key] for key in ("ab", "l")}
)
FORMS = list(itertools.product(NOTATIONS, SHAPES))


@pytest.mark.slow
@pytest.mark.parametrize(("notation", "shape"), FORMS)
@at_most(25)
@given(CALLS, st.randoms(use_true_random=False))
def test_every_order_of_a_valid_call_is_accepted_by_mask_matcher_and_validator(
    notation: Notation, shape: Shape, arguments: dict[str, Any], chance: random.Random
) -> None:
    grammar = grammar_of(NESTED, notation, shape)
    mask = lark_reader(grammar)
    first = verdict(arguments, notation, shape)
    for _ in range(4):
        ordered = in_some_order(arguments, chance)
        text = write_call("f", ordered, style=notation, shape=shape)
        assert mask(text), text
        assert match_text(grammar, text).accepted, text
        assert verdict(ordered, notation, shape) == first


def verdict(arguments: Any, notation: Notation, shape: Shape) -> tuple[Any, ...]:
    validator = CallValidator(one_tool(NESTED), notation, shape)
    validator.feed(write_call("f", arguments, style=notation, shape=shape))
    validator.finish()
    return validator.valid, sorted((one.path, one.code) for one in validator.violations), validator.arguments


def first_violation(text: str, chunks: list[int], schema: dict[str, Any], notation: Notation) -> int | None:
    """Return the first deciding character, the same for any chunking."""
    validator = CallValidator(one_tool(schema), notation, "tool-args")
    at = 0
    for size in chunks:
        validator.feed(text[at : at + size])
        at += size
    validator.feed(text[at:])
    validator.finish()
    return validator.violations[0].char if validator.violations else None


@pytest.mark.parametrize("notation", NOTATIONS)
@at_most(60)
@given(CALLS, st.randoms(use_true_random=False), st.lists(st.integers(1, 5), max_size=20), st.integers(0, 9))
def test_a_duplicate_key_is_rejected_where_the_validator_rejects_it(
    notation: Notation, arguments: dict[str, Any], chance: random.Random, chunks: list[int], place: int
) -> None:
    ordered = in_some_order(arguments, chance)
    again = list(ordered)[place % len(ordered)]
    text = write_call("f", ordered, style=notation, shape="tool-args")
    more = write_call("f", {again: ordered[again]}, style=notation, shape="tool-args")
    begun = len(write_call("f", {}, style=notation, shape="tool-args")) - 2
    broken = text[:-2] + ("," if notation == "json" else " ") + more[begun:]
    failed = match_text(grammar_of(NESTED, notation, "tool-args"), broken).failed_at
    assert failed is not None
    assert failed >= len(text) - 2, "in the key, or at the comma where every key was written"
    # readers of GLYPH accept a space before the brace, too, which no writer writes
    spaced = notation == "glyph" and broken[failed] == " "
    assert failed + spaced == first_violation(broken, chunks, NESTED, notation)


@pytest.mark.parametrize("notation", NOTATIONS)
@at_most(60)
@given(CALLS, st.randoms(use_true_random=False), st.lists(st.integers(1, 5), max_size=20), st.booleans())
def test_a_missing_required_key_is_rejected_at_the_brace(
    notation: Notation, arguments: dict[str, Any], chance: random.Random, chunks: list[int], inner: bool
) -> None:
    ordered = in_some_order(arguments, chance)
    if inner:
        ordered["o"] = {key: value for key, value in ordered["o"].items() if key != "y"}
    else:
        del ordered[chance.choice("ao")]
    text = write_call("f", ordered, style=notation, shape="tool-args")
    failed = match_text(grammar_of(NESTED, notation, "tool-args"), text).failed_at
    assert failed is not None
    assert text[failed] == "}"
    assert failed == first_violation(text, chunks, NESTED, notation)


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_call_is_accepted_in_any_order_after_free_text_and_under_a_relaxed_schema(
    notation: Notation,
) -> None:
    text = write_call("f", {"o": {"y": "p"}, "ab": "z", "a": 1}, style=notation)
    spoken = lark_reader(grammar_of(NESTED, notation, free_text=True))
    assert spoken(f"So: {text}")
    relaxed = {**NESTED, "required": ["o"]}
    assert lark_reader(grammar_of(relaxed, notation))(
        write_call("f", {"l": [{"n": 1, "m": 2}], "o": {"y": "p"}}, style=notation)
    )


def test_the_tools_name_stays_the_first_member_of_a_call() -> None:
    grammar = grammar_of(NESTED, "json", "tool-args")
    assert not match_text(grammar, '{"args":{"a":1,"o":{"y":"p"}},"tool":"f"}').prefix_ok
    assert match_text(grammar, '{"tool":"f","args":{"o":{"y":"p"},"a":1}}').accepted


def test_the_schemas_order_is_a_part_of_any_order() -> None:
    tools = one_tool({"type": "object", "properties": {k: {"enum": [1]} for k in "abc"}, "required": ["b"]})
    both = [build_call_grammar(tools, "json", "flat", TurnOptions(order=o)) for o in ("schema", "any")]
    found = shortest_differences(*both)
    assert found.exhausted
    assert found.only_first is None
    assert found.only_second == '{"action":"f","b":1,"a":1}'


# Constraints on members

FREE = {
    "type": "object",
    "properties": {"to": {"type": "integer"}, "by": {"type": "integer"}},
    "required": ["to"],
    "additionalProperties": {"type": "string"},
}


@pytest.mark.parametrize("white_space", ["none", "single", "any"])
def test_free_keys_are_allowed_anywhere_and_never_have_a_propertys_name(white_space: Any) -> None:
    grammar = grammar_of(FREE, shape="tool-args", white_space=white_space)
    mask = lark_reader(grammar)
    for arguments, right in (
        ('{"tone":"x","by":1,"t":"y","to":2}', True),
        ('{"to":2,"tone":"x"}', True),
        ('{"to":2,"t":"x","by":1}', True),
        ('{"tone":"x"}', False),
        ('{"tone":"x","to":"y"}', False),
        ('{"to":1,"to":2}', False),
    ):
        text = '{"tool":"f","args":' + arguments + "}"
        assert mask(text) == match_text(grammar, text).accepted == right, arguments


@pytest.mark.slow
@pytest.mark.parametrize("notation", NOTATIONS)
@at_most(40)
@given(
    st.sets(st.sampled_from("abc")),
    st.booleans(),
    st.integers(0, 4),
    st.none() | st.integers(0, 5),
    st.data(),
)
@example(required=set(), free=True, low=4, high=None, data=None)
@example(required={"a", "b", "c"}, free=True, low=4, high=5, data=None)
def test_the_number_of_members_is_enforced_in_any_order(
    notation: Notation, required: set[str], free: bool, low: int, high: int | None, data: st.DataObject | None
) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"enum": [1]} for key in "abc"},
        "required": sorted(required),
        "additionalProperties": {"enum": [1]} if free else False,
        "minProperties": low,
    }
    schema |= {} if high is None else {"maxProperties": high}
    assume(max(low, len(required)) <= (99 if high is None else high) and (free or low <= 3))
    grammar = build_value_grammar(schema, notation, order="any")
    mask = lark_reader(grammar)
    assert not [left for left in grammar.unenforced if left.keyword.endswith("Properties")]
    for count in range(7):
        keys = ["c", "x", "a", "y", "b", "z"][:count]
        if data is not None:
            keys = data.draw(st.permutations(["a", "b", "c", "x", "y", "z"]))[:count]
        value = dict.fromkeys(keys, 1)
        right = required <= set(keys) and low <= count and (high is None or count <= high)
        right = right and (free or not set(keys) & set("xyz"))
        text = write_value(value, notation)
        assert mask(text) == right, text
        assert match_text(grammar, text).accepted == right, text


@pytest.mark.parametrize("depth", [5, 200])
def test_a_listed_object_is_accepted_in_any_order_down_to_a_depth(depth: int) -> None:
    value: Any = {"a": 1, "b": 2}
    for _ in range(depth):
        value = [value]
    grammar = build_value_grammar({"const": value}, "json", order="any")
    text = "[" * depth + '{"%s":%d,"%s":%d}' + "]" * depth
    assert match_text(grammar, text % ("a", 1, "b", 2)).accepted
    assert match_text(grammar, text % ("b", 2, "a", 1)).accepted == (depth == 5)
    assert bool(grammar.ordered) == (depth > 5)


# Limits


def many(count: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {f"k{i}": {"type": "integer"} for i in range(count)},
        "required": ["k3", "k0"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("notation", NOTATIONS)
def test_64_properties_come_in_any_order(notation: Notation) -> None:
    grammar = grammar_of(many(64), notation)
    assert not grammar.ordered
    keys = [f"k{i}" for i in range(64)]
    random.Random(2).shuffle(keys)
    text = write_call("f", dict.fromkeys(keys, 1), style=notation)
    assert match_text(grammar, text).accepted
    assert lark_reader(grammar)(text)


@pytest.mark.parametrize("notation", NOTATIONS)
def test_an_object_of_65_properties_has_the_schemas_order_and_is_reported(notation: Notation) -> None:
    grammar = grammar_of(many(65), notation)
    (reported,) = grammar.ordered
    assert (reported.tool, reported.pointer) == ("f", "")
    assert "64" in reported.why
    assert match_text(grammar, write_call("f", {"k0": 1, "k3": 1, "k64": 1}, style=notation)).accepted
    assert not match_text(grammar, write_call("f", {"k3": 1, "k0": 1}, style=notation)).accepted


def test_a_count_beyond_the_bits_is_left_to_the_validator_and_the_order_is_any() -> None:
    schema = {**many(10), "additionalProperties": {"type": "integer"}, "maxProperties": 90}
    grammar = grammar_of(schema)
    assert not grammar.ordered
    assert ("/maxProperties", "maxProperties") in {(one.pointer, one.keyword) for one in grammar.unenforced}
    assert match_text(grammar, write_call("f", {"k3": 1, "z": 1, "k0": 1}, style="json")).accepted


def test_gbnf_allows_any_order_of_four_properties_and_reports_objects_with_more() -> None:
    small, large = (emit_gbnf(grammar_of(many(count))) for count in (4, 5))
    assert not small.ordered
    text = write_call("f", {"k3": 1, "k1": 1, "k0": 1}, style="json")
    assert match_text(load_gbnf(small.text), text).accepted
    (reported,) = large.ordered
    assert (reported.tool, reported.pointer) == ("f", "")
    assert not match_text(load_gbnf(large.text), text).accepted


def test_gbnf_reports_the_counts_that_its_order_does_not_enforce() -> None:
    schema = {**many(6), "minProperties": 3, "additionalProperties": {"type": "integer"}}
    grammar = grammar_of({"type": "object", "properties": {"v": {"allOf": [schema]}}}, "json", "tool-args")
    assert not [one for one in grammar.unenforced if one.keyword == "minProperties"]
    places = [one.pointer for one in emit_gbnf(grammar).unenforced if one.keyword == "minProperties"]
    assert places == ["/properties/v/allOf/0/minProperties"]
