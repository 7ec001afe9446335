"""Endpoints that violate the protocol: each run ends with an error and no answer, in bounded time and memory."""

from __future__ import annotations

import gzip
import json
import resource
import threading
import time

import pytest
from anyio.from_thread import BlockingPortal

from glyphscope.base.errors import ModelError
from glyphscope.events import RunFailed, RunFinished, RunRequest, Token, Violation
from glyphscope.models.remote import connection, open_remote, read_address
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from scripted_endpoint import (
    CERTIFICATE,
    DONE,
    SHORT,
    SHORTEST,
    Answer,
    Cut,
    Hang,
    chunk,
    endpoint,
    event,
    remote,
    said,
)

REGISTRY = default_registry().to_document()
CALL = '{action="search" query="AI"}'
HALF, REST = CALL[:12], CALL[12:]


def request(**fields) -> RunRequest:
    return RunRequest(prompt="Search for AI", registry=REGISTRY, **({"constraint": "off"} | fields))


def reported(server, tail="", patience=SHORT, **fields):
    """Return every event of a run against that server."""
    with remote(server, tail, patience) as model:
        return list(run(request(**fields), model))


def failure(events) -> RunFailed:
    assert isinstance(events[-1], RunFailed), events[-1]
    return events[-1]


def written(events) -> str:
    return "".join(event.step.text for event in events if isinstance(event, Token))


# -- not there, slow, busy -------------------------------------------------------------------------------------------


def test_an_endpoint_that_is_down_is_reported_with_its_address_after_few_attempts():
    with endpoint() as server:
        url = server.url
    start = time.monotonic()
    with pytest.raises(ModelError) as caught:
        open_remote(read_address(url), patience=SHORT)
    assert "cannot be reached" in caught.value.message and "3 attempts" in caught.value.message
    assert caught.value.where.startswith(url) and caught.value.hint
    assert time.monotonic() - start < 20


@pytest.mark.slow
def test_an_endpoint_that_goes_down_fails_the_run_with_the_prompt_shown():
    with endpoint(said(CALL)) as server:
        model = open_remote(read_address(server.url), patience=SHORT)
    events = list(run(request(), model))
    model.close()
    assert failure(events).code == "MODEL_FAILED" and "cannot be reached" in failure(events).message
    assert run_state(events).prompt is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "pieces", [(Hang,), (b": ping\n\n", Hang), (chunk(delta={"role": "assistant"}), Hang)]
)
def test_an_endpoint_that_sends_nothing_fails_in_time(pieces):
    with endpoint(Answer(pieces)) as server:
        start = time.monotonic()
        message = failure(reported(server, patience=SHORTEST)).message
        assert server.gone.wait(60) and len(server.asked) == 1
    assert "sent no part of its answer within 500 ms" in message and time.monotonic() - start < 10


@pytest.mark.slow
def test_keep_alive_without_text_does_not_prevent_the_time_limit():
    alive = [piece for _ in range(200) for piece in (b": processing\n\n", 0.02)]
    with endpoint(Answer((chunk(HALF), *alive))) as server:
        events = reported(server, patience=SHORTEST)
    assert f"sent nothing for 400 ms, after {len(HALF)} characters" in failure(events).message
    assert written(events) == HALF


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "word"), [(429, "overloaded"), (503, "failed (503)"), (500, "failed (500)")]
)
def test_an_endpoint_that_always_rejects_is_tried_a_few_times(status, word):
    body = json.dumps({"error": {"message": "come back later"}}).encode()
    with endpoint(Answer((body,), status, "application/json")) as server:
        failed = failure(reported(server))
        assert len(server.asked) == SHORT.attempts
    assert word in failed.message and "come back later" in failed.message and "(3 attempts)" in failed.message


@pytest.mark.slow
def test_a_temporary_rejection_is_retried_after_its_pause():
    busy = Answer((b"{}",), 429, "application/json", (("retry-after", "0.3"),))
    with endpoint(busy, said(HALF, REST)) as server:
        start = time.monotonic()
        events = reported(server)
        assert len(server.asked) == 2
    assert time.monotonic() - start >= 0.3
    assert isinstance(events[-1], RunFinished) and written(events) == CALL


