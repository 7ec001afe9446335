"""Turns in a model's own notation, judged while they are written: verdicts at their characters, in every encoding."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from examples import at_most, rounds
from glyphscope.events import FieldClosed, SegmentClosed, SegmentOpened, ToolKnown, Violation
from glyphscope.registry import parse_document
from glyphscope.turns import (
    FOREIGN,
    AnswerValidator,
    Expected,
    Prover,
    TurnForm,
    TurnOptions,
    TurnTools,
    call_violations,
    read_turn,
)
from glyphscope.turns.form import ArgumentsForm, ReasoningForm
from renderers import derived_at
from small_templates import SMALL, write_small
from turn_forms import BEGUN, FORMS, JSON, OBJECT, REGISTRY, TAGGED, THINK, TOOLS, read, turn_form, write


def first(form: TurnForm, text: str, **options: Any) -> tuple[str, str, str]:
    """Return the code of the first violation, the text before it, and its path."""
    validator, _ = read(form, *text, **options)
    violation = min(validator.violations, key=lambda each: each.char)
    return violation.code, text[: violation.char], violation.path


VALID: list[dict[str, Any]] = [
    {"city": "Paris"},
    {"city": "Paris", "days": 3, "unit": "kelvin"},
    {"ok": True, "city": "a b"},
    {"city": "Rome", "tags": [1, 20], "where": {"lang": "de"}},
    {"city": "Rome", "mix": "four"},
    {"city": "Rome", "mix": 5},
    {"city": "Rome", "mix": None, "ok": False},
    {"city": "x\ny < z > {q} [w]"},
]


@pytest.mark.parametrize("encoding", FORMS)
@pytest.mark.parametrize("arguments", VALID, ids=str)
def test_a_valid_call_has_no_violation_at_any_prefix(encoding: str, arguments: dict[str, Any]) -> None:
    text = write(encoding, "weather", **arguments)
    validator = Expected(FORMS[encoding], TurnOptions(thinking=False)).validator(REGISTRY)
    for char in text:
        validator.feed(char)
        assert not validator.violations
    assert validator.complete and validator.valid
    assert (validator.tool, validator.arguments) == ("weather", arguments)
    assert [e for e in validator.finish() if isinstance(e, Violation)] == []
    assert [(c.tool, c.arguments, c.valid) for c in validator.calls] == [("weather", arguments, True)]


WRONG: list[tuple[str, dict[str, Any], str, str, dict[str, str]]] = [
    ("weather", {"city": "Paris", "days": 15}, "CONSTRAINT_MAX", "/days", dict.fromkeys(FORMS, "5")),
    ("weather", {"city": "Paris", "unit": "kilo"}, "CONSTRAINT_ENUM", "/unit", dict.fromkeys(FORMS, "ilo")),
    ("weather", {"city": "Paris", "tags": [1, 2, 3]}, "CONSTRAINT_ITEMS", "/tags",
     {"object": ", 3]", "json": ", 3]", "tagged": "3]", "pythonic": "3]", "dict": "3]"}),
    ("weather", {"city": "Paris", "tags": [1, "a"]}, "TYPE_MISMATCH", "/tags/1",
     {"object": '"a"', "json": '"a"', "tagged": '"a"', "pythonic": "'a'", "dict": '<|"|>a'}),
    ("weather", {"city": "Paris", "where": {"lang": "fr"}}, "CONSTRAINT_ENUM", "/where/lang",
     dict.fromkeys(FORMS, "fr")),
    ("weather", {"city": "Paris", "ok": "yes"}, "TYPE_MISMATCH", "/ok",
     {"object": '"yes', "json": '"yes', "tagged": "yes", "pythonic": "'yes", "dict": '<|"|>yes'}),
    ("weather", {"city": "Paris", "city__2": "Rome"}, "DUPLICATE_ARGUMENT", "",
     {"object": 'city": "Rome', "json": 'city": "Rome', "tagged": "city>\nRome", "pythonic": "city='Rome",
      "dict": 'city:<|"|>Rome'}),
    ("weather", {"town": "Rome"}, "UNKNOWN_ARGUMENT", "", dict.fromkeys(FORMS, "own")),
    ("weird", {"city": "Rome"}, "UNKNOWN_TOOL", "", dict.fromkeys(FORMS, "ird")),
    ("off", {}, "UNKNOWN_TOOL", "", dict.fromkeys(FORMS, "off")),
    ("weather", {}, "MISSING_REQUIRED", "",
     {"object": "}}", "json": "}<", "tagged": "/function", "pythonic": ")]", "dict": "}<"}),
    ("weather", {"days": 3}, "MISSING_REQUIRED", "",
     {"object": "}}", "json": "}<", "tagged": "/function", "pythonic": ")]", "dict": "}<"}),
    ("weather", {"city": "Paris", "days": 1}, "CONSTRAINT_MIN", "/days",
     {"object": "}}", "json": "}<", "tagged": "\n</parameter>\n</f", "pythonic": ")]", "dict": "}<"}),
    ("weather", {"city": "Paris", "unit": "cel"}, "CONSTRAINT_ENUM", "/unit",
     {"object": '"}}', "json": '"}<', "tagged": "\n</parameter>\n</f", "pythonic": "')]", "dict": '<|"|>}'}),
]  # fmt: skip


@pytest.mark.parametrize("encoding", FORMS)
@pytest.mark.parametrize("name,arguments,code,path,rests", WRONG, ids=[f"{w[0]} {w[1]}" for w in WRONG])
def test_an_invalid_call_is_a_violation_at_the_first_deciding_character(
    encoding: str, name: str, arguments: dict[str, Any], code: str, path: str, rests: dict[str, str]
) -> None:
    text = write(encoding, name, **arguments)
    found, before, at = first(FORMS[encoding], text)
    assert (found, at if code != "CONSTRAINT_ITEMS" else path) == (code, path)
    assert before == text[: text.rindex(rests[encoding])]


@pytest.mark.parametrize(
    "value,rest,code",
    [
        ("P", "\n</parameter>\n</function>", None),  # may still grow, until the following text shows its end
        ("x" * 31, "x\n", "CONSTRAINT_LEN"),
    ],
)
def test_a_raw_text_is_a_violation_where_it_can_neither_end_nor_continue(
    value: str, rest: str, code: str | None
) -> None:
    text = write("tagged", "weather", city=value)
    found, before, path = first(TAGGED, text)
    assert (found, path) == ("CONSTRAINT_LEN", "/city")
    if code:
        assert before == text[: text.index(rest)]
    else:
        assert text[len(before) :].startswith(">\n</tool_call>")


@pytest.mark.parametrize(
    "mix,read_as",
    [("null", None), ("5", 5), ("6", "6"), ("word", "word"), ("-3", -3), ("[1]", "[1]"), ("", "")],
)
def test_a_union_is_read_as_the_schema_allows(mix: str, read_as: object) -> None:
    text = write("tagged", "weather", city="Paris", mix=mix)
    validator, _ = read(TAGGED, *text)
    assert validator.valid and validator.arguments == {"city": "Paris", "mix": read_as}


def test_a_union_is_a_violation_where_both_readings_are_impossible() -> None:
    text = write("tagged", "weather", city="Paris", mix="66666")
    assert first(TAGGED, text) == ("CONSTRAINT_LEN", text[: text.index("66666") + 4], "/mix")
    text = write("tagged", "weather", city="Paris", mix="wordy")
    assert first(TAGGED, text) == ("CONSTRAINT_LEN", text[: text.index("wordy") + 4], "/mix")


@pytest.mark.parametrize("encoding", ["object", "json"])
def test_arguments_in_a_json_string_are_judged_at_their_characters(encoding: str) -> None:
    call = FORMS[encoding].calls[0]
    form = replace(FORMS[encoding], calls=(replace(call, arguments=ArgumentsForm(as_string=True)),))
    inside = json.dumps({"city": "Paris", "days": 15})
    text = write(encoding, "weather", city="Paris", days=15).replace(inside, json.dumps(inside))
    code, before, path = first(form, text)
    assert (code, text[len(before) :][:2], path) == ("CONSTRAINT_MAX", "5}", "/days")


@pytest.mark.parametrize("encoding", ["pythonic", "dict"])
def test_a_lone_surrogate_is_replaced_where_it_is_written(encoding: str) -> None:
    surrogates = r"\ud83d\u0041\ud83d\ud83d\ude00\ude00\ud83d"
    text = write(encoding, "weather", city="Paris")
    text = re.sub(r"""(['"<|>]*)Paris\1""", lambda _: f'"{surrogates}"', text)
    validator, events = read(FORMS[encoding], *text)
    assert [e.value for e in events if isinstance(e, FieldClosed)] == ["\ufffdA\ufffd\U0001f600\ufffd\ufffd"]
    assert validator.arguments == {"city": "\ufffdA\ufffd\U0001f600\ufffd\ufffd"}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("+5", 5), (".5", 0.5), ("5.", 5.0), ("007", 7), ("{1, 2}", [1, 2]), ("{(1, 2)}", [[1, 2]]),
        ("'''it's so'''", "it's so"), ('{"""a""", "b"}', ["a", "b"]),
    ],
)  # fmt: skip
def test_what_only_python_writes_is_read_and_departs_where_the_verdict_says(
    written: str, value: object
) -> None:
    text = write("pythonic", "ping", x="?").replace("'?'", written)
    turn = read_turn(text, FORMS["pythonic"], TOOLS, thinking=False)
    assert turn.calls[0].arguments == {"x": value}
    validator, _ = read(FORMS["pythonic"], text)
    assert validator.arguments == {"x": value} and not turn.strict
    at = min(violation.char for violation in validator.violations if violation.code == "SYNTAX")
    assert turn.left_at is not None and text.index(written) <= turn.left_at <= at


