"""Agents with the SDKs of OpenAI, Anthropic and Ollama behind a capture: all bytes of both directions, and breakpoints.

A tap on either side of the capture keeps the bytes. The SDKs are in the dependency group `agents`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count, pairwise
from typing import Any, NamedTuple

import pytest

pytest.importorskip("httpx2")
pytest.importorskip("uvicorn")

from capturing import TOOLS, Capturing, RawServer, Tap, capturing, chunked, whole
from glyphscope.capture.breakpoints import Decision, read_rules
from glyphscope.prompting.costs import prompt_costs
from glyphscope.runs import run_state
from glyphscope.store.records import read_record
from glyphscope_gui.shared.run_words import model_name
from on_screen import Screen

pytestmark = pytest.mark.slow

KEY = "sk-0123456789abcdef0123456789"
FUNCTION: dict[str, Any] = TOOLS[0]["function"]
CALL = '{"query": "é✓", "max_results": 5}'
OF_CONNECTIONS = (b"host", b"connection", b"accept-encoding", b"keep-alive", b"transfer-encoding")
"""Headers of which each connection has its own, and that which asks for an answer that is not compressed."""


class Between(NamedTuple):
    """A capture between an agent, which uses `port`, and a server, with a tap on either side."""

    capture: Capturing
    port: int
    near: Tap
    far: Tap

    def agree(self, requests: int) -> list[dict[str, Any]]:
        """Compare all bytes of both sides. Returns the bodies of the requests."""
        for one, other in ((self.near.asked, self.far.asked), (self.near.answered, self.far.answered)):
            assert len(one) == requests
            assert [body for _, body in one] == [body for _, body in other]
            assert [headers(head) for head, _ in one] == [headers(head) for head, _ in other]
        return [json.loads(body or b"{}") for _, body in self.near.asked]

    def ended(self, requests: int) -> list[str]:
        """How each request ended, once all are recorded, without a key in any file."""
        outcomes = [self.capture.record(number).outcome for number in range(1, requests + 1)]
        assert all(KEY.encode() not in file.read_bytes() for file in self.capture.folder.iterdir())
        return outcomes


def headers(head: bytes) -> list[bytes]:
    """The first line and the headers, without those of a connection, sorted."""
    first, *lines = head.split(b"\r\n")
    kept = (line for line in lines if not line.lower().startswith(OF_CONNECTIONS))
    return [first, *sorted(line.partition(b":")[0].lower() + b":" + line.partition(b":")[2] for line in kept)]


@contextmanager
def between(folder, to: int, **more) -> Iterator[Between]:
    with ExitStack() as opened:
        far = opened.enter_context(closing(Tap(to)))
        capture, _ = opened.enter_context(capturing(folder, to=far.port, **more))
        near = opened.enter_context(closing(Tap(capture.port)))
        capture.server._proxy.listens_at(near.port)
        yield Between(capture, near.port, near, far)


@contextmanager
def scripted(folder, answer, **more) -> Iterator[Between]:
    """In front of a server that gives these answers."""
    with closing(RawServer(answer)) as server, between(folder, server.port, **more) as made:
        yield made


@contextmanager
def openai_at(port: int, **more):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY, **more) as client:
        yield client


@contextmanager
def anthropic_at(port: int, **more):
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=f"http://127.0.0.1:{port}", api_key=KEY, **more) as client:
        yield client


def in_pieces(*events: bytes) -> list[bytes]:
    """Chunks of HTTP that end within characters."""
    data = b"".join(events)
    return chunked(*(data[at : at + 7] for at in range(0, len(data), 7)))


# OpenAI's SDK in front of the real server


def joined_calls(pieces) -> list[dict[str, Any]]:
    """The calls of a streamed answer as a message has them."""
    calls: dict[int, dict[str, Any]] = {}
    for piece in pieces:
        for each in (piece.choices[0].delta.tool_calls or ()) if piece.choices else ():
            empty = {"id": each.id, "type": "function", "function": {"name": "", "arguments": ""}}
            function = calls.setdefault(each.index, empty)["function"]
            function["name"] = function["name"] or each.function.name or ""
            function["arguments"] += each.function.arguments or ""
    return list(calls.values())


@pytest.mark.model
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_openai_s_loop_of_tools_with_the_embedded_model_is_the_same_bytes_on_both_sides(
    tmp_path, url, stream
):
    to = int(url.removesuffix("/v1").rpartition(":")[2])
    forced = {"type": "function", "function": {"name": "search"}}
    messages: list[Any] = [{"role": "user", "content": "Search for “Löwe ✓”"}]
    usual: dict[str, Any] = {"model": "smol", "temperature": 0, "max_tokens": 48, "stream": stream}
    with between(tmp_path, to) as made, openai_at(made.port, max_retries=0) as client:
        assert [each.id for each in client.models.list()] == ["smol"]
        given = client.chat.completions.create(messages=messages, tools=TOOLS, tool_choice=forced, **usual)
        calls = (
            joined_calls(given)
            if stream
            else [each.model_dump() for each in given.choices[0].message.tool_calls]
        )
        assert json.loads(calls[0]["function"]["arguments"])["query"]
        messages += [
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "tool_call_id": calls[0]["id"], "content": "2 Treffer: é"},
        ]
        given = client.chat.completions.create(messages=messages, **usual)
        text = (
            "".join(each.choices[0].delta.content or "" for each in given if each.choices)
            if stream
            else given.choices[0].message.content
        )
        outcomes = made.ended(2)
        bodies = made.agree(3)
    assert text and [len(each["messages"]) for each in bodies if each] == [1, 3]
    assert outcomes[0] == "valid" and not outcomes[1].startswith("failed")
    first = run_state(read_record(tmp_path / "000001.jsonl").events)
    assert first.begun.request.prompt == "Search for “Löwe ✓”"
    assert json.loads(calls[0]["function"]["arguments"]) == first.stages[-1].written[0].ready.arguments


# All interfaces, from scripted servers


def named_events(*documents: dict[str, Any]) -> list[bytes]:
    """Events of a stream, each with its type as its name."""
    return [
        b"event: %s\ndata: %s\n\n" % (each["type"].encode(), json.dumps(each, ensure_ascii=False).encode())
        for each in documents
    ]


def message(*content: dict[str, Any], reason: str = "end_turn") -> dict[str, Any]:
    """A message of Anthropic's."""
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(content),
        "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 4},
    }  # fmt: skip


