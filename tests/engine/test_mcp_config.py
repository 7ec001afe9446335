import json

import pytest

from glyphscope.base.errors import ServerError
from glyphscope.tools.mcp import BoundedLines, ServerConfig, command_server, read_servers

TIME = {"command": "uvx", "args": ["mcp-server-time", "--local-timezone=Europe/Berlin"]}


def read(document):
    return read_servers(json.dumps(document))


@pytest.mark.parametrize(
    "document",
    [
        {"mcpServers": {"time": TIME}},
        {"servers": {"time": {"type": "stdio", **TIME}}, "inputs": []},
        {"mcp": {"servers": {"time": TIME}}},
        {"name": "time", **TIME},
    ],
)
def test_a_server_is_read_in_every_form(document):
    file = read(document)
    assert file.problems == ()
    assert file.servers == (ServerConfig(name="time", command="uvx", args=tuple(TIME["args"])),)
    assert file.servers[0].identity == "uvx mcp-server-time --local-timezone=Europe/Berlin"


@pytest.mark.parametrize(
    "kind", [{}, {"type": "http"}, {"type": "streamable-http"}, {"type": "streamableHttp"}]
)
def test_an_address_is_read_with_its_headers(kind):
    entry = {"url": "https://example.test/mcp", "headers": {"Authorization": "Bearer abcdefgh"}, **kind}
    (server,) = read({"mcpServers": {"remote": entry}}).servers
    assert (server.transport, server.identity) == ("http", "https://example.test/mcp")
    assert server.secrets == ("Bearer abcdefgh", "abcdefgh")


def test_the_identity_is_the_exact_command_line_without_secrets():
    entry = {"command": "my tool", "args": ["a b", "$HOME", "'"], "env": {"TOKEN": "geheimnis"}}
    (server,) = read({"mcpServers": {"a": entry}}).servers
    assert server.identity == """'my tool' 'a b' '$HOME' ''"'"''"""
    assert "geheimnis" not in server.identity and server.secrets == ("geheimnis",)


def test_consent_covers_everything_that_decides_what_runs():
    base = ServerConfig(name="a", command="x", args=("y",), env={"A": "1"})
    others = [
        ServerConfig(name="a", command="x", args=("y", ""), env={"A": "1"}),
        ServerConfig(name="a", command="x y", env={"A": "1"}),
        ServerConfig(name="a", command="x", args=("y",), env={"A": "2"}),
        ServerConfig(name="a", command="x", args=("y",), env={"A": "1"}, cwd="/"),
        ServerConfig(name="a", url="x"),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 6
    assert base.digest == ServerConfig(name="b", command="x", args=("y",), env={"A": "1"}).digest


def test_variables_are_expanded_only_in_environments_and_headers(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "geheimnis")
    monkeypatch.delenv("NOT_SET", raising=False)
    entry = {
        "command": "x",
        "env": {"A": "${env:MY_TOKEN}", "B": "-${MY_TOKEN}-", "C": "${NOT_SET:-default}"},
    }
    assert read({"mcpServers": {"a": entry}}).servers[0].env == {
        "A": "geheimnis",
        "B": "-geheimnis-",
        "C": "default",
    }
    bad = {"command": "x", "args": ["${workspaceFolder}"], "env": {"A": "${NOT_SET}", "B": "${input:key}"}}
    assert [p.pointer for p in read({"mcpServers": {"a": bad}}).problems] == [
        "/mcpServers/a/args/0",
        "/mcpServers/a/env/A",
        "/mcpServers/a/env/B",
    ]


@pytest.mark.parametrize(
    ("entry", "pointer", "words"),
    [
        (3, "", "object"),
        ({}, "", '"command" or "url"'),
        ({"command": "x", "url": "https://x.test"}, "", "not both"),
        ({"type": "sse", "url": "https://x.test"}, "/type", "SSE"),
        ({"type": "carrier pigeon", "command": "x"}, "/type", "stdio"),
        ({"type": "stdio", "url": "https://x.test"}, "/type", "command"),
        ({"command": ""}, "/command", "not empty"),
        ({"command": 3}, "/command", "text"),
        ({"command": "a\0b"}, "/command", "NUL"),
        ({"command": "x", "args": "y"}, "/args", "list"),
        ({"command": "x", "args": ["y", 8080]}, "/args/1", "double quotes"),
        ({"command": "x", "env": ["A=1"]}, "/env", "object"),
        ({"command": "x", "env": {"A": {"b": 1}}}, "/env/A", "text"),
        ({"command": "x", "env": {"A=B": "1"}}, "/env/A=B", "name"),
        ({"command": "x", "cwd": 3}, "/cwd", "text"),
        ({"command": "x", "disabled": "no"}, "/disabled", "true or false"),
        ({"command": "x", "envFile": ".env"}, "/envFile", "env"),
        ({"url": "ftp://x.test"}, "/url", "http"),
        ({"url": "https://x.test/a b"}, "/url", "http"),
        ({"url": "https://[::1"}, "/url", "http"),
        ({"url": "https://x.test", "headers": {"A\nB": "1"}}, "/headers/A\nB", "header"),
        ({"url": "https://x.test", "headers": {"A": "1\r\nB: 2"}}, "/headers/A", "control"),
    ],
)
def test_an_error_affects_only_its_server_and_has_its_place(entry, pointer, words):
    file = read({"mcpServers": {"good": TIME, "bad": entry}})
    assert [server.name for server in file.servers] == ["good"]
    (problem,) = file.problems
    assert problem.pointer == "/mcpServers/bad" + pointer
    assert words in problem.message


@pytest.mark.parametrize("name", ["", "a/b", "*", "a\nb"])
def test_a_name_that_no_rule_could_match_is_rejected(name):
    assert read({"mcpServers": {name: TIME}}).servers == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        '{"tools": []}',
        '{"mcpServers": []}',
        '{"mcpServers": {"a": 1,}}',
        "\x00",
        "[" * 100_000,
    ],
)
def test_a_document_that_is_not_a_configuration_is_rejected(text):
    with pytest.raises(ServerError) as raised:
        read_servers(text)
    assert raised.value.message


