"""`glyphscope grammar match` and `sample`, as they are used."""

import json

import pytest

from cli_command import command

GBNF = 'root ::= "max=" digits (" page=" digits)?\ndigits ::= [0-9]+\n'
CALL = '{action="search" query="AI news" max_results=10}'


@pytest.fixture
def gbnf(tmp_path):
    path = tmp_path / "g.gbnf"
    path.write_text(GBNF)
    return str(path)


def match(*arguments, text=None):
    return command("grammar", "match", *arguments, text=text)


def answer(*arguments, text=None):
    return json.loads(match("--json", *arguments, text=text).stdout)


def sample(*arguments):
    return command("grammar", "sample", *arguments)


def test_an_accepted_text_is_a_yes_with_exactly_the_documented_keys(gbnf):
    result = match(gbnf, "max=12", "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert list(report) == ["accepted", "prefix_ok", "failed_at", "expected", "rules"]
    assert (report["accepted"], report["prefix_ok"], report["failed_at"]) == (True, True, None)
    assert report["expected"] == ["0-9", '" page="', "end of text"]


def test_a_rejected_text_is_a_no_with_place_reason_and_rules(gbnf):
    result = match(gbnf, "max=1x2", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["accepted"], report["prefix_ok"], report["failed_at"]) == (False, False, 5)
    assert [rule["name"] for rule in report["rules"]] == ["root", "digits"]


def test_an_incomplete_text_is_a_no_with_a_valid_prefix(gbnf):
    result = match(gbnf, "max=1 pa", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["prefix_ok"], report["failed_at"], report["expected"]) == (True, None, ['"ge="'])


def test_a_call_of_a_registry_fails_at_its_argument(tmp_path):
    registry = tmp_path / "tools.json"
    parameters = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 99}}}
    registry.write_text(
        json.dumps({"glyphscope": 1, "tools": [{"name": "t", "description": "", "parameters": parameters}]})
    )
    report = answer("--registry", str(registry), '{action="t" n=100}')
    assert report["failed_at"] == 16
    assert report["rules"][-1] | {"name": ""} == {
        "name": "",
        "start": 14,
        "tool": "t",
        "pointer": "/properties/n",
    }
    assert answer("-r", str(registry), "--notation", "json", '{"action":"t","n":99}')["accepted"]


def test_values_of_a_schema_are_matched(tmp_path):
    schema = tmp_path / "s.json"
    schema.write_text('{"type": "array", "items": {"enum": ["a", "b"]}}')
    assert answer("--schema", str(schema), "--notation", "json", '["a","b"]')["accepted"]
    assert answer("--schema", str(schema), "--notation", "json", '["a","c"]')["failed_at"] == 6


def test_standard_input_is_matched_unchanged(gbnf):
    assert answer(gbnf, "-", text="max=12")["accepted"]
    assert answer(gbnf, "-", text="max=12\n")["failed_at"] == 6


def test_the_failing_character_the_expected_ones_and_the_rules_are_shown(gbnf):
    shown = match(gbnf, "max=1\n").stdout.splitlines()
    assert shown[:2] == ["max=1␊", "     ▲"]
    assert "character 5 (line 1, column 6): line-feed" in shown[2]
    assert shown[3] == "  expected: 0-9   in digits"
    assert shown[-1] == "  reading:  root › digits"
    assert "incomplete" in match(gbnf, "max=").stdout
    assert "✓ accepted" in match(gbnf, "max=1").stdout


def test_lines_are_answered_one_each(gbnf, tmp_path):
    lines = tmp_path / "texts.jsonl"
    lines.write_text('{"text": "max=1"}\n\n{"text": "x"}\n')
    result = match(gbnf, "--lines", str(lines))
    assert result.exit_code == 1
    assert [json.loads(line)["accepted"] for line in result.stdout.splitlines()] == [True, False]
    lines.write_text('{"text": "max=1"}\n{"no": 1}\n{"text": "max=2"}\n')
    result = match(gbnf, "--lines", str(lines))
    first, bad, last = map(json.loads, result.stdout.splitlines())
    assert first["accepted"] and last["accepted"] and result.exit_code == 2
    assert "line 2" in bad["error"]["where"] and "line 2" in result.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["x"], ["G", "a", "b"], ["G", "--registry", "R", "a"], ["-", "-"], ["G", "--lines", "L", "a"]]
)  # fmt: skip
def test_bad_usage_is_exit_code_2_and_prints_no_answer(arguments, gbnf):
    result = match(*[gbnf if argument == "G" else argument for argument in arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr


def test_errors_of_a_grammar_are_reported_with_line_and_column(tmp_path):
    bad = tmp_path / "bad.gbnf"
    bad.write_text('root ::= "a"\n  missing\n')
    result = match(str(bad), "a")
    assert result.exit_code == 2
    assert "line 2, column 3" in result.stderr


def test_samples_are_accepted_by_the_same_grammar(gbnf, tmp_path):
    texts = sample(gbnf, "-n", "30", "--seed", "1", "--json")
    assert texts.exit_code == 0
    assert len(texts.stdout.splitlines()) == 30
    lines = tmp_path / "texts.jsonl"
    lines.write_text(texts.stdout)
    assert match(gbnf, "--lines", str(lines)).exit_code == 0
    assert sample(gbnf, "-n", "30", "--seed", "1", "--json").stdout == texts.stdout


def test_sampling_without_a_valid_registry_is_exit_code_2():
    some = sample("--registry", "missing.json")
    assert some.exit_code == 2
    assert sample().exit_code == 2


def test_covering_texts_begin_with_the_shortest(gbnf):
    texts = sample(gbnf, "--cover").stdout.splitlines()
    assert len(texts[0]) == 5
    assert any(" page=" in text for text in texts)


def test_a_grammar_without_a_text_is_reported(tmp_path):
    endless = tmp_path / "e.gbnf"
    endless.write_text('root ::= "a" root\n')
    result = sample(str(endless))
    assert result.exit_code == 2
    assert result.stderr