def as_message(asked: bytes) -> list[bytes]:
    """A call, or after its result a text; streamed if it is requested."""
    request = json.loads(asked.partition(b"\r\n\r\n")[2])
    text, arguments = "Schön: é✓", "" if len(request["messages"]) > 1 else CALL
    name = {"type": "tool_use", "id": "toolu_1", "name": "search"}
    block, empty, (kind, member, value) = (
        (
            name | {"input": json.loads(arguments)},
            name | {"input": {}},
            ("input_json_delta", "partial_json", arguments),
        )
        if arguments
        else ({"type": "text", "text": text}, {"type": "text", "text": ""}, ("text_delta", "text", text))
    )
    reason = "tool_use" if arguments else "end_turn"
    if not request.get("stream"):
        return whole(message(block, reason=reason))
    deltas = [{"type": kind, member: part} for part in (value[:12], value[12:])]
    return in_pieces(
        *named_events(
            {"type": "message_start", "message": message()},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "ping"},
            *({"type": "content_block_delta", "index": 0, "delta": each} for each in deltas),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": {"output_tokens": 4},
            },
            {"type": "message_stop"},
        )
    )


ANTHROPIC_TOOLS: list[Any] = [{"name": "search", "input_schema": FUNCTION["parameters"]}]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_anthropic_s_loop_of_tools_is_the_same_bytes_on_both_sides(tmp_path, stream):
    messages: list[Any] = [{"role": "user", "content": "Finde é"}]
    with scripted(tmp_path, as_message) as made, anthropic_at(made.port, max_retries=0) as client:
        (call,) = anthropic_s_answer(client, messages, stream, tools=ANTHROPIC_TOOLS)
        messages += anthropic_s_turn(call.input, "2 Treffer", call.id)
        (text,) = anthropic_s_answer(client, messages, stream, tools=ANTHROPIC_TOOLS)
        outcomes = made.ended(2)
        bodies = made.agree(2)
    assert [len(each["messages"]) for each in bodies] == [1, 3]
    assert outcomes[0] == "valid" and not outcomes[1].startswith("failed")
    assert call.input == json.loads(CALL) and text.text == "Schön: é✓"


def anthropic_s_answer(client, messages: list[Any], stream: bool, **more) -> list[Any]:
    usual: dict[str, Any] = {"model": "m", "max_tokens": 48, **more}
    if not stream:
        return client.messages.create(messages=messages, **usual).content
    with client.messages.stream(messages=messages, **usual) as events:
        return events.get_final_message().content


