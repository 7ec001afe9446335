"""Strings and patterns of any length: judged character by character, or at their end where that takes too much."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLParserLimits

from glyphscope.grammar.regular.pattern import StringLanguage, found, start
from glyphscope.processes.compilers import masks
from glyphscope.registry import ToolRegistry, make_tool
from glyphscope.validation import CallValidator

LETTERS = StringLanguage(("^[a-z]*$",), 0, 200_000)
TEXTS = ["".join(text) for size in range(6) for text in product("abc", repeat=size)]
SMALL = st.recursive(
    st.sampled_from(["a", "b", "[ab]", ".", "ca", ""]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda two: f"({two[0]}){two[1]}"
        ),
    ),
    max_leaves=5,
)


@given(
    patterns=st.lists(
        st.tuples(st.sampled_from(["", "^"]), SMALL, st.sampled_from(["", "$"])).map("".join), max_size=2
    ),
    least=st.integers(0, 3),
    most=st.integers(2, 5),
)
def test_a_string_is_judged_at_the_first_character_after_which_no_text_matches(
    patterns: list[str], least: int, most: int
) -> None:
    searches = [re.compile(pattern) for pattern in patterns]
    matching = {
        text
        for text in TEXTS
        if least <= len(text) <= most and all(search.search(text) for search in searches)
    }
    begun = {text[:end] for text in matching for end in range(len(text) + 1)}
    language = StringLanguage(tuple(patterns) or ("",), least, most)
    assert (start(language) is not None) == bool(matching)
    for text in TEXTS if matching else ():
        matcher = start(language)
        assert matcher is not None
        possible = max(end for end in range(len(text) + 1) if text[:end] in begun)
        assert matcher.feed(text) == possible, text
        assert matcher.matches() == (text in matching), text
        assert matcher.can_grow() == (
            possible == len(text) and any(text + char in begun for char in "abc")
        ), text


@pytest.mark.parametrize(
    ("pattern", "size"),
    [("^(([a-z]{0,100}){0,100}){0,100}$", 3000), ("^((a|b){1,50}(a|c){1,50}){1,50}$", 400)],
)
def test_every_character_of_a_text_is_possible_in_repetitions_of_repetitions(pattern: str, size: int) -> None:
    matcher = start(StringLanguage((pattern,)))
    assert matcher is not None
    assert matcher.feed("a" * size) == size and matcher.matches()


@pytest.mark.parametrize(("last", "matches"), [("b", False), ("a", True)])
def test_a_string_that_needs_too_many_states_is_decided_at_its_end(
    last: str, matches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glyphscope.grammar.regular.pattern.SECONDS", 0.01)
    matcher = start(StringLanguage(("^(a|b)*a(a|b){2000}$",)))
    assert matcher is not None
    text = f"ab{last}" + "bba" * 666 + "bb"
    assert matcher.feed(text) == len(text) and matcher.can_grow()
    assert matcher.matches() == matches


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 7_000, 150_000])
def test_a_long_matching_string_is_accepted_and_does_not_affect_the_next_one(size: int) -> None:
    text = "a" * 150_000
    matcher = start(LETTERS)
    assert matcher is not None
    assert all(
        matcher.feed(text[at : at + size]) == len(text[at : at + size]) for at in range(0, len(text), size)
    )
    assert matcher.matches() and matcher.can_grow()
    for short, right in (("a", True), ("", True), ("A", False)):
        later = start(LETTERS)
        assert later is not None
        assert (later.feed(short) == len(short) and later.matches()) == right


@pytest.mark.slow
def test_a_long_string_that_does_not_match_is_rejected() -> None:
    for text in ("a" * 150_000 + "A", "a" * 200_001):
        matcher = start(LETTERS)
        assert matcher is not None
        assert matcher.feed(text) < len(text) or not matcher.matches()


def test_many_strings_in_a_row_do_not_exhaust_the_engine() -> None:
    short = StringLanguage(("^([a-z]{0,200}[0-9]){0,4000}$",))
    for turn in range(6):
        matcher = start(short)
        assert matcher is not None
        text = (chr(97 + turn) * (150 + turn) + str(turn)) * 150
        assert matcher.feed(text) == len(text) and matcher.matches(), turn


@pytest.mark.slow
def test_the_validator_accepts_valid_calls_after_a_very_long_one() -> None:
    schema = {
        "type": "object",
        "properties": {"v": {"type": "string", "pattern": "^[a-z]*$", "maxLength": 200_000}},
    }
    tools = ToolRegistry((make_tool("f", "", schema),))
    for value in ("a" * 150_000, "a"):
        validator = CallValidator(tools, "json", "flat")
        validator.feed(f'{{"action":"f","v":"{value}"}}')
        validator.finish()
        assert validator.valid, len(value)
    assert found("^[a-z]*$", "a" * 150_000)


@pytest.mark.slow
def test_a_text_that_llguidance_rejects_does_not_affect_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(masks, "LIMITS", LLParserLimits())  # Glyphscope's limits accept such a text
    schema = {"type": "string", "pattern": "^[a-z]*$", "maxLength": 200_000}
    reader = masks.TextReader(json.dumps(schema), is_schema=True)
    answer = reader.accepts(f'"{"a" * 150_000}"'.encode())
    assert isinstance(answer, str) and re.search(r"failed while it read the text: [^\n]{1,200}$", answer)
    assert reader.accepts(b'"a"') is True and reader.accepts(b'"A"') is False
