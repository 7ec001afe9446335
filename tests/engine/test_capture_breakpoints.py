"""Breakpoints of a capture: a request or an answer waits, and is sent on, edited or dropped; the agent never hangs."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("uvicorn")

from capturing import (
    Capturing,
    RawServer,
    answer_with_call,
    asking,
    capturing,
    chunked,
    delta,
    read_answer,
    sse,
    whole,
)
from glyphscope.base.errors import GlyphscopeError
from glyphscope.capture.breakpoints import BreakRules, Decision, Paused, check_edit, read_rules
from glyphscope.capture.exchange import Answered, Asked, Ended, Exchange, Piece
from glyphscope.capture.recording import calls_of
from glyphscope.events import PromptRendered
from glyphscope.store.records import read_record

GOOD = answer_with_call('{"query": "a"}')
BAD = answer_with_call('{"query": "a", "max_results": 500}')
slow = pytest.mark.slow  # servers, and processes for records and verdicts


def note_of(folder, number=1):
    events = read_record(folder / f"{number:06}.jsonl").events
    return next(event.note for event in events if isinstance(event, PromptRendered))


def test_rules_are_read_and_a_wrong_one_is_named():
    assert read_rules(()) == BreakRules()
    assert read_rules(["all", "tool:a", "tool:b"]) == BreakRules(True, False, frozenset("ab"))
    assert read_rules(["violation"]).answers and not read_rules(["all"]).answers
    for wrong in ("tool:", "any", "search"):
        with pytest.raises(GlyphscopeError, match=f"--hold {wrong}: Unknown breakpoint"):
            read_rules(["all", wrong])


@slow
def test_a_paused_request_is_sent_on_byte_by_byte(tmp_path):
    body = b'{"model": "m",   "messages": [], "odd": "\xc3\xa9",\n"tools": []}'
    with capturing(tmp_path, chunked(*GOOD), hold=read_rules(["all"])) as (agent, server):
        with closing(agent.send(body)) as made:
            paused = agent.paused.get(timeout=30)
            assert (paused.number, paused.side, paused.body, paused.model) == (1, "request", body, "m")
            assert server.asked == []
            agent.server.decide(Decision(1, "request", "send"))
            assert read_answer(made)[2] == b"".join(GOOD)
        one = agent.record()
        assert server.asked[0].endswith(b"\r\n\r\n" + body)
    assert one.waits[0].startswith("The request was paused for ") and one.waits[0].endswith(
        ", and sent unchanged."
    )
    assert one.waits[0] in note_of(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["000001.jsonl"]


@slow
def test_an_edited_request_is_what_the_server_gets_and_is_recorded_as_edited(tmp_path):
    body = json.dumps(asking("find a")).encode()
    edited = b'{"model": "m", "messages": [{"role": "user", "content": "find \xc3\xa9"}],  "tools": []}'
    with capturing(tmp_path, chunked(*GOOD), hold=read_rules(["all"])) as (agent, server):
        with closing(agent.send(body)) as made:
            agent.paused.get(timeout=30)
            agent.server.decide(Decision(1, "request", "send", edited))
            read_answer(made)
        one = agent.record()
        (asked,) = server.asked
    head, _, sent = asked.partition(b"\r\n\r\n")
    assert sent == edited and b"content-length: %d" % len(edited) in head.lower()
    assert "edited" in one.waits[0] and "000001.agent-request.txt" in one.waits[0]
    assert (tmp_path / "000001.agent-request.txt").read_bytes() == body
    events = read_record(tmp_path / "000001.jsonl").events
    assert events[0].request.prompt == "find é" and one.tools == 0
    assert one.waits[0] in note_of(tmp_path)


@slow
@pytest.mark.parametrize("rule", ["violation", "tool:search"])
def test_an_answer_is_paused_by_its_verdict_or_its_tool_and_others_pass_unchanged(tmp_path, rule):
    def answer(asked):
        return chunked(*(BAD if b"bad" in asked else sse(delta(content="hi"), delta("stop"))))

    with capturing(tmp_path, answer, hold=read_rules([rule])) as (agent, _):
        assert agent.ask(asking("good"))[2] == b"".join(sse(delta(content="hi"), delta("stop")))
        assert agent.paused.empty()
        with closing(agent.send(asking("bad"))) as made:
            paused = agent.paused.get(timeout=30)
            assert (paused.side, paused.body) == ("answer", b"".join(BAD))
            assert ("CONSTRAINT_MAX: max_results is at most" in paused.why) is (rule == "violation")
            assert "search" in paused.why and json.loads(paused.asked)["messages"][0]["content"] == "bad"
            assert "CONSTRAINT_MAX" in paused.verdict(paused.body)
            assert paused.verdict(paused.body.replace(b"500", b"50")) == ""
            agent.server.decide(Decision(2, "answer", "send"))
            status, head, got = read_answer(made)
        assert (status, got) == (200, b"".join(BAD)) and b"transfer-encoding: chunked" in head.lower()
        assert agent.record(2).calls[0].code == "CONSTRAINT_MAX"


@slow
@pytest.mark.parametrize("streamed", [True, False])
def test_an_edited_answer_is_what_the_agent_gets_and_the_record_has_the_server_s(tmp_path, streamed):
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": 7}'}}
    document = {"choices": [{"index": 0, "message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    pieces = chunked(*BAD) if streamed else whole(document)
    with capturing(tmp_path, pieces, hold=read_rules(["violation"])) as (agent, _):
        with closing(agent.send(asking("bad"))) as made:
            paused = agent.paused.get(timeout=30)
            edited = paused.body.replace(b"500", b"50").replace(b": 7", b': \\"\xc3\xa9\\"')
            agent.server.decide(Decision(1, "answer", "send", edited))
            status, head, got = read_answer(made)
        one = agent.record()
    assert (status, got) == (200, edited) and edited != paused.body
    assert head.lower().count(b"content-length:") == 1 and b"transfer-encoding" not in head.lower()
    assert not one.calls[0].valid and "000001.agent-answer.txt" in one.waits[0]
    assert (tmp_path / "000001.agent-answer.txt").read_bytes() == edited


@slow
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"])
def test_a_dropped_request_is_an_error_in_the_form_of_its_interface(tmp_path, path):
    with capturing(tmp_path, chunked(*GOOD), hold=read_rules(["all"])) as (agent, server):
        with closing(agent.send(asking("a"), path)) as made:
            agent.paused.get(timeout=30)
            agent.server.decide(Decision(1, "request", "drop"))
            status, _, body = read_answer(made)
        one = agent.record()
        assert server.asked == []
    error = json.loads(body)["error"]
    assert status == 403 and "was dropped at a breakpoint" in (
        error if path == "/api/chat" else error["message"]
    )
    assert one.outcome == "failed MODEL_FAILED" and "was dropped at a breakpoint" in one.words


@slow
def test_a_dropped_answer_is_recorded_as_the_server_gave_it(tmp_path):
    with capturing(tmp_path, chunked(*BAD), hold=read_rules(["violation"])) as (agent, _):
        with closing(agent.send(asking("a"))) as made:
            agent.paused.get(timeout=30)
            agent.server.decide(Decision(1, "answer", "drop"))
            status, _, body = read_answer(made)
        one = agent.record()
    assert status == 403 and b"server's answer was dropped" in body
    assert one.calls[0].code == "CONSTRAINT_MAX" and "the agent got an error" in one.waits[0]


@slow
@pytest.mark.parametrize(("rule", "side"), [("all", "request"), ("violation", "answer")])
def test_after_the_time_limit_the_agent_gets_status_504(tmp_path, rule, side):
    with capturing(tmp_path, chunked(*BAD), hold=read_rules([rule]), pause_seconds=0.3) as (agent, _):
        status, head, body = agent.ask(asking("a"))
        assert agent.released.get(timeout=30).end == "late"
        assert b"x-should-retry: false" in head.lower()  # or an SDK asks again, and waits again
        with pytest.raises(GlyphscopeError, match=f"The {side} 1 no longer waits"):
            agent.server.decide(Decision(1, side, "send"))
        one = agent.record()
    assert status == 504 and "waited at a breakpoint for 300 ms" in json.loads(body)["error"]["message"]
    assert "not sent on" in one.waits[0]


@slow
@pytest.mark.parametrize(("rule", "side"), [("all", "request"), ("violation", "answer")])
def test_an_agent_that_leaves_ends_the_pause(tmp_path, rule, side):
    with capturing(tmp_path, chunked(*BAD), hold=read_rules([rule])) as (agent, server):
        with closing(agent.send(asking("a"))):
            agent.paused.get(timeout=30)
        released = agent.released.get(timeout=30)
        one = agent.record()
        assert (released.side, released.end) == (side, "agent")
        assert len(server.asked) == (side == "answer")
    assert "the agent had left" in one.waits[0]
    assert one.outcome == "cancelled" if side == "request" else one.calls[0].code == "CONSTRAINT_MAX"


@slow
def test_two_agents_wait_at_once_and_each_gets_its_own(tmp_path):
    def answer(asked):
        return chunked(*sse(delta(content="one" if b"find one" in asked else "two"), delta("stop")))

    with capturing(tmp_path, answer, hold=read_rules(["all"])) as (agent, _):
        made = [agent.send(asking(f"find {name}")) for name in ("one", "two")]
        paused = [agent.paused.get(timeout=30) for _ in made]
        for each in reversed(paused):
            agent.server.decide(Decision(each.number, "request", "send"))
        bodies = [read_answer(each)[2] for each in made]
        for each in made:
            each.close()
    assert [b'"one"' in bodies[0], b'"two"' in bodies[1]] == [True, True]


@slow
def test_a_server_that_stalls_while_its_answer_is_read_whole_is_an_error(tmp_path):
    pieces = [*chunked(*sse(delta(content="well")), end=False), None]
    with capturing(tmp_path, pieces, hold=read_rules(["violation"]), stall=0.3) as (agent, _):
        status, _, body = agent.ask(asking("a"))
        one = agent.record()
    assert status == 504 and b"sent nothing for 300 ms" in body
    assert one.outcome == "failed MODEL_FAILED"


@slow
def test_an_answer_that_is_too_large_to_wait_is_forwarded_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope.capture.proxy.MAX_RECORDED", 100)
    with capturing(tmp_path, chunked(*BAD), hold=read_rules(["violation"])) as (agent, _):
        assert agent.ask(asking("a"))[2] == b"".join(BAD)
        assert "cannot be paused" in agent.notes[0]


@slow
def test_the_end_of_the_capture_ends_all_pauses_with_an_error(tmp_path):
    with capturing(tmp_path, chunked(*GOOD), hold=read_rules(["all"])) as (agent, server):
        with closing(agent.send(asking("a"))) as made:
            agent.paused.get(timeout=30)
            agent.server.stop()
            status, _, body = read_answer(made)
        one = agent.record()
        assert server.asked == []
    assert status == 503 and b"capture ended" in body and one.outcome == "cancelled"


@slow
def test_a_key_in_an_edited_answer_is_in_no_file(tmp_path):
    key = "sk-0123456789abcdef0123456789"
    with capturing(tmp_path, chunked(*BAD), hold=read_rules(["violation"])) as (agent, _):
        with closing(agent.send(asking("a"), authorization=f"Bearer {key}")) as made:
            paused = agent.paused.get(timeout=30)
            agent.server.decide(
                Decision(1, "answer", "send", paused.body.replace(b"500", f'\\"{key}\\"'.encode()))
            )
            assert key.encode() in read_answer(made)[2]
        agent.record()
    assert all(key.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def paused_text(body, side="request", kind="application/json"):
    return Paused(number=1, side=side, path="", model="", why="", kind=kind, body=body, seconds=1)


INVALID = {
    "not JSON": ("request", "application/json", b'{"a": 1,\n "b" 2}', "line 2, column 6"),
    "not an object": ("request", "application/json", b"[]", "not a JSON object"),
    "not UTF-8": ("request", "application/json", b'{"a": "\xff"}', "not UTF-8"),
    "too deep": ("request", "application/json", b"[" * 100_000, "too deeply"),
    "an event": (
        "answer",
        "text/event-stream",
        b'data: {}\n\ndata: {"a" 1}\n\ndata: [DONE]\n',
        "line 3, column 12",
    ),
    "a line": ("answer", "application/x-ndjson", b"{}\n{]\n", "line 2, column 2"),
}


@pytest.mark.parametrize("what", INVALID)
def test_an_edit_that_is_not_valid_is_rejected_with_its_place(what):
    side, kind, body, words = INVALID[what]
    with pytest.raises(GlyphscopeError, match=words):
        check_edit(paused_text(b"{}", side, kind), body)


@slow
def test_a_rejected_edit_leaves_the_request_waiting(tmp_path):
    capture = capturing(tmp_path, chunked(*GOOD), hold=read_rules(["all"]))
    with capture as (agent, server), closing(agent.send(asking("a"))) as made:
        agent.paused.get(timeout=30)
        with pytest.raises(GlyphscopeError, match="not valid JSON"):
            agent.server.decide(Decision(1, "request", "send", b"{"))
        assert server.asked == [] and agent.released.empty()
        agent.server.decide(Decision(1, "request", "send"))
        assert read_answer(made)[0] == 200


FORMS = json.loads(Path(__file__).with_name("captured.json").read_text())["answers"]
"""A request with its answer in each interface, streamed and whole."""
PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "ollama": "/api/chat",
}


def answer_in(api, streamed):
    """A paused answer with a call, and its exchange's other facts."""
    form = FORMS[api]
    body = "".join(form["stream"]) if streamed else json.dumps(form["whole"])
    stream = "application/x-ndjson" if api == "ollama" else "text/event-stream"
    kind = stream if streamed else "application/json"
    return Paused(
        number=1, side="answer", path=PATHS[api], model="", why="", kind=kind, body=body.encode(), seconds=1
    )


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("api", FORMS)
def test_the_arguments_of_a_paused_answer_s_calls_are_edited_in_every_interface(api, streamed):
    paused = answer_in(api, streamed)
    assert json.loads(paused.calls) == [{"name": "search", "arguments": {"query": "a"}}]
    assert paused.with_calls(paused.calls) is paused.body
    edited = paused.with_calls(paused.calls.replace('"a"', '"é✓ \\n", "max_results": 500'))
    check_edit(paused, edited)
    sent = msgspec.structs.replace(paused, body=edited)
    assert json.loads(sent.calls)[0]["arguments"] == {"query": "é✓ \n", "max_results": 500}
    asked = Asked(1, api, PATHS[api], "", "http://127.0.0.1:9/v1", json.dumps(FORMS[api]["request"]).encode())
    whole = Exchange(asked, Answered(0.1, 200, paused.kind), (Piece(0.2, edited),), Ended(0.3, "server"))
    (call,) = calls_of(whole)
    assert (call.tool, call.code) == ("search", "CONSTRAINT_MAX")  # the agent reads what was edited
    lines, others = paused.body.split(b"\n"), edited.split(b"\n")
    assert len(lines) == len(others)
    assert all(
        one == other for one, other in zip(lines, others) if b"query" not in one and b'a\\"}' not in one
    )


