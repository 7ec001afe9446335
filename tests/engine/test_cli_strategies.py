"""`glyphscope run --strategy`: every strategy, its settings, its tools and its record, from the command line."""

from __future__ import annotations

import json
import sys

import pytest

from cli_command import command

SEARCH = '{action="search" query="AI news"}'
CALCULATE = '{action="calculate" expression="6*7"}'


def run(script: str, *arguments: str, strategy: str = "loop"):
    model = ["--model", f"scripted:{script}", "--constraint", "off"]
    return command("run", "--strategy", strategy, *model, *arguments, "--json", "Go on")


def events_of(result, kind):
    events = map(json.loads, result.stdout.splitlines())
    return [event for event in events if event["type"] == kind]


def turns(*texts):
    return "\n---\n".join(texts)


def test_a_conversation_ends_with_its_answer():
    result = run(turns(CALCULATE, "It is 42."), "--approve", "allow")
    assert (result.exit_code, events_of(result, "run_finished")[0]["reason"]) == (0, "answered")
    assert '"result":42' in events_of(result, "tool_result")[0]["told"]
    assert events_of(result, "final_answer")[0]["text"] == "It is 42."


def test_a_call_that_was_not_allowed_does_not_run():
    result = run(turns(CALCULATE, "I may not."))
    assert events_of(result, "approval_given")[0]["by"] == "nobody"
    assert events_of(result, "tool_result")[0]["fault"] == "denied"
    assert not events_of(result, "tool_started")


@pytest.mark.parametrize(
    ("rules", "starts"),
    [
        (["calculate=allow"], True),
        (["demo/*=allow"], True),
        (["calculate=deny", "allow"], False),
        (["other/*=allow"], False),
    ],
)
def test_a_rule_of_approval_decides_whether_a_call_runs(rules, starts):
    options = [word for rule in rules for word in ("--approve", rule)]
    assert bool(events_of(run(turns(CALCULATE, "Done."), *options), "tool_started")) is starts


def test_dispatch_executes_the_call_of_another_strategy_and_its_failure_is_exit_code_1():
    result = run(CALCULATE, "--dispatch", "--approve", "allow", strategy="direct")
    assert (result.exit_code, events_of(result, "tool_result")[0]["ok"]) == (0, True)
    denied = run(CALCULATE, "--dispatch", strategy="direct")
    assert (denied.exit_code, events_of(denied, "tool_result")[0]["fault"]) == (1, "denied")
    assert not events_of(run(CALCULATE, strategy="direct"), "tool_result")


def test_settings_of_the_loop_come_from_presets_and_then_options():
    result = run("Hi.", "--preset", "strict", "--set", "max_turns=3", "--set", 'deny=["search"]')
    loop = events_of(result, "run_started")[0]["request"]["loop"]
    assert (loop["tool_use"], loop["max_turns"], loop["deny"]) == ("enforced", 3, ["search"])
    assert "strict" in loop["presets"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "max_turn=3"], "max_turns"),
        (["--set", "max_turns"], "NAME=VALUE"),
        (["--set", "max_turns=many"], "max_turns=many"),
        (["--set", "tool_use=always"], "enforced, relaxed, disabled"),
        (["--preset", "nothing"], "nothing"),
        (["--approve", "perhaps"], "perhaps"),
        (["--router", "nothing.json"], "bundled are: destiny"),
        (["--mcp", "nothing.json"], "nothing.json"),
    ],
)
def test_an_invalid_setting_is_exit_code_2_with_a_hint(options, words):
    result = run("Hi.", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr and "do: " in result.stderr


@pytest.mark.parametrize("value", ["calculate", "calculate, search", '["calculate"]'])
def test_a_list_of_names_need_not_be_json(value):
    started = events_of(run("Hi.", "--set", f"deny={value}"), "run_started")[0]
    assert started["request"]["loop"]["deny"][0] == "calculate"


@pytest.mark.parametrize(
    ("strategy", "options", "words"),
    [
        ("direct", ["--set", "max_turns=2"], "--set has no effect"),
        ("direct", ["--approve", "allow"], "--approve has no effect"),
        ("two-stage", ["--answer", "x"], "--answer has no effect"),
        ("loop", ["--repair", "2"], "--repair has no effect"),
        ("direct", ["--set", "max_tool_seconds=2", "--approve", "deny", "--dispatch"], ""),
        ("loop", ["--set", "max_turns=2", "--approve", "deny"], ""),
        ("route-execute", ["--answer", "x", "--router", "destiny", "--repair", "1"], ""),
    ],
)
def test_an_option_without_an_effect_is_reported(strategy, options, words):
    said = run(SEARCH, *options, strategy=strategy).stderr
    assert words in said if words else "has no effect" not in said


def test_a_tool_without_an_executor_is_reported_without_other_tools(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "ping", "description": "It.", "parameters": {"type": "object"}}]))
    result = run(turns('{action="ping"}', "No."), "--registry", str(path), "--approve", "allow")
    message = events_of(result, "tool_result")[0]["message"]
    assert "No executor for 'ping'" in message and "search" not in message


