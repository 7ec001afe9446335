"""A captured exchange becomes a run: each interface, each verdict, and what each prompt changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("httpx2")

from capturing import answer_with_call, asking, delta, sse
from glyphscope.base.errors import ModelError, SuiteError
from glyphscope.capture import recording
from glyphscope.capture.exchange import Asked, EndedBy, ExchangeWriter
from glyphscope.capture.recording import Recorded, record_exchange
from glyphscope.evals.suites import add_scenario, scenario_of_run
from glyphscope.evals.suites.reading import load_suite
from glyphscope.events import ExpectedAnswer, ExpectedCall, PromptRendered, RunStarted, Token
from glyphscope.models.scripted import ScriptedModel
from glyphscope.runs import limits_in_words, run_state
from glyphscope.runs.again import again
from glyphscope.runs.strategies import run
from glyphscope.store import History
from glyphscope.store.records import read_record
from scripted_endpoint import endpoint, said

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "ollama": "/api/chat",
}


@pytest.fixture(autouse=True)
def _no_prompt_before():
    recording._seen.clear()


def recorded(
    folder: Path, body: Any, pieces: Sequence[bytes], *, number: int = 1, api: Any = "chat",
    kind: str = "text/event-stream", by: EndedBy = "server", history: str = "", model: str = "",
) -> Recorded:  # fmt: skip
    """Record an exchange with these pieces of the answer."""
    folder.mkdir(exist_ok=True)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    writer = ExchangeWriter(
        folder,
        Asked(number, api, PATHS[api], "2026-11-30T12:00:00.000+00:00", "http://127.0.0.1:9/v1", data),
        (),
    )
    writer.answered(0.1, 200, kind, "")
    for place, piece in enumerate(pieces, 2):
        writer.piece(place / 10, piece)
    writer.end(len(pieces), by)
    return record_exchange(str(writer.path), model, history)


def test_each_call_is_judged_by_the_tools_of_its_request_up_to_the_deciding_character(tmp_path):
    one = recorded(tmp_path, asking("find a"), answer_with_call('{"query": "a", "max_results": 500}'))
    (call,) = one.calls
    assert (call.tool, call.valid, call.code) == ("search", False, "CONSTRAINT_MAX")
    events = read_record(tmp_path / "000001.jsonl").events
    text = "".join(event.step.text for event in events if isinstance(event, Token))
    assert text[: call.char + 1].endswith('"max_results": 500')  # 50 was possible
    assert isinstance(events[0], RunStarted) and events[0].request.prompt == "find a"
    times = [event.t for event in events if isinstance(event, Token)]
    assert times == sorted(times) and times[0] == 0.2
    other = recorded(tmp_path, asking("find a", tools=[]), answer_with_call('{"query": "a"}'), number=2)
    assert other.tools == 0 and not any(each.valid for each in other.calls)


FORMS = json.loads(Path(__file__).with_name("captured.json").read_text())
"""A request with its answer in each interface, streamed and whole."""
ANSWERS = {
    api: (form["request"], [piece.encode() for piece in form["stream"]], form["whole"])
    for api, form in FORMS["answers"].items()
}


@pytest.mark.parametrize("api", ANSWERS)
def test_each_interface_is_read_streamed_and_whole(tmp_path, api):
    body, streamed, at_once = ANSWERS[api]
    stream = "application/x-ndjson" if api == "ollama" else "text/event-stream"
    answers = ((stream, streamed), ("application/json", [json.dumps(at_once).encode()]))
    for number, (kind, pieces) in enumerate(answers, 1):
        one = recorded(tmp_path, body, pieces, number=number, api=api, kind=kind)
        assert [(each.tool, each.valid) for each in one.calls] == [("search", True)], one
        assert one.outcome == "valid" and one.api == api and one.model == "m"
        if number == 2 or api != "chat":
            assert (one.prompt_tokens, one.tokens) == (9, 4)
            assert one.cached == (0 if api == "ollama" else 3)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["000001.jsonl", "000002.jsonl"]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("api", ["responses", "messages"])
def test_a_request_that_continues_a_conversation_at_the_server_has_its_messages_and_tools(
    tmp_path, api, stream
):
    body, streamed, at_once = ANSWERS[api]
    if stream:
        old = '"response": {' if api == "responses" else '"message": {'
        pieces = [piece.replace(old.encode(), f'{old}"id": "r1", '.encode()) for piece in streamed]
    else:
        pieces = [json.dumps({**at_once, "id": "r1"}).encode()]
    kind = "text/event-stream" if stream else "application/json"
    recorded(tmp_path, body, pieces, number=7, api=api, kind=kind)
    if api == "responses":
        result = {"type": "function_call_output", "call_id": "c", "output": "none"}
        more = {"model": "m", "tools": body["tools"], "input": [result], "previous_response_id": "r1"}
    else:
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "none"}]}
        thread = {"type": "continue", "previous_message_id": "r1"}
        more = {"model": "m", "max_tokens": 9, "messages": [result], "thread": thread}
    wrong = [piece.replace(b"r1", b"r2").replace(b"query", b"quary") for piece in pieces]
    one = recorded(tmp_path, more, wrong, number=8, api=api, kind=kind)
    (call,) = one.calls
    assert (call.tool, call.code, one.tools) == ("search", "UNKNOWN_ARGUMENT", 1)
    assert one.change.words == "2 messages added" and not one.change.broken
    events = read_record(tmp_path / "000008.jsonl").events
    assert [message.role for message in events[0].request.history] == ["user", "assistant", "tool"]
    (prompt,) = (event for event in events if isinstance(event, PromptRendered))
    assert "are those of request 7" in prompt.note and "thread" not in prompt.note
    recording._conversations = recording.Conversations()
    recorded(tmp_path, more, pieces, number=9, api=api, kind=kind)
    (prompt,) = (e for e in read_record(tmp_path / "000009.jsonl").events if isinstance(e, PromptRendered))
    assert "at the server, from before this capture" in prompt.note


@pytest.mark.parametrize("api", ANSWERS)
def test_pieces_that_end_anywhere_also_within_a_character_give_the_same_run(tmp_path, api):
    body, streamed, _ = ANSWERS[api]
    data = b"".join(streamed).replace(b'a\\"}', "é✓".encode() + b'\\"}').replace(b'"a"', '"é✓"'.encode())
    kind = "application/x-ndjson" if api == "ollama" else "text/event-stream"
    whole = recorded(tmp_path, body, [data], number=1, api=api, kind=kind)
    recorded(tmp_path, body, [data[n : n + 1] for n in range(len(data))], number=2, api=api, kind=kind)
    texts = []
    for number in (1, 2):
        events = read_record(tmp_path / f"00000{number}.jsonl").events
        texts.append("".join(event.step.text for event in events if isinstance(event, Token)))
    assert whole.outcome == "valid" and texts[0] == texts[1] and "é✓" in texts[0]


def test_the_server_s_own_tokenizer_counts_tools_and_messages_of_the_prompt_that_it_makes(tmp_path):
    def prompt(body):
        tools = "[tools]" + json.dumps(body["tools"]) if "tools" in body else ""
        return {"prompt": f"<s>{tools}[user]find é[bot]"}

    def tokens(body):
        pieces = re.findall(r"<s>|\w+|\W", body["content"])
        return {"tokens": [{"id": number, "piece": piece} for number, piece in enumerate(pieces)]}

    paths = {"apply-template": prompt, "tokenize": tokens}
    with endpoint(said("x"), **paths) as server:
        name = f"{server.url}?dialect=llama-server"
        assert recording.open_like(name)
        one = recorded(tmp_path, asking("find é"), answer_with_call('{"query": "a"}'), model=name)
        asked = [each for each in server.posted if each.path == "/apply-template"]
        recording._opened(name).close()
    recording._opened.cache_clear()
    made = prompt({"tools": asking()["tools"]})["prompt"]
    assert (one.tools_tokens or 0) > 20 and 0 < one.messages_tokens < 20
    assert one.tools_tokens + one.messages_tokens == len(tokens({"content": made})["tokens"])
    assert [each["content"] for each in asked[0].body["messages"]] == ["find é"]
    assert asked[0].body["tools"][0]["function"]["name"] == "search" and not server.asked
    events = read_record(tmp_path / "000001.jsonl").events
    (shown,) = (event for event in events if isinstance(event, PromptRendered))
    assert shown.text == made and "as llama-server renders it" in shown.note


def test_a_server_that_reports_no_prompt_leaves_the_tokens_uncounted(tmp_path):
    with endpoint(said("x")) as server:
        name = f"{server.url}?dialect=llama-server"
        one = recorded(tmp_path, asking("find a"), answer_with_call('{"query": "a"}'), model=name)
        recording._opened(name).close()
        name = f"{server.url}?dialect=llama-cpp-python"
        with pytest.raises(ModelError, match="does not report the prompts that it makes"):
            recording.open_like(name)
        recording._opened(name).close()
    recording._opened.cache_clear()
    assert one.outcome == "valid" and one.tools_tokens is None
    events = read_record(tmp_path / "000001.jsonl").events
    assert any("no tokens are counted" in event.note for event in events if isinstance(event, PromptRendered))


def test_a_prompt_is_compared_with_the_most_similar_one_before_it(tmp_path):
    changed = json.loads(json.dumps(asking()["tools"]))
    changed[0]["function"]["description"] = "Finds more."
    said = [*sse(delta(content="no")), *sse(delta("stop"))]
    assert recorded(tmp_path, asking("find a"), said, number=1).change is None
    recorded(tmp_path, asking("something else"), said, number=2)
    added = recorded(tmp_path, asking("find a", "no", "find b"), said, number=3).change
    broken = recorded(
        tmp_path, asking("find a", "no", "find b", "no", "c", tools=changed), said, number=4
    ).change
    assert added is not None and broken is not None
    assert (added.since, added.words, added.broken) == (1, "2 messages added", 0)
    assert (broken.since, broken.at) == (3, "description of search")
    assert broken.words == "1 tool changed (search), 2 messages added"
    assert broken.broken == broken.size - broken.common > 0
    again = recorded(tmp_path, asking("find a", "no", "find b"), said, number=5).change
    assert again is not None and (again.since, again.words, again.broken) == (3, "nothing changed", 0)
    cut = recorded(tmp_path, asking("find a", tools=changed), said, number=6).change
    assert cut is not None and (cut.since, cut.at, cut.broken) == (4, "", 0)
    assert "All of this prompt is the beginning of that one" in recording.change_words(cut)
    (prompt,) = (
        event for event in read_record(tmp_path / "000004.jsonl").events if isinstance(event, PromptRendered)
    )
    assert "Since request 3: 1 tool changed (search)" in prompt.note


ENDS: dict[EndedBy, tuple[str, str]] = {
    "agent": ("cancelled", ""),
    "stop": ("cancelled", ""),
    "killed": ("failed MODEL_FAILED", "The capture was killed"),
    "server": ("failed MODEL_FAILED", "ended before the answer did"),
}


@pytest.mark.parametrize("by", ENDS)
def test_an_answer_without_an_end_is_recorded_as_far_as_it_came(tmp_path, by):
    one = recorded(tmp_path, asking("hi"), sse(delta(content="well")), by=by)
    outcome, words = ENDS[by]
    assert one.outcome == outcome and words in one.words
    text = [
        event.step.text for event in read_record(tmp_path / "000001.jsonl").events if isinstance(event, Token)
    ]
    assert "well" in text


def test_a_conversation_that_is_not_valid_is_shown_message_by_message(tmp_path):
    call = {"id": "c", "function": {"name": "search", "arguments": "{not json"}}
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": [call]}]
    one = recorded(tmp_path, {**asking(), "messages": messages}, answer_with_call('{"query": "a"}'))
    assert one.outcome == "valid"
    (prompt,) = (
        event for event in read_record(tmp_path / "000001.jsonl").events if isinstance(event, PromptRendered)
    )
    assert "{not json" in prompt.text and "The messages are shown as JSON: " in prompt.note
    later = [*messages, {"role": "tool", "tool_call_id": "c", "content": "no"}]
    two = recorded(tmp_path, {**asking(), "messages": later}, answer_with_call('{"query": "a"}'), number=2)
    assert two.change is not None and (two.change.words, two.change.broken) == ("1 message added", 0)


def test_a_call_that_a_server_sends_in_the_old_form_too_is_one_call(tmp_path):
    answer = json.loads(json.dumps(ANSWERS["chat"][2]))
    message = answer["choices"][0]["message"]
    message["function_call"] = message["tool_calls"][0]["function"]
    one = recorded(tmp_path, asking("a"), [json.dumps(answer).encode()], kind="application/json")
    assert len(one.calls) == 1


def test_a_captured_run_can_be_added_to_the_history(tmp_path):
    path = tmp_path / "history.sqlite3"
    recorded(tmp_path / "records", asking("find a"), answer_with_call('{"query": "a"}'), history=str(path))
    (row,) = History(path).rows()
    assert (row.title, row.tool, row.outcome, row.model) == ("find a", "search", "valid", "m")


def test_what_a_run_has_no_place_for_is_in_the_note(tmp_path):
    parts = [
        {"type": "text", "text": "b"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    body = {
        **asking(),
        "messages": [{"role": "user", "content": parts}],
        "service_tier": "flex",
        "max_tokens": 7,
    }
    recorded(tmp_path, body, answer_with_call('{"query": "a"}'))
    events = read_record(tmp_path / "000001.jsonl").events
    (prompt,) = (event for event in events if isinstance(event, PromptRendered))
    assert "service_tier" in prompt.note and "image" in prompt.text
    assert isinstance(events[0], RunStarted) and events[0].request.max_tokens == 7


def test_only_the_allowed_tools_of_a_request_can_be_called(tmp_path):
    other = json.loads(json.dumps(asking()["tools"][0]).replace("search", "other"))
    choice = {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "function": {"name": "other"}}],
    }
    body = asking("a", tools=[*asking()["tools"], other], tool_choice=choice)
    one = recorded(tmp_path, body, answer_with_call('{"query": "a"}'))
    assert [call.code for call in one.calls] == ["UNKNOWN_TOOL"]


ODD = {
    "not JSON": b"{",
    "a list": b"[]",
    "odd members": {
        "messages": [3, {"role": 5, "content": {"a": 1}}, {"role": "assistant", "tool_calls": [{}, 3]}],
        "tools": 7,
    },
    "deep": b"[" * 100_000,
    "odd tools": {
        "messages": [],
        "tools": [3, {"type": "web_search"}, {"name": ""}, {"name": "x\u0000"}, {"name": "a"}],
    },
    "halves of characters": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
}


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ({"tool_choice": "none"}, "it called a tool, which tool_choice (none) forbids"),
        ({"parallel_tool_calls": False}, "it made 2 calls, though parallel_tool_calls was false"),
    ],
)
def test_a_server_that_makes_calls_which_the_request_forbids_is_said_to_ignore_it(tmp_path, said, how):
    again = {"index": 1, "id": "c2", "function": {"name": "search", "arguments": '{"query": "b"}'}}
    first = answer_with_call('{"query": "a"}')
    pieces = first if "tool_choice" in said else [*first[:2], *sse(delta(tool_calls=[again])), *first[2:]]
    one = recorded(tmp_path, asking("find a", **said), pieces)
    events = read_record(tmp_path / "000001.jsonl").events
    assert one.outcome == "failed CONSTRAINT_IGNORED" and how in events[-1].message
    text = "".join(event.step.text for event in events if isinstance(event, Token))
    assert '{"query": "a"}' in text and ('{"query": "b"}' in text) == ("tool_choice" not in said)


@pytest.mark.parametrize("what", ODD)
def test_an_odd_request_is_recorded(tmp_path, what):
    one = recorded(tmp_path, ODD[what], answer_with_call('{"query": "a"}'))
    assert one.outcome and read_record(tmp_path / "000001.jsonl").events


def test_a_tool_whose_schema_cannot_be_read_accepts_anything_and_the_note_says_so(tmp_path):
    bad = {
        "type": "function",
        "function": {"name": "odd", "parameters": {"type": "object", "properties": {"a": {"type": "sting"}}}},
    }
    one = recorded(
        tmp_path, asking("x", tools=[bad, {"type": "web_search"}]), answer_with_call('{"b": 1}', "odd")
    )
    assert one.outcome == "valid"
    (prompt,) = (
        event for event in read_record(tmp_path / "000001.jsonl").events if isinstance(event, PromptRendered)
    )
    assert "Any arguments of odd count as valid" in prompt.note and "web_search" in prompt.note


def test_tools_of_a_namespace_are_called_by_both_names_and_hosted_tools_are_not_judged(tmp_path):
    function = {"type": "function", **asking()["tools"][0]["function"]}
    tools = [{"type": "namespace", "name": "web", "tools": [function]}, {"type": "web_search"}]
    item = {
        "type": "function_call",
        "call_id": "c",
        "namespace": "web",
        "name": "search",
        "arguments": '{"query": "a"}',
    }
    answer = {"object": "response", "status": "completed", "output": [{"type": "web_search_call"}, item]}
    body = {"model": "m", "input": "a", "tools": tools}
    one = recorded(tmp_path, body, [json.dumps(answer).encode()], api="responses", kind="application/json")
    assert [(each.tool, each.valid) for each in one.calls] == [("web.search", True)]
    answer["output"] = [{**item, "namespace": "other"}]
    other = recorded(
        tmp_path, body, [json.dumps(answer).encode()], api="responses", kind="application/json", number=2
    )
    assert [(each.code, each.valid) for each in other.calls] == [("UNKNOWN_TOOL", False)]


def test_tools_that_the_provider_loads_later_are_tools_of_the_request(tmp_path):
    late = {"type": "function", **asking()["tools"][0]["function"]}
    items = [
        {"role": "user", "content": "a"},
        {"type": "additional_tools", "role": "developer", "tools": [late | {"name": "added"}]},
        {"type": "tool_search_output", "call_id": "s", "tools": [late, late | {"name": "found"}]},
    ]
    calls = [
        {"type": "function_call", "call_id": "c", "name": name, "arguments": '{"query": "a"}'}
        for name in ("search", "added", "found", "other")
    ]
    answer = {"object": "response", "status": "completed", "output": calls}
    body = {"model": "m", "input": items, "tools": [late | {"defer_loading": True}, {"type": "tool_search"}]}
    one = recorded(tmp_path, body, [json.dumps(answer).encode()], api="responses", kind="application/json")
    assert [(each.tool, each.valid) for each in one.calls[:3]] == [
        (n, True) for n in ("search", "added", "found")
    ]
    assert [(each.code, each.valid) for each in one.calls[3:]] == [("UNKNOWN_TOOL", False)]


@pytest.mark.slow
def test_5000_tools_are_read_once(tmp_path):
    tools = [
        {"type": "function", "function": {**asking()["tools"][0]["function"], "name": f"tool_{n:0200}"}}
        for n in range(5000)
    ]
    one = recorded(tmp_path, asking("x", tools=tools), answer_with_call('{"query": "a"}', f"tool_{7:0200}"))
    assert one.outcome == "valid" and one.tools == 5000


TOOL_LOOP = {
    **asking(),
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "find llamas"},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "c",
                    "type": "function",
                    "function": {"name": "search", "arguments": '{"query": "llamas"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": "3 pages"},
    ],
    "temperature": 0.3,
}
"""The second request of an agent: it ends with the result of a tool, not with a user's message."""


