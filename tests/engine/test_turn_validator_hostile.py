"""Hostile answers, judged while they are written: each has a clear verdict, in bounded time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from glyphscope.events import Violation
from glyphscope.registry import parse_document
from glyphscope.turns import Expected, TurnOptions
from glyphscope.validation import Limits
from turn_forms import DICT, FORMS, OBJECT, PYTHONIC, REGISTRY, TAGGED, read, write

CALL = write("object", "weather", city="Paris")
ODD = parse_document([{"name": 'odd"<name>'}, {"name": "a</tool_call>b"}, {"name": "odd"}])


@pytest.mark.parametrize("form", [OBJECT, TAGGED], ids=["object", "tagged"])
@pytest.mark.parametrize("name", ['odd"<name>', "a</tool_call>b", "odd"])
def test_a_tools_name_may_have_quotes_and_tags(form: Any, name: str) -> None:
    encoding = "object" if form is OBJECT else "tagged"
    text = write(encoding, name.replace('"', '\\"') if form is OBJECT else name)
    validator = Expected(form, TurnOptions(thinking=False)).validator(ODD)
    for char in text:
        validator.feed(char)
    validator.finish()
    assert validator.valid and validator.tool == name


@pytest.mark.parametrize("encoding", FORMS)
@pytest.mark.parametrize("city", ["</tool_call><tool_call>", "]<|stop|>", "}<call|>", "<|end|>"])
def test_markers_inside_of_values_are_text(encoding: str, city: str) -> None:
    validator, _ = read(FORMS[encoding], *write(encoding, "weather", city=city))
    assert validator.valid and validator.arguments == {"city": city}


def test_a_call_inside_of_closed_reasoning_is_reasoning() -> None:
    validator, _ = read(OBJECT, *f"maybe {CALL}\n</think>\n\nNo.", thinking=True, choice="auto")
    assert validator.valid and validator.calls == () and validator.content == "No."


def test_reasoning_that_is_never_closed_is_truncated() -> None:
    validator, _ = read(OBJECT, *"hm, and then", thinking=True, choice="auto")
    assert [(v.code, v.char) for v in validator.violations] == [("TRUNCATED", 12)]
    assert validator.reasoning == "hm, and then" and not validator.complete


def test_a_marker_split_over_tokens_is_recognized() -> None:
    events: list[Any] = []
    validator = Expected(OBJECT, TurnOptions(thinking=False, choice="auto")).validator(REGISTRY)
    for piece in ("Look: <to", "ol_", 'call>\n{"na', 'me": "ping", "arguments": {}}\n</tool', "_call>"):
        events += validator.feed(piece)
        assert not any(isinstance(event, Violation) for event in events)
    assert validator.tool == "ping" and validator.calls[0].start == 6


@pytest.mark.parametrize("cut", range(1, len(CALL) - 1))
def test_an_incomplete_call_at_the_end_is_truncated(cut: int) -> None:
    validator, _ = read(OBJECT, *CALL[:cut], choice="auto")
    assert not validator.valid or cut == 1
    assert {violation.code for violation in validator.violations} <= {"TRUNCATED"}


def test_an_incomplete_second_call_leaves_the_first_one_valid() -> None:
    validator, _ = read(OBJECT, *(CALL + "\n" + CALL[:40]), most_calls=None)
    assert [(call.valid, call.complete) for call in validator.calls] == [(True, True), (False, False)]
    assert [(v.code, v.call_index) for v in validator.violations] == [("TRUNCATED", 1)]


def test_text_after_the_calls_is_one_violation() -> None:
    validator, _ = read(OBJECT, *(CALL + "\nDone. And more."))
    assert [(v.code, v.char) for v in validator.violations] == [("TRAILING_TEXT", len(CALL) + 1)]
    assert validator.calls[0].valid


MANY = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["object", "tagged", "dict", "pythonic"])
def test_ten_thousand_calls_reach_a_limit(encoding: str) -> None:
    start = time.perf_counter()
    validator, _ = read(FORMS[encoding], (write(encoding, "ping") + "\n") * MANY, most_calls=None)
    assert validator.violations[-1].code == "LIMIT_EXCEEDED"
    assert len(validator.calls) == 1000
    assert time.perf_counter() - start < 30


@pytest.mark.slow
def test_a_flood_of_violations_reaches_a_limit() -> None:
    text = (write("object", "weather", days=1) + "\n") * 300
    validator, _ = read(OBJECT, text, most_calls=None)
    assert validator.violations[-1].code == "LIMIT_EXCEEDED"
    assert len(validator.violations) == 101
    by_char, _ = read(OBJECT, *text, most_calls=None)
    assert by_char.violations[-1].char == validator.violations[-1].char


def test_a_text_that_is_too_long_reaches_a_limit() -> None:
    validator, _ = read(OBJECT, "x" * 600, "y" * 600, choice="auto", limits=Limits(text=1000))
    assert [(v.code, v.char) for v in validator.violations] == [("LIMIT_EXCEEDED", 1000)]


@pytest.mark.parametrize("form,text", [
    (OBJECT, '<tool_call>\n{"name": "weather", "arguments": ' + '{"a":' * 400),
    (PYTHONIC, "<|start|>[weather(where=" + "[" * 400),
    (DICT, "<|call>call:weather{where:" + "{a:" * 400),
])  # fmt: skip
def test_values_that_are_nested_too_deep_are_a_violation(form: Any, text: str) -> None:
    validator, _ = read(form, *text)
    assert not validator.valid and validator.violations


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "<" * 100_000,
        "x <y " * 20_000,
        "\n" * 100_000 + "<tool_call>",
        "<tool_call>\n" * 10_000,
        "<tool_call>\n<function=" * 5_000,
        "<tool_call>\n<function=weather>\n<parameter=city>\n" * 3_000,
        "<tool_call>\n<function=weather>\n<parameter=city>\n" + "</parameter>x\n" * 8_000,
        "<tool_call>\n<function=weather>\n<parameter=city>\n" + "</parameter>" + "\n" * 100_000,
        "<tool_call>\n<function=weather>\n<parameter=city>\n" + "\n<parameter=days" * 8_000,
        "<think>" + "<tool_call>\n<function=weat" * 5_000,
    ],
)
def test_time_grows_linearly_with_the_text(text: str) -> None:
    def seconds(part: str) -> float:
        start = time.perf_counter()
        read(TAGGED, *(part[at : at + 4] for at in range(0, len(part), 4)), choice="auto", most_calls=None)
        return time.perf_counter() - start

    seconds(text[:1000])
    small = seconds(text[: len(text) // 8])
    assert seconds(text) < 20 * small + 1


@pytest.mark.slow
@pytest.mark.parametrize("encoding", FORMS)
def test_a_turn_of_ten_thousand_characters_takes_well_under_a_second(encoding: str) -> None:
    text = write(encoding, "ping", text="so then, Paris. " * 625)
    start = time.perf_counter()
    read(FORMS[encoding], *(text[at : at + 4] for at in range(0, len(text), 4)))
    assert time.perf_counter() - start < 1
