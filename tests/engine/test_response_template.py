"""transformers' `response_template`: read, tested by the turns of a chat template, and made of a form of turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from expected_texts import as_in_file
from glyphscope.base.errors import PromptError
from glyphscope.models import TemplateSource, prove_response_template
from glyphscope.models.turn_forms import open_template
from glyphscope.turns import parse_response_template, read_response

SHAPE = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
EACH = {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}
CONTENT = {"close": "<end>"}
THINKING = {"open": "<t>", "close": "</t>"}
OBJECT = {"open": "<call>", "close": "</call>", "repeats": True, "content": "json",
          "transform": {"type": "function", "function": "{content}"}}  # fmt: skip
TAGS = {"open_pattern": r"<f=(?P<name>\w+)>", "close": "</f>", "repeats": True, "content": "xml-inline",
        "content_args": {"tag_pattern": "<p=(?P<key>.*?)>(?P<value>.*?)</p>"}, "transform": SHAPE}  # fmt: skip
LISTED = {"open": "[CALLS]", "close": "<end>", "content": "json", "transform_each": True, "transform": EACH}
PYTHON = {
    "open": "<py>",
    "close": "</py>",
    "content": "python-call-list",
    "transform_each": True,
    "transform": EACH,
}
LAX = {
    "open": "<x>",
    "content": "json",
    "content_args": {"unquoted_keys": True, "string_delims": [["«", "»"]]},
}
LINES = {"open": "<x>", "content": "kv-lines", "content_args": {"value_parser": {"name": "int"}}}
TOOLS = {"f": {"n": {"type": "integer"}, "s": {"type": "string"}, "o": {"type": ["object", "null"]}}}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def read(fields: dict[str, Any], text: str) -> dict[str, Any]:
    return read_response(parse_response_template({"start_anchor": "<a>", "fields": fields}, ""), text, TOOLS)


READ = {
    "all other text": ({"content": CONTENT}, " Hi <end>", {"content": "Hi"}),
    "reasoning, then text": (
        {"thinking": THINKING, "content": CONTENT}, "<t> so </t>Hi<end>", {"thinking": "so", "content": "Hi"},
    ),
    "a region that nothing closes": ({"thinking": {"open": "<t>"}}, "<t>so", {"thinking": "so"}),
    "two calls": (
        {"tool_calls": OBJECT},
        '<call>{"name": "f", "arguments": {"n": 1}}</call> <call>{"name": "g", "arguments": {}}</call>',
        {"tool_calls": [call("f", n=1), call("g")]},
    ),
    "a call of tags, typed by the tool's schema": (
        {"tool_calls": TAGS}, "<f=f><p=n>07</p><p=s>12</p><p=o>None</p></f>",
        {"tool_calls": [call("f", n=7, s="12", o=None)]},
    ),
    "a list of calls as objects": (
        {"tool_calls": LISTED}, '[CALLS][{"name": "f", "arguments": {"n": 1}}]<end>', {"tool_calls": [call("f", n=1)]},
    ),
    "a list of calls in Python": (
        {"tool_calls": PYTHON}, "<py>[math.add-2(n=1, s='x(', o=None), g(b=true, l=[1, {'k': 2}])]</py>",
        {"tool_calls": [call("math.add-2", n=1, s="x(", o=None), call("g", b=True, l=[1, {"k": 2}])]},
    ),
    "bare keys and other quotation marks": ({"x": LAX}, '<x>{a: «b: "c"», d: [1]}', {"x": {"a": 'b: "c"', "d": [1]}}),
    "text where JSON may be": (
        {"x": {"open": "<x>", "content": "json", "content_args": {"allow_non_json": True}}}, "<x> no ", {"x": "no"},
    ),
    "lines of keys and values": ({"x": LINES}, "<x>a: 1\n\nb:2", {"x": {"a": 1, "b": 2}}),
    "numbers and choices": (
        {
            "i": {"open": "<i>", "close": "</i>", "content": "int"},
            "f": {"open": "<f>", "close": "</f>", "content": "float"},
            "b": {"open": "<b>", "content": "bool"},
        },
        "<i> 3 </i><f>0.5</f><b>True", {"i": 3, "f": 0.5, "b": True},
    ),
    "the longest opening at a place": ({"a": {"open": "<x"}, "b": {"open": ["<xy>", "<z>"]}}, "<xy>1", {"b": "1"}),
    "pieces of text that are joined": (
        {"t": THINKING, "content": {**CONTENT, "repeats": True, "join": "|"}}, "a<t>x</t>b<end>",
        {"content": "a|b", "t": "x"},
    ),
    "a later piece replaces one that is not joined": (
        {"t": THINKING, "content": CONTENT}, "a<t>x</t>b<end>", {"content": "b", "t": "x"},
    ),
}  # fmt: skip
"""Fields, a text, and the message that transformers 5.24 reads."""


@pytest.mark.parametrize("case", READ)
def test_a_message_is_read_as_transformers_reads_it(case: str) -> None:
    fields, text, message = READ[case]
    assert read(fields, text) == message


def test_defaults_remain_and_empty_fields_do_not() -> None:
    data = {"start_anchor": "<a>", "defaults": {"role": "assistant"}, "fields": {"content": CONTENT}}
    assert read_response(parse_response_template(data, ""), " <end>", {}) == {"role": "assistant"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "Expected `object`, got `array`"), ({}, "missing required field"),
        ({"start_anchor": "a", "fields": {}}, "it has fields"),
        ({"start_anchor": "a", "fields": {"a": {}, "b": {}}}, "at most one has no opening"),
        ({"fields": {"a": {}}}, "a start_anchor or a start_anchor_pattern"),
        ({"start_anchor": "a", "version": 2, "fields": {"a": {}}}, "Invalid enum value 2"),
        ({"start_anchor": "a", "fields": {"a": {"open": "x", "open_pattern": "y"}}}, "not by both"),
        ({"start_anchor": "a", "fields": {"a": {"close_pattern": "("}}}, "is invalid"),
        ({"start_anchor": "a", "fields": {"a": {"content": "yaml"}}}, "Invalid enum value 'yaml'"),
        ({"start_anchor": "a", "fields": {"a": {"opens": "x"}}}, "unknown field `opens`"),
    ],
)  # fmt: skip
def test_an_invalid_template_is_an_error_with_its_member(data: Any, words: str) -> None:
    with pytest.raises(PromptError, match="response_template is invalid") as caught:
        parse_response_template(data, "tokenizer_config.json")
    assert words in caught.value.message and caught.value.where == "tokenizer_config.json"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"content": "json"}, "{"), ({"content": "int"}, "y"), ({"content": "xml-inline"}, "y"),
        ({"content": "python-call-list"}, "[f(1)]"), ({"content": "python-call-list"}, "[" * 500),
        ({"transform": "{nothing}"}, "y"),
        ({"content": "json", "transform": {"a": "{b}"}, "transform_each": True}, "[1]"),
        ({"content": "json", "content_args": {"string_delims": [["a"]]}}, "1"),
    ],
)  # fmt: skip
def test_a_text_that_does_not_fit_is_an_error_of_its_field(field: dict[str, Any], text: str) -> None:
    with pytest.raises(PromptError, match="The field x cannot be read"):
        read({"x": {"open": "<x>", **field}}, f"<x>{text}")


CHATML = """{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}
<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
SOURCE = TemplateSource(CHATML)


