"""`glyphscope suite`: results on stdout, errors on stderr, and the exit codes."""

import json
from pathlib import Path

import pytest

from cli_command import command as glyphscope
from glyphscope.evals.suites.reading import bundled_suites, load_suite


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
