"""Configurations of promptfoo and datasets of Inspect as suites: what is imported, and the list of what is not."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from typer.testing import CliRunner

from glyphscope import evaluate
from glyphscope.cli.app import app
from glyphscope.errors import SuiteError
from glyphscope.evals.suites.imported import ImportedSuite
from glyphscope.evals.suites.inspect_dataset import import_inspect
from glyphscope.evals.suites.promptfoo import import_promptfoo
from glyphscope.evals.suites.reading import check_suite, encode_suite, load_suite, parse_suite
from glyphscope.evals.suites.suite import Expectation, ExpectedCall, JudgeCheck, PathCheck, Scenario

WEATHER = """
description: Weather of cities
prompts: ['What is the weather in {{city}}?']
providers:
  - id: openai:chat:gpt-4.1-mini
    config:
      temperature: 0
      tools:
        - type: function
          function:
            name: weather
            description: The weather of a city.
            parameters:
              type: object
              properties: {city: {type: string}, days: {type: integer, maximum: 7}}
              required: [city]
        - type: function
          function: {name: book, parameters: {type: object, properties: {to: {type: string}}}}
"""


ALIASES = "c0: &c0 [x, x]\n" + "".join(
    f"c{n}: &c{n} [{', '.join([f'*c{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
"""Nine values in each, so more than any memory has."""


def promptfoo(folder: Path, tests: str, head: str = WEATHER) -> ImportedSuite:
    path = folder / "promptfooconfig.yaml"
    path.write_text(head + "tests:\n" + indent(dedent(tests), "  "))
    imported = import_promptfoo(path)
    assert check_suite(imported.suite) == ()
    assert parse_suite(encode_suite(imported.suite)) == imported.suite
    return imported


def skipped(imported: ImportedSuite) -> dict[str, str]:
    return {each.id: each.reason for each in imported.left_out}


def asserted(
    folder: Path, *assertions: dict[str, Any], tools: bool = True
) -> tuple[Scenario, dict[str, str]]:
    test = json.dumps([{"vars": {"city": "Bern"}, "assert": list(assertions)}])
    head = WEATHER if tools else "prompts: ['Where is {{city}}?']\n"
    imported = promptfoo(folder, test, head)
    (scenario,) = imported.suite.scenarios
    return scenario, skipped(imported)


# promptfoo


def test_a_configuration_becomes_a_scenario_for_each_prompt_and_combination_of_variables(tmp_path):
    (tmp_path / "chat.json").write_text(
        '[{"role":"system","content":"Be short."},{"role":"user","content":"Hi"},'
        '{"role":"assistant","content":"Hello."},{"role":"user","content":"Weather in {{ city }}, {{place.country}}?"}]'
    )
    imported = promptfoo(
        tmp_path,
        """
        - description: two cities
          vars: {city: [Bern, Oslo], place: {country: Europe}}
          assert: [{type: is-valid-openai-tools-call}]
        """,
        WEATHER.replace("prompts: [", "prompts: ['file://chat.json', "),
    )
    suite = imported.suite
    assert [each.id for each in suite.scenarios] == [
        "two-cities-prompt-1", "two-cities-prompt-1-2", "two-cities-prompt-2", "two-cities-prompt-2-2",
    ]  # fmt: skip
    chat, *_, last = suite.scenarios
    assert chat.prompt == "Weather in Bern, Europe?" and last.prompt == "What is the weather in Oslo?"
    assert chat.request["system_prompt"] == "Be short." and len(chat.request["history"]) == 2
    assert suite.strategy == "direct" and suite.about.startswith("Weather of cities")
    assert [tool["name"] for tool in suite.registry["tools"]] == ["weather", "book"]
    assert chat.expect.calls == (ExpectedCall(tools=("weather", "book")),)
    assert skipped(imported) == {"/providers": "Models and their settings are chosen for each evaluation."}


@pytest.mark.parametrize(
    ("assertion", "expect"),
    [
        ({"type": "trajectory:tool-used", "value": "weather"}, {"calls": (ExpectedCall(tools=("weather",)),)}),
        ({"type": "not-trajectory:tool-used", "value": "book"}, {"forbidden": ("book",)}),
        (
            {"type": "trajectory:tool-args-match", "value": {"name": "weather", "args": {"city": "{{city}}"}}},
            {"calls": (ExpectedCall(tools=("weather",), arguments={"city": "Bern"}, match="subset"),)},
        ),
        (
            {"type": "trajectory:tool-args-match",
             "value": {"name": "weather", "arguments": {"city": "Bern"}, "mode": "exact"}},
            {"calls": (ExpectedCall(tools=("weather",), arguments={"city": "Bern"}),)},
        ),
        (
            {"type": "tool-call-f1", "value": "weather, book"},
            {"calls": (ExpectedCall(tools=("weather",)), ExpectedCall(tools=("book",))), "extra_calls": False},
        ),
        (
            {"type": "trajectory:tool-sequence", "value": {"steps": ["weather", "weather"]}},
            {"calls": (ExpectedCall(tools=("weather",)),) * 2, "ordered": True},
        ),
        (
            {"type": "equals", "value": "weather", "transform": "output[0].function.name"},
            {"paths": (PathCheck(path="$.calls[0].tool", equals="weather"),)},
        ),
        (
            {"type": "javascript",
             "value": "JSON.parse(output[0].function.arguments).days === 3 && output[0].name == 'weather'"},
            {"paths": (PathCheck(path='$.calls[0].arguments["days"]', equals=3),
                       PathCheck(path="$.calls[0].tool", equals="weather"))},
        ),
        ({"type": "llm-rubric", "value": "About {{city}}"}, {"judge": (JudgeCheck(rubric="About Bern"),)}),
    ],
)  # fmt: skip
def test_an_assertion_about_a_call_is_the_same_check_in_the_suite(tmp_path, assertion, expect):
    scenario, left_out = asserted(tmp_path, assertion)
    assert scenario.expect == Expectation(**{"extra_calls": True, **expect})
    assert left_out.keys() == {"/providers"}


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
        ({"type": "ends-with", "value": "!"}, "Yes!", "Yes! No"),
        ({"type": "regex", "value": "^[0-9]+$"}, "12", "12a"),
        ({"type": "not-contains", "value": "sorry"}, "Bern\nis it", "I am\nsorry"),
        ({"type": "not-regex", "value": "a|b"}, "ccc", "ccb"),
        ({"type": "not-equals", "value": "Bern"}, "Bern.", "Bern"),
    ],
)
def test_an_assertion_about_the_text_accepts_and_rejects_the_same_answers(tmp_path, assertion, right, wrong):
    asserted(tmp_path, assertion, tools=False)
    path = tmp_path / "promptfooconfig.yaml"
    for text, ok in ((right, True), (wrong, False)):
        (sample,) = evaluate(path, f"scripted:{text}", out=tmp_path / "out", constraints=["off"]).samples
        assert sample.ok is ok, (text, sample.failures)


def test_everything_that_is_not_imported_is_listed_with_its_place(tmp_path):
    imported = promptfoo(
        tmp_path,
        """
        - vars: {city: Bern}
          options: {rubricPrompt: hi}
          assert:
            - {type: is-json}
            - {type: cost, threshold: 0.1}
            - {type: javascript, value: 'output.length < 100'}
            - {type: python, value: file://check.py}
            - {type: trajectory:tool-used, value: fly}
            - {type: tool-call-f1, value: [weather], threshold: 0.8}
            - {type: regex, value: '('}
            - {type: llm-rubric, value: good, threshold: 0.5, weight: 2}
            - {type: contains, value: Bern, metric: city}
        - {vars: {city: file:///etc/passwd}}
        - {vars: {town: Bern}}
        - file://../elsewhere.yaml
        - file://tests.js
        - {vars: {city: Rome}, assert: [{type: latency, threshold: 3}]}
        """,
        WEATHER.replace(
            "prompts: [", "sharing: true\nprompts: ['{% if city %}x{% endif %}', file://prompt.py, "
        ),
    )
    assert skipped(imported) == {
        "/providers": "Models and their settings are chosen for each evaluation.",
        "/sharing": "A suite has no place for sharing.",
        "/prompts/1": "prompt.py is not a text: prompts that code makes are not imported.",
        "/tests/0/options/rubricPrompt": "A suite has no place for rubricPrompt.",
        "/tests/0/assert/0": "There is no assertion of a suite like is-json.",
        "/tests/0/assert/1": "cost is not a check of the answer.",
        "/tests/0/assert/2": "JavaScript is not run: output.length < 100",
        "/tests/0/assert/3": "There is no assertion of a suite like python.",
        "/tests/0/assert/4": "fly is not a tool of the file.",
        "/tests/0/assert/5": "Only a threshold of 1 is expressible in a suite: all of the tools, and no others.",
        "/tests/0/assert/6": "Invalid regular expression: missing ) at position 1.",
        "/tests/0/assert/7/threshold": "A suite has no place for threshold.",
        "/tests/0/assert/7/weight": "A suite has no place for weight.",
        "/tests/0/assert/8/metric": "A suite has no place for metric.",
        "/prompts/0, for /tests/0": "The template has code, which is not run: {% if city %}x{% endif %}",
        "/tests/1/vars": "file:///etc/passwd is not below the folder of the configuration.",
        "/tests/2/assert": "No assertion is imported, so every answer is right.",
        "/prompts/0, for /tests/2": "The template has code, which is not run: {% if city %}x{% endif %}",
        "/prompts/2, for /tests/2": "The variable city has no value.",
        "/tests/3": "file://../elsewhere.yaml is not below the folder of the configuration.",
        "/tests/4": "tests.js is not a file of tests: tests that code makes are not imported.",
        "/prompts/0, for /tests/5": "The template has code, which is not run: {% if city %}x{% endif %}",
        "/tests/5/assert/0": "latency is not a check of the answer.",
        "/tests/5/assert": "No assertion is imported, so every answer is right.",
    }
    assert [each.id for each in imported.suite.scenarios] == ["test-1-prompt-2", "test-6-prompt-2"]
    assert (
        "Not imported: /tests/0/options/rubricPrompt: A suite has no place for rubricPrompt."
        in imported.suite.notes
    )


def test_a_transform_of_the_answer_changes_what_the_assertions_are_about(tmp_path):
    imported = promptfoo(
        tmp_path,
        """
        - vars: {city: Bern}
          options: {transform: 'output[0].function.name'}
          assert:
            - {type: equals, value: weather}
            - {type: contains, value: ern, transform: 'JSON.parse(output[0].function.arguments).city'}
            - {type: llm-rubric, value: good}
        - vars: {city: Bern}
          options: {transform: 'output.trim()'}
          assert: [{type: equals, value: weather}]
        """,
    )
    transformed, bare = imported.suite.scenarios
    assert transformed.expect.paths == (
        PathCheck(path="$.calls[0].tool", equals="weather"),
        PathCheck(path='$.calls[0].arguments["city"]', pattern="ern"),
    )
    assert bare.expect.paths == ()
    reasons = skipped(imported)
    assert reasons["/tests/0/assert/2"] == "A transform of llm-rubric is not expressible in a suite."
    assert reasons["/tests/1/assert/0"] == "JavaScript is not run: output.trim()"


def test_checks_of_calls_are_not_imported_without_tools(tmp_path):
    test = {"type": "javascript", "value": "output[0].name === 'weather'"}
    scenario, left_out = asserted(tmp_path, test, {"type": "contains", "value": "x"}, tools=False)
    assert left_out == {"/tests/0/assert/0": "The file has no tools: name them with --registry."}
    assert len(scenario.expect.paths) == 1


def test_tests_come_from_tables_and_files_next_to_the_configuration(tmp_path):
    (tmp_path / "more.csv").write_text(
        "city,__expected1,__expected2,__description\nRome,contains: Rome,Rome,by hand\n"
    )
    (tmp_path / "more.json").write_text('[{"vars": {"city": "Oslo"}, "metadata": {"source": "us"}}]')
    imported = promptfoo(tmp_path, "[file://more.csv, file://more.json]", "prompts: ['Where is {{city}}?']\n")
    table, other = imported.suite.scenarios
    assert (table.id, table.prompt) == ("by-hand", "Where is Rome?")
    assert table.expect.paths == (
        PathCheck(path="$.answer", pattern="Rome"),
        PathCheck(path="$.answer", equals="Rome"),
    )
    assert other.id == "more-1" and other.note == 'metadata: {"source":"us"}'
    assert imported.suite.strategy == "loop" and table.request == {"tool_choice": "none"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\n", "This is not YAML: .* in line 2, column 1"),
        ("x: 1\n", "Not a configuration of promptfoo"),
        (ALIASES, "more than 1,000,000 values"),
        ("a: " + "[" * 500, "nested more than 100 levels"),
        ("a: 2026-13-45\n", "a value that cannot be read"),
        ("prompts: []\ntests: []\n", "Nothing of this file can be imported"),
        ("prompts: [hi]\ntests: [{vars: 3}]\n", "imported. /tests/0/vars: The variables are not an object"),
    ],
)  # fmt: skip
def test_yaml_that_cannot_be_read_is_an_error_with_its_place(tmp_path, text, words):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(SuiteError, match=words) as error:
        load_suite(path)
    assert str(path) in error.value.where


def test_yaml_without_pyyaml_names_the_package_to_install(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text("tests: []")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SuiteError, match="PyYAML") as error:
        load_suite(tmp_path / "config.yaml")
    assert "glyphscope[yaml]" in error.value.hint


# Inspect

SAMPLES = [
    {
        "id": 7,
        "input": "Where is Bern?",
        "target": ["Switzerland", "the Alps"],
        "metadata": {"level": "easy"},
    },
    {
        "input": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "1 + 1?"}],
        "target": "2",
    },
    {
        "id": "choice",
        "input": "Which is a city?",
        "choices": ["Bern", "Aare"],
        "target": "A",
        "sandbox": "docker",
    },
]


@pytest.mark.parametrize("name", ["data.json", "data.jsonl"])
def test_the_samples_of_a_dataset_become_scenarios(tmp_path, name):
    path = tmp_path / name
    lines = "\n".join(map(json.dumps, SAMPLES))
    path.write_text(lines if name.endswith("l") else json.dumps(SAMPLES))
    imported = import_inspect(path)
    suite = imported.suite
    assert check_suite(suite) == () and load_suite(path) == suite
    first, second, third = suite.scenarios
    assert (first.id, first.note) == ("7", 'metadata: {"level":"easy"}')
    assert first.expect.paths == (PathCheck(path="$.answer", pattern=r"(?i)Switzerland|the\ Alps"),)
    assert second.id == "sample-2" and second.request["system_prompt"] == "Be short."
    assert third.prompt.startswith("Which is a city?\n\nA) Bern\nB) Aare\n\nAnswer with the letter")
    assert list(skipped(imported).values()) == [
        "A suite has no place for sandbox; further samples can have it too."
    ]
    assert next(iter(skipped(imported))).endswith("3, sandbox")


def test_a_table_of_samples_is_read_as_inspect_reads_it(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(
        'input,target,choices,metadata\n"Which, then?",B,"x, y","{""n"": 1}"\nSay hello,hello,,\n'
    )
    one, two = import_inspect(path).suite.scenarios
    assert "A) x\nB) y" in one.prompt and one.note == 'metadata: {"n":1}'
    result = evaluate(path, "scripted:I think so.\nANSWER: B", out=tmp_path / "out", constraints=["off"])
    assert [sample.ok for sample in result.samples] == [True, False] and two.prompt == "Say hello"


def test_targets_that_are_calls_are_expected_calls_of_the_named_tools(tmp_path):
    call = {"name": "search", "arguments": {"query": "tea"}}
    openai = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": "tea"}'}}
    path = tmp_path / "calls.jsonl"
    samples = [
        {"input": "Search for tea", "target": json.dumps(call)},
        {"input": "Search for tea", "target": json.dumps([openai])},
        {"input": "Search", "target": json.dumps({"name": "fly", "arguments": {}})},
        {"input": "Search", "target": json.dumps({"name": "search", "arguments": {}})},
        {"input": "Search"},
    ]
    path.write_text("\n".join(map(json.dumps, samples)))
    imported = import_inspect(path, "default")
    expected = Expectation(calls=(ExpectedCall(tools=("search",), arguments={"query": "tea"}),))
    assert [each.expect for each in imported.suite.scenarios[:2]] == [expected] * 2
    reasons = skipped(imported)
    assert reasons["line 3"] == "The target calls fly, which is not a tool: name the tools with --registry."
    assert "query" in reasons["line 4"] and "every answer is right" in reasons["line 5, target"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "question,target\nx,y\n", "no column input"),
        ("a.csv", "input,target\nx,y,z\n", "more cells than the table has columns"),
        ("a.csv", 'input\n"x', "not CSV"),
        ("a.jsonl", '{"input": "x"}\n{', "This is not JSON"),
        ("a.jsonl", "[1]", "A sample is a JSON object"),
        ("a.jsonl", '{"input": {"role": "user"}}', "The last message is not the user's"),
    ],
)
def test_a_dataset_that_cannot_be_read_is_an_error_with_its_place(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SuiteError, match=words) as error:
        load_suite(path)
    assert str(path) in error.value.where


# on the command line


def test_other_files_are_evaluated_checked_and_imported_by_command(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"input": "Where is Bern?", "target": "Swiss", "files": {"a": "b"}}))
    run = CliRunner().invoke
    result = run(
        app, ["eval", str(path), "--model", "scripted:In swiss land.", "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 0 and "data: Not imported: line 1, files: " in result.stderr, result.stderr
    assert run(app, ["suite", "check", str(path)]).exit_code == 0
    out = tmp_path / "made.json"
    result = run(
        app, ["suite", "import", "inspect", str(path), "-o", str(out), "--registry", "default", "--json"]
    )
    made = json.loads(result.stdout)
    assert made["scenarios"] == 1 and made["left_out"][0]["id"] == "line 1, files"
    assert load_suite(out).registry == "default"
    config = tmp_path / "c.json"
    config.write_text(
        json.dumps({"prompts": ["{{q}}"], "tests": [{"vars": {"q": "Hi"}, "assert": [{"type": "cost"}]}]})
    )
    result = run(app, ["suite", "import", "promptfoo", str(config), "-o", str(out)])
    assert result.exit_code == 0 and "/tests/0/assert/0: cost is not a check" in result.stderr
    assert load_suite(config).scenarios == load_suite(out).scenarios
