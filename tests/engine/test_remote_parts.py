"""Parts of an endpoint's response: reasoning, text and several calls; and the request with tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from glyphscope.evals.ab import trial_of
from glyphscope.evals.costs import run_figures
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results import summarise
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.running import LocalWorkers, evaluate
from glyphscope.events import (
    CallReady,
    Message,
    ModelInfo,
    PromptRendered,
    RunFailed,
    RunFinished,
    RunRequest,
    RunStarted,
    SegmentClosed,
    StageFinished,
    Token,
    ToolCall,
    decode_event,
    encode_event,
)
from glyphscope.models import RecordedModel
from glyphscope.models.interface import GenerateRequest
from glyphscope.models.remote import DIALECTS, open_remote, read_address
from glyphscope.registry import default_registry, to_openai
from glyphscope.runs import RunState, answer_messages, reduce_event, run_state, settle
from glyphscope.runs.strategies import run
from glyphscope.store import first_difference
from scripted_endpoint import DONE, Answer, Endpoint, chunk, counted, endpoint, remote

REGISTRY = default_registry()
TOOLS = tuple(to_openai(REGISTRY))


request = partial(
    RunRequest, prompt="Search", registry=REGISTRY.to_document(), native="auto", constraint="off"
)


def call(number: int | None, name: str = "", arguments: str = "", id: str = "") -> bytes:
    function = {key: text for key, text in (("name", name), ("arguments", arguments)) if text}
    ids = {key: value for key, value in (("index", number), ("id", id or None)) if value is not None}
    return chunk(delta={"tool_calls": [{**ids, "function": function}]})


def answer(*pieces: bytes) -> Answer:
    return Answer((*pieces, chunk(finish="tool_calls"), DONE))


ONE = (call(0, "search"), call(0, "", '{"query": '), call(0, "", '"AI"}'))


def text_of(events: list[Any]) -> str:
    return "".join(event.step.text for event in events if isinstance(event, Token))


def evaluated(folder: Path, url: str, calls: list[dict[str, object]]) -> Path:
    """Evaluate one scenario with these expected calls at an endpoint, and return the result's folder."""
    suite = {"glyphscope_suite": 1, "name": "s", "about": "x", "registry": "default"}
    suite |= {"scenarios": [{"id": "a", "prompt": "x", "expect": {"calls": calls}}]}
    (folder / "s.json").write_text(json.dumps(suite))
    matrix = Matrix(
        suites=(str(folder / "s.json"),), models=(url,), constraints=("off",), notations=("native",)
    )
    workers = LocalWorkers(lambda _name: open_remote(read_address(url)))
    *_, last = evaluate(plan_of(matrix), folder / "out", workers=workers)
    return last.folder


def test_tokens_are_those_that_the_endpoint_counts_wherever_they_are_shown(tmp_path: Path) -> None:
    said = Answer((*ONE, chunk(finish="tool_calls"), counted(50, 31, 20), DONE))
    calls = [{"tools": ["search"], "arguments": {"query": "AI"}}]
    with endpoint(said) as server:
        with remote(server) as model:
            state = run_state(run(request(), model))
        result = evaluated(tmp_path, server.url, calls)
    assert (len(state.tokens), state.present.token_count, state.token_count) == (4, 31, 31)
    figures = run_figures(state)
    assert (figures.tokens, figures.prompt_tokens, figures.cached) == (31, 50, 20)
    assert trial_of(state).tokens == 31
    (sample,) = ResultFolder.open(result).samples()
    assert (sample.decoded, sample.prompt_tokens) == (31, 50)