def test_a_pause_that_is_too_long_is_reported_at_once():
    with endpoint(Answer((b"{}",), 429, "application/json", (("retry-after", "3600"),))) as server:
        failed = failure(reported(server))
        assert len(server.asked) == 1
    assert "pause of 60 min" in failed.hint


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    ["soon", "nan", "-5", "Wed, 32 Foo 2026", "", "Mon, 01 Jan 2024 00:00:00 +99999999999999999999", "inf", "1e999"],
)  # fmt: skip
def test_an_invalid_pause_is_ignored(value):
    with endpoint(Answer((b"{}",), 503, "text/plain", (("retry-after", value),)), said(CALL)) as server:
        assert isinstance(reported(server)[-1], RunFinished)


@pytest.mark.parametrize("place", ["", "SSL_CERT_FILE", "certifi"])
def test_an_encrypted_endpoint_is_trusted_by_the_authorities_of_the_user_or_of_certifi(place, monkeypatch):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    if place == "certifi":
        monkeypatch.setattr("certifi.where", lambda: str(CERTIFICATE))
    elif place:
        monkeypatch.setenv(place, str(CERTIFICATE))
    with endpoint(said(CALL), encrypted=True) as server:
        if place:
            with remote(server) as model:
                assert run_state(list(run(request(), model))).outcome == "valid"
            return
        with pytest.raises(ModelError, match="TLS certificate verification failed") as caught, remote(server):
            pass
    assert "SSL_CERT_FILE" in caught.value.hint and "attempts" not in caught.value.message


# -- cut, doubled, endless -------------------------------------------------------------------------------------------


def test_a_connection_that_breaks_before_the_first_piece_is_tried_again():
    with endpoint(Answer((Cut,)), Answer((chunk(delta={"role": "assistant"}), Cut)), said(CALL)) as server:
        events = reported(server)
        assert len(server.asked) == 3
    assert written(events) == CALL


def test_a_connection_that_breaks_after_the_first_piece_fails_and_its_text_stays():
    with endpoint(Answer((chunk(HALF), Cut)), said(CALL)) as server:
        events = reported(server)
        assert len(server.asked) == 1
    assert "broke in the middle of the answer, after 12 characters" in failure(events).message
    assert written(events) == HALF


@pytest.mark.parametrize(
    "end",
    [
        (),
        (DONE,),
        (event({"choices": [{"index": 0, "delta": {"content": "search é"}}]})[:-8],),
        (event({"choices": [{"index": 0, "delta": {"content": "é"}}]}).partition(b"\xc3")[0] + b"\xc3",),
    ],
    ids=["silently", "with the mark of the end", "in a chunk", "in a character"],
)
def test_a_stream_that_ends_before_its_answer_is_an_error(end):
    with endpoint(Answer((chunk(HALF), *end))) as server:
        events = reported(server)
    assert "ended" in failure(events).message and "12 characters" in failure(events).message
    assert written(events) == HALF


@pytest.mark.slow
def test_a_stream_left_open_after_its_answer_is_closed(monkeypatch):
    monkeypatch.setattr("glyphscope.models.remote.answer.AFTER_END", 0.1)
    with endpoint(Answer((chunk(CALL), chunk(finish="stop"), Hang))) as server:
        events = reported(server, stop_on="never")
        assert server.gone.wait(60)
    assert isinstance(events[-1], RunFinished) and events[-1].valid


@pytest.mark.slow
def test_a_stream_that_repeats_its_end_is_closed(monkeypatch):
    monkeypatch.setattr("glyphscope.models.remote.answer.AFTER_END", 0.3)
    ends = [piece for _ in range(100) for piece in (chunk(finish="stop"), 0.1)]
    with endpoint(Answer((chunk(CALL), *ends))) as server:
        start = time.monotonic()
        assert reported(server, stop_on="never")[-1].valid and time.monotonic() - start < 20


@pytest.mark.slow
def test_a_chunk_that_is_cut_anywhere_by_the_network_is_one_chunk():
    data = b"".join(said('{action="search" query="', "é€😀", '"}').pieces)
    with endpoint(Answer([data[i : i + 1] for i in range(len(data))])) as server:
        events = reported(server)
    assert written(events) == '{action="search" query="é€😀"}' and events[-1].valid


