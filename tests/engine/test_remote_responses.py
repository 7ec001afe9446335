"""An endpoint that is asked by OpenAI's Responses: the body, the parts of the answer, and missing fields."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from glyphscope.base.errors import ModelError
from glyphscope.events import (
    Answer,
    CallReady,
    Message,
    PromptRendered,
    RunFailed,
    RunRequest,
    Sampling,
    StageFinished,
    Token,
    ToolCall,
)
from glyphscope.models.remote import read_address
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from scripted_endpoint import Answer as Reply
from scripted_endpoint import Cut, endpoint, event, remote

REGISTRY = default_registry().to_document()
request = partial(RunRequest, prompt="Search", registry=REGISTRY, native="auto", constraint="off")
USAGE = {"input_tokens": 7, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 2}}
ENDED = {"status": "completed", "usage": USAGE}
COMPLETED = event({"type": "response.completed", "response": ENDED})
YES_OR_NO = partial(request, native="", answer=Answer("choice", "yes\nno"))

WARM = Sampling(temperature=1.0, presence_penalty=0.5)


def delta(kind: str, text: str, at: int = 0, **more: Any) -> bytes:
    return event({"type": f"response.{kind}.delta", "output_index": at, "delta": text, **more})


def added(name: str, at: int = 0) -> bytes:
    item = {"type": "function_call", "name": name, "call_id": "c1", "arguments": ""}
    return event({"type": "response.output_item.added", "output_index": at, "item": item})


def said(text: str) -> Reply:
    return Reply((delta("output_text", text), COMPLETED))


CALLED = Reply((
    delta("reasoning_text", "Hm."), added("search", 1), delta("function_call_arguments", '{"query": ', 1),
    delta("function_call_arguments", '"AI"}', 1), COMPLETED,
))  # fmt: skip


def asked(reply: Reply, asks: RunRequest, dialect: str = "openai") -> tuple[list[Any], Any]:
    with endpoint(reply) as server, remote(server, f"?dialect={dialect}&api=responses") as model:
        events = list(run(asks, model))
    return events, server.asked[-1] if server.asked else None


@pytest.mark.parametrize(
    ("text", "api"),
    [
        ("http://h/v1/responses", "responses"),
        ("http://h/v1?api=responses", "responses"),
        ("http://h/v1/responses?api=chat", "chat"),
        ("http://h/v1", ""),
    ],
)
def test_the_address_chooses_the_interface(text: str, api: str) -> None:
    address = read_address(text)
    assert (address.base, address.option("api")) == ("http://h/v1", api)


def test_an_unknown_interface_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ModelError, match="The option api is chat or responses"):
        read_address("http://h/v1?api=messages")


def test_a_run_with_tools_is_sent_and_read_as_items() -> None:
    history = (
        Message("user", "Before"),
        Message("assistant", "", (ToolCall("search", {"query": "x"}),)),
        Message("tool", "found"),
    )
    events, sent = asked(CALLED, request(history=history, reasoning_effort="low", max_tokens=99))
    body = sent.body
    assert sent.path == "/v1/responses" and body["store"] is False and body["stream"] is True
    assert [item.get("type", item.get("role")) for item in body["input"]] == [
        "user", "function_call", "function_call_output", "user",
    ]  # fmt: skip
    call, result = body["input"][1:3]
    assert (call["name"], call["arguments"]) == ("search", '{"query": "x"}')
    assert call["call_id"] == result["call_id"] and result["output"] == "found"
    assert {tool["type"] for tool in body["tools"]} == {"function"} and body["tools"][0]["name"] == "search"
    assert body["tools"][0]["strict"] is False, "it would be strict by default"
    assert (body["reasoning"], body["max_output_tokens"]) == ({"effort": "low"}, 99)
    assert body["tool_choice"] == "auto"
    assert not {"messages", "max_tokens", "seed", "stream_options", "chat_template_kwargs"} & body.keys()
    text = "".join(each.step.text for each in events if isinstance(each, Token))
    assert text == '<think>\nHm.\n</think>\n\n{"name": "search", "arguments": {"query": "AI"}}'
    (ready,) = (each for each in events if isinstance(each, CallReady))
    assert (ready.tool, ready.arguments) == ("search", {"query": "AI"})
    (stage,) = (each for each in events if isinstance(each, StageFinished))
    assert stage.tokens == 3


def test_a_chosen_tool_and_strict_are_sent_in_the_form_of_the_interface() -> None:
    _, sent = asked(CALLED, request(constraint="mask", tool_choice="search", strict="on"))
    assert sent.body["tool_choice"] == {"type": "function", "name": "search"}
    assert {tool["strict"] for tool in sent.body["tools"]} == {True}


def test_llama_server_gets_its_own_fields_as_it_ignores_the_format_of_the_interface() -> None:
    asks = YES_OR_NO(stop=("x",), constraint="mask", sampling=WARM)
    _, sent = asked(said("yes"), asks, "llama-server")
    assert sent.body["grammar"].startswith("root ::=") and sent.body["stop"] == ["x"]
    assert sent.body["top_k"] == WARM.top_k and not {"text", "messages", "stream_options"} & sent.body.keys()


@pytest.mark.parametrize(("tokens", "ended"), [(8, False), (7, True)])
def test_an_answer_of_llama_server_with_as_many_tokens_as_are_allowed_is_cut_off(
    tokens: int, ended: bool
) -> None:
    response = {"status": "completed", "usage": {"input_tokens": 9, "output_tokens": tokens}}
    last = event({"type": "response.completed", "response": response, "timings": {"predicted_n": tokens}})
    events, _ = asked(
        Reply((delta("output_text", "yes"), last)), request(tool_choice="auto", max_tokens=8), "llama-server"
    )
    assert any(each.step.end for each in events if isinstance(each, Token)) is ended


def test_settings_without_a_field_are_named_in_the_note() -> None:
    events, _ = asked(said("yes"), YES_OR_NO(stop=("x",), thinking="on", constraint="mask", sampling=WARM))
    (prompt,) = (each for each in events if isinstance(each, PromptRendered))
    for words in (
        "takes no stop strings",
        "presence_penalty; sampling did not use it",
        "nothing enforces it",
        "no field for thinking",
    ):
        assert words in prompt.note


def test_a_schema_is_the_format_of_the_text_beside_extra_fields_of_the_text() -> None:
    schema = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'
    asks = partial(request, native="", notation="json", constraint="mask", answer=Answer("schema", schema))
    events, sent = asked(said('{"city":"Bern"}'), asks(extra_body={"text": {"verbosity": "low"}}))
    text = sent.body["text"]
    assert (text["format"]["type"], text["format"]["strict"]) == ("json_schema", True)
    assert text["verbosity"] == "low"
    state = run_state(events)
    assert state.outcome == "valid" and "in text.format" in state.notes[0]
    *_, failed = asked(said("x"), asks(extra_body={"text": {"format": {}}}))[0]
    assert isinstance(failed, RunFailed) and "it is the run's constraint" in failed.message


def test_log_probabilities_are_read_and_left_out_where_they_are_rejected() -> None:
    pair = {"token": "yes", "logprob": -0.5, "top_logprobs": [{"token": "yes", "logprob": -0.5}]}
    events, sent = asked(Reply((delta("output_text", "yes", logprobs=[pair]), COMPLETED)), YES_OR_NO())
    assert sent.body["include"] == ["message.output_text.logprobs"] and sent.body["top_logprobs"] == 10
    token = next(each.step for each in events if isinstance(each, Token))
    assert (token.text, token.logprob, token.rank) == ("yes", -0.5, 0)
    rejected = Reply((b'{"error": {"message": "logprobs are not supported"}}',), 400, "application/json")
    with endpoint(rejected, said("yes")) as server:
        with remote(server, "?dialect=openai&api=responses") as model:
            assert run_state(run(YES_OR_NO(), model)).outcome == "valid"
        assert not {"include", "top_logprobs"} & server.asked[-1].body.keys()


FAILED = {"status": "failed", "error": {"message": "no GPU"}}
FILTERED = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ((delta("output_text", "ye"), Cut), "broke in the middle"),
        ((delta("output_text", "ye"),), "ended before the answer did"),
        ((delta("output_text", "ye"), b'data: {"type'), "in the middle of an event"),
        ((event({"type": "error", "message": "overheated"}),), "overheated"),
        ((event({"type": "response.failed", "response": FAILED}),), "no GPU"),
        ((event({"type": "response.incomplete", "response": FILTERED}),), "content_filter"),
    ],
)
def test_an_answer_without_its_end_is_a_failure_with_the_reason(pieces: tuple[Any, ...], words: str) -> None:
    *_, failed = asked(Reply(pieces), request())[0]
    assert isinstance(failed, RunFailed) and words in failed.message


def test_an_answer_that_is_not_streamed_is_read_as_items() -> None:
    items = [
        {"type": "reasoning", "summary": [{"text": "Hm."}]},
        {"type": "function_call", "name": "search", "call_id": "c", "arguments": '{"query": "AI"}'},
    ]
    whole = event({"object": "response", "output": items, **ENDED}).removeprefix(b"data: ")
    assert run_state(asked(Reply((whole,), kind="application/json"), request())[0]).outcome == "valid"


def test_a_server_without_the_interface_says_how_to_ask_it_otherwise() -> None:
    missing = Reply((b'{"detail": "Not Found"}',), 404, "application/json")
    *_, failed = asked(missing, request())[0]
    assert isinstance(failed, RunFailed) and "?api=chat" in failed.hint