def test_a_captured_request_is_run_again_with_its_messages_tools_and_sampling(tmp_path):
    recorded(tmp_path, TOOL_LOOP, answer_with_call('{"query": "b"}'))
    (started, *_) = read_record(tmp_path / "000001.jsonl").events
    assert limits_in_words(started.request) == "no token limit"
    request = msgspec.structs.replace(again(started.request), native="", notation="json")
    state = run_state(run(request, ScriptedModel('{"name": "search", "arguments": {"query": "c"}}')))
    assert request.model == "" and request.max_tokens == 512 and request.sampling.temperature == 0.3
    assert state.failed is None and state.call.tool == "search"
    assert (
        "find llamas" in state.prompt.text
        and "3 pages" in state.prompt.text
        and "max_results" in state.prompt.text
    )


def test_the_command_runs_a_record_again_with_another_model(tmp_path):
    recorded(tmp_path, TOOL_LOOP, answer_with_call('{"query": "b"}'))
    words = ("run", "--project", str(tmp_path / "000001.jsonl"), "--notation", "json", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "glyphscope", *words, "--model", 'scripted:{"action": "search", "query": "c"}'],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"query"' in done.stdout and "3 pages" in done.stdout


def test_the_commands_compare_a_captured_request_before_and_after_a_change_of_tools(tmp_path):
    changed = json.loads(json.dumps(asking()["tools"]))
    changed[0]["function"]["parameters"]["properties"]["max_results"]["maximum"] = 10
    recorded(tmp_path, asking("find a"), answer_with_call('{"query": "b"}'))
    recorded(tmp_path, asking("find a", tools=changed), answer_with_call('{"query": "b"}'), number=2)
    before, after = (str(tmp_path / f"00000{number}.jsonl") for number in (1, 2))
    model = 'scripted:{"name": "search", "arguments": {"query": "c", "max_results": 50}}'
    for words, expected in (
        (
            ("ab", before, after, "-m", model, "--notation", "json", "--seeds", "1"),
            ("registry", "CONSTRAINT_MAX"),
        ),
        (("prompt", "--run", after, "--since", before), ("−  100", "+  10")),
        (("prompt", "--project", after, "-m", "scripted:x"), ("native",)),
        (("suite", "from-runs", before, after, "-o", str(tmp_path / "s.suite")), ("2 scenarios",)),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "glyphscope", *words],
            check=False, capture_output=True, text=True, env={**os.environ, "COLUMNS": "300"},
        )  # fmt: skip
        shown = done.stdout + done.stderr
        assert all(each in shown for each in expected) and "damaged" not in shown, shown