def test_a_repeated_event_id_counts_once():
    first, second = b"id: 7\n" + chunk(HALF), b"id: 8\n" + chunk(REST)
    with endpoint(Answer((first, first, second, second, chunk(finish="stop"), DONE))) as server:
        assert written(reported(server)) == CALL


@pytest.mark.slow
def test_repeated_chunks_are_text_and_under_a_constraint_an_error_of_the_endpoint():
    doubled = Answer((chunk("{"), chunk("{"), chunk(finish="stop"), DONE))
    with endpoint(doubled) as server:
        events = reported(server, constraint="off")
        assert any(isinstance(event, Violation) and event.char == 1 for event in events)
        failed = failure(reported(server, constraint="mask"))
    assert failed.code == "CONSTRAINT_IGNORED" and "may send pieces twice" in failed.message


def test_an_endpoint_that_repeats_its_pieces_endlessly_is_stopped():
    with endpoint(Answer([chunk("a ")] * 400)) as server:
        events = reported(server, stop_on="never", max_tokens=16)
    assert "continues beyond the 16 tokens" in failure(events).message
    assert len(written(events)) <= 2 * (2 * 16 + 20)


# -- not the protocol ------------------------------------------------------------------------------------------------

PAGE = b"<!doctype html><html><head><title>Sign in to Example</title></head></html>"


@pytest.mark.slow
def test_a_web_page_in_place_of_an_answer_is_reported_by_its_title():
    with endpoint(Answer((PAGE,), 502, "text/html"), Answer((PAGE,), 200, "text/html")) as server:
        assert "Sign in to Example" in failure(reported(server, patience=SHORT._replace(attempts=1))).message
        assert "web page" in failure(reported(server)).message


def test_a_web_page_in_place_of_the_list_of_models_is_reported():
    with (
        endpoint(models=Answer((PAGE,), 200, "text/html")) as server,
        pytest.raises(ModelError, match="web page"),
    ):
        open_remote(read_address(server.url), patience=SHORT)


UNREADABLE = [
    (b"data: {not json\n\n", "no JSON"),
    (b"data: " + b"[" * 100_000 + b"\n\n", "no JSON"),
    (b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n', "not UTF-8"),
    (b"data: [1, 2]\n\n", "not a chunk"),
    (event({"error": {"message": "out of memory", "code": 500}}), "out of memory"),
    (event({"error": "slot unavailable"}), "slot unavailable"),
    (b"hello there\n\n", "no event"),
    (b": ping\n\n", "without an event"),
    (b"", "without an event"),
]
EVENTS, PACKED = "text/event-stream", gzip.compress(b" " * 10_000_000)
ENDLESS = [{"reasoning_content": "hm " * 1000}, {"tool_calls": [{"function": {"name": "x" * 3000}}]}]
THOUGHT = [chunk(delta={"reasoning_content": "hmm "})] * 5
MASK, FEW = {"constraint": "mask"}, {"max_tokens": 16, "stop_on": "never"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "fields", "words"),
    [
        *((Answer((data,) if data else ()), {}, words) for data, words in UNREADABLE),
        (Answer((PACKED,), 200, EVENTS, (("content-encoding", "gzip"),)), {}, "compressed"),
        (Answer([b" " * 1_000_000] * 50, 200, "application/json"), {}, "more than 8 MB"),
        (
            Answer((b"",), 307, "text/plain", (("location", "http://127.0.0.1:9/v1"),)),
            {},
            "redirects to another",
        ),
        (said(HALF, finish="content_filter"), {}, "content_filter"),
        (Answer((*THOUGHT, chunk(finish="length"), DONE)), {}, "20 characters of reasoning"),
        *((Answer([chunk(delta=delta)] * 2000), FEW, "continues beyond the 16 tokens") for delta in ENDLESS),
        (said('{action="search" ', 'query="AI" max_results=', "500}"), MASK, "at character 42 it wrote '0}'"),
        (said('{action="search" '), MASK, "allows no end"),
        (said(), MASK, "before its first character"),
    ],
)
def test_an_invalid_answer_fails_the_run_in_few_words(answer, fields, words):
    with endpoint(answer) as server:
        failed = failure(reported(server, **fields))
    assert words in failed.message and len(failed.message) < 1000
    assert failed.code == ("CONSTRAINT_IGNORED" if fields is MASK else "MODEL_FAILED")