def test_both_forms_of_a_call_are_edited_and_the_text_of_a_custom_tool_stays_a_text():
    old = {"name": "search", "arguments": '{"query": "a"}'}
    both = {"function_call": old, "tool_calls": [{"index": 0, "id": "c", "function": dict(old)}]}
    custom = {"index": 1, "id": "d", "type": "custom", "custom": {"name": "sql", "input": "1"}}
    body = b"".join(sse(delta(**both), delta(tool_calls=[custom]), delta("tool_calls")))
    paused = msgspec.structs.replace(answer_in("chat", True), body=body)
    assert json.loads(paused.calls)[1] == {"name": "sql", "arguments": "1"}
    edited = paused.with_calls(paused.calls.replace('"a"', '"b"').replace('"1"', '"2"'))
    assert edited.count(rb"{\"query\": \"b\"}") == 2 and b'"input": "2"' in edited


WRONG_CALLS = {
    "not JSON": ("[\n{]", "line 2, column 2"),
    "another name": ('[{"name": "other", "arguments": {}}]', "not their names"),
    "no call": ("[]", "not their names"),
    "not a list": ("{}", "not their names"),
    "arguments that are not an object": ('[{"name": "search", "arguments": 3}]', "are not a JSON object"),
}


@pytest.mark.parametrize("what", WRONG_CALLS)
def test_edited_calls_that_are_not_valid_are_rejected(what):
    text, words = WRONG_CALLS[what]
    with pytest.raises(GlyphscopeError, match=words):
        answer_in("chat", True).with_calls(text)


