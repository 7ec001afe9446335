"""Configurations of promptfoo as suites: read as promptfoo 0.123 reads them, or the loss is named.

The expected prompts and verdicts were compared with promptfoo's own, with its provider `echo`.
"""

from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import pytest

from glyphscope import evaluate
from glyphscope.base.errors import SuiteError
from glyphscope.evals.suites import Expectation, ExpectedCall, JudgeCheck, PathCheck, Scenario, load_suite
from imported_suites import WEATHER, promptfoo, skipped

ALIASES = "c0: &c0 [x, x]\n" + "".join(
    f"c{n}: &c{n} [{', '.join([f'*c{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
"""Nine values in each, so more than any memory has."""

CHAIN = "c0: &c0 {a: 1}\n" + "".join(f"c{n}: &c{n} {{<<: *c{n - 1}, k{n}: 1}}\n" for n in range(1, 2_000))
"""Each has all members of those before it."""


def asserted(
    folder: Path, *assertions: dict[str, Any], tools: bool = True
) -> tuple[Scenario, dict[str, str]]:
    test = json.dumps([{"vars": {"city": "Bern"}, "assert": list(assertions)}])
    head = WEATHER if tools else "prompts: ['Where is {{city}}?']\n"
    imported = promptfoo(folder, test, head)
    (scenario,) = imported.suite.scenarios
    return scenario, skipped(imported)


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
            {"type": "trajectory:tool-args-match", "value": {"name": "weather", "args": {"city": "Bern"}}},
            {"calls": (ExpectedCall(tools=("weather",), arguments={"city": "Bern"}, match="subset"),)},
        ),
        (
            {"type": "equals", "value": 3, "transform": "JSON.parse(output[0].function.arguments).days"},
            {"paths": (PathCheck(path='$.calls[0].arguments["days"]', any_of=(3, "3")),)},
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
        "/prompts/1": "file://prompt.py is code, which is not run: this prompt is not imported.",
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
        "/tests/1/vars": f"file:///etc/passwd: The file is outside of the folder {tmp_path}.",
        "/tests/2/assert": "No assertion is imported, so every answer is right.",
        "/prompts/0, for /tests/2": "The template has code, which is not run: {% if city %}x{% endif %}",
        "/prompts/2, for /tests/2": "The variable city has no value, so nothing is in its place.",
        "/tests/3": f"file://../elsewhere.yaml: The file is outside of the folder {tmp_path}.",
        "/tests/4": "file://tests.js is code, which is not run: this test is not imported.",
        "/prompts/0, for /tests/5": "The template has code, which is not run: {% if city %}x{% endif %}",
        "/tests/5/assert/0": "latency is not a check of the answer.",
        "/tests/5/assert": "No assertion is imported, so every answer is right.",
    }
    assert [each.id for each in imported.suite.scenarios] == [
        "test-1-prompt-2",
        "test-3-prompt-2",
        "test-6-prompt-2",
    ]
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


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("NO", "NO"), ("Yes", "Yes"), ("off", "off"), ("true", "true"), ("12:30", "12:30"), ("1_000", "1_000"),
        ("01234", "1234"), ("010", "10"), ("0o14", "12"), ("0x1F", "31"), ("-0", "0"), ("1.0", "1"), ("1.50", "1.5"),
        ("1e3", "1000"), ("1e20", "1" + "0" * 20), ("1e21", "1e+21"), ("1e-7", "1e-7"), ("0.00001", "0.00001"),
        ("12345678901234567890", "12345678901234567000"), ("1e400", "1e400"), ("2026-02-30", "2026-02-30"),
        ("2026-11-28", "[object Object]"), ("null", ""), ("~", ""), ("[]", ""), ("[1, 2]", "1,2"),
        ("{a: 1}", "[object Object]"), ("[[1, null], {b: 2}]", "1,,[object Object]"), ("[1.0, x]", "1,x"),
    ],
)  # fmt: skip
def test_a_value_is_printed_as_promptfoo_prints_it(tmp_path, value, printed):
    (scenario,) = promptfoo(tmp_path, f"- vars: {{q: {value}}}", "prompts: ['<{{q}}>']\n").suite.scenarios
    assert scenario.prompt == f"<{printed}>"