def test_members_of_unknown_types_are_ignored():
    odd = [
        {}, {"choices": None}, {"choices": {}}, {"choices": [None, 5]}, {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": 5, "tool_calls": 7}, "logprobs": {"content": [1, {"token": 2}]}}]},
        {"choices": [{"index": 1, "delta": {"content": "another answer"}}]}, {"usage": 5, "timings": []},
        {"choices": [{"delta": {"content": None, "tool_calls": [None, {"function": 3}]}}]},
        {"choices": [], "usage": {"prompt_tokens": "x", "completion_tokens": -1}},
    ]  # fmt: skip
    with endpoint(Answer((*map(event, odd), chunk(CALL), chunk(finish="stop"), DONE))) as server:
        events = reported(server)
    assert written(events) == CALL and events[-1].valid


def test_fifty_megabytes_without_a_line_end_use_little_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with endpoint(Answer((b"data: ", *[b"x" * 1_000_000] * 50))) as server:
        failed = failure(reported(server))
    assert "without the end of an event" in failed.message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


# -- the constraint --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_an_endpoint_that_ignores_the_grammar_fails_the_run_without_a_violation_of_the_model(constraint):
    with endpoint(said("Sure", ", here it is: ", CALL)) as server:
        events = reported(server, constraint=constraint)
        assert server.asked[0].body["grammar"].startswith("root ::=")
    failed = failure(events)
    assert failed.code == "CONSTRAINT_IGNORED" and "ignored the constraint" in failed.message
    assert "character 0" in failed.message and "'Sure'" in failed.message and "dialect" in failed.hint
    assert not [event for event in events if isinstance(event, Violation)]
    assert events[0].request.constraint == "endpoint"


def test_an_answer_cut_at_its_length_is_not_an_ignored_constraint():
    with endpoint(said('{action="search" ', finish="length")) as server:
        events = reported(server, constraint="mask")
    assert isinstance(events[-1], RunFinished) and events[-1].reason == "length"


@pytest.mark.slow
def test_an_ignored_schema_is_reported_and_a_leak_is_a_violation_of_the_call():
    fields = {"constraint": "mask", "notation": "json"}
    with endpoint(said("I would search"), owner="somebody") as server:
        assert "response_format excludes" in failure(reported(server, **fields)).message
    with endpoint(said('{"action": "no_such_tool"}'), owner="somebody") as server:
        assert failure(reported(server, **fields)).code == "CONSTRAINT_IGNORED"
    leak = '{"action": "search", "query": "AI", "max_results": 500}'
    with endpoint(said(leak), owner="somebody") as server:
        events = reported(server, **fields)
        sent = server.asked[0].body["response_format"]
    assert [event.code for event in events if isinstance(event, Violation)] == ["CONSTRAINT_MAX"]
    assert sent["type"] == "json_schema" and len(sent["json_schema"]["schema"]["oneOf"]) == 7


@pytest.mark.slow
def test_a_constraint_without_a_field_is_rejected_before_anything_is_sent():
    with endpoint(said(CALL), owner="somebody") as server:
        failed = failure(reported(server, constraint="mask", notation="glyph"))
        assert not server.asked
    assert (
        failed.code == "CONSTRAINT_FAILED" and "takes no grammar" in failed.message and "json" in failed.hint
    )


def test_a_grammar_that_the_endpoint_rejects_is_reported_with_its_message():
    words = json.dumps(
        {"error": {"message": "failed to parse grammar", "type": "invalid_request_error"}}
    ).encode()
    with endpoint(Answer((words,), 400, "application/json")) as server:
        failed = failure(reported(server, constraint="mask"))
        assert len(server.asked) == 1
    assert "failed to parse grammar" in failed.message and "dialect" in failed.hint


# -- tools -----------------------------------------------------------------------------------------------------------

ARGUMENTS = {"query": "AI", "max_results": 10}


@pytest.mark.parametrize(
    "deltas",
    [
        [{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "search", "arguments": ""}}]},
         {"tool_calls": [{"index": 0, "function": {"arguments": '{"query": "AI", '}}]},
         {"tool_calls": [{"index": 0, "function": {"arguments": '"max_results": 10}'}}]}],
        [{"tool_calls": {"function": {"name": "search", "arguments": ARGUMENTS}}}],
        [{"tool_calls": {"name": "search", "arguments": json.dumps(ARGUMENTS)}}],
        [{"tool_calls": [{"function": {"name": "search", "arguments": ARGUMENTS}}]}],
        [{"function_call": {"name": "search", "arguments": ""}},
         {"function_call": {"arguments": json.dumps(ARGUMENTS)}}],
        [{"content": "I will search. "}, {"tool_calls": [{"index": 0, "function": {"name": "sea"}}]},
         {"tool_calls": [{"index": 0, "function": {"name": "rch", "arguments": json.dumps(ARGUMENTS)}}]}],
    ],
    ids=["in pieces", "an object", "a bare object", "arguments as an object", "function_call", "a name in pieces"],
)  # fmt: skip
def test_calls_in_any_form_are_read(deltas):
    pieces = [chunk(delta=delta) for delta in deltas]
    with endpoint(Answer((*pieces, chunk(finish="tool_calls"), DONE))) as server:
        events = reported(server, native="auto")
        assert server.asked[0].body["tools"][0]["function"]["name"] == "search"
        assert server.asked[0].body["tool_choice"] == "auto"
    state = run_state(events)
    assert state.call is not None and state.call.arguments == ARGUMENTS and state.outcome == "valid"
    assert events[0].request.native == "openai"


