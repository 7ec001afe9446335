"""An expected answer: read in any notation, recorded in the run, and compared with a valid answer."""

from __future__ import annotations

import json

import msgspec
import pytest

from cli_command import command
from glyphscope import open_model
from glyphscope.evals.answers import SeedResults
from glyphscope.evals.matrix.seeds import RequestPlan
from glyphscope.evals.suites import scenario_of_run
from glyphscope.evals.suites.expected_text import ExpectedTextError, expected_text, read_expected
from glyphscope.events import Answer, ExpectedAnswer, ExpectedCall, FinalText, RunRequest
from glyphscope.models.scripted import ScriptedModel
from glyphscope.notation import write_call
from glyphscope.registry import default_registry
from glyphscope.runs import end_of, outcome_of, outcome_words, run_state, status_of
from glyphscope.runs.strategies import run
from glyphscope.store import History, Project, load_project, save_project
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.run_page import run_data
from glyphscope.turns import own_form

TOOLS = default_registry()
RIGHT = ExpectedAnswer(
    calls=(ExpectedCall(tools=("search",), arguments={"query": "AI news", "max_results": 10}),)
)
MADE = '{action="search" query="AI news" max_results=5}'
REQUEST = RunRequest(prompt="AI news", registry=TOOLS.to_document(), constraint="off", expected=RIGHT)


def events_of(text, **changes):
    return list(run(msgspec.structs.replace(REQUEST, **changes), ScriptedModel(text)))


@pytest.mark.parametrize(
    "text",
    [
        '{action="search" query="AI news" max_results=10}',
        'search{query="AI news" max_results=10}',
        '{"action":"search","query":"AI news","max_results":10}',
        '{"tool":"search","args":{"query":"AI news","max_results":10}}',
        '{"name":"search","parameters":{"query":"AI news","max_results":10}}',
        '{"tool":"search","arguments":{"query":"AI news","max_results":10}}',
        write_call("search", RIGHT.calls[0].arguments, style="openai"),
        '{"tool_calls":[{"function":{"name":"search","arguments":{"query":"AI news","max_results":10}}}]}',
        json.dumps(
            {"type": "function_call", "name": "search", "arguments": '{"query":"AI news","max_results":10}'}
        ),
        '{"type":"tool_use","id":"c","name":"search","input":{"query":"AI news","max_results":10}}',
        '{"tools":["search"],"arguments":{"query":"AI news","max_results":10}}',
    ],
)
def test_an_expected_call_is_read_in_any_notation(text):
    assert read_expected(text, TOOLS) == RIGHT


def test_an_expected_call_is_read_in_the_notation_of_an_open_form():
    form = own_form("json", "name-arguments", native="hermes")
    text = (
        '<tool_call>\n{"name": "search", "arguments": {"query": "AI news", "max_results": 10}}\n</tool_call>'
    )
    with pytest.raises(ExpectedTextError):
        read_expected(text, TOOLS)
    assert read_expected(text, TOOLS, form=form) == RIGHT


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"tool":"search","args":{"query":"AI","max_results":500}}', "500"),
        ('{action="search" query="AI" max_results=500}', "}"),
        ('{"tool":"search","arguments":{"query":"AI","max_results":"many"}}', '"many"'),
        (
            '[{"name":"search","arguments":{"query":"AI"}},{"name":"lookup","arguments":{}}]',
            '{"name":"lookup"',
        ),
        ('{"name":"search","arguments":{"query":"AI"', ""),
        ("[]", "["),
    ],
)
def test_the_error_of_an_expected_call_is_at_its_place(text, wrong):
    with pytest.raises(ExpectedTextError) as found:
        read_expected(text, TOOLS)
    assert abs(found.value.char - (text.index(wrong) if wrong else len(text))) <= 3


def test_an_expected_answer_is_written_as_it_is_read():
    several = ExpectedAnswer(
        calls=(*RIGHT.calls, ExpectedCall(tools=("search",), any_of={"query": ("a", "b")}))
    )
    for expected in (RIGHT, several):
        for notation, shape in (("glyph", "flat"), ("json", "name-arguments")):
            assert read_expected(expected_text(expected, notation, shape), TOOLS) == expected