@pytest.mark.parametrize(
    ("variables", "printed"),
    [
        ({"q": "Hello {{name}}", "name": "Bob"}, "Hello Bob"),
        ({"q": "{{a}}", "a": "{{b}}", "b": "{{c}}", "c": "{{d}}", "d": "{{e}}", "e": "{{f}}", "f": "end"}, "end"),
        ({"q": "{{ a.b }} {{ a['b'] }} {{ l[1] }}|", "a": {"b": 1.0}, "l": [5, None]}, "1 1 |"),
        ({"q": "Hello {{nobody}} {{name}}", "name": "Bob"}, "Hello {{nobody}} {{name}}"),
        ({"q": "{{a}}", "a": '{"b": 1}'}, '{"b": 1}'),
        ({"q": "cost $$5 {{p}}", "p": "$& $$ x\n"}, "cost $$5 $& $$ x $ x $ x $ x $ x $ x"),
        ({"q": "a {{ unclosed", "x": 1}, "a {{ unclosed"),
        ({"q": "a  {{- x -}}  b", "x": 1}, "a1b"),
        ({"q": "line\n\n"}, "line\n"),
    ],
)  # fmt: skip
def test_variables_in_variables_are_filled_in_as_promptfoo_does(tmp_path, variables, printed):
    (scenario,) = promptfoo(
        tmp_path, f"- vars: {json.dumps(variables)}", "prompts: ['{{q}}']\n"
    ).suite.scenarios
    assert scenario.prompt == printed


@pytest.mark.parametrize("template", ["{{ q | dump }}", "{{ items | join(', ') }}", "{{ q.length }}", "{{ env.HOME }}",
                                      "{% if q %}x{% endif %}", "{{ 1 + 1 }}"])  # fmt: skip
def test_the_reason_is_named_if_nothing_can_be_imported(tmp_path, template):
    with pytest.raises(SuiteError) as error:
        promptfoo(tmp_path, "[{vars: {q: hi, items: [1]}}]", f'providers: [echo]\nprompts: ["{template}"]\n')
    assert [problem.pointer for problem in error.value.problems] == ["/prompts/0, for /tests/0"]
    assert "template" in str(error.value) and "chosen for each evaluation" not in str(error.value)


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
}


@pytest.mark.parametrize(
    ("prompts", "tests", "printed"),
    [
        ("[two.txt]", "[{vars: {q: x}}]", ["One x", "Two x"]),
        ("[file://two.txt, one.md]", "[{vars: {q: x}}]", ["One x", "Two x", "One x\n---\n"]),
        ("p.yaml", "[{vars: {q: x}}]", ["Hi x"]),
        ("[p.jsonl]", "[{vars: {q: x}}]", ["Hi x", '"x"']),
        ("{'A {{q}}': a, 'B': b}", "[{vars: {q: x}}]", ["A x", "B"]),
        ("['docs/*.txt', 'What is 1/2 of {{q}}?']", "[{vars: {q: x}}]", ["a", "b", "What is 1/2 of x?"]),
        ("['{{q}}']", "[{vars: {q: 'file://docs/*.txt'}}]", ["a", "b"]),
        ("['{{q}}']", "[{vars: {q: [file://docs/a.txt, file://v.yaml]}}]", ["a", '{"x":10}']),
        ("['{{q}}']", "[{vars: vars.yaml}, t.yaml, file://t.yaml]", ["from a file", "no", "no"]),
        ("['{\"a\": \"{{q}}\", \"n\": 1.0}']", "[{vars: {q: '\"'}}]", ['{\n  "a": "\\"",\n  "n": 1\n}']),
        ("['{{q}}']", "[{vars: {q: [a, b]}, options: {disableVarExpansion: true, prefix: 'P ', suffix: '!'}}]",
         ["P a,b!"]),
        ('["- role: user\\n  content: Hi {{q}}"]', "[{vars: {q: x}}]", ["Hi x"]),
    ],
)  # fmt: skip
def test_prompts_and_tests_in_files_are_read_as_promptfoo_reads_them(tmp_path, prompts, tests, printed):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    imported = promptfoo(tmp_path, tests, f"prompts: {prompts}\n")
    assert [each.prompt for each in imported.suite.scenarios] == printed


def test_scenarios_are_tests_with_each_of_their_data(tmp_path):
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        """
prompts: ['{{g}} {{n}}']
providers: [echo]
defaultTest: {vars: {g: Hi}, assert: [{type: contains, value: ' '}]}
scenarios:
  - config: [{vars: {n: A}, assert: [{type: contains, value: A}]}, {vars: {n: B}}]
    tests: [{assert: [{type: contains, value: x}]}, {vars: {g: Yo}, options: {disableDefaultAsserts: true}}]
"""
    )
    suite = load_suite(path)
    assert [(each.prompt, [check.pattern for check in each.expect.paths]) for each in suite.scenarios] == [
        ("Hi A", ["\\ ", "A", "x"]), ("Yo A", ["A"]), ("Hi B", ["\\ ", "x"]), ("Yo B", []),
    ]  # fmt: skip


def test_an_assertion_that_is_not_in_a_list_is_read_or_named(tmp_path):
    scenario = "scenarios: [{config: [{assert: 5}], tests: [{assert: {type: contains, value: x}}]}]\n"
    imported = promptfoo(tmp_path, "[{assert: {type: equals, value: y}}]", f"prompts: [hi]\n{scenario}")
    assert [len(each.expect.paths) for each in imported.suite.scenarios] == [1, 1]
    assert "The assertion is not an object." in skipped(imported).values()


