"""Datasets of Inspect as suites, and the commands that read other programs' files."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from glyphscope import evaluate
from glyphscope.base.errors import SuiteError
from glyphscope.cli.app import app
from glyphscope.evals.suites import IMPORTERS, Expectation, ExpectedCall, PathCheck, check_suite, load_suite
from imported_suites import skipped

import_inspect = IMPORTERS.get("inspect").read

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


@pytest.mark.parametrize(
    ("choices", "read"),
    [
        ("red, green", ["red", "green"]), ("red green", ["red", "green"]), ("deep red, tan,", ["deep red", "tan"]),
        ("red", ["red"]), (["light red", " ", "a, b"], ["light red", "a, b"]), (7, ["7"]), ([1, 2.5], ["1", "2.5"]),
    ],
)  # fmt: skip
def test_choices_are_read_as_inspect_reads_them(tmp_path, choices, read):
    texts = {"data.jsonl": json.dumps({"input": "Which?", "target": "A", "choices": choices})}
    if isinstance(choices, str):
        texts["data.csv"] = f'input,target,choices\nWhich?,A,"{choices}"\n'
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (scenario,) = import_inspect(tmp_path / name).suite.scenarios
        listed = [f"{letter}) {choice}" for letter, choice in zip("ABC", read)]
        assert scenario.prompt.split("\n\n")[1].split("\n") == listed


@pytest.mark.parametrize("target", ["b", " B ", ["B"], "B,B"])
def test_the_target_of_a_choice_is_a_letter_in_any_form(tmp_path, target):
    path = tmp_path / "data.json"
    path.write_text(json.dumps([{"input": "Which?", "target": target, "choices": "x y"}]))
    (scenario,) = import_inspect(path).suite.scenarios
    assert scenario.expect.paths[0].pattern == r"(?i)ANSWER\s*:\s*B(?![A-Za-z])"


@pytest.mark.parametrize("target", ["AB", ["A", "B"], "C", "1", {"a": 1}])
def test_any_other_target_of_a_choice_is_named(tmp_path, target):
    path = tmp_path / "data.json"
    path.write_text(json.dumps([{"input": "Which?", "target": target, "choices": "x y"}, {"input": "x"}]))
    assert "sample 1" in skipped(import_inspect(path))


CALL = {"name": "search", "arguments": {"query": "tea"}}
OPENAI = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": "tea"}'}}
OWN = {"id": "c", "type": "function", "function": "search", "arguments": {"query": "tea"}}


@pytest.mark.parametrize(
    "call", [CALL, OPENAI, OWN, {"function": CALL}], ids=["name", "openai", "inspect", "function"]
)
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("form", ["one", "list", "tool_calls"])
def test_a_call_is_the_target_as_an_object_and_as_its_json(tmp_path, call, text, form):
    target = {"one": call, "list": [call], "tool_calls": {"tool_calls": [call]}}[form]
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"input": "Tea", "target": json.dumps(target) if text else target}))
    (scenario,) = import_inspect(path, "default").suite.scenarios
    assert scenario.expect == Expectation(
        calls=(ExpectedCall(tools=("search",), arguments={"query": "tea"}),)
    )


@pytest.mark.parametrize(
    "target", [{"tool_calls": [{"function": {}}]}, {"city": "Bern"}, [{"name": "x"}], [CALL, "text"], [["a"]]]
)
def test_a_target_that_is_neither_a_text_nor_a_call_is_named(tmp_path, target):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"input": "Tea", "target": target}) + '\n{"input": "x", "target": 1.5}')
    imported = import_inspect(path, "default")
    assert "line 1" in skipped(imported)
    assert imported.suite.scenarios[0].expect.paths[0].pattern == r"(?i)1\.5"


def test_the_content_of_a_message_may_be_parts_of_text(tmp_path):
    parts = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two?"}]
    path = tmp_path / "data.json"
    image = [{"type": "image", "image": "x.png"}]
    path.write_text(json.dumps([{"input": [{"role": "user", "content": each}]} for each in (parts, image)]))
    imported = import_inspect(path)
    assert [each.prompt for each in imported.suite.scenarios] == ["One.\nTwo?"]
    assert skipped(imported)["sample 2"] == "The content of a message is not a text."


def test_a_target_that_calls_no_named_tool_or_calls_it_wrongly_is_named(tmp_path):
    path = tmp_path / "calls.jsonl"
    samples = [
        {"input": "Search", "target": json.dumps({"name": "fly", "arguments": {}})},
        {"input": "Search", "target": json.dumps({"name": "search", "arguments": {}})},
        {"input": "Search"},
    ]
    path.write_text("\n".join(map(json.dumps, samples)))
    imported = import_inspect(path, "default")
    reasons = skipped(imported)
    assert reasons["line 1"] == "The target calls fly, which is not a tool: name the tools with --registry."
    assert "query" in reasons["line 2"] and "every answer is right" in reasons["line 3, target"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "question,target\nx,y\n", "no column input"),
        ("a.csv", "input,target\nx,y,z\n", "more cells than the table has columns"),
        ("a.csv", "input,target\nx\n", "fewer cells than the table has columns"),
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