def anthropic_s_turn(arguments: dict[str, Any], result: str, key: str, *then: dict[str, Any]) -> list[Any]:
    """A call and its result, and what the user writes then."""
    called = {"type": "tool_use", "id": key, "name": "search", "input": arguments}
    returned = {"type": "tool_result", "tool_use_id": key, "content": result}
    return [{"role": "assistant", "content": [called]}, {"role": "user", "content": [returned, *then]}]


def as_response(asked: bytes) -> list[bytes]:
    """A call in the form of Responses."""
    call = {
        "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "search", "arguments": CALL,
        "status": "completed",
    }  # fmt: skip
    done = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "error": None,
        "output": [call], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13},
    }  # fmt: skip
    if not json.loads(asked.partition(b"\r\n\r\n")[2]).get("stream"):
        return whole(done)
    numbers = count()
    at = {"item_id": "fc_1", "output_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": done | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": call | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "delta": CALL[:12], **at},
        {"type": "response.function_call_arguments.delta", "delta": CALL[12:], **at},
        {"type": "response.function_call_arguments.done", "arguments": CALL, "name": "search", **at},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": done},
    ]
    return in_pieces(*named_events(*({**each, "sequence_number": next(numbers)} for each in events)))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_openai_s_responses_are_the_same_bytes_on_both_sides(tmp_path, stream):
    tools: list[Any] = [{"type": "function", "strict": False, **FUNCTION}]
    with scripted(tmp_path, as_response) as made, openai_at(made.port, max_retries=0) as client:
        given = client.responses.create(model="m", input="Finde é", tools=tools, stream=stream)
        answer = [*given][-1].response if stream else given
        outcomes = made.ended(1)
        made.agree(1)
    assert answer.output[0].arguments == CALL and outcomes == ["valid"]


def as_ollama(asked: bytes) -> list[bytes]:
    """A call in the form of Ollama's chat."""
    call = {"function": {"name": "search", "arguments": json.loads(CALL)}}
    usual = {"model": "m", "created_at": "2026-11-30T12:00:00Z"}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4}
    if not json.loads(asked.partition(b"\r\n\r\n")[2]).get("stream"):
        return whole(usual | {"message": said} | end)
    lines = [
        usual | {"message": {"role": "assistant", "content": "é"}, "done": False},
        usual | {"message": said, "done": False},
        usual | {"message": {"role": "assistant", "content": ""}} | end,
    ]
    data = b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in lines)
    return chunked(*(data[at : at + 7] for at in range(0, len(data), 7)), kind="application/x-ndjson")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_ollama_s_chat_is_the_same_bytes_on_both_sides(tmp_path, stream):
    ollama = pytest.importorskip("ollama")
    with scripted(tmp_path, as_ollama) as made:
        client = ollama.Client(f"http://127.0.0.1:{made.port}")
        messages = [{"role": "user", "content": "Finde é"}]
        given = client.chat("m", messages=messages, tools=TOOLS, stream=stream)
        answers = list(given) if stream else [given]
        outcomes = made.ended(1)
        made.agree(1)
        client._client.close()
    (call,) = (each for answer in answers for each in answer.message.tool_calls or ())
    assert call.function.arguments == json.loads(CALL) and outcomes == ["valid"]


# All interfaces of llama.cpp's own server, which streams what the embedded model writes


SOUGHT = ("AI news", "cheap flights", "red shoes", "Löwe ✓")
"""The agent is asked to search for each of these. The small model continues the first three turns, which are given."""


class Turn(NamedTuple):
    """A call, as the agent reads it, or a text."""

    arguments: dict[str, Any] | None = None
    text: str = ""


def chat_loop(port: int, stream: bool) -> Iterator[Turn]:
    messages: list[Any] = []

    def searched(at: int, arguments: str, then: str) -> None:
        function = {"name": "search", "arguments": arguments}
        called = [{"id": f"c{at}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": called})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": "nothing"})
        messages.append({"role": "user", "content": then})

    messages.append({"role": "user", "content": f"Search for {SOUGHT[0]}"})
    for at, (query, following) in enumerate(pairwise(SOUGHT)):
        searched(at, json.dumps({"query": query}), f"Search for {following}")
    with openai_at(port, max_retries=0) as client:
        for tools in ({"tools": TOOLS, "tool_choice": "required"}, {}):
            given = client.chat.completions.create(
                model="m", messages=messages, temperature=0, max_tokens=48, stream=stream, **tools
            )
            if stream:
                pieces = [*given]
                calls = joined_calls(pieces)
                text = "".join(each.choices[0].delta.content or "" for each in pieces if each.choices)
            else:
                said = given.choices[0].message
                calls = [each.model_dump() for each in said.tool_calls or ()]
                text = said.content or ""
            if calls:
                written = calls[0]["function"]["arguments"]
                searched(9, written, "Thank you.")
                yield Turn(json.loads(written))
            else:
                yield Turn(text=text)