def test_a_router_is_configured_and_its_question_answered():
    ask = json.dumps({"choice": "clarify", "tool": None, "question": "Which item?"})
    call = json.dumps({"choice": "call_tool", "tool": "item_lookup", "question": None})
    script = turns(ask, call, '{action="item_lookup" name="Fatebringer"}')
    options = ["--registry", "destiny", "--router", "destiny", "--answer", "Fatebringer"]
    result = run(script, *options, strategy="route-execute")
    assert events_of(result, "question_answered")[0]["answer"] == "Fatebringer"
    assert [event["choice"] for event in events_of(result, "routed")] == ["clarify", "call_tool"]


def test_an_invalid_call_is_repaired_and_the_repair_reported():
    script = turns('{action="search" query="x" max_results=500}', SEARCH)
    result = run(script, "--repair", "1", strategy="direct")
    assert (result.exit_code, events_of(result, "repair_tried")[0]["code"]) == (0, "CONSTRAINT_MAX")
    assert run(script, strategy="direct").exit_code == 1


@pytest.mark.parametrize(
    ("strategy", "script"),
    [
        ("loop", turns(CALCULATE, "It is 42.")),
        ("direct", SEARCH),
        ("two-stage", turns('"search" ', '{query="AI news"}}')),
    ],
)
def test_a_record_of_any_strategy_replays_without_model_and_tools(tmp_path, strategy, script):
    path = tmp_path / "run.jsonl"
    run(script, "--dispatch", "--approve", "allow", "--record", str(path), strategy=strategy)
    verified = command("replay", str(path), "--verify", "--json")
    assert json.loads(verified.stdout)["equal"], verified.stdout
    assert command("replay", str(path)).exit_code == 0


@pytest.mark.slow
def test_a_server_of_a_file_takes_part_in_a_run_after_consent(tmp_path):
    servers = {"verbs": {"command": sys.executable, "args": ["-m", "glyphscope", "mcp", "serve-verbs"]}}
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    call = '{action="lookup_irregular_verb" verb="go"}'
    result = run(turns(call, "Went."), "--mcp", str(path), "--yes", "--approve", "verbs/*=allow")
    assert (
        events_of(result, "tool_result")[0]["source"] == "verbs"
        and "went" in events_of(result, "tool_result")[0]["told"]
    )
    assert events_of(result, "run_started")[0]["request"]["sources"]["lookup_irregular_verb"] == "verbs"
    refused = run(call, "--mcp", str(path))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "serve-verbs" in refused.stderr and "--yes" in refused.stderr


def test_a_call_in_place_of_the_last_answer_is_reported_as_not_text():
    result = run(turns(CALCULATE, "", CALCULATE), "--approve", "allow")
    limit = events_of(result, "limit_reached")[-1]
    assert (result.exit_code, limit["limit"]) == (1, "fix_empty_final")
    assert "not text" in limit["message"] and "empty" not in limit["message"]
    silent = events_of(run(turns(CALCULATE, "", ""), "--approve", "allow"), "limit_reached")[-1]
    assert "empty, also when it was asked for once more" in silent["message"]


def test_a_turn_without_a_valid_call_is_explained_in_the_terminal():
    script = turns('{action="search" query="x" max_results=500}', "Done.")
    shown = command(
        "run", "--strategy", "loop", "--model", f"scripted:{script}", "--constraint", "off", "Go on"
    )
    assert shown.exit_code == 0 and shown.stdout.count("CONSTRAINT_MAX: ") == 1