def test_an_answer_without_calls_or_that_is_not_text_has_no_calls_to_edit():
    odd = {"index": [], "function": {"name": 3, "arguments": {}}}
    odds = b"".join(
        sse(delta(tool_calls=[odd, 3]), {"choices": [{"index": {}, "delta": 3}, 3]}, [], {"choices": 3})
    )
    for body in (
        b"".join(sse(delta(content="x"), delta("stop"))),
        odds.replace(b"3, ", b'"", '),
        b"\xff",
        b"data: {\n",
    ):
        assert msgspec.structs.replace(answer_in("chat", True), body=body).calls == ""
    assert paused_text(b"{}").calls == ""


@contextmanager
def in_a_terminal(folder, server, *more, editor="true"):
    """`glyphscope capture` in a terminal: the process, an agent, and a function that reads what it shows."""
    own, other = pty.openpty()
    words = (
        "capture",
        "--to",
        f"http://127.0.0.1:{server.port}",
        "--port",
        "0",
        "--records",
        str(folder),
        *more,
    )
    shown = ""

    def until(pattern):
        nonlocal shown
        end = time.monotonic() + 60
        while not (found := re.search(pattern, shown)):
            assert time.monotonic() < end, shown
            shown += os.read(own, 65536).decode(errors="replace")
        shown = shown[found.end() :]
        return found

    with subprocess.Popen(
        [sys.executable, "-m", "glyphscope", *words], stdin=other, stdout=other, stderr=other,
        env={**os.environ, "VISUAL": editor, "COLUMNS": "200"}, start_new_session=True,
    ) as made:  # fmt: skip
        os.close(other)
        try:
            agent = Capturing(folder)
            agent.port = int(until(r"127\.0\.0\.1:(\d+)/v1")[1])
            yield made, agent, until, lambda text: os.write(own, text.encode())
        finally:
            made.kill()
            os.close(own)


