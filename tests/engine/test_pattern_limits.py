"""Strings too long for the pattern engine: judged nevertheless, and later strings are judged correctly."""

from __future__ import annotations

import json
import re

import pytest
from llguidance import LLParserLimits

from glyphscope.grammar.regular import StringLanguage, found
from glyphscope.grammar.regular.pattern import start
from glyphscope.processes.compilers import masks
from glyphscope.registry import ToolRegistry, make_tool
from glyphscope.validation import CallValidator

LETTERS = StringLanguage(("^[a-z]*$",), 0, 200_000)


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