def test_tokens_that_the_endpoint_does_not_count_are_unknown_in_samples_and_figures(tmp_path: Path) -> None:
    said = Answer((*ONE, chunk(finish="tool_calls"), DONE))
    with endpoint(said) as server:
        with remote(server) as model:
            events = list(run(request(), model))
        result = evaluated(tmp_path, server.url, [{"tools": ["search"]}])
    written = [event for event in events if not isinstance(event, StageFinished | RunFinished)]
    assert run_state(written).counted_tokens is None  # pieces of the answer, while it is written
    assert run_figures(run_state(written)).tokens_per_second is None
    folder = ResultFolder.open(result)
    (sample,) = folder.samples()
    assert sample.prompt_tokens is None
    for tokens, mean in ((0, None), (9, 9.0)):  # 0: an older result
        other = msgspec.structs.replace(sample, trial=2, prompt_tokens=tokens)
        (arm,) = summarise(folder.manifest, [sample, other]).arms
        figure = arm.tools.prompt_tokens
        assert (None if figure is None else figure.mean) == mean


# -- what is sent ----------------------------------------------------------------------------------------------------


def body(dialect: str, **fields: Any) -> dict[str, Any]:
    asked = GenerateRequest(prompt="x", messages=(Message("user", "x"),), tools=TOOLS, **fields)
    said = (chunk("No."),) if fields.get("tool_choice") == "none" else ONE
    with endpoint(answer(*said)) as server:
        with remote(server, f"?dialect={dialect}") as model:
            list(model.generate(asked))
        sent: dict[str, Any] = server.asked[-1].body
    return sent


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_the_tool_choice_is_sent_as_requested(choice: str) -> None:
    sent = body("vllm", constraint="endpoint", tool_choice=choice)
    assert sent["tool_choice"] == choice and len(sent["tools"]) == len(TOOLS)


@pytest.mark.parametrize(("strict", "expected"), [("auto", {None}), ("on", {True}), ("off", {None})])
def test_strict_is_sent_for_every_tool_or_none_as_the_run_says(strict: str, expected: set[Any]) -> None:
    with endpoint(answer(*ONE)) as server, remote(server, "?dialect=vllm") as model:
        list(run(request(strict=strict, constraint="mask"), model))
        sent = server.asked[-1].body["tools"]
    assert {tool["function"].get("strict") for tool in sent} == expected


def test_extra_fields_are_merged_into_the_body_and_named_in_the_note() -> None:
    extra = {"service_tier": "flex", "stream_options": {"x": 1}, "temperature": 0.3}
    with endpoint(answer(*ONE)) as server, remote(server, "?dialect=compatible") as model:
        events = list(run(request(extra_body=extra), model))
        sent = server.asked[-1].body
    assert sent["service_tier"] == "flex" and sent["temperature"] == 0.3
    assert sent["stream_options"] == {"include_usage": True, "x": 1}
    (prompt,) = (event for event in events if isinstance(event, PromptRendered))
    assert "Extra fields: service_tier, stream_options, temperature." in prompt.note


@pytest.mark.parametrize("name", ["model", "messages", "input", "tools", "tool_choice", "response_format"])
def test_a_field_that_only_the_run_sets_is_rejected_with_the_reason_and_nothing_is_sent(name: str) -> None:
    with endpoint(answer(*ONE)) as server, remote(server) as model:
        *_, failed = run(request(extra_body={name: "x"}), model)
        assert not server.asked
    assert isinstance(failed, RunFailed) and f"cannot set {name}: " in failed.message


def test_an_extra_field_cannot_replace_the_constraint_of_the_run() -> None:
    plain = msgspec.structs.replace(request(extra_body={"grammar": "x"}), native="", constraint="mask")
    with endpoint(answer(*ONE)) as server, remote(server, "?dialect=llama-server") as model:
        *_, failed = run(plain, model)
        assert not server.asked
    assert isinstance(failed, RunFailed) and "it is the run's constraint" in failed.message


@pytest.mark.parametrize("constraint", ["off", "mask"])
def test_an_endpoint_that_calls_a_tool_although_the_run_forbids_it_fails_the_run(constraint: str) -> None:
    forbids = msgspec.structs.replace(request(tool_choice="none"), constraint=constraint)
    with endpoint(answer(*ONE)) as server, remote(server) as model:
        *_, failed = run(forbids, model)
        assert server.asked[0].body["tool_choice"] == "none"
    assert isinstance(failed, RunFailed) and failed.code == "CONSTRAINT_IGNORED"
    assert "it called a tool, which tool_choice (none) forbids" in failed.message


