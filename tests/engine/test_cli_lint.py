"""`glyphscope lint`: the problems of files of any kind with their places, in all its forms of output."""

import json
import sys

import pytest

from cli_command import command

TOOLS = """{"glyphscope": 1, "tools": [
  {"name": "set", "parameters": {"type": "object",
    "properties": {"n": {"type": "integer", "minimum": 9, "maximum": 3}}, "required": ["n"]}},
  {"name": "pay", "input_examples": [{"n": "x"}], "parameters": {"type": "object",
    "properties": {"n": {"type": "integer"}, "m": {"type": "string", "minLength": 5, "maxLength": 2}}}}
]}"""
OPENAI = """[{"type": "function", "function": {"name": "a",
  "parameters": {"type": "objekt"}}}]"""
SUITE = '{"glyphscope_suite": 1, "name": "x", "about": "",\n "scenarios": [{"id": 1}]}'
CUSTOM = r"""{"glyphscope": 1, "tools": [
  {"name": "a", "parameters": {"type": "object", "properties": {"q": {"x-grammar": "\"\u00e9\" oops \"é\""}}}},
  {"type": "custom", "name": "b", "format": {"type": "grammar", "syntax": "lark", "definition": "start: a\n"}}
]}"""
OPENAPI = """openapi: 3.1.0
info: {title: x, version: "1"}
paths:
  /a:
    get: {operationId: a, parameters: [
      {name: q, in: query, required: true, schema: {type: integer, minimum: 5, maximum: 2}}]}
"""
# name, text: line, column, severity and code of each problem
FILES = [
    (
        "tools.json",
        TOOLS,
        [(3, 25, "error", "uncallable"), (4, 37, "warning", "example"), (5, 51, "warning", "contradiction")],
    ),
    ("openai.json", OPENAI, [(2, 26, "error", "registry"), (2, 26, "error", "registry")]),
    ("broken.json", '{"a": [1,\n 2,]}', [(2, 3 if sys.version_info >= (3, 13) else 4, "error", "json")]),
    ("package.json", '{"private": true}', [(1, 1, "error", "json")]),
    ("suite.json", SUITE, [(2, 16, "error", "suite"), (2, 16, "error", "suite"), (2, 23, "error", "suite")]),
    ("custom.json", CUSTOM, [(2, 96, "error", "undefined-rule"), (3, 105, "error", "undefined-name")]),
    ("api.yaml", OPENAPI, [(5, 10, "error", "uncallable")]),
    ("bad.yaml", 'openapi: 3.1.0\ninfo: {title: "é"}\npaths: [\n', [(4, 1, "error", "json")]),
    ("twice.yaml", "openapi: 3.1.0\n# é\npaths: {}\npaths: {}\n", [(4, 1, "error", "json")]),
    ("g.gbnf", 'root ::= x "é"\n', [(1, 10, "error", "undefined-rule")]),
    ("g.lark", 'start: "a"\n  // c\n  | "b"\n', [(3, 3, "error", "line-before-bar")]),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text, _ in FILES:
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "fine.json").write_text('{"glyphscope": 1, "tools": []}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("name", "expected"), [(name, expected) for name, _, expected in FILES])
def test_each_problem_has_its_place_severity_and_code(folder, name, expected):
    done = command("lint", name, "--json")
    found = json.loads(done.stdout)["problems"]
    assert [(each["line"], each["column"], each["severity"], each["code"]) for each in found] == expected
    assert done.exit_code == 1 and {each["file"] for each in found} == {name}


def test_the_schema_of_a_strict_tool_is_checked_for_the_api_of_its_file(folder):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    for name, tool in (
        ("openai", {"type": "function", "function": {"name": "a", "parameters": schema, "strict": True}}),
        ("anthropic", {"name": "a", "input_schema": schema, "strict": True}),
    ):
        (folder / f"{name}.json").write_text(json.dumps([tool]))
        found = json.loads(command("lint", f"{name}.json", "--json").stdout)["problems"]
        assert {(each["severity"], each["code"]) for each in found} == {("warning", "strict")} and len(
            found
        ) == 2
        assert all(each["pointer"].endswith("/strict") for each in found)
        assert any("minimum" in each["message"] for each in found) == (name == "anthropic")


def test_several_files_are_checked_and_counted_and_one_without_problems_passes(folder):
    done = command("lint", "fine.json", "g.gbnf", "tools.json")
    assert done.exit_code == 1 and done.stdout.splitlines()[-1] == "3 files: 2 errors, 2 warnings"
    assert (
        "g.gbnf:1:10: ✗ error: The rule x is not defined. Define it: `x ::= …`. [undefined-rule]"
        in done.stdout
    )
    fine = command("lint", "fine.json")
    assert (fine.exit_code, fine.stdout) == (0, "1 file: no problems\n")


def test_warnings_fail_only_with_strict(folder):
    warned = TOOLS.replace('"maximum": 3', '"maximum": 30')
    (folder / "warned.json").write_text(warned, encoding="utf-8")
    assert command("lint", "warned.json").exit_code == 0
    assert command("lint", "warned.json", "--strict").exit_code == 1


def test_lines_for_github_escape_what_ends_a_member(folder):
    (folder / "a,b.gbnf").write_text("root ::= [%\n")
    lines = command("lint", "a,b.gbnf", "tools.json", "--github").stdout.splitlines()
    assert lines[0].startswith("::error file=a%2Cb.gbnf,line=1,col=10,endLine=")
    assert lines[0].partition("::")[2].count("::") == 1
    assert [line.partition(" ")[0] for line in lines[-4:-1]] == ["::error", "::warning", "::warning"]
    assert command("lint", "g.gbnf", "--github", "--json").exit_code == 2


def test_sarif_has_the_required_members_a_rule_for_each_code_and_the_fixes(folder):
    names = [name for name, _, _ in FILES]
    (folder / "ö x.gbnf").write_text('root ::= "a\n')
    assert command("lint", *names, "ö x.gbnf", "--sarif", "out.sarif").exit_code == 1
    log = json.loads((folder / "out.sarif").read_text(encoding="utf-8"))
    (run,) = log["runs"]
    driver, results = run["tool"]["driver"], run["results"]
    assert (log["version"], run["columnKind"], driver["name"]) == ("2.1.0", "unicodeCodePoints", "Glyphscope")
    assert set(log) == {"$schema", "version", "runs"} and set(run) == {"tool", "columnKind", "results"}
    assert len(results) == sum(len(expected) for _, _, expected in FILES) + 1
    for result in results:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
        (location,) = result["locations"]
        region = location["physicalLocation"]["region"]
        assert (
            set(region) == {"startLine", "startColumn", "endLine", "endColumn"} and min(region.values()) >= 1
        )
        assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert results[-1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%C3%B6%20x.gbnf"
    (change,) = results[-1]["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"] == {"uri": "%C3%B6%20x.gbnf"}
    assert change["replacements"][0]["insertedContent"] == {"text": '"'}


def test_a_file_that_cannot_be_read_is_bad_input_and_the_others_are_checked(folder):
    done = command("lint", "missing.gbnf")
    assert done.exit_code == 2 and "missing.gbnf" in done.stderr and not done.stdout
    done = command("lint", "missing.gbnf", "g.gbnf", ".", "--sarif", "out.sarif")
    assert done.exit_code == 2 and "g.gbnf:1:10" in done.stdout and "1 file: 1 error" in done.stdout
    assert "missing.gbnf" in done.stderr and "folder" in done.stderr
    assert len(json.loads((folder / "out.sarif").read_text())["runs"][0]["results"]) == 1
    assert json.loads(command("lint", "missing.gbnf", "fine.json", "--json").stdout)["ok"] is False


def test_a_byte_that_is_not_utf_8_has_its_place(folder):
    (folder / "tools.json").write_bytes('\ufeff{"é":\n "a'.encode() + b'\xff"}')
    (problem,) = json.loads(command("lint", "tools.json", "--json").stdout)["problems"]
    assert (problem["line"], problem["column"]) == (2, 4)
