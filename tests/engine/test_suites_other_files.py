"""Datasets of Inspect as suites, and the commands that read other programs' files."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from glyphscope import evaluate
from glyphscope.cli.app import app
from glyphscope.errors import SuiteError
from glyphscope.evals.suites.inspect_dataset import import_inspect
from glyphscope.evals.suites.reading import check_suite, load_suite
from glyphscope.evals.suites.suite import Expectation, ExpectedCall, PathCheck
from imported_suites import skipped

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
