import json
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from glyphscope.base.errors import ServerError
from glyphscope.tools.mcp import McpServer, ServerConfig
from mcp_servers import call
from scripted_http import TOOLS, http_server


@contextmanager
def connected(**more):
    with http_server() as (url, methods):
        server = McpServer(ServerConfig(name="web", url=url, **more))
        try:
            yield server.open(), methods
        finally:
            server.close()


def failure(url, seconds=10.0):
    server = McpServer(ServerConfig(name="web", url=url), start_seconds=seconds)
    try:
        with pytest.raises(ServerError) as raised:
            server.open()
        return raised.value
    finally:
        server.close()


def test_a_server_at_an_address_is_listed_called_and_closed():
    with connected() as (server, methods):
        assert [tool.name for tool in server.tools()] == TOOLS
        assert call(server, "echo", {"a": 1}).content[0].text == '{"a": 1}'
        server.close()
        assert (
            methods[:3] == ["initialize", "notifications/initialized", "tools/list"]
            and methods[-1] == "DELETE"
        )


def test_headers_are_sent_and_not_logged():
    with connected(headers={"Authorization": "Bearer geheimnis"}) as (server, _):
        seen = json.loads(call(server, "headers").content[0].text)
        assert (seen["authorization"], seen["accept-encoding"]) == ("Bearer geheimnis", "identity")
        assert seen["mcp-protocol-version"] == "2025-06-18" and seen["mcp-session-id"] == "s1"
        logged = "".join(entry.text for entry in server.log.entries)
        assert "•••" in logged and "geheimnis" not in logged


def test_an_answer_may_be_a_stream_of_events_with_progress():
    with connected() as (server, _):
        seen = []
        outcome = server.call(
            "events", {}, seconds=10, cancel=threading.Event(), progress=lambda *step: seen.append(step)
        )
        assert (outcome.content[0].text, seen) == ("streamed", [(1.0, None, "half")])


@pytest.mark.slow
def test_a_flood_of_events_is_dropped():
    with connected() as (server, methods):
        assert call(server, "flood").ok
        assert server.log.dropped > 1000 and methods.count("tools/list") < 5
        assert call(server, "echo").ok


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("large", "more than 32 MB"),
        ("packed", "compresses"),
        ("page", "text/html"),
        ("nothing", "202 Accepted"),
    ],
)
def test_an_invalid_answer_fails_only_its_call(tool, words):
    with connected() as (server, _):
        outcome = call(server, tool)
        assert outcome.fault == "protocol" and words in outcome.message
        assert call(server, "echo").ok


@pytest.mark.slow
def test_a_call_that_hangs_times_out_and_can_be_stopped():
    with connected() as (server, _):
        assert call(server, "hang", seconds=0.3).fault == "timeout"
        cancel = threading.Event()
        threading.Timer(0.1, cancel.set).start()
        start = time.monotonic()
        assert server.call("hang", {}, seconds=30, cancel=cancel).fault == "cancelled"
        assert time.monotonic() - start < 20
        start = time.monotonic()
        server.close()
        assert time.monotonic() - start < 10


@pytest.mark.parametrize("tool", ["vanish", "gone"])
def test_a_server_that_disappears_is_reported(tool):
    with connected() as (server, _):
        assert call(server, tool).fault == "protocol"
        deadline = time.monotonic() + 60
        while server.state != "ended" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.state == "ended" and server.problem.message
        assert call(server, "echo").fault == "protocol"


def test_an_address_without_a_server_is_reported():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    error = failure(f"http://127.0.0.1:{port}/mcp")
    assert "cannot be reached" in error.message and "address" in error.hint


@pytest.mark.parametrize(
    ("status", "words"), [(401, "Authorization"), (403, "Authorization"), (404, ""), (500, "")]
)
def test_a_rejection_by_the_server_is_reported_with_its_status(status, words):
    with http_server(refuse=status) as (url, _):
        error = failure(url)
    assert f"HTTP {status}" in error.message and words in error.hint


@pytest.mark.slow
def test_an_address_that_does_not_answer_fails_after_the_time_limit():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        assert (
            "within 500 ms" in failure(f"http://127.0.0.1:{deaf.getsockname()[1]}/mcp", seconds=0.5).message
        )