def test_an_extra_field_that_the_server_rejects_is_named_with_what_to_do() -> None:
    rejected = Answer((b'{"error": {"message": "Unknown parameter: \'top_k\'."}}',), 400, "application/json")
    with endpoint(rejected) as server, remote(server, "?dialect=openai") as model:
        *_, failed = run(request(extra_body={"top_k": 3}), model)
    assert isinstance(failed, RunFailed) and "Unknown parameter" in failed.message
    assert failed.hint == "Leave the extra field top_k out, or give it another value."


def test_extra_fields_are_rejected_for_a_model_without_a_request() -> None:
    file = cast(Any, SimpleNamespace(info=ModelInfo(name="m"), turn_form=lambda *_: None))
    (problem,) = settle(request(extra_body={"x": 1}, native=""), file).problems
    assert (problem.field, "a model file has none" in problem.error.message) == ("extra_body", True)


def test_extra_fields_are_left_out_of_records_without_them() -> None:
    with endpoint(answer(*ONE)) as server, remote(server) as model:
        started = next(iter(run(request(), model)))
    assert isinstance(started, RunStarted) and b"extra_body" not in encode_event(started)
    kept = msgspec.structs.replace(started, request=request(extra_body={"x": [1]}, strict="on"))
    assert decode_event(encode_event(kept)) == kept


@pytest.mark.slow
def test_without_a_constraint_no_call_is_required() -> None:
    assert body("vllm", tool_choice="search")["tool_choice"] == "auto"
    assert body("vllm", tool_choice="none")["tool_choice"] == "none"


@pytest.mark.parametrize(("most", "parallel"), [(1, False), (3, True), (None, True)])
def test_several_calls_are_requested_as_parallel_calls(most: int | None, parallel: bool) -> None:
    assert body("openai", most_calls=most)["parallel_tool_calls"] is parallel


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_named_tool_is_named_or_sent_alone_where_the_server_ignores_names(dialect: str) -> None:
    sent = body(dialect, constraint="endpoint", tool_choice="search")
    names = [tool["function"]["name"] for tool in sent["tools"]]
    if dialect == "llama-server":
        assert (sent["tool_choice"], names) == ("required", ["search"])
    else:
        assert sent["tool_choice"] == {"type": "function", "function": {"name": "search"}}
        assert len(names) == len(TOOLS)


@pytest.mark.parametrize(("choice", "ignored"), [("required", True), ("auto", False), ("none", False)])
def test_only_a_required_call_can_be_missing(choice: str, ignored: bool) -> None:
    asked = GenerateRequest(
        prompt="x", messages=(Message("user", "x"),), tools=TOOLS, constraint="endpoint", tool_choice=choice
    )
    with endpoint(answer(chunk("Hello."))) as server, remote(server) as model:
        if ignored:
            with pytest.raises(Exception, match="without a call"):
                list(model.generate(asked))
        else:
            assert list(model.generate(asked))


TALK = (
    Message("user", "What is new?"),
    Message("assistant", "", (ToolCall("search", {"query": "AI"}),), "They want news."),
    Message("tool", "Nothing."),
)


def messages(server: Endpoint) -> list[dict[str, Any]]:
    return list(server.asked[-1].body["messages"])


def test_calls_and_results_of_the_history_are_sent_with_their_ids() -> None:
    with endpoint(answer(*ONE), owner="vllm") as server:
        with remote(server) as model:
            events = list(run(request(history=TALK), model))
        _, said, result, _ = messages(server)
    function = said["tool_calls"][0]["function"]
    assert function == {"name": "search", "arguments": '{"query": "AI"}'} and said["content"] is None
    assert said["reasoning_content"] == "They want news."
    assert result["role"] == "tool" and result["tool_call_id"] == said["tool_calls"][0]["id"] != ""
    (prompt,) = (event for event in events if isinstance(event, PromptRendered))
    assert '{"name": "search", "arguments": {"query": "AI"}}' in prompt.text


