"""Hostile input: the readers of servers' messages and of files raise only the documented errors."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from examples import at_most
from glyphscope.base.errors import ServerError
from glyphscope.tools import Outcome
from glyphscope.tools.mcp import BoundedLines, Line, read_result, read_servers
from glyphscope.tools.mcp.guard import LOCAL_ERROR, Guard
from glyphscope.tools.mcp.listing import ListReader
from glyphscope.tools.mcp.log import ProtocolLog

KEYS = st.sampled_from([
    "jsonrpc", "id", "method", "params", "result", "error", "code", "message", "content", "type", "text", "data",
    "name", "inputSchema", "outputSchema", "annotations", "description", "properties", "isError", "uri", "resource",
    "structuredContent", "mimeType", "blob", "size", "execution", "taskSupport", "$ref", "enum", "pattern",
    "mcpServers", "servers", "mcp", "command", "args", "env", "url", "headers", "cwd", "disabled",
])  # fmt: skip
WORDS = st.sampled_from([
    "2.0", "ping", "tools/list", "notifications/progress", "text", "image", "audio", "resource", "resource_link",
    "object", "string", "stdio", "http", "https://x.test", "${X}", "#/a", "(a+)+$", "AAE=", "required", "\ud800", "",
])  # fmt: skip
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.text(max_size=4))
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS | st.text(max_size=3), VALUES, max_size=6)
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | VALUES},
    optional={
        "id": st.sampled_from([1, 2, 3, "1", "x", None, 1.0, True, [1]]),
        "method": st.sampled_from(["ping", "notifications/progress", "notifications/message", 3, ""]),
        "params": VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)


def texts(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    data = texts(draw(MESSAGES | OBJECTS | VALUES))
    kind = draw(st.sampled_from(["whole", "cut", "mixed", "noise"]))
    if kind == "cut":
        data = data[: draw(st.integers(0, len(data)))]
    elif kind == "mixed":
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=3)) + data[at:]
    elif kind == "noise":
        data = draw(st.binary(max_size=40))
    return data.replace(b"\n", b" ")


@pytest.mark.slow
@at_most(300)
@given(st.lists(lines(), max_size=4), st.booleans())
def test_only_expected_messages_are_answered_and_only_once(found: list[bytes], long: bool) -> None:
    guard = Guard(ProtocolLog())
    for number in (1, 2):
        guard.sent(JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call"))
    answered = []
    for data in found:
        line = Line(data, 10**8, whole=False, tail=data[-20:]) if long else Line(data, len(data))
        for passed in guard.take(line):
            if isinstance(passed.message, JSONRPCResponse | JSONRPCError):
                answered.append(str(passed.message.id))
                if long:
                    assert (
                        isinstance(passed.message, JSONRPCError) and passed.message.error.code == LOCAL_ERROR
                    )
    assert sorted(answered) == sorted(set(answered)) and set(answered) <= {"1", "2"}


@at_most(300)
@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(1, 40))
def test_lines_in_any_chunks_have_the_written_content(chunks: list[bytes], limit: int) -> None:
    reader, found = BoundedLines(limit), []
    for chunk in chunks:
        found += reader.feed(chunk)
    expected = [part for part in b"".join(chunks).split(b"\n")[:-1] if part.strip() or len(part) > limit]
    assert [line.size for line in found] == [len(part) for part in expected]
    for line, part in zip(found, expected, strict=True):
        assert line.whole == (len(part) <= limit)
        assert line.data == part if line.whole else part.startswith(line.data) and part.endswith(line.tail)


@pytest.mark.slow
@at_most(300)
@given(
    OBJECTS | st.fixed_dictionaries({"content": st.lists(OBJECTS | VALUES)}, optional={"isError": SCALARS})
)
def test_any_result_is_an_outcome(result: dict[str, object]) -> None:
    outcome = read_result(result, None)
    assert isinstance(outcome, Outcome) and outcome.fault in ("", "tool", "protocol")


@pytest.mark.slow
@at_most(300)
@given(
    st.lists(OBJECTS | VALUES | st.fixed_dictionaries({"name": WORDS, "inputSchema": OBJECTS}), max_size=8)
)
def test_any_list_of_tools_is_read_and_each_entry_is_a_tool_or_a_problem(entries: list[object]) -> None:
    reader = ListReader()
    for entry in entries:
        reader.take(entry)
    listing = reader.listing()
    left_out = [problem for problem in listing.problems if not problem.usable]
    assert len(listing.tools) + len(left_out) == len(entries)


CONFIGURATIONS = st.fixed_dictionaries(
    {"mcpServers": st.dictionaries(st.text(max_size=4), OBJECTS | VALUES, max_size=3)}
)


@pytest.mark.slow
@at_most(600)
@given((OBJECTS | VALUES | CONFIGURATIONS).map(texts) | st.binary(max_size=200))
def test_any_bytes_are_a_configuration_or_a_server_error(data: bytes) -> None:
    try:
        file = read_servers(data)
    except ServerError as error:
        assert error.message
        return
    assert isinstance(json.loads(data), dict)
    assert all(server.identity and server.digest and server.name for server in file.servers)
