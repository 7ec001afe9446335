"""Expected calls against actual ones: equality, the reported differences, and the matching of calls."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import at_most
from expected_texts import as_in_file
from glyphscope.base.visible import visible
from glyphscope.events import ExpectedCall
from glyphscope.validation.matching import MAX_POINTER, Matcher, Values, has_all, pair_up, schema_fault, shown


def parts(made: Any, tool: str = "search", **expected: Any) -> tuple[str, str] | None:
    call = msgspec.convert({"tools": ("search", "find"), **expected}, ExpectedCall)
    found = Matcher().difference(call, tool, made)
    return None if found is None else tuple(found)


EXACT = {"query": "AI news", "max_results": 10}
CASES = Path(__file__).with_name("scoring_matching.txt")


def compared(block: str) -> str:
    """A block of the file: an expected call ← a made one, and whether it fits or the first difference."""
    line = block.split("\n")[0]
    if line.startswith("# "):
        return line
    expected, made = map(json.loads, line.split(" ← "))
    found = parts(made, **expected)
    assert found == parts(made, "find", **expected), "each of the tools"
    return line + "\n= " + ("it fits" if found is None else f"{found[0]}: {found[1]}")


def test_calls_are_compared_as_in_the_file():
    as_in_file(CASES, map(compared, CASES.read_text().rstrip("\n").split("\n\n")))


def test_another_tool_is_reported_before_its_arguments():
    words = "the call is of 'browse', not of 'search' or 'find'"
    assert parts({"query": 1}, "browse", arguments=EXACT) == ("", words)


def test_long_texts_are_shown_from_their_first_difference():
    one, other = "a" * 500 + "x" + "b" * 500, "a" * 500 + "y" + "b" * 500
    pointer, words = parts({"body": one}, arguments={"body": other})
    assert pointer == "/body" and words.startswith("body differs from character 500 on: ")
    assert words.index("axb") < words.index("not") < words.index("ayb") and len(words) < 160
    _, words = parts({"body": "a" * 500}, arguments={"body": "a" * 501})
    assert words.startswith("body differs from character 500 on: its end, not ")


HOSTILE = "\x1b[2J\u202e\u200b\ud800\n"


def test_differences_are_visible_text():
    for made in ({"q": HOSTILE}, {HOSTILE: 1}, {"q": {HOSTILE: [HOSTILE]}}):
        _, words = parts(made, arguments={"q": "x"}, match="exact")
        assert visible(words) == words and len(words) < 400
    _, words = parts({"q": HOSTILE}, schema={"properties": {"q": {"const": 1}}})
    assert visible(words) == words


LARGE: dict[str, Any] = {
    "text": "x" * 10**6,
    "texts": ["x" * 10**6] * 1000,
    "name": {"k" * 10**6: 1},
    "number": 10**5000,
    "deep": [[[[[[1]]]]]],
    "many": {str(n): n for n in range(50_000)},
}


@pytest.mark.parametrize("name", LARGE)
def test_a_value_in_a_sentence_is_short_however_large_it_is(name):
    value = LARGE[name]
    assert len(shown(value)) <= 60
    pointer, words = parts({"q": value}, arguments={"q": None})
    assert len(words) < 300 and len(pointer) <= MAX_POINTER


# cost


def nested(levels: int, leaf: Any) -> Any:
    for level in range(levels):
        leaf = [leaf] if level % 2 else {"k": leaf}
    return leaf


@pytest.mark.slow
def test_values_of_thirty_thousand_levels_are_compared():
    values = Values(unordered=True)
    assert values.same(nested(30_000, 1), nested(30_000, 1.0))
    found = values.difference(nested(30_000, 1), nested(30_000, 2), ("x",))
    assert found is not None and "somewhere deep" in found.words and len(found.pointer) <= MAX_POINTER


@pytest.mark.slow
def test_a_value_that_is_too_deep_for_a_schema_is_reported():
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "type": "array"}}}
    value: Any = []
    for _ in range(100_000):
        value = [value]
    fault = schema_fault(schema, value, "the call")
    assert fault is not None and "nested too deep" in fault.words
    fault = schema_fault({"$ref": "#/$defs/nowhere"}, [], "the call")
    assert fault is not None and "leads nowhere" in fault.words


BAGS: dict[str, list[Any]] = {
    "texts": [f"item {n}" for n in range(20_000)],
    "numbers of one hash": [n * (2**61 - 1) for n in range(20_000)],
    "objects": [{"k": [n, n + 1]} for n in range(10_000)],
    "the same": ["same"] * 20_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAGS)
def test_large_unordered_lists_are_compared_in_time(name):
    items = BAGS[name]
    other = copy.deepcopy(items)
    random.Random(1).shuffle(other)
    expected = ExpectedCall(tools=("search",), arguments={"x": items}, unordered=True)
    assert Matcher().of_arguments(expected, {"x": other}) is None
    changed = [*other[:-1], "another"]
    assert Matcher().of_arguments(expected, {"x": changed}).pointer == f"/x/{len(items) - 1}"


# properties

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


def shuffled(value: Any, chance: random.Random) -> Any:
    """The value with all lists and all members of objects in another order."""
    if isinstance(value, dict):
        names = chance.sample(list(value), len(value))
        return {name: shuffled(value[name], chance) for name in names}
    if isinstance(value, list):
        return [shuffled(item, chance) for item in chance.sample(value, len(value))]
    return value


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value)
        return [place for name, part in named for place in leaves(part, (*path, name))]
    return [path]


def put(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    if not path:
        return leaf
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], leaf)
    return changed


@pytest.mark.slow
@at_most(100)
@given(VALUES, st.randoms(use_true_random=False))
def test_a_value_in_another_order_is_equal_when_unordered(value, chance):
    other = shuffled(value, chance)
    assert Values(unordered=True).difference(value, other) is None
    assert Values(unordered=True, folded=True).same(other, value)


@pytest.mark.slow
@at_most(100)
@given(VALUES, st.data())
def test_one_leaf_changed_is_a_difference_in_any_order(value, data):
    places = leaves(value)
    assume(places)
    place = data.draw(st.sampled_from(places))
    changed = put(value, place, "a leaf that no text of five characters is")
    for unordered in (False, True):
        made = shuffled(changed, data.draw(st.randoms(use_true_random=False))) if unordered else changed
        found = Values(unordered=unordered).difference(value, made, ("x",))
        assert found is not None and found.pointer.startswith("/x") and visible(found.words) == found.words
        if not unordered:
            assert found.pointer.split("/")[2:] == [
                str(step).replace("~", "~0").replace("/", "~1") for step in place
            ]


@at_most(300)
@given(VALUES, VALUES)
def test_equality_is_that_of_canonical_json(one, other):
    def canonical(value: Any) -> str:
        """With every number as its exact value, and lists in order."""

        def plain(part: Any) -> Any:
            if isinstance(part, dict):
                return {name: plain(item) for name, item in part.items()}
            if isinstance(part, list):
                return [plain(item) for item in part]
            if isinstance(part, float) and part.is_integer():
                return int(part)
            return part

        return json.dumps(plain(value), sort_keys=True)

    assert Values().same(one, other) == (canonical(one) == canonical(other))
    assert (Values().difference(one, other) is None) == Values().same(other, one)


@at_most(300)
@given(
    st.dictionaries(st.text(max_size=2), LEAVES, max_size=4),
    st.dictionaries(st.text(max_size=2), LEAVES, max_size=4),
)
def test_a_script_entry_matches_calls_that_have_all_of_its_arguments(expected, more):
    assert has_all(expected, {**more, **expected})
    for name in expected:
        assert not has_all(expected, {key: value for key, value in expected.items() if key != name})


# one to one


@at_most(300)
@given(st.integers(0, 6), st.integers(0, 6), st.data())
def test_the_most_calls_possible_are_paired(expected, made, data):
    fits = {
        (required, call): data.draw(st.booleans()) for required in range(expected) for call in range(made)
    }

    def best(required: int, taken: frozenset[int]) -> int:
        """Return the best matching of all, by enumeration."""
        if required == expected:
            return 0
        found = [
            1 + best(required + 1, taken | {call})
            for call in range(made)
            if call not in taken and fits[required, call]
        ]
        return max([best(required + 1, taken), *found])

    pairs = pair_up(expected, made, lambda required, call: fits[required, call])
    assert len(pairs) == best(0, frozenset()) == len(set(pairs.values()))
    assert all(fits[pair] for pair in pairs.items())


def test_order_counts_where_it_is_requested():
    def same(expected: int, call: int) -> bool:
        return "abc"[expected] == made[call]

    for made, pairs in (
        ("abc", {0: 0, 1: 1, 2: 2}),
        ("xaxbxc", {0: 1, 1: 3, 2: 5}),
        ("bac", {0: 1, 2: 2}),
        ("", {}),
    ):
        assert pair_up(3, len(made), same, ordered=True) == pairs


def test_hundreds_of_equal_calls_are_paired():
    assert len(pair_up(500, 500, lambda expected, call: True)) == 500
    assert len(pair_up(300, 300, lambda expected, call: call >= expected)) == 300