def test_a_server_without_a_field_for_reasoning_is_sent_none() -> None:
    with endpoint(answer(*ONE)) as server:
        with remote(server, "?dialect=openai") as model:
            list(run(request(history=TALK), model))
        assert "reasoning_content" not in messages(server)[1]


def test_a_result_without_a_call_is_sent_in_the_users_role() -> None:
    with endpoint(answer(*ONE)) as server:
        with remote(server) as model:
            list(run(request(history=(Message("user", "x"), Message("tool", "Nothing."))), model))
        assert [message["role"] for message in messages(server)] == ["user"]


# -- what is read ----------------------------------------------------------------------------------------------------


def parts_of(events: list[Any]) -> list[tuple[str, str]]:
    text = text_of(events)
    closed = [event for event in events if isinstance(event, SegmentClosed)]
    return [(event.kind, text[event.start : event.end].strip()) for event in closed]


def call_line(name: str, arguments: str) -> str:
    return f'{{"name": "{name}", "arguments": {arguments}}}'


def thought(text: str, name: str = "reasoning") -> bytes:
    return chunk(delta={name: text})


SEARCH, READ = call_line("search", '{"query": "AI"}'), call_line("read_file", '{"path": "notes/todo.txt"}')
SECOND = (call(1, "read_file"), call(1, "", '{"path": "notes/todo.txt"}'))
LATE = (thought("Not ", "reasoning_content"), thought("there: <think>.", "reasoning_content"))
TYPED = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Hi."}]
PARTS: list[tuple[str, tuple[bytes, ...], list[tuple[str, str]]]] = [
    ("reasoning before a call", (thought("They want "), thought("news."), *ONE),
     [("reasoning", "They want news."), ("call", SEARCH)]),
    ("both names of reasoning in one chunk", (chunk(delta={"reasoning_content": "Hm.", "reasoning": "Hm."}), *ONE),
     [("reasoning", "Hm."), ("call", SEARCH)]),
    ("a call in the reasoning", (thought(f"I could write {READ}."), *ONE),
     [("reasoning", f"I could write {READ}."), ("call", SEARCH)]),
    ("reasoning after text and between calls",
     (thought("First."), chunk("I look "), chunk("it up. "), *LATE, *ONE, *LATE, *SECOND, thought("Done.")),
     [("reasoning", "First."), ("text", "I look it up."), ("reasoning", "Not there: <think>."), ("call", SEARCH),
      ("reasoning", "Not there: <think>."), ("call", READ), ("reasoning", "Done.")]),
    ("reasoning and text within a call", (*ONE[:2], thought("Hm."), chunk("One moment."), ONE[2], chunk(" There.")),
     [("call", SEARCH), ("reasoning", "Hm."), ("text", "One moment. There.")]),
    ("several calls", (*ONE, *SECOND), [("call", SEARCH), ("call", READ)]),
    ("tags at the beginning and in a text",
     (chunk("<think>\nHm.\n</think>\n\nThe tag <think> "), chunk("begins it:\n<think> and </think>.")),
     [("reasoning", "Hm."), ("text", "The tag <think> begins it:\n<think> and </think>.")]),
    ("a lone closing tag", (chunk("They want "), chunk("news.</thi"), chunk("nk>\n\nI look it up."), *ONE),
     [("reasoning", "They want news."), ("text", "I look it up."), ("call", SEARCH)]),
    ("a text that mentions both tags", (chunk("Between <think> and </think>."),),
     [("text", "Between <think> and </think>.")]),
    ("thinking parts of the content", (chunk(delta={"content": TYPED}),), [("reasoning", "Hm."), ("text", "Hi.")]),
]  # fmt: skip
"""Chunks of a response, and its parts."""


