"""Hostile answers, judged while they are written: each has a clear verdict, in bounded time."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from changed_turns import changes, rendered
from examples import rounds
from glyphscope.events import ToolKnown, Violation
from glyphscope.registry import parse_document
from glyphscope.turns import Expected, TurnForm, TurnOptions
from glyphscope.validation import Limits
from renderers import derived_at
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


SAY: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
HERMES, LLAMA, GEMMA, KIMI, GPT_OSS = (
    "Qwen-Qwen3-0.6B",
    "meta-llama-Llama-3.1-8B-Instruct",
    "google-gemma-4-31B-it",
    "Kimi-K2-Instruct",
    "openai-gpt-oss-120b",
)
ANY_TURN = TurnOptions("auto", most_calls=None, thinking=False)


def _form(folder: Path, template: str) -> TurnForm:
    return derived_at(folder / "templates" / f"{template}.jinja")[1]


@pytest.mark.parametrize(
    ("template", "text", "calls"),
    [  # a text that mentions a call, or a call that cannot be read on from its name
        ("Qwen3-Coder", "The marker <function=ping> is text.", []),
        ("Qwen3-Coder", "It is <tool_call>\n<function=ping> then.", []),
        ("Qwen3-Coder", "<function=ping>\n</function>", [("ping", {})]),
        ("Qwen3-Coder", "<tool_call>\n<function=ping>\nis text", [("ping", None)]),
        (HERMES, '<invoke name="say"> is how to call it.', []),
        (
            HERMES,
            '<invoke name="say">\n<parameter name="text">a</parameter>\n</invoke>',
            [("say", {"text": "a"})],
        ),
        ("GLM-4.6", "<tool_call>ping is text", []),
        ("GLM-4.6", "<tool_call>ping\nis text", [("ping", None)]),
        (GPT_OSS, " to=functions.ping<|chan|>commentary json<|message|>{}", []),
        (GPT_OSS, " to=functions.ping<|channel|>commentary json<|mesage|>{}", [("ping", None)]),
        (GPT_OSS, "<|channel|>comment<|message|>print(1)", []),
        ("Apertus-8B-Instruct", '<|tools_prefix|>[{"function": {}}]<|tools_suffix|>', [("function", {})]),
        (
            "deepseek-ai-DeepSeek-V3.1",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            [("function", {})],
        ),
    ],
)
def test_a_tools_name_is_shown_only_for_a_call_that_the_turn_has(
    llama_data: Path, template: str, text: str, calls: list[tuple[str, Any]]
) -> None:
    registry = parse_document([{"name": "ping"}, {"name": "function"}, {"name": "say", "parameters": SAY}])
    validator = Expected(_form(llama_data, template), ANY_TURN).validator(registry)
    shown = [event.name for char in text for event in validator.feed(char) if isinstance(event, ToolKnown)]
    validator.finish()
    assert [(call.tool, call.arguments) for call in validator.calls] == calls
    assert shown == [name for name, _ in calls]


@pytest.mark.parametrize(
    ("template", "text", "calls", "shown"),
    [  # names of no tool, whose end the rest of the text decides; and names that only seem to be in a call
        (HERMES, '<tool_call>\n{"name": "pin", "arguments": {}}\n</tool_call>', ["pin"], []),
        ("Qwen3-Coder", "<tool_call>\n<function=pin g>\n</function>\n</tool_call>", [], []),
        (GEMMA, "<|tool_call>call:pi ng{}<tool_call|>", [], []),
        (
            KIMI,
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.pingx:0<|tool_call_argument_begin|>{}"
            "<|tool_call_end|><|tool_calls_section_end|>",
            ["pingx"],
            [],
        ),
        ("GLM-4.7-Flash", "<tool_call>ping</tool_ca.ll>", [], []),
        ("GLM-4.7-Flash", "<tool_call>ping</tool_call>", ["ping"], ["ping"]),
        (  # the section ends behind an object that cannot be read
            "NVIDIA-Nemotron-Nano-v2",
            '</think><TOOLCALL>[{"name": "ping", "arguments": {"a": flse}}, '
            '{"name": "say", "arguments": {}}]</TOOLCALL>',
            ["ping"],
            ["ping"],
        ),
        (
            "Cohere2MoE",
            '<|END_THINKING|><|START_ACTION|>[\n{"tool_call_id": "0", "tool_nqme": "ping", "parameters": {}},\n'
            '{"tool_call_id": "1", "tool_name": "say", "parameters": {}}\n]<|END_ACTION|>',
            [],
            [],
        ),
        # a name that is written twice, whose first one is shown
        (
            HERMES,
            '<tool_call>\n{"name": "ping", "arguments": {}, "name": "x"}\n</tool_call>',
            ["ping"],
            ["ping"],
        ),
        (
            HERMES,
            '<tool_call>\n{"name": "ping", "arguments": {}, "name": "x"\n</tool_call>',
            ["ping"],
            ["ping"],
        ),
        (LLAMA, '{"name": "ping", "parameters": {}, "name": "x"}', ["ping"], ["ping"]),
        (LLAMA, '{"name": "ping", "parameters": {}, "name": ["x"]}', ["ping"], ["ping"]),
        (  # an object of no tool may have another call inside
            LLAMA,
            '{"name": "x", "parameters": {"name": "ping", "parameters": {}}}',
            ["x"],
            [],
        ),
        (
            "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>funcion<｜tool▁sep｜>ping\n```json\n{}\n```<｜tool▁call▁end｜>",
            ["ping"],
            ["ping"],
        ),
        *(  # a quotation mark that is never closed does not end at one behind the next call
            (
                HERMES,
                f'<tool_call>\n{{"name": "ping", "arguments": {{{quote}a: 1}}}}\n</tool_call>\n'
                '<tool_call>\n{"name": "say", "arguments": {"text": "b"}}\n</tool_call>',
                ["ping", "say"],
                ["ping", "say"],
            )
            for quote in "'\""
        ),
    ],
)
def test_a_shown_name_is_never_taken_back(
    llama_data: Path, template: str, text: str, calls: list[str], shown: list[str]
) -> None:
    registry = parse_document([{"name": "ping"}, {"name": "say", "parameters": SAY}])
    validator = Expected(_form(llama_data, template), ANY_TURN).validator(registry)
    events = [event for char in text for event in validator.feed(char)]
    assert [event.name for event in events if isinstance(event, ToolKnown)] == shown
    events += validator.finish()
    named = {event.call_index: event.name for event in events if isinstance(event, ToolKnown)}
    assert [call.tool for call in validator.calls] == [*named.values()] == calls


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("text", "char", "expected"),
    [  # from the end of its object on, nothing makes the object a text for the user
        ('{"name": "pin", "parameters": {"a": 1}}', 38, ["UNKNOWN_TOOL"]),
        ('{"name": "pin", "parameters": {"a": 1}} x', 38, ["UNKNOWN_TOOL", "TRAILING_TEXT"]),
        ('{"name": "pin", "parameters": "a"}', 33, ["UNKNOWN_TOOL"]),
        ('{"name": "pin", "parameters": {"a": 1} x', None, []),
        ('{"name": "pin", "age": 3}', None, []),
        ('So: {"name": "pin", "parameters": {}}', None, []),
    ],
)
def test_an_unknown_tool_without_a_marker_is_a_violation_at_the_end_of_its_object(
    llama_data: Path, text: str, char: int | None, expected: list[str], size: int
) -> None:
    registry = parse_document([{"name": "ping"}, {"name": "say", "parameters": SAY}])
    validator = Expected(_form(llama_data, LLAMA), ANY_TURN).validator(registry)
    for at in range(0, len(text), size):
        validator.feed(text[at : at + size])
    assert [each.code for each in validator.violations] == expected
    assert next((each.char for each in validator.violations), None) == char
    validator.finish()
    assert [each.code for each in validator.violations] == expected
    assert validator.valid == (not expected)


@pytest.mark.slow
def test_no_name_of_a_changed_turn_is_taken_back(llama_data: Path) -> None:
    """Of every template: the name of a tool changed, and then cut, or a marker missing, doubled or moved."""
    source, tried = random.Random(5), 0
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        for of, thinking, body, tools in rendered(llama_data, path.stem, 2):
            known = [tool.name for tool in tools.registry if tool.name in body]
            if not known:
                continue
            name = source.choice(known)
            named = body.replace(
                name, source.choice((f"{name}x", f"x{name}", name[:-1] or "q", "a b", f"{name} ")), 1
            )
            for text in (named, *changes(named, of, source, rounds(2, 20))):
                options = TurnOptions("auto", most_calls=None, thinking=thinking)
                validator = Expected(of, options).validator(tools.registry)
                events = [event for char in text for event in validator.feed(char)]
                validator.finish()
                left = iter([call.tool for call in validator.calls])
                shown = [event.name for event in events if isinstance(event, ToolKnown)]
                assert all(each in left for each in shown), (path.stem, text, shown)
                tried += 1
    assert tried > 100


@pytest.mark.parametrize(
    ("text", "choice", "violations"),
    [  # from the arguments on, no text mentions a call; a marker that only calls have is one at once
        (
            " to=functons.ping<|channel|>commentary json<|message|>{}",
            "auto",
            [("SYNTAX", 53), ("UNKNOWN_TOOL", 53)],
        ),
        (
            " to=functons.ping<|channel|>commentary json<|message|>{}",
            "required",
            [("SYNTAX", 9), ("UNKNOWN_TOOL", 9)],
        ),
        (
            "<|channel|>commentary to=functons.ping<|message|>{}",
            "auto",
            [("SYNTAX", 30), ("UNKNOWN_TOOL", 30)],
        ),
        (" to=functions.pin<|channel|>commentary json<|message|>{}", "auto", [("UNKNOWN_TOOL", 53)]),
        ("It is to=functons.ping or to=foo, as said.", "auto", []),
        (" to=foo<|channel|>commentary to=functions.ping<|message|>{}", "auto", []),
    ],
)
def test_a_misspelt_namespace_is_a_violation_before_the_arguments_are_read(
    llama_data: Path, text: str, choice: str, violations: list[tuple[str, int]]
) -> None:
    registry = parse_document([{"name": "ping"}, {"name": "say", "parameters": SAY}])
    options = TurnOptions(choice, most_calls=None, thinking=False)
    validator = Expected(_form(llama_data, GPT_OSS), options).validator(registry)
    for char in text[:-1]:
        validator.feed(char)
    assert [(each.code, each.char) for each in validator.violations] == violations
    validator.feed(text[-1])
    validator.finish()
    assert [(each.code, each.char) for each in validator.violations] == violations
