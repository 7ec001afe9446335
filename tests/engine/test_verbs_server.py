"""The real verb server as a process, with lines of JSON-RPC: no client library between."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import jsonschema
import pytest

mcp = pytest.importorskip("mcp")
anyio = pytest.importorskip("anyio")
stdio = pytest.importorskip("mcp.client.stdio")

SERVER = [sys.executable, "-m", "glyphscope", "mcp", "serve-verbs"]
SECONDS = 30
VERSION = "2025-06-18"


class LineClient:
    """A serving process, and its lines in both directions."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._number = 0

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}))
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["id"] == self._number
        return answer

    def start(self) -> dict[str, Any]:
        who = {"name": "test", "version": "1"}
        answer = self.ask("initialize", protocolVersion=VERSION, capabilities={}, clientInfo=who)
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def call(self, tool: str, arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=tool, arguments=arguments)

    def end(self) -> tuple[int, str]:
        """Close stdin; return the exit code, and the rest of stdout and stderr."""
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out + err

    def close(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


@pytest.fixture(scope="module")
def client() -> Iterator[LineClient]:
    client = LineClient()
    try:
        assert client.start()["result"]["serverInfo"]["name"] == "glyphscope-verbs"
        yield client
    finally:
        client.close()


@pytest.fixture
def fresh() -> Iterator[LineClient]:
    client = LineClient()
    try:
        yield client
    finally:
        client.close()


@pytest.mark.slow
def test_every_tool_is_listed_with_an_output_schema(client: LineClient) -> None:
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert set(tools) == {
        "conjugate", "lookup_irregular_verb", "lookup_spanish", "check_subject_verb_agreement",
    }  # fmt: skip
    assert tools["conjugate"]["inputSchema"]["required"] == ["verb", "tense", "person"]
    for tool in tools.values():
        assert tool["annotations"]["readOnlyHint"] is True
        for example in tool["inputSchema"]["examples"]:
            result = client.call(tool["name"], example)["result"]
            assert result["isError"] is False
            jsonschema.validate(result["structuredContent"], tool["outputSchema"])


@pytest.mark.slow
def test_eat_in_the_simple_past_is_ate(client: LineClient) -> None:
    result = client.call("conjugate", {"verb": "eat", "tense": "past_simple", "person": "3sg"})["result"]
    assert result["content"] == [{"type": "text", "text": "ate"}]
    assert result["structuredContent"]["form"] == "ate"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("conjugate", {"verb": "eet", "tense": "past_simple", "person": "3sg"}, "Is meet"),
        ("conjugate", {"verb": "eat"}, "tense is missing"),
        ("conjugate", {}, "verb is missing"),
        ("conjugate", {"verb": 5, "tense": "past_simple", "person": "3sg"}, "must be a text"),
        ("lookup_spanish", {"english_form": "ate", "more": 1}, "more is not an argument"),
        ("lookup_irregular_verb", {"verb": [[[]]] * 1000}, "must be a text"),
        ("lookup_irregular_verb", {"verb": "a" * 1_000_000}, "too long"),
    ],
)
def test_a_tools_error_is_a_result_with_an_explanation(
    client: LineClient, tool: str, arguments: Any, words: str
) -> None:
    result = client.call(tool, arguments)["result"]
    assert result["isError"] is True
    assert words in result["content"][0]["text"]
    assert len(result["content"][0]["text"]) < 400


def test_a_protocol_error_is_not_a_tools_error(client: LineClient) -> None:
    assert client.call("no_such_tool", {})["error"]["code"] == -32602
    assert client.call("conjugate", [1])["error"]["code"] == -32602
    assert client.ask("no/such/method")["error"]["code"] == -32601


def test_invalid_lines_do_not_end_the_server(client: LineClient) -> None:
    for line in ("", "garbage", "[" * 100_000, '{"jsonrpc":"1.0"}', "\x00", '"\\ud800"'):
        client.send(line)
    assert client.ask("ping")["result"] == {}


@pytest.mark.slow
def test_the_server_ends_with_its_input(fresh: LineClient) -> None:
    fresh.start()
    assert fresh.end() == (0, "")


@pytest.mark.slow
def test_the_server_ends_with_a_client_that_never_spoke(fresh: LineClient) -> None:
    assert fresh.end() == (0, "")


@pytest.mark.slow
def test_the_official_client_lists_and_calls_the_tools() -> None:
    """It speaks another version of the protocol than the lines above, without a handshake."""

    async def ask() -> tuple[list[str], Any]:
        parameters = stdio.StdioServerParameters(command=SERVER[0], args=SERVER[1:])
        async with mcp.Client(stdio.stdio_client(parameters)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, await client.call_tool("lookup_spanish", {"english_form": "ate"})

    names, result = anyio.run(ask)
    assert len(names) == 4
    assert (result.is_error, result.content[0].text) == (False, "comí (yo), comió (él, ella)")


@pytest.mark.slow
def test_an_interrupt_ends_the_server(fresh: LineClient) -> None:
    fresh.start()
    fresh.process.send_signal(signal.SIGINT)
    assert fresh.process.wait(SECONDS) == -signal.SIGINT
    assert fresh.process.stderr is not None and fresh.process.stderr.read() == ""


@pytest.mark.slow
def test_a_client_that_stopped_reading_ends_the_server_quietly(fresh: LineClient) -> None:
    fresh.start()
    assert fresh.process.stdout is not None
    fresh.process.stdout.close()
    fresh.send('{"jsonrpc":"2.0","id":9,"method":"ping"}')
    assert fresh.process.stdin is not None and fresh.process.stderr is not None
    fresh.process.stdin.close()
    assert fresh.process.stderr.read() == ""
    assert fresh.process.wait(SECONDS) == 0
