"""Hostile answers: each has a clear verdict, in time that grows only with the text."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from changed_turns import changes, checker, rendered
from examples import rounds
from glyphscope.events import FieldClosed, SegmentClosed, Violation
from glyphscope.registry import parse_document
from glyphscope.turns import (
    AnswerValidator,
    Expected,
    TurnForm,
    TurnOptions,
    TurnTools,
    call_violations,
    read_turn,
)
from renderers import derived_at
from small_templates import write_small

SAY: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = TurnTools(
    parse_document(
        [
            {"name": "ping"},
            {"name": "say", "parameters": SAY},
            {"name": "two", "parameters": {"type": "object", "properties": {"x": SAY["properties"]["text"], "y": {}}}},
            {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}}},
            {"name": 'odd"<name>', "parameters": {"type": "object", "properties": {}}},
        ]
    )
)  # fmt: skip
HERMES, TAGS, GEMMA, LIST = "Qwen-Qwen3-0.6B", "Qwen3.5-4B", "google-gemma-4-31B-it", "Kimi-K2-Instruct"
PING = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
TAGGED = "<tool_call>\n<function=say>\n<parameter=text>\nhi\n</parameter>\n</function>\n</tool_call>"
TAGGED_MEMBERS = "]<]minimax[>[".join(
    ("", "<tool_call>\n", '<invoke name="two">', "<y>", "<a>1", "</b>", "</y>", "</invoke>\n", "</tool_call>")
)
MANY = 5_000
ANY_TURN = TurnOptions("auto", most_calls=None, thinking=False)


def _form(path: Path) -> TurnForm:
    return derived_at(path)[1]


@pytest.fixture
def read(llama_data: Path):
    def read(template: str, text: str, thinking: bool | None = False):
        return read_turn(text, _form(llama_data / "templates" / f"{template}.jinja"), TOOLS, thinking)

    return read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "text", "calls"),
    [
        (HERMES, (PING + "\n") * MANY, MANY),
        (TAGS, (TAGGED + "\n") * MANY, MANY),
        (GEMMA, '<|tool_call>call:say{text:<|"|>hi<|"|>}<tool_call|>' * MANY, MANY),
        (HERMES, "<tool_call>\n" * MANY, 0),
        (HERMES, '<tool_call>\n{"name": "ping", ' * MANY, MANY),  # each opening ends the call before it
        (HERMES, "<think>" + '<tool_call>\n{"name": "ping", ' * MANY, None),
        (TAGS, "<tool_call>\n<function=say>\n<parameter=text>\n" * MANY, None),
        (TAGS, "<tool_call>\n<function=say>\n<parameter=text>\n" + "</parameter>x\n" * MANY, None),
        (TAGS, "<tool_call>\n<function=say>\n<parameter=text>\n" + "<parameter=x\n" * MANY, None),
        (LIST, "<|tool_call_begin|>functions." * MANY, 0),
        ("meta-llama-Llama-3.1-8B-Instruct", '{"name": "ping", "parameters": ' * MANY, None),
        ("deepseek-ai-DeepSeek-V3.2", '<｜DSML｜invoke name="ping">\n' * MANY, None),
        ("openai-gpt-oss-120b", "<|channel|>commentary to=functions.ping" * MANY, None),
        ("MiniMax-M3", ']<]minimax[>[<invoke name="say">]<]minimax[>[<text>' * MANY, None),
        (HERMES, '<tool_call>\n{"name": "ping", "arguments": ' + '{"a":' * 100_000, None),
        (TAGS, "x <y " * 200_000, 0),
        (TAGS, "<" * 1_000_000, 0),
        (TAGS, "\n" * 1_000_000 + "<tool_call>", 0),
    ],
)  # fmt: skip
def test_long_answers_are_read_in_time(read, template: str, text: str, calls: int | None) -> None:
    read(template, text[:1000])
    start = time.perf_counter()
    turn = read(template, text)
    assert time.perf_counter() - start < 20
    assert calls is None or len(turn.calls) == calls


@pytest.mark.slow
def test_the_time_of_reading_grows_linearly(read) -> None:
    def seconds(count: int) -> float:
        start = time.perf_counter()
        read(TAGS, TAGGED * count)
        return time.perf_counter() - start

    seconds(10)
    assert seconds(8_000) < 40 * seconds(800) + 0.5


def test_markers_inside_of_values_are_text(read) -> None:
    text = "</tool_call><tool_call> </parameter> x"
    call = '<tool_call>\n{"name": "say", "arguments": ' + json.dumps({"text": text}) + "}\n</tool_call>"
    turn = read(HERMES, call)
    assert turn.strict
    assert [call.arguments for call in turn.calls] == [{"text": text}]
    turn = read(TAGS, TAGGED.replace("hi", "a </parameter> b\nc"))
    assert [call.arguments for call in turn.calls] == [{"text": "a </parameter> b\nc"}]


def test_a_name_with_quotes_and_tags_is_read(read) -> None:
    turn = read(HERMES, '<tool_call>\n{"name": "odd\\"<name>", "arguments": {}}\n</tool_call>')
    assert [(call.name, call_violations(call, TOOLS)) for call in turn.calls] == [('odd"<name>', [])]
    turn = read(TAGS, '<tool_call>\n<function=odd"<name>>\n</function>\n</tool_call>')
    assert [call.name for call in turn.calls] == ['odd"<name>']


def test_a_mentioned_marker_is_text(read) -> None:
    turn = read(HERMES, "I would write <tool_call> and then </tool_call>.")
    assert (turn.content, turn.calls) == ("I would write <tool_call> and then </tool_call>.", ())


def test_a_call_inside_of_closed_reasoning_is_reasoning(read) -> None:
    turn = read(HERMES, f"<think>\nmaybe {PING}\n</think>\n\nNo.", True)
    assert (turn.content, turn.calls) == ("No.", ())
    assert turn.strict


def test_a_call_ends_reasoning_that_is_not_closed(read) -> None:
    turn = read(HERMES, f"<think>\nhm\n{PING}", True)
    assert (turn.reasoning, [call.name for call in turn.calls]) == ("hm", ["ping"])
    assert (turn.strict, turn.left_why) == (False, "the reasoning is not closed")
    turn = read(TAGS, f"hm\n{TAGGED}", True)
    assert (turn.reasoning, [call.name for call in turn.calls], turn.strict) == ("hm", ["say"], True)


def test_unclosed_reasoning_is_the_whole_answer(read) -> None:
    turn = read(TAGS, "hm, and then", True)
    assert (turn.reasoning, turn.content, turn.complete, turn.strict) == ("hm, and then", "", False, False)


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("Hello <tool_c", "Hello", 0),
        (PING[:-3], "", 1),
        (PING + "\n" + PING[:30], "", 2),
        (PING[:25], "", 0),
    ],
)
def test_a_truncated_text_is_not_complete(read, text: str, content: str, calls: int) -> None:
    turn = read(HERMES, text)
    assert (turn.content, len(turn.calls), turn.complete, turn.strict) == (content, calls, False, False)


def test_every_prefix_of_an_answer_can_be_read(read) -> None:
    for template, text in (
        (HERMES, f"<think>\nhm\n</think>\n\nOk.\n{PING}"),
        (TAGS, f"hm\n</think>\n\nOk.\n\n{TAGGED}"),
    ):
        for end in range(len(text)):
            turn = read(template, text[:end], True)
            assert len(turn.calls) <= 1
            assert all(call.name in ("ping", "say") or not call.complete for call in turn.calls)


def test_text_after_the_calls_is_content_and_departs_from_the_form(read) -> None:
    turn = read(HERMES, PING + "\nDone.")
    assert (turn.content, len(turn.calls)) == ("Done.", 1)
    assert (turn.strict, turn.left_at) == (False, len(PING) + 1)


@pytest.mark.parametrize(
    ("value", "invalid"),
    [
        *((value, value) for value in ("Paris", "NaN", "-Infinity", "\u0663")),
        ("[1e999]", "1e999"),
        ('"\\u1_23"', "_23"),
        ('"\\u+123"', "+123"),
    ],
    ids=ascii,
)
def test_invalid_arguments_are_a_violation_at_their_character(read, value: str, invalid: str) -> None:
    text = '<tool_call>\n{"name": "say", "arguments": {"text": ' + value + "}}\n</tool_call>"
    turn = read(HERMES, text)
    (call,) = turn.calls
    assert (call.name, call.arguments) == ("say", None)
    (violation,) = call_violations(call, TOOLS)
    assert (violation.code, violation.char) == ("SYNTAX", text.index(invalid))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (HERMES, '<tool_call>\n{"id": 1, "name": "say", "arguments": {"text": x}}\n</tool_call>'),
        (
            HERMES,
            '<tool_call>\n{"type": "function", "function": {"name": "say", "arguments": {"text": x}}}\n</tool_call>',
        ),
        (
            "meta-llama-Llama-3.1-8B-Instruct",
            '{"type": "function", "name": "say", "parameters": {"text": x}}',
        ),
        ("Apertus-8B-Instruct", '<|tools_prefix|>[{"say": {"text": x}}]<|tools_suffix|>'),
        (
            "Cohere2MoE",
            '<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "say", '
            '"parameters": {"text": x}}\n]<|END_ACTION|>',
        ),
    ],
    ids=["id", "wrapped", "type", "key", "section"],
)
def test_a_call_whose_arguments_are_no_json_keeps_the_name_that_is_before_them(
    read, template: str, text: str
) -> None:
    turn = read(template, text)
    assert [(call.name, call.arguments, call.broken_at) for call in turn.calls] == [
        ("say", None, text.index("x}"))
    ]
    assert not turn.strict and turn.content in ("", "x}}")  # a bare object has no closing marker


@pytest.mark.parametrize(
    ("template", "text", "at"),
    [
        (HERMES, '<tool_call>\n{"name": "ping", "arguments": {}, "why": 1}\n</tool_call>', '"why"'),
        (HERMES, '<tool_call>\n{"name": "say", "arguments": {"text": "\\ud800"}}\n</tool_call>', '"}}'),
        ("mistralai-Ministral-3-14B-Reasoning-2512", '[TOOL_CALLS]say[ARGS]"{\\"text\\": \\"a\\"}"', '"{'),
        ("MiniMax-M3", TAGGED_MEMBERS, "]<]minimax[>[<a>"),
    ],
    ids=["member", "half a character", "in quotes", "tags"],
)  # fmt: skip
def test_both_readers_find_that_a_turn_leaves_the_form(
    read, llama_data: Path, template: str, text: str, at: str
) -> None:
    turn = read(template, text)
    assert (turn.strict, turn.left_at) == (False, text.index(at))
    validator = Expected(_form(llama_data / "templates" / f"{template}.jinja"), ANY_TURN).validator(
        TOOLS.registry
    )
    for char in text:
        validator.feed(char)
    assert validator.violations


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ({}, ["MISSING_REQUIRED"]),
        ({"text": 3}, ["TYPE_MISMATCH"]),
        ({"text": "x", "more": 1}, ["UNKNOWN_ARGUMENT"]),
        ({"text": "x"}, []),
    ],
)
def test_a_call_is_validated_by_its_tools_schema(
    read, arguments: dict[str, object], codes: list[str]
) -> None:
    call = '<tool_call>\n{"name": "say", "arguments": ' + json.dumps(arguments) + "}\n</tool_call>"
    turn = read(HERMES, call)
    assert [violation.code for violation in call_violations(turn.calls[0], TOOLS)] == codes


def test_an_unknown_tool_is_a_violation(read) -> None:
    turn = read(HERMES, '<tool_call>\n{"name": "rm", "arguments": {}}\n</tool_call>')
    assert [violation.code for violation in call_violations(turn.calls[0], TOOLS)] == ["UNKNOWN_TOOL"]


def both(llama_data: Path, template: str, text: str) -> tuple[Any, AnswerValidator]:
    """Return an answer as read whole and character by character, with thinking off."""
    turn, validator, _ = streamed(llama_data, template, text)
    return turn, validator


def streamed(
    llama_data: Path, template: str, text: str
) -> tuple[Any, AnswerValidator, list[tuple[int, Any]]]:
    """Return also the events before the end of the text, with the character after which each came."""
    form = _form(llama_data / "templates" / f"{template}.jinja")
    validator = Expected(form, ANY_TURN).validator(TOOLS.registry)
    events = [(at, event) for at, char in enumerate(text) for event in validator.feed(char)]
    validator.finish()
    return read_turn(text, form, TOOLS, False), validator, events


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 8, 9, 12, 100])
def test_an_apparent_call_has_the_same_verdict_in_any_pieces(llama_data: Path, size: int) -> None:
    form = _form(llama_data / "templates" / "mistralai-Mistral-Nemo-Instruct-2407.jinja")
    text = '[{"name": "ping", "arguments": {}, "id": "a"}, {"name": "ping", "arguments": {}}]'
    found = []
    for pieces in (list(text), [text[at : at + size] for at in range(0, len(text), size)]):
        validator = Expected(form, ANY_TURN).validator(TOOLS.registry)
        events = [event for piece in pieces for event in validator.feed(piece)] + validator.finish()
        parts = [(each.kind, each.start, each.end) for each in events if isinstance(each, SegmentClosed)]
        found.append((parts, [(each.code, each.char) for each in validator.violations]))
    assert found[0] == found[1]


CODER, SEED, GLM, DSML, M2 = (
    "Qwen3-Coder", "ByteDance-Seed-OSS", "GLM-4.6", "deepseek-ai-DeepSeek-V4", "MiniMax-M2",
)  # fmt: skip
SAY_XML = "<function=say>\n<parameter=text>\nhi\n</parameter>\n</function>\n</tool_call>"
ONE = ("say", {"text": "hi"})
TWO = ("two", {"x": "a", "y": "b"})
DAMAGED: list[tuple[str, str, str, list[tuple[str, Any]]]] = [
    # parameters in tags where the form writes JSON
    (HERMES, "<tool_call>\n<function=say>\n<parameter=text>hi</parameter>\n</function>\n</tool_call>", "", [ONE]),
    (HERMES, TAGGED, "", [ONE]),
    ("ibm-granite-granite-4.1", TAGGED, "", [ONE]),
    (HERMES, "<tool_call>\n<function=two>\n<parameter=x>a</parameter>\n<parameter=y>b</parameter>\n</function>\n"
             "</tool_call>", "", [TWO]),
    (HERMES, '<function=add>{"a": 1}</function>', "", [("add", {"a": 1})]),
    (HERMES, '<invoke name="say">\n<parameter name="text">hi</parameter>\n</invoke>', "", [ONE]),
    (HERMES, '[Calling tool: say({"text": "hi"})]', "", [ONE]),
    # raw text where the form writes JSON
    ("mistralai-Ministral-3-14B-Reasoning-2512", "[TOOL_CALLS]say[ARGS]hi", "hi", [("say", None)]),
    ("mistralai-Ministral-3-14B-Reasoning-2512", "[TOOL_CALLS]add[ARGS]hi", "hi", [("add", None)]),
    ("meta-llama-Llama-3.1-8B-Instruct", '{"name": "say", "parameters": "hi"}', "", [("say", None)]),
    # no outer opening
    (CODER, SAY_XML, "", [ONE]),
    (CODER, "Text. " + SAY_XML, "Text.", [ONE]),
    (CODER, "```\n" + SAY_XML, "```", [ONE]),
    (CODER, "<function_invocation>\n" + SAY_XML, "<function_invocation>", [ONE]),
    (CODER, TAGGED + "\n" + SAY_XML, "", [ONE, ONE]),
    ("StepFun3.5-Flash", SAY_XML, "", [ONE]),
    (SEED, "<function=say><parameter=text>hi</parameter></function></seed:tool_call>", "", [ONE]),
    # a closing that is written twice
    (CODER, TAGGED.replace("</parameter>", "</parameter>\n</parameter>"), "", [ONE]),
    (TAGS, TAGGED.replace("</parameter>", "</parameter></parameter>"), "", [ONE]),
    (CODER, TAGGED.replace("</function>", "</function>\n</function>"), "", [ONE]),
    (GLM, "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>5</arg_value></arg_value>\n</tool_call>", "",
     [("add", {"a": 5})]),
    (M2, '<minimax:tool_call>\n<invoke name="say">\n<parameter name="text">hi</parameter>\n</parameter>\n'
         "</invoke>\n</minimax:tool_call>", "", [ONE]),
    (CODER, "<tool_call>\n<function=two>\n<parameter=x>\na\n</parameter>\n</parameter>\n<parameter=y>\nb\n"
            "</parameter>\n</function>\n</tool_call>", "", [TWO]),
    # a closing that is missing
    (CODER, TAGGED.replace("\n</tool_call>", "\n") + TAGGED, "", [ONE, ONE]),
    (CODER, TAGGED.replace("\n</parameter>\n</function>\n</tool_call>", "\n") + TAGGED, "", [ONE, ONE]),
    (CODER, TAGGED.replace("</parameter>\n", ""), "", [ONE]),
    (DSML, '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="two">\n<｜DSML｜parameter name="x" string="true">a'
           '<｜DSML｜parameter name="y" string="true">b</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
     "", [TWO]),
    ("muse-glimmer",
     ' to=say<|message|><atem:function_calls>\n'
     + 2 * '<atem:invoke name="say">\n<atem:parameter name="text">hi</atem:parameter>\n</atem:invoke>\n'
     + "</atem:function_calls>", "", [ONE, ONE]),
    # a body that cannot be read
    (CODER, TAGGED.replace("<parameter=", "<parameter ="), "", [("say", None)]),
    (CODER, TAGGED.replace("<parameter=text>", "text>"), "", [("say", None)]),
    ("tencent-Hy3", '<tool_calls:opensource>\n<tool_call:opensource>say<tool_sep:opensource>{"text": hi}'
                    "</tool_call:opensource>\n</tool_calls:opensource>", "", [("say", None)]),
    ("tencent-Hy3", '<tool_calls:opensource>\n<tool_call:opensource>say<tool_sep:opensource>{"text": "hi"}'
                    "<end_of_tool_call:opensource>\n</tool_calls:opensource>", "", [("say", None)]),
    # a part of the notation that is missing from all markers
    ("MiniMax-M3", '<tool_call><invoke name="say"><text>hi</text></invoke></tool_call>', "", [ONE]),
    ("MiniMax-M3", '<tool_call>\n<invoke name="say"><text>hi</text></invoke>\n</tool_call>', "", [ONE]),
    ("MiniMax-M3", 'So: <invoke name="add"><a>5</a><b>x</b></invoke>', "So:", [("add", {"a": 5, "b": "x"})]),
    ("Apertus-8B-Instruct", '<|tools_prefix|>{"say": {"text": "hi"}}<|tools_suffix|>', "", [ONE]),
    ("Apertus-8B-Instruct", '<|tools_prefix|>{"say": {"text": "hi"}}', "", [ONE]),
    # text that mentions markers
    (CODER, "The marker is <function=say> here.", "The marker is <function=say> here.", []),
    (CODER, "Use <function=say> and </function>.", "Use <function=say> and </function>.", []),
    (CODER, "It is <tool_call>\n<function=ping> then.", "It is <tool_call>\n<function=ping> then.", []),
    # others
    ("LFM2.5-8B-A1B", '<|tool_call_start|>[add({"a": 1, "b": 2})]<|tool_call_end|>', "", [("add", {"a": 1, "b": 2})]),
    ("CohereForAI-c4ai-command-r7b-12-2024-tool_use",
     '<|START_ACTION|>\n{"tool_call_id": "0", "tool_name": "say", "parameters": {"text": "hi"}}\n<|END_ACTION|>', "",
     [ONE]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("template", "text", "content", "calls"), DAMAGED)
def test_a_damaged_call_is_read_as_written_with_a_departure_or_not_at_all(
    llama_data: Path, template: str, text: str, content: str, calls: list[tuple[str, Any]]
) -> None:
    turn, validator = both(llama_data, template, text)
    assert (turn.content, [(call.name, call.arguments) for call in turn.calls]) == (content, calls)
    assert [(call.tool, call.arguments) for call in validator.calls] == calls
    assert not turn.strict and not validator.valid
    codes = [[each.code for each in call_violations(call, TOOLS)] for call in turn.calls]
    assert codes == [[] if arguments else ["SYNTAX"] for _, arguments in calls]


IN_TAGS = "<tool_call>\n<function={}>\n<parameter={}>\n{}\n</parameter>\n</function>\n</tool_call>"
SAID = IN_TAGS.replace("{}", "say", 1).replace("{}", "text", 1)
TWO = IN_TAGS.replace("{}", "two", 1).replace("{}", "x", 1)
DICT_SAID = "<|tool_call>call:say{text:HI}<tool_call|>"
SHOWN: list[tuple[str, str, str, dict[str, Any] | None]] = [
    # a template, an answer, the text up to the character that decides that it leaves the form, and the arguments
    (CODER, SAID.replace("{}", "hi\n</parameter>"), "</parameter>\n</parameter>\n</function>", {"text": "hi"}),
    (CODER, SAID.replace("{}", "hi</parameter>"), "</parameter>\n</parameter>\n</function>", {"text": "hi"}),
    (CODER, SAID.replace("{}", "hi\n</parameter>\n</parameter>"), "</function>", {"text": "hi"}),
    (GLM, "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>5</arg_value></arg_value>\n</tool_call>",
     "</arg_value></arg_value>\n</tool_call>", {"a": 5}),
    (CODER, TWO.replace("{}", "hi<parameter=y>\n3"), "hi<parameter=y>", {"x": "hi", "y": 3}),
    (CODER, TWO.replace("{}", "a\nhi <parameter=y>\n3"), "hi <parameter=y>", {"x": "a\nhi ", "y": 3}),
    (CODER, TWO.replace("{}", "hi\n\n<parameter=y>\n3"), "<parameter=y>", {"x": "hi", "y": 3}),
    (CODER, TWO.replace("{}", "hi\n</function>\n<parameter=y>\n3"), "<parameter=y>", None),
    (DSML, '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="two">\n<｜DSML｜parameter name="x" string="true">a'
           '<｜DSML｜parameter name="y" string="true">b</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
     'name="y" string="true">', {"x": "a", "y": "b"}),
    (CODER, SAID.replace("{}", "a </parameter> <parameter= b"), "</parameter> <parameter=", None),
    (CODER, SAID.replace("{}", "hi\n" + TAGGED.partition("hi")[0] + "ho"), "hi\n<tool_call>\n<function=say>",
     {"text": "hi"}),
    (CODER, IN_TAGS.replace("{}", "add", 1).replace("{}", "a", 1).replace("{}", "5\n</parameter>\n6"),
     "5\n</parameter>\n6", None),
    (GLM, "<tool_call>say\n<arg_key>text</arg_key><arg_value>\nhi</arg_value>\n</tool_call>", "</arg_key><arg_value>",
     None),
    (CODER, SAID.replace("{}", "</parameter>hi"), "</parameter>h", None),
    (GLM, "<tool_call>say\n<arg_key>text</arg_key>\n<arg_value></arg_key>\n<arg_value>hi</arg_value>\n</tool_call>",
     "<arg_value></arg_key>\n<arg_value>", {"text": "hi"}),
    (GLM, "<tool_call>say\n<arg_key>text</arg_key>\n<arg_value><arg_value>hi</arg_value>\n</tool_call>",
     "<arg_value><arg_value>", {"text": "hi"}),
    (GEMMA, DICT_SAID.replace("HI", "12345"), "{text:1", {"text": "12345"}),
    (GEMMA, DICT_SAID.replace("HI", "12 a"), "{text:1", {"text": "12 a"}),
    (GEMMA, DICT_SAID.replace("HI", "New York"), "{text:N", {"text": "New York"}),
    (GEMMA, DICT_SAID.replace("HI", "true"), "{text:t", {"text": "true"}),
    (GEMMA, "<|tool_call>call:two{y:[a,b c]}<tool_call|>", "{y:[a", None),
    (CODER, TAGGED.replace("=say", "=say.say"), "=say.", {"text": "hi"}),
]  # fmt: skip


@pytest.mark.parametrize(("template", "text", "decided", "arguments"), SHOWN)
def test_a_departure_is_reported_where_it_is_decided_and_only_values_that_are_read_are_shown(
    llama_data: Path, template: str, text: str, decided: str, arguments: dict[str, Any] | None
) -> None:
    turn, validator, events = streamed(llama_data, template, text)
    assert turn.calls[0].arguments == arguments and not turn.strict
    assert [(call.tool, call.arguments) for call in validator.calls] == [
        (c.name, c.arguments) for c in turn.calls
    ]
    last = text.index(decided) + len(decided) - 1
    assert min(at for at, event in events if isinstance(event, Violation)) == last
    fields = [event for _, event in events if isinstance(event, FieldClosed) and not event.call_index]
    shown = {event.path[1:]: event.value for event in fields}
    assert all(arguments is None or arguments[key] == value for key, value in shown.items())
    assert arguments is None or shown == arguments
    assert next(event.code for _, event in events if isinstance(event, Violation)) == "SYNTAX"


HARMONY = ' to=functions.say<|channel|>commentary <|constrain|>json<|message|>{"text": "hi"}'


@pytest.mark.parametrize(
    "between",
    ["<|call|><|start|>assistant", "\n <|call|><|start|>assistant", "<|call|>\n<|start|>assistant", ""],
)
def test_calls_in_several_messages_are_each_valid(llama_data: Path, between: str) -> None:
    turn, validator = both(llama_data, "openai-gpt-oss-120b", HARMONY + between + HARMONY)
    assert turn.strict and validator.valid
    assert [(call.tool, call.arguments) for call in validator.calls] == [ONE, ONE]


def test_white_space_where_a_form_has_none_is_named_as_such(llama_data: Path) -> None:
    call = '<|tool_call>call:say{text:<|"|>hi<|"|>}<tool_call|>'
    turn, validator = both(llama_data, GEMMA, f"{call} {call}")
    assert turn.left_why == validator.violations[0].message == "no white space was expected"


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [
        ("meta-llama-Llama-3.1-8B-Instruct", 2 * '{"name": "say", "parameters": {"text": "hi"}}\n', "; "),
        (LIST, "<|tool_calls_section_begin|><|tool_call_begin|>functions.say:0 <|tool_call_argument_begin|>"
               '{"text": "hi"}<|tool_call_end|><|tool_calls_section_end|>', "<|tool_call_argument_begin|>"),
    ],
)  # fmt: skip
def test_what_is_around_the_parts_of_a_call_departs_for_reader_and_validator(
    llama_data: Path, template: str, text: str, expected: str
) -> None:
    turn, validator = both(llama_data, template, text)
    assert {(call.name, call.complete) for call in turn.calls} == {("say", True)}
    assert (turn.left_expected, bool(validator.violations)) == (expected, True)


def test_markers_of_reasoning_that_text_mentions_are_text(llama_data: Path) -> None:
    text = "The <think>tag</think> is literal."
    turn, validator = both(llama_data, HERMES, text)
    assert (turn.content, turn.reasoning, turn.strict) == (text, "", True)
    assert validator.valid and validator.content == text


@pytest.mark.slow
def test_changed_turns_are_never_valid_calls_with_other_arguments(llama_data: Path, tmp_path: Path) -> None:
    """Of every template: cut, or with one marker missing, doubled or moved; the validator agrees with the reader."""
    source = random.Random(11)
    turns = rounds(12, 100)
    folders = (llama_data, write_small(tmp_path))
    templates = sorted(path for folder in folders for path in (folder / "templates").glob("*.jinja"))
    tried = 0
    for path in templates:
        for turn in rendered(path.parents[1], path.stem, turns):
            check = checker(*turn)
            for text in changes(turn[2], turn[0], source, rounds(2, 100)):
                tried += 1
                wrong = check(text)
                assert not wrong, (path.stem, text, wrong)
    assert tried > 60 * turns
