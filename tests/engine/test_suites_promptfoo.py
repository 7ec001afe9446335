"""Configurations of promptfoo as suites: read as promptfoo 0.123 reads them, or the loss is named.

The expected prompts and verdicts were compared with promptfoo's own, with its provider `echo`.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from expected_texts import as_in_file, blocks_of
from glyphscope import evaluate
from glyphscope.base.errors import SuiteError
from glyphscope.evals.suites.reading import load_suite
from imported_suites import error_lines, promptfoo, suite_lines

ALIASES = "c0: &c0 [x, x]\n" + "".join(
    f"c{n}: &c{n} [{', '.join([f'*c{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
"""Nine values in each, so more than any memory has."""

CHAIN = "c0: &c0 {a: 1}\n" + "".join(f"c{n}: &c{n} {{<<: *c{n - 1}, k{n}: 1}}\n" for n in range(1, 2_000))
"""Each has all members of those before it."""


FILES = {
    "two.txt": "One {{q}}\r\n ---  \r\nTwo {{q}}\n---\n",
    "one.md": "One {{q}}\n---\n",
    "p.yaml": "- {role: user, content: 'Hi {{q}}'}\n",
    "p.jsonl": '[{"role": "user", "content": "Hi {{q}}"}]\n"{{q}}"\n',
    "docs/a.txt": " a \n",
    "docs/b.txt": "b",
    "v.yaml": "x: 010\n",
    "vars.yaml": "q: from a file\n",
    "t.yaml": "- {vars: {q: no}}\n",
    "chat.json": '[{"role":"system","content":"Be short."},{"role":"user","content":"Hi"},'
    '{"role":"assistant","content":"Hello."},{"role":"user","content":"Weather in {{ city }}, {{place.country}}?"}]',
    "more.csv": "city,__expected1,__expected2,__description\nRome,contains: Rome,Rome,by hand\n",
    "more.json": '[{"vars": {"city": "Oslo"}, "metadata": {"source": "us"}}]',
    "cells.csv": 'q,__expected\nx,note: abc\nx,contains(0.5): a\nx,"contains-any: ""x, y"", z"\nx,grade: good\n'
    "x,is-json\nx,fn: output\n",
}


_JSON = {"constraints": ["off"], "notations": ["json"]}
CASES = Path(__file__).with_name("suites_promptfoo.txt")


def test_configurations_are_imported_as_in_the_file(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())

    def found() -> Iterator[str]:
        head = ""
        for block in blocks_of(CASES):
            if block.startswith("# "):
                yield block
                head = block.partition("\n")[2]
                continue
            given = [line for line in block.split("\n") if not line.startswith("→")]
            try:
                lines = suite_lines(promptfoo(tmp_path, "\n".join(given), f"{head}\n"), tmp_path)
            except SuiteError as error:
                lines = error_lines(error, tmp_path)
            yield "\n".join((*given, *lines))

    as_in_file(CASES, found())


@pytest.mark.parametrize(
    ("assertion", "right", "wrong"),
    [
        ({"type": "equals", "value": "Bern"}, "Bern", "bern"),
        ({"type": "contains", "value": "a+b"}, "is a+b.", "aab"),
        ({"type": "icontains", "value": "bern"}, "In BERN", "Basel"),
        ({"type": "contains-any", "value": ["x", "y"]}, "y", "z"),
        ({"type": "icontains-any", "value": "x, y"}, "Y", "z"),
        ({"type": "contains-all", "value": ["x", "y"]}, "y x", "x"),
        ({"type": "starts-with", "value": "Yes"}, "Yes, sir", "No. Yes"),
        ({"type": "contains-any", "value": '"a, b", "c""d"'}, 'c"d', "b"),
        ({"type": "contains-any", "value": [True, 1.0, None]}, "1", "7"),
        ({"type": "contains", "value": 1e21}, "1e+21", "1e21"),
        ({"type": "equals", "value": False}, "false", "False"),
        ({"type": "starts-with", "value": "Y{{city}}"}, "YBern", "Y{{city}}"),
        ({"type": "regex", "value": "^[0-9]+$"}, "12", "12a"),
        ({"type": "not-contains", "value": "sorry"}, "Bern\nis it", "I am\nsorry"),
        ({"type": "not-regex", "value": "a|b"}, "ccc", "ccb"),
        ({"type": "not-icontains", "value": "bern"}, "Basel", "In BERN"),
        ({"type": "not-icontains-any", "value": "x, y"}, "z", "Y"),
        ({"type": "not-contains-any", "value": "x, y"}, "Y", "y"),
        ({"type": "not-starts-with", "value": "No"}, "Yes, No", "No"),
        ({"type": "not-equals", "value": "Bern"}, "Bern.", "Bern"),
        ({"type": "is-json"}, "[1]", "Here it is: [1]"),
        ({"type": "is-json", "value": {"type": "object", "required": ["a"]}}, '{"a": 1}', '{"b": 1}'),
        (
            {"type": "equals", "value": {"a": [1, 2], "b": "{{city}}"}},
            '{"b": "Bern", "a": [1, 2.0]}',
            '{"a": 1}',
        ),
        ({"type": "javascript", "value": "JSON.parse(output).a[0] === 1"}, '{"a": [1]}', '{"a": ["1"]}'),
    ],
)
def test_an_assertion_about_the_text_accepts_and_rejects_the_same_answers(tmp_path, assertion, right, wrong):
    test = json.dumps([{"vars": {"city": "Bern"}, "assert": [assertion]}])
    promptfoo(tmp_path, test, "prompts: ['Where is {{city}}?']\n")
    path = tmp_path / "promptfooconfig.yaml"
    for text, ok in ((right, True), (wrong, False)):
        (sample,) = evaluate(path, f"scripted:{text}", out=tmp_path / "out", **_JSON).samples
        assert sample.ok is ok, (text, sample.failures)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\n", "This is not YAML: .* in line 2, column 1"),
        ("x: 1\n", "Not a configuration of promptfoo"),
        pytest.param(ALIASES, "more than 1,000,000 values", marks=pytest.mark.slow),
        ("a: " + "[" * 500, "nested more than 100 levels"),
        ("a: !!int five\n", "five is not a value of the type int in line 1, column 4"),
        ("a: !!timestamp no\n", "no is not a value of the type timestamp"),
        ("a: !!bool no\n", "no is not a value of the type bool"),
        ("a: !!python/name:os.system x\n", "the type !!python/name:os.system is not read"),
        ("a: .inf\n", "a value that JSON has not"),
        ("a: 1\na: 2\n", "duplicate key a in line 2, column 1"),
        ("? [a]\n: 1\n", "a key is not a text"),
        ("a: &a {b: *a}\n", "a value contains itself"),
        ("a: \0", "control characters are not allowed"),
        pytest.param(CHAIN, "merge keys repeat more than 1,000,000 members", marks=pytest.mark.slow),
        ("prompts: [hi]\ntests: [{$ref: '#/none'}]\n", "The reference #/none leads nowhere in this file"),
        ("prompts: [hi]\ntests: [{$ref: '#/tests/0'}]\n", "or to themselves"),
        ("prompts: []\ntests: []\n", "Nothing of this file can be imported"),
        ("prompts: [hi]\ntests: [{vars: 3}]\n", "imported.\\n  /tests/0/vars: The variables are not an object"),
    ],
)  # fmt: skip
def test_yaml_that_cannot_be_read_is_an_error_with_its_place(tmp_path, text, words):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(SuiteError, match=words) as error:
        load_suite(path)
    assert str(path) in error.value.where


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "type": {"type": "array", "items": {"type": "integer"}}},
}


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
        [{"type": "function", "name": "weather", "parameters": SCHEMA}],
        [{"name": "weather", "input_schema": SCHEMA}],
        [{"functionDeclarations": [{"name": "weather", "parameters": "CAPITALS"}]}, {"googleSearch": {}}],
        [{"function_declarations": [{"name": "weather", "parametersJsonSchema": SCHEMA}]}],
        [{"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}],
        {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}]},
        [{"type": "function", "definition": {"schema": {"name": "weather", "parameters": SCHEMA}}}],
        "file://tools.json",
        ["file://tools.json"],
    ],
)
@pytest.mark.parametrize("form", ["id", "key", "file"])
def test_tools_in_the_form_of_any_provider_are_read(tmp_path, tools, form):
    capitals = {
        "type": "OBJECT",
        "properties": {"city": {"type": "STRING"}, "type": {"type": "ARRAY", "items": {"type": "INTEGER"}}},
    }
    tools = json.loads(json.dumps(tools).replace('"CAPITALS"', json.dumps(capitals)))
    (tmp_path / "tools.json").write_text(json.dumps([{"name": "weather", "parameters": SCHEMA}]))
    config = {"config": {"tools": tools}}
    provider = {"id": {"id": "openai:x", **config}, "key": {"openai:x": config}, "file": "file://p.json"}[
        form
    ]
    (tmp_path / "p.json").write_text(json.dumps([{"id": "openai:x", **config}]))
    head = f"prompts: [hi]\nproviders: {json.dumps([provider])}\n"
    imported = promptfoo(tmp_path, "[{assert: [{type: trajectory:tool-used, value: weather}]}]", head)
    (tool,) = imported.suite.registry["tools"]
    assert (tool["name"], tool["parameters"]) == ("weather", SCHEMA)
    assert len(imported.left_out) == (2 if "googleSearch" in json.dumps(tools) else 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "digits", ["0x" + "f" * 800_000, "9" * 800_000, "1:" * 400_000 + "1", "." + "1" * 800_000]
)
def test_a_number_of_many_digits_takes_no_time(tmp_path, digits):
    start = time.perf_counter()
    (scenario,) = promptfoo(tmp_path, f"- vars: {{q: {digits}}}", "prompts: ['{{q}}']\n").suite.scenarios
    assert len(scenario.prompt) >= 10 and time.perf_counter() - start < 3


def test_yaml_without_pyyaml_names_the_package_to_install(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text("tests: []")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SuiteError, match="PyYAML") as error:
        load_suite(tmp_path / "config.yaml")
    assert "glyphscope[yaml]" in error.value.hint
