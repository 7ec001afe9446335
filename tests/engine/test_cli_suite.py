"""`glyphscope suite`: results on stdout, errors on stderr, and the exit codes."""

import json
from pathlib import Path

import pytest

from cli_command import command as glyphscope
from glyphscope.evals.suites import bundled_suites, load_suite


def command(*arguments):
    return glyphscope("suite", *arguments)


def answer(*arguments, code=0):
    result = command(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_the_list_counts_the_scenarios_of_each_bundled_suite():
    found = {each["name"]: each for each in answer("list")}
    assert list(found) == bundled_suites()
    assert found["mask-driven"]["groups"]["conjugate"] == 5 and found["tool-calls"]["controls"] == 6
    assert all(name in command("list").stdout for name in found)


@pytest.mark.parametrize("name", bundled_suites())
def test_a_suite_is_shown_with_the_expected_calls(name, tmp_path):
    shown = command("show", name)
    suite = load_suite(name)
    assert shown.exit_code == 0 and all(each.id in shown.stdout for each in suite.scenarios)
    path = tmp_path / "again.json"
    path.write_text(json.dumps(answer("show", name)))
    assert load_suite(path) == suite


def test_a_valid_suite_is_exit_code_0():
    assert answer("check", "routing") == {"ok": True, "name": "routing", "scenarios": 61, "problems": []}
    assert "no errors" in command("check", "routing").stdout


def test_errors_of_a_suite_are_reported_with_line_and_column_and_exit_code_1(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(
        '{"glyphscope_suite": 1, "name": "a",\n "about": "", "scenarios": [{"id": "x", "prompt": 5}]}'
    )
    found = answer("check", path, code=1)
    assert found["ok"] is False
    assert found["problems"] == [
        {"pointer": "/scenarios/0", "message": '"expect" is missing.', "line": 2, "column": 29},
        {
            "pointer": "/scenarios/0/prompt",
            "message": "This is a whole number, and must be a text.",
            "line": 2,
            "column": 51,
        },
    ]
    reported = command("check", path)
    assert reported.exit_code == 1 and "line 2, column 51, /scenarios/0/prompt:" in reported.stdout
    shown = command("show", path)
    assert shown.exit_code == 2 and "line 2, column 51, /scenarios/0/prompt:" in shown.stderr


@pytest.mark.parametrize("text", [None, "{", "\x00"])
def test_a_file_that_is_not_a_suite_is_exit_code_2(tmp_path, text):
    path = tmp_path / "mine.json"
    if text is not None:
        path.write_text(text)
    result = command("check", path)
    assert result.exit_code == 2 and str(path) in result.stderr.replace("\n", "") and not result.stdout


def test_an_import_writes_a_suite_and_reports_what_was_left_out(tmp_path):
    tool = {"name": "brew", "parameters": {"type": "dict", "properties": {"kind": {"type": "string"}}}}
    asked = [
        {"id": f"simple_{n}", "question": [[{"role": "user", "content": f"{n}?"}]], "function": [tool]}
        for n in (1, 2)
    ]
    questions, answers, out = (tmp_path / name for name in ("q.json", "a.json", "out.json"))
    questions.write_text("\n".join(map(json.dumps, asked)))
    answers.write_text(json.dumps({"id": "simple_1", "ground_truth": [{"brew": {"kind": ["Assam"]}}]}))
    found = answer("import", "bfcl", questions, answers, "-o", out)
    assert (found["scenarios"], [each["id"] for each in found["left_out"]]) == (1, ["simple_2"])
    assert answer("check", out)["ok"]
    reported = command("import", "bfcl", questions, answers, "-o", out)
    assert reported.exit_code == 0 and "simple_2: There is no answer for it." in reported.stderr
    assert command("import", "bfcl", tmp_path / "none.json", "-o", out).exit_code == 2
    assert command("import", "bfcl", answers, "-o", out).exit_code == 2 and answer("check", out)["ok"]


def test_recorded_runs_become_a_suite(tmp_path):
    run, out = tmp_path / "run.jsonl", tmp_path / "mine.json"
    made = glyphscope(
        "run", "--model", 'scripted:{action="search" query="AI"}', "--record", run, "--json", "Search for AI."
    )
    assert made.exit_code == 0, made.output
    assert answer("from-runs", run, "-o", out) == {"file": str(out), "name": "mine", "scenarios": 1}
    assert load_suite(out).scenarios[0].expect.calls[0].arguments == {"query": "AI"}
    refused = glyphscope("run", "--model", "scripted:no", "--record", run, "--json", "Search.")
    assert refused.exit_code == 1
    assert command("from-runs", run, "-o", out).exit_code == 2


def test_errors_beyond_the_printed_ones_are_counted(tmp_path):
    path = tmp_path / "mine.json"
    made = [{"id": str(n), "prompt": "x"} for n in range(25)]
    path.write_text(json.dumps({"glyphscope_suite": 1, "name": "a", "about": "", "scenarios": made}))
    assert "… and 5 more" in command("show", path).stderr
    assert command("check", path).stdout.count('"expect" is missing') == 25


def test_the_example_of_the_documentation_is_a_suite(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "suites.md").read_text()
    path = tmp_path / "kitchen.json"
    path.write_text(text.partition("```json kitchen.json\n")[2].partition("```")[0])
    assert answer("check", path)["scenarios"] == 2
