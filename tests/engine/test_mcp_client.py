import json
import os
import subprocess
import sys
import threading
import time

import pytest

from glyphscope.base.errors import ServerError
from glyphscope.tools.mcp import McpServer
from mcp_servers import call, opened, scripted


@pytest.fixture(scope="module")
def server():
    with opened() as server:
        yield server


def test_a_ready_server_has_its_tools_and_its_name(server):
    assert (server.state, server.problem) == ("ready", None)
    assert (server.about.name, server.about.version, server.about.protocol) == ("scripted", "1", "2025-06-18")
    echo = server.tools()[0]
    assert (echo.name, echo.description) == ("echo", "Says it again.")
    assert echo.parameters["properties"]["text"]["maxLength"] == 20
    assert server.claims("echo") == {"readOnlyHint": True, "title": "Echo"}
    assert server.claims("rich") == {} == server.claims("no such tool")


def test_a_call_returns_its_text(server):
    outcome = call(server, "echo", {"text": "grüß\n"})
    assert outcome.ok and json.loads(outcome.content[0].text) == {"text": "grüß\n"}


def test_content_of_every_kind_is_read_and_invalid_content_leaves_the_rest(server):
    found = [(c.kind, c.text, c.data, c.mime, c.uri, c.size) for c in call(server, "rich").content]
    assert found == [
        ("text", "a picture", b"", "", "", 9),
        ("image", "", b"\x89PNG\r", "image/png", "", 5),
        ("audio", "", b"RIFF", "audio/wav", "", 4),
        ("link", "", b"", "text/plain", "file:///a", 3),
        ("resource", "bb", b"", "text/plain", "file:///b", 2),
        ("resource", "", b"\x00\x01", "", "file:///c", 2),
        ("image", "(its data is not valid base64)", b"", "image/png", "", 30),
        ("text", '{"type": "hologram", "depth": 3}', b"", "", "", 32),
    ]


def test_a_structured_result_is_checked_against_the_output_schema(server):
    good = call(server, "structured")
    assert (good.ok, good.structured, good.schema_problems) == (True, {"degrees": 9}, ())
    wrong = call(server, "wrong-structure")
    assert wrong.ok and wrong.schema_problems == ("/degrees: 99 is greater than the maximum of 60",)
    assert "no structured content" in call(server, "unstructured").schema_problems[0]


def test_progress_is_reported_in_the_thread_of_the_caller(server):
    seen = []
    outcome = server.call(
        "wait", {}, seconds=20, cancel=threading.Event(),
        progress=lambda *step: seen.append((threading.current_thread(), step)),
    )  # fmt: skip
    assert outcome.ok
    here = threading.current_thread()
    assert seen == [(here, (n, 3.0, f"step {n}")) for n in (1, 2, 3)]


def test_arguments_that_are_not_valid_json_fail_only_their_call(server):
    assert call(server, "echo", {"text": "\ud800"}).fault == "protocol"
    assert call(server, "echo", {"text": "x"}).ok


def test_a_server_that_requests_sampling_is_declined_and_continues():
    with opened() as server:
        assert call(server, "ask").content[0].text == "asked, and got -32600"


def test_calls_from_several_threads_get_their_own_answers(server):
    found = {}

    def one(number):
        found[number] = json.loads(call(server, "echo", {"text": str(number)}).content[0].text)["text"]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: str(number) for number in range(20)}


def heard(server, words):
    """Wait until the silent server has read `words`, which it writes to stderr."""
    deadline = time.monotonic() + 60
    while words not in server.stderr and time.monotonic() < deadline:
        time.sleep(0.01)
    assert words in server.stderr


@pytest.mark.slow
def test_a_stopped_call_returns_at_once_and_the_server_is_notified():
    with opened() as server:
        cancel = threading.Event()
        threading.Timer(0.2, cancel.set).start()
        start = time.monotonic()
        outcome = server.call("silent", {}, seconds=60, cancel=cancel)
        assert outcome.fault == "cancelled" and time.monotonic() - start < 20
        heard(server, "notifications/cancelled")
        assert '"requestId":3' in server.stderr


def test_a_call_that_was_stopped_before_it_began_is_not_sent(server):
    cancel = threading.Event()
    cancel.set()
    before = server.log.entries[-1].number
    assert server.call("echo", {}, seconds=5, cancel=cancel).fault == "cancelled"
    assert server.log.entries[-1].number == before


@pytest.mark.slow
def test_a_tool_that_never_answers_times_out():
    with opened() as server:
        outcome = call(server, "silent", seconds=0.3)
        assert (outcome.fault, outcome.message) == ("timeout", "The tool did not answer within 300 ms.")
        heard(server, "notifications/cancelled")


def test_a_changed_list_is_read_again_and_announced():
    reported = []
    server = McpServer(scripted("grow"), changed=lambda s: reported.append((s.state, len(s.tools()))))
    try:
        before = len(server.open().tools())
        assert call(server, "change").ok
        deadline = time.monotonic() + 60
        while len(server.tools()) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [tool.name for tool in server.tools()][-1] == "grown-0"
        assert call(server, "echo").ok
    finally:
        server.close()
    assert reported == [("starting", 0), ("ready", before), ("ready", before + 1), ("stopped", before + 1)]


def test_a_changed_list_that_is_not_sent_leaves_the_old_tools():
    with opened("lost-list") as server:
        before = server.tools()
        assert call(server, "change").ok
        deadline = time.monotonic() + 60
        while not server.list_problem and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "the list is lost" in server.list_problem and server.tools() == before
        assert call(server, "echo").ok