def test_an_answer_that_is_no_call_can_be_expected():
    choice, schema = Answer("choice", "yes\nno"), Answer("schema", '{"type":"object","required":["a"]}')
    assert read_expected(" no ", TOOLS, choice) == ExpectedAnswer(final=FinalText(equals="no"))
    assert read_expected('{"a": 1}', TOOLS, schema).final.equals == {"a": 1}
    for text, answer in (("maybe", choice), ('{"b": 1}', schema)):
        with pytest.raises(ExpectedTextError):
            read_expected(text, TOOLS, answer)
    state = run_state(events_of("yes", answer=choice, expected=ExpectedAnswer(final=FinalText(equals="no"))))
    assert outcome_of(state) == "valid answer unexpected" and 'is "yes", not "no"' in end_of(state).words


def test_a_valid_call_that_is_not_the_expected_one_is_open_everywhere(tmp_path):
    events = events_of(MADE)
    state = run_state(events)
    end = end_of(state)
    assert end.words == "a valid call of search, not the expected one: max_results is 5, not 10"
    assert end.status == "differs" and end.hint
    history = History(tmp_path / "history.sqlite")
    row = history.add(events)
    assert status_of(row.outcome) == "differs"
    assert outcome_words(row.outcome) == "valid call, not the expected one"
    assert history.rows("unexpected") == [row]
    page = run_data(RecordedRun(events), state, reasons=False)
    assert page["status"] == "differs" and page["words"] == end.words
    assert ("Expected", 'search(query="AI news" max_results=10)') in page["settings"]


def test_the_expected_call_is_said_to_be_as_expected():
    right = run_state(events_of(MADE.replace("5", "10")))
    assert end_of(right).words == "a valid call of search, as expected" and outcome_of(right) == "valid"
    assert end_of(run_state(events_of(MADE, expected=None))).words == "a valid call of search"


def test_a_missing_a_surplus_and_another_tool_are_differences():
    both = ExpectedAnswer(calls=(*RIGHT.calls, ExpectedCall(tools=("calculate",))))
    assert (
        "no call of 'calculate'" in end_of(run_state(events_of(MADE.replace("5", "10"), expected=both))).words
    )
    other = ExpectedAnswer(calls=(ExpectedCall(tools=("calculate",)),))
    assert "is of 'search', not of 'calculate'" in end_of(run_state(events_of(MADE, expected=other))).words
    nothing = ExpectedAnswer(final=FinalText(equals="no"))
    assert "'search' was called" in end_of(run_state(events_of(MADE, expected=nothing))).words


def test_a_run_without_a_valid_call_keeps_its_own_words():
    end = end_of(run_state(events_of('{action="delete_all"}')))
    assert end.status == "impossible" and "expected" not in end.words


def test_the_expected_call_is_saved_with_the_project_and_makes_the_scenario(tmp_path):
    path = tmp_path / "a.glyphscope"
    save_project(path, Project(request=REQUEST))
    assert load_project(path).project.request.expected == RIGHT
    assert "expected" not in json.loads(path.read_text())["request"]["expected"]["calls"][0]
    for text in (MADE, '{action="delete_all"}'):
        assert scenario_of_run(events_of(text), "x").expect.calls == RIGHT.calls


def test_seeds_are_counted_as_expected_or_not():
    results = SeedResults()
    plan = RequestPlan({"seed": REQUEST}, (1, 2))
    for planned, text in zip(plan.samples, (MADE, MADE.replace("5", "10"))):
        results.add(planned, run_state(events_of(text)))
    report = results.report()
    assert [group.difference for group in report.groups] == ["max_results is 5, not 10", ""]
    assert any(words.startswith("As expected: 1 of 2") or "50%" in words for words in report.words)


@pytest.mark.parametrize(("made", "code"), [("5", 1), ("10", 0)])
def test_the_commands_exit_with_1_for_another_call_than_the_expected_one(tmp_path, made, code):
    call, expected = MADE.replace("5", made), 'search{query="AI news" max_results=10}'
    file = tmp_path / "call.txt"
    file.write_text(call)
    ran = command(
        "run", "AI news", "--model", f"scripted:{call}", "--expect", expected, "--constraint", "off"
    )
    checked = command("check", str(file), "--expect", expected)
    assert (ran.exit_code, checked.exit_code) == (code, code)
    assert ("not the expected one: max_results is 5, not 10" in ran.output) == bool(code)
    assert ("not the expected one: max_results is 5, not 10" in checked.output) == bool(code)


FUNCTION = {"name": "search", "arguments": '{"query": "AI news", "max_results": 10}'}
USED = {"type": "tool_use", "id": "c", "name": "search", "input": {"query": "AI news", "max_results": 10}}