def responses_loop(port: int, stream: bool) -> Iterator[Turn]:
    items: list[Any] = []

    def searched(key: str, arguments: str, then: str) -> None:
        items.append({"type": "function_call", "call_id": key, "name": "search", "arguments": arguments})
        items.append({"type": "function_call_output", "call_id": key, "output": "nothing"})
        items.append({"role": "user", "content": then})

    items.append({"role": "user", "content": f"Search for {SOUGHT[0]}"})
    for at, (query, following) in enumerate(pairwise(SOUGHT)):
        searched(f"c{at}", json.dumps({"query": query}), f"Search for {following}")
    forced = {"tools": [{"type": "function", "strict": False, **FUNCTION}], "tool_choice": "required"}
    with openai_at(port, max_retries=0) as client:
        for tools in (forced, {}):
            given = client.responses.create(
                model="m", input=items, temperature=0, max_output_tokens=48, stream=stream, **tools
            )
            (said,) = ([*given][-1].response if stream else given).output
            if said.type == "function_call":
                searched(said.call_id, said.arguments, "Thank you.")
                yield Turn(json.loads(said.arguments))
            else:
                yield Turn(text=said.content[0].text)


def messages_loop(port: int, stream: bool) -> Iterator[Turn]:
    messages: list[Any] = [{"role": "user", "content": f"Search for {SOUGHT[0]}"}]
    for at, (query, following) in enumerate(pairwise(SOUGHT)):
        then = {"type": "text", "text": f"Search for {following}"}
        messages += anthropic_s_turn({"query": query}, "nothing", f"toolu_{at}", then)
    with anthropic_at(port, max_retries=0) as client:
        forced = {"tools": ANTHROPIC_TOOLS, "tool_choice": {"type": "tool", "name": "search"}}
        for tools in (forced, {}):
            (said,) = anthropic_s_answer(client, messages, stream, extra_body={"temperature": 0}, **tools)
            if said.type == "tool_use":
                thanks = {"type": "text", "text": "Thank you."}
                messages += anthropic_s_turn(said.input, "nothing", said.id, thanks)
                yield Turn(said.input)
            else:
                yield Turn(text=said.text)


@pytest.mark.model
@pytest.mark.parametrize("loop", [chat_loop, responses_loop, messages_loop])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_loop_of_tools_in_front_of_llama_server_is_the_same_bytes_on_both_sides(
    tmp_path, llama_server, loop, stream
):
    with between(tmp_path, llama_server) as made:
        call, text = loop(made.port, stream)
        outcomes = made.ended(2)
        made.agree(2)
    assert call.arguments == {"query": SOUGHT[-1]} and text.text
    assert outcomes[0] == "valid" and not outcomes[1].startswith("failed")
    first, second = (run_state(read_record(tmp_path / f"00000{number}.jsonl").events) for number in (1, 2))
    assert first.stages[-1].written[0].ready.arguments == call.arguments
    assert second.stages[-1].text == text.text


# Breakpoints


def asks_openai(port: int, **more) -> Any:
    with openai_at(port, **more) as client:
        tools: list[Any] = [{"type": "function", "strict": False, **FUNCTION}]
        return client.responses.create(model="m", input="Finde é", tools=tools).output[0].arguments


def asks_anthropic(port: int, **more) -> Any:
    with anthropic_at(port, **more) as client:
        asked = client.messages.create(
            model="m", max_tokens=64, tools=ANTHROPIC_TOOLS, messages=[{"role": "user", "content": "Finde é"}]
        )
        return json.dumps(asked.content[0].input, ensure_ascii=False)


def asks_ollama(port: int) -> Any:
    ollama = pytest.importorskip("ollama")
    client = ollama.Client(f"http://127.0.0.1:{port}")
    try:
        asked = client.chat("m", messages=[{"role": "user", "content": "Finde é"}], tools=TOOLS)
        return json.dumps(asked.message.tool_calls[0].function.arguments)
    finally:
        client._client.close()


SDKS = {
    "openai": (asks_openai, as_response, "APIStatusError"),
    "anthropic": (asks_anthropic, as_message, "APIStatusError"),
    "ollama": (asks_ollama, as_ollama, "ResponseError"),
}