def test_a_server_of_the_newest_protocol_is_supported():
    with opened("modern", "bad-schemas") as server:
        assert server.about.protocol == "2026-07-28"
        assert server.tools()[0].name == "echo" and "remote" in {
            problem.tool for problem in server.tool_problems
        }
        assert call(server, "echo", {"text": "now"}).content[0].text == '{"text": "now"}'
        assert "not supported" in call(server, "more").message


@pytest.mark.slow
def test_many_tools_come_in_pages():
    with opened("tools=5000", "page=100") as server:
        assert [tool.name for tool in server.tools()] == [f"tool-{n}" for n in range(5000)]
        assert server.list_problem == ""


def test_the_log_shows_the_messages_of_the_connection(server):
    call(server, "echo", {"text": "seen"})
    sent, received = server.log.entries[-2:]
    assert (sent.direction, sent.method, received.direction, received.id) == (
        "sent", "tools/call", "received", sent.id,
    )  # fmt: skip
    assert json.loads(sent.text)["params"]["arguments"] == {"text": "seen"}


def test_secrets_of_the_configuration_are_not_logged():
    with opened("secret", env={"TOKEN": "geheimnis"}) as server:
        environment = call(server, "environment")
        assert json.loads(environment.content[0].text)["TOKEN"] == "geheimnis"
        logged = "".join(entry.text for entry in server.log.entries)
        assert "•••" in logged and "•••" in server.stderr
        assert "geheimnis" not in logged + server.stderr + server.identity


def test_a_server_does_not_see_the_variables_of_this_program(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "ours")
    with opened() as server:
        seen = json.loads(call(server, "environment").content[0].text)
    assert "OPENAI_API_KEY" not in seen and seen["PATH"] == os.environ["PATH"]


def test_a_server_can_be_closed_twice_and_does_not_start_again():
    with opened() as server:
        server.close()
        server.close()
        assert server.state == "stopped"
        assert call(server, "echo").fault == "protocol"
        with pytest.raises(ServerError):
            server.open()


@pytest.mark.slow
def test_closing_ends_a_call_under_way():
    with opened() as server:
        threading.Timer(0.2, server.close).start()
        outcome = call(server, "silent", seconds=60)
        assert (outcome.fault, outcome.message) == ("cancelled", "The server was closed.")


def test_a_server_may_be_closed_while_it_starts():
    server = McpServer(scripted("deaf"))
    server.start()
    time.sleep(0.1)
    server.close()
    assert server.state == "stopped"


def test_without_the_sdk_the_error_names_the_package_to_install(monkeypatch):
    monkeypatch.setattr("glyphscope.tools.mcp.server.find_spec", lambda name: None)
    server = McpServer(scripted())
    with pytest.raises(ServerError) as raised:
        server.open()
    server.close()
    assert raised.value.message == "The MCP SDK is not installed." and "glyphscope[mcp]" in raised.value.hint


@pytest.mark.slow
def test_the_sdk_is_not_loaded_before_a_server_is_started():
    code = (
        "import sys, glyphscope.tools.mcp, glyphscope.tools.approval, glyphscope.cli; "
        "sys.exit(str([n for n in ('mcp', 'mcp_types', 'httpx2', 'anyio') if n in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


def test_a_tool_that_must_be_called_as_a_task_is_asked_for_its_state_until_it_ends():
    said = []
    with opened("tasks", "version=2025-11-25") as server:
        assert "task" in [tool.name for tool in server.tools()]
        found = server.call(
            "task", {}, seconds=20, cancel=threading.Event(), progress=lambda *each: said.append(each[2])
        )
        assert found.content[0].text == "long: [20000, 'tasks/get', 'tasks/get', 'tasks/get']"
        assert said[0] == "half"
        assert call(server, "echo", {"text": "x"}).ok, "others are called as before"


@pytest.mark.parametrize(
    ("version", "behaviour", "words"),
    [
        ("version=2025-11-25", "failed", "the task broke"),
        ("version=2025-11-25", "odd", "its task, is not MCP"),
        ("modern", "failed", "the task broke"),
        ("modern", "odd", "its task, is not MCP"),
        ("modern", "cancelled", "half"),
    ],
)
def test_a_task_that_ends_otherwise_or_is_not_one_is_an_error_of_the_call(version, behaviour, words):
    with opened(f"tasks={behaviour}", version) as server:
        found = call(server, "task")
        assert found.fault == "protocol" and words in found.message
        assert call(server, "echo", {"text": "x"}).ok


@pytest.mark.parametrize("version", ["version=2025-11-25", "modern"])
def test_a_task_that_takes_too_long_is_cancelled_at_the_server(version):
    with opened("tasks=endless", version) as server:
        assert call(server, "task", seconds=0.5).fault == "timeout"
        until = time.monotonic() + 10
        while "cancelled t1" not in server.stderr:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_since_2026_a_server_may_run_any_call_as_a_task_whose_state_contains_the_result():
    said = []
    with opened("modern", "tasks") as server:
        found = server.call(
            "task", {}, seconds=20, cancel=threading.Event(), progress=lambda *each: said.append(each[2])
        )
        assert found.content[0].text == "long: ['tools/call', 'tasks/get']" and said == ["half"]
        assert call(server, "echo", {"text": "x"}).ok


def test_without_tasks_such_a_tool_is_named_and_left_out():
    with opened("bad-schemas") as server:
        (problem,) = [each for each in server.tool_problems if each.tool == "task"]
        assert not problem.usable and "does not declare those" in problem.message