@pytest.mark.parametrize("written", ["+5", "05"])
def test_a_number_between_tags_departs_where_json_has_another(written: str) -> None:
    text = write("tagged", "weather", city="Paris", days=7).replace("7", written)
    turn = read_turn(text, TAGGED, TOOLS, thinking=False)
    assert turn.calls[0].arguments == {"city": "Paris", "days": 5}
    assert (turn.strict, turn.left_at) == (False, text.index(written))
    assert read(TAGGED, text)[0].violations


def test_a_text_that_contains_its_own_closing_marker_continues() -> None:
    text = write("tagged", "weather", city="a </parameter> b")
    validator, events = read(TAGGED, *text)
    assert validator.valid and validator.arguments == {"city": "a </parameter> b"}
    closed = next(event for event in events if isinstance(event, FieldClosed))
    assert text[closed.start : closed.end] == "a </parameter> b"


def test_a_parameter_without_its_closing_ends_where_the_next_one_begins() -> None:
    text = write("tagged", "weather", city="Paris", days=3).replace("\n</parameter>\n<p", "\n<p", 1)
    validator, _ = read(TAGGED, *text)
    assert validator.calls[0].arguments == {"city": "Paris", "days": 3}
    assert [v.code for v in validator.violations] == ["SYNTAX"]
    assert text[validator.violations[0].char :].startswith(">\n3")


