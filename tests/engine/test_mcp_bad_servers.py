"""Servers that break the protocol: nothing hangs, no process is left, and the error is reported."""

import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from mcp_types import JSONRPCMessage
from pydantic import TypeAdapter, ValidationError

from glyphscope.base.errors import ServerError
from glyphscope.tools.mcp import McpServer, ServerConfig, guard
from mcp_servers import call, opened, scripted


def failure(config, seconds=20.0):
    server = McpServer(config, start_seconds=seconds)
    try:
        with pytest.raises(ServerError) as raised:
            server.open()
        assert server.state == "failed" and server.problem is not None
        return raised.value
    finally:
        server.close()


def is_gone(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state == "Z"


# servers that do not start


def test_a_file_that_is_not_a_program_is_reported(tmp_path):
    file = tmp_path / "server.txt"
    file.write_text("hello")
    assert "may not be executed" in failure(ServerConfig(name="x", command=str(file))).message
    file.chmod(0o755)
    assert "does not start" in failure(ServerConfig(name="x", command=str(file))).message


@pytest.mark.parametrize("folder", ["none", "file"])
def test_an_invalid_folder_is_reported(tmp_path, folder):
    (tmp_path / "file").write_text("")
    error = failure(scripted(cwd=str(tmp_path / folder)))
    assert "working directory" in error.message and error.where == str(tmp_path / folder)


def test_a_command_below_a_file_is_not_an_error_of_the_working_directory(tmp_path):
    (tmp_path / "file").write_text("")
    command = str(tmp_path / "file" / "server")
    error = failure(ServerConfig(name="x", command=command, cwd=str(tmp_path)))
    assert "working directory" not in error.message and error.where == command


@pytest.mark.slow
def test_a_server_that_never_answers_fails_after_its_time_limit():
    start = time.monotonic()
    error = failure(scripted("deaf"), seconds=0.5)
    assert error.message == "The server did not answer within 500 ms after it was started."
    assert time.monotonic() - start < 20


@pytest.mark.slow
def test_a_server_that_logs_to_its_standard_output_is_named_in_the_hint():
    assert "Server version 1 is starting up" in failure(scripted("rambling", "deaf"), seconds=1).hint


@pytest.mark.slow
def test_a_program_that_is_not_a_server_fails_after_its_time_limit():
    assert failure(ServerConfig(name="x", command="cat"), seconds=5).message  # it echoes its input
    assert (
        "did not answer"
        in failure(ServerConfig(name="x", command="sleep", args=("60",)), seconds=0.3).message
    )


# servers that exit


@pytest.mark.parametrize(
    ("tool", "how", "words"),
    [
        ("die", "was ended by SIGSEGV", "I am dying"),
        ("leave", "ended with exit code 3", "nothing to do here"),
    ],
)
def test_a_server_that_dies_during_a_call_fails_the_call_with_its_last_output(tool, how, words):
    with opened() as server:
        outcome = call(server, tool)
        assert outcome.fault == "protocol"
        assert outcome.message == f"The server {how} before it answered. Its last output: {words}"
        deadline = time.monotonic() + 60
        while server.state != "ended" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (server.state, server.problem.message) == ("ended", f"The server {how}.")
        assert server.problem.log == words
        again = call(server, "echo")
        assert again.fault == "protocol" and how in again.message


def test_a_server_that_ended_can_be_started_again():
    with opened() as server:
        call(server, "leave")
        deadline = time.monotonic() + 60
        while server.state != "ended" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert call(server.open(), "echo").ok


def test_all_calls_of_a_server_that_dies_fail():
    with opened() as server:
        found = []
        waiting = [threading.Thread(target=lambda: found.append(call(server, "silent"))) for _ in range(3)]
        for thread in waiting:
            thread.start()
        deadline = time.monotonic() + 60
        while (
            sum(entry.method == "tools/call" for entry in server.log.entries) < 3
            and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        os.kill(server._connection._process.pid, signal.SIGKILL)
        for thread in waiting:
            thread.join(60)
        assert [(o.fault, "SIGKILL" in o.message) for o in found] == [("protocol", True)] * 3


# servers that write too much, or invalid messages


@pytest.mark.slow
def test_a_million_meaningless_lines_are_dropped_and_counted():
    with opened() as server:
        assert call(server, "lines", seconds=60).content[0].text == "after a million lines"
        assert server.log.dropped == 1_000_000
        dropped = [entry for entry in server.log.entries if entry.direction == "dropped"]
        assert len(dropped) < 50 and sum(1 + entry.more for entry in dropped) == 1_000_000
        assert {entry.method for entry in server.log.entries} >= {"initialize", "tools/list", "tools/call"}


@pytest.mark.slow
def test_a_flood_of_messages_is_dropped():
    reported = []
    server = McpServer(scripted(), changed=lambda s: reported.append(s.state))
    try:
        server.open()
        assert call(server, "notices", seconds=60).content[0].text == "after a hundred thousand notices"
        assert server.log.dropped > 40_000 and len(reported) < 10
        assert call(server, "echo").ok
    finally:
        server.close()


@pytest.mark.slow
@pytest.mark.parametrize("last", [False, True])
def test_an_answer_of_50_mb_is_rejected(last):
    with opened() as server:
        outcome = call(server, "large", {"last": last})
        assert outcome.fault == "protocol"
        assert outcome.message == "The server sent 50.0 MB in one message; at most 32 MB are read."
        assert call(server, "echo").ok
        assert max(len(entry.text) for entry in server.log.entries) < 10_000


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("bytes", "not UTF-8: byte 0xE9 at 7"),
        ("cut", "not JSON-RPC"),
        ("no-rpc", "not JSON-RPC"),
    ],
)
def test_an_answer_that_cannot_be_read_fails_only_its_call(tool, words):
    with opened() as server:
        outcome = call(server, tool)
        assert outcome.fault == "protocol" and words in outcome.message
        assert call(server, "echo").ok