def test_a_reference_to_an_assertion_is_that_assertion(tmp_path):
    head = "prompts: [hi]\nassertionTemplates: {x: {type: contains, value: ell}}\n"
    tests = "- assert: [{$ref: '#/assertionTemplates/x'}, {$ref: '#/assertionTemplates/x', value: other}]"
    (scenario,) = promptfoo(tmp_path, tests, head).suite.scenarios
    assert [check.pattern for check in scenario.expect.paths] == ["ell", "other"]


def test_a_cell_of_a_table_with_another_word_before_a_colon_is_a_text(tmp_path):
    cells = [
        "note: abc",
        "contains(0.5): a",
        '"contains-any: ""x, y"", z"',
        "grade: good",
        "is-json",
        "fn: output",
    ]
    (tmp_path / "t.csv").write_text("q,__expected\n" + "".join(f"x,{cell}\n" for cell in cells))
    imported = promptfoo(tmp_path, "file://t.csv", "prompts: ['{{q}}']\n")
    note, contains, several, grade, *_ = imported.suite.scenarios
    assert note.expect.paths == (PathCheck(path="$.answer", equals="note: abc"),)
    assert contains.expect.paths[0].pattern == "a"
    assert several.expect.paths[0].pattern == r"(?:x,\ y|z)"
    assert grade.expect.judge == (JudgeCheck(rubric=" good"),)
    assert skipped(imported)["t.csv, test 5/assert/0"] == "There is no assertion of a suite like is-json."


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


def test_one_tool_that_cannot_be_used_is_named_and_the_others_are_read(tmp_path):
    tools = [
        {"name": "bad", "parameters": {"type": "objekt"}},
        {"type": "web_search"},
        {"name": "good", "parameters": SCHEMA},
    ]
    head = f"prompts: [hi]\nproviders: [{{id: x, config: {{tools: {json.dumps(tools)}}}}}]\n"
    imported = promptfoo(tmp_path, "[{assert: [{type: trajectory:tool-used, value: good}]}]", head)
    reasons = [each.reason for each in imported.left_out if each.id == "/providers/0/config/tools"]
    assert "bad cannot be used" in reasons[0] and "web_search has no name" in reasons[1] and len(reasons) == 2


def test_tools_with_variables_are_those_of_each_test(tmp_path):
    tool = {"type": "function", "function": {"name": "{{ name }}", "parameters": SCHEMA}}
    head = f"prompts: [hi]\nproviders: [{{id: x, config: {{tools: {json.dumps([tool])}}}}}]\n"
    tests = """
        - {vars: {name: weather}, assert: [{type: trajectory:tool-used, value: '{{name}}'}]}
        - {vars: {name: rain}, assert: [{type: is-valid-openai-tools-call}]}
        - {vars: {name: {}}}
    """
    imported = promptfoo(tmp_path, tests, head)
    assert [each.expect.calls[0].tools for each in imported.suite.scenarios[:2]] == [("weather",), ("rain",)]
    assert [each.registry["tools"][0]["name"] for each in imported.suite.scenarios[:2]] == ["weather", "rain"]


@pytest.mark.parametrize(
    "pattern",
    ["(?i)hello", "(?P<a>x)", "(?>a)b", "a++", "\\Ahello", "hello\\Z", "\\p{L}", "^*", "a{,3}b", "(?#x)a", "a{2}{3}",
     "[]a]", "(?(1)a|b)", "[a-z&&[b]]"],
)  # fmt: skip
def test_a_pattern_that_javascript_reads_otherwise_is_named(tmp_path, pattern):
    _, left_out = asserted(tmp_path, {"type": "regex", "value": pattern}, tools=False)
    assert left_out.keys() == {"/tests/0/assert/0", "/tests/0/assert"}


@pytest.mark.parametrize("pattern", ["^(?:a|b)+?$", "(?<year>[0-9]{4})", "(?<!a)b(?=c)", "[^\\]a]{2,}", "\\bx\\b",
                                     "a{2}b{1,3}", "\\u0061\\x62\\t", "\\$\\.\\/"])  # fmt: skip
def test_a_pattern_that_is_read_alike_is_imported(tmp_path, pattern):
    scenario, left_out = asserted(tmp_path, {"type": "regex", "value": pattern}, tools=False)
    assert not left_out and scenario.expect.paths[0].pattern == pattern


@pytest.mark.parametrize("value", ["file://loop", "file://a\0b", "file://" + "x" * 300, "file://docs", "file://image.png",
                                   "file://x.py:get", "http://x/y", "file://{a,b}*.txt"])  # fmt: skip
def test_a_file_of_a_variable_that_cannot_be_read_is_named(tmp_path, value):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "docs").mkdir()
    tests = json.dumps([{"vars": {"q": value}}, {"vars": {"q": "x"}}])
    imported = promptfoo(tmp_path, tests, "prompts: ['{{q}}']\n")
    if value.startswith("file"):
        assert "/tests/0/vars" in skipped(imported) and len(imported.suite.scenarios) == 1


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