@pytest.mark.parametrize(("stream", "parts"), [row[1:] for row in PARTS], ids=[row[0] for row in PARTS])
def test_a_response_has_its_parts_in_its_order(
    stream: tuple[bytes, ...], parts: list[tuple[str, str]]
) -> None:
    """In the events, in the state that the window shows, and when its record is replayed."""
    with endpoint(answer(*stream)) as server, remote(server) as model:
        events = list(run(request(most_calls=None, tool_choice="auto"), model))
    assert parts_of(events) == parts and events[-1].valid
    calls = [text for kind, text in parts if kind == "call"]
    ready = [event for event in events if isinstance(event, CallReady)]
    assert [(call_line(each.tool, json.dumps(each.arguments)), each.call_index) for each in ready] == [
        (text, index) for index, text in enumerate(calls)
    ]
    state = RunState()
    for event in events:
        reduce_event(state, event)
    assert [(part.kind, state.text[part.start : part.end].strip()) for part in state.segments] == parts
    (said,) = answer_messages(state, events[0].request)
    for kind, shown in (("text", said.content), ("reasoning", said.reasoning)):
        assert shown.split() == " ".join(text for part, text in parts if part == kind).split()
    assert isinstance(events[0], RunStarted)
    again = list(run(events[0].request, RecordedModel(events)))
    assert first_difference(events[1:], again[1:]) == ""


@pytest.mark.parametrize("reason", ["stop", "eos", "tool_calls", "function_call", "STOP"])
def test_an_answer_is_complete_for_every_name_of_its_end(reason: str) -> None:
    stream = Answer((*ONE, chunk(finish=reason), DONE))
    with endpoint(stream) as server, remote(server) as model:
        end = list(run(request(), model))[-1]
    assert end.valid and end.reason != "length"


@pytest.mark.parametrize("reason", ["length", "max_tokens", "model_length", "MAX_TOKENS"])
def test_an_answer_is_cut_off_for_every_name_of_the_length_limit(reason: str) -> None:
    stream = Answer((chunk("I l"), chunk(finish=reason), DONE))
    with endpoint(stream) as server, remote(server) as model:
        assert list(run(request(tool_choice="auto"), model))[-1].reason == "length"


