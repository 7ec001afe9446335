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


def test_settings_of_the_loop_come_from_presets_and_then_options():
    result = run("Hi.", "--preset", "strict", "--set", "max_turns=3", "--set", 'deny=["search"]')
    loop = events_of(result, "run_started")[0]["request"]["loop"]
    assert (loop["tool_use"], loop["max_turns"], loop["deny"]) == ("enforced", 3, ["search"])
    assert "strict" in loop["presets"]


@pytest.mark.parametrize("value", ["calculate", "calculate, search", '["calculate"]'])
def test_a_list_of_names_need_not_be_json(value):
    started = events_of(run("Hi.", "--set", f"deny={value}"), "run_started")[0]
    assert started["request"]["loop"]["deny"][0] == "calculate"


def test_a_tool_without_an_executor_is_reported_without_other_tools(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "ping", "description": "It.", "parameters": {"type": "object"}}]))
    result = run(turns('{action="ping"}', "No."), "--registry", str(path), "--approve", "allow")
    message = events_of(result, "tool_result")[0]["message"]
    assert "No executor for 'ping'" in message and "search" not in message


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