@pytest.mark.parametrize("sdk", SDKS)
def test_an_sdk_waits_at_a_breakpoint_and_gets_what_was_edited(tmp_path, sdk):
    ask, answer, _ = SDKS[sdk]
    rules = read_rules(["all", "tool:search"])
    pytest.importorskip(sdk)
    with ThreadPoolExecutor(1) as agents, scripted(tmp_path, answer, hold=rules) as made:
        got = agents.submit(ask, made.port)
        for side in ("request", "answer"):
            paused = made.capture.paused.get(timeout=60)
            assert paused.side == side
            edited = paused.text.replace("Finde é", "Finde ü").replace("max_results", "query_max")
            made.capture.server.decide(Decision(1, side, "send", edited.encode()))
        assert json.loads(got.result(60))["query_max"] == 5
        (sent,) = (body for _, body in made.far.asked)
    assert "Finde ü" in sent.decode()


@pytest.mark.parametrize("sdk", SDKS)
@pytest.mark.parametrize("end", ["late", "dropped"])
def test_an_sdk_shows_why_a_paused_request_was_not_sent_and_does_not_repeat_it(tmp_path, sdk, end):
    ask, answer, error = SDKS[sdk]
    module = pytest.importorskip(sdk)
    limit = 0.5 if end == "late" else 60
    rules = read_rules(["all"])
    with ThreadPoolExecutor(1) as agents, scripted(tmp_path, answer, hold=rules, pause_seconds=limit) as made:
        got = agents.submit(ask, made.port)
        made.capture.paused.get(timeout=60)
        if end == "dropped":
            made.capture.server.decide(Decision(1, "request", "drop"))
        with pytest.raises(getattr(module, error)) as failed:
            got.result(60)
        assert made.capture.paused.empty() and made.far.asked == []
        assert len(made.near.asked) == 1
    words = {
        "late": "waited at a breakpoint for 500 ms, and was not sent on",
        "dropped": "was dropped at a breakpoint",
    }
    assert words[end] in str(failed.value)
    assert failed.value.status_code == {"late": 504, "dropped": 403}[end]


# The window


@pytest.mark.model
def test_the_window_in_front_of_the_real_server_holds_an_invalid_call_whose_arguments_are_edited(
    qtbot, window, url
):
    pytest.importorskip("openai")
    patience = 120_000
    screen = Screen(qtbot, window)
    screen.press("Capture…")
    screen.until("Server of the agent")
    screen.write("Server of the agent", url)
    screen.write("Port for the agent", "0")
    screen.choose("Tokens of the prompt", model_name("embedded").name)
    screen.press("Pause answers with an invalid call")
    screen.press("Start capture")
    qtbot.waitUntil(window.capture_bar.isVisible, timeout=patience)
    port = int(window.capture_bar._url.rpartition(":")[2])
    tools = json.loads(json.dumps(TOOLS).replace("100", "5"))
    tools[0]["function"]["parameters"]["required"] = ["query", "max_results"]
    forced = {"type": "function", "function": {"name": "search"}}

    def ask() -> str:
        with openai_at(port, max_retries=0) as client:
            pieces = client.chat.completions.create(
                model="smol", temperature=0, max_tokens=60, stream=True, tools=tools, tool_choice=forced,
                messages=[{"role": "user", "content": "Search for AI news, 10 results"}],
            )  # fmt: skip
            return joined_calls(pieces)[0]["function"]["arguments"]

    with ThreadPoolExecutor(1) as agents:
        got = agents.submit(ask)
        try:
            qtbot.waitUntil(lambda: window.capture._paused_dialog is not None, timeout=patience)
            qtbot.waitUntil(lambda: "Whole text" in screen, timeout=patience)
            assert "CONSTRAINT_MAX" in screen
            editor = window.capture._paused_dialog.editor
            (call,) = json.loads(editor.toPlainText())
            editor.show_text(json.dumps([call | {"arguments": {"query": "AI news", "max_results": 5}}]))
            screen.press("Send edited")
            qtbot.waitUntil(got.done, timeout=patience)
        finally:
            window.capture.stop()
            qtbot.waitUntil(lambda: not window.capture.unfinished, timeout=patience)
    assert json.loads(got.result()) == {"query": "AI news", "max_results": 5}
    dock = window.panels.history
    qtbot.waitUntil(lambda: bool(dock.model.rows), timeout=patience)
    with qtbot.waitSignal(window.runs.ended, timeout=patience):
        dock.runOpened.emit(dock.model.rows[0].id)
    stage = window.runs.state.stages[-1]
    assert stage.written[0].violations[0].code == "CONSTRAINT_MAX"  # the server's answer, not the edited one
    assert "The answer was paused for" in stage.prompt.note
    costs = {cost.title: cost.tokens for cost in prompt_costs(stage.prompt)}
    assert costs["tools"] > costs["user's text"] > 5
