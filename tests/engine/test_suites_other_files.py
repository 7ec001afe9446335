"""Datasets of Inspect as suites, and the commands that read other programs' files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from expected_texts import as_in_file, blocks_of
from glyphscope import evaluate
from glyphscope.base.errors import SuiteError
from glyphscope.cli.app import app
from glyphscope.evals.suites import IMPORTERS
from glyphscope.evals.suites.reading import load_suite
from glyphscope.evals.suites.suite import Expectation
from glyphscope.events import ExpectedCall
from imported_suites import error_lines, suite_lines

import_inspect = IMPORTERS.get("inspect").read

CASES = Path(__file__).with_name("suites_other_files.txt")


def test_datasets_are_imported_as_in_the_file(tmp_path):
    def found() -> Iterator[str]:
        registry: tuple[str, ...] = ()
        for block in blocks_of(CASES):
            given = [line for line in block.split("\n") if not line.startswith("→")]
            if is_title := given[0].startswith("# "):
                registry = ("default",) if "a call of a tool" in given[0] else ()
            name, *lines = given[is_title:]
            path = tmp_path / name
            path.write_text("\n".join(lines) + "\n")
            try:
                imported = suite_lines(import_inspect(path, *registry), tmp_path)
            except SuiteError as error:
                imported = error_lines(error, tmp_path)
            yield "\n".join((*given, *imported))

    as_in_file(CASES, found())


def test_a_choice_is_judged_by_its_letter(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('input,target,choices\n"Which, then?",B,"x, y"\nSay hello,hello,\n')
    result = evaluate(path, "scripted:I think so.\nAnswer: B", out=tmp_path / "out", constraints=["off"])
    assert [sample.ok for sample in result.samples] == [True, False]


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