AN_ID = ((0, "a", "", "id1"), (0, "", '{"x": 1,'), (0, "", ' "y": "a"}'))
ITS_CALL = ("a", '{"x": 1,"y": "a"}')
REPEATED = [
    (f"repeats a whole call {kind}{where}", pieces, [("a", {"x": 1, "y": "a"}), ("a", {"x": 2})])
    for kind, again in (("", '{"x": 1, "y": "a"}'), ("without spaces", '{"x":1,"y":"a"}'), ("without arguments", ""))
    for where, pieces in (
        ("", (*AN_ID, (0, "a", again, "id1"), (1, "a", '{"x": 2}', "id2"))),
        (" at the end", (*AN_ID, (1, "a", '{"x": 2}', "id2"), (0, "a", again, "id1"), (1, "a", '{ "x": 2 }', "id2"))),
    )
]  # fmt: skip
IN_TURNS = (
    (0, "a", ""), (1, "b", ""), (2, "c", ""), (0, "", '{"x"'), (2, "", "[2"), (1, "", "{"), (0, "", ": 1}"),
    (2, "", "]"), (1, "", "}"),
)  # fmt: skip
IDS = (
    (None, "a", "", "id1"), (None, "b", "", "id2"), (None, "", '{"x"', "id1"), (None, "", "{}", "id2"),
    (None, "", ": 1}", "id1"),
)  # fmt: skip
NUMBER_0 = ((0, "a", '{"x": 1}', "id1"), (0, "a", "{}", "id2"), (0, "b", "", "id3"))
GROWING = [(0, "a", text, "id1") for text in ('{"x"', '{"x": [1', '{"x": [1, {"x": 2}]}')]
NAMELESS = ((0, "", '{"path": "a"}'), (1, "b", '{"x": 1}'), (0, "read", ""))
CALLS: list[tuple[str, Sequence[tuple[Any, ...]], list[tuple[str, Any]]]] = [
    ("interleaved calls", IN_TURNS, [("a", {"x": 1}), ("b", {}), ("c", [2])]),
    ("calls in order", sorted(IN_TURNS, key=lambda piece: piece[0]), [("a", {"x": 1}), ("b", {}), ("c", [2])]),
    ("no arguments", [(0, "a", ""), (1, "b", "")], [("a", {}), ("b", {})]),
    ("no numbers", [(None, "a", "{}"), (None, "b", '{"x": 1}')], [("a", {}), ("b", {"x": 1})]),
    ("ids in place of numbers", IDS, [("a", {"x": 1}), ("b", {})]),
    ("ids without arguments", IDS[:2], [("a", {}), ("b", {})]),
    ("the number 0 in all, and ids", NUMBER_0, [("a", {"x": 1}), ("a", {}), ("b", {})]),
    ("the number 0 in all", [each[:3] for each in NUMBER_0], [("a", {"x": 1}), ("a", {}), ("b", {})]),
    ("a name in each piece", [(0, "a", ""), (0, "a", '{"x"'), (0, "a", ": 1}"), (0, "a", "")], [("a", {"x": 1})]),
    ("arguments before the name's end", [(0, "", '{"pa', "x"), (0, "read", 'th": "'), (0, "", 'a"}')],
     [("read", {"path": "a"})]),
    ("a name after another call", NAMELESS, [("read", {"path": "a"}), ("b", {"x": 1})]),
    ("never a name", [(0, "", "{}")], [("", {})]),
    *REPEATED,
    ("the same arguments, another id", (*AN_ID, (0, *ITS_CALL, "id3")), [("a", {"x": 1, "y": "a"})] * 2),
    ("arguments that begin again in each chunk", GROWING, [("a", {"x": [1, {"x": 2}]})]),
    ("a value like its beginning", [(0, "a", text) for text in ('{"x": ', '{"x": 1}', "}")], [("a", {"x": {"x": 1}})]),
    ("a text like its beginning", [(0, "a", text) for text in ('{"x":"', "{", '}"}')], [("a", {"x": "{}"})]),
]  # fmt: skip
"""Pieces of calls, each with a number, a name, arguments and an id, and the calls that they are."""


def written(*pieces: tuple[Any, ...]) -> str:
    asked = GenerateRequest(prompt="x", messages=(Message("user", "x"),), tools=TOOLS)
    stream = answer(*(call(*piece) for piece in pieces))
    with endpoint(stream) as server, remote(server) as model:
        steps = [step for output in model.generate(asked) if isinstance(output, tuple) for step in output]
    return "".join(step.text for step in steps)


@pytest.mark.parametrize(("pieces", "expected"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_pieces_of_calls_are_joined(
    pieces: Sequence[tuple[Any, ...]], expected: list[tuple[str, Any]]
) -> None:
    text, decoder, calls = written(*pieces), json.JSONDecoder(), []
    while text:
        found, end = decoder.raw_decode(text)
        calls.append((found["name"], found["arguments"]))
        text = text[end:].lstrip()
    assert calls == expected


def test_a_call_whose_name_comes_last_is_judged_by_it() -> None:
    pieces = (call(0, "", '{"qu'), call(0, "search", 'ery": '), call(0, "", '"AI"}'))
    with endpoint(answer(*pieces)) as server, remote(server) as model:
        events = list(run(request(), model))
    (ready,) = [event for event in events if isinstance(event, CallReady)]
    assert (ready.tool, ready.arguments) == ("search", {"query": "AI"})


def test_a_call_whose_arguments_never_end_does_not_block_the_next_one() -> None:
    text = written((0, "a", '{"x": '), (1, "b", "{}"))
    assert text == '{"name": "a", "arguments": {"x": }\n{"name": "b", "arguments": {}}'