@pytest.mark.parametrize(
    "encoding,old,new,rest",
    [
        ("object", "</tool_call>", "</tool_cal>", ">"),
        ("json", "<|args|>", "<|arg|>", '|>{"city'),
        ("json", "<|/calls|>", "<|/call|>", "|>"),
        ("tagged", "</function>", "</funktion>", "ktion>"),
        ("tagged", "<parameter=city>\n", "<parameter=city>", "Paris"),
        ("pythonic", "]<|stop|>", "]<|stap|>", "ap|>"),
        ("pythonic", "city=", "city ", "'Paris"),
        ("dict", "}<call|>", "}<cal|>", "|>"),
        ("dict", '<|"|>,', '<|"|>;', ";days"),
    ],
)
def test_an_invalid_marker_is_a_violation_where_it_leaves_the_form(
    encoding: str, old: str, new: str, rest: str
) -> None:
    text = write(encoding, "weather", city="Paris", days=3)
    assert old in text
    text = text.replace(old, new, 1)
    assert first(FORMS[encoding], text)[:2] == ("SYNTAX", text[: text.rindex(rest)])


REREAD: tuple[tuple[str, str, str], ...] = (
    ("</function>", "</functi<n>", "<n>"),
    ("</function>", "</fun=tion>", "=tion>"),
    ("<tool_call>\n<function=ping", "<tool_call>\n<func<ion=ping", "<ion=ping"),
    ("<tool_call>", "<tool<call>", "<call>"),
)