@pytest.mark.parametrize("body", [asking("find a"), TOOL_LOOP])
def test_a_captured_run_becomes_a_scenario_also_in_the_middle_of_a_loop_of_tools(tmp_path, body):
    recorded(tmp_path, body, answer_with_call('{"query": "b"}'))
    scenario = scenario_of_run(read_record(tmp_path / "000001.jsonl").events, "captured")
    assert scenario.expect.calls[0].tools == ("search",) and "max_tokens" not in scenario.request
    path = tmp_path / "own.suite.json"
    add_scenario(path, scenario)
    suite = load_suite(path)
    (read,) = suite.scenarios
    assert read.prompt == scenario.prompt and (read.registry or suite.registry) == scenario.registry


def test_a_captured_call_that_is_not_valid_becomes_a_scenario_once_the_right_one_is_named(tmp_path):
    recorded(tmp_path, asking("find a"), answer_with_call('{"query": "a", "max_results": 500}'))
    events = read_record(tmp_path / "000001.jsonl").events
    with pytest.raises(SuiteError, match="no valid call"):
        scenario_of_run(events, "captured")
    right = ExpectedAnswer(calls=(ExpectedCall(tools=("search",), arguments={"query": "a"}),))
    request = msgspec.structs.replace(events[0].request, expected=right)
    scenario = scenario_of_run([msgspec.structs.replace(events[0], request=request), *events[1:]], "captured")
    assert scenario.expect.calls == right.calls


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["anyio", "httpx2", "starlette", "uvicorn"])
def test_without_its_packages_the_command_and_the_window_name_them(missing):
    program = f"""
import importlib.util, sys
sys.modules["{missing}"] = None
found = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "{missing}" else found(name)
import glyphscope_gui.capture.presenter
from glyphscope.cli import main
sys.argv[1:] = ["capture", "--to", "http://127.0.0.1:9"]
main()
"""
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and f"A capture needs {missing}." in done.stderr
    assert "pip install 'glyphscope[capture,remote]'" in done.stderr and not done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "words"),
    [
        (
            "from glyphscope.capture.server import CaptureServer as Server; Server.run = show",
            "capture --to http://127.0.0.1:9 --port 0 --records .",
        ),
        ("from glyphscope.cli.servers import SERVERS; type(SERVERS).get = lambda *_: show", "mcp serve"),
        ("from pygls.lsp.server import LanguageServer as Server; Server.start_io = show", "lsp"),
    ],
    ids=["capture", "mcp serve", "lsp"],
)  # fmt: skip
def test_a_server_frees_cyclic_garbage_as_python_does_as_it_runs_for_long(tmp_path, server, words):
    if "pygls" in server:
        pytest.importorskip("pygls")
    program = f"""
import gc, sys
show = lambda *_: print(gc.get_threshold()[0])
{server}
from glyphscope.cli import main
sys.argv[1:] = {words.split()!r}
main()
"""
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert 0 < int(done.stdout) <= 2000
