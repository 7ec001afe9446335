"""`glyphscope models inspect` and `glyphscope check --template`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli_command import command

TOOLS = [
    {
        "name": "ping",
        "description": "",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }
]
CALL = '<tool_call>\n{"name": "ping", "arguments": {"n": 1}}\n</tool_call>'


def run(*arguments: str, text: str = "") -> Result:
    return command(*arguments, text=text)


@pytest.fixture
def template(llama_data: Path) -> str:
    return str(llama_data / "templates" / "Qwen-Qwen3-0.6B.jinja")


def answers(template: str, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    text = "\n".join(json.dumps(line) for line in lines)
    result = run("check", "--template", template, "--lines", "-", "--json", text=text)
    assert result.exit_code in (0, 1), result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_line_has_exactly_the_documented_keys(template: str) -> None:
    openai = [{"type": "function", "function": TOOLS[0]}]
    (one, other) = answers(
        template,
        {"text": f"<think>\nhm\n</think>\n\nOk.\n{CALL}", "tools": TOOLS, "thinking": True},
        {"text": CALL.replace("1", '"x"'), "tools": openai, "thinking": None},
    )
    assert one == {
        "content": "Ok.", "reasoning": "hm", "complete": True, "strict": True,
        "calls": [{"name": "ping", "arguments": {"n": 1}, "valid": True, "violations": []}],
    }  # fmt: skip
    assert list(one) == ["content", "reasoning", "calls", "complete", "strict"]
    assert [violation["code"] for violation in other["calls"][0]["violations"]] == ["TYPE_MISMATCH"]


def test_a_line_in_the_markers_of_another_notation_says_which(template: str) -> None:
    (answer,) = answers(template, {"text": "Hm. <|tool_call>call:ping{n:1}<tool_call|>", "tools": TOOLS})
    assert (answer["calls"], answer["strict"], answer["looks_like"]["at"]) == ([], False, 4)
    assert answer["looks_like"]["calls"] == [{"name": "ping", "arguments": {"n": 1}, "valid": True}]
    assert answer["looks_like"]["notation"].startswith("<|tool_call>call:NAME")


def test_a_violation_is_at_the_first_deciding_character(template: str) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 5}, "z": {"enum": ["a", "b"]}, "q": {}},
        "required": ["n", "z", "q"],
        "additionalProperties": False,
    }
    call = '<tool_call>\n{"name": "f", "arguments": {"n": 9, "z": "ac", "x": 3, "y": 4}}\n</tool_call>'
    (answer,) = answers(template, {"text": f"Hi.\n{call}", "tools": [{"name": "f", "parameters": schema}]})
    (found,) = answer["calls"]
    at = {
        (each["code"], each["path"]): f"Hi.\n{call}"[each["char"] :].partition("\n")[0]
        for each in found["violations"]
    }
    assert at == {
        ("CONSTRAINT_MAX", "/n"): '9, "z": "ac", "x": 3, "y": 4}}',
        ("CONSTRAINT_ENUM", "/z"): 'c", "x": 3, "y": 4}}',
        ("UNKNOWN_ARGUMENT", "/x"): 'x": 3, "y": 4}}',
        ("UNKNOWN_ARGUMENT", "/y"): 'y": 4}}',
        ("MISSING_REQUIRED", ""): "}}",
    }


@pytest.mark.slow
def test_the_exit_code_says_whether_every_turn_is_complete_and_every_call_valid(template: str) -> None:
    def code(**line: Any) -> int:
        return run("check", "--template", template, "--lines", "-", text=json.dumps(line)).exit_code

    assert code(text=CALL, tools=TOOLS) == 0
    assert code(text="Hello") == 0
    assert code(text=CALL) == 1
    assert code(text=CALL[:-5], tools=TOOLS) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "Invalid JSON"),
        ("[]", "a JSON object"),
        ("{}", '"text"'),
        ('{"text": 3}', '"text"'),
        ('{"text": "x", "thinking": "on"}', "true, false or null"),
        ('{"text": "x", "tools": {}}', "a list of tools"),
        ('{"text": "x", "tools": [{"name": ""}]}', "line 1"),
        ('{"text": "x", "tools": [{"name": "a", "parameters": {"type": "strin"}}]}', "line 1"),
    ],
)
def test_an_invalid_line_is_an_error_with_its_place_and_the_others_are_read(
    template: str, line: str, words: str
) -> None:
    result = run("check", "--template", template, "--lines", "-", text=f'{line}\n{{"text": "Hello."}}')
    assert result.exit_code == 2
    assert words in result.stderr
    assert "line 1" in result.stderr
    bad, good = map(json.loads, result.stdout.splitlines())
    assert "line 1" in bad["error"]["where"] and good["content"] == "Hello."


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.jinja", None, "no such file"),
        ("empty.jinja", "", "empty"),
        ("damaged.jinja", "{% for x %}", "damaged"),
        ("model.gguf", "not a model", "not a GGUF"),
    ],
)
def test_an_invalid_template_is_an_error_with_its_place(
    tmp_path: Path, name: str, content: str | None, words: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    for arguments in (["models", "inspect", str(path)], ["check", "--template", str(path), "--lines", "-"]):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert words in result.stderr
        assert name in result.stderr


def test_template_and_single_calls_are_mutually_exclusive(template: str) -> None:
    assert run("check", "--template", template).exit_code == 2
    assert run("check", "--template", template, "--lines", "-", "--stop").exit_code == 2


@pytest.mark.slow
def test_inspect_has_the_documented_keys(template: str) -> None:
    result = run("models", "inspect", template, "--json", "--turns", "20")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert {"form", "reasoning", "ends", "drops", "warnings", "proof"} <= set(found)
    assert found["reasoning"]["prompt"] == {"on": "leaves", "off": "closes", "undefined": "leaves"}
    assert found["ends"] == ["<|im_end|>"]
    assert found["proof"]["proved"] is True
    assert found["proof"]["turns"] == found["proof"]["equal"] == 20
    assert sum(found["proof"]["counts"].values()) == 20


@pytest.mark.slow
def test_inspect_shows_the_slots_and_the_pairs(template: str) -> None:
    shown = run("models", "inspect", template, "--turns", "10").stdout
    assert '<tool_call>⏎{"name": "NAME", "arguments": ARGUMENTS}⏎</tool_call>' in shown
    assert "One call, and two" in shown
    assert "✓ proved: 10 of 10" in shown


def test_inspect_fails_for_a_template_without_calls(llama_data: Path) -> None:
    result = run("models", "inspect", str(llama_data / "templates" / "google-gemma-2-2b-it.jinja"), "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert "calls" in found["drops"]
    assert not found["proof"]["proved"]


def test_an_invalid_call_of_a_tool_that_cannot_be_called_says_so_once(template: str) -> None:
    empty = {"type": "object", "properties": {"n": {"enum": ["abc"], "maxLength": 2}}, "required": ["n"]}
    line = {
        "text": '<tool_call>\n{"name": "t", "arguments": {"n": "abc"}}\n</tool_call>',
        "tools": [{"name": "t", "parameters": empty}],
    }
    result = run("check", "--template", template, "--lines", "-", text=(json.dumps(line) + "\n") * 2)
    assert result.stderr.count("! No call can be written of t (at /properties/n/enum, ") == 1