def test_output_before_the_first_message_is_skipped():
    with opened("rambling") as server:
        assert call(server, "echo").ok
        assert server.log.dropped == 1


# lists


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "words"), [("endless-cursor", "1,000 pages"), ("endless-cursor=same", "would never end")]
)
def test_a_list_without_an_end_is_limited(behaviour, words):
    with opened(behaviour) as server:
        assert words in server.list_problem
        assert {"tool-0", "tool-1", "tool-2"} <= {tool.name for tool in server.tools()}


def test_a_tool_that_cannot_be_used_is_reported_and_the_others_stay():
    with opened("bad-schemas") as server:
        names = [tool.name for tool in server.tools()]
        assert names[0] == "echo" and names[-1] == "odd-output" and len(names) == len(set(names))
        problems = [(problem.tool, problem.usable) for problem in server.tool_problems]
        assert problems[:5] == [
            ("remote", False), ("broken", False), ("true", False), ("echo", False), ("line\nend", False),
        ]  # fmt: skip
        assert ("task", False) in problems and problems[-1] == ("odd-output", True)
        assert "another document" in server.tool_problems[0].message
        assert '"sting" is not a type' in server.tool_problems[1].message
        assert "another document" in call(server, "remote").message


# servers that do not exit


@pytest.mark.slow
def test_a_server_that_ignores_every_signal_is_ended_within_two_seconds():
    with opened("ignore-signals") as server:
        pid = server._connection._process.pid
        start = time.monotonic()
        server.close()
        assert time.monotonic() - start < 10
        assert is_gone(pid)


@pytest.mark.slow
def test_a_server_that_no_longer_reads_delays_nothing():
    with opened("ignore-signals") as server:
        assert call(server, "deaf", seconds=0.1).fault == "timeout"
        large = {"text": "x" * 1_000_000}  # more than a pipe holds
        start = time.monotonic()
        assert [call(server, "echo", large, seconds=0.2).fault for _ in range(3)] == ["timeout"] * 3
        assert time.monotonic() - start < 20
        start = time.monotonic()
        server.close()
        assert time.monotonic() - start < 10 and server.state == "stopped"


def test_children_of_a_server_end_with_it():
    with opened("child") as server:
        deadline = time.monotonic() + 60
        while (
            not server.log.dropped and time.monotonic() < deadline
        ):  # it writes `up`, and then ignores SIGTERM
            time.sleep(0.01)
        child = int(re.search(r"child (\d+)", server.stderr)[1])
        assert not is_gone(child)
    deadline = time.monotonic() + 60
    while not is_gone(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_gone(child)


@pytest.mark.slow
def test_a_server_that_dies_is_noticed_although_its_child_has_the_pipes_open():
    with opened("child") as server:
        assert call(server, "leave").fault == "protocol"


@pytest.mark.slow
def test_a_server_that_floods_its_output_is_closed():
    flood = "import sys\nwhile True: print('x' * 100)"
    server = McpServer(ServerConfig(name="x", command=sys.executable, args=("-c", flood)))
    server.start()
    time.sleep(0.3)
    start = time.monotonic()
    server.close()
    assert time.monotonic() - start < 10 and server.state == "stopped"


@pytest.mark.slow
def test_a_line_that_never_ends_does_not_fill_the_memory():
    endless = "import sys\nwhile True: sys.stdout.write('x' * 1_000_000)"
    server = McpServer(
        ServerConfig(name="x", command=sys.executable, args=("-c", endless)), start_seconds=1.0
    )
    try:
        with pytest.raises(ServerError):
            server.open()
        assert server.log.received_bytes > 0
    finally:
        server.close()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -1}}, "error.message: Field required"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "m"}}, "error.code: Input should be"),
        ({"id": 1, "result": {}}, "jsonrpc: Field required"),
    ],
)
def test_the_member_that_makes_an_answer_unreadable_is_named(answer, words):
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(JSONRPCMessage).validate_python(answer)
    assert guard._reason(caught.value).startswith(words)