def test_the_template_of_a_form_reads_every_turn() -> None:
    made, proof = prove_response_template(SOURCE, None, 40)
    assert proof.proved and proof.turns == 40 and proof.failures == ()
    assert made["start_anchor"] == "<|im_start|>assistant"
    again, proof = prove_response_template(SOURCE, made, 10)
    assert again == made and proof.proved


def test_the_first_turn_that_is_read_otherwise_is_shown() -> None:
    made, _ = prove_response_template(SOURCE, None, 1)
    calls = {**made["fields"]["tool_calls"], "transform": "{content.name}"}
    wrong = {**made, "fields": {**made["fields"], "tool_calls": calls}}
    _, proof = prove_response_template(SOURCE, wrong, 20)
    assert not proof.proved and proof.equal < 20 and "<tool_call>" in proof.failures[0].text


def test_a_pattern_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glyphscope.processes.limited.SECONDS", 1.0)
    slow = {"start_anchor": "a", "fields": {"x": {"open_pattern": "(?:[^!]+)*!"}}}
    with pytest.raises(PromptError, match="takes longer than"):
        prove_response_template(SOURCE, slow, 20)


@pytest.mark.slow
def test_the_response_templates_of_the_chat_templates_that_llama_cpp_ships(llama_data: Path) -> None:
    lines = []
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        try:
            _, proof = prove_response_template(open_template(path), None, 20)
            words = f"{proof.equal} of {proof.turns}" if proof.turns else "writes no calls"
        except PromptError as error:
            words = error.message
        lines.append(f"{path.stem}: {words}")
    as_in_file(Path(__file__).with_name("response_templates.txt"), ["\n".join(lines)])
    assert sum(line.endswith(": 20 of 20") for line in lines) >= 37