@pytest.mark.parametrize(("old", "new", "rest"), REREAD)
def test_a_text_that_is_read_again_has_no_violation_before_the_one_that_ended_its_call(
    old: str, new: str, rest: str
) -> None:
    text = write("tagged", "ping").replace(old, new, 1)
    validator, _ = read(TAGGED, *text)
    assert text[min(violation.char for violation in validator.violations) :].startswith(rest)


@cache
def _valid_texts(encoding: str) -> tuple[str, ...]:
    return tuple(write(encoding, "weather", **arguments) for arguments in VALID)


@at_most(400)
@given(
    encoding=st.sampled_from(sorted(FORMS)),
    which=st.integers(0, len(VALID) - 1),
    at=st.integers(0, 200),
    char=st.sampled_from("x3<>\n\"'{}[], =:|e."),
    how=st.sampled_from(["replace", "insert", "delete"]),
)
def test_no_violation_comes_before_the_first_changed_character(
    encoding: str, which: int, at: int, char: str, how: str
) -> None:
    """And the verdict at the end equals that of the reader of whole turns."""
    text = _valid_texts(encoding)[which]
    at %= len(text)
    changed = text[:at] + ("" if how == "delete" else char) + text[at + (how != "insert") :]
    validator, _ = read(FORMS[encoding], *changed, choice="auto", most_calls=None)
    reach = max(_common(changed, other) for other in _valid_texts(encoding))
    assert all(violation.char >= reach for violation in validator.violations)
    turn = read_turn(changed, FORMS[encoding], TOOLS, False)
    assert [(c.tool, c.arguments) for c in validator.calls] == [(c.name, c.arguments) for c in turn.calls]
    whole = turn.complete and all(not call_violations(call, TOOLS) for call in turn.calls)
    if (not turn.strict and turn.left_why != FOREIGN) or not whole:
        assert not validator.valid


