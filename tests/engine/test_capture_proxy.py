"""A capture forwards every byte, ends each request clearly, and rejects what could misuse it."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager

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
from glyphscope.capture import exchange as exchanges
from glyphscope.capture import proxy
from glyphscope.capture.server import CaptureServer
from glyphscope.cli.app import COMMANDS
from glyphscope.events import RunFailed
from glyphscope.models.remote import read_address
from glyphscope.store.records import read_record

pytestmark = pytest.mark.slow  # servers, and a process for the records

KEY = "sk-0123456789abcdef0123456789"


def test_every_byte_of_the_answer_reaches_the_agent_and_every_byte_of_the_request_the_server(tmp_path):
    character = "é✓".encode()
    events = [
        b": hello\r\n\r\n",
        *answer_with_call('{"query": "é✓", "max_results": 500}'),
        b"no: event",
        b"\n\n",
        character[:3],
        character[3:],
    ]
    body = b'{"model": "m",   "messages": [], "odd": "\xc3\xa9",\n"tools": []}'
    with capturing(tmp_path, chunked(*events)) as (agent, server):
        status, head, got = agent.ask(body, "/v1/chat/completions?a=b%20c", authorization=f"Bearer {KEY}")
        agent.record()
        (asked,) = server.asked
        said, _, sent = asked.partition(b"\r\n\r\n")
    assert (status, got) == (200, b"".join(events))
    assert b"x-own: a\r\n" in head and b"server:" not in head.lower()
    assert sent == body
    lines = {line.lower() for line in said.split(b"\r\n")}
    assert b"post /v1/chat/completions?a=b%20c http/1.1" in lines and b"user-agent: own/1" in lines
    assert f"authorization: bearer {KEY}".encode() in lines
    assert not any(line.startswith((b"accept:", b"cookie:")) for line in lines)


def test_each_piece_reaches_the_agent_as_it_comes(tmp_path):
    first, *rest = answer_with_call('{"query": "a"}')
    with capturing(tmp_path, [*chunked(first, end=False), None]) as (agent, _):
        with closing(agent.send(asking("find a"))) as made:
            got = b""
            while first not in got:
                got += made.recv(4096)  # the rest of the answer does not come before this one was read
        assert rest
        assert agent.record().outcome == "cancelled"


def test_a_key_is_in_no_file_and_no_message_also_if_the_server_repeats_it(tmp_path):
    said = f"your key {KEY} is wrong".encode()
    pieces = [sse(delta(content="x"))[0], b"data: " + said[:20], said[20:], b"\n\n"]
    with capturing(tmp_path, chunked(*pieces)) as (agent, _):
        _, _, got = agent.ask(
            {**asking("hi"), "user": KEY}, authorization=f"Bearer {KEY}", x_api_key=KEY[::-1]
        )
        one = agent.record()
    assert said in got
    assert KEY not in repr(one) and KEY not in repr(agent.notes)
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


REJECTED = {
    "another host": (403, {"host": "example.com"}),
    "a name that was made one of this machine": (403, {"host": "evil.test:4321"}),
    "a page's origin": (403, {"origin": "http://evil.test"}),
    "an opaque origin": (403, {"origin": "null"}),
    "a page's picture": (403, {"sec_fetch_site": "cross-site"}),
}


@pytest.mark.parametrize("what", REJECTED)
def test_a_request_that_a_web_page_could_cause_is_rejected(tmp_path, what):
    status, headers = REJECTED[what]
    with capturing(tmp_path) as (agent, server):
        got, head, body = agent.ask(asking("hi"), **headers)
        assert (got, server.asked) == (status, [])
        assert json.loads(body)["error"]["message"].startswith("Glyphscope: ")
        assert b"access-control" not in head.lower()


def test_the_server_is_never_taken_from_a_request(tmp_path):
    with capturing(tmp_path, whole({})) as (agent, server):
        assert agent.ask({}, "http://127.0.0.1:9/v1/models")[0] == 400
        assert agent.ask(None, "127.0.0.1:9", "CONNECT")[0] in (400, 403)
        assert server.asked == []
        agent.ask(None, "//127.0.0.1:9/v1/models", "GET")
        assert b"host: 127.0.0.1:%d" % server.port in server.asked[0].lower()


def test_only_loopback_listens_also_that_of_ipv6(tmp_path):
    with capturing(tmp_path, whole({"data": []})) as (agent, _):
        names = [made.getsockname()[0] for made in agent.server._sockets]
        assert names == ["127.0.0.1", "::1"][: len(names)]
        if len(names) > 1:
            with closing(socket.create_connection(("::1", agent.port), timeout=30)) as made:
                made.sendall(b"GET /v1/models HTTP/1.1\r\nhost: [::1]:%d\r\n\r\n" % agent.port)
                assert read_answer(made)[0] == 200


def test_a_port_of_ipv6_that_another_program_has_is_not_shared(tmp_path):
    try:
        taken = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this computer has no IPv6")
    with closing(taken), pytest.raises(GlyphscopeError, match="cannot be used"):
        CaptureServer(
            read_address("http://127.0.0.1:9"),
            tmp_path,
            port=taken.getsockname()[1],
            recorded=print,
            note=print,
        )


def test_a_server_at_the_loopback_address_of_ipv6_is_reached(tmp_path):
    try:
        made = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this computer has no IPv6")
    upstream = RawServer(whole({"data": []}), made)
    with closing(upstream):
        address = f"http://[::1]:{upstream.port}"
        server = CaptureServer(read_address(address), tmp_path, port=0, recorded=print, note=print)
        agent = Capturing(tmp_path)
        agent.port = server.port
        thread = threading.Thread(target=server.run)
        thread.start()
        status, _, body = agent.ask(None, "/v1/models", "GET")
        server.stop()
        thread.join(60)
    assert (status, json.loads(body)) == (200, {"data": []})
    assert b"host: [::1]:%d\r\n" % upstream.port in upstream.asked[0].lower()


def test_a_body_that_is_too_large_is_rejected_with_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(proxy, "MAX_REQUEST", 1000)
    with capturing(tmp_path, whole({})) as (agent, server):
        for path in ("/v1/messages", "/api/chat"):
            status, _, body = agent.ask(b"x" * 1001, path)
            assert status == 413 and b"has more than 1 kB" in body.replace(b"1.0 kB", b"1 kB")
        head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{agent.port}\r\ntransfer-encoding: chunked\r\n\r\n"
        with closing(socket.create_connection(("127.0.0.1", agent.port), timeout=30)) as made:
            made.sendall(head.encode() + b"800\r\n" + b"x" * 2048 + b"\r\n0\r\n\r\n")
            assert read_answer(made)[0] == 413
        assert server.asked == []


def test_an_agent_that_is_still_sending_a_large_body_gets_the_error(tmp_path):
    with capturing(tmp_path) as (agent, server):
        status, _, body = agent.ask(b"x" * 50_000_000)
        assert status == 413 and "more than 32 MB" in json.loads(body)["error"]["message"].replace(
            "32.0", "32"
        )
        assert server.asked == []


def test_a_server_that_does_not_run_is_an_error_that_says_so(tmp_path):
    with capturing(tmp_path) as (agent, server):
        server.close()
        status, _, body = agent.ask(asking("hi"))
        one = agent.record()
    assert status == 502 and "cannot be reached" in json.loads(body)["error"]["message"]
    assert one.outcome == "failed MODEL_FAILED" and "cannot be reached" in one.words


def test_a_server_that_stalls_ends_the_request_before_and_within_the_answer(tmp_path):
    with capturing(tmp_path, [None], stall=0.2) as (agent, _):
        status, _, body = agent.ask(asking("hi"))
        assert status == 504 and "sent nothing for 200 ms" in json.loads(body)["error"]["message"]
        assert agent.record().outcome == "failed MODEL_FAILED"
    pieces = chunked(*sse(delta(content="well")), end=False)
    with capturing(tmp_path, [*pieces, None], stall=0.2) as (agent, _):
        _, _, body = agent.ask(asking("hi"))
        one = agent.record(2)
    assert body.endswith(b"CUT") and "sent nothing for" in one.words
    assert any(isinstance(event, RunFailed) for event in read_record(tmp_path / "000002.jsonl").events)


def test_an_answer_that_the_server_did_not_finish_is_forwarded_and_recorded_as_cut(tmp_path):
    (piece,) = sse(delta(content="well"))
    with capturing(tmp_path, chunked(piece)) as (agent, _):
        assert agent.ask(asking("hi"))[2] == piece  # whole for HTTP
        one = agent.record()
    assert one.outcome == "failed MODEL_FAILED" and "ended before the answer did" in one.words


def test_a_connection_that_breaks_within_an_answer_is_broken_for_the_agent_too(tmp_path):
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 5000\r\n\r\n"

    def broken(asked):
        yield head + sse(delta(content="well"))[0]
        raise OSError  # closes the connection

    with capturing(tmp_path, broken) as (agent, _):
        _, _, body = agent.ask(asking("hi"))
        one = agent.record()
    assert body == sse(delta(content="well"))[0] + b"CUT"
    assert one.outcome == "failed MODEL_FAILED" and "closed the connection" in one.words


def test_an_agent_that_leaves_frees_the_server(tmp_path):
    with capturing(tmp_path, [*chunked(*sse(delta(content="well")), end=False), None]) as (agent, server):
        with closing(agent.send(asking("hi"))) as made:
            made.recv(100)
        assert server.gone.wait(20)
        assert agent.record().outcome == "cancelled"


def test_an_agent_that_leaves_within_its_request_reaches_no_server_and_leaves_no_file(tmp_path):
    with capturing(tmp_path, whole({})) as (agent, server):
        head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{agent.port}\r\ncontent-length: 1000\r\n\r\n"
        with closing(socket.create_connection(("127.0.0.1", agent.port), timeout=30)) as made:
            made.sendall(head.encode() + b"{")
        assert agent.ask(None, "/v1/models", "GET")[0] == 200  # it is still there
        assert len(server.asked) == 1 and not list(tmp_path.iterdir())


def test_an_agent_that_reads_slowly_slows_the_server_down_and_fills_no_memory(tmp_path):
    mb = b"x" * 1_000_000
    size = 200
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: %d\r\n\r\n" % (size * len(mb))
    capture = capturing(tmp_path, [head, *[mb] * size])
    with capture as (agent, server), closing(agent.send(None, "/v1/files", "GET")) as made:
        sent = -1
        while len(server.sent) != sent:  # until the server can send no more
            sent = len(server.sent)
            time.sleep(0.5)
        assert sent < size / 2
        assert read_answer(made)[2] == mb * size


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\netag: a\r\n\r\n"),
        (
            "GET",
            b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/v1\r\ncontent-length: 0\r\n\r\n",
        ),
    ],
    ids=["head", "no content", "not modified", "redirect"],
)
def test_an_answer_without_a_body_is_forwarded_as_it_is(tmp_path, method, answer):
    with capturing(tmp_path, [answer]) as (agent, server):
        with closing(agent.send(None, "/v1/models", method, content_length="", connection="close")) as made:
            got = b"".join(iter(lambda: made.recv(4096), b""))
        lines = {line.lower() for line in got.split(b"\r\n")} - {b"connection: close"}
        assert lines == {line.lower() for line in answer.split(b"\r\n")} and len(server.asked) == 1


def test_a_compressed_answer_is_forwarded_unread_and_recorded_as_such(tmp_path):
    data = gzip.compress(b"".join(answer_with_call('{"query": "a"}')))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n"
    with capturing(tmp_path, [head % len(data) + data]) as (agent, _):
        _, head, body = agent.ask(asking("a"), accept_encoding="gzip")
        one = agent.record()
    assert body == data and b"content-encoding: gzip" in head and "compressed its answer (gzip)" in one.words


def test_a_websocket_is_rejected_and_not_forwarded_as_another_request(tmp_path):
    with capturing(tmp_path, whole({})) as (agent, server):
        more = {
            "upgrade": "websocket",
            "connection": "Upgrade",
            "content_length": "",
            "sec_websocket_key": "a",
        }
        status, _, body = agent.ask(None, "/v1/responses", "GET", **more)
    assert status == 501 and "over HTTP" in json.loads(body)["error"]["message"] and not server.asked


def test_more_agents_than_it_forwards_at_once_are_asked_to_try_again(tmp_path, monkeypatch):
    monkeypatch.setattr(proxy, "MAX_AT_ONCE", 1)
    with capturing(tmp_path, [*chunked(*sse(delta(content="well")), end=False), None]) as (agent, _):
        with closing(agent.send(asking("a"))) as made:
            made.recv(100)
            status, _, body = agent.ask(asking("b"))
        assert status == 503 and "Try again later" in json.loads(body)["error"]["message"]


def test_two_agents_at_once_get_their_own_answers(tmp_path):
    def answer(asked):
        name = "one" if b"find one" in asked else "two"
        yield from chunked(*sse(delta(content=name)), end=False)
        time.sleep(0.1)
        last = sse(delta("stop"))[0]
        yield b"%x\r\n%s\r\n0\r\n\r\n" % (len(last), last)

    with capturing(tmp_path, answer) as (agent, _):
        made = [agent.send(asking(f"find {name}")) for name in ("one", "two")]
        bodies = [read_answer(each)[2] for each in made]
        for each in made:
            each.close()
        agent.record(1), agent.record(2)
        words = sorted(read_record(tmp_path / f"00000{n}.jsonl").events[0].request.prompt for n in (1, 2))
    assert [b'"one"' in bodies[0], b'"two"' in bodies[1]] == [True, True]
    assert words == ["find one", "find two"]


def test_other_paths_are_forwarded_and_reported_as_not_recorded(tmp_path):
    with capturing(tmp_path, whole({"data": []})) as (agent, server):
        for _ in range(2):
            status, _, body = agent.ask(None, "/v1/models", "GET", content_length="")
            assert (status, json.loads(body)) == (200, {"data": []})
        assert agent.notes == ["Forwarded and not recorded: GET /v1/models."]
        assert len(server.asked) == 2 and not list(tmp_path.iterdir())


def test_a_request_that_cannot_be_read_is_forwarded_and_recorded(tmp_path):
    with capturing(tmp_path, whole({"error": {"message": "not JSON"}}, "400 Bad Request")) as (agent, _):
        status, _, body = agent.ask(b"{not json")
        one = agent.record()
    assert status == 400 and b"not JSON" in body
    assert one.outcome.startswith("failed") and "not JSON" in one.words


def test_what_a_killed_capture_left_becomes_records_at_the_next_start(tmp_path):
    asked = exchanges.Asked(
        7,
        "chat",
        "/v1/chat/completions",
        "2026-11-30T12:00:00.000+00:00",
        "http://x/v1",
        json.dumps(asking("a")).encode(),
    )
    writer = exchanges.ExchangeWriter(tmp_path, asked, ())
    writer.answered(0.1, 200, "text/event-stream", "")
    writer.piece(0.2, sse(delta(content="half"))[0])
    with open(writer.path, "ab") as file:  # the line in which it was killed
        file.write(b'{"type":"piece","t":0.3,"da')
    with capturing(tmp_path, chunked(*answer_with_call('{"query": "a"}'))) as (agent, _):
        one = agent.record(7)
        agent.ask(asking("b"))
        assert agent.record(8).outcome == "valid"
    assert one.outcome == "failed MODEL_FAILED" and "killed" in one.words
    events = read_record(tmp_path / "000007.jsonl").events
    assert "half" in "".join(event.step.text for event in events if hasattr(event, "step"))


def test_a_full_disk_ends_the_recording_and_not_the_request(tmp_path, monkeypatch):
    def full(file, data):
        raise OSError(28, "No space left on device")

    with capturing(tmp_path, chunked(*answer_with_call('{"query": "a"}'))) as (agent, _):
        monkeypatch.setattr(exchanges.os, "write", full)
        status, _, body = agent.ask(asking("a"))
    assert (status, body) == (200, b"".join(answer_with_call('{"query": "a"}')))
    assert "not recorded" in agent.notes[0]


def test_the_port_the_folder_and_the_server_are_checked_at_the_start(tmp_path):
    def made(**more):
        to = more.pop("to", "http://127.0.0.1:9")
        return CaptureServer(
            read_address(to), more.pop("folder", tmp_path / "b"), recorded=print, note=print, **more
        )

    with capturing(tmp_path / "a") as (agent, _):
        with pytest.raises(GlyphscopeError, match="cannot be used"):
            made(port=agent.port)
        with pytest.raises(GlyphscopeError, match="no such file"):
            made(model=str(tmp_path / "missing.gguf"), port=0)
        with pytest.raises(GlyphscopeError, match="Another capture writes"):
            made(folder=tmp_path / "a", port=0)


@contextmanager
def command(folder, server, *more):
    """`glyphscope capture` as a process, with its port."""
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
    with subprocess.Popen(
        [sys.executable, "-m", "glyphscope", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as made:
        try:
            assert made.stderr is not None
            line = made.stderr.readline()
            agent = Capturing(folder)
            agent.port = int(re.findall(r"127\.0\.0\.1:(\d+)/v1", line)[-1])
            yield made, agent
        finally:
            made.kill()


def test_a_killed_capture_loses_nothing_that_was_recorded(tmp_path):
    first, *rest = answer_with_call('{"query": "a"}')
    answers = iter((chunked(first, *rest), [*chunked(first, end=False), None]))
    server = RawServer(lambda _: next(answers))
    with closing(server), command(tmp_path, server, "--json") as (made, agent):
        agent.ask(asking("a"))
        assert json.loads(made.stdout.readline())["outcome"] == "valid"
        with closing(agent.send(asking("b"))) as waiting:
            got = b""
            while first not in got:
                got += waiting.recv(4096)
            made.kill()
            made.wait()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["000001.jsonl", "000002.exchange"]
    lock = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # waits for the end of the process
    os.close(lock)
    with capturing(tmp_path) as (again, _):
        assert "killed" in again.record(2).words


def test_the_command_prints_each_request_and_ctrl_c_ends_it(tmp_path):
    server = RawServer(chunked(*answer_with_call('{"query": "a", "max_results": 500}')))
    with closing(server), command(tmp_path, server) as (made, agent):
        agent.ask(asking("a"), authorization=f"Bearer {KEY}")
        lines = [made.stdout.readline() for _ in range(2)]
        made.send_signal(signal.SIGINT)
        _, said = made.communicate(timeout=60)
    assert lines[0].startswith("     1  m  no valid call") and "1 tool" in lines[0]
    assert "✗ search · CONSTRAINT_MAX at character" in lines[1]
    assert made.returncode == 0 and said.endswith(f"1 record in {tmp_path}.\n")
    assert KEY not in said + "".join(lines)


@pytest.mark.parametrize(("to", "words"), [("http", ", unencrypted"), ("https", "")])
def test_a_server_on_another_computer_is_only_the_one_that_was_named_and_is_said(tmp_path, to, words):
    given = ("--to", f"{to}://192.0.2.1:9", "--port", "0", "--records", str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-m", "glyphscope", "capture", *given], stderr=subprocess.PIPE, text=True
    ) as made:
        assert made.stderr is not None
        lines = [made.stderr.readline() for _ in range(3)]
        made.send_signal(signal.SIGINT)
        made.communicate(timeout=60)
    assert f"Capturing for {to}://192.0.2.1:9" in lines[0]
    assert lines[2] == f"The requests leave this computer{words}.\n"


def test_other_commands_do_not_import_the_server(tmp_path):
    commands = "; ".join(f"_command({name!r})" for name in COMMANDS if name not in ("capture", "bench"))
    words = f"import sys; from glyphscope.cli.app import _command; {commands}; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert "'uvicorn'" not in done.stdout and "'glyphscope.capture'" not in done.stdout