@pytest.mark.parametrize(
    ("wrapped", "api"),
    [
        ({"id": "c", "type": "function", "function": FUNCTION}, "OpenAI Chat Completions"),
        ([{"id": "c", "type": "function", "function": FUNCTION}], "OpenAI Chat Completions"),
        ({"role": "assistant", "tool_calls": [{"function": FUNCTION}]}, "OpenAI Chat Completions"),
        ({"choices": [{"message": {"tool_calls": [{"function": FUNCTION}]}}]}, "OpenAI Chat Completions"),
        ({"type": "function_call", "call_id": "c", **FUNCTION}, "OpenAI Responses"),
        ({"output": [{"type": "reasoning"}, {"type": "function_call", **FUNCTION}]}, "OpenAI Responses"),
        (USED, "Anthropic Messages"),
        ({"role": "assistant", "content": [{"type": "text", "text": "So:"}, USED]}, "Anthropic Messages"),
    ],
)
def test_a_call_as_an_api_gives_it_is_checked(tmp_path, wrapped, api):
    file = tmp_path / "call.json"
    file.write_text(json.dumps(wrapped))
    done = command(
        "check", file, "--expect", '{"name":"search","arguments":{"query":"AI news","max_results":10}}'
    )
    assert done.exit_code == 0 and f"a valid call of search as {api} gives it" in done.stdout
    named = command("check", file, "--notation", "json")
    assert (
        named.exit_code == 1 and f"as {api} gives it" in named.stderr and "without --notation" in named.stderr
    )
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"text": json.dumps(wrapped)}))
    assert f"line 1: it is a call as {api} gives it" in command("check", "--lines", lines).stderr
    broken = json.loads(json.dumps(wrapped).replace("10}", "500}"))
    file.write_text(json.dumps(broken))
    done = command("check", file, "--json")
    report = json.loads(done.stdout)
    (error,) = report["errors"]
    assert done.exit_code == 1 and report["api"] == api
    assert (error["code"], error["path"]) == ("CONSTRAINT_MAX", "/arguments/max_results")
    assert report["text"][: error["char"]].endswith("50")


BAD_FUNCTION = {**FUNCTION, "arguments": FUNCTION["arguments"].replace("10}", "500}")}


@pytest.mark.parametrize(
    ("around", "calls"),
    [
        (lambda calls: {"tool_calls": calls}, "function"),
        (lambda calls: calls, "function"),
        (lambda calls: {"choices": [{"message": {"content": None, "tool_calls": calls}}]}, "function"),
        (lambda calls: {"content": [{"type": "text", "text": "So:"}, *calls]}, "tool_use"),
    ],
)
def test_several_calls_as_an_api_gives_them_are_each_checked(tmp_path, around, calls):
    def call(good):
        if calls == "tool_use":
            return USED if good else {**USED, "input": {**USED["input"], "max_results": 500}}
        return {"function": FUNCTION if good else BAD_FUNCTION}

    file = tmp_path / "calls.json"
    file.write_text(json.dumps(around([call(True), call(False)])))
    done = command("check", file)
    assert done.exit_code == 1
    assert "call 1 of 2" in done.stdout and "call 2 of 2" in done.stdout and "CONSTRAINT_MAX" in done.stdout
    reports = [json.loads(line) for line in command("check", file, "--json").stdout.splitlines()]
    assert [report["valid"] for report in reports] == [True, False]
    file.write_text(json.dumps(around([call(True), call(True)])))
    assert command("check", file).exit_code == 0
    expected = command(
        "check", file, "--json", "--expect", '{"name":"search","arguments":{"query":"AI news"}}'
    )
    assert expected.exit_code == 1 and json.loads(expected.stdout.splitlines()[0])["difference"]


def test_an_unusable_expected_call_is_an_error_before_any_run():
    ran = command("run", "x", "--model", f"scripted:{MADE}", "--expect", '{action="search" max_results=500}')
    assert ran.exit_code == 2 and "character" in ran.output and "max_results" in ran.output


def test_python_takes_the_expected_answer_as_a_text():
    with open_model(f"scripted:{MADE}") as model:
        run_ = model.run(
            "AI news", "default", notation="glyph", shape="flat", expected='search{query="AI" max_results=5}'
        )
        assert run_.valid and run_.difference == 'query is "AI news", not "AI"'