def test_a_call_without_arguments_has_none_and_a_second_call_is_extra():
    pieces = [chunk(delta={"tool_calls": [{"index": i, "function": {"name": "search"}}]}) for i in (0, 1)]
    with endpoint(Answer((*pieces, chunk(finish="tool_calls"), DONE))) as server:
        events = reported(server, native="auto", stop_on="never")
    assert written(events) == '{"name": "search", "arguments": {}}\n{"name": "search", "arguments": {}}'


def test_a_text_in_place_of_a_required_call_is_an_error_of_the_endpoint():
    with endpoint(said("I cannot do that.")) as server:
        failed = failure(reported(server, native="auto", constraint="mask"))
        assert server.asked[0].body["tool_choice"] == "required" and "grammar" not in server.asked[0].body
    assert failed.code == "CONSTRAINT_IGNORED" and "without a call" in failed.message


# -- ended from outside ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        Answer((Hang,)),
        Answer((chunk(HALF), Hang)),
        Answer((b"{}",), 503, "text/plain", (("retry-after", "0.5"),)),
    ],
    ids=["before the first piece", "after it", "in the pause before another attempt"],
)
def test_cancel_ends_any_wait_at_once_and_closes_the_connection(answer):
    slow = SHORT._replace(first=30.0, between=30.0, wait=20.0, longest=60.0, retrying=100.0)
    with endpoint(answer) as server, remote(server, patience=slow) as model:
        generation = run(request(), model)
        timer = threading.Timer(0.3, model.cancel)
        timer.start()
        start = time.monotonic()
        events = list(generation)
        took = time.monotonic() - start
        assert answer.status != 200 or server.gone.wait(60)
    timer.join()
    assert events[-1].reason == "cancelled" and took < 5  # 100 ms are enough; the machine may be busy


@pytest.mark.slow
def test_closing_the_model_from_another_thread_ends_its_generation():
    with endpoint(Answer((chunk(HALF), Hang))) as server, remote(server) as model:
        timer = threading.Timer(0.2, model.close)
        timer.start()
        events = list(run(request(), model))
        timer.join()
        assert server.gone.wait(60)
    assert events[-1].reason == "cancelled" and written(events) == HALF


def test_an_early_abort_closes_the_stream():
    with endpoint(Answer((chunk('{action="delete_'), Hang))) as server, remote(server) as model:
        events = list(run(request(), model))
        assert server.gone.wait(60)
    assert events[-1].reason == "aborted"