@slow
def test_the_terminal_asks_and_an_editor_changes_what_is_sent(tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(f"#!{sys.executable}\nimport sys\np = sys.argv[1]\nt = open(p).read()\n"
                      "open(p, 'w').write(t.replace('find a', 'find b') if 'find a' in t else '{')\n")  # fmt: skip
    editor.chmod(0o755)
    server = RawServer(chunked(*GOOD))
    records = tmp_path / "records"
    with closing(server), in_a_terminal(records, server, "--hold", "all", editor=str(editor)) as (
        made, agent, until, write,
    ):  # fmt: skip
        with closing(agent.send(asking("find a"))) as waiting:
            until(r"request 1 is paused(?s:.*)s send, e edit, d drop: ")
            write("e\n")
            assert read_answer(waiting)[0] == 200
        assert b"find b" in server.asked[0] and b"find a" not in server.asked[0]
        until("edited")
        with closing(agent.send(asking("other"))) as waiting:
            until(r"request 2 is paused(?s:.*)s send, e edit, d drop: ")
            write("e\n")
            until("not valid JSON")
            write("d\n")
            assert read_answer(waiting)[0] == 403
        made.terminate()


@slow
def test_the_terminal_edits_the_arguments_of_an_answer_s_calls(tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/500/50/' \"$1\"\n")
    editor.chmod(0o755)
    server = RawServer(chunked(*BAD))
    records, rule = tmp_path / "records", ("--hold", "violation")
    with closing(server), in_a_terminal(records, server, *rule, editor=str(editor)) as (
        made, agent, until, write,
    ):  # fmt: skip
        with closing(agent.send(asking("find a"))) as waiting:
            until(r"answer 1 is paused(?s:.*)s send, e edit, c edit the calls' arguments, d drop: ")
            write("c\n")
            assert read_answer(waiting)[2] == b"".join(BAD).replace(b"500", b"50")
        until("Each call of the edited answer is valid")
        made.terminate()


@slow
def test_without_a_terminal_a_breakpoint_is_rejected(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "glyphscope", "capture", "--to", "http://127.0.0.1:9", "--hold", "all"],
        check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and "--hold asks in the terminal" in done.stderr