def _common(one: str, other: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@at_most(200)
@given(
    encoding=st.sampled_from(sorted(FORMS)),
    which=st.integers(0, len(VALID) - 1),
    at=st.integers(0, 200),
    char=st.sampled_from("x3<>\n\"'{}[], =:|e."),
    cuts=st.lists(st.integers(0, 400), max_size=8),
    thinking=st.sampled_from([None, True, False]),
)
def test_verdicts_do_not_depend_on_the_chunking(
    encoding: str, which: int, at: int, char: str, cuts: list[int], thinking: bool | None
) -> None:
    call = _valid_texts(encoding)[which]
    text = "so </think>\n\n" + call + "\n" + call
    text = text[: at % len(text)] + char + text[at % len(text) + 1 :]
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    options: dict[str, Any] = {"choice": "auto", "most_calls": None, "thinking": thinking}
    one, by_char = read(FORMS[encoding], *text, **options)
    other, by_piece = read(FORMS[encoding], *(text[a:b] for a, b in pairwise(places)), **options)
    assert _verdicts(one) == _verdicts(other)
    for kind in (SegmentOpened, SegmentClosed, ToolKnown, FieldClosed):
        assert [e for e in by_char if isinstance(e, kind)] == [e for e in by_piece if isinstance(e, kind)]


@pytest.mark.parametrize("value", ['"lang": "fr"}', "[1] 2", "{} x", "5 6", '"a" "b"'])
def test_a_text_after_a_whole_value_has_the_same_verdict_in_one_piece(value: str) -> None:
    text = write("tagged", "weather", city="Paris", where=value)
    found = [_verdicts(read(TAGGED, *pieces)[0]) for pieces in (text, [text])]
    assert found[0] == found[1] and found[0][1]


def _verdicts(validator: AnswerValidator) -> Any:
    calls = [(c.tool, c.arguments, c.start, c.end, c.complete) for c in validator.calls]
    found = [(v.code, v.char, v.path, v.call_index, v.message) for v in validator.violations]
    return calls, found, validator.content, validator.reasoning, validator.complete


# the choice of tools, and text beside calls

CALL = write("object", "weather", city="Paris")
PING = write("object", "ping")


@pytest.mark.parametrize(
    "text,options,codes",
    [
        ("Hello", {}, ["LEADING_TEXT", "NO_TOOL_CALL"]),
        ("Hello", {"free_text": True}, ["NO_TOOL_CALL"]),
        ("Hello", {"choice": "auto"}, []),
        ("Hello", {"choice": "none"}, []),
        ("", {"choice": "required"}, ["NO_TOOL_CALL"]),
        ("Hello " + CALL, {}, ["LEADING_TEXT"]),
        ("Hello " + CALL, {"free_text": True}, []),
        ("Hello " + CALL, {"choice": "auto"}, []),
        (CALL, {"choice": "none"}, ["SYNTAX"]),
        (CALL, {"tool": "ping"}, ["UNKNOWN_TOOL"]),
        (PING, {"tool": "ping"}, []),
        (CALL + "\n" + PING, {}, ["TRAILING_TEXT"]),
        (CALL + "\n" + PING, {"most_calls": 2}, []),
        (CALL + "\n" + PING, {"most_calls": None}, []),
        (CALL + "  " + PING, {"most_calls": None}, ["SYNTAX"]),
        (CALL + "\nDone.", {}, ["TRAILING_TEXT"]),
        (CALL + "<|im_end|>\n", {}, []),
        ("<think>\nhm\n</think>\n\n" + CALL, {"thinking": None}, []),
        ("hm\n</think>\n\n" + CALL, {"thinking": True}, []),
        ("hm", {"thinking": True, "choice": "auto"}, ["TRUNCATED"]),
        ("hm\n</think>\n\n" + CALL, {"thinking": None, "free_text": True}, ["SYNTAX"]),
        ("I would write <tool_call> and then </tool_call>.", {"choice": "auto"}, []),
    ],
)
def test_a_turn_must_be_what_the_request_allows(text: str, options: dict[str, Any], codes: list[str]) -> None:
    validator, _ = read(OBJECT, *text, **options)
    assert [violation.code for violation in validator.violations] == codes
    assert validator.valid is (not codes)


def test_text_after_the_calls_is_allowed_where_the_form_has_it() -> None:
    form = turn_form(OBJECT.calls[0], text_after=True)
    assert read(form, CALL, "\nDone.")[0].valid


def test_an_incomplete_end_after_the_last_call_is_awaited() -> None:
    """The token that closes the call may begin it."""
    validator = Expected(OBJECT, TurnOptions(thinking=False)).validator(REGISTRY)
    validator.feed(CALL)
    assert validator.complete
    validator.feed("<|im")
    assert not validator.complete and not validator.violations
    validator.feed("_end|>")
    assert validator.valid and not validator.finish() and validator.valid
    codes = {rest: read(OBJECT, CALL + rest)[0].violations[0].code for rest in ("<|im", "<|important")}
    assert codes == {"<|im": "TRUNCATED", "<|important": "TRAILING_TEXT"}


def test_the_requested_tool_is_named_where_another_is_called() -> None:
    validator, _ = read(OBJECT, *CALL, tool="ping")
    violation = validator.violations[0]
    assert (CALL[violation.char :].startswith("weather"), violation.viable) == (True, '"ping"')


def test_an_extra_call_is_a_violation_at_its_first_unambiguous_character() -> None:
    text = CALL + "\n" + PING
    _, before, _ = first(OBJECT, text)
    assert before == CALL + "\n<t"  # reasoning begins with the same two characters
    section = write("json", "ping").replace("<|/calls|>", "<|call|>ping<|args|>{}<|end|><|/calls|>")
    found, before, _ = first(JSON, section)
    assert (found, section[len(before) :]) == ("TRAILING_TEXT", section[section.index("<|call|>", 30) + 2 :])


def test_every_part_of_a_turn_is_a_segment() -> None:
    text = "hm, yes\n</think>\n\nLet me see. " + CALL + "\n" + PING + "<|im_end|>"
    _, events = read(OBJECT, *text, thinking=True, choice="auto", most_calls=None)
    closed = [event for event in events if isinstance(event, SegmentClosed)]
    assert [(event.kind, text[event.start : event.end], event.call_index) for event in closed] == [
        ("reasoning", "hm, yes", 0), ("text", "Let me see.", 0), ("call", CALL, 0), ("call", PING, 1),
    ]  # fmt: skip
    opened = [(event.kind, event.start) for event in events if isinstance(event, SegmentOpened)]
    assert opened == [(event.kind, event.start) for event in closed]


def test_events_of_a_call_have_its_number_and_paths_into_its_arguments() -> None:
    text = write("tagged", "ping") + "\n" + write("tagged", "weather", city="Paris", where={"lang": "de"})
    validator, events = read(TAGGED, *text, most_calls=None)
    assert validator.valid
    assert [(e.name, e.call_index) for e in events if isinstance(e, ToolKnown)] == [
        ("ping", 0),
        ("weather", 1),
    ]
    fields = [(e.path, e.value, e.call_index) for e in events if isinstance(e, FieldClosed)]
    assert fields == [("/city", "Paris", 1), ("/where/lang", "de", 1), ("/where", {"lang": "de"}, 1)]


def test_a_call_ends_reasoning_only_where_the_form_allows_it() -> None:
    text = "hm\n" + write("tagged", "weather", city="Paris")
    validator, _ = read(TAGGED, *text, thinking=True)
    assert [v.code for v in validator.violations] == ["TRUNCATED"]
    form = TurnForm(
        TAGGED.calls, ReasoningForm("<think>\n", "\n</think>\n\n", THINK.prompt, call_ends=True), begun=BEGUN
    )
    validator, events = read(form, *text, thinking=True)
    assert validator.valid
    kinds = [(e.kind, text[e.start : e.end]) for e in events if isinstance(e, SegmentClosed)]
    assert kinds == [("reasoning", "hm"), ("call", text[3:])]
    spoken = "hm <tool_call>\n<function=foo> no\n</think>\n\n" + write("tagged", "ping")
    assert read(form, *spoken, thinking=True)[0].valid


# real templates


HERE = Path(__file__).parent
CASES = [
    json.loads(line)
    for name in ("answers", "families")
    for line in (HERE / f"test_turns_{name}.jsonl").read_text("utf-8").splitlines()
]
ANSWER_TOOLS = parse_document(json.loads((HERE / "test_turns_answers_tools.json").read_text("utf-8")))


@pytest.mark.slow
def test_answers_of_many_families_have_the_verdict_of_the_reader(llama_data: Path) -> None:
    tools = TurnTools(ANSWER_TOOLS)
    for case in CASES:
        _, form, _ = derived_at(llama_data / "templates" / f"{case['template']}.jinja")
        text, thinking = case["text"], case["thinking"]
        turn = read_turn(text, form, tools, thinking)
        options = TurnOptions("auto", most_calls=None, thinking=thinking)
        validator = Expected(form, options).validator(ANSWER_TOOLS)
        for char in text:
            validator.feed(char)
        streamed = [(call.tool, call.arguments) for call in validator.calls]
        validator.finish()
        expected = [(call.name, call.arguments) for call in turn.calls]
        assert [(call.tool, call.arguments) for call in validator.calls] == expected
        assert (validator.content, validator.reasoning) == (turn.content, turn.reasoning)
        clean = turn.strict or (turn.complete and turn.left_why == FOREIGN)
        if clean and not any(call_violations(call, tools) for call in turn.calls):
            assert (validator.violations, streamed) == ([], expected), case
        else:
            assert validator.violations, case


@pytest.mark.slow
def test_rendered_turns_of_every_template_are_valid_at_every_prefix(llama_data: Path) -> None:
    forms = 0
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        forms += _judge_rendered(path, rounds(12, 1000))
    assert forms >= 60


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_parameters_that_begin_with_their_key_or_have_no_closing_are_valid_at_every_prefix(
    name: str, tmp_path: Path
) -> None:
    assert _judge_rendered(write_small(tmp_path) / "templates" / f"{name}.jinja", rounds(12, 1000))


ESCAPED: list[tuple[str, Any, bool]] = [
    ("city:<escape>Oslo<escape>", {"city": "Oslo"}, True),
    ("city:<escape>a, b} c<escape>,days:<escape>3<escape>", {"city": "a, b} c", "days": 3}, True),
    ("days:3,tags:[1],city:<escape>Oslo<escape>", {"days": 3, "tags": [1], "city": "Oslo"}, False),
    ("city:<escape>Oslo<escape> , days:<escape>3<escape>", {"city": "Oslo", "days": 3}, False),
    ("city:Oslo", {"city": "Oslo"}, False),
    ("Oslo", None, False),
]


@pytest.mark.parametrize(("inside", "arguments", "strict"), ESCAPED)
def test_parameters_that_begin_with_their_key_are_read_as_written(
    inside: str, arguments: Any, strict: bool, tmp_path: Path
) -> None:
    path = write_small(tmp_path) / "templates" / "every value between markers.jinja"
    _, form, _ = derived_at(path)
    text = f"<start_function_call>call:weather{{{inside}}}<end_function_call>"
    turn = read_turn(text, form, TOOLS)
    assert ([call.arguments for call in turn.calls], turn.strict) == ([arguments], strict)
    for size in (1, 5, 1000):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        validator, _ = read(form, *pieces, thinking=None)
        assert [call.arguments for call in validator.calls] == [arguments]
        assert validator.valid is strict


@pytest.mark.parametrize("mix", ["None", "true"])
def test_values_between_marks_have_their_types_where_the_end_of_their_call_is_missing(
    mix: str, tmp_path: Path
) -> None:
    """Another form with these marks has only texts: the call would be valid with other arguments than those written."""
    _, form, _ = derived_at(write_small(tmp_path) / "templates" / "every value between markers.jinja")
    call = f"<start_function_call>call:weather{{city:<escape>Oslo<escape>,mix:<escape>{mix}<escape>}}"
    text = f"{call}{call}<end_function_call>"
    turn = read_turn(text, form, TOOLS)
    value = {"None": None}.get(mix, mix)
    assert [call.arguments for call in turn.calls] == [{"city": "Oslo", "mix": value}] * 2 and not turn.strict
    validator, _ = read(form, *text, thinking=None)
    assert [call.arguments for call in validator.calls] == [call.arguments for call in turn.calls]


@pytest.mark.parametrize("end", ["", "}", "}<", "}<end", "}<end_function_call"])
def test_a_call_that_breaks_off_in_its_closing_has_the_arguments_of_its_form(
    end: str, tmp_path: Path
) -> None:
    _, form, _ = derived_at(write_small(tmp_path) / "templates" / "every value between markers.jinja")
    text = "<start_function_call>call:weather{city:<escape>Oslo<escape>,days:<escape>3<escape>" + end
    turn = read_turn(text, form, TOOLS)
    assert [call.arguments for call in turn.calls] == [{"city": "Oslo", "days": 3}] and not turn.complete


def _judge_rendered(path: Path, turns: int) -> bool:
    renderer, form, found = derived_at(path)
    if "calls" in found.drops or not form.calls:
        return False
    prover = Prover(renderer, found, form, 3)
    registry = parse_document(_loose(prover.document))
    chunks = random.Random(5)
    bare = replace(form, begun={})
    for made in prover.turns(turns):
        text, turn = made.body, made.turn
        if turn is None or not turn.strict:
            continue
        own, thinking = (bare, None) if read_turn(text, bare, prover.tools) == turn else (form, True)
        options: Any = {"thinking": thinking, "choice": "auto", "most_calls": None}
        by_char = Expected(own, TurnOptions(**options)).validator(registry)
        for char in text:
            by_char.feed(char)
        expected = [(call.name, call.arguments, call.start, call.end) for call in turn.calls]
        assert [(c.tool, c.arguments, c.start, c.end) for c in by_char.calls] == expected, (path.stem, text)
        by_char.finish()
        assert not by_char.violations and by_char.valid, (path.stem, text, by_char.violations)
        in_pieces = Expected(own, TurnOptions(**options)).validator(registry)
        at = 0
        while at < len(text):
            size = chunks.randint(1, 9)
            in_pieces.feed(text[at : at + size])
            at += size
        in_pieces.finish()
        assert _verdicts(by_char) == _verdicts(in_pieces)
    return True


def _loose(document: Any) -> Any:
    """Return the tools of the proof, with values of any kind inside of lists and objects."""
    copy = json.loads(json.dumps(document))
    for tool in copy:
        for schema in tool["function"]["parameters"]["properties"].values():
            schema.pop("items", None)
            schema.pop("additionalProperties", None)
    return copy