def test_closing_the_run_in_the_middle_closes_the_stream():
    with endpoint(Answer((chunk(HALF), Hang))) as server, remote(server) as model:
        generation = run(request(), model)
        for output in generation:
            if isinstance(output, Token):
                break
        generation.close()
        assert server.gone.wait(60)


# -- impossible values in its responses --------------------------------------------------------------------------------


def likely(logprob: str, **more: object) -> bytes:
    """Return a chunk whose one token has that log-probability, written literally."""
    token = json.dumps({"token": "a", "logprob": "LOGPROB", **more}).replace('"LOGPROB"', logprob)
    return (
        f'data: {{"choices":[{{"delta":{{"content":"a"}},"logprobs":{{"content":[{token}]}}}}]}}\n\n'.encode()
    )


NOT_NUMBERS = [
    (likely(text), (True, None, -1)) for text in ("-" + "9" * 400, "NaN", "-Infinity", "Infinity", "1e999")
]
ABOVE_ONE = (likely("0.4"), (False, 0.0, -1))
IMPOSSIBLE_IDS = [(likely("-1.0", id=id), (False, -1.0, -1)) for id in (10**30, True, -5)]


@pytest.mark.parametrize(("piece", "expected"), [*NOT_NUMBERS, ABOVE_ONE, *IMPOSSIBLE_IDS])
def test_impossible_figures_of_a_token_are_ignored_or_limited(piece, expected):
    with endpoint(Answer((piece, chunk(finish="stop"), DONE))) as server:
        step = next(event.step for event in reported(server) if isinstance(event, Token))
    assert (step.piece, step.logprob, step.id) == expected


def test_impossible_counts_are_ignored():
    huge = {"prompt_tokens": 10**30, "completion_tokens": 10**30}
    with endpoint(Answer((chunk(CALL), chunk(finish="stop"), event({"usage": huge}), DONE))) as server:
        events = reported(server)
    assert events[-1].valid and events[-1].tokens == 1


def test_deeply_nested_parts_of_a_text_are_ignored():
    nested = b'[{"text":' * 350 + b'"a"' + b"}]" * 350
    answer = b'data: {"choices":[{"delta":{"content":' + nested + b"}}]}\n\n"
    with endpoint(Answer((answer, chunk(CALL), chunk(finish="stop"), DONE))) as server:
        assert written(reported(server)) == CALL


@pytest.mark.parametrize("ends", [b"\r\n\n", b"\n\r\n", b"\r\n\r\n", b"\r\r", b"\n\n"])
def test_line_ends_that_the_network_cuts_lose_no_event(ends):
    stream = b"".join(
        piece.strip() + ends for piece in (chunk(HALF), chunk(REST), chunk(finish="stop"), DONE)
    )
    for pieces in ([stream], [stream[i : i + 1] for i in range(len(stream))]):
        with endpoint(Answer(pieces)) as server:
            assert written(reported(server)) == CALL


@pytest.mark.slow
def test_a_long_server_description_is_shortened_in_the_record():
    with endpoint(said(CALL), owner="?", version={"version": "9" * 100_000 + "\ud800"}) as server:
        started = reported(server)[0]
    assert len(started.model.server) < 100


def test_a_connection_closed_between_two_pieces_of_an_answer_interrupts_the_run(monkeypatch):
    """Its stream belongs to a loop that has ended: to read on would wait until the time limit."""
    read = connection.HttpExchange.read
    with endpoint(Answer((Hang,))) as server, remote(server) as model:
        monkeypatch.setattr(connection.HttpExchange, "read", lambda *given: (model.close(), read(*given))[1])
        assert list(run(request(), model))[-1].reason == "cancelled"


@pytest.mark.slow
def test_a_connection_closed_just_before_a_request_interrupts_it(monkeypatch):
    real, closing = BlockingPortal.start_task_soon, []

    def submit(portal, *work):
        if not closing:
            closing.append(threading.Thread(target=model.close))
            closing[0].start()
            closing[0].join(0.2)
        return real(portal, *work)

    with endpoint(Answer((Hang,))) as server, remote(server, "?dialect=compatible") as model:
        monkeypatch.setattr(BlockingPortal, "start_task_soon", submit)
        assert list(run(request(), model))[-1].reason == "cancelled"
    closing[0].join()