def test_files_that_cannot_be_read_are_reported(tmp_path):
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (5 << 20))
    bytes_ = tmp_path / "bytes.json"
    bytes_.write_bytes(b"\xff\xfe{")
    for path in (tmp_path / "none.json", tmp_path, large, bytes_):
        with pytest.raises(ServerError) as raised:
            read_servers(path)
        assert str(path) in str(raised.value)


def test_a_bare_server_with_an_invalid_address_is_a_problem_of_its_own():
    (problem,) = read_servers('{"url": "https://[x"}').problems
    assert (problem.pointer, "http" in problem.message) == ("/url", True)


def test_disabled_servers_are_marked():
    file = read({"mcpServers": {"a": {**TIME, "disabled": True}, "b": {**TIME, "enabled": False}, "c": TIME}})
    assert [server.disabled for server in file.servers] == [True, True, False]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["mcp-server-git", "-r", "."], "mcp-server-git"),
        (["/usr/bin/python3", "/a/my_server.py"], "my_server"),
        (["npx", "-y", "@modelcontextprotocol/server-everything"], "server-everything"),
        (["https://example.test:8000/mcp"], "example.test"),
    ],
)
def test_a_command_line_is_named_after_its_program(words, name):
    server = command_server(words)
    assert server.name == name
    assert server.url == words[0] if "://" in words[0] else server.command == words[0]


@pytest.mark.parametrize("words", [[], [""], ["https://x.test", "more"], ["https://"], ["https://[x"]])
def test_a_command_line_without_a_program_is_rejected(words):
    with pytest.raises(ServerError):
        command_server(words)


# lines


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_in_chunks_of_any_size(chunk):
    data = b"first\n\n  \nsecond one\nabcdefghijklmnopqrstuvwxyz\r\nlast\n"
    lines, found = BoundedLines(limit=12), []
    for start in range(0, len(data), chunk):
        found += lines.feed(data[start : start + chunk])
    assert [(line.data, line.size, line.whole) for line in found] == [
        (b"first", 5, True),
        (b"second one", 10, True),
        (b"abcdefghijklmnopqrstuvwxyz\r", 27, False),
        (b"last", 4, True),
    ]


def test_only_the_two_ends_of_an_overlong_line_are_stored():
    lines = BoundedLines(limit=100_000)
    for _ in range(50):
        assert lines.feed(b"x" * 10_000) == []
    (line,) = lines.feed(b"the end\nnext")
    assert (line.size, len(line.data) < 5000, line.tail[-7:]) == (500_007, True, b"the end")
    assert [line.data for line in lines.feed(b"\n")] == [b"next"]
